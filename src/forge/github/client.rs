//! How a request gets to the forge and back.
//!
//! octocrab carries it: one [`Octocrab`] per credential, over one connection pool.
//! Its own stack is not used, since three of its layers are wrong for a bot: its
//! retry replays POSTs, its redirects turn a POST into a GET and follow to any
//! host, and its User-Agent cannot be replaced. Nothing here retries on its own:
//! a read that failed is `Later` and its job comes back; a write is sent once.
//!
//! Invariants: credentials go to one origin only (scheme, host and port of the API)
//! and below its path; a redirect is followed at most three times, with method and
//! body, and only there (a renamed repository answers 301 or 307, best-practices
//! page); an answer is read up to a cap; one request, its redirects included, ends
//! within [`TIMEOUT`], which is below half of a job's lease (60 s).

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as Pool, connect::HttpConnector},
    rt::TokioExecutor,
};
use octocrab::{
    AuthState, OctoBody, Octocrab, OctocrabBuilder,
    service::middleware::{base_uri::BaseUriLayer, extra_headers::ExtraHeadersLayer},
};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    domain::time::Timestamp,
    ports::{clock::Clock, forge::ForgeError},
};

use super::{
    SetupError,
    budget::Purpose,
    errors::{self, Effect, Silence},
    origin::Origin,
};

/// How long one request may take, its redirects included.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest JSON answer that is read, in bytes.
const JSON_MAX: usize = 32 << 20;
/// How many redirects of one request are followed.
const REDIRECTS_MAX: usize = 3;
/// The version of the REST API that we speak.
const API_VERSION: &str = "2022-11-28";

/// What GitHub answers with by default.
const ACCEPT_JSON: &str = "application/vnd.github+json";
/// The bytes themselves instead of JSON.
const ACCEPT_RAW: &str = "application/vnd.github.raw+json";

/// One request, without credentials.
#[derive(Debug, Clone)]
pub(super) struct Call {
    method: Method,
    /// Path and query below the API's base, its segments encoded by [`encoded`](super::origin::encoded).
    path: String,
    body: Option<Value>,
    accept: &'static str,
    cap: usize,
    purpose: Purpose,
}

impl Call {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            body: None,
            accept: ACCEPT_JSON,
            cap: JSON_MAX,
            purpose: Purpose::Reviewing,
        }
    }

    /// The same for another purpose.
    pub(super) fn to(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// A read of raw bytes, at most `cap` of them.
    pub(super) fn raw(path: impl Into<String>, cap: usize) -> Self {
        Self {
            accept: ACCEPT_RAW,
            cap,
            ..Self::get(path)
        }
    }

    /// A write.
    pub(super) fn write(method: Method, path: impl Into<String>, body: Option<Value>) -> Self {
        Self {
            method,
            body,
            ..Self::get(path)
        }
    }

    pub(super) fn effect(&self) -> Effect {
        if self.method == Method::GET {
            Effect::Read
        } else {
            Effect::Write
        }
    }
}

/// A 2xx answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    /// `None`: larger than the cap of the call.
    pub(super) body: Option<Bytes>,
    /// Path and query that answered in the end, below the API's base.
    pub(super) path: String,
    effect: Effect,
}

impl Answer {
    /// The forge's own time.
    pub(super) fn date(&self) -> Option<Timestamp> {
        errors::http_date(self.headers.get(header::DATE)?.to_str().ok()?)
    }

    /// The body as one of our structs.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, ForgeError> {
        let read = self
            .body
            .as_deref()
            .ok_or_else(|| "larger than the cap".to_owned())
            .and_then(|body| serde_json::from_slice(body).map_err(|e| e.to_string()));
        // A write that succeeded and whose answer cannot be read has happened; only
        // what it made is not known.
        read.map_err(|e| match self.effect {
            Effect::Read => ForgeError::Internal(format!("an answer that cannot be read: {e}")),
            Effect::Write => ForgeError::Unknown(format!("done, but the answer cannot be read: {e}")),
        })
    }
}

/// Why a call failed, with the status where there was one.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: Option<StatusCode>,
    /// Empty when there was no answer.
    pub(super) headers: HeaderMap,
    pub(super) error: ForgeError,
}

impl Failure {
    /// The forge's own time, for a JWT that it found too new or too old.
    pub(super) fn date(&self) -> Option<Timestamp> {
        errors::http_date(self.headers.get(header::DATE)?.to_str().ok()?)
    }
}

impl From<ForgeError> for Failure {
    fn from(error: ForgeError) -> Self {
        Self {
            status: None,
            headers: HeaderMap::new(),
            error,
        }
    }
}

enum Connections {
    /// Loopback only.
    Plain(Pool<HttpConnector, OctoBody>),
    Tls(Pool<HttpsConnector<HttpConnector>, OctoBody>),
}

/// The connections to one forge.
pub(super) struct Transport {
    origin: Origin,
    base: Uri,
    connections: Connections,
    timeout: Duration,
}

/// A credential and the client that carries it.
pub(super) struct Carrier {
    token: SecretString,
    octocrab: Octocrab,
}

impl Carrier {
    pub(super) fn secret(&self) -> &SecretString {
        &self.token
    }
}

