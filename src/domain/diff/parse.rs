//! From diff text to files.

use std::{borrow::Cow, collections::HashSet};

use diffy::patch_set::{FileMode, FileOperation, ParseOptions, PatchSet};

use super::{
    error::{DiffError, HunkFault},
    file::{ChangedFile, FileStatus},
    patch::{Hunk, HunkHeader, LineKind, Patch},
};

/// The text of one file's patch that is kept: 8 MiB. Above it the file is unseen.
pub const MAX_PATCH_BYTES: usize = 8 << 20;
/// The lines of one file's patch that are kept. Above it the file is unseen.
pub const MAX_PATCH_LINES: usize = 200_000;
/// Why such a file is unseen.
pub const TOO_LARGE: &str = "its diff is larger than 8 MiB or 200,000 lines";
/// A header line holds at most two paths of 4 KiB, each byte escaped to four.
const MAX_HEADER_LINE: usize = 40 << 10;

/// Reads the output of `git diff` (prefixed `a/` and `b/`, or any other pair of
/// one-component prefixes, or none). An empty text is no change; whatever is not
/// understood is an error.
pub fn parse(text: &[u8]) -> Result<Vec<ChangedFile>, DiffError> {
    if text.last().is_some_and(|&b| b != b'\n') {
        return Err(DiffError::CutOff);
    }
    let mut reader = Reader::new(text);
    let mut files: Vec<ChangedFile> = Vec::new();
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut last_path = Vec::new();
    while let Some(first) = reader.peek() {
        let begin = reader.line;
        if is_combined(first) {
            return Err(DiffError::Combined { line: begin });
        }
        let (path, file) = section(&mut reader)?;
        if seen.contains(&path) {
            let before = files.pop().filter(|_| path == last_path);
            let Some(merged) = before.and_then(|before| type_change(before, file)) else {
                return Err(DiffError::Repeated { line: begin });
            };
            files.push(merged);
        } else {
            seen.insert(path.clone());
            files.push(file);
        }
        last_path = path;
    }
    Ok(files)
}

/// Reads the `patch` field that a forge gives for one file: hunks only, without a
/// final line end. Empty: no hunks.
pub fn parse_file_patch(patch: &[u8]) -> Result<Patch, DiffError> {
    let mut reader = Reader::new(patch);
    let read = hunks(&mut reader)?;
    match reader.peek() {
        Some(line) if is_combined(line) => Err(DiffError::Combined { line: reader.line }),
        Some(_) => Err(DiffError::NotADiff { line: reader.line }),
        None => read.ok_or(DiffError::TooLarge),
    }
}

/// A path as text: UTF-8 as it is, every other byte as `\xHH`, so that two paths
/// that differ stay different (a replacement character would make them one).
pub fn path_text(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}

fn is_combined(line: &[u8]) -> bool {
    [b"diff --cc ".as_slice(), b"diff --combined ", b"@@@"]
        .iter()
        .any(|p| line.starts_with(p))
}

/// Lines by LF, and their numbers.
struct Reader<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { rest: text, line: 1 }
    }

    /// The next line without its LF.
    fn peek(&self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&b| b == b'\n');
        Some(&self.rest[..end.unwrap_or(self.rest.len())])
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.rest = self.rest.get(line.len() + 1..).unwrap_or_default();
        self.line += 1;
        Some(line)
    }
}

/// What the header lines of one file say.
#[derive(Default)]
struct Header<'a> {
    /// The lines that carry names and changed modes, for `diffy`.
    named: Vec<u8>,
    /// What follows `diff --git `.
    pair: &'a [u8],
    added: Option<&'a [u8]>,
    removed: Option<&'a [u8]>,
    /// `old..new` and the mode that both sides share.
    index: Option<&'a [u8]>,
    binary: bool,
    /// Whether `---` and `+++` announced hunks.
    has_hunks: bool,
}

