//! The stage of every server story: an emulator, a server whose workers are stepped
//! by hand, a clock that stands still until it is told, and people.
//!
//! A story ends with [`Room::leave`], which fails it when something is left over: a
//! planned fault that was never met, a job that was given up, a check that is still
//! in progress.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use hmac::{Hmac, KeyInit, Mac};
use jury::{
    app::serve::{self, Parts, Running},
    config::{self, Flags, Inputs},
    domain::{review::pass::Pass, space::Space, time::Timestamp},
    emulator::{AppKey, AppRegistration, Edit, Emulator, OpenPull, People, Push, Role},
    ports::{clock::Clock, ids::Ids},
    server::Shutdown,
    services::{reap, work},
    store::{JobKind, JobState},
    telemetry::metrics::Metrics,
};
use serde_json::Value;

pub(crate) const OWNER: &str = "acme";
pub(crate) const REPO: &str = "acme/shop";
pub(crate) const SECRET: &str = "a webhook secret for stories";

/// The signature header of a delivery.
pub(crate) fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    let digest = mac.finalize().into_bytes();
    format!(
        "sha256={}",
        digest.iter().map(|b| format!("{b:02x}")).collect::<String>()
    )
}

/// A clock that moves when told.
pub(crate) struct StoryClock(AtomicI64);

impl Clock for StoryClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

