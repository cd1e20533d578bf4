//! What a pull request changes, read from git's own diff.
//!
//! This reader is deliberately not Jury's: the emulator must be able to refuse an
//! anchor that Jury's diff code got wrong.

use std::sync::Arc;

use super::World;
use crate::emulator::git::GitFault;

/// GitHub gives no patch for a file beyond these (repository limits).
const FILE_LINES: usize = 20_000;
const FILE_BYTES: usize = 500 * 1024;
/// Nor for any further file once the whole diff is beyond these.
const WHOLE_LINES: usize = 20_000;
const WHOLE_BYTES: usize = 1024 * 1024;

/// The side of a diff that a comment stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Side {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }
}

/// One line of a hunk, with its sign.
#[derive(Clone, Debug)]
pub(crate) struct HunkLine {
    pub(crate) left: Option<u32>,
    pub(crate) right: Option<u32>,
    pub(crate) text: String,
}

/// One hunk of a file's patch.
#[derive(Clone, Debug)]
pub(crate) struct Hunk {
    pub(crate) header: String,
    pub(crate) lines: Vec<HunkLine>,
}

/// One changed file.
#[derive(Clone, Debug)]
pub(crate) struct FileChange {
    /// `added`, `removed`, `modified`, `renamed`, `copied` or `changed`.
    pub(crate) status: &'static str,
    pub(crate) path: String,
    pub(crate) previous: Option<String>,
    /// The blob in the head, or in the base when the file is removed.
    pub(crate) blob: String,
    pub(crate) additions: u32,
    pub(crate) deletions: u32,
    pub(crate) hunks: Vec<Hunk>,
    /// Too large to be shown.
    pub(crate) withheld: bool,
}

/// Where a line stands in the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) hunk: usize,
    pub(crate) line: usize,
}

impl FileChange {
    /// The hunks that GitHub shows, which are the only place for a comment.
    pub(crate) fn shown(&self) -> &[Hunk] {
        if self.withheld { &[] } else { &self.hunks }
    }

    /// Where the line stands. `RIGHT` knows additions and context, `LEFT`
    /// deletions and context.
    pub(crate) fn place(&self, side: Side, number: u32) -> Option<Place> {
        for (hunk, h) in self.shown().iter().enumerate() {
            for (line, l) in h.lines.iter().enumerate() {
                let found = match side {
                    Side::Left => l.left,
                    Side::Right => l.right,
                };
                if found == Some(number) {
                    return Some(Place { hunk, line });
                }
            }
        }
        None
    }

    /// GitHub's older `position`: lines below the first hunk header.
    pub(crate) fn position(&self, place: Place) -> usize {
        let before: usize = self.hunks[..place.hunk].iter().map(|h| h.lines.len() + 1).sum();
        before + place.line + 1
    }

    /// The line at an older `position`.
    pub(crate) fn at_position(&self, position: usize) -> Option<(Side, u32)> {
        let mut at = 0;
        for hunk in self.shown() {
            for line in &hunk.lines {
                at += 1;
                if at == position {
                    return match (line.right, line.left) {
                        (Some(n), _) => Some((Side::Right, n)),
                        (None, Some(n)) => Some((Side::Left, n)),
                        (None, None) => None,
                    };
                }
            }
            at += 1;
        }
        None
    }

