//! A pass: one review of one head.

use crate::domain::{
    ids::{PassId, Sha, SpaceId},
    policy::Gate,
    time::Timestamp,
    words::words,
};

use super::{coverage::Coverage, snapshot::PassSnapshot};

words! {
    /// Where a pass's result comes from.
    pub enum Origin {
        /// The head was reviewed.
        Review = "review",
        /// The same patch was reviewed on another head.
        Carried = "carried",
        /// A merge queue's group was reviewed.
        Group = "group",
    }
}

words! {
    /// How a pass ended.
    pub enum Outcome {
        /// It came to a verdict.
        Finalized = "finalized",
        /// The space moved on before it was done.
        Superseded = "superseded",
        /// It hit its own time limit.
        TimedOut = "timed_out",
        /// It could not be done; the note says why.
        Broken = "broken",
        /// The pull request was closed before it was done.
        Closed = "closed",
    }
}

/// One review of one head. It belongs to one revision of its space.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// The id.
    pub id: PassId,
    /// The room.
    pub space: SpaceId,
    /// The revision of the room that it reviews.
    pub rev: i64,
    /// Where its result comes from.
    pub origin: Origin,
    /// The head.
    pub head: Sha,
    /// The merge base, once the change was read.
    pub merge_base: Option<Sha>,
    /// What the owner's policy makes of the check, once the policy was read; until
    /// then the check is required.
    pub gate: Option<Gate>,
    /// When it was opened.
    pub started_at: Timestamp,
    /// When it gives up.
    pub deadline_at: Timestamp,
    /// How it ended; `None` while it runs.
    pub outcome: Option<Outcome>,
    /// Why it ended so; safe to show.
    pub note: Option<String>,
    /// What could not be seen of the change, once it was read.
    pub coverage: Option<Coverage>,
    /// What it proved; exactly when it was finalized.
    pub snapshot: Option<PassSnapshot>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}
