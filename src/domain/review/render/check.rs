//! The check run: title and summary.

use crate::domain::{policy::Gate, text};

use super::{
    super::{
        axis::AxisState,
        check::Standing,
        coverage::Coverage,
        finding::Status,
        snapshot::{FindingSnapshot, PassSnapshot, Verdict},
    },
    Fitting, MAX_SUMMARY, counted, cut_note, entry, headline, ranked,
};

/// The title and the summary of a check, whatever stands behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckText {
    /// One line, at most 200 characters.
    pub title: String,
    /// Markdown, at most 65,535 units.
    pub summary: String,
}

/// What the check says while, and after, a pull request's head is reviewed.
pub fn check_text(standing: &Standing<'_>, coverage: Option<&Coverage>) -> CheckText {
    let said = |title: &str, summary: String| CheckText {
        title: title.to_owned(),
        summary,
    };
    let words = |words: &str| text::inline(&text::truncate_chars(words, 1_000));
    match standing {
        Standing::Running => said("Reviewing", "The review of this head is running.".to_owned()),
        Standing::Waiting(why) => {
            let why = text::one_line(why);
            let (what, next) = why.split_once(". ").unwrap_or((&why, ""));
            let next = if next.is_empty() {
                "Until then nothing is proved about this head.".to_owned()
            } else {
                words(next)
            };
            said(&text::truncate_chars(what.trim_end_matches('.'), 200), next)
        }
        Standing::TimedOut(gate) => said(
            &unproved_title("The review took too long", *gate),
            "The review hit its time limit, so nothing is proved about this head. Re-run the check to try again."
                .to_owned(),
        ),
        Standing::Broken(why, gate) => said(
            &unproved_title("The review could not be done", *gate),
            format!("Nothing is proved about this head: {} Re-run the check to try again.", words(why)),
        ),
        Standing::Finished(snapshot) => said(&title(snapshot), summary(snapshot, coverage)),
    }
}

/// A check that lets a merge through must say in its title that nothing is proved.
fn unproved_title(title: &str, gate: Gate) -> String {
    match gate {
        Gate::Required => title.to_owned(),
        Gate::Advisory => format!("{title}: nothing is proved (advisory gate)"),
    }
}

/// The title of a finished pass's check: at most 200 characters, one line.
/// Under `gate = "advisory"` it says so, and names what was not proved.
pub fn title(snapshot: &PassSnapshot) -> String {
    let headline = headline(snapshot);
    let advisory = snapshot.gate == Gate::Advisory && snapshot.verdict == Verdict::Hold;
    let title = if advisory {
        format!("{headline} (advisory gate)")
    } else {
        headline
    };
    text::truncate_chars(&title, 200).into_owned()
}

/// What a finished pass proved, as Markdown: at most 65,535 units. The same text
/// is printed by `jury review --format markdown`.
pub fn summary(snapshot: &PassSnapshot, coverage: Option<&Coverage>) -> String {
    // What must not be missing whatever else is there: the verdict and the axes,
    // whose notes are bounded. The findings take what is left.
    let mut fitting = Fitting::new(MAX_SUMMARY - 2_000);
    fitting.add(&format!(
        "**{}** (confidence {:.2})\n",
        headline(snapshot),
        snapshot.confidence
    ));
    fitting.add(&axes(snapshot));
    if let Some(coverage) = coverage {
        fitting.add(&unseen(coverage));
    }
    let live = |wanted: fn(&FindingSnapshot) -> bool| {
        ranked(
            snapshot
                .findings
                .iter()
                .filter(|f| f.status.is_live() && wanted(f)),
        )
    };
    let mut cut = Vec::new();
    for (heading, findings) in [
        ("Confirmed", live(|f| f.status == Status::ConsensusReady)),
        ("Not confirmed", live(|f| f.status != Status::ConsensusReady)),
        (
            "Cleared in this pass",
            ranked(snapshot.findings.iter().filter(|f| !f.status.is_live())),
        ),
    ] {
        if findings.is_empty() {
            continue;
        }
        fitting.add(&format!("\n### {heading} ({})\n\n", findings.len()));
        for finding in findings {
            let body = if finding.status == Status::ConsensusReady {
                1_500
            } else {
                400
            };
            let body = if finding.status.is_live() { body } else { 0 };
            if !fitting.add(&entry(finding, body)) && !fitting.add(&entry(finding, 0)) {
                cut.push(finding);
            }
        }
    }
    let mut out = fitting.out;
    if let Some(note) = cut_note(cut) {
        out.push_str(&format!("\n{note}\n"));
    }
    out
}

fn axes(snapshot: &PassSnapshot) -> String {
    if snapshot.axes.is_empty() {
        return String::new();
    }
    let mut out = "\n| axis | state | gated | |\n|---|---|---|---|\n".to_owned();
    for axis in &snapshot.axes {
        let gated = if axis.gated { "yes" } else { "no" };
        let note = text::truncate_chars(axis.note.as_deref().unwrap_or(""), 1_000);
        out.push_str(&format!(
            "| {} | {} | {gated} | {} |\n",
            axis.axis,
            state(axis.state),
            note_cell(&note)
        ));
    }
    out
}

/// A note may hold names in backticks of ours; everything else is escaped.
fn note_cell(note: &str) -> String {
    text::inline(&note.replace('`', ""))
}

fn state(state: AxisState) -> String {
    match state {
        AxisState::Pass | AxisState::Warn => state.to_string(),
        _ => format!("**{state}**"),
    }
}

/// What was not seen, named as far as it is useful and counted beyond.
fn unseen(coverage: &Coverage) -> String {
    const SHOWN: usize = 20;
    let mut out = String::new();
    if coverage.is_complete() {
        return out;
    }
    out.push_str("\n### Not seen\n\n");
    if let Some(reason) = &coverage.truncated {
        let reason = text::inline(&text::truncate_chars(reason, 300));
        out.push_str(&format!(
            "- The list of changed files is not complete: {reason}\n"
        ));
    }
    let mut files: Vec<_> = coverage.unseen.iter().collect();
    files.sort_by(|a, b| (&a.path, &a.reason).cmp(&(&b.path, &b.reason)));
    for file in files.iter().take(SHOWN) {
        out.push_str(&format!(
            "- {} ({})\n",
            text::code_span(&text::truncate_chars(&file.path, 300)),
            text::inline(&text::truncate_chars(&file.reason, 200))
        ));
    }
    if files.len() > SHOWN {
        out.push_str(&format!("- and {}\n", counted(files.len() - SHOWN, "more file")));
    }
    out
}
