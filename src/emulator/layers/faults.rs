//! The forge fails on order: which request (a [`Rule`]), and what goes wrong (a
//! [`Fault`]).
//!
//! A request meets the first rule, in the order they were planned, that matches it and
//! is not used up. Rules that it passes count it all the same when they match, so
//! that "the third of these" means the third that was sent. What a request asked for
//! happens whether or not its sender still waits: a slow forge is no forge that
//! forgets.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::http::Method;
use serde::{Deserialize, Deserializer};

use crate::emulator::{people::People, state::World};

/// Whether the forge did what it was asked for before the fault shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Nothing happens.
    Before,
    /// The effect happens and only its answer is lost.
    After,
}

/// What people do while a request is under way.
#[derive(Clone)]
pub struct Deed(Arc<dyn Fn(&People) + Send + Sync>);

impl Deed {
    pub(crate) fn happen(&self, people: &People) {
        (self.0)(people);
    }
}

impl fmt::Debug for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deed")
    }
}

/// What goes wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// An answer of this status, with headers such as `retry-after`.
    Status {
        /// The status.
        status: u16,
        /// More headers.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// GitHub's `message`.
        #[serde(default = "server_error")]
        message: String,
        /// GitHub's `errors`.
        #[serde(default)]
        errors: Option<serde_json::Value>,
        /// Before or after the effect.
        when: When,
    },
    /// The connection is cut without an answer.
    Cut(When),
    /// The effect happens, and the connection is cut in the middle of the answer's body.
    CutBody,
    /// It takes this much longer: before the effect (which happens even when nobody
    /// waits any more), or before its answer. Real time.
    Slow {
        /// How long.
        #[serde(rename = "ms", deserialize_with = "milliseconds")]
        time: Duration,
        /// Before or after the effect.
        when: When,
    },
    /// A gateway answers 504 at once, and the request takes effect only when
    /// [`Emulator::let_late_arrive`](crate::emulator::Emulator::let_late_arrive) is called.
    Late,
    /// A read shows what was when the fault was planned: answers of the API come from
    /// a copy of the state, git's own do not.
    Stale,
    /// The token that the request carries is worth nothing from now on.
    TokenDies,
    /// People do something just before the request, or just after it.
    #[serde(skip)]
    Meanwhile(Deed, When),
}

fn server_error() -> String {
    "Server Error".to_owned()
}

fn milliseconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}

impl Fault {
    /// A plain answer of this status.
    #[must_use]
    pub fn status(status: u16, when: When) -> Self {
        Self::Status {
            status,
            headers: Vec::new(),
            message: server_error(),
            errors: None,
            when,
        }
    }

    /// Refused for its rate, with this status (GitHub: 403 or 429) and, when it says
    /// so, how many seconds to wait.
    #[must_use]
    pub fn secondary_limit(status: u16, retry_after: Option<u32>) -> Self {
        let header = |seconds: u32| ("retry-after".to_owned(), seconds.to_string());
        Self::Status {
            status,
            headers: retry_after.map(header).into_iter().collect(),
            message:
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
                    .to_owned(),
            errors: None,
            when: When::Before,
        }
    }

    /// Refused since the hour's requests are used up; `reset` is seconds since the epoch.
    #[must_use]
    pub fn primary_limit(reset: i64) -> Self {
        Self::Status {
            status: 403,
            headers: vec![
                ("x-ratelimit-limit".to_owned(), "5000".to_owned()),
                ("x-ratelimit-remaining".to_owned(), "0".to_owned()),
                ("x-ratelimit-reset".to_owned(), reset.to_string()),
                ("x-ratelimit-resource".to_owned(), "core".to_owned()),
            ],
            message: "API rate limit exceeded for installation.".to_owned(),
            errors: None,
            when: When::Before,
        }
    }

    /// Content creation throttled with a 422 (seen: paranext/paranext-core#2659).
    #[must_use]
    pub fn abuse(retry_after: Option<u32>) -> Self {
        let errors = serde_json::json!([{
            "resource": "PullRequestReviewComment",
            "code": "abuse",
            "field": "body",
            "message": "was submitted too quickly",
        }]);
        let header = |seconds: u32| ("retry-after".to_owned(), seconds.to_string());
        Self::Status {
            status: 422,
            headers: retry_after.map(header).into_iter().collect(),
            message: "Validation Failed".to_owned(),
            errors: Some(errors),
            when: When::Before,
        }
    }

    /// People do something just before the request takes effect, or just after it.
    pub fn meanwhile(when: When, deed: impl Fn(&People) + Send + Sync + 'static) -> Self {
        Self::Meanwhile(Deed(Arc::new(deed)), when)
    }
}

/// Which requests a fault is for. As text: `POST /repos/*/*/check-runs`, the method
/// `*` being any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    method: Option<Method>,
    path: String,
    nth: u32,
    times: Option<u32>,
}

impl Rule {
    /// The next request of this method whose path (below `/api/v3`, or the whole path
    /// of git and pages; without its query) begins so. `*` stands for anything within
    /// a segment, and a `$` at the end for the path's end.
    #[must_use]
    pub fn on(method: Method, path: &str) -> Self {
        Self {
            method: Some(method),
            path: path.to_owned(),
            nth: 1,
            times: Some(1),
        }
    }

