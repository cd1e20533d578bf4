//! Grounding: code, not its author, places a finding (DESIGN §5).
//!
//! The quote is looked up in the blob of its side. Lines end at LF only; a CR
//! before it belongs to the line (D30), but neither its presence nor its absence
//! at the end of a quoted line decides a match. A wrong line number is mended
//! when exactly one place matches; anything else is an error that says what to do.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use super::{
    boundary::{DraftError, check_draft},
    finding::{Anchor, Draft, Finding, Side},
    fingerprint::{Fingerprinter, normalise_line},
};
use crate::domain::text;

/// A draft whose place is proved.
#[derive(Clone, PartialEq)]
pub struct Placed {
    /// The draft: anchor mended, quote as the blob has it (masked when secret),
    /// no secret value left in any of its texts.
    pub draft: Draft,
    /// Whether the line numbers had to be mended.
    pub mended: bool,
    /// The lines as they are, for the fingerprint alone. Never shown or stored.
    pub(super) verbatim: Option<String>,
    /// How many times the same lines (blanks aside) begin earlier in the blob.
    pub(super) occurrence: u32,
}

impl std::fmt::Debug for Placed {
    // By hand: `verbatim` may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placed")
            .field("draft", &self.draft)
            .field("mended", &self.mended)
            .field("occurrence", &self.occurrence)
            .finish_non_exhaustive()
    }
}

/// A draft that cannot be placed. The text tells its author what to change, and
/// repeats no content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum GroundingError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(
        "{path} is not in the change on side {side}: name a changed file, or leave the anchor out for a remark on the whole repository"
    )]
    PathNotInChange { path: String, side: Side },
    #[error(
        "the quote does not occur in {path} on side {side} ({lines} lines): copy the lines verbatim from the file, not from the patch"
    )]
    QuoteAbsent { path: String, side: Side, lines: usize },
    #[error(
        "the quote occurs {count} times in {path} on side {side} (first at lines {}): give the line of the one that is meant, or quote more lines",
        list(places)
    )]
    QuoteAmbiguous {
        path: String,
        side: Side,
        count: usize,
        places: Vec<u32>,
    },
}

fn list(places: &[u32]) -> String {
    places.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Splits at LF only; a final LF ends the last line and opens none. An empty
/// blob has no lines. A CR stays with its line.
pub fn blob_lines(blob: &[u8]) -> Vec<&[u8]> {
    if blob.is_empty() {
        return Vec::new();
    }
    blob.strip_suffix(b"\n")
        .unwrap_or(blob)
        .split(|b| *b == b'\n')
        .collect()
}

/// Where the lines of a blob begin, so that any of them is found without reading the
/// blob again. Lines are those of [`blob_lines`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineStarts {
    starts: Vec<u32>,
    /// Where the last line ends.
    end: u32,
}

impl LineStarts {
    /// Reads the blob once. What lies beyond 4 GiB is not looked at; blobs are 16 MiB at most.
    pub fn new(blob: &[u8]) -> Self {
        let blob = &blob[..blob.len().min(u32::MAX as usize)];
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let mut starts = Vec::new();
        if !blob.is_empty() {
            let text = blob.strip_suffix(b"\n").unwrap_or(blob);
            starts.push(0);
            let breaks = text.iter().enumerate().filter(|(_, b)| **b == b'\n');
            starts.extend(breaks.map(|(at, _)| offset(at + 1)));
        }
        Self {
            starts,
            end: offset(blob.strip_suffix(b"\n").unwrap_or(blob).len()),
        }
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// A line of the blob that this was made of, zero-based.
    fn line<'a>(&self, blob: &'a [u8], index: usize) -> Option<&'a [u8]> {
        let start = *self.starts.get(index)? as usize;
        let end = self.starts.get(index + 1).map_or(self.end, |next| next - 1);
        blob.get(start..end as usize)
    }

    /// Some lines of the blob that this was made of, zero-based; `None` when it does not
    /// have them all.
    fn lines<'a>(&self, blob: &'a [u8], range: Range<usize>) -> Option<Vec<&'a [u8]>> {
        (range.end <= self.count()).then(|| range.filter_map(|at| self.line(blob, at)).collect())
    }

    /// The lines that `anchor` names; `None` when the blob does not have them all.
    pub fn anchored<'a>(&self, blob: &'a [u8], anchor: &Anchor) -> Option<Vec<&'a [u8]>> {
        let start = usize::try_from(anchor.start_line).ok()?.checked_sub(1)?;
        let end = usize::try_from(anchor.end_line).ok()?;
        if start >= end {
            return None;
        }
        self.lines(blob, start..end)
    }
}

