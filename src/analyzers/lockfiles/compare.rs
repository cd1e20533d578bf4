//! A lockfile against its base: other places, other hashes, none at all.

use std::collections::{BTreeMap, BTreeSet};

use super::package::{Origin, Package, origin, usual};
use crate::domain::review::finding::Priority;

/// One thing to tell, with everything that it is true of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    /// The rule without `lockfiles/`.
    pub(super) rule: &'static str,
    pub(super) priority: Priority,
    pub(super) confidence: f64,
    pub(super) title: String,
    pub(super) why: String,
    /// What it is true of, in words, each with its lines: the one that tells most and all.
    pub(super) of: Vec<(String, u32, (u32, u32))>,
}

/// Compares what a lockfile says on both sides. `fresh`: the base has none.
pub(super) fn compare(before: &[Package], after: &[Package], fresh: bool) -> Vec<Hit> {
    let mut hits = places(before, after, fresh);
    hits.extend(hashes(before, after, fresh));
    hits
}

fn named(package: &Package) -> String {
    if package.version.is_empty() {
        package.name.clone()
    } else {
        format!("{} {}", package.name, package.version)
    }
}

/// Remarks on one file; a lockfile of a thousand hosts is told well enough by so many.
const KINDS: usize = 20;

/// Puts `of` into the hit of the same rule and title.
fn add(hits: &mut Vec<Hit>, hit: Hit) {
    if let Some(known) = hits
        .iter_mut()
        .find(|h| h.rule == hit.rule && h.title == hit.title)
    {
        known.of.extend(hit.of);
    } else if hits.len() < KINDS {
        hits.push(hit);
    }
}

fn is_plain(origin: &Origin) -> bool {
    matches!(origin.scheme.as_str(), "http" | "git" | "ftp")
}

fn places(before: &[Package], after: &[Package], fresh: bool) -> Vec<Hit> {
    let mut known_places: BTreeSet<String> = BTreeSet::new();
    let mut known_of: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut known_sources: BTreeSet<&str> = BTreeSet::new();
    let mut known_plain: BTreeSet<(&str, String)> = BTreeSet::new();
    for package in before {
        for (source, _) in &package.sources {
            known_sources.insert(source);
            if let Some(origin) = origin(source) {
                if is_plain(&origin) {
                    known_plain.insert((&package.name, origin.place.clone()));
                }
                known_of
                    .entry(&package.name)
                    .or_default()
                    .insert(origin.place.clone());
                known_places.insert(origin.place);
            }
        }
    }
    let mut hits = Vec::new();
    for package in after {
        let mut told = BTreeSet::new();
        for (source, line) in &package.sources {
            if known_sources.contains(source.as_str()) && known_of.contains_key(package.name.as_str()) {
                continue;
            }
            let Some(origin) = origin(source) else { continue };
            if !told.insert((origin.place.clone(), origin.scheme.clone())) {
                continue;
            }
            let of = vec![(named(package), *line, package.lines)];
            if is_plain(&origin) && !known_plain.contains(&(package.name.as_str(), origin.place.clone())) {
                add(
                    &mut hits,
                    Hit {
                        rule: "insecure-source",
                        priority: Priority::P1,
                        confidence: 0.85,
                        title: format!(
                            "Dependencies are fetched from {} without encryption",
                            origin.place
                        ),
                        why: "Whoever is on the way can replace what is fetched. Use an https address."
                            .to_owned(),
                        of: of.clone(),
                    },
                );
            }
            if known_of
                .get(package.name.as_str())
                .is_some_and(|places| places.contains(&origin.place))
            {
                continue;
            }
            if origin.git {
                add(&mut hits, git(source, &origin, of));
                continue;
            }
            if let Some(hit) = registry(package, &origin, &known_of, &known_places, fresh, of) {
                add(&mut hits, hit);
            }
        }
    }
    hits
}

fn git(source: &str, origin: &Origin, of: Vec<(String, u32, (u32, u32))>) -> Hit {
    let pinned = source
        .rsplit_once('#')
        .map(|(_, rest)| rest.trim_start_matches("commit="))
        .is_some_and(|rest| rest.len() >= 7 && rest.bytes().take(40).all(|b| b.is_ascii_hexdigit()));
    Hit {
        rule: "git-source",
        priority: if pinned { Priority::P3 } else { Priority::P2 },
        confidence: 0.7,
        title: format!("A dependency now comes from the repository {}", origin.place),
        why: "No registry keeps that version, and its content has no hash. Look whose repository it is, and depend on a \
              release where there is one."
            .to_owned(),
        of,
    }
}

