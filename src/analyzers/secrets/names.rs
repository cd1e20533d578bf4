//! Tokens in the names that a change gives to files. A name has no line, so the
//! finding is about the change as a whole, and shows the path with the token masked.

use std::collections::BTreeMap;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        review::finding::{Axis, Draft},
        secret::{shapes::Hit, tokens},
    },
    ports::change::Change,
};

use super::{
    super::added::{Remark, listed},
    capitalised,
};

/// Begins the ids of these rules; what kind of token it is follows.
pub(super) const PREFIX: &str = "secrets/file-name-";

/// The names that are new on the head. A removed one takes the token away, and one that
/// was there before is not this change's doing.
fn given(file: &ChangedFile) -> bool {
    matches!(
        file.status,
        FileStatus::Added | FileStatus::Renamed | FileStatus::Copied
    )
}

/// Every kind of token that new names hold, the surest of each, and the paths that hold it.
fn found(change: &dyn Change) -> BTreeMap<&'static str, (Hit, Vec<&str>)> {
    let mut kinds: BTreeMap<&'static str, (Hit, Vec<&str>)> = BTreeMap::new();
    for file in change.files().iter().filter(|file| given(file)) {
        for hit in tokens(file.path.as_bytes()) {
            // A token that the old name held already is no news under another folder.
            let token = &file.path.as_bytes()[hit.at.clone()];
            let held = |old: &String| old.as_bytes().windows(token.len()).any(|w| w == token);
            if file.status == FileStatus::Renamed && file.old_path.as_ref().is_some_and(held) {
                continue;
            }
            let (surest, paths) = kinds.entry(hit.id).or_insert_with(|| (hit.clone(), Vec::new()));
            if paths.last() != Some(&&*file.path) {
                paths.push(&file.path);
            }
            if hit.confidence > surest.confidence {
                *surest = hit;
            }
        }
    }
    kinds
}

/// One draft for each kind of token.
pub(super) fn drafts(change: &dyn Change) -> Vec<Draft> {
    found(change)
        .into_values()
        .map(|(hit, paths)| {
            Remark {
                rule: format!("{PREFIX}{}", hit.id),
                axis: Axis::Security,
                priority: hit.priority,
                confidence: hit.confidence,
                // Without a count: it is recognised by its title.
                title: format!("{} in the name of a file", capitalised(hit.what)),
                body: format!(
                    "This change names a file after what looks like a {}: {}. Whoever can list the branch can read it, \
                     and renaming the file does not take it out of the history.\n\nRevoke it where it was issued, give \
                     the file another name, and rewrite the branch before it is merged. The value is not repeated here.",
                    hit.what,
                    listed(&paths)
                ),
                // Nothing of the value is in it.
                secret: false,
            }
            .unanchored()
        })
        .collect()
}

/// Whether new names still hold what `rule` speaks of; `None` for another rule.
pub(super) fn stands(rule: &str, change: &dyn Change) -> Option<bool> {
    let kind = rule.strip_prefix(PREFIX)?;
    Some(found(change).contains_key(kind))
}
