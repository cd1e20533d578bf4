//! Parts of a file, in the units of whoever names them, and edits of them.

/// What a column counts. Columns are one-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColumnUnit {
    /// Code units of UTF-16, as in Java and JavaScript.
    Utf16,
    /// Characters.
    Characters,
    /// Bytes of UTF-8.
    Bytes,
    /// It is not said. Where it would matter, there is no column.
    #[default]
    Unknown,
}

/// A part of a file as a tool names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// The file as such.
    File,
    /// Lines, one-based, `start <= end`; columns where they are known. The end column
    /// is the first one that is no longer meant.
    Lines {
        /// First line.
        start: u32,
        /// Last line.
        end: u32,
        /// Column in the first line.
        start_column: Option<u32>,
        /// Column in the last line.
        end_column: Option<u32>,
    },
    /// Characters from the start of the file, in the region's unit.
    Characters {
        /// How many come before it.
        offset: usize,
        /// How many belong to it.
        length: usize,
    },
    /// Bytes from the start of the file.
    Bytes {
        /// How many come before it.
        offset: usize,
        /// How many belong to it.
        length: usize,
    },
}

/// One replacement in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What is taken out; a length of zero inserts.
    pub region: Region,
    /// What takes its place.
    pub text: String,
}

/// Lines that a set of edits would leave in place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// First replaced line, one-based.
    pub start_line: u32,
    /// Last replaced line.
    pub end_line: u32,
    /// The new lines, joined by LF, without a final one; empty when the lines go.
    pub text: String,
}

/// The byte at which a column begins, `line` being without its LF. The column after
/// the last character is the line's end. `None` beyond that, in the middle of a
/// character, or where the unit is not known and matters.
pub fn column_to_byte(line: &str, column: u32, unit: ColumnUnit) -> Option<usize> {
    let wanted = usize::try_from(column).ok()?.checked_sub(1)?;
    if unit == ColumnUnit::Bytes {
        return line.is_char_boundary(wanted).then_some(wanted);
    }
    let mut passed = 0;
    for (at, c) in line.char_indices() {
        if passed == wanted {
            return Some(at);
        }
        if passed > wanted {
            return None;
        }
        passed += match unit {
            ColumnUnit::Utf16 => c.len_utf16(),
            ColumnUnit::Unknown if c.len_utf16() > 1 => return None,
            _ => 1,
        };
    }
    (passed == wanted).then_some(line.len())
}

/// Lines of a text: where each begins, in bytes.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Self { text, starts }
    }

    /// The bytes of a line without its LF, one-based. A final LF ends the last line and
    /// opens none, but its end can be named: an edit may append there.
    fn line(&self, line: u32) -> Option<(usize, usize)> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *self.starts.get(index)?;
        let end = self
            .starts
            .get(index + 1)
            .map_or(self.text.len(), |next| next - 1);
        Some((start, end))
    }

    fn number_at(&self, byte: usize) -> u32 {
        let before = self.starts.partition_point(|start| *start <= byte);
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    /// Where a line and a column are, in bytes.
    fn at(&self, line: u32, column: Option<u32>, unit: ColumnUnit, otherwise_end: bool) -> Option<usize> {
        let (start, end) = self.line(line)?;
        match column {
            Some(column) => {
                let byte = column_to_byte(self.text.get(start..end)?, column, unit)?;
                (start + byte <= end).then_some(start + byte)
            }
            None => Some(if otherwise_end { end } else { start }),
        }
    }

    fn offset(&self, offset: usize, unit: ColumnUnit) -> Option<usize> {
        let mut passed = 0;
        for (at, c) in self.text.char_indices() {
            if passed >= offset {
                return (passed == offset).then_some(at);
            }
            passed += match unit {
                ColumnUnit::Utf16 => c.len_utf16(),
                ColumnUnit::Unknown if c.len_utf16() > 1 => return None,
                _ => 1,
            };
        }
        (passed == offset).then_some(self.text.len())
    }

    fn bytes(&self, region: Region, unit: ColumnUnit) -> Option<(usize, usize)> {
        let (from, to) = match region {
            Region::File => return None,
            Region::Lines {
                start,
                end,
                start_column,
                end_column,
            } => (
                self.at(start, start_column, unit, false)?,
                self.at(end, end_column, unit, true)?,
            ),
            Region::Characters { offset, length } => (
                self.offset(offset, unit)?,
                self.offset(offset.checked_add(length)?, unit)?,
            ),
            Region::Bytes { offset, length } => (offset, offset.checked_add(length)?),
        };
        let sound = from <= to && self.text.is_char_boundary(from) && self.text.is_char_boundary(to);
        sound.then_some((from, to))
    }
}

