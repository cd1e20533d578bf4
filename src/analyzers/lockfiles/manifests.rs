//! Manifests: what they ask for, and which lockfile answers.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    formats::{Format, format},
    package::Package,
};
use crate::analyzers::json;

/// What a manifest is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manifest {
    Cargo,
    Npm,
    Python,
    Pipenv,
    Go,
    Ruby,
    Composer,
}

/// Larger manifests are not compared.
const MAX_BYTES: usize = 1 << 20;

pub(super) fn manifest(path: &str) -> Option<Manifest> {
    Some(match path.rsplit('/').next().unwrap_or(path) {
        "Cargo.toml" => Manifest::Cargo,
        "package.json" => Manifest::Npm,
        "pyproject.toml" => Manifest::Python,
        "Pipfile" => Manifest::Pipenv,
        "go.mod" => Manifest::Go,
        "Gemfile" => Manifest::Ruby,
        "composer.json" => Manifest::Composer,
        _ => return None,
    })
}

impl Manifest {
    /// Names of the lockfiles that may answer.
    pub(super) const fn locks(self) -> &'static [&'static str] {
        match self {
            Self::Cargo => &["Cargo.lock"],
            Self::Npm => &[
                "package-lock.json",
                "npm-shrinkwrap.json",
                "yarn.lock",
                "pnpm-lock.yaml",
                "bun.lock",
                "bun.lockb",
            ],
            Self::Python => &["uv.lock", "poetry.lock", "pdm.lock"],
            Self::Pipenv => &["Pipfile.lock"],
            Self::Go => &["go.sum"],
            Self::Ruby => &["Gemfile.lock"],
            Self::Composer => &["composer.lock"],
        }
    }

    /// Whether the lockfile may lie above the manifest: a workspace.
    pub(super) const fn looks_above(self) -> bool {
        matches!(self, Self::Cargo | Self::Npm | Self::Python)
    }
}

/// Whether a lockfile of that path answers manifests of that kind.
pub(super) fn answers(lock: &str, kind: Manifest) -> bool {
    kind.locks().contains(&lock.rsplit('/').next().unwrap_or(lock))
}

/// What a manifest asks for: where and name, and how it is asked for.
pub(super) type Wishes = BTreeMap<(String, String), String>;

/// Reads a manifest; `None` when it cannot be understood.
pub(super) fn wishes(kind: Manifest, blob: &[u8]) -> Option<Wishes> {
    if blob.len() > MAX_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(blob);
    match kind {
        Manifest::Cargo | Manifest::Python | Manifest::Pipenv => toml_wishes(kind, &text),
        Manifest::Npm | Manifest::Composer => json_wishes(kind, blob),
        Manifest::Go => Some(go_wishes(&text)),
        Manifest::Ruby => Some(
            text.lines()
                .map(str::trim)
                .filter(|l| l.starts_with("gem ") || l.starts_with("gem("))
                .map(|l| {
                    (
                        ("gem".to_owned(), l.split(" #").next().unwrap_or(l).to_owned()),
                        String::new(),
                    )
                })
                .collect(),
        ),
    }
}

fn toml_wishes(kind: Manifest, text: &str) -> Option<Wishes> {
    let root: toml::Table = text.parse().ok()?;
    let mut out = Wishes::new();
    let mut table = |place: &str, value: Option<&toml::Value>| {
        let Some(value) = value else { return };
        match value {
            toml::Value::Table(table) => {
                for (name, value) in table {
                    out.insert((place.to_owned(), name.clone()), value.to_string());
                }
            }
            toml::Value::Array(items) => {
                for item in items {
                    out.insert((place.to_owned(), item.to_string()), String::new());
                }
            }
            _ => {}
        }
    };
    let within = |path: &[&str]| -> Option<&toml::Value> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(root.get(*first)?, |value, key| value.get(*key))
    };
    match kind {
        Manifest::Cargo => {
            const TABLES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];
            for name in TABLES {
                table(name, root.get(*name));
            }
            if let Some(targets) = root.get("target").and_then(toml::Value::as_table) {
                for target in targets.values() {
                    for name in TABLES {
                        table(name, target.get(*name));
                    }
                }
            }
            table("dependencies", within(&["workspace", "dependencies"]));
        }
        Manifest::Python => {
            table("dependencies", within(&["project", "dependencies"]));
            for group in [&["project", "optional-dependencies"][..], &["dependency-groups"]] {
                if let Some(groups) = within(group).and_then(toml::Value::as_table) {
                    for (name, value) in groups {
                        table(name, Some(value));
                    }
                }
            }
            table("poetry", within(&["tool", "poetry", "dependencies"]));
            table("poetry dev", within(&["tool", "poetry", "dev-dependencies"]));
            if let Some(groups) = within(&["tool", "poetry", "group"]).and_then(toml::Value::as_table) {
                for (name, group) in groups {
                    table(name, group.get("dependencies"));
                }
            }
            table("sources", within(&["tool", "uv", "sources"]));
        }
        _ => {
            table("packages", root.get("packages"));
            table("dev-packages", root.get("dev-packages"));
        }
    }
    Some(out)
}

