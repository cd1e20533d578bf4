//! What was left over from debugging: breakpoints, prints, placeholders, tests that are
//! focused or skipped, branches that cannot run.
//!
//! A focused test weighs most, since it silently turns off every other one. A print is
//! advice at most: many programs print for a living. Comments and literals are no code
//! ([`lexer`]); lines that only moved or were indented anew are not new.
//!
//! Remarks of P2 and P3 of one rule in one file are one remark, which names the lines;
//! heavier ones stand alone, since each of them has to be mended.

mod lexer;
mod rules;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::ChangedFile,
        review::{
            finding::{Axis, Draft, Finding, Kind, Priority, Provenance},
            grounding::blob_lines,
        },
        text::code_span,
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use self::{
    lexer::{Language, lex},
    rules::{Hit, Place, Rule, find},
};
use super::{
    added::{Remark, head_text, is_vendored, new_lines, readable, report},
    hazard::{HEAVY, also_on},
    secrets,
    test_gap::{is_source, is_test, test_modules},
};

/// Finds what debugging left behind in added lines.
#[derive(Debug, Clone, Copy)]
pub struct DebugLeftovers;

/// Longer lines are bundles and tables.
const LONGEST: usize = 2000;

/// What the place of a file says of its code.
fn place(path: &str, text: &[u8]) -> Place {
    let lower = path.to_ascii_lowercase();
    let prints = lower.split('/').any(|part| {
        matches!(
            part,
            "bin"
                | "cli"
                | "cmd"
                | "scripts"
                | "script"
                | "tools"
                | "tool"
                | "tasks"
                | "log"
                | "logs"
                | "logger"
                | "logging"
                | "demo"
                | "demos"
                | "playground"
                | "bench"
                | "benchmark"
        )
    }) || ["cli", "logger", "logging", "console", "script", "main.java"]
        .iter()
        .any(|word| lower.rsplit('/').next().is_some_and(|name| name.contains(word)));
    let runs = text.starts_with(b"#!")
        || [&b"static void main("[..], b"fun main("]
            .iter()
            .any(|m| holds(text, m));
    Place {
        test: is_test(path),
        quiet: is_source(path) && !prints && !runs,
        helper: lower.ends_with("_helper.rb") || lower.ends_with(".rake"),
    }
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|w| w == part)
}

/// Everything left over on the lines `wanted` of a file.
fn hits(path: &str, text: &[u8], wanted: &[u32]) -> Vec<Hit> {
    let Some(language) = Language::of(path) else {
        return Vec::new();
    };
    let lexed = lex(language, text, wanted);
    let mut hits = find(language, place(path, text), &lexed);
    hits.retain(|hit| wanted.binary_search(&hit.line).is_ok());
    hits
}

/// The words of a remark: title and body.
fn words(hit: &Hit, others: &[u32]) -> (String, String) {
    let name = code_span(&hit.name);
    let (title, body) = match hit.rule {
        Rule::FocusedTest => (
            format!("Focused test: {name} switches off every other test"),
            "Only the focused tests run from now on, and the suite still passes. Remove the focus.".to_owned(),
        ),
        Rule::Debugger => (
            format!("Breakpoint left in: {name}"),
            "The program stops here, or fails where no debugger is attached. Remove the line.".to_owned(),
        ),
        Rule::SkippedTest => (
            format!("Test skipped without a reason: {name}"),
            "A skipped test proves nothing, and nobody will know when it may run again. Mend it, delete it, or give \
             the reason where the test runner shows it."
                .to_owned(),
        ),
        Rule::Unfinished => (
            format!("Placeholder left in: {name}"),
            "Whoever gets here is stopped by an error instead of an answer. Write the code, or refuse the case \
             earlier with words that tell the caller what to do."
                .to_owned(),
        ),
        Rule::DebugPrint => (
            format!("Print left over from debugging: {name}"),
            "It looks like output that was only meant for the time of writing. Remove it, or log it.".to_owned(),
        ),
        Rule::DeadBranch => (
            format!("Code that cannot run: {name}"),
            "What this branch holds is kept by nobody: no test reaches it. Delete it; the history keeps it.".to_owned(),
        ),
    };
    (title, body + &also_on(others))
}

