//! What a reviewer is and what it hands in.

use serde::{Deserialize, Serialize};

use crate::domain::words::words;

use super::finding::Axis;

words! {
    /// How a reviewer's work on a pass ended.
    pub enum ContributionState {
        /// Asked, not finished: also what a crash leaves behind.
        Asked = "asked",
        /// It looked at everything it should.
        Complete = "complete",
        /// It finished, but could not see everything; the note says what.
        Partial = "partial",
        /// It broke.
        Failed = "failed",
        /// It took too long.
        TimedOut = "timed_out",
    }
}

/// One reviewer's part in a pass. A reviewer answers for one axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    /// The reviewer's name, e.g. `secrets`.
    pub reviewer: String,
    /// The axis it answers for.
    pub axis: Axis,
    /// How far it came.
    pub state: ContributionState,
    /// What it could not see or why it broke; safe to show.
    pub note: Option<String>,
}

impl Contribution {
    /// Whether a deterministic rule set handed it in. A reviewer that reads for
    /// meaning is named by its principal (`agent:<name>`, `human:<id>`).
    pub fn is_rule(&self) -> bool {
        !["agent:", "human:"]
            .iter()
            .any(|kind| self.reviewer.starts_with(kind))
    }
}
