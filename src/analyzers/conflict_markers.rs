//! Merge-conflict markers that were committed.
//!
//! A start marker with its end is a conflict, whatever the style (merge, diff3,
//! zdiff3, jj, or longer markers by `conflict-marker-size`). A lone `=======`
//! is a heading's underline and says nothing. Markers count at the first column
//! only: an indented one is an example.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::ChangedFile,
        review::{
            finding::{Axis, Draft, Finding, Priority, Provenance, Side},
            grounding::blob_lines,
        },
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use super::{
    added::{Remark, is_prose, readable, report},
    secrets,
};

/// Finds merge-conflict markers in added lines.
#[derive(Debug, Clone, Copy)]
pub struct ConflictMarkers;

const UNRESOLVED: &str = "conflict_markers/unresolved";
const LEFTOVER: &str = "conflict_markers/leftover";

/// Conflicts that may be open at once; git nests a handful. More are a file made to
/// keep us busy, and the outermost is then taken as what is left of one.
const DEEPEST: usize = 64;

/// Marker lines that a finding names before it only counts.
const NAMED: usize = 12;

/// What a marker line marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Start,
    /// `|||||||`, `=======`, and what jj writes between the ends.
    Middle,
    End,
}

/// The marker on a line and its length.
fn mark(line: &[u8]) -> Option<(Mark, usize)> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let first = *line.first()?;
    let kind = match first {
        b'<' => Mark::Start,
        b'>' => Mark::End,
        b'|' | b'=' | b'%' | b'+' | b'-' | b'\\' => Mark::Middle,
        _ => return None,
    };
    let length = line.iter().take_while(|b| **b == first).count();
    let rest = &line[length..];
    let labelled = rest.is_empty() || rest[0] == b' ';
    ((7..=64).contains(&length) && labelled && (first != b'=' || rest.trim_ascii().is_empty()))
        .then_some((kind, length))
}

/// One conflict, or what is left of one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Conflict {
    /// Its marker lines, zero-based, in order.
    marks: Vec<usize>,
    /// Whether it has both ends.
    whole: bool,
    length: usize,
}

/// Every conflict in a file. Conflicts nest when a merge base was itself in
/// conflict; git then makes the inner markers longer.
fn conflicts(lines: &[&[u8]]) -> Vec<Conflict> {
    let mut open: Vec<Conflict> = Vec::new();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((kind, length)) = mark(line) else {
            continue;
        };
        let partner = open.iter().rposition(|c| c.length == length);
        match (kind, partner) {
            (Mark::Start, _) => {
                if open.len() == DEEPEST {
                    found.push(open.remove(0));
                }
                open.push(Conflict {
                    marks: vec![index],
                    whole: false,
                    length,
                });
            }
            (Mark::Middle, Some(at)) => open[at].marks.push(index),
            (Mark::Middle, None) => {}
            (Mark::End, Some(at)) => {
                found.extend(open.drain(at + 1..));
                if let Some(mut conflict) = open.pop() {
                    conflict.marks.push(index);
                    conflict.whole = true;
                    found.push(conflict);
                }
            }
            (Mark::End, None) => found.push(Conflict {
                marks: vec![index],
                whole: false,
                length,
            }),
        }
    }
    found.append(&mut open);
    found.sort_by_key(|c| c.marks[0]);
    found
}

/// How a conflict in `path` weighs: priority and confidence.
fn weight(path: &str, fences: &Fences, conflict: &Conflict) -> (Priority, f64) {
    let lower = path.to_ascii_lowercase();
    let shows = lower.split('/').any(|part| {
        matches!(
            part,
            "fixtures"
                | "fixture"
                | "testdata"
                | "test_data"
                | "test-data"
                | "snapshots"
                | "__snapshots__"
                | "__fixtures__"
        )
    });
    let patch = [".patch", ".diff", ".rej", ".orig", ".snap", ".eml", ".mbox"]
        .iter()
        .any(|e| lower.ends_with(e));
    let prose = is_prose(path);
    let fenced = prose && fences.hold(conflict.marks[0]);
    match (conflict.whole, patch || fenced, shows, prose) {
        (true, true, ..) => (Priority::P2, 0.5),
        (true, false, true, _) => (Priority::P1, 0.6),
        (true, false, false, _) => (Priority::P0, 0.97),
        (false, true, ..) | (false, _, true, _) => (Priority::P3, 0.4),
        (false, false, false, true) => (Priority::P2, 0.5),
        (false, false, false, false) => (Priority::P1, 0.7),
    }
}

