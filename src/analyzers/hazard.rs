//! Hazards of files that are judged whole on both sides, since a line can change what
//! another one means. Told is what the head has and the base has not.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{
    diff::ChangedFile,
    review::{
        finding::{Axis, Draft, Kind, Priority},
        grounding::blob_lines,
    },
};

use super::{added::Remark, secrets};

/// One hazard of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hazard {
    /// The rule's whole id, `<analyzer>/<rule>`.
    pub(super) rule: &'static str,
    /// The weight.
    pub(super) priority: Priority,
    /// How sure, 0 to 1.
    pub(super) confidence: f64,
    /// One line.
    pub(super) title: String,
    /// Markdown.
    pub(super) body: String,
    /// Its own line, one-based.
    pub(super) line: u32,
    /// Lines that make it one: the trigger, say.
    pub(super) causes: Vec<u32>,
    /// Whether its line holds a secret.
    pub(super) secret: bool,
}

/// Lines that a remark names before it only counts.
const NAMED: usize = 8;

/// Heavy remarks about one file that stand alone; a file with more is in such a state that
/// the rest is told like the light ones. Each of them is judged again by itself.
pub(super) const HEAVY: usize = 20;

impl Hazard {
    /// What makes two hazards the same on base and head: rule, weight, and the line's text.
    fn identity<'a>(&self, lines: &[&'a [u8]]) -> (&'static str, Priority, &'a [u8]) {
        let text = lines.get(self.line as usize - 1).copied().unwrap_or_default();
        (self.rule, self.priority, text.trim_ascii())
    }

    /// Where it is told: on its own line when that is new, else on the first new line that
    /// gave it its meaning, else on its own.
    fn place(&self, added: &BTreeSet<u32>) -> u32 {
        std::iter::once(&self.line)
            .chain(&self.causes)
            .find(|line| added.contains(line))
            .copied()
            .unwrap_or(self.line)
    }

    /// Whether it may be told on `line`.
    pub(super) fn is_at(&self, line: u32) -> bool {
        self.line == line || self.causes.contains(&line)
    }

    fn draft(&self, file: &ChangedFile, lines: &[&[u8]], at: u32, others: &[u32]) -> Option<Draft> {
        let text = *lines.get(at as usize - 1)?;
        let mut body = self.body.clone();
        if at != self.line {
            body.push_str(&format!(
                " It is about line {}, to which this line gives its meaning.",
                self.line
            ));
        }
        body.push_str(&also_on(others));
        let remark = Remark {
            rule: self.rule.to_owned(),
            axis: Axis::Security,
            priority: self.priority,
            confidence: self.confidence,
            title: self.title.clone(),
            body,
            secret: self.secret || secrets::shows_one(&file.path, text),
        };
        Some(Draft {
            kind: if self.priority <= Priority::P2 {
                Kind::Bug
            } else {
                Kind::Recommendation
            },
            ..remark.on_line(file, at, text)
        })
    }
}

/// The sentence that names the other lines of a remark; empty without any.
pub(super) fn also_on(others: &[u32]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let mut list: Vec<String> = others.iter().take(NAMED).map(u32::to_string).collect();
    if others.len() > NAMED {
        list.push(format!("{} more", others.len() - NAMED));
    }
    let lines = if others.len() == 1 { "line" } else { "lines" };
    format!("\n\nAlso on {lines} {}.", list.join(", "))
}

/// The drafts of what `head` has and `base` has not. Hazards of P2 and P3 of one rule and
/// weight are one remark, which names the lines; heavier ones stand alone, since each of
/// them has to be mended.
pub(super) fn told(
    file: &ChangedFile,
    (head, hazards): (&[u8], Vec<Hazard>),
    (base, before): (&[u8], &[Hazard]),
    drafts: &mut Vec<Draft>,
) {
    let (lines, base_lines) = (blob_lines(head), blob_lines(base));
    let mut known = BTreeMap::new();
    for hazard in before {
        *known.entry(hazard.identity(&base_lines)).or_insert(0usize) += 1;
    }
    let added: BTreeSet<u32> = file.added_lines().map(|(number, _)| number).collect();
    let mut light: BTreeMap<(&str, Priority), Vec<(u32, Hazard)>> = BTreeMap::new();
    let mut heavy = 0;
    for hazard in hazards {
        if let Some(left) = known.get_mut(&hazard.identity(&lines)).filter(|left| **left > 0) {
            *left -= 1;
            continue;
        }
        let at = hazard.place(&added);
        if hazard.priority <= Priority::P1 && heavy < HEAVY {
            heavy += 1;
            drafts.extend(hazard.draft(file, &lines, at, &[]));
        } else {
            light
                .entry((hazard.rule, hazard.priority))
                .or_default()
                .push((at, hazard));
        }
    }
    for hazards in light.values() {
        if let Some((at, first)) = hazards.first() {
            let mut others: Vec<u32> = hazards.iter().map(|(at, _)| *at).filter(|l| l != at).collect();
            others.dedup();
            drafts.extend(first.draft(file, &lines, *at, &others));
        }
    }
}
