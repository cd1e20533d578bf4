//! What people read: the check, the review, and the output of `jury review`.
//!
//! Rules held here: users are burnt by noise, so a confirmed finding is said once
//! and shortly, an unconfirmed one is folded, and an earlier one is only counted;
//! but nothing is dropped silently: what does not fit is counted and said. Every
//! text of a finding is hostile and goes through [`crate::domain::text`]. Limits
//! are the forge's: 65,536 characters for a body, 65,535 for a summary, counted
//! here in UTF-16 units, the stricter reading.

mod check;
mod local;
mod review;
mod sarif;
mod workflow;

use std::collections::BTreeMap;

use crate::domain::{ids::PassId, principal::PrincipalKind, text};

pub use check::{CheckText, check_text, summary, title};
pub use local::{Span, TextLine, Tone, markdown, plain, text_lines};
pub use review::{ReviewInput, carries_marker, demote, inline_comment, marker, review};
pub use sarif::{SarifInput, sarif};
pub use workflow::workflow_commands;

use super::{
    axis::{AxisResult, AxisState},
    finding::{Confidence, Priority, Side, Status},
    snapshot::{FindingSnapshot, PassSnapshot, Verdict},
    verdict::axis_weight,
};

/// Inline comments of one review; the rest goes into its body (GitHub answered
/// 502 to 32 of them, and refused more).
pub const MAX_INLINE: usize = 30;

/// Units of a review's or comment's body that the forge takes.
pub const MAX_BODY: usize = 65_536;

/// Units of a check's summary that the forge takes.
pub const MAX_SUMMARY: usize = 65_535;

/// The length of `text` as the forge may count it: UTF-16 units.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// A finding's body, written anew and at most `max` units long.
fn bounded_markdown(body: &str, max: usize) -> String {
    let mut take = max;
    while take > 0 {
        let out = text::markdown(&text::truncate_chars(body, take));
        if units(&out) <= max {
            return out;
        }
        take /= 2;
    }
    String::new()
}

