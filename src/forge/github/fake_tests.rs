//! For tests: a small GitHub on loopback whose answers a test decides, a clock
//! that a test moves, and an App key made on the spot. It records every request.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rsa::{KeyPair, KeySize},
    signature::KeyPair as _,
};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, Method, StatusCode, header};
use serde_json::{Value, json};

use crate::{
    domain::{
        ids::{InstallationId, PullNumber, RepoId, WorkspaceId},
        space::{PullRef, RepoRef},
        time::Timestamp,
    },
    ports::clock::Clock,
};

use super::{GitHub, GitHubConfig};

pub(super) const APP_ID: i64 = 1234;
/// 2026-01-01T10:00:00Z.
pub(super) const NOON: i64 = 1_767_261_600_000;
pub(super) const INSTALLATION: InstallationId = InstallationId(7);

/// A key pair for the whole test binary; making one takes a while.
pub(super) fn key() -> &'static (String, Vec<u8>) {
    static KEY: OnceLock<(String, Vec<u8>)> = OnceLock::new();
    KEY.get_or_init(|| {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        let text = BASE64_STANDARD.encode(der.as_ref());
        let lines: Vec<&str> = text
            .as_bytes()
            .chunks(64)
            .map(|l| str::from_utf8(l).unwrap())
            .collect();
        let word = ["PRIVATE", "KEY"].join(" ");
        let pem = format!(
            "-----BEGIN {word}-----\n{}\n-----END {word}-----\n",
            lines.join("\n")
        );
        (pem, pair.public_key().as_ref().to_vec())
    })
}

/// A clock that a test moves.
#[derive(Default)]
pub(super) struct Dial(AtomicI64);

impl Dial {
    pub(super) fn at(ms: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(ms)))
    }

    pub(super) fn turn(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for Dial {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) method: Method,
    /// Path and query.
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Seen {
    pub(super) fn bearer(&self) -> &str {
        let value = self
            .headers
            .get(header::AUTHORIZATION)
            .map(|v| v.to_str().unwrap());
        value.and_then(|v| v.strip_prefix("Bearer ")).unwrap_or_default()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(super) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A JSON answer.
pub(super) fn reply(status: u16, body: &Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}

/// The same answer with a header more.
pub(super) fn with(mut response: Response, name: &'static str, value: &str) -> Response {
    response.headers_mut().append(name, value.parse().unwrap());
    response
}

/// A token of some odd shape; assembled, so that no scanner takes it for a real one.
pub(super) fn token(n: usize) -> String {
    format!(
        "{}_{APP_ID}_eyJhbGciOi{n}.eyJpc3Mi-{n}._c2ln~",
        ["gh", "s"].concat()
    )
}

pub(super) fn minted(n: usize, expires_at: &str) -> Response {
    reply(201, &json!({ "token": token(n), "expires_at": expires_at }))
}

type Answers = dyn Fn(&Seen) -> Option<Response> + Send + Sync;

pub(super) struct Fake {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Fake {
    /// A forge that answers with `answers`; where that has none, it mints tokens that
    /// end an hour after [`NOON`], knows its App, and finds nothing else.
    pub(super) async fn start(answers: impl Fn(&Seen) -> Option<Response> + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (record, answers): (_, Arc<Answers>) = (seen.clone(), Arc::new(answers));
        let service = Router::new().fallback(move |request: Request| {
            let (record, answers) = (record.clone(), answers.clone());
            async move {
                let (parts, body) = request.into_parts();
                let seen = Seen {
                    method: parts.method,
                    path: parts.uri.to_string(),
                    headers: parts.headers,
                    body: to_bytes(body, usize::MAX).await.unwrap().to_vec(),
                };
                record.lock().unwrap().push(seen.clone());
                answers(&seen).unwrap_or_else(|| usual(&seen))
            }
        });
        let server = tokio::spawn(async move {
            axum::serve(listener, service).await.unwrap();
        });
        Self {
            address,
            seen,
            server,
        }
    }

    pub(super) fn config(&self) -> GitHubConfig {
        GitHubConfig {
            api_url: format!("http://{}", self.address),
            app_id: APP_ID,
            private_key: key().0.clone().into(),
            mirrors: None,
            timeout: Duration::from_secs(10),
        }
    }

    pub(super) fn github(&self) -> GitHub {
        self.github_at(Dial::at(NOON))
    }

    pub(super) fn github_at(&self, clock: Arc<dyn Clock>) -> GitHub {
        GitHub::new(&self.config(), clock).unwrap()
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// What arrived, but for tokens and the App's own name.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.seen().into_iter().map(|seen| seen.line());
        lines
            .filter(|l| !l.ends_with("/access_tokens") && l != "GET /app")
            .collect()
    }

    /// How many requests match a method and the end of a path.
    pub(super) fn count(&self, method: &str, end: &str) -> usize {
        let seen = self.seen();
        seen.iter()
            .filter(|s| s.method.as_str() == method && s.path.ends_with(end))
            .count()
    }
}

fn usual(seen: &Seen) -> Response {
    match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", path) if path.ends_with("/access_tokens") => minted(1, "2026-01-01T11:00:00Z"),
        ("GET", path) if path.ends_with("/app") => reply(200, &json!({ "id": APP_ID, "slug": "jury-test" })),
        _ => reply(404, &json!({ "message": "Not Found" })),
    }
}

pub(super) fn repo() -> RepoRef {
    RepoRef {
        workspace: WorkspaceId::new("github.test/42"),
        installation: INSTALLATION,
        id: RepoId(99),
        owner: "octo".to_owned(),
        name: "demo".to_owned(),
    }
}

pub(super) fn pull() -> PullRef {
    PullRef {
        repo: repo(),
        number: PullNumber(3),
    }
}

/// An object name of one repeated digit.
pub(super) fn oid(digit: char) -> String {
    std::iter::repeat_n(digit, 40).collect()
}

/// A body that is not JSON.
pub(super) fn plain(status: u16, body: impl Into<Body>) -> Response {
    Response::builder().status(status).body(body.into()).unwrap()
}
