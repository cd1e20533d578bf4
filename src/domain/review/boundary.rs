//! The two boundaries of a finding (DESIGN §5). At the tool a bad argument is
//! an error that says how to mend it; what is read back from storage is
//! believed only when it is whole.

use super::finding::{Anchor, Confidence, Draft, Priority, Side};

/// Characters of a title.
pub const MAX_TITLE: usize = 200;
/// Characters of a body.
pub const MAX_BODY: usize = 20_000;
/// Characters of a suggestion.
pub const MAX_SUGGESTION: usize = 20_000;
/// Characters of a quote.
pub const MAX_QUOTE: usize = 20_000;
/// Lines that one finding may point at.
pub const MAX_LINES: u32 = 500;

/// A draft that cannot be filed. The text tells its author what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum DraftError {
    #[error("the title is empty: say in one line what is wrong")]
    EmptyTitle,
    #[error("the title has more than one line: keep the first and put the rest into the body")]
    TitleNotOneLine,
    #[error("the title has {0} characters, at most {MAX_TITLE} are allowed: put the detail into the body")]
    TitleTooLong(usize),
    #[error("the body has {0} characters, at most {MAX_BODY} are allowed: shorten it")]
    BodyTooLong(usize),
    #[error(
        "the suggestion has {0} characters, at most {MAX_SUGGESTION} are allowed: describe the change in the body"
    )]
    SuggestionTooLong(usize),
    #[error(
        "a suggestion replaces lines: give the anchor of the lines it replaces, or leave the suggestion out"
    )]
    SuggestionWithoutAnchor,
    #[error(
        "a suggestion can only replace lines of the head: anchor it on side RIGHT, or leave the suggestion out"
    )]
    SuggestionOnLeft,
    #[error(
        "the anchor's path is empty: name a file of the change, or leave the anchor out for a remark on the whole repository"
    )]
    EmptyPath,
    #[error(
        "the anchor's path must be relative to the repository's root, without `.` or `..` parts and without a leading slash"
    )]
    PathNotRelative,
    #[error("line numbers start at 1: start_line is {start}, end_line is {end}")]
    LineZero { start: u32, end: u32 },
    #[error(
        "start_line {start} is after end_line {end}: swap them, or give the same number twice for one line"
    )]
    LinesReversed { start: u32, end: u32 },
    #[error("the anchor spans {0} lines, at most {MAX_LINES} are allowed: point at the lines that matter")]
    TooManyLines(u32),
    #[error(
        "an anchored finding needs `quote`: copy the anchored lines verbatim, so that they can be placed"
    )]
    QuoteMissing,
    #[error(
        "the quote is empty or blank: copy the anchored lines verbatim, with at least one that is not blank"
    )]
    QuoteEmpty,
    #[error("the quote has {0} characters, at most {MAX_QUOTE} are allowed: anchor fewer lines")]
    QuoteTooLong(usize),
    #[error("a quote without an anchor cannot be placed: add the anchor, or leave the quote out")]
    QuoteWithoutAnchor,
}

/// Checks what can be checked without reading the change; the first fault found
/// is told. [`super::grounding::ground`] checks the rest.
pub fn check_draft(draft: &Draft) -> Result<(), DraftError> {
    let title = draft.title.trim();
    if title.is_empty() {
        return Err(DraftError::EmptyTitle);
    }
    if title.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        return Err(DraftError::TitleNotOneLine);
    }
    at_most(&draft.title, MAX_TITLE).map_err(DraftError::TitleTooLong)?;
    at_most(&draft.body, MAX_BODY).map_err(DraftError::BodyTooLong)?;
    if let Some(suggestion) = &draft.suggestion {
        at_most(suggestion, MAX_SUGGESTION).map_err(DraftError::SuggestionTooLong)?;
    }
    match &draft.anchor {
        Some(anchor) => check_anchored(draft, anchor),
        None if draft.suggestion.is_some() => Err(DraftError::SuggestionWithoutAnchor),
        None if draft.quote.is_some() => Err(DraftError::QuoteWithoutAnchor),
        None => Ok(()),
    }
}

fn check_anchored(draft: &Draft, anchor: &Anchor) -> Result<(), DraftError> {
    let (start, end) = (anchor.start_line, anchor.end_line);
    if anchor.path.is_empty() {
        return Err(DraftError::EmptyPath);
    }
    if anchor.path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(DraftError::PathNotRelative);
    }
    if start == 0 || end == 0 {
        return Err(DraftError::LineZero { start, end });
    }
    if start > end {
        return Err(DraftError::LinesReversed { start, end });
    }
    let lines = (end - start).saturating_add(1);
    if lines > MAX_LINES {
        return Err(DraftError::TooManyLines(lines));
    }
    if draft.suggestion.is_some() && anchor.side == Side::Left {
        return Err(DraftError::SuggestionOnLeft);
    }
    let quote = draft.quote.as_ref().ok_or(DraftError::QuoteMissing)?;
    if quote.trim().is_empty() {
        return Err(DraftError::QuoteEmpty);
    }
    // A secret's quote is masked once placed: nothing of it is kept, and a
    // bundle's one long line must not be where a secret is safe.
    if draft.secret {
        return Ok(());
    }
    at_most(quote, MAX_QUOTE).map_err(DraftError::QuoteTooLong)
}

/// `Err` = how many characters there are when that is more than `max`.
fn at_most(text: &str, max: usize) -> Result<(), usize> {
    // Bytes bound characters from above, so the common case counts nothing.
    if text.len() <= max {
        return Ok(());
    }
    let count = text.chars().count();
    if count <= max { Ok(()) } else { Err(count) }
}

/// The read boundary: what a stored priority and confidence are worth. `None`
/// unless both are there and in range; such a finding is dropped and counted, and
/// never reaches a verdict.
pub fn believe(priority: Option<&str>, confidence: Option<f64>) -> Option<(Priority, Confidence)> {
    Some((priority?.parse().ok()?, Confidence::new(confidence?)?))
}

#[cfg(test)]
#[path = "boundary_tests.rs"]
mod tests;
