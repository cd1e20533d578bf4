//! Where a finding can stand on the forge.
//!
//! The forge takes an inline comment only on a line that the diff shows, and
//! refuses the *whole* review for one that is not (observed: 422 "line must be
//! part of the diff"); a range must lie in one hunk ("start_line must be part of
//! the same hunk as the line") and start before it ends. `side` is LEFT for
//! deletions, RIGHT for additions and context. A suggestion replaces exactly the
//! commented lines of the head. So a place is worked out here before anything is
//! sent, and what has none goes into the body.

use crate::domain::diff::{ChangedFile, FileStatus, Hunk, LineKind};

use super::finding::{Anchor, Side};
#[cfg(test)]
use super::publication::{ReviewComment, ReviewView};

/// A place that the forge takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentPosition {
    /// The file's path as the forge names it in this diff.
    pub path: String,
    /// The side.
    pub side: Side,
    /// The last line.
    pub line: u32,
    /// The first line, when there are several: `start_line < line`.
    pub start_line: Option<u32>,
    /// The place is not all that the finding points at: the text must name the
    /// real range.
    pub clamped: bool,
    /// A suggestion here would replace exactly the anchored lines.
    pub suggestible: bool,
}

/// Why a finding cannot stand inline. The text is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotCommentable {
    /// No anchor.
    #[error("it is about the whole repository")]
    NoAnchor,
    /// Not a changed file on that side.
    #[error("the file is not part of the diff")]
    FileNotInDiff,
    /// The diff shows no text of the file.
    #[error("the diff shows no text of the file")]
    NoText,
    /// None of the lines is shown.
    #[error("the lines are not part of the diff")]
    LinesNotInDiff,
    /// Line zero, or the range ends before it starts.
    #[error("the line range is not valid")]
    BadRange,
}

/// One line of a diff, as far as placing needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownLine {
    /// What happened to it.
    pub kind: LineKind,
    /// Its one-based number on the base.
    pub old: Option<u32>,
    /// Its one-based number on the head.
    pub new: Option<u32>,
}

/// The changed file that `anchor` means: by its head path on RIGHT, by its base
/// path on LEFT (a copy leaves its source alone, so that does not count).
pub fn changed_file<'a>(anchor: &Anchor, files: &'a [ChangedFile]) -> Option<&'a ChangedFile> {
    files.iter().find(|file| match anchor.side {
        Side::Right => file.path == anchor.path && file.status != FileStatus::Removed,
        Side::Left => {
            let base = match file.status {
                FileStatus::Added | FileStatus::Copied => None,
                FileStatus::Renamed => file.old_path.as_ref(),
                _ => Some(file.old_path.as_ref().unwrap_or(&file.path)),
            };
            base == Some(&anchor.path)
        }
    })
}

/// Places `anchor` in `file`, the changed file it means ([`changed_file`]).
///
/// - A range over several hunks is clamped to the part inside one: the hunk that
///   shows the last line, else the one that shows most of the range (A02).
/// - One line has no `start_line` (A03).
/// - A context line is on both sides; it is commented on RIGHT with its head
///   number (A24). A LEFT range is clamped to the deleted lines at its ends.
/// - A suggestion needs RIGHT and the whole range shown; a clamped one would
///   replace the wrong lines (A06).
pub fn comment_position(
    anchor: &Anchor,
    file: Option<&ChangedFile>,
) -> Result<CommentPosition, NotCommentable> {
    let file = file.ok_or(NotCommentable::FileNotInDiff)?;
    if file.hunks().is_empty() {
        return Err(NotCommentable::NoText);
    }
    // Only what the range touches: a file may have a hundred thousand hunks.
    let touched = file.hunks().iter().filter(|hunk| {
        let (start, count) = match anchor.side {
            Side::Left => (hunk.old_start, hunk.old_count),
            Side::Right => (hunk.new_start, hunk.new_count),
        };
        start <= anchor.end_line && anchor.start_line < start.saturating_add(count)
    });
    let hunks: Vec<Vec<ShownLine>> = touched.map(|hunk| shown(file, hunk)).collect();
    let mut position = place(anchor, &hunks)?;
    position.path.clone_from(&file.path);
    Ok(position)
}

/// The lines of each hunk of `file`.
pub fn shown_lines(file: &ChangedFile) -> Vec<Vec<ShownLine>> {
    file.hunks().iter().map(|hunk| shown(file, hunk)).collect()
}

fn shown(file: &ChangedFile, hunk: &Hunk) -> Vec<ShownLine> {
    let lines = file.lines(hunk).map(|line| ShownLine {
        kind: line.kind,
        old: line.old,
        new: line.new,
    });
    lines.collect()
}

