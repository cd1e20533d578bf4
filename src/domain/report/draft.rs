//! What a tool says, as a remark about the lines that a change adds.

use crate::domain::{
    review::{
        boundary::{MAX_LINES, MAX_QUOTE, MAX_SUGGESTION, MAX_TITLE},
        consensus::tool_priority,
        finding::{Anchor, Axis, Draft, Kind, Provenance, Side},
        grounding::blob_lines,
    },
    text,
};

use super::{
    Level, ToolResult,
    region::{Region, lines_of, replace},
};

/// Lines that a remark may span when it also proposes a replacement.
const MAX_UNION: u32 = 60;

/// A changed file, as far as placing needs it.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its path on the head.
    pub path: &'a str,
    /// The numbers of its added lines, ascending.
    pub added: &'a [u32],
    /// Its content on the head; `None` when it cannot be read.
    pub blob: Option<&'a [u8]>,
    /// Whether that is all of it; else only the lines that the change shows are known.
    pub whole: bool,
}

/// Where a result stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// On this change.
    Here(Box<Draft>),
    /// On lines that the change does not touch.
    Outside,
    /// On lines that the head does not have: the report is of another state.
    NotThere,
}

/// The axis of a result: the configured one, else by what its rule says of itself.
pub fn axis(result: &ToolResult, configured: Option<Axis>) -> Axis {
    configured.unwrap_or(if result.security {
        Axis::Security
    } else {
        Axis::Correctness
    })
}

/// A remark on the change as a whole, for a result that names no file of it.
pub fn summary(result: &ToolResult, configured: Option<Axis>, about: Option<&str>) -> Draft {
    let mut draft = bare(result, configured);
    if let Some(about) = about.or(result.logical.as_deref()) {
        draft.title = title(&format!("{}: {}", text::visible_path(about), result.message));
    }
    draft
}

/// Places a result in a file of the change.
pub fn place(result: &ToolResult, configured: Option<Axis>, file: File<'_>) -> Standing {
    let Some(place) = &result.place else {
        return Standing::Here(Box::new(summary(result, configured, None)));
    };
    if place.region == Region::File {
        return Standing::Here(Box::new(summary(result, configured, Some(file.path))));
    }
    let Some(blob) = file.blob else {
        return Standing::NotThere;
    };
    let Some((start, end)) = lines_of(place.region, place.unit, blob) else {
        // What is behind the lines that are known is not on a changed one.
        return match place.region {
            Region::Lines { start, .. }
                if !file.whole && file.added.last().is_none_or(|last| *last < start) =>
            {
                Standing::Outside
            }
            _ => Standing::NotThere,
        };
    };
    let from = file.added.partition_point(|line| *line < start);
    let Some(first_added) = file.added.get(from).copied().filter(|line| *line <= end) else {
        return Standing::Outside;
    };
    let lines = blob_lines(blob);
    let mut draft = bare(result, configured);
    let mut range = (start, end);
    if let Some((union, suggestion)) = suggestion(result, blob, &lines, range).filter(|_| file.whole) {
        range = union;
        draft.suggestion = Some(suggestion);
    }
    let mut quote = quoted(&lines, range);
    if quote.is_none() {
        // A whole function or file: the first of its changed lines stands for it.
        draft.suggestion = None;
        range = (first_added, first_added);
        quote = quoted(&lines, range);
    }
    let wanted = range;
    let Some((range, quote)) = quote else {
        // One line that is longer than any quote.
        return Standing::Here(Box::new(summary(result, configured, Some(file.path))));
    };
    if range != wanted {
        // It would replace the lines that were taken along.
        draft.suggestion = None;
    }
    draft.anchor = Some(Anchor {
        path: file.path.to_owned(),
        side: Side::Right,
        start_line: range.0,
        end_line: range.1,
    });
    draft.quote = Some(quote);
    Standing::Here(Box::new(draft))
}

fn line<'a>(lines: &[&'a [u8]], number: u32) -> Option<&'a [u8]> {
    lines.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}

