//! Secrets that a change adds: tokens of known providers (in lines and in the names of
//! files), private keys, passwords in addresses, and random values under telling names.
//!
//! A value is never repeated: neither title nor body holds any part of it, and
//! the draft is marked so that its quote is masked as soon as it is placed.

mod assignment;
mod names;
mod place;
mod private_key;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::ChangedFile,
        review::{
            finding::{Axis, Draft, Finding, Priority, Provenance, Side},
            grounding::blob_lines,
        },
        secret::shapes::{self, Hit, Hits},
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use self::place::Place;
use super::added::{Remark, readable, report};

/// Finds secrets in added lines.
#[derive(Debug, Clone, Copy)]
pub struct Secrets;

const PRIVATE_KEY: &str = "private-key";

/// Whether `line` shows a secret; for rules that would otherwise quote it.
pub(super) fn shows_one(path: &str, line: &[u8]) -> bool {
    !on_line(path, line).is_empty()
}

/// What one line shows by itself, in the order in which it stands there.
fn on_line(path: &str, line: &[u8]) -> Vec<Hit> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut hits = Hits::default();
    let place = Place::of(path);
    shapes::find(line, &mut hits);
    assignment::find(line, place, &mut hits);
    let mut hits = hits.in_order();
    // Tests and documents are full of signed tokens that open nothing.
    for hit in hits.iter_mut().filter(|h| h.id == "jwt" && place.example) {
        (hit.priority, hit.confidence) = (Priority::P2, 0.5);
    }
    hits
}

/// A private key that begins on, or goes on in, line `index` of `lines`.
fn key_at(lines: &[&[u8]], index: usize) -> Option<f64> {
    let at = |i: Option<usize>| i.and_then(|i| lines.get(i).copied());
    let line = lines.get(index)?;
    private_key::at_header(line, |n| at(index.checked_add(n as usize)))
        .or_else(|| private_key::in_block(line, |n| at(index.checked_sub(n as usize))))
}

fn what_to_do(what: &str) -> String {
    format!(
        "This change adds what looks like a {what}. Whoever can read the branch can read it, and removing the line \
         does not take it out of the history.\n\nRevoke it where it was issued, put its successor into a secret store or \
         an environment variable, and rewrite the branch before it is merged. The value is not repeated here."
    )
}

fn remark(hit: &Hit, count: usize) -> Remark {
    let many = if count > 1 {
        format!(" ({count} of them)")
    } else {
        String::new()
    };
    Remark {
        rule: format!("secrets/{}", hit.id),
        axis: Axis::Security,
        priority: hit.priority,
        confidence: hit.confidence,
        title: format!("{} in the added code{many}", capitalised(hit.what)),
        body: what_to_do(hit.what),
        secret: true,
    }
}

fn capitalised(text: &str) -> String {
    // "npm" and "crates.io" are written small.
    match text.split_once(' ') {
        Some(("npm" | "crates.io" | "age" | "xAI", _)) => text.to_owned(),
        _ => {
            let mut letters = text.chars();
            letters
                .next()
                .map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
        }
    }
}

/// One draft per rule and line; several values of one kind are counted.
fn drafts_of_line(file: &ChangedFile, number: u32, text: &[u8], drafts: &mut Vec<Draft>) {
    let hits = on_line(&file.path, text);
    // The surest of each rule and how many there are, in the order of the line.
    let mut rules: Vec<(&Hit, usize)> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for hit in &hits {
        let index = *known.entry(hit.id).or_insert_with(|| {
            rules.push((hit, 0));
            rules.len() - 1
        });
        let (surest, count) = &mut rules[index];
        *count += 1;
        if (hit.priority, -hit.confidence) < (surest.priority, -surest.confidence) {
            *surest = hit;
        }
    }
    for (surest, count) in rules {
        drafts.push(remark(surest, count).on_line(file, number, text));
    }
}

fn key_remark(confidence: f64) -> Remark {
    remark(
        &Hit {
            id: PRIVATE_KEY,
            what: "private key",
            at: 0..0,
            priority: Priority::P0,
            confidence,
        },
        1,
    )
}

/// The private keys of a file, one draft each, on the first of its added lines.
async fn keys(change: &dyn Change, file: &ChangedFile, drafts: &mut Vec<Draft>) -> Result<(), ChangeError> {
    let suspects: Vec<(u32, &[u8])> = file
        .added_lines()
        .filter(|(_, text)| private_key::names_a_key(text) || private_key::body_line(text).is_some())
        .collect();
    if suspects.is_empty() {
        return Ok(());
    }
    let blob = change.read(Side::Right, &file.path).await?;
    // Without the blob, the added lines have to do: they hold a whole new key.
    let known: Vec<(u32, &[u8])> = file.added_lines().collect();
    let mut patched: Vec<&[u8]> = Vec::new();
    let lines = match &blob {
        Some(blob) => blob_lines(blob),
        None => {
            let last = known.last().map_or(0, |(n, _)| *n as usize);
            patched.resize(last.min(1 << 20), &[]);
            for (number, text) in &known {
                if let Some(slot) = patched.get_mut(*number as usize - 1) {
                    *slot = text;
                }
            }
            patched
        }
    };
    let mut covered_until = 0;
    for (number, text) in suspects {
        let index = number as usize - 1;
        if number <= covered_until {
            continue;
        }
        if let Some(confidence) = key_at(&lines, index) {
            drafts.push(key_remark(confidence).on_line(file, number, text));
            covered_until = number;
            while lines
                .get(covered_until as usize)
                .is_some_and(|l| private_key::goes_on(l))
            {
                covered_until += 1;
            }
        }
    }
    Ok(())
}

#[async_trait]
impl Analyzer for Secrets {
    fn name(&self) -> &'static str {
        "secrets"
    }

    fn axis(&self) -> Axis {
        Axis::Security
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let mut drafts = names::drafts(change);
        for file in readable(change) {
            for (number, text) in file.added_lines() {
                drafts_of_line(file, number, text, &mut drafts);
            }
            keys(change, file, &mut drafts).await?;
        }
        Ok(report(change, drafts))
    }

    fn stands_in_change(&self, finding: &Finding, change: &dyn Change) -> Option<bool> {
        match &finding.provenance {
            Provenance::Rule(rule) => names::stands(rule, change),
            _ => None,
        }
    }

    fn holds_in_blob(&self, finding: &Finding, blob: &[u8], lines: &[&[u8]]) -> Option<bool> {
        let Provenance::Rule(rule) = &finding.provenance else {
            return None;
        };
        let rule = rule.strip_prefix("secrets/")?;
        let anchor = finding.anchor.as_ref()?;
        if rule == PRIVATE_KEY {
            let all = blob_lines(blob);
            return Some(
                (anchor.start_line..=anchor.end_line).any(|n| key_at(&all, n as usize - 1).is_some()),
            );
        }
        Some(
            lines
                .iter()
                .any(|line| on_line(&anchor.path, line).iter().any(|h| h.id == rule)),
        )
    }
}
