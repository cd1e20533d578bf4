//! Lockfiles: out of step with their manifests, from other places, with other hashes.
//!
//! Both sides are read whole and compared by package, so it does not matter how the
//! diff shows a long file. A remark is anchored on an added line of the first package
//! that it is true of; the rest is listed.

mod compare;
mod formats;
mod json_formats;
mod manifests;
mod package;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        review::finding::{Axis, Draft, Finding, Kind, Priority, Side},
        text::{code_span, truncate_chars, visible_path},
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use self::{
    compare::Hit,
    formats::{Format, format},
    manifests::{Manifest, answers, is_lock, manifest, unanswered, wishes},
    package::Package,
};
use super::{
    added::{Remark, report_but},
    json, secrets,
};

/// Finds lockfiles that do not fit or that lead elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Lockfiles;

/// Manifests of one change that are compared.
const MANIFESTS: usize = 50;
/// Folders above a manifest in which its lockfile is looked for.
const ABOVE: usize = 6;
/// Packages that a remark lists before it only counts.
const LISTED: usize = 8;

/// Reads a lockfile; `None` when it is not understood.
fn packages(format: Format, blob: &[u8]) -> Option<Vec<Package>> {
    Some(match format {
        Format::Cargo | Format::Poetry | Format::Uv => formats::tables(blob, format),
        Format::Yarn => formats::yarn(blob),
        Format::Pnpm => formats::pnpm(blob),
        Format::Gemfile => formats::gemfile(blob),
        Format::GoSum => formats::go_sum(blob),
        Format::Npm => json_formats::npm(&json::read(blob)?),
        Format::Composer => json_formats::composer(&json::read(blob)?),
        Format::Pipfile => json_formats::pipfile(&json::read(blob)?),
    })
}

/// What is known of one file of the change.
enum Judged {
    Drafts(Vec<Draft>),
    Unread,
}

fn remark(rule: &str, priority: Priority, confidence: f64, title: &str, body: String) -> Remark {
    Remark {
        rule: format!("lockfiles/{rule}"),
        axis: Axis::Security,
        priority,
        confidence,
        title: truncate_chars(&visible_path(title), 190).into_owned(),
        body,
        secret: false,
    }
}

fn listed(names: &[String]) -> String {
    let mut text: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|n| code_span(&truncate_chars(n, 100)))
        .collect();
    if names.len() > LISTED {
        text.push(format!("and {} more", names.len() - LISTED));
    }
    text.join(", ")
}

fn drafted(hit: &Hit, file: &ChangedFile, added: &BTreeMap<u32, &[u8]>) -> Draft {
    let names: Vec<String> = hit.of.iter().map(|(name, ..)| name.clone()).collect();
    let body = format!("{}: {}", listed(&names), hit.why);
    let shown = |line: u32| {
        added
            .get(&line)
            .filter(|t| !t.trim_ascii().is_empty())
            .map(|t| (line, *t))
    };
    let place = hit.of.iter().find_map(|(_, line, _)| shown(*line)).or_else(|| {
        hit.of
            .iter()
            .find_map(|(_, _, (from, to))| added.range(from..=to).find_map(|(n, _)| shown(*n)))
    });
    let mut remark = remark(hit.rule, hit.priority, hit.confidence, &hit.title, body);
    match place {
        Some((line, text)) => {
            remark.secret = secrets::shows_one(&file.path, text);
            remark.on_line(file, line, text)
        }
        None => {
            let path = truncate_chars(&visible_path(&file.path), 80).into_owned();
            remark.title = truncate_chars(&format!("{path}: {}", remark.title), 190).into_owned();
            remark.unanchored()
        }
    }
}

