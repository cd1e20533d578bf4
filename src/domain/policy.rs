//! What the owner decides: gates, consensus, publication. The server's
//! `[policy]` table and a repository's `.github/jury.toml` hold the same keys.

use std::collections::BTreeMap;

use super::{
    review::finding::{Axis, Priority},
    words::words,
};

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

/// The policy in force, every key filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What a verdict does to the check.
    pub gate: Gate,
    /// When it is published.
    pub publish: Publish,
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
}
