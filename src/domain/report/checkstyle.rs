//! checkstyle's XML: files with errors in them.
//!
//! Entities are those of XML itself and characters by number; a document type is passed
//! over and nothing it declares is ever looked up or expanded, so a text cannot grow.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use crate::domain::review::finding::Confidence;

use super::{
    Level, MAX_MESSAGE, MAX_RESULTS, Place, ReportError, ToolReport, ToolResult,
    paths::plain_readings,
    plain,
    region::{ColumnUnit, Region},
    rule_id, tool_name,
};

/// Elements that stand in one another.
const MAX_DEPTH: usize = 32;
/// Attributes of one element that are looked at.
const MAX_ATTRIBUTES: usize = 32;

/// Reads a checkstyle document.
pub(super) fn parse(text: &str) -> Result<ToolReport, ReportError> {
    let mut reader = Reader::from_str(text);
    let mut report = ToolReport::default();
    let mut depth = 0_usize;
    let mut root = false;
    let mut file: Option<Vec<String>> = None;
    loop {
        let fault = |reader: &Reader<&[u8]>| ReportError::Xml {
            at: reader.error_position().max(reader.buffer_position()),
        };
        let event = reader.read_event().map_err(|_| fault(&reader))?;
        match event {
            Event::Start(element) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(fault(&reader));
                }
                if depth == 1 {
                    if element.local_name().as_ref() != "checkstyle" {
                        return Err(ReportError::OtherFormat("checkstyle XML"));
                    }
                    root = true;
                }
                open(&element, &mut file, &mut report);
            }
            Event::Empty(element) => {
                if depth == 0 {
                    if element.local_name().as_ref() != "checkstyle" {
                        return Err(ReportError::OtherFormat("checkstyle XML"));
                    }
                    root = true;
                }
                let within = file.clone();
                open(&element, &mut file, &mut report);
                file = within;
            }
            Event::End(element) => {
                depth = depth.saturating_sub(1);
                if element.local_name().as_ref() == "file" {
                    file = None;
                }
            }
            Event::Eof if root && depth == 0 => return Ok(report),
            Event::Eof => return Err(fault(&reader)),
            _ => {}
        }
    }
}

fn open(element: &BytesStart<'_>, file: &mut Option<Vec<String>>, report: &mut ToolReport) {
    match element.local_name().as_ref() {
        "file" => {
            *file = attribute(element, "name").map(|name| plain_readings(&name));
        }
        "error" => {
            if report.results.len() >= MAX_RESULTS {
                report.left_out.over += 1;
            } else {
                error(element, file.as_deref(), report);
            }
        }
        // checkstyle's own word for a file that it could not read.
        "exception" => report.lacks("it reports an error of its own".to_owned()),
        _ => {}
    }
}

fn error(element: &BytesStart<'_>, file: Option<&[String]>, report: &mut ToolReport) {
    let severity = attribute(element, "severity").map(|severity| severity.to_lowercase());
    let level = match severity.as_deref() {
        Some("error") => Level::Error,
        Some("info") => Level::Note,
        Some("ignore" | "none") => {
            report.left_out.weightless += 1;
            return;
        }
        _ => Level::Warning,
    };
    let rule = rule_id(attribute(element, "source").as_deref(), "unnamed");
    let number = |name| {
        attribute(element, name)?
            .trim()
            .parse::<u32>()
            .ok()
            .filter(|n| *n > 0)
    };
    let region = number("line").map_or(Region::File, |line| Region::Lines {
        start: line,
        end: line,
        start_column: number("column"),
        end_column: None,
    });
    let paths = file.filter(|paths| !paths.is_empty()).map(<[String]>::to_vec);
    report.results.push(ToolResult {
        tool: tool_name(None, "checkstyle"),
        level,
        security: false,
        secret: false,
        confidence: Confidence::new(0.8).unwrap_or(Confidence::BLOCKING),
        message: plain(attribute(element, "message").as_deref(), MAX_MESSAGE).unwrap_or_else(|| rule.clone()),
        rule,
        about: None,
        help: None,
        place: paths.map(|paths| Place {
            paths,
            region,
            unit: ColumnUnit::Unknown,
        }),
        logical: None,
        fix: Vec::new(),
    });
}

/// An attribute's text. One with an entity that XML does not have is taken as written.
fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = element
        .attributes()
        .with_checks(false)
        .take(MAX_ATTRIBUTES)
        .filter_map(Result::ok)
        .find(|attribute| attribute.key.local_name().as_ref() == name)?;
    let raw = attribute.value.clone().into_owned();
    Some(
        attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_or(raw, std::borrow::Cow::into_owned),
    )
}
