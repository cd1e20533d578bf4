//! The hunks of one file, stored compactly: the text of all lines in one buffer
//! and one small record a line.
//!
//! Invariants, kept by [`Patch::open_hunk`] and [`Patch::push`]: line numbers are
//! one-based and never overflow; hunks are in order and do not overlap on either
//! side; a hunk holds exactly the lines its header announces.

use crate::domain::review::finding::Side;

use super::error::HunkFault;

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

impl LineKind {
    /// Whether a line of this kind exists on `side`.
    pub const fn is_on(self, side: Side) -> bool {
        !matches!(
            (self, side),
            (Self::Added, Side::Left) | (Self::Removed, Side::Right)
        )
    }
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
    /// First line on the base; when `old_count` is 0, the line before it (0 at the top).
    pub old_start: u32,
    /// Lines on the base.
    pub old_count: u32,
    /// First line on the head; when `new_count` is 0, the line before it (0 at the top).
    pub new_start: u32,
    /// Lines on the head.
    pub new_count: u32,
    /// Where its lines are in the patch.
    lines: std::ops::Range<usize>,
}

/// Where a line is, on both sides: a removed line carries the number that the next
/// line of the head has, an added one the number of the next line of the base. So both
/// numbers only grow within a hunk and can be searched by halving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    kind: LineKind,
    old: u32,
    new: u32,
    /// End of its text in the buffer.
    end: u32,
}

/// The hunks of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    hunks: Vec<Hunk>,
    /// The text of every line, one after another, without LF.
    text: Vec<u8>,
    records: Vec<Record>,
}

impl Patch {
    /// The hunks in order; they never overlap on either side.
    pub fn hunks(&self) -> &[Hunk] {
        &self.hunks
    }

    /// Whether there is no hunk.
    pub fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }

    /// The lines of one of this patch's hunks.
    pub fn lines(&self, hunk: &Hunk) -> impl DoubleEndedIterator<Item = Line<'_>> + ExactSizeIterator {
        hunk.lines.clone().map(|index| self.line(index))
    }

    /// Every added line: its number on the head and its bytes.
    pub fn added_lines(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.lines_of(LineKind::Added)
            .map(|l| (l.new.unwrap_or(0), l.text))
    }

    /// Every removed line: its number on the base and its bytes.
    pub fn removed_lines(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.lines_of(LineKind::Removed)
            .map(|l| (l.old.unwrap_or(0), l.text))
    }

    fn lines_of(&self, kind: LineKind) -> impl Iterator<Item = Line<'_>> {
        (0..self.records.len())
            .filter(move |&i| self.records[i].kind == kind)
            .map(|i| self.line(i))
    }

    /// Whether the forge takes a comment there: `RIGHT` added and context lines with
    /// their numbers on the head, `LEFT` removed lines with theirs on the base.
    ///
    /// Source: GitHub, `POST …/pulls/{n}/comments`, `side`. A context line is left to
    /// `RIGHT`, which is what the forge documents: one comment that it refuses costs
    /// the whole review (422).
    pub fn is_commentable(&self, side: Side, line: u32) -> bool {
        self.find(side, line)
            .is_some_and(|(_, index)| side == Side::Right || self.records[index].kind == LineKind::Removed)
    }

    /// The hunk that shows `line` of `side`, context lines included on both sides.
    pub fn hunk_of(&self, side: Side, line: u32) -> Option<&Hunk> {
        self.find(side, line).map(|(hunk, _)| hunk)
    }

    /// Whether a line of `side` is added (on the head) or removed (on the base).
    pub fn is_changed(&self, side: Side, line: u32) -> bool {
        self.find(side, line)
            .is_some_and(|(_, index)| self.records[index].kind != LineKind::Context)
    }

    /// The bytes of a shown line, context lines included on both sides.
    pub fn line_text(&self, side: Side, line: u32) -> Option<&[u8]> {
        self.find(side, line).map(|(_, index)| self.line(index).text)
    }

    fn line(&self, index: usize) -> Line<'_> {
        let record = self.records[index];
        let start = index.checked_sub(1).map_or(0, |i| self.records[i].end as usize);
        Line {
            kind: record.kind,
            old: record.kind.is_on(Side::Left).then_some(record.old),
            new: record.kind.is_on(Side::Right).then_some(record.new),
            text: &self.text[start..record.end as usize],
        }
    }

    /// The hunk and the record of a shown line.
    fn find(&self, side: Side, line: u32) -> Option<(&Hunk, usize)> {
        // Both numbers grow over the whole patch, and a line of this side is the last one
        // of all that carry its number.
        let number = |r: &Record| if side == Side::Left { r.old } else { r.new };
        let index = self
            .records
            .partition_point(|r| number(r) <= line)
            .checked_sub(1)?;
        let record = self.records[index];
        if number(&record) != line || !record.kind.is_on(side) {
            return None;
        }
        let upto = self.hunks.partition_point(|h| h.lines.start <= index);
        Some((&self.hunks[upto.checked_sub(1)?], index))
    }

    /// Begins a hunk; its lines follow by [`Self::push`].
    pub(super) fn open_hunk(&mut self, header: &HunkHeader) -> Result<(), HunkFault> {
        // A side without lines still has a place: the number the next line would have.
        let after = |start: u32, count: u32| start.saturating_add(count.max(1));
        if let Some(last) = self.hunks.last()
            && (header.old_first() < after(last.old_start, last.old_count)
                || header.new_first() < after(last.new_start, last.new_count))
        {
            return Err(HunkFault::OutOfOrder);
        }
        self.hunks.push(Hunk {
            old_start: header.old_start,
            old_count: header.old_count,
            new_start: header.new_start,
            new_count: header.new_count,
            lines: self.records.len()..self.records.len(),
        });
        Ok(())
    }

    /// Adds a line to the last hunk; `old` and `new` are the numbers it has or would have.
    pub(super) fn push(&mut self, kind: LineKind, old: u32, new: u32, text: &[u8]) {
        let Some(hunk) = self.hunks.last_mut() else {
            return;
        };
        self.text.extend_from_slice(text);
        self.records.push(Record {
            kind,
            old,
            new,
            end: u32::try_from(self.text.len()).unwrap_or(u32::MAX),
        });
        hunk.lines.end = self.records.len();
    }

    /// Bytes of text held.
    pub(super) fn size(&self) -> usize {
        self.text.len()
    }

    /// Lines held.
    pub(super) fn line_count(&self) -> usize {
        self.records.len()
    }

    /// One patch of the whole removed content of `self` and the whole added content of
    /// `after`: what a file of another type under the same path comes to.
    pub(super) fn replaced_by(mut self, after: &Self) -> Self {
        let removed = self.records.len();
        let base = self.text.len();
        self.text.extend_from_slice(&after.text);
        self.records.extend(after.records.iter().map(|r| Record {
            old: u32::try_from(removed).unwrap_or(u32::MAX).saturating_add(1),
            end: u32::try_from(base).unwrap_or(u32::MAX).saturating_add(r.end),
            ..*r
        }));
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (old, new) = (count(removed), count(after.records.len()));
        self.hunks.clear();
        if old > 0 || new > 0 {
            self.hunks.push(Hunk {
                old_start: u32::from(old > 0),
                old_count: old,
                new_start: u32::from(new > 0),
                new_count: new,
                lines: 0..self.records.len(),
            });
        }
        self
    }
}

