//! Submodules: where they point, and what `.gitmodules` makes git do.
//!
//! git itself has refused most of the hazards for years (options as addresses,
//! `update = !command`, names that climb); a repository that carries them is made
//! against somebody whose git is older.

use std::collections::BTreeSet;

use crate::{
    domain::{
        diff::FileStatus,
        review::{
            finding::{Priority, Side},
            grounding::blob_lines,
        },
        text::{code_span, truncate_chars},
    },
    ports::change::{Change, ChangeError},
};

use super::{Found, advice, links::is_git_folder, new_or_altered, remark, short};

const FILE: &str = ".gitmodules";
const GITLINK: u32 = 0o160_000;

pub(super) const URL: &str = "submodule-url";
pub(super) const HAZARD: &str = "submodule-hazard";

/// One `key = value` of `.gitmodules`, or a section's head (empty key).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    section: String,
    key: String,
    value: String,
    /// Its first and last line, one-based: a value may go on after a backslash.
    pub(super) first: u32,
    pub(super) last: u32,
}

/// What is wrong with a setting.
pub(super) struct Fault {
    pub(super) rule: &'static str,
    priority: Priority,
    confidence: f64,
    title: &'static str,
    why: &'static str,
}

/// Reads git's configuration language as far as `.gitmodules` uses it.
pub(super) fn settings(blob: &[u8]) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut pending: Option<(String, u32)> = None;
    for (index, line) in blob_lines(blob).into_iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        let (mut text, first) = match pending.take() {
            Some((before, first)) => (before + &text, first),
            None => (text, number),
        };
        if ends_with_odd_backslashes(&text) && text.len() < 8192 {
            text.pop();
            pending = Some((text, first));
            continue;
        }
        read_line(&text, &mut section, (first, number), &mut found);
    }
    if let Some((text, first)) = pending {
        read_line(&text, &mut section, (first, first), &mut found);
    }
    found
}

fn ends_with_odd_backslashes(text: &str) -> bool {
    text.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1
}

fn read_line(text: &str, section: &mut String, (first, last): (u32, u32), found: &mut Vec<Setting>) {
    let mut rest = text.trim_start_matches('\u{feff}').trim();
    if let Some(head) = rest.strip_prefix('[') {
        let mut quoted = false;
        let mut escaped = false;
        let end = head.bytes().position(|b| {
            let ends = b == b']' && !quoted;
            quoted ^= b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            ends
        });
        let Some(end) = end else { return };
        *section = value_of(head[..end].split_once([' ', '\t']).map_or("", |(_, name)| name));
        found.push(Setting {
            section: section.clone(),
            key: String::new(),
            value: String::new(),
            first,
            last,
        });
        rest = head[end + 1..].trim();
    }
    if rest.is_empty() || rest.starts_with(['#', ';']) {
        return;
    }
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    found.push(Setting {
        section: section.clone(),
        key: key.trim().to_ascii_lowercase(),
        value: value_of(value),
        first,
        last,
    });
}

