//! One changed file.

use crate::domain::words::words;

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

/// What happened to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// On both sides.
    Context,
    /// Only on the head.
    Added,
    /// Only on the base.
    Removed,
}

/// One line of a hunk. Lines end at LF only; a CR before it belongs to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// What happened to it.
    pub kind: LineKind,
    /// Its one-based number on the base; `None` when added.
    pub old: Option<u32>,
    /// Its one-based number on the head; `None` when removed.
    pub new: Option<u32>,
    /// Its bytes without the LF.
    pub text: &'a [u8],
}

/// A run of neighbouring lines, as git printed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line on the base; 0 when it has none there.
    pub old_start: u32,
    /// Lines on the base.
    pub old_count: u32,
    /// First line on the head; 0 when it has none there.
    pub new_start: u32,
    /// Lines on the head.
    pub new_count: u32,
    /// Where its lines are in the file's patch.
    pub(super) lines: std::ops::Range<usize>,
}

/// One changed file: what happened, and the lines a person would see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path on the base, when it differs from `path` (renamed, copied).
    pub old_path: Option<String>,
    /// The path on the head (on the base for a removed file). Bytes that are not
    /// UTF-8 are replaced; read such a file by its object name.
    pub path: String,
    /// What happened.
    pub status: FileStatus,
    /// File mode on the base, e.g. `0o100644`; `None` when it did not exist or is not known.
    pub old_mode: Option<u32>,
    /// File mode on the head.
    pub new_mode: Option<u32>,
    /// Object name on the base, when known.
    pub old_oid: Option<String>,
    /// Object name on the head, when known.
    pub new_oid: Option<String>,
    /// Whether the content is no text; then there are no hunks.
    pub binary: bool,
    /// Why hunks are missing although the content is text: too large, not sent
    /// by the forge. What is not seen is never counted as clean.
    pub unseen: Option<String>,
    pub(super) hunks: Vec<Hunk>,
    pub(super) patch: Vec<u8>,
    /// End offset and kind of each line of `patch`, in order.
    pub(super) lines: Vec<(u32, LineKind)>,
}
