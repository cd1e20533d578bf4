//! What each axis proved (DESIGN §5).
//!
//! From findings: `fail` = a confirmed live P0 with confidence ≥ 0.7, `warn` =
//! another live P0 or P1. From contributors: one that did not finish, or could
//! not see everything, makes the axis `partial` at best; none finishing makes it
//! `unavailable`. The worst wins. An ungated axis without a contributor is left
//! out; a gated one is `unavailable`, so silence never greens a gate.

use serde::{Deserialize, Serialize};

use crate::domain::{policy::Policy, text, words::words};

use super::{
    coverage::Coverage,
    finding::{Axis, Finding, Priority},
    reviewer::{Contribution, ContributionState},
    snapshot::Verdict,
    verdict::weight,
};

words! {
    /// How an axis came out; later is worse.
    pub enum AxisState {
        /// Everything configured looked and nothing stands.
        Pass = "pass",
        /// Something stands that does not fail the axis.
        Warn = "warn",
        /// Not everything that should have looked did, or not at everything.
        Partial = "partial",
        /// Nothing that should have looked did.
        Unavailable = "unavailable",
        /// A confirmed P0 stands.
        Fail = "fail",
    }
}

/// One axis of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AxisResult {
    /// Which.
    pub axis: Axis,
    /// How it came out.
    pub state: AxisState,
    /// Whether anything but `pass` and `warn` keeps the verdict from `ship`.
    pub gated: bool,
    /// What was proved and what was not, in one sentence for people.
    pub note: Option<String>,
}

/// Names shown in a note; more are counted.
const SHOWN: usize = 3;

/// Characters of a reviewer's own words in a note.
const NOTE_CHARS: usize = 200;

/// Folds everything that was looked at, and everything that was not, into one
/// result an axis, in the order of [`Axis`]. The order of the inputs does not matter.
///
/// `contributions` holds one entry for every *configured* reviewer, also for one
/// that never answered.
pub fn fold(
    findings: &[Finding],
    contributions: &[Contribution],
    coverage: &Coverage,
    policy: &Policy,
) -> Vec<AxisResult> {
    Axis::ALL
        .iter()
        .filter_map(|axis| {
            let mut own: Vec<&Contribution> = contributions.iter().filter(|c| c.axis == *axis).collect();
            own.sort_by(|a, b| (&a.reviewer, a.state, &a.note).cmp(&(&b.reviewer, b.state, &b.note)));
            let gated = policy.is_gated(*axis);
            if own.is_empty() && !gated {
                return None;
            }
            let (looked, note) = looked(&own, coverage);
            let found = findings
                .iter()
                .filter(|f| f.axis == *axis && f.is_live())
                .map(from_finding)
                .max()
                .unwrap_or(AxisState::Pass);
            Some(AxisResult {
                axis: *axis,
                state: looked.max(found),
                gated,
                note: Some(note),
            })
        })
        .collect()
}

/// What one live finding makes of its axis.
fn from_finding(finding: &Finding) -> AxisState {
    match finding.priority {
        _ if weight(finding) == Verdict::Block => AxisState::Fail,
        Priority::P0 | Priority::P1 => AxisState::Warn,
        Priority::P2 | Priority::P3 => AxisState::Pass,
    }
}

/// What the contributors prove by themselves, in one sentence each way.
fn looked(own: &[&Contribution], coverage: &Coverage) -> (AxisState, String) {
    if own.is_empty() {
        return (AxisState::Unavailable, "Nothing looked at this.".to_owned());
    }
    let finished =
        |c: &&&Contribution| matches!(c.state, ContributionState::Complete | ContributionState::Partial);
    let done: Vec<&Contribution> = own.iter().filter(finished).copied().collect();
    let missing: Vec<&Contribution> = own.iter().filter(|c| !finished(c)).copied().collect();
    let mut note = Vec::new();
    let mut state = AxisState::Pass;
    if done.is_empty() {
        state = AxisState::Unavailable;
    } else if !missing.is_empty() {
        state = AxisState::Partial;
    }
    for c in missing.iter().take(SHOWN) {
        let why = match c.state {
            ContributionState::TimedOut => "took too long",
            ContributionState::Failed => "failed",
            _ => "did not answer",
        };
        note.push(with_note(&format!("`{}` {why}", name(c)), c));
    }
    if missing.len() > SHOWN {
        note.push(format!("{} more did not finish.", missing.len() - SHOWN));
    }
    let partial: Vec<&&Contribution> = done
        .iter()
        .filter(|c| c.state == ContributionState::Partial)
        .collect();
    if !partial.is_empty() {
        state = state.max(AxisState::Partial);
    }
    for c in partial.iter().take(SHOWN) {
        note.push(with_note(&format!("`{}` could not see everything", name(c)), c));
    }
    if partial.len() > SHOWN {
        note.push(format!(
            "{} more could not see everything.",
            partial.len() - SHOWN
        ));
    }
    // Nothing is missing there, but what was left out is said.
    let told = done
        .iter()
        .filter(|c| c.state == ContributionState::Complete && c.note.is_some());
    for c in told.take(SHOWN) {
        note.push(with_note(&format!("`{}`", name(c)), c));
    }
    if let (false, Some(reason)) = (done.is_empty(), &coverage.truncated) {
        state = state.max(AxisState::Partial);
        note.push(format!(
            "The list of changed files is not complete: {}.",
            sentence(reason)
        ));
    }
    if !done.is_empty() && own.iter().all(|c| c.is_rule()) {
        let names: Vec<String> = done.iter().take(SHOWN).map(|c| name(c)).collect();
        let more = done.len().saturating_sub(SHOWN);
        let more = if more == 0 {
            String::new()
        } else {
            format!(" and {more} more")
        };
        note.push(format!("Checked by rules only ({}{more}).", names.join(", ")));
    }
    if let (false, Some(proviso)) = (done.is_empty(), &coverage.proviso) {
        note.push(format!("{}.", sentence(proviso)));
    }
    if note.is_empty() {
        note.push(format!("Looked at by {}.", counted(done.len(), "reviewer")));
    }
    (state, note.join(" "))
}

fn with_note(what: &str, c: &Contribution) -> String {
    match c.note.as_deref().map(sentence).filter(|note| !note.is_empty()) {
        Some(note) => format!("{what}: {note}."),
        None => format!("{what}."),
    }
}

fn name(c: &Contribution) -> String {
    text::truncate_chars(&text::one_line(&c.reviewer), 64).into_owned()
}

/// One bounded line without its final full stop.
fn sentence(words: &str) -> String {
    text::truncate_chars(text::one_line(words).trim_end_matches('.'), NOTE_CHARS).into_owned()
}

/// `1 reviewer`, `2 reviewers`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
#[path = "axis_tests.rs"]
mod tests;