/// `text` with `> ` before every line: a container that nothing inside can leave.
fn quoted(text: &str) -> String {
    text.split('\n')
        .map(|line| {
            if line.is_empty() {
                ">".to_owned()
            } else {
                format!("> {line}")
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// `1 thing`, `2 things`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `2 P1, 1 P3`, heaviest first.
fn by_priority<'a>(findings: impl IntoIterator<Item = &'a FindingSnapshot>) -> String {
    let mut counts: BTreeMap<Priority, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.priority).or_default() += 1;
    }
    counts
        .iter()
        .map(|(priority, count)| format!("{count} {}", shown_priority(*priority)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn shown_priority(priority: Priority) -> String {
    priority.as_str().to_uppercase()
}

/// What a finding in a snapshot asks for by rules 1 to 3 of the verdict.
fn weight(finding: &FindingSnapshot) -> Verdict {
    if !finding.status.is_live() {
        return Verdict::Ship;
    }
    let confirmed = finding.status == Status::ConsensusReady;
    match finding.priority {
        Priority::P0 if confirmed && finding.confidence >= Confidence::BLOCKING.get() => Verdict::Block,
        Priority::P0 => Verdict::Hold,
        Priority::P1 if finding.status != Status::Disputed && !finding.advisory => Verdict::Hold,
        _ => Verdict::Ship,
    }
}

/// Confirmed first, then the heaviest, the surest, and by place.
fn ranked<'a>(findings: impl IntoIterator<Item = &'a FindingSnapshot>) -> Vec<&'a FindingSnapshot> {
    let mut ranked: Vec<_> = findings.into_iter().collect();
    ranked.sort_by(|a, b| {
        let key = |f: &FindingSnapshot| (f.status != Status::ConsensusReady, f.priority);
        key(a)
            .cmp(&key(b))
            .then(b.confidence.total_cmp(&a.confidence))
            .then_with(|| (&a.path, a.start_line, &a.id).cmp(&(&b.path, b.start_line, &b.id)))
    });
    ranked
}

/// `src/a.rs:3`, `src/a.rs:3-5`, with ` (base)` for deleted lines; escaped for
/// people but not for Markdown. `None` = the whole repository.
fn place(finding: &FindingSnapshot) -> Option<String> {
    let path = text::truncate_chars(&text::visible_path(finding.path.as_deref()?), 300).into_owned();
    let base = if finding.side == Some(Side::Left) {
        " (base)"
    } else {
        ""
    };
    Some(match (finding.start_line, finding.end_line) {
        (Some(start), Some(end)) if start < end => format!("{path}:{start}-{end}{base}"),
        (Some(line), _) => format!("{path}:{line}{base}"),
        _ => format!("{path}{base}"),
    })
}

/// Who confirmed it, in words; `None` = nobody.
fn confirmers(finding: &FindingSnapshot) -> Option<String> {
    let verifier = finding
        .confirmed_by
        .iter()
        .any(|p| p.kind == PrincipalKind::Verifier);
    let peers = finding
        .confirmed_by
        .iter()
        .filter(|p| p.kind != PrincipalKind::Verifier)
        .count();
    match (verifier, peers) {
        (false, 0) => None,
        (true, 0) => Some("verified".to_owned()),
        (false, peers) => Some(format!("confirmed by {}", counted(peers, "peer"))),
        (true, peers) => Some(format!("verified, and confirmed by {}", counted(peers, "peer"))),
    }
}

/// What stands behind a finding, in words.
fn backing(finding: &FindingSnapshot) -> String {
    let word = match finding.status {
        Status::ConsensusReady => confirmers(finding).unwrap_or_else(|| "confirmed".to_owned()),
        Status::Open => "not confirmed".to_owned(),
        Status::Disputed => "disputed".to_owned(),
        other => other.to_string(),
    };
    if finding.advisory && finding.priority > Priority::P0 && finding.status.is_live() {
        format!("{word}, advisory: the code did not change since the last review")
    } else {
        word
    }
}

/// The gated axes that keep the verdict from `ship`.
fn unproved(snapshot: &PassSnapshot) -> Vec<&AxisResult> {
    snapshot
        .axes
        .iter()
        .filter(|axis| axis_weight(axis) == Verdict::Hold)
        .collect()
}

/// One line that says the verdict and what decided it. No stranger's text in it.
fn headline(snapshot: &PassSnapshot) -> String {
    let deciding: Vec<&FindingSnapshot> = snapshot
        .findings
        .iter()
        .filter(|f| weight(f) == snapshot.verdict && f.status.is_live())
        .collect();
    match snapshot.verdict {
        Verdict::Block if deciding.is_empty() => "Block: a gated axis failed".to_owned(),
        Verdict::Block => format!("Block: {} confirmed", by_priority(deciding)),
        Verdict::Hold => {
            let mut why = Vec::new();
            if !deciding.is_empty() {
                why.push(format!("{} to settle", by_priority(deciding)));
            }
            let unproved = unproved(snapshot);
            for state in [AxisState::Partial, AxisState::Unavailable] {
                let axes: Vec<&str> = unproved
                    .iter()
                    .filter(|a| a.state == state)
                    .map(|a| a.axis.as_str())
                    .collect();
                let how = if state == AxisState::Partial {
                    "only partly checked"
                } else {
                    "not checked"
                };
                if !axes.is_empty() {
                    why.push(format!("{} {how}", axes.join(" and ")));
                }
            }
            format!("Hold: {}", why.join("; "))
        }
        Verdict::Ship => {
            let live: Vec<_> = snapshot.findings.iter().filter(|f| f.status.is_live()).collect();
            if live.is_empty() {
                "Ship: nothing found".to_owned()
            } else {
                format!("Ship: {} noted, nothing to settle", by_priority(live))
            }
        }
    }
}

/// The text of findings, as far as it fits: every entry whole or not at all.
struct Fitting {
    out: String,
    left: usize,
}

impl Fitting {
    fn new(limit: usize) -> Self {
        Self {
            out: String::new(),
            left: limit,
        }
    }

    /// Adds `text` when it fits, and says whether it did.
    fn add(&mut self, text: &str) -> bool {
        let units = units(text);
        if units > self.left {
            return false;
        }
        self.left -= units;
        self.out.push_str(text);
        true
    }
}

/// Where a text ends that did not take everything.
fn cut_note<'a>(cut: impl IntoIterator<Item = &'a FindingSnapshot>) -> Option<String> {
    let cut: Vec<_> = cut.into_iter().collect();
    (!cut.is_empty()).then(|| {
        format!(
            "{} did not fit here ({}).",
            counted(cut.len(), "more finding"),
            by_priority(cut)
        )
    })
}

/// One finding as a list of lines under a heading: what, where, and in a quote why.
fn entry(finding: &FindingSnapshot, body_units: usize) -> String {
    let mut out = format!("- **{} {}**", shown_priority(finding.priority), finding.kind);
    if let Some(place) = place(finding) {
        out.push(' ');
        out.push_str(&text::code_span(&place));
    }
    out.push_str(" · ");
    out.push_str(&text::inline(&text::truncate_chars(&finding.title, 200)));
    out.push_str(&format!(" ({}, {})", finding.axis, backing(finding)));
    let body = bounded_markdown(&finding.body, body_units);
    if !body.is_empty() {
        out.push('\n');
        out.push_str(
            &quoted(&body)
                .split('\n')
                .map(|line| format!("\n  {line}"))
                .collect::<String>(),
        );
    }
    out.push('\n');
    out
}

/// The pass's marker, for [`marker`].
fn marker_text(pass: &PassId) -> String {
    // Identifiers are ours, but a comment must not end early for any of them.
    let id: String = pass
        .as_str()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    format!("<!-- jury:pass:{id} -->")
}

#[cfg(test)]
mod tests;