impl StoryClock {
    /// Moves on by so many seconds, or back.
    pub(crate) fn step(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

/// Identifiers in order.
struct StoryIds(AtomicU64);

impl Ids for StoryIds {
    fn next(&self) -> String {
        format!("id{:06}", self.0.fetch_add(1, Ordering::SeqCst))
    }
}

pub(crate) struct Room {
    pub(crate) emulator: Emulator,
    pub(crate) people: People,
    pub(crate) server: Running,
    pub(crate) clock: Arc<StoryClock>,
    pub(crate) app: u64,
    pub(crate) installation: u64,
    pub(crate) http: reqwest::Client,
    key: AppKey,
    token: String,
    bot: String,
    data: tempfile::TempDir,
}

/// What a story starts from.
pub(crate) struct Setup {
    /// Further variables of the server.
    pub(crate) env: BTreeMap<String, String>,
    /// Files of the repository's first commit, beside the README.
    pub(crate) files: Vec<Edit>,
    /// The server's configuration file.
    pub(crate) config: String,
}

impl Default for Setup {
    fn default() -> Self {
        let files = vec![
            Edit::write("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n"),
            Edit::write("tests/one.rs", "#[test]\nfn one() {}\n"),
        ];
        Self {
            env: BTreeMap::new(),
            files,
            config: String::new(),
        }
    }
}

impl Setup {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    pub(crate) fn config(mut self, text: &str) -> Self {
        self.config = text.into();
        self
    }

    pub(crate) fn file(mut self, path: &str, content: &str) -> Self {
        self.files.push(Edit::write(path, content));
        self
    }
}

impl Room {
    /// Everything in place: mona can push to `acme/shop`, and the App is installed.
    pub(crate) async fn open() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        // `JURY_LOG=debug cargo test STORY -- --nocapture` tells what the server does.
        if std::env::var_os("JURY_LOG").is_some() {
            let _ = jury::telemetry::logs::install();
        }
        let clock = Arc::new(StoryClock(AtomicI64::new(1_800_000_000_000)));
        let ticking = Arc::clone(&clock);
        let mut config = jury::emulator::Config::new(Arc::new(move || ticking.now().0));
        config.record = std::env::var_os("JURY_EMULATOR_RECORD").map(Into::into);
        let emulator = Emulator::start(config).await.unwrap();
        let people = emulator.people();
        people.organization(OWNER);
        people.user("mona");
        let mut files = vec![Edit::write("README.md", "# shop\n")];
        files.extend(setup.files);
        people.create_repo(REPO, &files).unwrap();
        people.add_collaborator(REPO, "mona", Role::Write).unwrap();
        let key = AppKey::generate();
        let app = people
            .register_app(AppRegistration {
                webhook_secret: Some(SECRET.into()),
                ..AppRegistration::reviewer("jury", OWNER, &key.public_pem)
            })
            .unwrap();
        let data = tempfile::tempdir().unwrap();
        let mut env = BTreeMap::from([
            ("JURY_SERVER_LISTEN".to_owned(), "127.0.0.1:0".to_owned()),
            (
                "JURY_SERVER_DATA".to_owned(),
                data.path().to_string_lossy().into_owned(),
            ),
            ("JURY_GITHUB_APP_ID".to_owned(), app.to_string()),
            ("JURY_GITHUB_API_URL".to_owned(), emulator.api_url()),
            ("JURY_GITHUB_PRIVATE_KEY".to_owned(), key.private_pem.clone()),
            ("JURY_GITHUB_WEBHOOK_SECRET".to_owned(), SECRET.to_owned()),
        ]);
        env.extend(setup.env);
        let text = setup.config;
        let read = |_: &std::path::Path| {
            Ok(config::FileContent {
                bytes: text.clone().into_bytes(),
                world_readable: false,
            })
        };
        let config = config::load(&Inputs {
            env: &env,
            flags: Flags::default(),
            read: &read,
        })
        .unwrap()
        .value;
        let parts = Parts {
            clock: clock.clone(),
            ids: Arc::new(StoryIds(AtomicU64::new(1))),
            metrics: Metrics::detached(),
            shutdown: Shutdown::new(),
            workers: false,
        };
        let server = serve::start(&config, parts).await.unwrap();
        people.set_webhook_url(app, &format!("http://{}/webhooks/github", server.address));
        let installation = people.install(app, OWNER, None).unwrap();
        let token = people.token("mona").unwrap();
        let bot = people.bot_login(app).unwrap();
        let room = Self {
            emulator,
            people,
            server,
            clock,
            app,
            installation,
            http: reqwest::Client::new(),
            key,
            token,
            bot,
            data,
        };
        room.settle().await;
        room
    }

    /// Lets every webhook arrive and everything that is due be done.
    pub(crate) async fn settle(&self) {
        loop {
            let before = self.emulator.hooks().log().len();
            self.emulator.hooks().wait_quiet().await;
            Box::pin(work::run_until_idle(&self.server.context))
                .await
                .unwrap();
            self.emulator.hooks().wait_quiet().await;
            if self.emulator.hooks().log().len() == before {
                return;
            }
        }
    }

    /// As [`Room::settle`], while webhooks are held back.
    pub(crate) async fn settle_without_hooks(&self) {
        Box::pin(work::run_until_idle(&self.server.context))
            .await
            .unwrap();
    }

    /// Time passes, and what became due is done.
    pub(crate) async fn later(&self, seconds: i64) {
        self.clock.step(seconds);
        self.settle().await;
    }

    /// The server's data folder.
    pub(crate) fn data(&self) -> &std::path::Path {
        self.data.path()
    }

    /// The reaper looks once.
    pub(crate) async fn reap(&self) {
        reap::reap(&self.server.context).await.unwrap();
    }

    /// A second passes, as between any two things that people do.
    pub(crate) fn tick(&self) {
        self.clock.step(1);
    }

    /// Time passes, and nothing is done yet.
    pub(crate) fn tick_by(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// mona pushes to a branch.
    pub(crate) fn push(&self, branch: &str, edits: &[Edit]) -> String {
        self.tick();
        self.people
            .push(Push {
                repo: REPO,
                branch,
                by: "mona",
                message: "Change something",
                edits,
                onto: None,
            })
            .unwrap()
    }

    /// mona opens a pull request from a branch.
    pub(crate) fn open_pull(&self, branch: &str) -> u64 {
        self.open_pull_as(branch, false)
    }

    pub(crate) fn open_pull_as(&self, branch: &str, draft: bool) -> u64 {
        self.tick();
        self.people
            .open_pull(OpenPull {
                repo: REPO,
                by: "mona",
                title: "Change something",
                body: None,
                head_repo: None,
                head: branch,
                base: "main",
                draft,
            })
            .unwrap()
    }

    /// Pushes, opens, and lets it be reviewed. Gives the number and the head.
    pub(crate) async fn reviewed(&self, branch: &str, edits: &[Edit]) -> (u64, String) {
        let head = self.push(branch, edits);
        let number = self.open_pull(branch);
        self.settle().await;
        (number, head)
    }

    /// Leaves a review of the App's behind that was begun and never submitted.
    pub(crate) async fn leave_pending_review(&self, number: u64, head: &str) {
        let now = self.clock.now().0 / 1000;
        let claims = serde_json::json!({ "iss": self.app.to_string(), "iat": now - 60, "exp": now + 300 });
        let key = jsonwebtoken::EncodingKey::from_rsa_pem(self.key.private_pem.as_bytes()).unwrap();
        let jwt = jsonwebtoken::encode(
            &jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256),
            &claims,
            &key,
        );
        let url = format!(
            "{}/app/installations/{}/access_tokens",
            self.emulator.api_url(),
            self.installation
        );
        let minted = self
            .http
            .post(url)
            .bearer_auth(jwt.unwrap())
            .send()
            .await
            .unwrap();
        let token = minted.json::<Value>().await.unwrap()["token"]
            .as_str()
            .unwrap()
            .to_owned();
        let url = format!("{}/repos/{REPO}/pulls/{number}/reviews", self.emulator.api_url());
        let begun = serde_json::json!({ "commit_id": head, "body": "" });
        let answer = self
            .http
            .post(url)
            .bearer_auth(token)
            .json(&begun)
            .send()
            .await
            .unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }

    /// Reads from the emulator as mona.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.emulator.api_url());
        let answer = self.http.get(url).bearer_auth(&self.token).send().await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    }