/// What `@@ -a,b +c,d @@` says, checked: every line number fits into 32 bits, and
/// a side with lines begins at 1 or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HunkHeader {
    pub(super) old_start: u32,
    pub(super) old_count: u32,
    pub(super) new_start: u32,
    pub(super) new_count: u32,
}

impl HunkHeader {
    /// Reads a line that begins with `@@ `.
    pub(super) fn parse(line: &[u8]) -> Result<Self, HunkFault> {
        let rest = line.strip_prefix(b"@@ -").ok_or(HunkFault::Header)?;
        let (old_start, old_count, rest) = range(rest)?;
        let rest = rest.strip_prefix(b" +").ok_or(HunkFault::Header)?;
        let (new_start, new_count, rest) = range(rest)?;
        if !rest.starts_with(b" @@") {
            return Err(HunkFault::Header);
        }
        if old_count == 0 && new_count == 0 {
            return Err(HunkFault::Numbers);
        }
        Ok(Self {
            old_start,
            old_count,
            new_start,
            new_count,
        })
    }

    /// The number that the first line of the base has or would have.
    pub(super) fn old_first(&self) -> u32 {
        self.old_start + u32::from(self.old_count == 0)
    }

    /// The number that the first line of the head has or would have.
    pub(super) fn new_first(&self) -> u32 {
        self.new_start + u32::from(self.new_count == 0)
    }
}

/// Reads `start[,count]`; an absent count is 1.
fn range(text: &[u8]) -> Result<(u32, u32, &[u8]), HunkFault> {
    let (start, rest) = number(text)?;
    let (count, rest) = match rest.strip_prefix(b",") {
        Some(rest) => number(rest)?,
        None => (1, rest),
    };
    // One past the last line must be a number too: the counters end there.
    let last = start.checked_add(count.max(1)).ok_or(HunkFault::Numbers)?;
    if last == u32::MAX || (start == 0 && count > 0) {
        return Err(HunkFault::Numbers);
    }
    Ok((start, count, rest))
}

fn number(text: &[u8]) -> Result<(u32, &[u8]), HunkFault> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = text.split_at(digits);
    if digits == 0 {
        return Err(HunkFault::Header);
    }
    let number = std::str::from_utf8(number)
        .ok()
        .and_then(|n| n.parse().ok())
        .ok_or(HunkFault::Numbers)?;
    Ok((number, rest))
}
