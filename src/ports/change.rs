//! A change that can be read: base and head, files, blobs. A bare mirror, the
//! forge's files API and a local checkout implement it.

use std::path::Path;

use async_trait::async_trait;

use crate::domain::{
    diff::{ChangedFile, mode_words},
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
    /// The installation is suspended or gone: nothing can be read until it is open again.
    #[error("the installation is closed: {0}")]
    Closed(String),
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

    /// The whole content of `path` on `side`: of a regular file, or of a symbolic link,
    /// which is its target, as a diff shows it; a link is never followed. `None` when it
    /// does not exist there, is neither, or is larger than 16 MiB.
    async fn read(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, ChangeError>;

    /// The content of `path` on `side` as far as it is known, so that a remark about a line
    /// can be placed: lines that are not known are empty. The same as [`Change::read`] where
    /// whole files can be read; nothing is proved by the rest of such a text.
    async fn shown(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        self.read(side, path).await
    }

    /// The regular file `path` at the tip of the base branch: where policy is read from.
    /// `None` only when nothing stands there.
    ///
    /// # Errors
    /// [`ChangeError::User`] when something else than a regular file of at most 16 MiB
    /// stands there or in the way ([`on_the_way`]): whoever put it there meant something
    /// by it, and going on as if there were nothing would guess.
    async fn read_base_tip(&self, path: &str) -> Result<Option<Vec<u8>>, ChangeError>;

    /// The content of `path` at another commit, an earlier head say, as [`Self::read`]
    /// gives it; `None` also when that commit is not at hand.
    async fn read_at(&self, commit: &Sha, path: &str) -> Result<Option<Vec<u8>>, ChangeError>;

    /// Writes all files of the head into `folder`, which exists and is empty, as they are:
    /// nothing converts them, links are written as links, and there is no repository.
    ///
    /// # Errors
    /// [`ChangeError::User`] when there is too much, or this way of reading cannot do it.
    async fn check_out(&self, _folder: &Path) -> Result<(), ChangeError> {
        Err(ChangeError::User(
            "the head cannot be checked out, because it is not read with git".to_owned(),
        ))
    }
}

/// What to do at one place on the way to a file of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTheWay {
    /// Go on into this folder.
    Enter,
    /// This is the file.
    Read,
    /// Nothing can stand below this.
    Nothing,
}

/// Judges what stands at `place` on the way to `path`: `path` itself or a folder above it.
/// `mode` is that of the tree's entry.
///
/// # Errors
/// Words for the owner when it is neither a folder to go into nor a regular file.
pub fn on_the_way(base: &Sha, path: &str, place: &str, mode: u32) -> Result<OnTheWay, ChangeError> {
    const FOLDER: u32 = 0o040_000;
    const FILE: u32 = 0o100_000;
    match (mode & 0o170_000, place == path) {
        (FOLDER, false) => Ok(OnTheWay::Enter),
        (FILE, true) => Ok(OnTheWay::Read),
        (FILE, false) => Ok(OnTheWay::Nothing),
        (_, last) => {
            let mend = if last {
                format!("Put the file itself there, or remove `{path}`.")
            } else {
                format!("Make `{place}` a folder that holds `{path}`, or remove it.")
            };
            Err(ChangeError::User(format!(
                "`{place}` on the base branch (at {}) is {}; Jury reads only a regular file. {mend}",
                base.short(),
                mode_words(mode)
            )))
        }
    }
}

/// `a`, `a/b`, `a/b/c` for `a/b/c`.
pub fn places(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.chain([path.len()]).map(|end| &path[..end])
}

/// A file of the base that is over the bound of what is read.
pub fn over_the_bound(base: &Sha, path: &str) -> ChangeError {
    ChangeError::User(format!(
        "`{path}` on the base branch (at {}) is larger than 16 MiB; Jury reads no such file. Make it smaller.",
        base.short()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_in_folders_is_read_and_everything_else_is_named() {
        let base: Sha = "a".repeat(40).parse().unwrap();
        let at = |place: &str, mode| match on_the_way(&base, "a/b", place, mode) {
            Ok(step) => format!("{step:?}"),
            Err(ChangeError::User(words)) => words,
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(places("a/b/c").collect::<Vec<_>>(), ["a", "a/b", "a/b/c"]);
        assert_eq!(at("a", 0o040_000), "Enter");
        assert_eq!(at("a", 0o100_644), "Nothing");
        assert_eq!(at("a/b", 0o100_644), "Read");
        assert_eq!(at("a/b", 0o100_755), "Read");
        for (place, mode, word) in [
            (
                "a",
                0o120_000,
                "`a` on the base branch (at aaaaaaaaaa) is a symbolic link",
            ),
            ("a", 0o160_000, "is a submodule"),
            (
                "a/b",
                0o120_000,
                "`a/b` on the base branch (at aaaaaaaaaa) is a symbolic link; Jury reads only a regular file",
            ),
            ("a/b", 0o160_000, "is a submodule"),
            ("a/b", 0o040_000, "is a folder"),
            ("a/b", 0o010_000, "is no regular file"),
        ] {
            let said = at(place, mode);
            assert!(said.contains(word), "{said}");
        }
    }
}
