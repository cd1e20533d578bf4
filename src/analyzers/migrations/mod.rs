//! SQL migrations that lose data, fail on tables that have rows, or stop everybody
//! who writes.
//!
//! A migration is known by where it lies (`place`), read as tokens and statements,
//! and judged statement by statement, in the wording of PostgreSQL, MySQL or SQLite.
//! What the file itself, or another new migration of the change, has created has no
//! rows and may be altered freely; what undoes a migration may drop what it made.
//! What a routine does when it is called one day is not judged.

mod alter;
mod place;
mod rules;
mod statements;
mod tokens;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        review::finding::{Axis, Draft, Finding, Provenance, Side},
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use self::{
    rules::Hit,
    tokens::{Dialect, lex},
};
use super::{
    added::{Remark, report_but},
    secrets,
};

/// Finds dangerous SQL migrations.
#[derive(Debug, Clone, Copy)]
pub struct Migrations;

/// Bytes of other new migrations that are read for the tables they create.
const MAX_OTHERS: usize = 1 << 20;

/// Tables and the migration that creates them.
type Known = BTreeMap<String, String>;

/// What a file says, read once.
struct Read {
    hits: Vec<Hit>,
    /// Whether it has text without an end.
    open: bool,
}

/// Reads a migration in the likeliest wording.
fn read(path: &str, blob: &[u8], hint: Option<Dialect>, known: &Known) -> Read {
    let first = lex(blob, hint.unwrap_or(Dialect::Unknown), 1);
    let mut dialect = hint.unwrap_or_else(|| place::dialect_of_text(&first));
    let mut lexed = if hint.is_none() && dialect != Dialect::Unknown {
        lex(blob, dialect, 1)
    } else {
        first
    };
    if lexed.open && dialect == Dialect::Unknown {
        // `'\''` ends in MySQL only.
        let other = lex(blob, Dialect::MySql, 1);
        if !other.open {
            (lexed, dialect) = (other, Dialect::MySql);
        }
    }
    let hits = if place::goes_down(path) {
        Vec::new()
    } else {
        rules::judge(&lexed, dialect, path, known)
    };
    Read {
        hits,
        open: lexed.open,
    }
}

fn migrations(change: &dyn Change) -> impl Iterator<Item = &ChangedFile> {
    change
        .files()
        .iter()
        .filter(|f| f.status != FileStatus::Removed && !f.binary && place::is_migration(&f.path))
}

/// The tables that the new migrations of the change create, each with the first of
/// them by name: tools run them in that order. From the lines of the change: nothing
/// is read for it.
fn known_tables(change: &dyn Change) -> Known {
    let mut budget = MAX_OTHERS;
    let mut tables = Known::new();
    let mut files: Vec<&ChangedFile> = migrations(change)
        .filter(|f| f.status == FileStatus::Added && !place::goes_down(&f.path))
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    if files.len() < 2 {
        return tables;
    }
    for file in files {
        let mut text = Vec::new();
        for (_, line) in file.added_lines() {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        if text.len() > budget {
            break;
        }
        budget -= text.len();
        for table in rules::created(&lex(&text, Dialect::Unknown, 1)) {
            tables.entry(table).or_insert_with(|| file.path.clone());
        }
    }
    tables
}

/// The dialect that the path, or the tool's file beside it, names.
async fn hint(change: &dyn Change, path: &str) -> Result<Option<Dialect>, ChangeError> {
    if let Some(dialect) = place::dialect_of_path(path) {
        return Ok(Some(dialect));
    }
    // Prisma: `migrations/migration_lock.toml` beside the folders of the migrations.
    let Some((folder, _)) = path
        .strip_suffix("/migration.sql")
        .and_then(|folder| folder.rsplit_once('/'))
    else {
        return Ok(None);
    };
    let lock = change
        .read(Side::Right, &format!("{folder}/migration_lock.toml"))
        .await?;
    Ok(lock.as_deref().and_then(place::dialect_of_lock))
}

fn remark(hit: Hit) -> Remark {
    Remark {
        rule: format!("migrations/{}", hit.rule),
        axis: Axis::Correctness,
        priority: hit.priority,
        confidence: hit.confidence,
        title: hit.title,
        body: hit.body,
        secret: false,
    }
}

/// The line that a hit is told at: the first line of it that the change added.
fn line_of<'a>(hit: &Hit, added: &BTreeMap<u32, &'a [u8]>) -> Option<(u32, &'a [u8])> {
    let within = |from: u32, to: u32| {
        added
            .range(from..=to)
            .find(|(_, text)| !text.trim_ascii().is_empty())
            .map(|(n, text)| (*n, *text))
    };
    within(hit.lines.0, hit.lines.1).or_else(|| within(hit.statement, hit.statement))
}

async fn in_file(
    change: &dyn Change,
    file: &ChangedFile,
    known: &Known,
    drafts: &mut Vec<Draft>,
) -> Result<bool, ChangeError> {
    let added: BTreeMap<u32, &[u8]> = file.added_lines().collect();
    if added.is_empty() {
        return Ok(file.unseen.is_none());
    }
    let Some(blob) = change.read(Side::Right, &file.path).await? else {
        return Ok(false);
    };
    let read = read(&file.path, &blob, hint(change, &file.path).await?, known);
    let mut told: BTreeSet<(&str, u32)> = BTreeSet::new();
    for hit in read.hits {
        let Some((line, text)) = line_of(&hit, &added) else {
            continue;
        };
        if told.insert((hit.rule, line)) {
            let mut remark = remark(hit);
            remark.secret = secrets::shows_one(&file.path, text);
            drafts.push(remark.on_line(file, line, text));
        }
    }
    Ok(!read.open && file.unseen.is_none())
}

#[async_trait]
impl Analyzer for Migrations {
    fn name(&self) -> &'static str {
        "migrations"
    }

    fn axis(&self) -> Axis {
        Axis::Correctness
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let mut drafts = Vec::new();
        let mut unread = Vec::new();
        let known = known_tables(change);
        for file in migrations(change) {
            if !in_file(change, file, &known, &mut drafts).await? {
                unread.push(file.path.as_str());
            }
        }
        // A NUL makes a file binary for git, and no database minds.
        let hidden = change
            .files()
            .iter()
            .filter(|f| f.binary && place::is_migration(&f.path));
        unread.extend(hidden.map(|f| f.path.as_str()));
        Ok(report_but(change, drafts, unread))
    }

    /// What other files of the change create decides too: see [`Self::holds_in_change`].
    fn holds_in_blob(&self, _: &Finding, _: &[u8], _: &[&[u8]]) -> Option<bool> {
        None
    }

    async fn holds_in_change(
        &self,
        finding: &Finding,
        change: &dyn Change,
        blob: &[u8],
        _: &[&[u8]],
    ) -> Option<bool> {
        let Provenance::Rule(rule) = &finding.provenance else {
            return None;
        };
        let rule = rule.strip_prefix("migrations/")?;
        let anchor = finding.anchor.as_ref()?;
        let hint = hint(change, &anchor.path).await.ok()?;
        let read = read(&anchor.path, blob, hint, &known_tables(change));
        let line = anchor.start_line;
        Some(read.hits.iter().any(|hit| {
            hit.rule == rule && (hit.statement == line || (hit.lines.0..=hit.lines.1).contains(&line))
        }))
    }
}