impl Transport {
    /// Prepares connections; none is made yet.
    pub(super) fn new(origin: Origin, timeout: Duration) -> Result<Self, SetupError> {
        let base: Uri = origin
            .base()
            .parse()
            .map_err(|_| SetupError::ApiUrl("it is no URI".to_owned()))?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_nodelay(true);
        let pool = || Pool::builder(TokioExecutor::new());
        let connections = if origin.is_tls() {
            connector.enforce_http(false);
            let tls = HttpsConnectorBuilder::new()
                .with_native_roots()
                .map_err(|e| SetupError::Tls(e.to_string()))?
                .https_only()
                .enable_http1()
                .wrap_connector(connector);
            Connections::Tls(pool().build(tls))
        } else {
            Connections::Plain(pool().build(connector))
        };
        Ok(Self {
            origin,
            base,
            connections,
            timeout,
        })
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// A client that sends `token`. Needs a tokio runtime (octocrab spawns a worker).
    pub(super) fn carry(&self, token: SecretString) -> Carrier {
        macro_rules! stack {
            ($pool:expr) => {
                OctocrabBuilder::new_empty()
                    .with_service($pool.clone())
                    .with_layer(&BaseUriLayer::new(self.base.clone()))
                    .with_layer(&ExtraHeadersLayer::new(std::sync::Arc::new(vec![
                        (
                            header::USER_AGENT,
                            HeaderValue::from_static(concat!("jury/", env!("CARGO_PKG_VERSION"))),
                        ),
                        (
                            header::HeaderName::from_static("x-github-api-version"),
                            HeaderValue::from_static(API_VERSION),
                        ),
                    ])))
                    .with_auth(AuthState::AccessToken {
                        token: token.clone(),
                    })
                    .build()
            };
        }
        let Ok(octocrab) = match &self.connections {
            Connections::Plain(pool) => stack!(pool),
            Connections::Tls(pool) => stack!(pool),
        };
        Carrier { token, octocrab }
    }

    /// Sends `call` once and follows redirects within the API.
    pub(super) async fn send(
        &self,
        carrier: &Carrier,
        call: &Call,
        clock: &dyn Clock,
    ) -> Result<Answer, Failure> {
        let sent = AtomicBool::new(false);
        match tokio::time::timeout(self.timeout, self.follow(carrier, call, clock, &sent)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let silence = if sent.load(Ordering::Relaxed) {
                    Silence::Sent
                } else {
                    Silence::NotSent
                };
                let reason = format!("no answer within {} s", self.timeout.as_secs());
                Err(errors::silent(call.effect(), silence, &reason).into())
            }
        }
    }

    async fn follow(
        &self,
        carrier: &Carrier,
        call: &Call,
        clock: &dyn Clock,
        sent: &AtomicBool,
    ) -> Result<Answer, Failure> {
        let mut path = call.path.clone();
        for _ in 0..=REDIRECTS_MAX {
            let (status, headers, body) = self.exchange(carrier, call, &path, sent).await?;
            if status.is_success() {
                return Ok(Answer {
                    headers,
                    body,
                    path,
                    effect: call.effect(),
                });
            }
            if matches!(status.as_u16(), 301 | 302 | 307 | 308) {
                // A redirect answers instead of acting, so nothing was done yet.
                sent.store(false, Ordering::Relaxed);
                path = headers
                    .get(header::LOCATION)
                    .and_then(|l| l.to_str().ok())
                    .and_then(|l| self.origin.relative(&path, l))
                    .ok_or_else(|| {
                        ForgeError::Internal("a redirect away from the API was not followed".to_owned())
                    })?;
                continue;
            }
            let body = errors::without(carrier.token.expose_secret(), body.as_deref().unwrap_or_default());
            return Err(Failure {
                status: Some(status),
                error: errors::classify(call.effect(), status, &headers, &body, clock.now()),
                headers,
            });
        }
        Err(ForgeError::Internal("too many redirects".to_owned()).into())
    }

    async fn exchange(
        &self,
        carrier: &Carrier,
        call: &Call,
        path: &str,
        sent: &AtomicBool,
    ) -> Result<(StatusCode, HeaderMap, Option<Bytes>), ForgeError> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(self.origin.absolute_path(path))
            .header(header::ACCEPT, call.accept);
        let body = match &call.body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                OctoBody::from(body.to_string())
            }
            None => OctoBody::empty(),
        };
        let request = request
            .body(body)
            .map_err(|e| ForgeError::Internal(format!("a request that cannot be built: {e}")))?;
        sent.store(true, Ordering::Relaxed);
        let mut counted = Counted(&call.method, "none");
        let response = carrier.octocrab.execute(request).await.map_err(|e| {
            let silence = if never_connected(&e) {
                Silence::NotSent
            } else {
                Silence::Sent
            };
            errors::silent(call.effect(), silence, &chain(&e))
        })?;
        let (parts, body) = response.into_parts();
        counted.1 = match parts.status.as_u16() {
            ..=299 => "2xx",
            300..=399 => "3xx",
            400..=499 => "4xx",
            _ => "5xx",
        };
        let body = match Limited::new(body, call.cap).collect().await {
            Ok(body) => Some(body.to_bytes()),
            Err(e) if e.is::<LengthLimitError>() => None,
            Err(e) => {
                let reason = format!("the answer broke off: {}", errors::one_line(&e.to_string()));
                return Err(errors::silent(call.effect(), Silence::Sent, &reason));
            }
        };
        Ok((parts.status, parts.headers, body))
    }
}

/// Counts a request when it ends, one that was given up too: its method and what came of it.
struct Counted<'a>(&'a Method, &'static str);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let method = match *self.0 {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        metrics::counter!("jury_forge_requests_total", "method" => method, "class" => self.1).increment(1);
    }
}

/// Whether no connection was made, so that nothing was sent.
fn never_connected(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
            return error.is_connect();
        }
        next = error.source();
    }
    false
}

/// The texts of an error and of its causes; octocrab's own says next to nothing.
fn chain(error: &octocrab::Error) -> String {
    let mut texts = Vec::new();
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    texts.dedup();
    if texts.is_empty() {
        "the request failed".to_owned()
    } else {
        texts.join(": ")
    }
}
