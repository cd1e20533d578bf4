//! Changes whose danger is not in the lines: modes, links, submodules, compiled
//! programs, attributes that hide code, and the files that decide who reviews.
//!
//! A mode, a link and a gitlink have no line that a forge takes a comment on, so most
//! of these remarks stand without a place and name their path in the title.

mod attributes;
mod binaries;
mod gates;
mod links;
mod modes;
mod submodules;

#[cfg(test)]
mod tests;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        review::finding::{Axis, Draft, Finding, Kind, Priority, Provenance},
        text::{code_span, truncate_chars, visible_path},
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use super::added::{Remark, report_but};

/// Finds risky kinds of files.
#[derive(Debug, Clone, Copy)]
pub struct RiskyFiles;

/// Paths that a remark lists before it only counts.
const LISTED: usize = 10;

/// Characters of a path in a title.
const TITLE_PATH: usize = 120;

/// What the kinds of file have found so far.
#[derive(Default)]
struct Found<'a> {
    drafts: Vec<Draft>,
    /// Files that should have been judged and could not be read.
    unread: Vec<&'a str>,
}

fn remark(rule: &str, priority: Priority, confidence: f64, title: String, body: String) -> Remark {
    Remark {
        rule: format!("risky_files/{rule}"),
        axis: Axis::Security,
        priority,
        confidence,
        title,
        body,
        secret: false,
    }
}

/// Advice rather than a fault.
fn advice(draft: Draft) -> Draft {
    Draft {
        kind: Kind::Recommendation,
        ..draft
    }
}

/// A path for a title.
fn short(path: &str) -> String {
    truncate_chars(&visible_path(path), TITLE_PATH).into_owned()
}

/// The first of `items` as a Markdown list, and how many more there are.
fn bullets<T>(items: &[T], line: impl Fn(&T) -> String) -> String {
    let mut text: String = items
        .iter()
        .take(LISTED)
        .map(|item| format!("\n- {}", line(item)))
        .collect();
    if items.len() > LISTED {
        text.push_str(&format!("\n- and {} more", items.len() - LISTED));
    }
    text
}

fn span(text: &str) -> String {
    code_span(&truncate_chars(text, 160))
}

/// Whether `path` lies where inputs of tests are kept.
fn is_fixture(path: &str) -> bool {
    path.to_ascii_lowercase().split('/').any(|part| {
        matches!(
            part,
            "test"
                | "tests"
                | "__tests__"
                | "testdata"
                | "test_data"
                | "test-data"
                | "test-files"
                | "testfiles"
                | "fixture"
                | "fixtures"
                | "__fixtures__"
                | "corpus"
                | "samples"
                | "testsuite"
                | "e2e"
                | "spec"
        )
    })
}

/// Files that the head has and that the change made what they are: not gone, and not
/// merely moved.
fn new_or_altered(change: &dyn Change) -> impl Iterator<Item = &ChangedFile> {
    change.files().iter().filter(|file| {
        let moved = file.old_oid.is_some() && file.old_oid == file.new_oid && file.old_mode == file.new_mode;
        file.status != FileStatus::Removed && !moved
    })
}

#[async_trait]
impl Analyzer for RiskyFiles {
    fn name(&self) -> &'static str {
        "risky_files"
    }

    fn axis(&self) -> Axis {
        Axis::Security
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let mut found = Found::default();
        links::judge(change, &mut found);
        submodules::judge(change, &mut found).await?;
        binaries::judge(change, &mut found).await?;
        modes::judge(change, &mut found).await?;
        attributes::judge(change, &mut found).await?;
        gates::judge(change, &mut found).await?;
        Ok(report_but(change, found.drafts, found.unread))
    }

    fn holds_in_blob(&self, finding: &Finding, blob: &[u8], _: &[&[u8]]) -> Option<bool> {
        let Provenance::Rule(rule) = &finding.provenance else {
            return None;
        };
        let line = finding.anchor.as_ref()?.start_line;
        match rule.strip_prefix("risky_files/")? {
            rule @ (submodules::URL | submodules::HAZARD) => Some(
                submodules::settings(blob)
                    .iter()
                    .any(|s| s.first <= line && line <= s.last && s.fault().is_some_and(|f| f.rule == rule)),
            ),
            attributes::HIDDEN => Some(attributes::hiding(blob).iter().any(|h| h.line == line)),
            gates::BROKEN_POLICY => Some(gates::policy_fault(blob).is_some()),
            _ => None,
        }
    }
}
