//! Symbolic links that lead out of the tree, into git's own folder, or that another
//! file of the change would be written through where names fold.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    domain::{
        diff::ChangedFile,
        review::finding::Priority,
        text::{code_span, truncate_chars},
    },
    ports::change::Change,
};

use super::{Found, new_or_altered, remark, short};

/// Links that are followed before they are taken for a ring.
const FOLLOWED: usize = 40;
/// Bytes of a target; the kernel takes no more.
const LONGEST: usize = 4096;

const TYPE: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// Where a link leads that it should not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    Absolute,
    Above,
    GitFolder,
}

fn is_link(file: &ChangedFile) -> bool {
    file.new_mode.is_some_and(|mode| mode & TYPE == LINK)
}

/// What the link points at: its whole content on the head.
fn target(file: &ChangedFile) -> Vec<u8> {
    let mut lines = Vec::new();
    for hunk in file.hunks() {
        lines.extend(file.lines(hunk).filter(|l| l.new.is_some()).map(|l| l.text));
    }
    lines.join(&b'\n')
}

pub(super) fn judge<'a>(change: &'a dyn Change, found: &mut Found<'a>) {
    let links: Vec<&ChangedFile> = new_or_altered(change).filter(|f| is_link(f)).collect();
    if links.is_empty() {
        return;
    }
    let targets: BTreeMap<&str, Vec<u8>> = links.iter().map(|f| (f.path.as_str(), target(f))).collect();
    // Every changed path in lower case, sorted, so that what lies below a link is one range.
    let mut folded: Vec<(String, &str)> = change
        .files()
        .iter()
        .map(|f| (f.path.to_lowercase(), f.path.as_str()))
        .collect();
    folded.sort_unstable();
    for link in links {
        let Some(target) = targets.get(link.path.as_str()).filter(|t| !t.is_empty()) else {
            // Content that is no text names no place that git could make a link to.
            found.unread.push(&link.path);
            continue;
        };
        if let Some(escape) = escape(&link.path, target, &targets) {
            found.drafts.push(escaped(link, target, escape).unanchored());
        }
        if let Some(other) = written_through(&link.path, &folded) {
            found.drafts.push(
                remark(
                    "symlink-collision",
                    Priority::P1,
                    0.85,
                    format!("A file of this change would be written through the link {}", short(&link.path)),
                    format!(
                        "Where names do not differ by case (Windows, macOS), {} is written to where this link points. \
                         Rename one of them.",
                        code_span(&truncate_chars(other, 200))
                    ),
                )
                .unanchored(),
            );
        }
    }
}

/// Another changed path that is the link, or lies below it, once case is folded.
fn written_through<'a>(link: &str, folded: &[(String, &'a str)]) -> Option<&'a str> {
    let own = link.to_lowercase();
    let below = format!("{own}/");
    let from = folded.partition_point(|(path, _)| *path < own);
    // Between a name and what lies below it only few names sort (`a`, `a-b`, `a/b`).
    let same = folded[from..]
        .iter()
        .take_while(|(path, _)| *path == own)
        .find(|(_, path)| *path != link);
    let from = folded.partition_point(|(path, _)| *path < below);
    let inside = folded[from..]
        .iter()
        .take_while(|(path, _)| path.starts_with(&below))
        .find(|(_, path)| !path.starts_with(&format!("{link}/")));
    same.or(inside).map(|(_, path)| *path)
}

/// Follows a link as far as the change itself knows the links on its way.
fn escape(path: &str, target: &[u8], links: &BTreeMap<&str, Vec<u8>>) -> Option<Escape> {
    let mut here: Vec<String> = path.split('/').map(str::to_owned).collect();
    here.pop();
    let mut way: VecDeque<String> = VecDeque::new();
    let mut followed = 0;
    let mut next = Some(target.to_vec());
    loop {
        if let Some(target) = next.take() {
            if target.len() > LONGEST || followed > FOLLOWED {
                return None;
            }
            followed += 1;
            let text = String::from_utf8_lossy(&target).into_owned();
            if is_absolute(&text) {
                return Some(Escape::Absolute);
            }
            for part in text.rsplit(['/', '\\']) {
                way.push_front(part.to_owned());
            }
        }
        let part = way.pop_front()?;
        match part.as_str() {
            "" | "." => {}
            ".." => {
                if here.pop().is_none() {
                    return Some(Escape::Above);
                }
            }
            _ if is_git_folder(&part) => return Some(Escape::GitFolder),
            _ => {
                here.push(part);
                let at = here.join("/");
                if let Some(target) = links.get(at.as_str()).filter(|_| at != path) {
                    here.pop();
                    next = Some(target.clone());
                }
            }
        }
    }
}

fn is_absolute(target: &str) -> bool {
    matches!(
        target.as_bytes(),
        [b'/' | b'\\', ..] | [b'a'..=b'z' | b'A'..=b'Z', b':', b'/' | b'\\', ..]
    )
}

/// Whether some file system takes this name for `.git`: case, what HFS+ ignores, what
/// NTFS cuts off, its short name and its streams.
pub(super) fn is_git_folder(part: &str) -> bool {
    let seen: String = part
        .chars()
        .filter(|c| !matches!(*c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'))
        .collect();
    let name = seen.split(':').next().unwrap_or_default();
    let name = name.trim_end_matches([' ', '.']).to_ascii_lowercase();
    matches!(name.as_str(), ".git" | "git~1")
}

fn escaped(link: &ChangedFile, target: &[u8], escape: Escape) -> super::Remark {
    let shown = String::from_utf8_lossy(target);
    let shown = code_span(&truncate_chars(&shown, 200));
    let path = short(&link.path);
    let (rule, title, why) = match escape {
        Escape::Absolute => (
            "symlink-escape",
            format!("The link {path} leaves the tree"),
            "an absolute place, which is another file on every machine",
        ),
        Escape::Above => (
            "symlink-escape",
            format!("The link {path} leaves the tree"),
            "a place above the repository",
        ),
        Escape::GitFolder => (
            "symlink-git",
            format!("The link {path} leads into git's own folder"),
            "git's own folder, where hooks and configuration are",
        ),
    };
    super::remark(
        rule,
        Priority::P1,
        0.9,
        title,
        format!(
            "It points at {shown}: {why}. Whoever follows it (a build, an archive, a server of static files) reads or \
             writes there. Point it at a path inside the repository, or commit the file itself."
        ),
    )
}