/// The lines that `anchor` names; `None` when the blob does not have them all. For many
/// anchors in one blob there is [`LineStarts::anchored`].
pub fn anchored_lines<'a>(blob: &'a [u8], anchor: &Anchor) -> Option<Vec<&'a [u8]>> {
    LineStarts::new(blob).anchored(blob, anchor)
}

/// A blob, and where in it the lines stand that some drafts quote. It is read once,
/// however many drafts are then placed in it.
#[derive(Debug)]
pub struct Text<'a> {
    blob: &'a [u8],
    starts: LineStarts,
    /// Where a line stands that some quote begins with, zero-based, in order.
    quoted: HashMap<Vec<u8>, Vec<usize>>,
    /// The same for lines that are alike, blanks aside.
    alike: HashMap<String, Vec<usize>>,
}

impl<'a> Text<'a> {
    /// Looks up the first line of every quote.
    pub fn new<'q>(blob: &'a [u8], quotes: impl IntoIterator<Item = &'q str>) -> Self {
        let mut text = Self {
            blob,
            starts: LineStarts::new(blob),
            quoted: HashMap::new(),
            alike: HashMap::new(),
        };
        for quote in quotes {
            let first = quote_lines(quote)[0];
            let key = bare(first.as_bytes());
            if !text.quoted.contains_key(key) {
                text.quoted.insert(key.to_vec(), Vec::new());
                text.alike.entry(normalise_line(first)).or_default();
            }
        }
        for at in 0..text.starts.count() {
            let Some(line) = text.starts.line(blob, at) else {
                continue;
            };
            #[cfg(test)]
            LINES_READ.with(|read| read.set(read.get() + 1));
            let line = String::from_utf8_lossy(bare(line));
            if let Some(places) = text.quoted.get_mut(line.as_bytes()) {
                places.push(at);
            }
            if let Some(places) = text.alike.get_mut(&normalise_line(&line)) {
                places.push(at);
            }
        }
        text
    }

    fn line(&self, index: usize) -> &'a [u8] {
        self.starts.line(self.blob, index).unwrap_or_default()
    }

    /// Whether the quote stands at `start`, where its first line does.
    fn goes_on(&self, quoted: &[&str], start: usize) -> bool {
        start + quoted.len() <= self.starts.count()
            && (1..quoted.len()).all(|n| same_line(self.line(start + n), quoted[n]))
    }

    /// Where the quote stands, zero-based: at `stated`, or else everywhere it does.
    fn find(&self, quoted: &[&str], stated: usize) -> Vec<usize> {
        let first = bare(quoted[0].as_bytes());
        let Some(places) = self.quoted.get(first) else {
            return Vec::new();
        };
        if places.binary_search(&stated).is_ok() && self.goes_on(quoted, stated) {
            return vec![stated];
        }
        let whole = |at: &usize| self.goes_on(quoted, *at);
        places.iter().copied().filter(whole).collect()
    }

    /// How often the same code, blanks aside, begins before `start`.
    fn earlier(&self, verbatim: &[Cow<'_, str>], start: usize) -> u32 {
        let normal: Vec<String> = verbatim.iter().map(|line| normalise_line(line)).collect();
        let places = normal.first().and_then(|first| self.alike.get(first));
        let Some(places) = places.map(|p| &p[..p.partition_point(|at| *at < start)]) else {
            return 0;
        };
        let goes_on = |at: usize| {
            (1..normal.len())
                .all(|n| normalise_line(&String::from_utf8_lossy(self.line(at + n))) == normal[n])
        };
        let count = match normal.len() {
            1 => places.len(),
            _ => places.iter().filter(|at| goes_on(**at)).count(),
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
std::thread_local! {
    /// Lines that were looked at, for the law that placing costs one reading of a blob.
    static LINES_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Without the CR that a line may end with.
fn bare(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether the quote's lines are the blob's lines, a final CR on either aside.
/// A blob that is not UTF-8 is compared as it would have been quoted.
pub(super) fn same_line(blob_line: &[u8], quote_line: &str) -> bool {
    let line = bare(blob_line);
    let quote = bare(quote_line.as_bytes());
    line == quote || (std::str::from_utf8(line).is_err() && String::from_utf8_lossy(line).as_bytes() == quote)
}

/// Places `draft`. `blob` is the whole content of the anchor's path on the
/// anchor's side, `None` when the change has no such file there; it is not
/// looked at when there is no anchor. For many drafts on one blob there is [`ground_in`].
pub fn ground(draft: Draft, blob: Option<&[u8]>) -> Result<Placed, GroundingError> {
    // The boundary first: what is no quote is not looked up.
    check_draft(&draft)?;
    let text = blob.map(|blob| Text::new(blob, draft.quote.as_deref()));
    ground_in(draft, text.as_ref())
}

/// [`ground`] in a blob that was read for this draft's quote among others.
pub fn ground_in(mut draft: Draft, text: Option<&Text<'_>>) -> Result<Placed, GroundingError> {
    check_draft(&draft)?;
    let (Some(anchor), Some(quote)) = (draft.anchor.clone(), draft.quote.clone()) else {
        return Ok(Placed {
            draft,
            mended: false,
            verbatim: None,
            occurrence: 0,
        });
    };
    let shown = || text::visible_path(&anchor.path);
    let Some(text) = text else {
        return Err(GroundingError::PathNotInChange {
            path: shown(),
            side: anchor.side,
        });
    };
    let quoted = quote_lines(&quote);
    let stated = anchor.start_line as usize - 1;
    let start = match text.find(&quoted, stated).as_slice() {
        [] => {
            return Err(GroundingError::QuoteAbsent {
                path: shown(),
                side: anchor.side,
                lines: text.starts.count(),
            });
        }
        [only] => *only,
        many => {
            return Err(GroundingError::QuoteAmbiguous {
                path: shown(),
                side: anchor.side,
                count: many.len(),
                places: many.iter().take(5).map(|at| line_number(*at)).collect(),
            });
        }
    };
    let placed = Anchor {
        start_line: line_number(start),
        end_line: line_number(start + quoted.len() - 1),
        ..anchor.clone()
    };
    let lines: Vec<&[u8]> = (start..start + quoted.len()).map(|at| text.line(at)).collect();
    let verbatim: Vec<Cow<'_, str>> = lines.iter().map(|l| String::from_utf8_lossy(bare(l))).collect();
    let occurrence = text.earlier(&verbatim, start);
    let verbatim = verbatim.join("\n");
    draft.suggestion = draft.suggestion.map(|s| as_replacement(&s, &lines));
    let mended = placed != anchor;
    draft.anchor = Some(placed);
    if draft.secret {
        hide(&mut draft, &verbatim);
    } else {
        draft.quote = Some(verbatim.clone());
    }
    Ok(Placed {
        draft,
        mended,
        verbatim: Some(verbatim),
        occurrence,
    })
}

/// Whether the anchored lines of `blob` are the quoted ones. A masked quote is
/// recognised by `fingerprinter` from the finding's keyed fingerprint.
pub fn quote_stands(finding: &Finding, blob: &[u8], fingerprinter: &Fingerprinter) -> bool {
    let lines = finding
        .anchor
        .as_ref()
        .and_then(|anchor| anchored_lines(blob, anchor));
    lines.is_some_and(|lines| quote_stands_on(finding, &lines, fingerprinter))
}

/// [`quote_stands`] of the anchored lines themselves.
pub fn quote_stands_on(finding: &Finding, lines: &[&[u8]], fingerprinter: &Fingerprinter) -> bool {
    let (Some(_), Some(quote)) = (&finding.anchor, &finding.quote) else {
        return false;
    };
    if fingerprinter.is_keyed(finding) {
        return fingerprinter.quote_occurs(finding, &lines.join(&b'\n'));
    }
    let quoted = quote_lines(quote);
    quoted.len() == lines.len()
        && quoted
            .iter()
            .zip(lines)
            .all(|(quote, line)| same_line(line, quote))
}

/// One-based.
fn line_number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// The quote's lines; one final LF that was copied along opens no line.
fn quote_lines(quote: &str) -> Vec<&str> {
    quote.strip_suffix('\n').unwrap_or(quote).split('\n').collect()
}

/// A suggestion in the line ends of the lines it replaces. The forge puts the
/// block's lines where the old ones were and ends each by LF, so in a CRLF file
/// every line needs its CR (exactly one), and in an LF file none.
fn as_replacement(suggestion: &str, replaced: &[&[u8]]) -> String {
    let crlf = replaced.iter().filter(|line| line.ends_with(b"\r")).count() * 2 > replaced.len();
    let end = if crlf { "\r" } else { "" };
    if suggestion.is_empty() {
        return String::new();
    }
    suggestion
        .strip_suffix('\n')
        .unwrap_or(suggestion)
        .split('\n')
        .map(|line| format!("{}{end}", line.trim_end_matches('\r')))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Takes the secret out of everything that will be stored or shown.
fn hide(draft: &mut Draft, verbatim: &str) {
    draft.title = text::redact(&draft.title, verbatim);
    draft.body = text::redact(&draft.body, verbatim);
    // A masked replacement would be applied as it stands.
    draft.suggestion = draft
        .suggestion
        .take()
        .filter(|s| text::redact(s, verbatim) == *s);
    draft.quote = Some(text::mask_secret(verbatim));
}

#[cfg(test)]
#[path = "grounding_tests.rs"]
mod tests;
