//! The output of `jury review`: Markdown, and aligned plain text whose parts are
//! told apart by tone, so that a terminal may colour them.

use crate::domain::text;

use super::{
    super::{
        axis::AxisState,
        coverage::Coverage,
        finding::{Priority, Status},
        snapshot::{FindingSnapshot, PassSnapshot, Verdict},
    },
    backing,
    check::summary,
    headline, place, ranked, shown_priority,
};

/// The pass as a Markdown document.
pub fn markdown(snapshot: &PassSnapshot, coverage: Option<&Coverage>) -> String {
    let head = match &snapshot.head_sha {
        Some(sha) => text::code_span(sha.short()),
        None => "the working tree".to_owned(),
    };
    format!("## Jury's review of {head}\n\n{}", summary(snapshot, coverage))
}

/// What a part of a line is, for whoever colours it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Plain.
    Plain,
    /// Less important.
    Dim,
    /// Good.
    Good,
    /// Needs a look.
    Warning,
    /// Bad.
    Bad,
    /// Stands out.
    Strong,
}

/// A part of a line. Holds no line end and no control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// What it is.
    pub tone: Tone,
    /// The text, with its padding.
    pub text: String,
}

/// One line of text.
pub type TextLine = Vec<Span>;

fn span(tone: Tone, text: impl Into<String>) -> Span {
    Span {
        tone,
        text: text.into(),
    }
}

/// Without colours: the lines, each ended by LF, no blanks at their ends.
pub fn plain(lines: &[TextLine]) -> String {
    lines
        .iter()
        .map(|line| {
            let text: String = line.iter().map(|span| span.text.as_str()).collect();
            format!("{}\n", text.trim_end())
        })
        .collect()
}

/// Columns that a place may take before it is cut.
const MAX_PLACE: usize = 60;

/// The pass as aligned lines: the verdict, the findings (heaviest first), the axes.
pub fn text_lines(snapshot: &PassSnapshot) -> Vec<TextLine> {
    let tone = match snapshot.verdict {
        Verdict::Ship => Tone::Good,
        Verdict::Hold => Tone::Warning,
        Verdict::Block => Tone::Bad,
    };
    let mut lines = vec![vec![
        span(tone, headline(snapshot)),
        span(Tone::Dim, format!("  (confidence {:.2})", snapshot.confidence)),
    ]];
    let (live, cleared): (Vec<_>, Vec<_>) = ranked(&snapshot.findings)
        .into_iter()
        .partition(|f| f.status.is_live());
    if !live.is_empty() {
        lines.push(Vec::new());
        findings(&live, &mut lines);
    }
    if !cleared.is_empty() {
        lines.push(Vec::new());
        lines.push(vec![span(Tone::Dim, "Cleared in this pass:")]);
        findings(&cleared, &mut lines);
    }
    if !snapshot.axes.is_empty() {
        lines.push(Vec::new());
        axes(snapshot, &mut lines);
    }
    lines
}

fn shown_place(finding: &FindingSnapshot) -> String {
    let place = place(finding).unwrap_or_else(|| "-".to_owned());
    let length = place.chars().count();
    if length <= MAX_PLACE {
        return place;
    }
    // The end tells the file and the line.
    let tail: String = place.chars().skip(length - MAX_PLACE + 1).collect();
    format!("…{tail}")
}

fn findings(findings: &[&FindingSnapshot], lines: &mut Vec<TextLine>) {
    let width = |value: fn(&FindingSnapshot) -> String| {
        findings
            .iter()
            .map(|f| value(f).chars().count())
            .max()
            .unwrap_or(0)
    };
    let (places, kinds, axes) = (
        width(shown_place),
        width(|f| f.kind.to_string()),
        width(|f| f.axis.to_string()),
    );
    for finding in findings {
        let tone = match finding.priority {
            _ if !finding.status.is_live() => Tone::Dim,
            Priority::P0 => Tone::Bad,
            Priority::P1 => Tone::Warning,
            Priority::P2 | Priority::P3 => Tone::Plain,
        };
        lines.push(vec![
            span(tone, format!("{}  ", shown_priority(finding.priority))),
            span(Tone::Strong, pad(&shown_place(finding), places)),
            span(
                Tone::Dim,
                format!("  {}  ", pad(&finding.kind.to_string(), kinds)),
            ),
            span(Tone::Dim, format!("{}  ", pad(&finding.axis.to_string(), axes))),
            span(
                Tone::Plain,
                text::truncate_chars(&text::one_line(&finding.title), 200),
            ),
        ]);
        if finding.status.is_live() {
            let how = backing(finding);
            let source =
                text::truncate_chars(&text::one_line(&finding.provenance.to_string()), 100).into_owned();
            lines.push(vec![span(
                Tone::Dim,
                format!("    {source}, {how}, confidence {:.2}", finding.confidence),
            )]);
        }
        if finding.status.is_live()
            && (finding.priority <= Priority::P1 || finding.status == Status::ConsensusReady)
        {
            body(finding, lines);
        }
    }
}

/// The first lines of a body, indented.
fn body(finding: &FindingSnapshot, lines: &mut Vec<TextLine>) {
    const SHOWN: usize = 4;
    let body = text::visible_lines(&finding.body);
    let all: Vec<&str> = body.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in all.iter().take(SHOWN) {
        let line = text::truncate_chars(&text::one_line(line), 160).into_owned();
        lines.push(vec![span(Tone::Plain, format!("    {line}"))]);
    }
    if all.len() > SHOWN {
        lines.push(vec![span(
            Tone::Dim,
            format!("    … {} more lines", all.len() - SHOWN),
        )]);
    }
}

fn axes(snapshot: &PassSnapshot, lines: &mut Vec<TextLine>) {
    let names = snapshot
        .axes
        .iter()
        .map(|a| a.axis.as_str().len())
        .max()
        .unwrap_or(0);
    let states = snapshot
        .axes
        .iter()
        .map(|a| a.state.as_str().len())
        .max()
        .unwrap_or(0);
    for axis in &snapshot.axes {
        let tone = match axis.state {
            AxisState::Pass => Tone::Good,
            AxisState::Warn | AxisState::Partial | AxisState::Unavailable => Tone::Warning,
            AxisState::Fail => Tone::Bad,
        };
        let gate = if axis.gated { "gated    " } else { "not gated" };
        lines.push(vec![
            span(Tone::Plain, format!("{}  ", pad(axis.axis.as_str(), names))),
            span(tone, pad(axis.state.as_str(), states)),
            span(Tone::Dim, format!("  {gate}  ")),
            span(
                Tone::Dim,
                text::truncate_chars(&text::one_line(axis.note.as_deref().unwrap_or("")), 1_000),
            ),
        ]);
    }
}

/// `text` followed by blanks up to `width` characters.
fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}
