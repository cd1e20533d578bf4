//! A change as text: files, hunks, and which lines can be commented on.
//!
//! The text is hostile. What ends a hunk is the count in its header, never what a
//! line looks like, so content cannot pose as a header; lines end at LF only, so no
//! other line separator of Unicode can pose as one. Names and modes are read by
//! `diffy`; hunks are read here, because a diff that is not understood must be an
//! error and `diffy` passes over what follows a complete hunk, over combined diffs
//! and over no-newline marks in other languages.

mod error;
mod file;
mod parse;
mod patch;

pub use error::{DiffError, HunkFault};
pub use file::{ChangedFile, FileStatus, mode_words};
pub use parse::{MAX_PATCH_BYTES, MAX_PATCH_LINES, TOO_LARGE, parse, parse_file_patch, path_text};
pub use patch::{Hunk, Line, LineKind, Patch};

#[cfg(test)]
mod cases_tests;
#[cfg(test)]
mod tests;
