//! A change as text: files, hunks, and which lines can be commented on.

mod file;

pub use file::{ChangedFile, FileStatus, Hunk, Line, LineKind};
