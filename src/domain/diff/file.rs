//! One changed file.

use crate::domain::{review::finding::Side, words::words};

use super::patch::{Hunk, Line, Patch};

words! {
    /// What happened to a file, in the forge's words.
    pub enum FileStatus {
        /// New.
        Added = "added",
        /// Gone.
        Removed = "removed",
        /// Other content, mode or both.
        Modified = "modified",
        /// Moved, perhaps with changes.
        Renamed = "renamed",
        /// Made from another file that stays.
        Copied = "copied",
        /// Another kind of object under the same path (file to symlink, say).
        TypeChanged = "changed",
    }
}

/// What a file mode stands for, in words that follow "is".
pub const fn mode_words(mode: u32) -> &'static str {
    match mode & 0o170_000 {
        0o100_000 => "a regular file",
        0o120_000 => "a symbolic link",
        0o160_000 => "a submodule",
        0o040_000 => "a folder",
        _ => "no regular file",
    }
}

/// One changed file: what happened, and the lines a person would see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path on the base, when it differs from `path` (renamed, copied).
    pub old_path: Option<String>,
    /// The path on the head (on the base for a removed file), as [`super::path_text`]
    /// writes it: bytes that are not UTF-8 appear as `\xHH`. Read by object name
    /// where one is known.
    pub path: String,
    /// What happened.
    pub status: FileStatus,
    /// File mode on the base, e.g. `0o100644`; `None` when it did not exist or is not known.
    pub old_mode: Option<u32>,
    /// File mode on the head.
    pub new_mode: Option<u32>,
    /// Full object name on the base, when known.
    pub old_oid: Option<String>,
    /// Full object name on the head, when known.
    pub new_oid: Option<String>,
    /// Whether the content of either side is no text. There are then no hunks, but
    /// for a changed type, where the side that is text keeps its lines.
    pub binary: bool,
    /// Why hunks are missing although the content is text: too large, not sent
    /// by the forge. What is not seen is never counted as clean.
    pub unseen: Option<String>,
    pub(super) patch: Patch,
}

impl ChangedFile {
    /// A file without hunks; the rest is set through the fields and [`Self::with_patch`].
    pub fn new(path: impl Into<String>, status: FileStatus) -> Self {
        Self {
            old_path: None,
            path: path.into(),
            status,
            old_mode: None,
            new_mode: None,
            old_oid: None,
            new_oid: None,
            binary: false,
            unseen: None,
            patch: Patch::default(),
        }
    }

    /// The same file with these hunks, e.g. from [`super::parse_file_patch`].
    #[must_use]
    pub fn with_patch(self, patch: Patch) -> Self {
        Self { patch, ..self }
    }

    /// Its hunks, taken out.
    pub fn into_patch(self) -> Patch {
        self.patch
    }

    /// The path on the base: `old_path` where there is one.
    pub fn base_path(&self) -> &str {
        self.old_path.as_deref().unwrap_or(&self.path)
    }

    /// The path on `side`.
    pub fn path_on(&self, side: Side) -> &str {
        match side {
            Side::Left => self.base_path(),
            Side::Right => &self.path,
        }
    }

    /// The hunks in order; they never overlap on either side.
    pub fn hunks(&self) -> &[Hunk] {
        self.patch.hunks()
    }

    /// The lines of one of this file's hunks, as git printed them.
    pub fn lines(&self, hunk: &Hunk) -> impl DoubleEndedIterator<Item = Line<'_>> + ExactSizeIterator {
        self.patch.lines(hunk)
    }

    /// Every added line: its one-based number on the head and its bytes without the LF.
    pub fn added_lines(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.patch.added_lines()
    }

    /// Every removed line: its one-based number on the base and its bytes without the LF.
    pub fn removed_lines(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.patch.removed_lines()
    }

    /// Whether the forge takes a comment there: see [`Patch::is_commentable`].
    pub fn is_commentable(&self, side: Side, line: u32) -> bool {
        self.patch.is_commentable(side, line)
    }

    /// Whether a line of `side` is added (on the head) or removed (on the base).
    pub fn is_changed(&self, side: Side, line: u32) -> bool {
        self.patch.is_changed(side, line)
    }

    /// The hunk that shows the line: see [`Patch::hunk_of`].
    pub fn hunk_of(&self, side: Side, line: u32) -> Option<&Hunk> {
        self.patch.hunk_of(side, line)
    }

    /// The bytes of a shown line: see [`Patch::line_text`].
    pub fn line_text(&self, side: Side, line: u32) -> Option<&[u8]> {
        self.patch.line_text(side, line)
    }
}
