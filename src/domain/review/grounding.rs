//! Grounding: code, not its author, places a finding (DESIGN §5).
//!
//! The quote is looked up in the blob of its side. Lines end at LF only; a CR
//! before it belongs to the line (D30), but neither its presence nor its absence
//! at the end of a quoted line decides a match. A wrong line number is mended
//! when exactly one place matches; anything else is an error that says what to do.

use super::{
    boundary::{DraftError, check_draft},
    finding::{Anchor, Draft, Finding, Side},
    fingerprint::Fingerprinter,
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

/// The lines that `anchor` names; `None` when the blob does not have them all.
pub fn anchored_lines<'a>(blob: &'a [u8], anchor: &Anchor) -> Option<Vec<&'a [u8]>> {
    let lines = blob_lines(blob);
    let start = usize::try_from(anchor.start_line).ok()?.checked_sub(1)?;
    let end = usize::try_from(anchor.end_line).ok()?;
    if start >= end {
        return None;
    }
    lines.get(start..end).map(<[_]>::to_vec)
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
/// looked at when there is no anchor.
pub fn ground(mut draft: Draft, blob: Option<&[u8]>) -> Result<Placed, GroundingError> {
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
    let Some(blob) = blob else {
        return Err(GroundingError::PathNotInChange {
            path: shown(),
            side: anchor.side,
        });
    };
    let lines = blob_lines(blob);
    let quoted = quote_lines(&quote);
    let places: Vec<usize> = find(&lines, &quoted);
    let stated = anchor.start_line as usize - 1;
    let start = if places.contains(&stated) {
        stated
    } else {
        match places.as_slice() {
            [] => {
                return Err(GroundingError::QuoteAbsent {
                    path: shown(),
                    side: anchor.side,
                    lines: lines.len(),
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
        }
    };
    let placed = Anchor {
        start_line: line_number(start),
        end_line: line_number(start + quoted.len() - 1),
        ..anchor.clone()
    };
    let verbatim = lines[start..start + quoted.len()]
        .iter()
        .map(|line| String::from_utf8_lossy(bare(line)))
        .collect::<Vec<_>>()
        .join("\n");
    let occurrence = earlier(&lines, start, &verbatim);
    draft.suggestion = draft
        .suggestion
        .map(|s| as_replacement(&s, &lines[start..start + quoted.len()]));
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
    let (Some(anchor), Some(quote)) = (&finding.anchor, &finding.quote) else {
        return false;
    };
    let Some(lines) = anchored_lines(blob, anchor) else {
        return false;
    };
    if fingerprinter.is_keyed(finding) {
        return fingerprinter.quote_occurs(finding, &lines.join(&b'\n'));
    }
    let quoted = quote_lines(quote);
    quoted.len() == lines.len()
        && quoted
            .iter()
            .zip(&lines)
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

/// Where in `lines` the quote begins, zero-based.
fn find(lines: &[&[u8]], quoted: &[&str]) -> Vec<usize> {
    if quoted.is_empty() || quoted.len() > lines.len() {
        return Vec::new();
    }
    (0..=lines.len() - quoted.len())
        .filter(|at| {
            quoted
                .iter()
                .zip(&lines[*at..])
                .all(|(quote, line)| same_line(line, quote))
        })
        .collect()
}

/// How often the same code, blanks aside, begins before `start`.
fn earlier(lines: &[&[u8]], start: usize, verbatim: &str) -> u32 {
    // Compared word by word: files are long, and nothing is copied this way.
    let same = |line: &[u8], wanted: &str| {
        String::from_utf8_lossy(line)
            .split_whitespace()
            .eq(wanted.split_whitespace())
    };
    let count = (0..start)
        .filter(|at| {
            verbatim
                .split('\n')
                .zip(&lines[*at..])
                .all(|(wanted, line)| same(line, wanted))
        })
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
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
