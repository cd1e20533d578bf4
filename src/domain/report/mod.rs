//! What other tools report: SARIF, reviewdog's rdjson and rdjsonl, checkstyle.
//!
//! A report is untrusted text. It is bounded in bytes, in results and in everything
//! that a result carries before it is believed; what is not understood is an error or
//! is counted, never read as "nothing found". Reading is separate from placing: a report
//! says paths in its own way ([`paths`]) and regions in its own units ([`region`]), and
//! only [`draft`] makes of a result a remark about the lines that a change adds.

pub mod checkstyle;
pub mod draft;
mod lenient;
pub mod paths;
pub mod rdjson;
pub mod region;
pub mod sarif;

#[cfg(test)]
mod samples_tests;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::domain::{
    review::finding::{Confidence, Priority},
    words::words,
};

use region::{ColumnUnit, Edit, Region};

/// Bytes of a report that are read.
pub const MAX_BYTES: usize = 32 << 20;
/// Results of one report (of one run of it, in SARIF) that are read.
pub const MAX_RESULTS: usize = 10_000;
/// Characters of a tool's name and of a rule's id.
const MAX_NAME: usize = 128;
/// Characters of a message.
const MAX_MESSAGE: usize = 4_000;
/// Characters of what a rule says of itself.
const MAX_ABOUT: usize = 1_000;

words! {
    /// How a report is written.
    pub enum Format {
        /// SARIF 2.1.0: one JSON document.
        Sarif = "sarif",
        /// reviewdog's diagnostics: one JSON document.
        Rdjson = "rdjson",
        /// The same, one diagnostic a line.
        Rdjsonl = "rdjsonl",
        /// checkstyle's XML.
        Checkstyle = "checkstyle",
    }
}

/// How much a tool says that a result weighs; later is lighter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It must be settled.
    Error,
    /// It may be wrong; also what says nothing.
    Warning,
    /// For information.
    Note,
}

impl Level {
    /// What it weighs with us.
    pub const fn priority(self) -> Priority {
        match self {
            Self::Error => Priority::P1,
            Self::Warning => Priority::P2,
            Self::Note => Priority::P3,
        }
    }
}

/// One result, as the tool says it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The tool's name; lowercase letters, digits and `-._` only, never empty.
    pub tool: String,
    /// The rule's id, one line without blanks, never empty.
    pub rule: String,
    /// The weight.
    pub level: Level,
    /// Whether the rule says that it is about security.
    pub security: bool,
    /// Whether the rule looks for secrets, so that the place may hold one.
    pub secret: bool,
    /// How sure the rule is.
    pub confidence: Confidence,
    /// What is wrong: plain text, not empty.
    pub message: String,
    /// What the rule is about, when it says so: plain text.
    pub about: Option<String>,
    /// Where to read more: an `https` address.
    pub help: Option<String>,
    /// Where it is, when that is a file.
    pub place: Option<Place>,
    /// Where it is by name (a class, a function), when no file is named.
    pub logical: Option<String>,
    /// What would mend it, in the same file.
    pub fix: Vec<Edit>,
}

/// Where a tool says that something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Ways to read the path, the likeliest first; see [`paths`].
    pub paths: Vec<String>,
    /// Which part of the file.
    pub region: Region,
    /// What its columns count.
    pub unit: ColumnUnit,
}

/// How many results are not among [`ToolReport::results`], and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Their level is `none`, or they say that nothing is wrong.
    pub weightless: usize,
    /// They are suppressed at the tool.
    pub suppressed: usize,
    /// They say of themselves that they are gone.
    pub gone: usize,
    /// There were too many.
    pub over: usize,
    /// They were no results.
    pub unreadable: usize,
}

/// What a tool reported.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolReport {
    /// The results that count.
    pub results: Vec<ToolResult>,
    /// The others.
    pub left_out: LeftOut,
    /// Why the tool did not do its work, when it says so; in our words.
    pub failed: Option<String>,
    /// What it says it could not look at; in our words.
    pub incomplete: Vec<String>,
}

