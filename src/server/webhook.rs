//! `POST /webhooks/github`.
//!
//! The order is the point. Bounds first (they need no trust), then the signature
//! over the raw bytes, and only then is anything of the request read, looked up or
//! stored: an unsigned request can neither poison the delivery ids nor learn
//! anything. The answer is `202` once the delivery is durable, so that a crash after
//! it loses nothing; the same id again is `202` too and changes nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, HttpBody},
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, StatusCode,
        header::{CONTENT_TYPE, EXPECT, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use metrics::Counter;
use tracing::Instrument;

use crate::{
    domain::ids::DeliveryId,
    services::accept_delivery::{Accepted, DeliverySink, NewDelivery},
};

use super::{
    Face, WebhookLimits,
    body::{self, Budget, Lingering, Refused},
    form::{self, FormFault},
    signature::{Claimed, WebhookKey},
};

const DELIVERY: HeaderName = HeaderName::from_static("x-github-delivery");
const EVENT: HeaderName = HeaderName::from_static("x-github-event");

/// Seconds after which a sender that was turned away for load may come back.
const COME_BACK: &str = "5";

/// A body over this is parsed on a thread of its own, so that it does not hold up
/// the other connections of its worker.
const PARSE_ASIDE: usize = 256 << 10;

/// Refused bodies that are read to their end at once, and the time each may take.
const LINGERING: (usize, Duration) = (32, Duration::from_secs(10));

/// The state of the route.
pub(super) struct Webhook {
    sink: Arc<dyn DeliverySink>,
    key: WebhookKey,
    limits: WebhookLimits,
    budget: Arc<Budget>,
    lingering: Lingering,
    counters: Vec<Counter>,
    bad_signatures: AtomicU64,
    requests: AtomicU64,
}

impl Webhook {
    pub(super) fn new(face: &Face) -> Self {
        let counter = |end: &End| metrics::counter!("jury_deliveries_total", "outcome" => end.word());
        let in_flight = metrics::gauge!("jury_webhook_bytes_in_flight");
        Self {
            sink: Arc::clone(&face.sink),
            key: face.key.clone(),
            limits: face.limits,
            budget: Arc::new(Budget::new(face.limits.in_flight, in_flight)),
            lingering: Lingering::new(LINGERING.0, 2 * face.limits.form, LINGERING.1),
            counters: End::ALL.iter().map(counter).collect(),
            bad_signatures: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Stored,
    Repeated,
    Requeued,
    Unsigned,
    BadSignature,
    TooLarge,
    NotJson,
    BadRequest(&'static str),
    Busy,
    Slow,
    Unavailable,
}

impl End {
    /// One of each, in the order of [`End::index`].
    const ALL: [Self; 11] = [
        Self::Stored,
        Self::Repeated,
        Self::Requeued,
        Self::Unsigned,
        Self::BadSignature,
        Self::TooLarge,
        Self::NotJson,
        Self::BadRequest(""),
        Self::Busy,
        Self::Slow,
        Self::Unavailable,
    ];

    fn index(self) -> usize {
        match self {
            Self::Stored => 0,
            Self::Repeated => 1,
            Self::Requeued => 2,
            Self::Unsigned => 3,
            Self::BadSignature => 4,
            Self::TooLarge => 5,
            Self::NotJson => 6,
            Self::BadRequest(_) => 7,
            Self::Busy => 8,
            Self::Slow => 9,
            Self::Unavailable => 10,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Repeated => "repeated",
            Self::Requeued => "requeued",
            Self::Unsigned => "unsigned",
            Self::BadSignature => "bad_signature",
            Self::TooLarge => "too_large",
            Self::NotJson => "not_json",
            Self::BadRequest(_) => "bad_request",
            Self::Busy => "busy",
            Self::Slow => "slow",
            Self::Unavailable => "unavailable",
        }
    }

    fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Self::Stored | Self::Requeued => (StatusCode::ACCEPTED, "accepted\n"),
            Self::Repeated => (StatusCode::ACCEPTED, "accepted before\n"),
            Self::Unsigned => (
                StatusCode::UNAUTHORIZED,
                "X-Hub-Signature-256 is missing or malformed\n",
            ),
            Self::BadSignature => (StatusCode::UNAUTHORIZED, "the signature does not match\n"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large\n"),
            Self::NotJson => (StatusCode::BAD_REQUEST, "the payload is not JSON\n"),
            Self::BadRequest(why) => (StatusCode::BAD_REQUEST, why),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "too much in flight\n"),
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, "the body came too slowly\n"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "cannot store deliveries now\n"),
        }
    }
}

impl IntoResponse for End {
    fn into_response(self) -> Response {
        let answer = self.answer();
        if answer.0 == StatusCode::SERVICE_UNAVAILABLE {
            return ([(RETRY_AFTER, COME_BACK)], answer).into_response();
        }
        answer.into_response()
    }
}

impl From<Refused> for End {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::TooLarge => Self::TooLarge,
            Refused::Busy => Self::Busy,
            Refused::Slow => Self::Slow,
            Refused::Broken => Self::BadRequest("the body did not arrive whole\n"),
        }
    }
}

