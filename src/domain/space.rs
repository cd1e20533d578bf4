//! A space: the room that opens for a pull request.

use serde::{Deserialize, Serialize};

use super::{
    ids::{InstallationId, PullNumber, RepoId, Sha, SpaceId, WorkspaceId},
    principal::Principal,
    time::Timestamp,
    words::words,
};

words! {
    /// What a space is for. The enum carries no policy: what a mode allows is
    /// declared in one table (DESIGN §4).
    pub enum Mode {
        /// An agent does the work.
        Chat = "chat",
        /// Agents read and judge.
        Review = "review",
        /// One typed plan is delivered.
        Plan = "plan",
        /// One proposal for a whole team is delivered.
        Orchestrate = "orchestrate",
    }
}

words! {
    /// Whether a pull request can still be merged.
    pub enum PullState {
        /// Open.
        Open = "open",
        /// Closed or merged.
        Closed = "closed",
    }
}

/// Where a repository is on its forge, and through which installation it is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RepoRef {
    /// The tenant it belongs to.
    pub workspace: WorkspaceId,
    /// The installation whose token opens it.
    pub installation: InstallationId,
    /// The key; everything is stored under it.
    pub id: RepoId,
    /// The owner's login now; it may change.
    pub owner: String,
    /// The name now; it may change.
    pub name: String,
}

/// One pull request on its forge.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PullRef {
    /// Its (base) repository.
    pub repo: RepoRef,
    /// Its number there.
    pub number: PullNumber,
}

/// What the forge said of a pull request at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullSnapshot {
    /// The title; hostile text.
    pub title: String,
    /// Open or closed.
    pub state: PullState,
    /// Whether it is marked as a draft.
    pub draft: bool,
    /// The tip of the head branch.
    pub head: Sha,
    /// The name of the base branch.
    pub base_ref: String,
    /// The tip of the base branch when the forge looked (not the merge base).
    pub base: Sha,
    /// Who opened it; `None` when the account is gone.
    pub author: Option<Principal>,
    /// Whether the App itself opened it. Set by the forge adapter.
    pub by_app: bool,
    /// The page a person would open.
    pub html_url: String,
    /// The forge's own time of the last change, second resolution: orders deliveries.
    pub updated_at: Timestamp,
}

/// A pull request's room as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// The id.
    pub id: SpaceId,
    /// What it is for; `review` for a pull request.
    pub mode: Mode,
    /// The pull request.
    pub pull: PullRef,
    /// Moves by one whenever the head, the base, the draft mark or the state
    /// moves, or a new review is asked for. A pass belongs to one revision.
    pub rev: i64,
    /// The last snapshot that was accepted.
    pub snapshot: PullSnapshot,
}
