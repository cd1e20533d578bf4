//! OpenAPI documents in a change: what callers of the base can no longer do.
//!
//! OpenAPI 3.0 and 3.1, and Swagger 2, in JSON and YAML, base against head. What is
//! asked of a caller may only get less (parameters, bodies, the values they may have),
//! what is given may only get more certain. Everything else may change in silence.
//! References inside a document are followed; another document is never fetched, which
//! the report says.
//!
//! A remark stands on the line of the head that does it, else on the deleted line of
//! the base, else without a place.

mod compare;
mod document;
mod schema;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        review::{
            finding::{Axis, Draft, Finding, Priority, Side},
            reviewer::ContributionState,
        },
        text::{one_line, truncate_chars, visible_path},
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use self::compare::{Hit, STEPS, compare};
use super::{
    added::{Remark, report_but},
    json::Tree,
};

/// Finds changes that break callers of an API.
#[derive(Debug, Clone, Copy)]
pub struct ApiContract;

/// Remarks on one document; the rest is counted.
const TOLD: usize = 60;
/// Documents of one change that are opened to see whether they describe an API.
const OPENED: usize = 300;

/// What came of one file.
#[derive(Default)]
struct Judged {
    drafts: Vec<Draft>,
    /// What was not seen, in words.
    notes: Vec<String>,
}

fn may_be_document(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let document = [".json", ".yaml", ".yml"].iter().any(|e| lower.ends_with(e));
    let name = lower.rsplit('/').next().unwrap_or_default();
    let other = matches!(
        name,
        "package.json"
            | "package-lock.json"
            | "composer.json"
            | "tsconfig.json"
            | "pnpm-lock.yaml"
            | "npm-shrinkwrap.json"
    );
    document && !other && !lower.starts_with(".github/workflows/")
}

fn remark(rule: &str, priority: Priority, confidence: f64, title: &str, body: String) -> Remark {
    Remark {
        rule: format!("api_contract/{rule}"),
        axis: Axis::ApiContract,
        priority,
        confidence,
        title: truncate_chars(&one_line(title), 190).into_owned(),
        body,
        secret: false,
    }
}

/// What the mend is, by rule.
fn mend(rule: &str) -> &'static str {
    match rule {
        "path-removed" | "operation-removed" | "response-removed" | "media-type-removed"
        | "header-removed" => {
            "Callers that use it fail. Keep it, mark it `deprecated`, and take it out with the next major version."
        }
        "parameter-required" | "property-required" | "body-required" => {
            "Callers that do not send it are refused. Make it optional with a default, or add it in a new version."
        }
        "parameter-removed" | "body-removed" => {
            "Callers still send it and are refused or not heeded. Keep taking it, and mark it `deprecated`."
        }
        "security-required" => {
            "Callers that come as before are refused. Keep the old way in for as long as they need to move."
        }
        "property-removed" | "property-optional" | "response-type" | "enum-value-added"
        | "alternative-added" => "Callers rely on what was promised. Keep it, or change it in a new version.",
        _ => "What callers send today may be refused. Keep taking it, or change it in a new version.",
    }
}

/// Puts the hits on lines of the change, one remark a rule and line.
fn placed(hits: Vec<Hit>, file: &ChangedFile) -> Vec<Draft> {
    let added: BTreeMap<u32, &[u8]> = file.added_lines().collect();
    let removed: BTreeMap<u32, &[u8]> = file.removed_lines().collect();
    type Group = (Hit, Option<(Side, u32)>, Vec<String>);
    let mut groups: Vec<Group> = Vec::new();
    let mut known: BTreeMap<(&str, Side, u32), usize> = BTreeMap::new();
    for hit in hits {
        let place = hit.lines.iter().copied().find(|(side, line)| {
            let lines = match side {
                Side::Left => &removed,
                Side::Right => &added,
            };
            lines.get(line).is_some_and(|text| !text.trim_ascii().is_empty())
        });
        let words = format!("{}: {}", hit.place, hit.what);
        if let Some((side, line)) = place {
            if let Some(at) = known.get(&(hit.rule, side, line)) {
                groups[*at].2.push(words);
                continue;
            }
            known.insert((hit.rule, side, line), groups.len());
        }
        groups.push((hit, place, vec![words]));
    }
    let more = groups.len().saturating_sub(TOLD);
    groups.sort_by_key(|(hit, ..)| hit.priority);
    let mut drafts: Vec<Draft> = groups
        .into_iter()
        .take(TOLD)
        .map(|(hit, place, all)| {
            let title = match all.len() {
                1 => all[0].clone(),
                n => format!("{} (and {} more)", truncate_chars(&all[0], 160), n - 1),
            };
            let mut body = mend(hit.rule).to_owned();
            if all.len() > 1 {
                let list: Vec<String> = all
                    .iter()
                    .take(10)
                    .map(|w| format!("\n- {}", one_line(w)))
                    .collect();
                body = format!("{body}\n{}", list.concat());
            }
            let confidence = if hit.priority == Priority::P1 { 0.9 } else { 0.7 };
            let remark = remark(hit.rule, hit.priority, confidence, &title, body);
            match place {
                Some((side, line)) => {
                    let lines = match side {
                        Side::Left => &removed,
                        Side::Right => &added,
                    };
                    remark.on_side(file, side, line, lines.get(&line).copied().unwrap_or_default())
                }
                None => remark.unanchored(),
            }
        })
        .collect();
    if more > 0 {
        let path = truncate_chars(&visible_path(&file.path), 100).into_owned();
        let body = "Only the first are told one by one.".to_owned();
        drafts.push(
            remark(
                "more",
                Priority::P1,
                0.9,
                &format!("{path}: {more} more breaking changes"),
                body,
            )
            .unanchored(),
        );
    }
    drafts
}