    /// Every run of the check on a head, oldest first.
    pub(crate) async fn check_runs(&self, head: &str) -> Vec<Value> {
        let listed = self
            .read(&format!(
                "/repos/{REPO}/commits/{head}/check-runs?filter=all&per_page=100"
            ))
            .await;
        let mut runs = listed["check_runs"].as_array().unwrap().clone();
        runs.sort_by_key(|run| run["id"].as_i64());
        runs
    }

    /// What the check of a head shows, `status/conclusion`, one for each run.
    pub(crate) async fn shown(&self, head: &str) -> Vec<String> {
        let word = |v: &Value| v.as_str().unwrap_or("-").to_owned();
        let runs = self.check_runs(head).await;
        runs.iter()
            .map(|run| format!("{}/{}", word(&run["status"]), word(&run["conclusion"])))
            .collect()
    }

    /// The App's reviews of a pull request, oldest first.
    pub(crate) async fn reviews(&self, number: u64) -> Vec<Value> {
        let listed = self
            .read(&format!("/repos/{REPO}/pulls/{number}/reviews?per_page=100"))
            .await;
        let all = listed.as_array().unwrap();
        all.iter()
            .filter(|r| r["user"]["login"] == self.bot.as_str())
            .cloned()
            .collect()
    }

    /// The states of the App's reviews.
    pub(crate) async fn review_states(&self, number: u64) -> Vec<String> {
        self.reviews(number)
            .await
            .iter()
            .map(|r| r["state"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The inline comments of a pull request as `path:line`.
    pub(crate) async fn comments(&self, number: u64) -> Vec<String> {
        let listed = self
            .read(&format!("/repos/{REPO}/pulls/{number}/comments?per_page=100"))
            .await;
        let all = listed.as_array().unwrap();
        all.iter()
            .map(|c| format!("{}:{}", c["path"].as_str().unwrap(), c["line"]))
            .collect()
    }

    pub(crate) async fn spaces(&self) -> Vec<Space> {
        let mut tx = self.server.context.db.read().await.unwrap();
        let id = jury::domain::ids::InstallationId(i64::try_from(self.installation).unwrap());
        tx.open_spaces_of(id).await.unwrap()
    }

    /// Every pass of the only open pull request.
    pub(crate) async fn passes(&self) -> Vec<Pass> {
        let spaces = self.spaces().await;
        assert_eq!(spaces.len(), 1, "one open pull request");
        let mut tx = self.server.context.db.read().await.unwrap();
        tx.passes(&spaces[0].id).await.unwrap()
    }

    /// Waits, while the workers are stepped elsewhere, until the only pass has begun.
    pub(crate) async fn until_a_pass_runs(&self) {
        loop {
            if let [space] = self.spaces().await.as_slice() {
                let mut tx = self.server.context.db.read().await.unwrap();
                if tx.running_pass(&space.id).await.unwrap().is_some() {
                    return;
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// How many requests of a kind the forge got so far.
    pub(crate) fn sent(&self, method: &str, path_end: &str) -> usize {
        let path = |e: &str| e.split('?').next().unwrap_or_default().to_owned();
        self.emulator
            .record()
            .iter()
            .filter(|e| e.method == method && path(&e.path).ends_with(path_end))
            .count()
    }

    /// Ends the story: nothing may be left over.
    pub(crate) async fn leave(self) {
        self.leave_given_up(&[]).await;
    }

    /// Ends a story in which jobs of these kinds may have been given up.
    pub(crate) async fn leave_given_up(self, kinds: &[JobKind]) {
        self.settle().await;
        assert_eq!(self.emulator.faults_waiting(), 0, "a planned fault was never met");
        let mut tx = self.server.context.db.read().await.unwrap();
        let jobs = tx.job_counts().await.unwrap();
        assert!(
            jobs.iter()
                .all(|j| j.state != JobState::Dead || kinds.contains(&j.kind)),
            "jobs were given up: {jobs:?}"
        );
        assert!(
            tx.checks_in_progress(10).await.unwrap().is_empty(),
            "a check is still in progress"
        );
        let deliveries = tx.delivery_counts().await.unwrap();
        assert_eq!(
            (deliveries.queued, deliveries.dead),
            (0, 0),
            "deliveries are left"
        );
        drop(tx);
        let failed: Vec<_> = self
            .emulator
            .hooks()
            .log()
            .into_iter()
            .filter(|d| d.status != Some(202))
            .collect();
        assert!(failed.is_empty(), "webhooks that were not taken: {failed:?}");
        self.server.stop().await;
    }
}