/// Reads one file: its header and its hunks. Returns the true bytes of its path.
fn section(reader: &mut Reader<'_>) -> Result<(Vec<u8>, ChangedFile), DiffError> {
    let begin = reader.line;
    let fault = |reason| DiffError::Header { line: begin, reason };
    let header = header(reader)?;
    let (old, new, status, modes) = names(&header, begin)?;
    let mut file = ChangedFile::new(path_text(&new), status);
    file.old_path = (old != new).then(|| path_text(&old));
    file.binary = header.binary;
    if let Some(index) = header.index {
        let (names, shared) = split_once(index, b' ').map_or((index, None), |(n, m)| (n, Some(m)));
        let (before, after) = names
            .windows(2)
            .position(|w| w == b"..")
            .map(|at| (&names[..at], &names[at + 2..]))
            .ok_or_else(|| fault("the index line"))?;
        file.old_oid = object_name(before);
        file.new_oid = object_name(after);
        file.old_mode = shared.map(mode).transpose().map_err(fault)?;
        file.new_mode = file.old_mode;
    }
    if let (Some(old), Some(new)) = modes {
        file.old_mode = Some(mode_bits(old));
        file.new_mode = Some(mode_bits(new));
    }
    if let Some(added) = header.added {
        (file.old_mode, file.new_mode) = (None, Some(mode(added).map_err(fault)?));
    }
    if let Some(removed) = header.removed {
        (file.old_mode, file.new_mode) = (Some(mode(removed).map_err(fault)?), None);
    }
    if header.has_hunks {
        match hunks(reader)? {
            Some(patch) if patch.is_empty() => return Err(fault("no hunk follows")),
            Some(patch) => file = file.with_patch(patch),
            None => file.unseen = Some(TOO_LARGE.to_owned()),
        }
    }
    // A whole file is one hunk from its first line on, with nothing on the other side.
    let whole = |of: fn(&Hunk) -> (u32, u32)| match file.hunks() {
        [] => true,
        [hunk] => of(hunk) == (1, 0),
        _ => false,
    };
    match status {
        FileStatus::Added if !whole(|h| (h.new_start, h.old_count)) => {
            Err(fault("an added file is not whole"))
        }
        FileStatus::Removed if !whole(|h| (h.old_start, h.new_count)) => {
            Err(fault("a removed file is not whole"))
        }
        _ => Ok((new, file)),
    }
}

/// Reads from `diff --git` to the line before the first hunk, or to the end of a
/// file without hunks.
fn header<'a>(reader: &mut Reader<'a>) -> Result<Header<'a>, DiffError> {
    const NAMED: [&[u8]; 6] = [
        b"rename from ",
        b"rename to ",
        b"copy from ",
        b"copy to ",
        b"old mode ",
        b"new mode ",
    ];
    let begin = reader.line;
    let fault = |reason| DiffError::Header { line: begin, reason };
    let mut header = Header::default();
    let keep = |named: &mut Vec<u8>, line: &[u8]| {
        named.extend_from_slice(line);
        named.push(b'\n');
    };
    let first = reader.next().unwrap_or_default();
    header.pair = first
        .strip_prefix(b"diff --git ")
        .ok_or(DiffError::NotADiff { line: begin })?;
    keep(&mut header.named, first);
    while let Some(line) = reader.peek() {
        if line.starts_with(b"diff ") {
            break;
        }
        if line.len() > MAX_HEADER_LINE {
            return Err(fault("a line too long"));
        }
        if NAMED.iter().any(|p| line.starts_with(p)) {
            keep(&mut header.named, line);
        } else if let Some(mode) = line.strip_prefix(b"new file mode ") {
            header.added = Some(mode);
        } else if let Some(mode) = line.strip_prefix(b"deleted file mode ") {
            header.removed = Some(mode);
        } else if let Some(index) = line.strip_prefix(b"index ") {
            header.index = Some(index);
        } else if line.starts_with(b"Binary files ") {
            header.binary = true;
        } else if line == b"GIT binary patch" {
            header.binary = true;
            reader.next();
            skip_binary(reader)?;
            break;
        } else if line.starts_with(b"--- ") {
            reader.next();
            if !reader.peek().is_some_and(|l| l.starts_with(b"+++ ")) {
                return Err(fault("--- without +++"));
            }
            reader.next();
            header.has_hunks = true;
            break;
        } else if is_combined(line) {
            return Err(DiffError::Combined { line: reader.line });
        } else if !line.starts_with(b"similarity index ") && !line.starts_with(b"dissimilarity index ") {
            return Err(DiffError::NotADiff { line: reader.line });
        }
        reader.next();
    }
    if header.binary && header.has_hunks {
        return Err(fault("both binary and text"));
    }
    Ok(header)
}

