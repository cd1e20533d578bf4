//! What an answer that is no success means for the caller.
//!
//! Invariants: a write is `Later` only when it is certain that nothing was done
//! (it was never sent, or the forge says that it refused it for its rate), and
//! `Unknown` when it may have been done; reads are never `Unknown`. Every text is
//! short, of one line, and holds none of our credentials (the client blanks the
//! token it used, whatever its format).

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::{
    domain::{secret::conceal, time::Timestamp},
    ports::forge::{ForgeError, ForgeError::*},
};

/// The shortest wait that is asked for, milliseconds.
const WAIT_MIN_MS: i64 = 1_000;
/// The longest: the primary rate limit's window is one hour.
const WAIT_MAX_MS: i64 = 3_600_000;
/// What GitHub asks for when it names no time (rate-limits page: at least a minute).
const WAIT_DEFAULT_MS: i64 = 60_000;
/// How much of one message is kept, in characters.
const MESSAGE_MAX: usize = 300;
/// How many messages of one refusal are kept.
const MESSAGES_MAX: usize = 40;

/// Whether a request changes something on the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It only reads: repeating it is harmless.
    Read,
    /// It writes: repeating it may do it twice.
    Write,
}

/// Why no answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// There was no connection: nothing was sent.
    NotSent,
    /// The request was (perhaps partly) sent.
    Sent,
}

/// Classifies a request without an answer.
pub(super) fn silent(effect: Effect, silence: Silence, reason: &str) -> ForgeError {
    let reason = one_line(reason);
    match (effect, silence) {
        (Effect::Write, Silence::Sent) => Unknown(reason),
        _ => Later {
            reason,
            after_ms: None,
        },
    }
}