impl ToolReport {
    fn fail(&mut self, words: &str) {
        if self.failed.is_none() {
            self.failed = Some(words.to_owned());
        }
    }

    fn lacks(&mut self, words: String) {
        if self.incomplete.len() < 8 && !self.incomplete.contains(&words) {
            self.incomplete.push(words);
        }
    }
}

/// A report that says nothing readable. No text of the report is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// Nothing at all: a tool that died before it wrote.
    #[error("the report is empty")]
    Empty,
    /// Over [`MAX_BYTES`].
    #[error("the report is larger than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    /// Neither UTF-8 nor UTF-16 with a mark.
    #[error("the report is not text")]
    NotText,
    /// Broken JSON.
    #[error("the report is no JSON (line {line}, column {column})")]
    Json {
        /// One-based.
        line: usize,
        /// One-based.
        column: usize,
    },
    /// Broken XML.
    #[error("the report is no XML (at byte {at})")]
    Xml {
        /// Zero-based.
        at: u64,
    },
    /// Something else than was announced.
    #[error("the report is no {0}")]
    OtherFormat(&'static str),
}

/// Reads a report.
///
/// # Errors
/// [`ReportError`] when it is not what `format` says. Results that make no sense are counted.
pub fn parse(format: Format, bytes: &[u8]) -> Result<ToolReport, ReportError> {
    if bytes.len() > MAX_BYTES {
        return Err(ReportError::TooLarge);
    }
    let text = decode(bytes).ok_or(ReportError::NotText)?;
    if text.trim().is_empty() && format != Format::Rdjsonl {
        return Err(ReportError::Empty);
    }
    match format {
        Format::Sarif => sarif::parse(&text),
        Format::Rdjson => rdjson::parse(&text),
        Format::Rdjsonl => rdjson::parse_lines(&text),
        Format::Checkstyle => checkstyle::parse(&text),
    }
}

/// The text without its mark. PowerShell's `>` writes UTF-16.
fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let units = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| read(*pair)).collect();
        rest.is_empty().then(|| String::from_utf16(&units).ok()).flatten()
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => std::str::from_utf8(rest).ok().map(Cow::Borrowed),
        [0xff, 0xfe, rest @ ..] => units(rest, u16::from_le_bytes).map(Cow::Owned),
        [0xfe, 0xff, rest @ ..] => units(rest, u16::from_be_bytes).map(Cow::Owned),
        _ => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
    }
}

/// A tool's name as part of a finding's provenance.
fn tool_name(name: Option<&str>, otherwise: &str) -> String {
    let words: Vec<String> = name
        .unwrap_or_default()
        .to_lowercase()
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | '+')))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let name: String = words.join("-").chars().take(MAX_NAME).collect();
    if name.is_empty() {
        otherwise.to_owned()
    } else {
        name
    }
}

/// A rule's id as part of a finding's provenance.
fn rule_id(id: Option<&str>, otherwise: &str) -> String {
    let line = crate::domain::text::one_line(id.unwrap_or_default());
    let id: String = line
        .split(' ')
        .collect::<Vec<_>>()
        .join("-")
        .chars()
        .take(MAX_NAME)
        .collect();
    if id.is_empty() { otherwise.to_owned() } else { id }
}

/// Plain text without what cannot be seen, cut; `None` when nothing is left.
fn plain(text: Option<&str>, max: usize) -> Option<String> {
    let text = crate::domain::text::visible_lines(text?);
    let text = crate::domain::text::truncate_chars(text.trim(), max).into_owned();
    (!text.is_empty()).then_some(text)
}

/// An address that may be linked to.
fn link(address: Option<&str>) -> Option<String> {
    let address = address?.trim();
    let plain = address.len() <= 500
        && address.starts_with("https://")
        && address.chars().all(|c| {
            c.is_ascii_graphic() && !matches!(c, '<' | '>' | '(' | ')' | '"' | '`' | '\\' | '[' | ']')
        });
    plain.then(|| address.to_owned())
}

fn json_fault(error: &serde_json::Error) -> ReportError {
    ReportError::Json {
        line: error.line(),
        column: error.column(),
    }
}