/// Passes over the payload of `git diff --binary`: no line of it holds a space but
/// the sizes.
fn skip_binary(reader: &mut Reader<'_>) -> Result<(), DiffError> {
    while let Some(line) = reader.peek() {
        if line.starts_with(b"diff ") {
            break;
        }
        let size = line.starts_with(b"literal ") || line.starts_with(b"delta ");
        if !size && line.contains(&b' ') {
            return Err(DiffError::NotADiff { line: reader.line });
        }
        reader.next();
    }
    Ok(())
}

type Names<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>);
type Modes = (Option<FileMode>, Option<FileMode>);

/// The names on both sides as bytes without prefix, what happened, and changed modes.
fn names(header: &Header<'_>, begin: usize) -> Result<(Vec<u8>, Vec<u8>, FileStatus, Modes), DiffError> {
    let fault = |reason| DiffError::Header { line: begin, reason };
    if header.pair.len() > MAX_HEADER_LINE {
        return Err(fault("a line too long"));
    }
    // The `---` and `+++` lines are kept from `diffy`: `/dev/null` there hides one name,
    // and without both names a prefix cannot be told from a folder.
    let patch = PatchSet::parse_bytes(&header.named, ParseOptions::gitdiff())
        .next()
        .and_then(Result::ok)
        .ok_or_else(|| fault("its names or modes"))?;
    let modes = (patch.old_mode().copied(), patch.new_mode().copied());
    let (old, new, status) = match patch.operation() {
        FileOperation::Rename { from, to } => (from.to_vec(), to.to_vec(), FileStatus::Renamed),
        FileOperation::Copy { from, to } => (from.to_vec(), to.to_vec(), FileStatus::Copied),
        FileOperation::Modify { original, modified } => {
            let (old, new) = halves(header.pair).unwrap_or((original.clone(), modified.clone()));
            let name = without_prefix(&old, &new).ok_or_else(|| fault("its two names differ"))?;
            let status = match (header.added, header.removed) {
                (Some(_), Some(_)) => return Err(fault("both added and removed")),
                (Some(_), None) => FileStatus::Added,
                (None, Some(_)) => FileStatus::Removed,
                (None, None) => FileStatus::Modified,
            };
            (name.to_vec(), name.to_vec(), status)
        }
        FileOperation::Create(_) | FileOperation::Delete(_) => return Err(fault("its names")),
    };
    if new.is_empty() || old.is_empty() {
        return Err(fault("an empty name"));
    }
    Ok((old, new, status, modes))
}

/// Splits `a/x b/x`. Without a rename both names are the same and so are the lengths
/// of the prefixes, so the only right split is the middle, whatever the name holds.
/// `None` when the names are quoted: those end at their quotes.
fn halves(pair: &[u8]) -> Option<Names<'_>> {
    if pair.starts_with(b"\"") || pair.len().is_multiple_of(2) {
        return None;
    }
    let (old, rest) = pair.split_at(pair.len() / 2);
    let new = rest.strip_prefix(b" ")?;
    Some((Cow::Borrowed(old), Cow::Borrowed(new)))
}

/// The name that both sides share. Prefixes of a pair always differ, so two equal
/// names have none, even when they begin with `a/`.
fn without_prefix<'a>(old: &'a [u8], new: &[u8]) -> Option<&'a [u8]> {
    if old == new {
        return Some(old);
    }
    let (_, old) = split_once(old, b'/')?;
    let (_, new) = split_once(new, b'/')?;
    (old == new).then_some(old)
}

fn split_once(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let i = text.iter().position(|&b| b == at)?;
    Some((&text[..i], &text[i + 1..]))
}

/// A full object name that is not the zero one.
fn object_name(text: &[u8]) -> Option<String> {
    let whole = matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit);
    (whole && text.iter().any(|&b| b != b'0')).then(|| String::from_utf8_lossy(text).to_ascii_lowercase())
}