/// [`comment_position`] over the lines of each hunk; the path is the anchor's.
pub fn place(anchor: &Anchor, hunks: &[Vec<ShownLine>]) -> Result<CommentPosition, NotCommentable> {
    if anchor.start_line == 0 || anchor.start_line > anchor.end_line {
        return Err(NotCommentable::BadRange);
    }
    let wanted = anchor.start_line..=anchor.end_line;
    let number = |line: &ShownLine| match anchor.side {
        Side::Right => line.new,
        Side::Left => line.old,
    };
    let inside = |hunk: &Vec<ShownLine>| -> Vec<ShownLine> {
        hunk.iter()
            .filter(|line| number(line).is_some_and(|n| wanted.contains(&n)))
            .copied()
            .collect()
    };
    let parts: Vec<Vec<ShownLine>> = hunks.iter().map(inside).filter(|part| !part.is_empty()).collect();
    let part = parts
        .iter()
        .find(|part| part.iter().any(|line| number(line) == Some(anchor.end_line)))
        .or_else(|| {
            // The first of the longest, whatever the order of ties elsewhere.
            parts.iter().rev().max_by_key(|part| part.len())
        })
        .ok_or(NotCommentable::LinesNotInDiff)?;

    let (side, numbers): (Side, Vec<u32>) = match anchor.side {
        Side::Right => (Side::Right, part.iter().filter_map(|line| line.new).collect()),
        Side::Left => {
            let deleted: Vec<u32> = part
                .iter()
                .filter(|line| line.kind == LineKind::Removed)
                .filter_map(|line| line.old)
                .collect();
            if deleted.is_empty() {
                (Side::Right, part.iter().filter_map(|line| line.new).collect())
            } else {
                (Side::Left, deleted)
            }
        }
    };
    let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else {
        return Err(NotCommentable::LinesNotInDiff);
    };
    let whole = u64::from(anchor.end_line - anchor.start_line) + 1;
    // On LEFT the deleted lines may have context between them: both ends decide.
    let clamped = match (anchor.side, side) {
        (Side::Left, Side::Left) => first != anchor.start_line || last != anchor.end_line,
        _ => (part.len() as u64) < whole,
    };
    Ok(CommentPosition {
        path: anchor.path.clone(),
        side,
        line: last,
        start_line: (first < last).then_some(first),
        clamped,
        suggestible: anchor.side == Side::Right && !clamped,
    })
}

/// The indices of `review`'s comments that `files` do not take: those that the
/// forge would refuse. What the renderer makes has none, which its tests hold.
#[cfg(test)]
pub(super) fn offenders(review: &ReviewView, files: &[ChangedFile]) -> Vec<usize> {
    let fits = |comment: &ReviewComment| {
        let Some(file) = files.iter().find(|file| file.path == comment.path) else {
            return false;
        };
        let start = comment.start_line.unwrap_or(comment.line);
        if comment.start_line.is_some_and(|start| start >= comment.line) {
            return false;
        }
        shown_lines(file).iter().any(|hunk| {
            let has = |wanted: u32| {
                hunk.iter().any(|line| match comment.side {
                    Side::Right => line.new == Some(wanted),
                    Side::Left => line.kind == LineKind::Removed && line.old == Some(wanted),
                })
            };
            has(start) && has(comment.line)
        })
    };
    review
        .comments
        .iter()
        .enumerate()
        .filter(|(_, comment)| !fits(comment))
        .map(|(index, _)| index)
        .collect()
}

/// Where a comment that the forge gave us stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentPlace {
    /// On these lines of the commit the forge shows it on.
    Current(Anchor),
    /// On these lines of an older commit. They say nothing about the head and
    /// are never mapped onto it.
    Outdated {
        /// The commit that the lines belong to.
        commit: String,
        /// The lines there.
        anchor: Anchor,
    },
    /// The forge told no lines: a legacy object with a `position` only (list
    /// `GET /pulls/{n}/comments` instead), or a remark on a whole file.
    Unknown,
}

/// The fields of a forge's review comment that tell its place; all of them may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the forge's own names")]
pub struct CommentFields {
    pub path: String,
    pub side: Option<Side>,
    pub line: Option<u32>,
    pub start_line: Option<u32>,
    pub original_line: Option<u32>,
    pub original_start_line: Option<u32>,
    pub original_commit_id: Option<String>,
}

impl CommentFields {
    /// The place (A08, A09). `original_*` counts only together with
    /// `original_commit_id`; a `position` is never turned into a line.
    pub fn place(&self) -> CommentPlace {
        let anchor = |start: Option<u32>, line: u32| {
            let start = start.unwrap_or(line);
            (start > 0 && start <= line).then(|| Anchor {
                path: self.path.clone(),
                side: self.side.unwrap_or(Side::Right),
                start_line: start,
                end_line: line,
            })
        };
        if let Some(line) = self.line {
            return anchor(self.start_line, line).map_or(CommentPlace::Unknown, CommentPlace::Current);
        }
        match (self.original_line, &self.original_commit_id) {
            (Some(line), Some(commit)) => {
                anchor(self.original_start_line, line).map_or(CommentPlace::Unknown, |anchor| {
                    CommentPlace::Outdated {
                        commit: commit.clone(),
                        anchor,
                    }
                })
            }
            _ => CommentPlace::Unknown,
        }
    }
}

#[cfg(test)]
#[path = "anchor_tests.rs"]
mod tests;