/// A document that is gone, or that nobody can read any more.
fn unreadable(file: &ChangedFile, rule: &str, title: &str, body: &str) -> Draft {
    let path = truncate_chars(&visible_path(&file.path), 100).into_owned();
    let remark = remark(
        rule,
        Priority::P1,
        0.8,
        &format!("{path} {title}"),
        body.to_owned(),
    );
    match file.added_lines().find(|(_, t)| !t.trim_ascii().is_empty()) {
        Some((line, text)) => remark.on_line(file, line, text),
        None => remark.unanchored(),
    }
}

async fn side(change: &dyn Change, file: &ChangedFile, side: Side) -> Result<Option<Vec<u8>>, ChangeError> {
    let absent = match side {
        Side::Left => FileStatus::Added,
        Side::Right => FileStatus::Removed,
    };
    if file.status == absent {
        return Ok(None);
    }
    change.read(side, file.path_on(side)).await
}

/// The document of one side, when it describes an API.
fn api(path: &str, blob: &[u8]) -> Option<Tree> {
    document::looks_like_api(blob)
        .then(|| document::read(path, blob))
        .flatten()
        .filter(document::is_api)
}

async fn judged(change: &dyn Change, file: &ChangedFile) -> Result<Judged, ChangeError> {
    let mut judged = Judged::default();
    let path = visible_path(&file.path);
    let after = side(change, file, Side::Right).await?;
    let before = side(change, file, Side::Left).await?;
    let base = before.as_deref().and_then(|blob| api(file.base_path(), blob));
    let head = after.as_deref().and_then(|blob| api(&file.path, blob));
    let meant = after.as_deref().is_some_and(document::looks_like_api);
    match (base, head) {
        (Some(base), Some(head)) => {
            let found = compare(&base, &head);
            if found.elsewhere > 0 {
                judged.notes.push(format!("{path} refers to other documents, which are not fetched"));
            }
            if found.broken > 0 {
                judged.notes.push(format!("{path} has references that lead nowhere"));
            }
            if found.steps > STEPS {
                judged.notes.push(format!("{path} is too large to be compared whole"));
            }
            judged.drafts = placed(found.hits, file);
        }
        (Some(_), None) if file.status == FileStatus::Removed => judged.drafts.push(unreadable(
            file,
            "document-removed",
            "is gone, and with it the whole API description",
            "Callers can no longer see what they may rely on, and nothing can be compared from here on. Keep it until the \
             API is gone too.",
        )),
        (Some(_), None) => {
            judged.notes.push(format!("{path} cannot be read as an API description any more"));
            judged.drafts.push(unreadable(
                file,
                "unreadable",
                "cannot be read as an API description any more",
                "It was one on the base. Mend its syntax (a parser says where), so that the two can be compared.",
            ));
        }
        (None, None) if meant && document::read(&file.path, after.as_deref().unwrap_or_default()).is_none() => {
            judged.notes.push(format!("{path} cannot be read as an API description"));
        }
        (None, None) if after.is_none() && file.status != FileStatus::Removed => {
            // Over 16 MiB: whether it is one cannot be said.
            let named = ["openapi", "swagger"].iter().any(|n| path.to_ascii_lowercase().contains(n));
            judged.notes.extend(named.then(|| format!("{path} was not read")));
        }
        _ => {}
    }
    Ok(judged)
}

#[async_trait]
impl Analyzer for ApiContract {
    fn name(&self) -> &'static str {
        "api_contract"
    }

    fn axis(&self) -> Axis {
        Axis::ApiContract
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let mut all = Judged::default();
        let mut unread = Vec::new();
        for (count, file) in change
            .files()
            .iter()
            .filter(|f| may_be_document(&f.path))
            .enumerate()
        {
            if count >= OPENED {
                unread.push(file.path.as_str());
                continue;
            }
            let one = judged(change, file).await?;
            all.drafts.extend(one.drafts);
            all.notes.extend(one.notes);
        }
        let mut report = report_but(change, all.drafts, unread);
        if !all.notes.is_empty() {
            all.notes.truncate(5);
            let notes = all.notes.join("; ");
            report.state = ContributionState::Partial;
            report.note = Some(
                report
                    .note
                    .map_or_else(|| notes.clone(), |note| format!("{note}; {notes}")),
            );
        }
        Ok(report)
    }

    /// It takes both sides to tell: see [`Self::holds_in_change`].
    fn holds_in_blob(&self, _: &Finding, _: &[u8], _: &[&[u8]]) -> Option<bool> {
        None
    }

    async fn holds_in_change(
        &self,
        finding: &Finding,
        change: &dyn Change,
        _: &[u8],
        _: &[&[u8]],
    ) -> Option<bool> {
        let anchor = finding.anchor.as_ref()?;
        let file = change
            .files()
            .iter()
            .find(|f| f.path_on(anchor.side) == anchor.path)?;
        let judged = judged(change, file).await.ok()?;
        Some(
            judged
                .drafts
                .iter()
                .any(|d| d.provenance == finding.provenance && d.anchor.as_ref() == Some(anchor)),
        )
    }
}
