//! What the owner decides: gates, consensus, publication. The server's
//! `[policy]` table and a repository's `.github/jury.toml` hold the same keys;
//! the repository's replace the server's key by key, except those that the
//! server's `policy_locked` names (DESIGN §7).

mod parse;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    review::finding::{Axis, Priority},
    words::{nearest, words},
};

pub use parse::{KNOWN_KEYS, MAX_BYTES, MAX_QUORUM, PolicyError, parse, parse_table};

words! {
    /// What a verdict does to the required check.
    pub enum Gate {
        /// Only `ship` is a success.
        Required = "required",
        /// `hold` and "could not run" become `neutral`; `block` stays a failure.
        Advisory = "advisory",
    }
}

words! {
    /// When a finished pass is published.
    pub enum Publish {
        /// At once.
        Auto = "auto",
        /// After a person approved it; the check waits as `action_required`.
        Ask = "ask",
    }
}

words! {
    /// What becomes of an action that needs a person's approval when nobody is
    /// there to answer (DESIGN §4).
    pub enum Approvals {
        /// It is denied at once.
        Deny = "deny",
        /// It waits, at most 24 hours, and is then denied.
        Wait = "wait",
    }
}

/// The policy in force, every key filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What a verdict does to the check.
    pub gate: Gate,
    /// When it is published.
    pub publish: Publish,
    /// What an unanswered approval comes to.
    pub approvals: Approvals,
    /// Whether a `ship` may be published as an approval. Off by default.
    pub approve: bool,
    /// Axes whose gate differs from the default.
    pub gated: BTreeMap<Axis, bool>,
    /// Confirmations that a finding of a priority needs; at least one.
    pub quorum: BTreeMap<Priority, u32>,
    /// Whether confirmations by agents must come from different models.
    pub distinct_models: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            gate: Gate::Required,
            publish: Publish::Auto,
            approvals: Approvals::Deny,
            approve: false,
            gated: BTreeMap::new(),
            quorum: BTreeMap::new(),
            distinct_models: false,
        }
    }
}

impl Policy {
    /// Whether `axis` must pass or warn before anything ships.
    pub fn is_gated(&self, axis: Axis) -> bool {
        let default = matches!(axis, Axis::Correctness | Axis::Security);
        self.gated.get(&axis).copied().unwrap_or(default)
    }

    /// How many confirmations make a finding of `priority` ready.
    pub fn quorum(&self, priority: Priority) -> u32 {
        self.quorum.get(&priority).copied().unwrap_or(1).max(1)
    }

    /// Replaces what `patch` says, key by key, except what is locked. Returns the
    /// dotted names of the keys that were left alone, in order, so that the
    /// repository's owner can be told.
    pub fn apply(&mut self, patch: &PolicyPatch, locked: &Locked) -> Vec<String> {
        let mut ignored = Vec::new();
        let mut open = |key: String| {
            let open = !locked.locks(&key);
            if !open {
                ignored.push(key);
            }
            open
        };
        if let Some(gate) = patch.gate.filter(|_| open("gate".into())) {
            self.gate = gate;
        }
        if let Some(publish) = patch.publish.filter(|_| open("publish".into())) {
            self.publish = publish;
        }
        if let Some(approvals) = patch.approvals.filter(|_| open("approvals".into())) {
            self.approvals = approvals;
        }
        if let Some(approve) = patch.approve.filter(|_| open("approve".into())) {
            self.approve = approve;
        }
        for (axis, gated) in &patch.gated {
            if open(format!("axes.{axis}.gated")) {
                self.gated.insert(*axis, *gated);
            }
        }
        for (priority, quorum) in &patch.quorum {
            if open(format!("consensus.quorum.{priority}")) {
                self.quorum.insert(*priority, *quorum);
            }
        }
        if let Some(distinct) = patch
            .distinct_models
            .filter(|_| open("consensus.distinct_models".into()))
        {
            self.distinct_models = distinct;
        }
        ignored
    }
}

/// The keys that a file set. What it did not set is left to whoever is asked next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyPatch {
    /// `gate`
    pub gate: Option<Gate>,
    /// `publish`
    pub publish: Option<Publish>,
    /// `approvals`
    pub approvals: Option<Approvals>,
    /// `approve`
    pub approve: Option<bool>,
    /// `[axes.<axis>] gated`
    pub gated: BTreeMap<Axis, bool>,
    /// `[consensus] quorum`: a number sets every priority.
    pub quorum: BTreeMap<Priority, u32>,
    /// `[consensus] distinct_models`
    pub distinct_models: Option<bool>,
}

/// The keys that a repository cannot replace: the server's `policy_locked`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Locked(BTreeSet<String>);

/// A name in `policy_locked` that is no key of the policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "policy_locked names {name:?}, which is no policy key{}",
    did_you_mean(nearest)
)]
pub struct UnknownLock {
    /// The name as given, cut to 64 characters.
    pub name: String,
    /// The key that was probably meant.
    pub nearest: Option<String>,
}

#[expect(clippy::ref_option, reason = "thiserror hands over a reference to the field")]
fn did_you_mean(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or_else(String::new, |key| format!("; did you mean {key:?}?"))
}

impl Locked {
    /// Takes dotted names: a key (`gate`, `axes.security.gated`,
    /// `consensus.quorum.p0`) or a table, which locks everything in it (`axes`,
    /// `axes.security`, `consensus`, `consensus.quorum`).
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownLock> {
        let lockable = lockable();
        names
            .into_iter()
            .map(|name| {
                if lockable.contains(name) {
                    Ok(name.to_owned())
                } else {
                    Err(UnknownLock {
                        name: name.chars().take(64).collect(),
                        nearest: nearest(name, lockable.iter().map(String::as_str)).map(str::to_owned),
                    })
                }
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether the key with this dotted name, or a table around it, is locked.
    pub fn locks(&self, key: &str) -> bool {
        self.0.iter().any(|name| {
            key == name
                || key
                    .strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.starts_with('.'))
        })
    }
}

/// Every dotted name that can be locked.
fn lockable() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = ["gate", "publish", "approvals", "approve"]
        .map(String::from)
        .into();
    names.extend(
        [
            "axes",
            "consensus",
            "consensus.quorum",
            "consensus.distinct_models",
        ]
        .map(String::from),
    );
    for axis in Axis::ALL {
        names.insert(format!("axes.{axis}"));
        names.insert(format!("axes.{axis}.gated"));
    }
    names.extend(
        Priority::ALL
            .iter()
            .map(|priority| format!("consensus.quorum.{priority}")),
    );
    names
}

#[cfg(test)]
mod tests;
