//! What an installation may still ask of the forge in this hour, and who may ask.
//!
//! GitHub counts requests for an installation and resource and says with every answer
//! what is left (`x-ratelimit-*`, rate-limits page). Work is put off before nothing is
//! left: listing first, then reviewing; the last part is kept for saying what reviews
//! came to, so that no check stays in progress for an hour. A pause that the forge asked
//! for (a secondary limit) is kept by every request of the installation, since going on
//! "may result in the banning of your integration" (same page).
//!
//! Invariants: without a word of the forge nothing is put off (an enterprise server has
//! its limits off by default); nothing is put off for longer than an hour, and what was
//! seen at a time that is now ahead is forgotten, so that neither a wrong clock, one that
//! is set back nor an odd header parks work for good. Labels of metrics are bounded.
//!
//! Races considered: answers overtake each other, so within one hour the least that was
//! left counts; each replica knows what its own answers said, which counts all of them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use http::HeaderMap;

use crate::{
    domain::{ids::InstallationId, time::Timestamp},
    ports::forge::ForgeError,
};

use super::errors::Effect;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Looking what there is; heals what was missed, and can wait.
    Listing,
    /// Reading a change, saying that it is being read.
    Reviewing,
    /// Saying what a review came to, or finding out whether it was said.
    Concluding,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Listing => "listing",
            Self::Reviewing => "reviewing",
            Self::Concluding => "concluding",
        }
    }

    /// How much of `limit` has to be left beside the request.
    fn floor(self, limit: i64) -> i64 {
        match self {
            Self::Listing => limit / 4,
            Self::Reviewing => limit / 20,
            Self::Concluding => 0,
        }
    }
}

/// How much of `limit` has to be left for a pass to begin: what it begins it can end.
fn to_begin(limit: i64) -> i64 {
    limit / 10
}

/// The longest that anything is put off, milliseconds: the window is one hour.
const LONGEST_MS: i64 = 3_600_000;
/// Clocks differ; the new hour is given a second.
const SLACK_MS: i64 = 1000;
/// Installations with labels of their own in the metrics; all others share one.
const LABELLED: usize = 64;
/// The resource that everything here is taken from.
const CORE: &str = "core";
/// What GitHub calls its resources (`GET /rate_limit`, OpenAPI); others are `other`.
const RESOURCES: &[&str] = &[
    CORE,
    "search",
    "code_search",
    "graphql",
    "integration_manifest",
    "source_import",
    "code_scanning_upload",
    "actions_runner_registration",
    "scim",
    "dependency_snapshots",
];

/// What an answer said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    limit: i64,
    remaining: i64,
    /// Seconds since the epoch, by the forge's clock.
    reset: i64,
    at: Timestamp,
}

impl Seen {
    fn read(headers: &HeaderMap, now: Timestamp) -> Option<(&'static str, Self)> {
        let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
        let number = |name: &str| text(name)?.parse::<i64>().ok().filter(|n| *n >= 0);
        let resource = text("x-ratelimit-resource").unwrap_or(CORE);
        let known = RESOURCES.iter().find(|known| **known == resource);
        let limit = number("x-ratelimit-limit")?;
        let seen = Self {
            limit,
            remaining: number("x-ratelimit-remaining")?.min(limit),
            reset: number("x-ratelimit-reset")?,
            at: now,
        };
        Some((known.copied().unwrap_or("other"), seen))
    }

    /// Milliseconds until the hour ends; `None` when it has, or nobody can tell.
    fn left_ms(&self, now: Timestamp) -> Option<i64> {
        let known_for = now.0.checked_sub(self.at.0)?;
        let ends = self.reset.saturating_mul(1000).saturating_add(SLACK_MS);
        let left = ends.saturating_sub(now.0);
        (left > 0 && (0..LONGEST_MS).contains(&known_for)).then_some(left.min(LONGEST_MS))
    }
}

/// A pause that the forge asked for.
#[derive(Debug, Clone, Copy)]
struct Pause {
    from: Timestamp,
    until: Timestamp,
}

impl Pause {
    fn left_ms(&self, now: Timestamp) -> Option<i64> {
        (self.from <= now && now < self.until).then(|| self.until.0 - now.0)
    }
}

#[derive(Debug, Default)]
struct Account {
    seen: BTreeMap<&'static str, Seen>,
    /// Nothing is asked.
    pause: Option<Pause>,
    /// Nothing is written: content creation is throttled by itself.
    write_pause: Option<Pause>,
    labelled: bool,
}