/// A lockfile against its base.
async fn lockfile(change: &dyn Change, file: &ChangedFile, format: Format) -> Result<Judged, ChangeError> {
    let Some(after) = change.read(Side::Right, &file.path).await? else {
        return Ok(Judged::Unread);
    };
    let fresh = file.status == FileStatus::Added;
    let before = if fresh {
        None
    } else {
        change.read(Side::Left, file.base_path()).await?
    };
    let Some(after) = packages(format, &after) else {
        return Ok(Judged::Unread);
    };
    // A base that is not understood cannot be compared with, and is not the change's fault.
    let before = before.as_deref().and_then(|blob| packages(format, blob));
    let fresh = before.is_none();
    let hits = compare::compare(before.as_deref().unwrap_or_default(), &after, fresh);
    let added: BTreeMap<u32, &[u8]> = file.added_lines().collect();
    Ok(Judged::Drafts(
        hits.into_iter().map(|hit| drafted(&hit, file, &added)).collect(),
    ))
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// The nearest lockfile of a manifest on the head.
async fn lock_of(
    change: &dyn Change,
    path: &str,
    kind: Manifest,
) -> Result<Option<(String, Vec<u8>)>, ChangeError> {
    let mut at = folder(path);
    for _ in 0..ABOVE {
        for name in kind.locks() {
            let lock = joined(at, name);
            if let Some(blob) = change.read(Side::Right, &lock).await? {
                return Ok(Some((lock, blob)));
            }
        }
        if at.is_empty() || !kind.looks_above() {
            break;
        }
        at = folder(at);
    }
    Ok(None)
}

/// A manifest whose lockfile stayed as it was.
async fn manifest_alone(
    change: &dyn Change,
    file: &ChangedFile,
    kind: Manifest,
) -> Result<Option<Draft>, ChangeError> {
    let lock_changed = change
        .files()
        .iter()
        .any(|f| answers(&f.path, kind) && below(&file.path, folder(&f.path)));
    if lock_changed || file.status == FileStatus::Removed {
        return Ok(None);
    }
    let before = match file.status {
        FileStatus::Added => None,
        _ => change.read(Side::Left, file.base_path()).await?,
    };
    let (Some(before), Some(after)) = (
        wishes(kind, before.as_deref().unwrap_or_default())
            .or_else(|| (file.status == FileStatus::Added).then(Default::default)),
        change
            .read(Side::Right, &file.path)
            .await?
            .and_then(|blob| wishes(kind, &blob)),
    ) else {
        return Ok(None);
    };
    if before == after {
        return Ok(None);
    }
    let Some((lock, blob)) = lock_of(change, &file.path, kind).await? else {
        return Ok(None);
    };
    let names = unanswered(kind, &before, &after, &blob);
    if names.is_empty() {
        return Ok(None);
    }
    let remark = remark(
        "manifest-only",
        Priority::P2,
        0.75,
        &format!("{} was not updated with its manifest", truncate_chars(&lock, 100)),
        format!(
            "{}: the lockfile does not answer this, so an install that is locked fails or takes something else. Let the \
             package manager update it, and commit both.",
            listed(&names)
        ),
    );
    let place = file.added_lines().find(|(_, t)| {
        let text = String::from_utf8_lossy(t);
        names.iter().any(|n| text.contains(n.as_str()))
    });
    let place = place.or_else(|| file.added_lines().find(|(_, t)| !t.trim_ascii().is_empty()));
    Ok(Some(match place {
        Some((line, text)) => remark.on_line(file, line, text),
        None => remark.unanchored(),
    }))
}

fn below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// Lockfiles whose manifests stayed as they were.
fn locks_alone(change: &dyn Change) -> Option<Draft> {
    let kinds = [
        Manifest::Cargo,
        Manifest::Npm,
        Manifest::Python,
        Manifest::Pipenv,
        Manifest::Ruby,
        Manifest::Composer,
    ];
    let kind_of = |path: &str| kinds.into_iter().find(|kind| answers(path, *kind));
    let alone: Vec<String> = change
        .files()
        .iter()
        .filter(|f| f.status == FileStatus::Modified && is_lock(&f.path))
        .filter(|lock| {
            kind_of(&lock.path).is_some_and(|kind| {
                !change.files().iter().any(|f| {
                    let asks = manifest(&f.path) == Some(kind)
                        || (kind == Manifest::Ruby && f.path.ends_with(".gemspec"));
                    asks && below(&f.path, folder(&lock.path))
                })
            })
        })
        .map(|f| f.path.clone())
        .collect();
    if alone.is_empty() {
        return None;
    }
    let draft = remark(
        "lock-only",
        Priority::P3,
        0.5,
        &if alone.len() == 1 {
            format!("{} changed and no manifest did", truncate_chars(&alone[0], 120))
        } else {
            format!("{} lockfiles changed and no manifest did", alone.len())
        },
        format!(
            "{}: other versions are installed and nothing asks for them. If this is an update, say so; if it came along by \
             accident, leave it out.",
            listed(&alone)
        ),
    )
    .unanchored();
    Some(Draft {
        kind: Kind::Recommendation,
        ..draft
    })
}

async fn judged(change: &dyn Change, file: &ChangedFile) -> Result<Judged, ChangeError> {
    if let Some(format) = format(&file.path) {
        if file.status == FileStatus::Removed {
            return Ok(Judged::Drafts(Vec::new()));
        }
        return lockfile(change, file, format).await;
    }
    match manifest(&file.path) {
        Some(kind) => Ok(Judged::Drafts(
            manifest_alone(change, file, kind).await?.into_iter().collect(),
        )),
        None => Ok(Judged::Drafts(Vec::new())),
    }
}

#[async_trait]
impl Analyzer for Lockfiles {
    fn name(&self) -> &'static str {
        "lockfiles"
    }

    fn axis(&self) -> Axis {
        Axis::Security
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let (mut drafts, mut unread) = (Vec::new(), Vec::new());
        let mut compared = 0;
        for file in change.files() {
            if manifest(&file.path).is_some() {
                compared += 1;
                if compared > MANIFESTS {
                    unread.push(file.path.as_str());
                    continue;
                }
            }
            match judged(change, file).await? {
                Judged::Drafts(more) => drafts.extend(more),
                Judged::Unread => unread.push(file.path.as_str()),
            }
        }
        drafts.extend(locks_alone(change));
        Ok(report_but(change, drafts, unread))
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
        let file = change.files().iter().find(|f| f.path == anchor.path)?;
        match judged(change, file).await.ok()? {
            Judged::Drafts(drafts) => Some(
                drafts
                    .iter()
                    .any(|d| d.provenance == finding.provenance && d.anchor.as_ref() == Some(anchor)),
            ),
            Judged::Unread => None,
        }
    }
}