/// The lines of `region` in a file, one-based: `None` for the file as such, and for a
/// region that the file does not have. Columns need not exist; the lines must.
pub fn lines_of(region: Region, unit: ColumnUnit, blob: &[u8]) -> Option<(u32, u32)> {
    let count = super::super::review::grounding::blob_lines(blob).len();
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let within = |start: u32, end: u32| (start >= 1 && start <= end && end <= count).then_some((start, end));
    match region {
        Region::File => None,
        // What ends before a line's first character ends with the line above.
        Region::Lines {
            start,
            end,
            end_column: Some(1),
            ..
        } if end > start => within(start, end - 1),
        Region::Lines { start, end, .. } => within(start, end),
        Region::Characters { .. } | Region::Bytes { .. } => {
            let text = std::str::from_utf8(blob).ok()?;
            let lines = Lines::of(text);
            let (from, to) = lines.bytes(region, unit)?;
            // What ends with a line does not reach into the next one.
            let last = to.max(from + 1) - 1;
            within(lines.number_at(from), lines.number_at(last))
        }
    }
}

/// Lines that one replacement may span.
const MAX_REPLACED: u32 = 40;

/// What `edits` make of `blob`, as whole lines. `None` when there are none, when they
/// overlap, name what the file does not have, or span too much to be shown as one.
pub fn replace(edits: &[Edit], unit: ColumnUnit, blob: &[u8]) -> Option<Replacement> {
    let text = std::str::from_utf8(blob).ok()?;
    let lines = Lines::of(text);
    let mut ranges: Vec<(usize, usize, &str)> = Vec::with_capacity(edits.len());
    for edit in edits {
        let (from, to) = lines.bytes(edit.region, unit)?;
        ranges.push((from, to, &edit.text));
    }
    ranges.sort_by_key(|(from, to, _)| (*from, *to));
    if ranges.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        return None;
    }
    let (first, last) = (ranges.first()?, ranges.last()?);
    let start_line = lines.number_at(first.0);
    // Lines that are taken out whole leave nothing of the next one to be shown.
    let whole_lines = last.1 > first.0
        && text.as_bytes().get(last.1.checked_sub(1)?) == Some(&b'\n')
        && lines.line(start_line)?.0 == first.0
        && (last.2.is_empty() || last.2.ends_with('\n'));
    let end_line = lines.number_at(if whole_lines { last.1 - 1 } else { last.1 });
    if end_line < start_line || end_line - start_line >= MAX_REPLACED {
        return None;
    }
    let (begin, end) = (lines.line(start_line)?.0, lines.line(end_line)?.1);
    if begin >= text.len() {
        // Appending after the last line replaces none.
        return None;
    }
    let mut new = String::new();
    let mut at = begin;
    for (from, to, replacement) in &ranges {
        new.push_str(text.get(at..*from)?);
        new.push_str(replacement);
        at = *to;
    }
    new.push_str(text.get(at..end.max(at))?);
    let new = new.strip_suffix('\n').filter(|_| whole_lines).unwrap_or(&new);
    Some(Replacement {
        start_line,
        end_line,
        text: new.to_owned(),
    })
}
