//! Stories over real HTTP.

mod apps;
mod checks;
mod diffs;
mod faults;
mod git;
mod hooks;
mod pages;
mod pulls;
mod reviews;

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicI64, Ordering},
};

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::{AppKey, AppRegistration, Config, Edit, Emulator, OpenPull, People, Push};

/// Making a key takes a while without optimization, so all tests share one.
static KEY: LazyLock<AppKey> = LazyLock::new(AppKey::generate);

const START: i64 = 1_800_000_000;

/// An emulator with ada's repository, a pull request by ada and an App installed.
struct Stage {
    forge: Emulator,
    people: People,
    seconds: Arc<AtomicI64>,
    http: reqwest::Client,
    app: u64,
    installation: u64,
}

const REPO: &str = "ada/sums";

fn numbered(lines: std::ops::RangeInclusive<u32>) -> String {
    lines.map(|n| format!("line {n}\n")).collect()
}

impl Stage {
    async fn open() -> Self {
        let seconds = Arc::new(AtomicI64::new(START));
        let clock = seconds.clone();
        let now = Arc::new(move || clock.load(Ordering::SeqCst) * 1000);
        let mut config = Config::new(now);
        // Set by who wants to check the answers against GitHub's description.
        config.record = std::env::var_os("EMULATOR_RECORD").map(Into::into);
        let forge = Emulator::start(config).await.unwrap();
        let people = forge.people();
        for login in ["ada", "bob", "eve"] {
            people.user(login);
        }
        let files = [
            Edit::write("src/lib.rs", numbered(1..=40)),
            Edit::write("old.txt", "gone soon\n"),
            Edit::write("README.md", "# Sums\n"),
        ];
        people.create_private_repo(REPO, &files).unwrap();
        let mut new = AppRegistration::reviewer("jury", "ada", KEY.public_pem.clone());
        new.webhook_secret = Some("It's a Secret to Everybody".to_owned());
        let app = people.register_app(new).unwrap();
        let installation = people.install(app, "ada", None).unwrap();
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self {
            forge,
            people,
            seconds,
            http,
            app,
            installation,
        }
    }

    /// Line 3 replaced, a line added after 20, a file added and one removed.
    async fn with_pull() -> (Self, u64) {
        let stage = Self::open().await;
        let text = numbered(1..=40)
            .replace("line 3\n", "line three\n")
            .replace("line 20\n", "line 20\nline 20 and a half\n");
        let edits = [
            Edit::write("src/lib.rs", text),
            Edit::write("new.txt", "a\nb\nc\n"),
            Edit::remove("old.txt"),
        ];
        stage.push("topic", &edits);
        let number = stage.pull("topic", "Change sums");
        (stage, number)
    }

    fn push(&self, branch: &str, edits: &[Edit]) -> String {
        let push = Push {
            repo: REPO,
            branch,
            by: "ada",
            message: "Change\n",
            edits,
            onto: None,
        };
        self.people.push(push).unwrap()
    }

    fn pull(&self, head: &str, title: &str) -> u64 {
        let new = OpenPull {
            repo: REPO,
            by: "ada",
            title,
            body: Some("Please look."),
            head_repo: None,
            head,
            base: "main",
            draft: false,
        };
        self.people.open_pull(new).unwrap()
    }

    fn step(&self, seconds: i64) {
        self.seconds.fetch_add(seconds, Ordering::SeqCst);
    }

    fn now(&self) -> i64 {
        self.seconds.load(Ordering::SeqCst)
    }

    fn jwt(&self, claims: &Value) -> String {
        let key = EncodingKey::from_rsa_pem(KEY.private_pem.as_bytes()).unwrap();
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), claims, &key).unwrap()
    }

    fn good_jwt(&self) -> String {
        let now = self.now();
        self.jwt(&json!({"iss": self.app.to_string(), "iat": now - 60, "exp": now + 540}))
    }

    fn ask(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.forge.api_url());
        let request = self.http.request(method, url);
        if token.is_empty() {
            request
        } else {
            request.bearer_auth(token)
        }
    }

    async fn token(&self) -> String {
        let path = format!("/app/installations/{}/access_tokens", self.installation);
        let (status, body) = answered(self.ask(Method::POST, &path, &self.good_jwt())).await;
        assert_eq!(status, 201, "{body}");
        body["token"].as_str().unwrap().to_owned()
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let token = self.token().await;
        answered(self.ask(Method::GET, path, &token)).await
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let token = self.token().await;
        answered(self.ask(method, path, &token).json(body)).await
    }
}

async fn answered(request: RequestBuilder) -> (u16, Value) {
    let answer = request.send().await.unwrap();
    read(answer).await
}

async fn read(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}
