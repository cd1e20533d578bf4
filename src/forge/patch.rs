//! A diff alone as a change: there is no repository to look anything up in.
//!
//! A file that the diff adds is all there, and can be read; of any other only the lines
//! that the diff shows are known, so it cannot: what needs a whole file is not judged
//! or not confirmed. Neither is there a base to read a policy from.

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{self, ChangedFile, FileStatus},
        ids::Sha,
        review::{
            coverage::{Coverage, Unseen},
            finding::Side,
        },
    },
    ports::change::{Change, ChangeError},
};

/// Bytes of a diff that are read.
pub const MAX_BYTES: usize = 256 << 20;
/// The largest line number that is believed. No file that people review is longer, and
/// a diff must not say of a line how much memory is needed to hold what stands above it.
const MAX_LINE: u32 = 5_000_000;
/// What such a change cannot show.
const PROVISO: &str =
    "Only the patch was read: neither the unchanged lines around it nor the policy on the base";

/// A diff as a change.
#[derive(Debug)]
pub struct PatchChange {
    base: Sha,
    files: Vec<ChangedFile>,
    coverage: Coverage,
}

impl PatchChange {
    /// Reads the output of `git diff`; of `git show` and `git format-patch` for one commit, too.
    ///
    /// # Errors
    /// [`ChangeError::User`] when the text is no diff; nothing is judged then.
    pub fn read_from(text: &[u8]) -> Result<Self, ChangeError> {
        if text.len() > MAX_BYTES {
            return Err(ChangeError::User(format!(
                "the patch is larger than {} MiB: give a range of a repository instead",
                MAX_BYTES >> 20
            )));
        }
        let text = without_letter(text);
        let mut files =
            diff::parse(text).map_err(|error| ChangeError::User(format!("the patch: {error}")))?;
        if files.is_empty() && !text.trim_ascii().is_empty() {
            return Err(ChangeError::User("the patch: not a git diff".to_owned()));
        }
        for file in &mut files {
            let last = file
                .hunks()
                .iter()
                .flat_map(|hunk| file.lines(hunk))
                .filter_map(|line| line.new.max(line.old));
            if last.max().is_some_and(|last| last > MAX_LINE) {
                let mut unseen = ChangedFile::new(file.path.clone(), file.status);
                unseen.old_path = file.old_path.take();
                unseen.unseen = Some("its line numbers are not credible".to_owned());
                *file = unseen;
            }
        }
        let unseen = files.iter().filter_map(|file| {
            Some(Unseen {
                path: file.path.clone(),
                reason: file.unseen.clone()?,
            })
        });
        let coverage = Coverage {
            unseen: unseen.collect(),
            truncated: None,
            proviso: Some(PROVISO.to_owned()),
        };
        Ok(Self {
            base: "0"
                .repeat(40)
                .parse()
                .map_err(|_| ChangeError::Internal("no name for nothing".to_owned()))?,
            files,
            coverage,
        })
    }

    fn file(&self, side: Side, path: &str) -> Option<&ChangedFile> {
        self.files.iter().find(|file| {
            file.path_on(side) == path
                && !file.binary
                && file.unseen.is_none()
                && file.status
                    != match side {
                        Side::Left => FileStatus::Added,
                        Side::Right => FileStatus::Removed,
                    }
        })
    }
}

/// The diff of a commit that was sent as a letter, or printed with its message.
fn without_letter(text: &[u8]) -> &[u8] {
    let letter = text.starts_with(b"From ");
    if !letter && !text.starts_with(b"commit ") {
        return text;
    }
    let mark = b"\ndiff --git ";
    let Some(begin) = text.windows(mark.len()).position(|window| window == mark) else {
        return text;
    };
    let diff = &text[begin + 1..];
    if !letter {
        return diff;
    }
    // The signature: `-- `, the version of git, a blank line.
    let end = diff.trim_ascii_end().len();
    let last = diff[..end]
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    match diff[..last].strip_suffix(b"-- \n") {
        Some(body) if end - last < 40 => body,
        _ => diff,
    }
}

/// The text of one side as far as the hunks show it; the other lines are empty.
fn text_of(file: &ChangedFile, side: Side) -> Vec<u8> {
    let mut text = Vec::new();
    let mut next = 1_u32;
    for hunk in file.hunks() {
        for line in file.lines(hunk) {
            let number = match side {
                Side::Left => line.old,
                Side::Right => line.new,
            };
            let Some(number) = number else { continue };
            while next < number {
                text.push(b'\n');
                next += 1;
            }
            text.extend_from_slice(line.text);
            text.push(b'\n');
            next = number.saturating_add(1);
        }
    }
    text
}

#[async_trait]
impl Change for PatchChange {
    /// There is none; a name that no commit has.
    fn merge_base(&self) -> &Sha {
        &self.base
    }

    fn head(&self) -> Option<&Sha> {
        None
    }

    fn files(&self) -> &[ChangedFile] {
        &self.files
    }

    fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    async fn read(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        let whole = match side {
            Side::Left => FileStatus::Removed,
            Side::Right => FileStatus::Added,
        };
        Ok(self
            .file(side, path)
            .filter(|file| file.status == whole)
            .map(|file| text_of(file, side)))
    }

    async fn shown(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(self.file(side, path).map(|file| text_of(file, side)))
    }

    async fn read_base_tip(&self, _: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(None)
    }

    async fn read_at(&self, _: &Sha, _: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