    /// The same for any method.
    #[must_use]
    pub fn any(path: &str) -> Self {
        Self {
            method: None,
            ..Self::on(Method::GET, path)
        }
    }

    /// The first to fail is the `nth` of them, counted from 1.
    #[must_use]
    pub fn nth(self, nth: u32) -> Self {
        Self {
            nth: nth.max(1),
            ..self
        }
    }

    /// So many fail, one after the other.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self {
            times: Some(times),
            ..self
        }
    }

    /// All of them fail.
    #[must_use]
    pub fn always(self) -> Self {
        Self { times: None, ..self }
    }

    fn matches(&self, method: &Method, path: &str) -> bool {
        self.method.as_ref().is_none_or(|m| m == method) && begins(&self.path, path)
    }
}

/// A text that is no rule.
#[derive(Clone, Debug, thiserror::Error)]
#[error("a rule is METHOD PATH, such as \"POST /repos/*/*/check-runs\", not {0:?}")]
pub struct NotARule(String);

impl FromStr for Rule {
    type Err = NotARule;

    fn from_str(text: &str) -> Result<Self, NotARule> {
        let not = || NotARule(text.to_owned());
        let (method, path) = text.split_once(' ').ok_or_else(not)?;
        let path = path.trim();
        match (method, path.starts_with('/')) {
            (_, false) => Err(not()),
            ("*", _) => Ok(Self::any(path)),
            (method, _) => {
                let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
                let method = known.contains(&method).then(|| method.parse().ok()).flatten();
                Ok(Self::on(method.ok_or_else(not)?, path))
            }
        }
    }
}

/// Whether `path` begins as `pattern` says.
fn begins(pattern: &str, path: &str) -> bool {
    let (pattern, whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    match pattern.split_once('*') {
        None if whole => path == pattern,
        None => path.starts_with(pattern),
        Some((head, rest)) => {
            let Some(after) = path.strip_prefix(head) else {
                return false;
            };
            let rest = if whole {
                format!("{rest}$")
            } else {
                rest.to_owned()
            };
            let segment = after.find('/').unwrap_or(after.len());
            (0..=segment)
                .filter(|at| after.is_char_boundary(*at))
                .any(|at| begins(&rest, &after[at..]))
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    on: String,
    nth: Option<u32>,
    /// 0: always.
    times: Option<u32>,
    fault: Fault,
}

/// Why a file of faults cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableFaults {
    /// It is no such JSON.
    #[error("a file of faults is a JSON list of {{\"on\", \"nth\", \"times\", \"fault\"}}: {0}")]
    Json(#[from] serde_json::Error),
    /// A rule makes no sense.
    #[error(transparent)]
    Rule(#[from] NotARule),
}

/// Reads faults from JSON: `[{"on": "POST /repos/*/*/check-runs", "nth": 2, "times": 1,
/// "fault": {"status": {"status": 502, "when": "after"}}}]`; `times` 0 is always.
///
/// # Errors
/// When it is no such JSON; unknown keys are refused.
pub fn read_faults(json: &str) -> Result<Vec<(Rule, Fault)>, UnreadableFaults> {
    let entries: Vec<Entry> = serde_json::from_str(json)?;
    entries
        .into_iter()
        .map(|entry| {
            let rule: Rule = entry.on.parse()?;
            let rule = rule.nth(entry.nth.unwrap_or(1));
            let rule = match entry.times {
                Some(0) => rule.always(),
                times => rule.times(times.unwrap_or(1)),
            };
            Ok((rule, entry.fault))
        })
        .collect()
}

/// The fault that a request met.
#[derive(Clone)]
pub(crate) struct Met {
    pub(crate) fault: Fault,
    /// What was when it was planned, for [`Fault::Stale`].
    pub(crate) then: Option<Arc<Mutex<World>>>,
}

struct Planned {
    rule: Rule,
    met: Met,
    matched: u32,
    used: u32,
}

/// The faults that wait. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Faults {
    planned: Arc<Mutex<Vec<Planned>>>,
}

impl Faults {
    pub(crate) fn plan(&self, rule: Rule, fault: Fault, then: Option<World>) {
        let then = then.map(|world| Arc::new(Mutex::new(world)));
        let planned = Planned {
            rule,
            met: Met { fault, then },
            matched: 0,
            used: 0,
        };
        let mut all = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(planned);
    }

    /// The fault that waits for this request.
    pub(crate) fn meet(&self, method: &Method, path: &str) -> Option<Met> {
        let mut all = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let mut met = None;
        for planned in all.iter_mut().filter(|p| p.rule.matches(method, path)) {
            planned.matched += 1;
            let due = planned.matched >= planned.rule.nth;
            let left = planned.rule.times.is_none_or(|times| planned.used < times);
            if due && left && met.is_none() {
                planned.used += 1;
                met = Some(planned.met.clone());
            }
        }
        all.retain(|p| p.rule.times.is_none_or(|times| p.used < times));
        met
    }

    /// How many rules have requests left that they were planned for; one without an
    /// end has none left once it was met.
    pub(crate) fn waiting(&self) -> usize {
        let all = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter()
            .filter(|p| p.rule.times.is_some() || p.used == 0)
            .count()
    }

    /// Nothing fails any more.
    pub(crate) fn clear(&self) {
        let mut all = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        all.clear();
    }
}