/// The handler.
pub(super) async fn take(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    let number = webhook.requests.fetch_add(1, Ordering::Relaxed);
    let (head, mut body) = request.into_parts();
    let span = tracing::info_span!(
        "delivery",
        request = number,
        id = tracing::field::Empty,
        event = tracing::field::Empty
    );
    let end = webhook
        .deliver(&head.headers, &mut body)
        .instrument(span.clone())
        .await
        .unwrap_or_else(|end| end);
    span.in_scope(|| tracing::debug!(outcome = end.word(), "answered"));
    webhook.counters[end.index()].increment(1);
    // Whoever waits for a "100 Continue" has sent nothing and must not be asked to;
    // whoever was too slow has had its time.
    let lingers = end != End::Slow && !head.headers.contains_key(EXPECT);
    if lingers && !body.is_end_stream() {
        webhook.lingering.forget(body);
    }
    end.into_response()
}

impl Webhook {
    async fn deliver(&self, headers: &HeaderMap, body: &mut Body) -> Result<End, End> {
        let form = is_form(headers);
        let limit = if form { self.limits.form } else { self.limits.json };
        if !body::announces_at_most(body, limit) {
            return Err(End::TooLarge);
        }
        let claimed = Claimed::from_headers(headers).ok_or(End::Unsigned)?;
        let mut check = self.key.check(claimed);
        let received = body::receive(body, limit, self.limits.receive, &self.budget, &mut check).await?;
        if !check.holds() {
            self.warn_of_bad_signature();
            return Err(End::BadSignature);
        }
        let id = header(headers, &DELIVERY, 128).ok_or(End::BadRequest(
            "X-GitHub-Delivery is missing or not 1 to 128 visible ASCII characters\n",
        ))?;
        let event = header(headers, &EVENT, 64).ok_or(End::BadRequest(
            "X-GitHub-Event is missing or not 1 to 64 visible ASCII characters\n",
        ))?;
        let span = tracing::Span::current();
        span.record("id", id).record("event", event);
        let delivery = NewDelivery {
            id: DeliveryId::new(id),
            event: event.to_owned(),
            body: payload(received.bytes, form, self.limits.json).await?,
        };
        let accepted = tokio::time::timeout(self.limits.store, self.sink.accept(delivery)).await;
        // Until here the bytes are ours; the inbox counts its own.
        drop(received.held);
        match accepted {
            Ok(Ok(Accepted::Stored)) => Ok(End::Stored),
            Ok(Ok(Accepted::Repeated)) => Ok(End::Repeated),
            Ok(Ok(Accepted::Requeued)) => Ok(End::Requeued),
            Ok(Err(error)) => {
                tracing::error!(%error, "a delivery could not be stored");
                Err(End::Unavailable)
            }
            Err(_) => {
                tracing::error!("the inbox did not answer in time");
                Err(End::Unavailable)
            }
        }
    }

    /// A wrong secret must be found by reading the log, and a stranger must not be
    /// able to fill it: the first, second, fourth, eighth … is told.
    fn warn_of_bad_signature(&self) {
        let count = self.bad_signatures.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            tracing::warn!(
                count,
                "a signature does not match: is the App's webhook secret the one configured here?"
            );
        }
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    essence
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// The one value of a header, if it is short, visible ASCII.
fn header<'a>(headers: &'a HeaderMap, name: &HeaderName, longest: usize) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let text = value.to_str().ok()?;
    let fits = (1..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(text)
}

/// The JSON of a verified body.
async fn payload(bytes: Bytes, form: bool, limit: usize) -> Result<Bytes, End> {
    if bytes.len() <= PARSE_ASIDE {
        return parse(bytes, form, limit);
    }
    let parsed = tokio::task::spawn_blocking(move || parse(bytes, form, limit));
    parsed.await.unwrap_or(Err(End::Unavailable))
}

pub(super) fn parse(bytes: Bytes, form: bool, limit: usize) -> Result<Bytes, End> {
    let json = if form {
        let raw = bytes
            .try_into_mut()
            .unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        let decoded = form::payload(raw, limit).map_err(|fault| match fault {
            FormFault::NoPayload => End::BadRequest("the form has not exactly one payload field\n"),
            FormFault::TooLarge => End::TooLarge,
        })?;
        decoded.freeze()
    } else {
        bytes
    };
    if is_json(&json) {
        Ok(json)
    } else {
        Err(End::NotJson)
    }
}

/// Whether the bytes are UTF-8 and one JSON value.
///
/// serde skips a value without recursion, so that no depth can exhaust the stack,
/// and keeps nothing of it.
fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
}