    /// The hunk as far as the commented line.
    pub(crate) fn hunk_until(&self, place: Place) -> String {
        let hunk = &self.hunks[place.hunk];
        let lines = hunk.lines[..=place.line].iter().map(|l| l.text.as_str());
        std::iter::once(hunk.header.as_str())
            .chain(lines)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The patch as GitHub gives it: from the first hunk on, without the last
    /// line break; `None` for binary, empty and too large.
    pub(crate) fn patch(&self) -> Option<String> {
        let hunks = self.shown();
        if hunks.is_empty() {
            return None;
        }
        let mut lines = Vec::new();
        for hunk in hunks {
            lines.push(hunk.header.as_str());
            lines.extend(hunk.lines.iter().map(|l| l.text.as_str()));
        }
        Some(lines.join("\n"))
    }

    fn size(&self) -> (usize, usize) {
        let lines = self.hunks.iter().map(|h| h.lines.len() + 1).sum();
        let bytes = self
            .hunks
            .iter()
            .flat_map(|h| h.lines.iter())
            .map(|l| l.text.len() + 1)
            .sum();
        (lines, bytes)
    }
}

impl World {
    /// What `head` changes against its merge base with `base`.
    ///
    /// # Errors
    /// When git cannot read the commits, or they have no common ancestor.
    pub(crate) fn changes(
        &self,
        repo: u64,
        base: &str,
        head: &str,
    ) -> Result<Arc<Vec<FileChange>>, GitFault> {
        let key = (repo, base.to_owned(), head.to_owned());
        if let Some(found) = self.diffs.borrow().get(&key) {
            return Ok(found.clone());
        }
        let from = self.git.merge_base(repo, base, head)?;
        let raw = self.git.raw_diff(repo, &from, head)?;
        let patch = self.git.patch(repo, &from, head)?;
        let changes = Arc::new(withhold(read(&raw, &patch)));
        let mut known = self.diffs.borrow_mut();
        if known.len() >= 64 {
            known.clear();
        }
        known.insert(key, changes.clone());
        Ok(changes)
    }
}

fn withhold(mut files: Vec<FileChange>) -> Vec<FileChange> {
    let mut whole = (0, 0);
    for file in &mut files {
        let (lines, bytes) = file.size();
        whole = (whole.0 + lines, whole.1 + bytes);
        file.withheld =
            lines > FILE_LINES || bytes > FILE_BYTES || whole.0 > WHOLE_LINES || whole.1 > WHOLE_BYTES;
    }
    files
}

/// Reads `git diff-tree --raw -z` and the patch of the same call, which list the
/// files in the same order.
fn read(raw: &[u8], patch: &[u8]) -> Vec<FileChange> {
    let mut sections = sections(patch).into_iter();
    let mut fields = raw.split(|b| *b == 0).filter(|f| !f.is_empty());
    let mut files = Vec::new();
    while let Some(meta) = fields.next() {
        let meta = String::from_utf8_lossy(meta);
        let mut words = meta.trim_start_matches(':').split(' ');
        let (_old_mode, _new_mode) = (words.next(), words.next());
        let old_blob = words.next().unwrap_or_default();
        let new_blob = words.next().unwrap_or_default();
        let letter = words.next().unwrap_or_default().chars().next().unwrap_or('M');
        let text = |f: Option<&[u8]>| String::from_utf8_lossy(f.unwrap_or_default()).into_owned();
        let first = text(fields.next());
        let (path, previous) = match letter {
            'R' | 'C' => (text(fields.next()), Some(first)),
            _ => (first, None),
        };
        let status = match letter {
            'A' => "added",
            'D' => "removed",
            'R' => "renamed",
            'C' => "copied",
            'M' if old_blob != new_blob => "modified",
            _ => "changed",
        };
        let mut hunks = sections.next().unwrap_or_default();
        if letter == 'T' {
            // A change of type is written as a removal and an addition.
            hunks.extend(sections.next().unwrap_or_default());
        }
        let count = |sign: char| {
            let lines = hunks.iter().flat_map(|h: &Hunk| &h.lines);
            u32::try_from(lines.filter(|l| l.text.starts_with(sign)).count()).unwrap_or(u32::MAX)
        };
        let blob = if letter == 'D' { old_blob } else { new_blob };
        files.push(FileChange {
            status,
            path,
            previous,
            blob: blob.to_owned(),
            additions: count('+'),
            deletions: count('-'),
            hunks,
            withheld: false,
        });
    }
    files
}

/// The hunks of each file of a patch. Lines inside a hunk are taken by count, so
/// nothing in a file's text can look like a header.
fn sections(patch: &[u8]) -> Vec<Vec<Hunk>> {
    let mut files: Vec<Vec<Hunk>> = Vec::new();
    let mut lines = patch.split(|b| *b == b'\n').peekable();
    while let Some(line) = lines.next() {
        if line.starts_with(b"diff --git ") {
            files.push(Vec::new());
            continue;
        }
        let Some((mut left, left_count, mut right, right_count)) = numbers(line) else {
            continue;
        };
        let mut hunk = Hunk {
            header: String::from_utf8_lossy(line).into_owned(),
            lines: Vec::new(),
        };
        let (left_end, right_end) = (left + left_count, right + right_count);
        while left < left_end || right < right_end {
            let Some(line) = lines.next() else { break };
            let text = String::from_utf8_lossy(line).into_owned();
            let (l, r) = match line.first() {
                Some(b'+') => (None, Some(right)),
                Some(b'-') => (Some(left), None),
                Some(b'\\') => (None, None),
                _ => (Some(left), Some(right)),
            };
            left += u32::from(l.is_some());
            right += u32::from(r.is_some());
            hunk.lines.push(HunkLine {
                left: l,
                right: r,
                text,
            });
        }
        if let Some(line) = lines.next_if(|l| l.starts_with(b"\\")) {
            let text = String::from_utf8_lossy(line).into_owned();
            hunk.lines.push(HunkLine {
                left: None,
                right: None,
                text,
            });
        }
        if let Some(file) = files.last_mut() {
            file.push(hunk);
        }
    }
    files
}

/// `@@ -a,b +c,d @@` as `(a, b, c, d)`.
fn numbers(line: &[u8]) -> Option<(u32, u32, u32, u32)> {
    let line = std::str::from_utf8(line.get(..line.len().min(80))?)
        .or_else(|e| std::str::from_utf8(&line[..e.valid_up_to()]))
        .ok()?;
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (left, right) = ranges.split_once(" +")?;
    let pair = |text: &str| -> Option<(u32, u32)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((a, b), (c, d)) = (pair(left)?, pair(right)?);
    Some((a, b, c, d))
}