fn json_wishes(kind: Manifest, blob: &[u8]) -> Option<Wishes> {
    let tree = json::read(blob)?;
    let sections: &[&str] = if kind == Manifest::Npm {
        &["dependencies", "devDependencies", "optionalDependencies"]
    } else {
        &["require", "require-dev"]
    };
    let mut out = Wishes::new();
    for section in sections {
        let Some(all) = tree.get(tree.root(), section) else {
            continue;
        };
        for (name, _, id) in tree.entries(all) {
            let value = tree.text(id).unwrap_or_default();
            // What lies in the repository itself is in few lockfiles.
            let local = ["workspace:", "file:", "link:", "portal:", "catalog:"]
                .iter()
                .any(|p| value.starts_with(p));
            let platform = kind == Manifest::Composer && (name == "php" || name.starts_with("ext-"));
            if !local && !platform {
                out.insert(((*section).to_owned(), name.to_owned()), value.to_owned());
            }
        }
    }
    Some(out)
}

fn go_wishes(text: &str) -> Wishes {
    let mut out = Wishes::new();
    let mut block = "";
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if line == ")" {
            block = "";
            continue;
        }
        let (verb, rest) = match block {
            "" => line.split_once(char::is_whitespace).unwrap_or((line, "")),
            open => (open, line),
        };
        if rest.trim() == "(" {
            block = match verb {
                "require" => "require",
                _ => "other",
            };
            continue;
        }
        if verb == "require"
            && let Some((module, version)) = rest.trim().split_once(char::is_whitespace)
        {
            out.insert(
                ("require".to_owned(), module.to_owned()),
                version.trim().to_owned(),
            );
        }
    }
    out
}

/// The wishes of `after` that the lockfile at hand surely does not answer, by name.
///
/// Most lockfiles repeat what was asked for, so any other wish is out of step. Cargo's
/// and Go's do not: there the lockfile itself is asked.
pub(super) fn unanswered(kind: Manifest, before: &Wishes, after: &Wishes, lock: &[u8]) -> Vec<String> {
    let changed = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(*value));
    let mut names: BTreeSet<String> = BTreeSet::new();
    match kind {
        Manifest::Cargo => {
            let packages = super::formats::tables(lock, Format::Cargo);
            for ((_, name), wish) in changed {
                if !cargo_answers(name, wish, &packages) {
                    names.insert(name.clone());
                }
            }
        }
        Manifest::Go => {
            let text = String::from_utf8_lossy(lock);
            let known: BTreeSet<(&str, &str)> = text
                .lines()
                .filter_map(|l| {
                    let mut words = l.split_ascii_whitespace();
                    Some((words.next()?, words.next()?.trim_end_matches("/go.mod")))
                })
                .collect();
            for ((_, name), version) in changed {
                if !known.contains(&(name.as_str(), version.as_str())) {
                    names.insert(name.clone());
                }
            }
        }
        _ => {
            names.extend(changed.map(|((_, name), _)| name.clone()));
            names.extend(
                before
                    .keys()
                    .filter(|key| !after.contains_key(*key))
                    .map(|(_, name)| name.clone()),
            );
        }
    }
    names.into_iter().collect()
}

/// Whether a locked package may stand for the wish. In doubt it does.
fn cargo_answers(name: &str, wish: &str, packages: &[Package]) -> bool {
    let parsed: Option<toml::Table> = format!("w = {wish}").parse().ok();
    let wish = parsed.as_ref().and_then(|t| t.get("w"));
    let field = |key: &str| wish.and_then(|w| w.get(key)).and_then(toml::Value::as_str);
    // Inherited from the workspace, or a part of it that has no version of its own yet.
    if wish.and_then(|w| w.get("workspace")).is_some()
        || (field("path").is_some() && field("version").is_none())
    {
        return true;
    }
    let name = field("package").unwrap_or(name);
    let locked: Vec<&str> = packages
        .iter()
        .filter(|p| p.name == name)
        .map(|p| p.version.as_str())
        .collect();
    if locked.is_empty() {
        return field("path").is_some();
    }
    let version = wish.and_then(toml::Value::as_str).or(field("version"));
    version.is_none_or(|version| locked.iter().any(|l| caret(version, l)))
}

/// Whether `locked` satisfies a plain or caret requirement; `true` for any other kind.
fn caret(wish: &str, locked: &str) -> bool {
    let numbers = |text: &str| -> Option<Vec<u64>> {
        let core = text.split(['+', '-']).next()?;
        core.split('.').map(|n| n.trim().parse().ok()).collect()
    };
    let (Some(wish), Some(mut locked)) = (numbers(wish.trim().trim_start_matches('^')), numbers(locked))
    else {
        return true;
    };
    locked.resize(3, 0);
    let mut least = wish.clone();
    least.resize(3, 0);
    // The first number that is not zero must not move; with `0` or `0.0` the last given one.
    let fixed = wish
        .iter()
        .position(|n| *n != 0)
        .unwrap_or(wish.len().saturating_sub(1));
    locked.starts_with(&least[..=fixed.min(2)]) && locked >= least
}

/// Whether the path is a lockfile of any kind that is known here.
pub(super) fn is_lock(path: &str) -> bool {
    format(path).is_some()
}
