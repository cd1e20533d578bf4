//! A change that can be read: base and head, files, blobs. A bare mirror, the
//! forge's files API and a local checkout implement it.

use async_trait::async_trait;

use crate::domain::{
    diff::ChangedFile,
    ids::Sha,
    review::{coverage::Coverage, finding::Side},
};

/// What can go wrong while a change is read.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The person who asked can mend it; the text says how and is shown as it is.
    #[error("{0}")]
    User(String),
    /// The forge is not reachable or refused for now; try again at or after the time.
    #[error("the forge did not answer: {reason}")]
    Later {
        /// What happened, without secrets.
        reason: String,
        /// Milliseconds to wait at least, when the forge said so.
        after_ms: Option<i64>,
    },
    /// The commit is gone (force-pushed away, pull request deleted).
    #[error("commit {0} is no longer there")]
    Gone(String),
    /// Anything else; the text is for the log.
    #[error("{0}")]
    Internal(String),
}

/// A change between a merge base and a head.
#[async_trait]
pub trait Change: Send + Sync {
    /// The merge base of the base branch and the head.
    fn merge_base(&self) -> &Sha;

    /// The head; `None` for a working tree.
    fn head(&self) -> Option<&Sha>;

    /// Every changed file, each path once, in the order of the diff.
    fn files(&self) -> &[ChangedFile];

    /// What could not be seen.
    fn coverage(&self) -> &Coverage;

    /// The whole content of `path` on `side`; `None` when it does not exist there,
    /// is no regular file, or is larger than 16 MiB.
    async fn read(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, ChangeError>;

    /// The content of `path` at the tip of the base branch: where policy is read from.
    async fn read_base_tip(&self, path: &str) -> Result<Option<Vec<u8>>, ChangeError>;

    /// The content of `path` at another commit, an earlier head say; `None` also
    /// when that commit is not at hand.
    async fn read_at(&self, commit: &Sha, path: &str) -> Result<Option<Vec<u8>>, ChangeError>;
}
