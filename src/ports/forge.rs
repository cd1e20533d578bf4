//! The forge: what Jury reads there and says there.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::domain::{
    event::{Account, ForgeEvent, Repo},
    ids::{CheckRunId, InstallationId, ReviewId, Sha},
    space::{PullRef, PullSnapshot, RepoRef},
};

pub use crate::domain::review::publication::{ReviewComment, ReviewEvent, ReviewView};

use super::change::{Change, ChangeError};

/// What can go wrong with a request, told apart by what a caller does about it.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// Nothing was done; try again (after the given milliseconds when the forge said so).
    #[error("try again: {reason}")]
    Later {
        /// What happened, without secrets.
        reason: String,
        /// Milliseconds to wait at least.
        after_ms: Option<i64>,
    },
    /// A write was sent and no clear answer came: it may or may not have happened.
    #[error("outcome unknown: {0}")]
    Unknown(String),
    /// The thing does not exist or is not visible to the App.
    #[error("not found: {0}")]
    NotFound(String),
    /// The App may not: missing permission, bad key.
    #[error("not permitted: {0}")]
    Forbidden(String),
    /// The installation is suspended or gone: nothing of it can be asked until its owner
    /// opens it again.
    #[error("the installation is closed: {0}")]
    Closed(String),
    /// The forge refused the content (422); the messages are its own words.
    #[error("refused: {}", .0.join("; "))]
    Refused(Vec<String>),
    /// Anything else; for the log.
    #[error("{0}")]
    Internal(String),
}

pub use crate::domain::review::check::Conclusion;

/// What a check run should show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckView {
    /// `None` = in progress.
    pub conclusion: Option<Conclusion>,
    /// One line.
    pub title: String,
    /// Markdown, at most 65,535 characters.
    pub summary: String,
    /// The page behind the check.
    pub details_url: String,
}

/// A check run of ours as the forge has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRun {
    /// Its id.
    pub id: CheckRunId,
    /// What we called it when it was made.
    pub external_id: String,
    /// `None` while it is not completed.
    pub conclusion: Option<String>,
    /// The line that it shows; `None` when the forge did not say.
    pub title: Option<String>,
    /// The text that it shows; `None` when the forge did not say.
    pub summary: Option<String>,
}

/// A review of ours as the forge has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedReview {
    /// Its id.
    pub id: ReviewId,
    /// `PENDING`, `COMMENTED`, `CHANGES_REQUESTED`, `APPROVED` or `DISMISSED`.
    pub state: String,
    /// Its text.
    pub body: String,
}

/// A delivery that is no JSON; the text is safe to log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the delivery cannot be read: {0}")]
pub struct UnreadableDelivery(pub String);

/// An installation of the App.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Its id.
    pub id: InstallationId,
    /// The account it is on.
    pub account: Account,
    /// Whether it is suspended.
    pub suspended: bool,
}

/// A forge. Every write is sent once: a caller that gets [`ForgeError::Unknown`]
/// looks for its marker (`external_id`, review body) before it sends again.
#[async_trait]
pub trait Forge: Send + Sync {
    /// The host that names workspaces, e.g. `github.com`.
    fn host(&self) -> &str;

    /// Reads a delivery whose signature held. Unknown events, actions and fields are
    /// [`ForgeEvent::Ignored`]; only a body that is no JSON is an error.
    fn read_delivery(&self, event: &str, body: &[u8]) -> Result<ForgeEvent, UnreadableDelivery>;

    /// Asks the forge who we are: proves the App's key, and learns the name under which
    /// the App writes.
    async fn identify(&self) -> Result<(), ForgeError>;

    /// Every installation of the App.
    async fn installations(&self) -> Result<Vec<Installation>, ForgeError>;

    /// An installation as it is now; `None` when it is gone.
    async fn installation(&self, id: InstallationId) -> Result<Option<Installation>, ForgeError>;

    /// Every repository that the installation reaches.
    async fn repositories(&self, installation: InstallationId) -> Result<Vec<Repo>, ForgeError>;

    /// Every open pull request, with the number.
    async fn open_pulls(&self, repo: &RepoRef) -> Result<Vec<(PullRef, PullSnapshot)>, ForgeError>;

    /// Milliseconds to wait before another pass is begun for the installation, since the
    /// forge's budget of requests is needed for what is under way; `None` = none.
    fn wait_to_begin(&self, installation: InstallationId) -> Option<i64> {
        let _ = installation;
        None
    }

    /// A pull request as it is now.
    async fn pull(&self, pull: &PullRef) -> Result<PullSnapshot, ForgeError>;

    /// Opens the change `merge-base(base, head)..head` for reading.
    async fn change(&self, pull: &PullRef, snapshot: &PullSnapshot) -> Result<Box<dyn Change>, ChangeError>;

    /// The App's own check runs called `name` on `sha`, newest first, all of them.
    async fn check_runs(&self, repo: &RepoRef, sha: &Sha, name: &str) -> Result<Vec<CheckRun>, ForgeError>;

    /// Makes a check run.
    async fn create_check(
        &self,
        repo: &RepoRef,
        sha: &Sha,
        name: &str,
        external_id: &str,
        view: &CheckView,
    ) -> Result<CheckRunId, ForgeError>;

    /// Changes a check run that is not completed (the forge does not reopen one).
    async fn update_check(&self, repo: &RepoRef, id: CheckRunId, view: &CheckView) -> Result<(), ForgeError>;

    /// The App's own reviews of the pull request, oldest first, all of them.
    async fn own_reviews(&self, pull: &PullRef) -> Result<Vec<PostedReview>, ForgeError>;

    /// Submits a review: all of it or nothing.
    async fn submit_review(&self, pull: &PullRef, review: &ReviewView) -> Result<ReviewId, ForgeError>;

    /// Takes back a request for changes.
    async fn dismiss_review(&self, pull: &PullRef, review: ReviewId, message: &str)
    -> Result<(), ForgeError>;

    /// Deletes a left-over pending review of ours.
    async fn delete_pending_review(&self, pull: &PullRef, review: ReviewId) -> Result<(), ForgeError>;
}