/// The line without what makes it a focus, where that is all it takes.
fn mended(hit: &Hit, blob: &[u8], line: &[u8]) -> Option<String> {
    let cut = hit.cut.clone()?;
    let start = line.as_ptr().addr().checked_sub(blob.as_ptr().addr())?;
    let (from, to) = (cut.start.checked_sub(start)?, cut.end.checked_sub(start)?);
    let mended = [line.get(..from)?, line.get(to..)?].concat();
    String::from_utf8(mended).ok()
}

fn draft(file: &ChangedFile, text: &[u8], lines: &[&[u8]], hit: &Hit, others: &[u32]) -> Option<Draft> {
    let line = *lines.get(hit.line as usize - 1)?;
    let (title, body) = words(hit, others);
    let secret = secrets::shows_one(&file.path, line);
    let remark = Remark {
        rule: hit.rule.id().to_owned(),
        axis: hit.rule.axis(),
        priority: hit.priority,
        confidence: hit.confidence,
        title,
        body,
        secret,
    };
    Some(Draft {
        kind: if hit.priority <= Priority::P2 {
            Kind::Bug
        } else {
            Kind::Recommendation
        },
        suggestion: mended(hit, text, line).filter(|_| !secret),
        ..remark.on_line(file, hit.line, line)
    })
}

async fn in_file(
    change: &dyn Change,
    file: &ChangedFile,
    drafts: &mut Vec<Draft>,
) -> Result<(), ChangeError> {
    if Language::of(&file.path).is_none() || is_vendored(&file.path) {
        return Ok(());
    }
    let wanted = new_lines(file);
    if wanted.is_empty() {
        return Ok(());
    }
    let text = head_text(change, file).await?;
    let lines = blob_lines(&text);
    let mut light: BTreeMap<Rule, Vec<Hit>> = BTreeMap::new();
    let short = |hit: &Hit| {
        lines
            .get(hit.line as usize - 1)
            .is_some_and(|l| l.len() <= LONGEST)
    };
    let mut hits = hits(&file.path, &text, &wanted);
    hits.retain(short);
    if Language::of(&file.path) == Some(Language::Rust) && !hits.is_empty() {
        // A test may print, and panic, as it likes.
        let tests = test_modules(&lines);
        let in_tests = |hit: &Hit| tests.iter().any(|range| range.contains(&(hit.line as usize)));
        for hit in &mut hits {
            if matches!(hit.rule, Rule::DebugPrint | Rule::Unfinished) && in_tests(hit) {
                hit.priority = Priority::P3;
            }
        }
    }
    let mut heavy = 0;
    for hit in hits {
        if hit.priority <= Priority::P1 && heavy < HEAVY {
            heavy += 1;
            drafts.extend(draft(file, &text, &lines, &hit, &[]));
        } else {
            light.entry(hit.rule).or_default().push(hit);
        }
    }
    for hits in light.values() {
        let Some(first) = hits.iter().min_by_key(|h| (h.priority, h.line)) else {
            continue;
        };
        let mut others: Vec<u32> = hits.iter().map(|h| h.line).filter(|l| *l != first.line).collect();
        others.dedup();
        drafts.extend(draft(file, &text, &lines, first, &others));
    }
    Ok(())
}

#[async_trait]
impl Analyzer for DebugLeftovers {
    fn name(&self) -> &'static str {
        "debug_leftovers"
    }

    fn axis(&self) -> Axis {
        Axis::Correctness
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let mut drafts = Vec::new();
        for file in readable(change) {
            in_file(change, file, &mut drafts).await?;
        }
        Ok(report(change, drafts))
    }

    fn holds_in_blob(&self, finding: &Finding, blob: &[u8], _: &[&[u8]]) -> Option<bool> {
        let Provenance::Rule(id) = &finding.provenance else {
            return None;
        };
        let rule = Rule::ALL.into_iter().find(|r| r.id() == id)?;
        let anchor = finding.anchor.as_ref()?;
        let wanted: Vec<u32> = (anchor.start_line..=anchor.end_line).collect();
        Some(hits(&anchor.path, blob, &wanted).iter().any(|h| h.rule == rule))
    }
}