/// A value without its quotes, escapes and comment.
fn value_of(text: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = text.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            '#' | ';' if !quoted => break,
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

impl Setting {
    /// What is wrong with it by itself.
    pub(super) fn fault(&self) -> Option<Fault> {
        let hazard = |title, why| {
            Some(Fault {
                rule: HAZARD,
                priority: Priority::P1,
                confidence: 0.9,
                title,
                why,
            })
        };
        let value = self.value.as_str();
        match self.key.as_str() {
            "" if self.section.split(['/', '\\']).any(|part| part == "..") => hazard(
                "A submodule's name climbs out of git's folder",
                "git keeps a submodule under its name, and `..` puts it elsewhere. Give it a plain name.",
            ),
            "path" if is_hostile_path(value) => hazard(
                "A submodule's path is no place in the tree",
                "It is an option, climbs out of the tree, or is git's own folder. Give it a plain path.",
            ),
            "update" if value.starts_with('!') => hazard(
                "A submodule runs a command when it is updated",
                "`update = !…` is a command that comes from the repository. Remove the line.",
            ),
            "url" => url_fault(value).or(
                Some(Fault {
                    rule: URL,
                    priority: Priority::P2,
                    confidence: 0.8,
                    title: "A submodule's code comes from a new address",
                    why: "Its content is not part of this change and was not reviewed. Look whose repository that is, and at \
                          the commit that is pinned.",
                })
            ),
            _ => None,
        }
    }
}

fn is_hostile_path(path: &str) -> bool {
    path.starts_with(['-', '/', '\\'])
        || path
            .split(['/', '\\'])
            .any(|part| part == ".." || is_git_folder(part))
}

fn url_fault(url: &str) -> Option<Fault> {
    let lower = url.to_ascii_lowercase();
    let scheme = lower.split("://").next().filter(|s| s.len() < lower.len());
    let helper = lower.split_once("::").is_some_and(|(name, _)| {
        name.bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    });
    let local = lower.starts_with(['/', '\\'])
        || lower.starts_with("file:")
        || (lower.len() > 2 && lower.as_bytes()[1] == b':' && matches!(lower.as_bytes()[2], b'/' | b'\\'));
    let host_option = scheme.is_some()
        && lower
            .split("://")
            .nth(1)
            .is_some_and(|rest| rest.starts_with('-') || rest.contains("@-"));
    let control =
        lower.bytes().any(|b| b.is_ascii_control()) || lower.contains("%0a") || lower.contains("%0d");
    let (title, why) = if lower.starts_with('-') || host_option {
        (
            "A submodule's address is an option",
            "A program would take it as an option and not as an address. Write a plain https address.",
        )
    } else if helper {
        (
            "A submodule is fetched by a command",
            "`name::address` makes git run a helper, and `ext::` any command. Write a plain https address.",
        )
    } else if local {
        (
            "A submodule's address is a local path",
            "It is another repository on every machine that clones this one. Write a plain https address.",
        )
    } else if control {
        (
            "A submodule's address holds a line end",
            "Programs that pass addresses on by lines would read two. Write a plain https address.",
        )
    } else if matches!(scheme, Some("http" | "git" | "ftp")) {
        return Some(Fault {
            rule: HAZARD,
            priority: Priority::P2,
            confidence: 0.9,
            title: "A submodule is fetched without encryption",
            why: "Whoever is on the way can see and replace what is fetched. Use https or ssh.",
        });
    } else {
        return None;
    };
    Some(Fault {
        rule: HAZARD,
        priority: Priority::P1,
        confidence: 0.9,
        title,
        why,
    })
}

pub(super) async fn judge<'a>(change: &'a dyn Change, found: &mut Found<'a>) -> Result<(), ChangeError> {
    for file in new_or_altered(change) {
        if file.new_mode == Some(GITLINK) {
            pointer(file, found);
        }
        if file.path != FILE {
            continue;
        }
        let added: BTreeSet<u32> = file.added_lines().map(|(n, _)| n).collect();
        let Some(blob) = change
            .read(Side::Right, FILE)
            .await?
            .filter(|_| file.unseen.is_none())
        else {
            found.unread.push(&file.path);
            continue;
        };
        let lines = blob_lines(&blob);
        for setting in settings(&blob) {
            let Some(line) = (setting.first..=setting.last).find(|n| added.contains(n)) else {
                continue;
            };
            let Some(fault) = setting.fault() else { continue };
            let shown = match setting.key.as_str() {
                "" => setting.section.clone(),
                key => format!("{key} = {}", setting.value),
            };
            let body = format!("{}: {}", code_span(&truncate_chars(&shown, 200)), fault.why);
            let text = lines.get(line as usize - 1).copied().unwrap_or_default();
            let mut remark = remark(
                fault.rule,
                fault.priority,
                fault.confidence,
                fault.title.to_owned(),
                body,
            );
            // An address may carry a password; the rule for secrets says so, and nobody repeats it.
            remark.secret = crate::analyzers::secrets::shows_one(&file.path, text);
            if remark.secret {
                remark.body = fault.why.to_owned();
            }
            found.drafts.push(remark.on_line(file, line, text));
        }
    }
    Ok(())
}

/// A gitlink: the commit at which another repository is taken in.
fn pointer(file: &crate::domain::diff::ChangedFile, found: &mut Found<'_>) {
    let path = short(&file.path);
    let known = file.old_mode == Some(GITLINK) && file.status != FileStatus::Added;
    if known && file.old_oid == file.new_oid {
        return;
    }
    let (rule, title) = if known {
        (
            "submodule-moved",
            format!("The submodule {path} moved to another commit"),
        )
    } else {
        ("submodule-added", format!("{path} is now a submodule"))
    };
    let commit = |oid: &Option<String>| {
        let name = oid.as_deref().map_or("?", |o| o.get(..12).unwrap_or(o));
        code_span(name)
    };
    let from = if known {
        format!("from {} ", commit(&file.old_oid))
    } else {
        String::new()
    };
    let body = format!(
        "It goes {from}to {}. What is in there is not part of this change and was not reviewed: look at that range in its \
         own repository.",
        commit(&file.new_oid)
    );
    let draft = remark(rule, Priority::P3, 0.9, title, body).unanchored();
    found.drafts.push(advice(draft));
}