/// The budgets of all installations.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    accounts: Mutex<HashMap<InstallationId, Account>>,
}

impl Budgets {
    fn accounts(&self) -> MutexGuard<'_, HashMap<InstallationId, Account>> {
        // Nothing panics while this is held, and a map is whole after a panic anyway.
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request may be sent now; `Later` = nothing was sent, and when to try.
    pub(super) fn admit(
        &self,
        installation: InstallationId,
        purpose: Purpose,
        effect: Effect,
        now: Timestamp,
    ) -> Result<(), ForgeError> {
        let accounts = self.accounts();
        let Some(account) = accounts.get(&installation) else {
            return Ok(());
        };
        let writes = account.write_pause.filter(|_| effect == Effect::Write);
        let pauses = [account.pause, writes];
        let pause = pauses.iter().flatten().filter_map(|p| p.left_ms(now)).max();
        let spent = account.seen.get(CORE).and_then(|seen| {
            let left = seen.left_ms(now)?;
            (seen.remaining <= purpose.floor(seen.limit)).then_some(left)
        });
        let (why, reason, wait) = match (pause, spent) {
            (None, None) => return Ok(()),
            (Some(wait), _) => ("pause", "the forge asked for a pause", wait),
            (None, Some(wait)) => ("budget", "this hour's requests to the forge are kept back", wait),
        };
        metrics::counter!("jury_forge_postponed_total", "purpose" => purpose.as_str(), "why" => why)
            .increment(1);
        Err(ForgeError::Later {
            reason: reason.to_owned(),
            after_ms: Some(wait),
        })
    }

    /// Milliseconds to wait before a pass is begun; `None` = it may begin.
    pub(super) fn wait_to_begin(&self, installation: InstallationId, now: Timestamp) -> Option<i64> {
        let accounts = self.accounts();
        let account = accounts.get(&installation)?;
        let pause = account.pause.and_then(|p| p.left_ms(now));
        let spent = account
            .seen
            .get(CORE)
            .filter(|seen| seen.remaining <= to_begin(seen.limit));
        pause.max(spent.and_then(|seen| seen.left_ms(now)))
    }

    /// Takes note of what an answer says is left.
    pub(super) fn note(&self, installation: InstallationId, headers: &HeaderMap, now: Timestamp) {
        let Some((resource, seen)) = Seen::read(headers, now) else {
            return;
        };
        let mut accounts = self.accounts();
        let labelled = accounts.values().filter(|a| a.labelled).count();
        let account = accounts.entry(installation).or_default();
        account.labelled |= labelled < LABELLED;
        let before = account.seen.get(resource).filter(|b| b.left_ms(now).is_some());
        let counts = match before {
            Some(before) if before.reset > seen.reset => *before,
            Some(before) if before.reset == seen.reset => Seen {
                remaining: before.remaining.min(seen.remaining),
                ..seen
            },
            _ => seen,
        };
        account.seen.insert(resource, counts);
        let (label, shown) = if account.labelled {
            (installation.to_string(), counts)
        } else {
            let others = accounts.values().filter(|a| !a.labelled);
            let seen = others.filter_map(|a| a.seen.get(resource));
            let least = seen
                .filter(|s| s.left_ms(now).is_some())
                .min_by_key(|s| s.remaining);
            ("other".to_owned(), least.copied().unwrap_or(counts))
        };
        drop(accounts);
        show(label, resource, shown);
    }

    /// Takes note of a pause that the forge asked for; of writing only when it refused
    /// what was written (422) and not who asks.
    pub(super) fn pause(&self, installation: InstallationId, writes: bool, wait_ms: i64, now: Timestamp) {
        let until = now.plus_ms(wait_ms.clamp(0, LONGEST_MS));
        let mut accounts = self.accounts();
        let account = accounts.entry(installation).or_default();
        let pause = if writes {
            &mut account.write_pause
        } else {
            &mut account.pause
        };
        let longer = pause.is_some_and(|p| p.left_ms(now).is_some() && p.until > until);
        if !longer {
            *pause = Some(Pause { from: now, until });
        }
    }
}

fn show(installation: String, resource: &'static str, seen: Seen) {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let number = |n: i64| n as f64;
    let labels = [("installation", installation), ("resource", resource.to_owned())];
    metrics::gauge!("jury_forge_rate_limit", &labels).set(number(seen.limit));
    metrics::gauge!("jury_forge_rate_remaining", &labels).set(number(seen.remaining));
    metrics::gauge!("jury_forge_rate_reset_seconds", &labels).set(number(seen.reset));
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
