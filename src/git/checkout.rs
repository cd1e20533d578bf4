//! The files of a tree, written out for a program to look at.
//!
//! They are the blobs as they are: attributes of the repository that would convert line
//! ends, encodings or keywords are overruled, filters are configured nowhere. Submodules
//! are empty folders, and there is no `.git`. A symbolic link is written as one; whoever
//! reads the folder follows it at his own risk, which isolation bounds.

use std::path::Path;

use crate::{domain::ids::Sha, ports::change::ChangeError};

use super::{
    repository::Repository,
    run::{Git, GitError},
};

/// Bytes of all files together.
const MOST_BYTES: u64 = 1 << 30;
/// Files.
const MOST_FILES: usize = 200_000;
/// Rank above the repository's own attributes; `!` takes each of them back.
const ATTRIBUTES: &str = "* !text !eol !crlf !ident !filter !working-tree-encoding\n";

/// Writes the files of `tree_ish` into `folder`, which is empty.
///
/// # Errors
/// [`ChangeError::User`] when there is too much of them.
pub(super) async fn check_out(
    repository: &Repository,
    tree_ish: &Sha,
    folder: &Path,
) -> Result<(), ChangeError> {
    let listing = repository
        .git("ls-tree")
        .args(["-r", "-l", "-z", tree_ish.as_str()])
        .output(256 << 20)
        .run()
        .await?;
    let entries = listing.split(|b| *b == 0).filter(|entry| !entry.is_empty());
    let (mut files, mut bytes) = (0_usize, 0_u64);
    for entry in entries {
        // `mode type name size TAB path`; a submodule's size is `-`.
        let size = entry
            .split(|b| *b == b'\t')
            .next()
            .and_then(|head| head.rsplit(|b| *b == b' ').next());
        let size = size.and_then(|size| std::str::from_utf8(size).ok()?.parse::<u64>().ok());
        files += 1;
        bytes = bytes.saturating_add(size.unwrap_or(0));
    }
    if files > MOST_FILES || bytes > MOST_BYTES {
        return Err(ChangeError::User(format!(
            "the head has more than {MOST_FILES} files or {} MiB to be checked out",
            MOST_BYTES >> 20
        )));
    }
    let view = Repository::view(&repository.folder().join("objects"), None, repository.format())
        .map_err(GitError::System)?;
    std::fs::write(view.folder().join("info/attributes"), ATTRIBUTES).map_err(GitError::System)?;
    let git = |command: &str| -> Git {
        Git::new(folder, command)
            .env("GIT_DIR", view.folder())
            .env("GIT_WORK_TREE", folder)
            .env("GIT_INDEX_FILE", view.folder().join("index"))
            .config("core.bare", "false")
            .config("core.symlinks", "true")
    };
    git("read-tree").arg(tree_ish.as_str()).run().await?;
    git("checkout-index").args(["--all", "--quiet"]).run().await?;
    Ok(())
}

#[cfg(test)]
mod tests;