/// Classifies an answer whose status is not 2xx.
pub(super) fn classify(
    effect: Effect,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> ForgeError {
    let said = Said::read(body);
    let reason = format!("{}: {}", status.as_u16(), said.text());
    let limited = said.speaks_of_limits();
    match status.as_u16() {
        429 => later(reason, wait(headers, now)),
        403 if limited || headers.contains_key("retry-after") || exhausted(headers) => {
            later(reason, wait(headers, now))
        }
        // Content creation is throttled with a 422 as well, code `abuse` (seen, not documented).
        422 if limited => later(reason, wait(headers, now)),
        422 => Refused(said.refusal()),
        404 | 410 => NotFound(reason),
        // In these words to every request of a suspended installation.
        403 if said.speaks_of_suspension() => Closed(reason),
        401 | 403 | 451 => Forbidden(reason),
        409 if effect == Effect::Read => NotFound(reason),
        400 | 409 | 413 if effect == Effect::Write => Refused(said.refusal()),
        408 | 500..=599 => match effect {
            Effect::Write => Unknown(reason),
            Effect::Read => Later {
                reason,
                after_ms: headers.contains_key("retry-after").then(|| wait(headers, now)),
            },
        },
        _ => Internal(format!("unexpected answer {reason}")),
    }
}

fn later(reason: String, after_ms: i64) -> ForgeError {
    Later {
        reason,
        after_ms: Some(after_ms),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn exhausted(headers: &HeaderMap) -> bool {
    header(headers, "x-ratelimit-remaining") == Some("0")
}

/// Milliseconds to wait: `retry-after` (seconds or a date), else the reset of an
/// exhausted limit, else a minute. Always within one second and one hour, so that
/// a wrong clock or header cannot park a job for good.
fn wait(headers: &HeaderMap, now: Timestamp) -> i64 {
    let after = header(headers, "retry-after").and_then(|text| match text.parse::<i64>() {
        Ok(seconds) => Some(seconds.saturating_mul(1000)),
        Err(_) => http_date(text).map(|at| at.0.saturating_sub(now.0)),
    });
    let reset = || {
        let at = header(headers, "x-ratelimit-reset")?.parse::<i64>().ok()?;
        exhausted(headers).then(|| at.saturating_mul(1000).saturating_sub(now.0))
    };
    after
        .or_else(reset)
        .unwrap_or(WAIT_DEFAULT_MS)
        .clamp(WAIT_MIN_MS, WAIT_MAX_MS)
}

/// Parses an HTTP date (RFC 9110 §5.6.7, the preferred format).
pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    let at = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(Timestamp(at.timestamp().as_millisecond()))
}

/// What the forge said beside the status.
struct Said {
    messages: Vec<String>,
    codes: Vec<String>,
}

impl Said {
    /// Reads `message` and `errors`, which holds strings or objects, and whatever else.
    fn read(body: &[u8]) -> Self {
        let mut said = Self {
            messages: Vec::new(),
            codes: Vec::new(),
        };
        let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(body) else {
            return said;
        };
        said.add(body.get("message"));
        match body.get("errors") {
            Some(Value::Array(errors)) => errors.iter().take(MESSAGES_MAX).for_each(|e| said.add(Some(e))),
            other => said.add(other),
        }
        said
    }

    fn add(&mut self, error: Option<&Value>) {
        match error {
            Some(Value::String(text)) => self.messages.push(one_line(text)),
            Some(Value::Object(error)) => {
                let text = |key: &str| error.get(key).and_then(Value::as_str);
                self.codes.extend(text("code").map(str::to_owned));
                let parts = match text("message") {
                    Some(message) => vec![text("field"), Some(message)],
                    None => vec![text("resource"), text("field"), text("code")],
                };
                let parts: Vec<&str> = parts.into_iter().flatten().collect();
                if !parts.is_empty() {
                    self.messages.push(one_line(&parts.join(" ")));
                }
            }
            _ => {}
        }
    }

    fn text(&self) -> String {
        if self.messages.is_empty() {
            "no message".to_owned()
        } else {
            one_line(&self.messages.join("; "))
        }
    }

    fn refusal(self) -> Vec<String> {
        if self.messages.is_empty() {
            vec!["no message".to_owned()]
        } else {
            self.messages
        }
    }

    fn speaks_of_suspension(&self) -> bool {
        self.messages.iter().any(|message| {
            let message = message.to_ascii_lowercase();
            message.contains("installation") && message.contains("suspended")
        })
    }

    fn speaks_of_limits(&self) -> bool {
        const WORDS: &[&str] = &[
            "submitted too quickly",
            "secondary rate limit",
            "api rate limit exceeded",
            "abuse detection",
        ];
        self.codes.iter().any(|code| code == "abuse")
            || self.messages.iter().any(|message| {
                let message = message.to_ascii_lowercase();
                WORDS.iter().any(|word| message.contains(word))
            })
    }
}

/// `text` on one line, without control characters, cut to a bounded length.
pub(super) fn one_line(text: &str) -> String {
    let text = &*conceal(text);
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MESSAGE_MAX)
        .collect();
    if text.chars().nth(MESSAGE_MAX).is_some() {
        line.push('…');
    }
    line
}

/// A body of an error with `secret` blanked wherever the forge may have echoed it;
/// done before anything is cut, so that no half of it stays.
pub(super) fn without(secret: &str, body: &[u8]) -> Vec<u8> {
    if secret.is_empty() {
        return body.to_vec();
    }
    String::from_utf8_lossy(body)
        .replace(secret, "[token]")
        .into_bytes()
}

/// A copy; [`ForgeError`] is not `Clone` since few need it to be.
pub(super) fn copy(error: &ForgeError) -> ForgeError {
    match error {
        Later { reason, after_ms } => Later {
            reason: reason.clone(),
            after_ms: *after_ms,
        },
        Unknown(text) => Unknown(text.clone()),
        NotFound(text) => NotFound(text.clone()),
        Forbidden(text) => Forbidden(text.clone()),
        Closed(text) => Closed(text.clone()),
        Refused(texts) => Refused(texts.clone()),
        Internal(text) => Internal(text.clone()),
    }
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