/// The lines of a Markdown file that open or close a block.
struct Fences(Vec<usize>);

impl Fences {
    fn of(lines: &[&[u8]]) -> Self {
        let fence = |line: &[u8]| {
            let text = line.trim_ascii_start();
            text.starts_with(b"```")
                || text.starts_with(b"~~~")
                || text.starts_with(b"----")
                || text.starts_with(b"....")
        };
        Self((0..lines.len()).filter(|i| fence(lines[*i])).collect())
    }

    /// Whether a line stands inside a block that closes below it.
    fn hold(&self, at: usize) -> bool {
        let before = self.0.partition_point(|fence| *fence < at);
        before % 2 == 1 && before < self.0.len()
    }
}

fn remark(path: &str, fences: &Fences, conflict: &Conflict) -> Remark {
    let (priority, confidence) = weight(path, fences, conflict);
    let numbers: Vec<String> = conflict
        .marks
        .iter()
        .take(NAMED)
        .map(|i| (i + 1).to_string())
        .collect();
    let more = match conflict.marks.len() - numbers.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (rule, title, body) = if conflict.whole {
        (
            UNRESOLVED,
            "Merge conflict committed with its markers",
            format!(
                "The markers on lines {}{more} are what a merge left behind: both sides of the conflict are still in the file. \
                 Choose one, or join them, and delete the marker lines.",
                numbers.join(", ")
            ),
        )
    } else {
        (
            LEFTOVER,
            "Merge-conflict marker left over",
            "A conflict marker stands here without its partner: the conflict seems half resolved. Delete the line, and \
             look whether one side of the conflict was lost or kept twice."
                .to_owned(),
        )
    };
    Remark {
        rule: rule.to_owned(),
        axis: Axis::Correctness,
        priority,
        confidence,
        title: title.to_owned(),
        body,
        secret: false,
    }
}

async fn in_file(
    change: &dyn Change,
    file: &ChangedFile,
    drafts: &mut Vec<Draft>,
) -> Result<(), ChangeError> {
    let added: Vec<(u32, &[u8])> = file
        .added_lines()
        .filter(|(_, text)| mark(text).is_some())
        .collect();
    if added.is_empty() {
        return Ok(());
    }
    let blob = change.read(Side::Right, &file.path).await?;
    let mut lines = blob.as_deref().map(blob_lines).unwrap_or_default();
    if blob.is_none() {
        // Too large to read whole: the added lines are all there is.
        let last = file.added_lines().map(|(n, _)| n as usize).max().unwrap_or(0);
        lines.resize(last, &[]);
        for (number, text) in file.added_lines() {
            lines[number as usize - 1] = text;
        }
    }
    let added: BTreeMap<usize, (u32, &[u8])> =
        added.into_iter().map(|line| (line.0 as usize, line)).collect();
    let fences = Fences::of(&lines);
    for conflict in conflicts(&lines) {
        let first_added = conflict.marks.iter().find_map(|i| added.get(&(i + 1)));
        if let Some((number, text)) = first_added {
            let mut remark = remark(&file.path, &fences, &conflict);
            remark.secret = secrets::shows_one(&file.path, text);
            drafts.push(remark.on_line(file, *number, text));
        }
    }
    Ok(())
}

#[async_trait]
impl Analyzer for ConflictMarkers {
    fn name(&self) -> &'static str {
        "conflict_markers"
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
        let Provenance::Rule(rule) = &finding.provenance else {
            return None;
        };
        let whole = match rule.as_str() {
            UNRESOLVED => true,
            LEFTOVER => false,
            _ => return None,
        };
        let line = finding.anchor.as_ref()?.start_line as usize;
        Some(
            conflicts(&blob_lines(blob))
                .iter()
                .any(|c| c.whole == whole && c.marks.contains(&(line - 1))),
        )
    }
}

#[cfg(test)]
mod tests;
