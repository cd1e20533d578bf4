//! A pass as workflow commands of GitHub Actions, which become annotations.
//!
//! Data and properties are escaped as the runner undoes it (`%`, CR, LF; in properties
//! `:` and `,` too), so that nothing in a title or a path can begin a command of its own:
//! every line that is written begins with one of ours. GitHub keeps ten of each kind a
//! step, so the heaviest come first.

use crate::domain::text;

use super::{
    super::{
        axis::AxisState,
        finding::{Priority, Status},
        snapshot::{FindingSnapshot, PassSnapshot, Verdict},
    },
    backing, headline, ranked,
};

/// Findings that are written.
const MAX_FINDINGS: usize = 500;
/// Characters of a message.
const MAX_MESSAGE: usize = 4_000;

/// The pass as workflow commands, one a line.
pub fn workflow_commands(snapshot: &PassSnapshot) -> String {
    let live: Vec<&FindingSnapshot> = ranked(&snapshot.findings)
        .into_iter()
        .filter(|finding| finding.status.is_live())
        .collect();
    let mut lines: Vec<String> = live
        .iter()
        .take(MAX_FINDINGS)
        .map(|finding| command_of(finding))
        .collect();
    if live.len() > MAX_FINDINGS {
        lines.push(command(
            "notice",
            &[("title", "Jury")],
            &format!("{} more findings", live.len() - MAX_FINDINGS),
        ));
    }
    for axis in &snapshot.axes {
        if matches!(axis.state, AxisState::Partial | AxisState::Unavailable) {
            let words = format!(
                "{} is {}. {}",
                axis.axis,
                axis.state,
                axis.note.as_deref().unwrap_or_default()
            );
            lines.push(command(
                "warning",
                &[("title", "Jury: not everything was proved")],
                &words,
            ));
        }
    }
    let kind = match snapshot.verdict {
        Verdict::Ship => "notice",
        Verdict::Hold => "warning",
        Verdict::Block => "error",
    };
    lines.push(command(kind, &[("title", "Jury's verdict")], &headline(snapshot)));
    lines.join("\n")
}

fn command_of(finding: &FindingSnapshot) -> String {
    let kind = match finding.priority {
        _ if finding.status == Status::Disputed => "notice",
        Priority::P0 | Priority::P1 => "error",
        Priority::P2 => "warning",
        Priority::P3 => "notice",
    };
    let (start, end) = (
        finding.start_line.unwrap_or(1).to_string(),
        finding.end_line.or(finding.start_line).unwrap_or(1).to_string(),
    );
    let title = format!("{}: {}", finding.provenance, finding.title);
    let title = text::truncate_chars(&title, 250).into_owned();
    let mut properties: Vec<(&str, &str)> = Vec::new();
    if let Some(path) = &finding.path {
        properties.extend([("file", path.as_str()), ("line", &start), ("endLine", &end)]);
    }
    properties.push(("title", &title));
    let body = text::visible_lines(&finding.body);
    let message = format!(
        "{} ({}, {})\n{body}",
        text::one_line(&finding.title),
        finding.axis,
        backing(finding)
    );
    command(kind, &properties, &message)
}

fn command(kind: &str, properties: &[(&str, &str)], message: &str) -> String {
    let properties: Vec<String> = properties
        .iter()
        .map(|(name, value)| format!("{name}={}", property(value)))
        .collect();
    let message = text::truncate_chars(message.trim(), MAX_MESSAGE);
    format!("::{kind} {}::{}", properties.join(","), data(&message))
}

/// What stands behind the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
#[path = "workflow_tests.rs"]
mod tests;
