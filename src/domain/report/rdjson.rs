//! reviewdog's diagnostic format, as one document (`rdjson`) or one diagnostic a line
//! (`rdjsonl`). Its columns count bytes of UTF-8, one-based; a range's end is the first
//! place that is no longer meant.

use serde::Deserialize;

use crate::domain::review::finding::Confidence;

use super::{
    Level, MAX_MESSAGE, MAX_RESULTS, Place, ReportError, ToolReport, ToolResult, json_fault,
    lenient::{Int, List, Object, Text, read},
    link,
    paths::plain_readings,
    plain,
    region::{ColumnUnit, Edit, Region},
    rule_id, tool_name,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    source: Object<Source>,
    severity: Text,
    diagnostics: List<Object<Diagnostic>, MAX_RESULTS>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source {
    name: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Diagnostic {
    message: Text,
    location: Object<Location>,
    severity: Text,
    source: Object<Source>,
    code: Object<Code>,
    suggestions: List<Object<Suggestion>, 1>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Code {
    value: Text,
    url: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Location {
    path: Text,
    range: Object<Range>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Range {
    start: Object<Position>,
    end: Object<Position>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Position {
    line: Int,
    column: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Suggestion {
    range: Object<Range>,
    text: Text,
}

/// Reads `rdjson`.
pub(super) fn parse(text: &str) -> Result<ToolReport, ReportError> {
    let document: Object<Document> = read(text).map_err(|error| json_fault(&error))?;
    let Some(document) = document.get() else {
        return Err(ReportError::OtherFormat("rdjson"));
    };
    if !document.diagnostics.given {
        return Err(ReportError::OtherFormat("rdjson"));
    }
    let mut report = ToolReport::default();
    report.left_out.over = document.diagnostics.over;
    for diagnostic in &document.diagnostics.kept {
        add(&mut report, diagnostic, Some(document));
    }
    Ok(report)
}

/// Reads `rdjsonl`. No line at all is what a tool says that has nothing to say; it is
/// for the caller to know whether the tool came to its end.
pub(super) fn parse_lines(text: &str) -> Result<ToolReport, ReportError> {
    let mut report = ToolReport::default();
    let mut read_any = false;
    for (index, line) in text.split('\n').enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if report.results.len() >= MAX_RESULTS {
            report.left_out.over += 1;
            continue;
        }
        match read::<Object<Diagnostic>>(line) {
            Ok(diagnostic) => {
                read_any = true;
                add(&mut report, &diagnostic, None);
            }
            // A tool that dies in the middle of a line said what it said before.
            Err(_) if read_any => report.lacks(format!("line {} is no JSON", index + 1)),
            Err(error) => {
                return Err(ReportError::Json {
                    line: index + 1,
                    column: error.column(),
                });
            }
        }
    }
    Ok(report)
}

fn add(report: &mut ToolReport, diagnostic: &Object<Diagnostic>, document: Option<&Document>) {
    let Some(diagnostic) = diagnostic.get() else {
        report.left_out.unreadable += 1;
        return;
    };
    let path = diagnostic.location.get().and_then(|location| location.path.get());
    let message = plain(diagnostic.message.get(), MAX_MESSAGE);
    if path.is_none() && message.is_none() {
        report.left_out.unreadable += 1;
        return;
    }
    let source = |source: &Object<Source>| source.get().and_then(|source| source.name.0.clone());
    let tool = source(&diagnostic.source).or_else(|| source(&document?.source));
    let code = diagnostic.code.get();
    let rule = rule_id(code.and_then(|code| code.value.get()), "unnamed");
    let severity = diagnostic.severity.get().and_then(level);
    let default = || document.and_then(|document| level(document.severity.get()?));
    let place = path
        .map(plain_readings)
        .filter(|paths| !paths.is_empty())
        .map(|paths| Place {
            paths,
            region: diagnostic
                .location
                .get()
                .and_then(|location| location.range.get())
                .map_or(Region::File, |range| region(range, false)),
            unit: ColumnUnit::Bytes,
        });
    let fix = diagnostic.suggestions.objects().next().and_then(|suggestion| {
        let region = region(suggestion.range.get()?, true);
        Some(Edit {
            region,
            text: suggestion.text.0.clone().unwrap_or_default(),
        })
    });
    report.results.push(ToolResult {
        tool: tool_name(tool.as_deref(), "rdjson"),
        message: message.unwrap_or_else(|| rule.clone()),
        rule,
        level: severity.or_else(default).unwrap_or(Level::Warning),
        security: false,
        secret: false,
        confidence: Confidence::new(0.8).unwrap_or(Confidence::BLOCKING),
        about: None,
        help: code.and_then(|code| link(code.url.get())),
        place,
        logical: None,
        fix: fix.into_iter().collect(),
    });
}

/// The words of the format, and the numbers that stand for them.
fn level(severity: &str) -> Option<Level> {
    match severity.to_uppercase().as_str() {
        "ERROR" | "1" => Some(Level::Error),
        "WARNING" | "2" => Some(Level::Warning),
        "INFO" | "3" => Some(Level::Note),
        _ => None,
    }
}

/// Without an end a range is its start: the line for a remark, that point for an edit.
fn region(range: &Range, edit: bool) -> Region {
    let Some((start, at)) = range
        .start
        .get()
        .and_then(|start| Some((start.line.place()?, start.column.place())))
    else {
        return Region::File;
    };
    let end = range.end.get();
    let end_line = end.and_then(|end| end.line.place()).unwrap_or(start).max(start);
    let end_column = match end {
        Some(end) => end.column.place(),
        None if edit => at,
        None => None,
    };
    Region::Lines {
        start,
        end: end_line,
        start_column: at,
        end_column,
    }
}
