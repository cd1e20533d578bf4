//! A finding (review node) and who said what of it.

use serde::{Deserialize, Serialize};

use crate::domain::{
    ids::FindingId,
    principal::{Principal, PrincipalKind},
    time::Timestamp,
    words::words,
};

words! {
    /// What a finding asks for.
    pub enum Kind {
        /// Something is wrong.
        Bug = "bug",
        /// Something could be better, and here is how.
        Suggestion = "suggestion",
        /// Something should be done beside the change.
        Recommendation = "recommendation",
        /// Something is not clear.
        Question = "question",
        /// A piece of work for later.
        Ticket = "ticket",
    }
}

words! {
    /// How much a finding weighs; `P0` is the heaviest and the smallest in order.
    pub enum Priority {
        /// Blocks the release.
        P0 = "p0",
        /// Should be settled before merging.
        P1 = "p1",
        /// Worth a look.
        P2 = "p2",
        /// Advice.
        P3 = "p3",
    }
}

words! {
    /// The question a reviewer answers about a change.
    pub enum Axis {
        /// Does it do what it should?
        Correctness = "correctness",
        /// Can it be abused?
        Security = "security",
        /// Is what changed tested?
        TestGap = "test_gap",
        /// Is it fast enough?
        Performance = "performance",
        /// Does it look right?
        Visual = "visual",
        /// Does it break who calls it?
        ApiContract = "api_contract",
        /// Did the forge's own checks pass?
        Ci = "ci",
    }
}

words! {
    /// Where a finding stands.
    pub enum Status {
        /// Filed, not confirmed.
        Open = "open",
        /// Confirmed by the quorum of peers.
        ConsensusReady = "consensus_ready",
        /// Refuted and not confirmed.
        Disputed = "disputed",
        /// A pass saw that it no longer holds.
        Resolved = "resolved",
        /// Withdrawn by its author or by a person who may.
        Dismissed = "dismissed",
        /// Accepted as a known risk by the owner.
        Waived = "waived",
    }
}

impl Status {
    /// Whether the finding still counts.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Open | Self::ConsensusReady | Self::Disputed)
    }
}

words! {
    /// A side of a diff, in the forge's spelling.
    pub enum Side {
        /// The base: deleted lines.
        Left = "LEFT",
        /// The head: added and context lines.
        Right = "RIGHT",
    }
}

/// Where a finding points: whole lines, one-based, `start_line <= end_line`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Anchor {
    /// The path on that side.
    pub path: String,
    /// The side.
    pub side: Side,
    /// First line.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
}

/// What a confidence may be: a finite number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Confidence(f64);

impl Confidence {
    /// What a P0 needs before it may block.
    pub const BLOCKING: Self = Self(0.7);

    /// `None` unless `value` is a finite number from 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        (value.is_finite() && (0.0..=1.0).contains(&value)).then_some(Self(value))
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// Where a finding comes from. Text form: `model`, `human`, `rule:<id>`, `tool:<name>/<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Provenance {
    /// A language model.
    Model,
    /// A person.
    Human,
    /// One of our own rules.
    Rule(String),
    /// Another tool's rule, `<tool>/<rule id>`.
    Tool(String),
}

impl std::fmt::Display for Provenance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model => f.write_str("model"),
            Self::Human => f.write_str("human"),
            Self::Rule(id) => write!(f, "rule:{id}"),
            Self::Tool(id) => write!(f, "tool:{id}"),
        }
    }
}

impl From<String> for Provenance {
    fn from(text: String) -> Self {
        match text.split_once(':') {
            Some(("rule", id)) => Self::Rule(id.to_owned()),
            Some(("tool", id)) => Self::Tool(id.to_owned()),
            _ if text == "human" => Self::Human,
            _ => Self::Model,
        }
    }
}

impl From<Provenance> for String {
    fn from(provenance: Provenance) -> Self {
        provenance.to_string()
    }
}

/// A remark as a reviewer hands it in, before it has been placed and stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// What it asks for.
    pub kind: Kind,
    /// Its weight.
    pub priority: Priority,
    /// How sure the reviewer is.
    pub confidence: Confidence,
    /// The question it answers.
    pub axis: Axis,
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// Replacement for the anchored lines, where there is one.
    pub suggestion: Option<String>,
    /// Where it points; `None` = the whole repository.
    pub anchor: Option<Anchor>,
    /// The anchored lines verbatim (joined by LF, no final LF); required with an anchor.
    pub quote: Option<String>,
    /// Whether the quote holds a secret: it is then masked once placed, and
    /// fingerprinted by a keyed hash.
    pub secret: bool,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// A finding as stored. `body` and `quote` never hold a secret's value.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The id.
    pub id: FindingId,
    /// Recognises the same remark on another head.
    pub fingerprint: String,
    /// What it asks for.
    pub kind: Kind,
    /// Its weight.
    pub priority: Priority,
    /// How sure its author is.
    pub confidence: Confidence,
    /// The question it answers.
    pub axis: Axis,
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// Replacement for the anchored lines.
    pub suggestion: Option<String>,
    /// Where it points on the head (or base) of the last pass that saw it.
    pub anchor: Option<Anchor>,
    /// The anchored lines, masked when they hold a secret.
    pub quote: Option<String>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Who filed it.
    pub author: Principal,
    /// Where it stands.
    pub status: Status,
    /// Who confirmed or refuted it, oldest first, one vote a principal (the last one counts).
    pub votes: Vec<Vote>,
    /// First filed after the space's first finished pass on code unchanged
    /// since: shown, but P1 and below does not hold (DESIGN §5).
    pub advisory: bool,
    /// When it was first filed.
    pub filed_at: Timestamp,
}

impl Finding {
    /// Whether it still counts.
    pub fn is_live(&self) -> bool {
        self.status.is_live()
    }

    /// Whether enough peers confirmed it.
    pub fn is_confirmed(&self) -> bool {
        self.status == Status::ConsensusReady
    }

    /// Those whose last word was a confirmation.
    pub fn confirmed_by(&self) -> impl Iterator<Item = &Principal> {
        self.votes.iter().filter(|v| v.confirms).map(|v| &v.voter)
    }
}

/// A peer's word on a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// Who.
    pub voter: Principal,
    /// The model behind an agent, for `distinct_models`.
    pub model: Option<String>,
    /// Confirms or refutes.
    pub confirms: bool,
    /// Why: what was read.
    pub evidence: String,
}

/// Whether `voter` may confirm or refute a finding of `author` on a pull
/// request opened by `pull_author`: never one's own, never the pull request's author.
pub fn is_peer(voter: &Principal, author: &Principal, pull_author: Option<&Principal>) -> bool {
    voter != author && Some(voter) != pull_author && voter.kind != PrincipalKind::System
}