fn mode(text: &[u8]) -> Result<u32, &'static str> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|t| u32::from_str_radix(t, 8).ok())
        .filter(|m| *m <= 0o177_777)
        .ok_or("its mode")
}

fn mode_bits(mode: FileMode) -> u32 {
    match mode {
        FileMode::Regular => 0o100_644,
        FileMode::Executable => 0o100_755,
        FileMode::Symlink => 0o120_000,
        FileMode::Gitlink => 0o160_000,
    }
}

/// Reads hunks until a line that is none. `None`: too large; they were counted through
/// and not kept.
fn hunks(reader: &mut Reader<'_>) -> Result<Option<Patch>, DiffError> {
    let mut kept = Some(Patch::default());
    while let Some(line) = reader.peek().filter(|l| l.starts_with(b"@@ ")) {
        let at = reader.line;
        let fault = |fault| DiffError::Hunk { line: at, fault };
        let header = HunkHeader::parse(line).map_err(fault)?;
        reader.next();
        if let Some(patch) = &mut kept {
            patch.open_hunk(&header).map_err(fault)?;
        }
        hunk(reader, &header, &mut kept)?;
    }
    Ok(kept)
}

fn hunk(reader: &mut Reader<'_>, header: &HunkHeader, kept: &mut Option<Patch>) -> Result<(), DiffError> {
    let (mut old, mut new) = (header.old_first(), header.new_first());
    let (mut old_left, mut new_left) = (header.old_count, header.new_count);
    while old_left > 0 || new_left > 0 {
        let fault = |fault| DiffError::Hunk {
            line: reader.line,
            fault,
        };
        let line = reader.peek().ok_or_else(|| fault(HunkFault::Short))?;
        let (kind, text) = match line.split_first() {
            // `diff.suppressBlankEmpty`, and editors that trim: an empty context line.
            None => (LineKind::Context, line),
            Some((b' ', text)) => (LineKind::Context, text),
            Some((b'+', text)) => (LineKind::Added, text),
            Some((b'-', text)) => (LineKind::Removed, text),
            Some((b'\\', _)) => return Err(fault(HunkFault::Marker)),
            Some(_) if line.starts_with(b"diff ") || line.starts_with(b"@@") => {
                return Err(fault(HunkFault::Short));
            }
            Some(_) => return Err(fault(HunkFault::Line)),
        };
        let on_old = u32::from(kind != LineKind::Added);
        let on_new = u32::from(kind != LineKind::Removed);
        old_left = old_left
            .checked_sub(on_old)
            .ok_or_else(|| fault(HunkFault::Line))?;
        new_left = new_left
            .checked_sub(on_new)
            .ok_or_else(|| fault(HunkFault::Line))?;
        if let Some(patch) = kept {
            patch.push(kind, old, new, text);
            if patch.size() > MAX_PATCH_BYTES || patch.line_count() > MAX_PATCH_LINES {
                *kept = None;
            }
        }
        old += on_old;
        new += on_new;
        reader.next();
        // "\ No newline at end of file", in whatever language: it counts on no side.
        if reader.peek().is_some_and(|l| l.starts_with(b"\\")) {
            reader.next();
        }
    }
    Ok(())
}

/// Git prints a changed type as two files with one path: first all removed, then all
/// added. `None` when the two are not that.
fn type_change(before: ChangedFile, after: ChangedFile) -> Option<ChangedFile> {
    const TYPE: u32 = 0o170_000;
    let fits = before.status == FileStatus::Removed
        && after.status == FileStatus::Added
        && before.old_mode? & TYPE != after.new_mode? & TYPE;
    fits.then(|| ChangedFile {
        status: FileStatus::TypeChanged,
        old_mode: before.old_mode,
        new_mode: after.new_mode,
        old_oid: before.old_oid,
        new_oid: after.new_oid,
        binary: before.binary || after.binary,
        unseen: before.unseen.or(after.unseen),
        patch: before.patch.replaced_by(&after.patch),
        path: after.path,
        old_path: None,
    })
}