/// The quote of a range, with the range: blank lines alone cannot be recognised, so the
/// nearest line that is not blank is taken along. `None` when there is too much to quote.
fn quoted(lines: &[&[u8]], (start, end): (u32, u32)) -> Option<((u32, u32), String)> {
    if end - start >= MAX_LINES {
        return None;
    }
    let blank = |number: u32| line(lines, number).is_none_or(|line| line.trim_ascii().is_empty());
    let (mut first, mut last) = (start, end);
    if (start..=end).all(blank) {
        let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let above = (1..start).rev().take(20).find(|number| !blank(*number));
        let below = (end + 1..=count).take(20).find(|number| !blank(*number));
        match (above, below) {
            (Some(above), _) => first = above,
            (None, Some(below)) => last = below,
            (None, None) => return None,
        }
    }
    let text: Vec<_> = (first..=last)
        .filter_map(|number| line(lines, number))
        .map(|line| String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)))
        .collect();
    let mut text = text.join("\n");
    // A quote's final LF ends its last line, so one that is empty needs an end of its own.
    if text.ends_with('\n') {
        text.push('\n');
    }
    (text.len() <= MAX_QUOTE).then_some(((first, last), text))
}

/// What would stand in place of the result's lines and those that its fix touches.
fn suggestion(
    result: &ToolResult,
    blob: &[u8],
    lines: &[&[u8]],
    (start, end): (u32, u32),
) -> Option<((u32, u32), String)> {
    if result.secret {
        return None;
    }
    let new = replace(&result.fix, result.place.as_ref()?.unit, blob)?;
    let union = (start.min(new.start_line), end.max(new.end_line));
    if union.1 - union.0 >= MAX_UNION {
        return None;
    }
    let kept = |range: std::ops::Range<u32>| -> Option<Vec<&str>> {
        range
            .map(|number| std::str::from_utf8(line(lines, number)?).ok())
            .collect()
    };
    let mut text = kept(union.0..new.start_line)?;
    let removed = new.text.is_empty();
    if !removed {
        text.push(&new.text);
    }
    text.extend(kept(new.end_line + 1..union.1 + 1)?);
    let text = text.join("\n");
    let old = kept(union.0..union.1 + 1)?.join("\n");
    let same = |a: &str, b: &str| a.replace('\r', "") == b.replace('\r', "");
    // What cannot be seen is not put forward to be applied with a click.
    let shown = text.replace('\r', "");
    let plain = text::visible_lines(&shown) == shown;
    (!same(&text, &old) && plain && text.len() <= MAX_SUGGESTION).then_some((union, text))
}

fn bare(result: &ToolResult, configured: Option<Axis>) -> Draft {
    Draft {
        kind: match result.level {
            Level::Error | Level::Warning => Kind::Bug,
            Level::Note => Kind::Recommendation,
        },
        priority: tool_priority(result.level.priority(), None),
        confidence: result.confidence,
        axis: axis(result, configured),
        title: title(&result.message),
        body: body(result),
        suggestion: None,
        anchor: None,
        quote: None,
        secret: result.secret,
        provenance: Provenance::Tool(match result.rule.strip_prefix(&format!("{}/", result.tool)) {
            // A rule that names its tool already.
            Some(rule) if !rule.is_empty() => format!("{}/{rule}", result.tool),
            _ => format!("{}/{}", result.tool, result.rule),
        }),
    }
}

/// The first line of a message.
fn title(message: &str) -> String {
    let first = message
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or(message);
    let line = text::one_line(first);
    text::truncate_chars(&line, MAX_TITLE - 10).into_owned()
}

fn body(result: &ToolResult) -> String {
    let mut parts = Vec::new();
    if text::one_line(&result.message) != title(&result.message) {
        if result.message.trim().contains('\n') {
            parts.push(text::code_fence("", &result.message));
        } else {
            parts.push(prose(&result.message));
        }
    }
    if let Some(about) = result.about.as_ref().filter(|about| **about != result.message) {
        parts.push(prose(about));
    }
    let rule = text::code_span(&result.rule);
    parts.push(match &result.help {
        Some(help) => format!("Rule {rule} of {}: <{help}>", text::code_span(&result.tool)),
        None => format!("Rule {rule} of {}", text::code_span(&result.tool)),
    });
    parts.join("\n\n")
}

/// Plain text as Markdown that reads the same; code between backticks stays code.
fn prose(plain: &str) -> String {
    let balanced = plain.matches('`').count().is_multiple_of(2);
    let mut code = false;
    let mut out = String::with_capacity(plain.len() + 16);
    for c in plain.chars() {
        match c {
            '`' if balanced => code = !code,
            '`' | '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '~' | '|' | '&' if !code => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}