fn registry(
    package: &Package,
    origin: &Origin,
    known_of: &BTreeMap<&str, BTreeSet<String>>,
    known_places: &BTreeSet<String>,
    fresh: bool,
    of: Vec<(String, u32, (u32, u32))>,
) -> Option<Hit> {
    let group = usual(&origin.place);
    let before = known_of.get(package.name.as_str());
    let same_group = group.is_some() && before.is_some_and(|b| b.iter().any(|p| usual(p) == group));
    if same_group {
        return None;
    }
    if let Some(from) = before.and_then(|b| b.first()) {
        return Some(Hit {
            rule: "registry-host",
            priority: Priority::P1,
            confidence: 0.85,
            title: format!("Dependencies moved from {from} to {}", origin.place),
            why: "The same name on another host is another package until somebody has looked. If the move is meant, say so; \
                  if not, make the lockfile anew against the usual registry."
                .to_owned(),
            of,
        });
    }
    let group_known = group.is_some()
        && (fresh || known_places.iter().any(|p| usual(p) == group) || known_places.is_empty());
    if group_known || known_places.contains(&origin.place) || (group.is_some() && fresh) {
        return None;
    }
    if group.is_some() {
        // A usual registry beside a private one: how a public package takes a private name.
        return Some(Hit {
            rule: "registry-host",
            priority: Priority::P2,
            confidence: 0.6,
            title: format!("Dependencies now come from {} too", origin.place),
            why: "The base took everything from elsewhere. Check that no private name is served by the public registry now."
                .to_owned(),
            of,
        });
    }
    let (priority, confidence) = if fresh {
        (Priority::P2, 0.6)
    } else {
        (Priority::P1, 0.8)
    };
    Some(Hit {
        rule: "registry-host",
        priority,
        confidence,
        title: format!("Dependencies come from {}, a host that is new here", origin.place),
        why: "Whoever runs that host decides what is installed. If it is yours, say so in the change; if not, make the \
              lockfile anew against the usual registry."
            .to_owned(),
        of,
    })
}

fn hashes(before: &[Package], after: &[Package], fresh: bool) -> Vec<Hit> {
    // The same version may stand there several times (nested, or for platforms).
    let mut known: BTreeMap<(&str, &str), BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    let mut with_hash = 0;
    for package in before {
        let labels = known.entry((&package.name, &package.version)).or_default();
        with_hash += usize::from(!package.hashes.is_empty());
        for (label, value, _) in &package.hashes {
            labels.entry(label).or_default().insert(value);
        }
    }
    let hit = |rule, priority, confidence, title: &str, why: &str, of| Hit {
        rule,
        priority,
        confidence,
        title: title.to_owned(),
        why: why.to_owned(),
        of: vec![of],
    };
    let mut hits = Vec::new();
    for package in after {
        let old = known.get(&(package.name.as_str(), package.version.as_str()));
        let changed = old.and_then(|old| {
            package.hashes.iter().find(|(label, value, _)| {
                old.get(label.as_str())
                    .is_some_and(|values| !values.contains(value.as_str()))
            })
        });
        if let Some((_, _, line)) = changed {
            add(
                &mut hits,
                hit(
                    "integrity-changed",
                    Priority::P1,
                    0.9,
                    "A hash changed and the version did not",
                    "A released version does not change: either it was published again, or somebody serves something else. Do \
                     not merge before it is known which; compare with the registry.",
                    (named(package), *line, package.lines),
                ),
            );
        } else if old.is_some_and(|labels| !labels.is_empty()) && package.hashes.is_empty() {
            add(
                &mut hits,
                hit(
                    "integrity-removed",
                    Priority::P1,
                    0.8,
                    "A hash was taken out of the lockfile",
                    "Without it, whatever the host serves is installed. Make the lockfile anew with the package manager.",
                    (named(package), package.lines.0, package.lines),
                ),
            );
        } else if old.is_none()
            && !fresh
            && with_hash * 2 > before.len()
            && package.hashable
            && package.hashes.is_empty()
        {
            add(
                &mut hits,
                hit(
                    "integrity-missing",
                    Priority::P2,
                    0.6,
                    "A new dependency has no hash",
                    "Whatever the host serves is installed. Make the lockfile anew with the package manager.",
                    (named(package), package.lines.0, package.lines),
                ),
            );
        }
    }
    hits
}
