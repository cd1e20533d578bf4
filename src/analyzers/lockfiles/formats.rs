//! Lockfiles by name, and those that are read line by line.
//!
//! Each reader knows the one form that its tool writes. A line that it does not know
//! says nothing to it; the work grows with the length of the file.

use super::package::Package;
use crate::domain::review::grounding::blob_lines;

/// What a package manager's files are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Cargo,
    Poetry,
    Uv,
    Npm,
    Yarn,
    Pnpm,
    Composer,
    Pipfile,
    Gemfile,
    GoSum,
}

/// The format of a lockfile by its name.
pub(super) fn format(path: &str) -> Option<Format> {
    Some(match path.rsplit('/').next().unwrap_or(path) {
        "Cargo.lock" => Format::Cargo,
        "poetry.lock" | "pdm.lock" => Format::Poetry,
        "uv.lock" => Format::Uv,
        "package-lock.json" | "npm-shrinkwrap.json" => Format::Npm,
        "yarn.lock" => Format::Yarn,
        "pnpm-lock.yaml" => Format::Pnpm,
        "composer.lock" => Format::Composer,
        "Pipfile.lock" => Format::Pipfile,
        "Gemfile.lock" => Format::Gemfile,
        "go.sum" => Format::GoSum,
        _ => return None,
    })
}

/// The lines of a file with their numbers; a line that is no text reads as one.
pub(super) fn numbered(blob: &[u8]) -> impl Iterator<Item = (u32, String)> {
    blob_lines(blob).into_iter().enumerate().map(|(index, line)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (
            u32::try_from(index + 1).unwrap_or(u32::MAX),
            String::from_utf8_lossy(line).into_owned(),
        )
    })
}

fn unquoted(text: &str) -> &str {
    let text = text.trim().trim_end_matches(',');
    text.strip_prefix(['"', '\''])
        .and_then(|t| t.strip_suffix(['"', '\'']))
        .unwrap_or(text)
}

/// The text behind `key = "` in an inline table.
fn inline<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut rest = text;
    loop {
        let at = rest.find(key)?;
        let before = rest[..at].chars().next_back();
        let after = rest[at + key.len()..].trim_start();
        if before.is_none_or(|c| matches!(c, '{' | ' ' | ','))
            && let Some(value) = after.strip_prefix('=')
            && let Some(value) = value.trim_start().strip_prefix('"')
        {
            return value.split('"').next();
        }
        rest = &rest[at + key.len()..];
    }
}

/// `[[package]]` tables: Cargo, poetry, pdm, uv.
pub(super) fn tables(blob: &[u8], format: Format) -> Vec<Package> {
    let mut packages: Vec<Package> = Vec::new();
    // Which table one is in: 0 another, 1 the package, 2 its source.
    let mut table = 0;
    for (number, line) in numbered(blob) {
        let text = line.trim();
        if text.starts_with('[') && text.ends_with(']') && !text.contains('=') {
            table = match text {
                "[[package]]" => {
                    packages.push(Package::new("", number));
                    1
                }
                "[package.source]" => 2,
                _ => 0,
            };
            continue;
        }
        let Some(package) = packages.last_mut().filter(|_| table > 0) else {
            continue;
        };
        package.lines.1 = number;
        let (key, value) = text
            .split_once('=')
            .map_or(("", text), |(k, v)| (k.trim(), v.trim()));
        if table == 2 {
            match key {
                "url" => package.sources.push((unquoted(value).to_owned(), number)),
                "type" if unquoted(value) == "git" => package.hashable = false,
                "type" if matches!(unquoted(value), "directory" | "file") => package.hashable = false,
                _ => {}
            }
            continue;
        }
        match key {
            "name" => package.name = unquoted(value).to_owned(),
            "version" => package.version = unquoted(value).to_owned(),
            "checksum" => package
                .hashes
                .push(("sha256".to_owned(), unquoted(value).to_owned(), number)),
            "source" if format == Format::Cargo => package.sources.push((unquoted(value).to_owned(), number)),
            "source" => {
                for key in ["registry", "git", "url"] {
                    if let Some(url) = inline(value, key) {
                        let url = if key == "git" {
                            format!("git+{url}")
                        } else {
                            url.to_owned()
                        };
                        package.sources.push((url, number));
                    }
                }
            }
            _ => files_of(package, text, number),
        }
    }
    for package in &mut packages {
        let git = package.sources.iter().any(|(s, _)| s.starts_with("git+"));
        let local = package.sources.is_empty() && format != Format::Poetry;
        package.hashable &= !git && !local;
    }
    packages
}

/// A line of `files = [ … ]`, `wheels = [ … ]`, or `sdist = { … }`.
fn files_of(package: &mut Package, text: &str, number: u32) {
    let Some(hash) = inline(text, "hash") else { return };
    let url = inline(text, "url");
    let file = url
        .or_else(|| inline(text, "file"))
        .map_or("", |u| u.rsplit('/').next().unwrap_or(u));
    package.hashes.push((file.to_owned(), hash.to_owned(), number));
    if let Some(url) = url {
        package.sources.push((url.to_owned(), number));
    }
}

/// Both forms of `yarn.lock`.
pub(super) fn yarn(blob: &[u8]) -> Vec<Package> {
    let mut packages: Vec<Package> = Vec::new();
    let mut open = false;
    for (number, line) in numbered(blob) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with(' ') {
            open = line.trim_end().ends_with(':') && !line.starts_with("__metadata");
            if open {
                let first = line.trim_end_matches(':').split(',').next().unwrap_or_default();
                packages.push(Package::new(
                    before_at(unquoted(first).trim_start_matches('"')),
                    number,
                ));
            }
            continue;
        }
        let Some(package) = packages.last_mut().filter(|_| open) else {
            continue;
        };
        package.lines.1 = number;
        // Two blanks deep; deeper lines are its dependencies.
        let Some(text) = line.strip_prefix("  ").filter(|t| !t.starts_with(' ')) else {
            continue;
        };
        let (key, value) = text.split_once([' ', ':']).unwrap_or((text, ""));
        let value = unquoted(value.trim_start_matches([':', ' ']));
        match key.trim_matches('"') {
            "version" => package.version = value.to_owned(),
            "resolved" => {
                let (url, hash) = value.split_once('#').unwrap_or((value, ""));
                let commit = url.starts_with("git") || url.ends_with(".git");
                package.hashable &= !commit;
                package.sources.push((
                    if commit && !url.starts_with("git+") && !url.starts_with("git@") {
                        format!("git+{url}")
                    } else {
                        url.to_owned()
                    },
                    number,
                ));
                if hash.len() == 40 && !commit {
                    package.hashes.push(("sha1".to_owned(), hash.to_owned(), number));
                }
            }
            "integrity" => package.integrity(value, number),
            "resolution" => {
                let place = value.rsplit_once('@').map_or(value, |(_, place)| place);
                let place = value
                    .get(1..)
                    .and_then(|rest| rest.split_once('@'))
                    .map_or(place, |(_, place)| place);
                if place.contains("://") || place.starts_with("git@") {
                    let git = place.contains("#commit=") || place.contains(".git");
                    let url = place.strip_prefix("npm:").unwrap_or(place);
                    package.sources.push((
                        if git && !url.starts_with("git") {
                            format!("git+{url}")
                        } else {
                            url.to_owned()
                        },
                        number,
                    ));
                }
                package.hashable &= place.starts_with("npm:");
            }
            "checksum" => {
                let (label, hash) = value.split_once('/').unwrap_or(("", value));
                package.hashes.push((label.to_owned(), hash.to_owned(), number));
            }
            "conditions" => package.hashable = false,
            _ => {}
        }
    }
    packages
}

/// The name in `name@range` or `@scope/name@range`.
fn before_at(text: &str) -> &str {
    let at = text
        .char_indices()
        .skip(1)
        .find(|(_, c)| *c == '@')
        .map(|(at, _)| at);
    at.map_or(text, |at| &text[..at])
}

/// The `packages:` of `pnpm-lock.yaml`, in the forms that pnpm itself writes.
pub(super) fn pnpm(blob: &[u8]) -> Vec<Package> {
    let mut packages: Vec<Package> = Vec::new();
    let mut inside = false;
    let mut within_resolution = false;
    for (number, line) in numbered(blob) {
        if !line.starts_with(' ') && !line.trim().is_empty() {
            inside = line.trim_end() == "packages:";
            continue;
        }
        if !inside {
            continue;
        }
        let depth = line.len() - line.trim_start().len();
        let text = line.trim();
        if depth == 2 && text.ends_with(':') {
            let key = unquoted(text.trim_end_matches(':')).trim_start_matches('/');
            let key = key.split('(').next().unwrap_or(key);
            let name = before_at(key);
            let (name, version) = if name.len() < key.len() {
                (name, &key[name.len() + 1..])
            } else {
                key.rsplit_once('/').unwrap_or((key, ""))
            };
            let mut package = Package::new(name, number);
            package.version = version.to_owned();
            packages.push(package);
            continue;
        }
        let Some(package) = packages.last_mut() else {
            continue;
        };
        package.lines.1 = number;
        if depth == 4 {
            within_resolution = text == "resolution:";
        }
        let fields = text
            .strip_prefix("resolution:")
            .map(|t| t.trim().trim_matches(['{', '}']));
        match fields {
            Some(fields) => fields.split(", ").for_each(|f| resolution(package, f, number)),
            None if within_resolution && depth == 6 => resolution(package, text, number),
            None => {}
        }
    }
    packages
}

fn resolution(package: &mut Package, field: &str, number: u32) {
    let (key, value) = field.split_once(':').unwrap_or((field, ""));
    let value = unquoted(value);
    match key.trim() {
        "integrity" => package.integrity(value, number),
        "tarball" => package.sources.push((value.to_owned(), number)),
        "repo" => {
            package
                .sources
                .push((format!("git+{}", value.trim_start_matches("git+")), number));
            package.hashable = false;
        }
        "type" | "directory" | "commit" => package.hashable = false,
        _ => {}
    }
}

/// `Gemfile.lock`.
pub(super) fn gemfile(blob: &[u8]) -> Vec<Package> {
    let mut packages: Vec<Package> = Vec::new();
    let mut section = String::new();
    let mut remote: Option<(String, u32)> = None;
    let mut hashes: Vec<(String, String, u32)> = Vec::new();
    for (number, line) in numbered(blob) {
        if !line.starts_with(' ') {
            section = line.trim().to_owned();
            remote = None;
            continue;
        }
        let text = line.trim();
        if let Some(url) = text.strip_prefix("remote: ") {
            let url = if section == "GIT" {
                format!("git+{url}")
            } else {
                url.to_owned()
            };
            remote = Some((url, number));
            continue;
        }
        let depth = line.len() - line.trim_start().len();
        let named = text
            .split_once(" (")
            .map(|(n, rest)| (n, rest.split(')').next().unwrap_or_default()));
        let Some((name, version)) = named else { continue };
        if section == "CHECKSUMS" {
            let hash = text.rsplit_once(") ").map_or("", |(_, hash)| hash);
            if let Some((_, value)) = hash.split_once('=') {
                hashes.push((format!("{name} {version}"), value.to_owned(), number));
            }
        } else if depth == 4 && matches!(section.as_str(), "GEM" | "GIT" | "PATH") {
            let mut package = Package::new(name, number);
            package.version = version.to_owned();
            package.hashable = false;
            package
                .sources
                .extend(remote.clone().filter(|_| section != "PATH"));
            packages.push(package);
        }
    }
    hashes.sort();
    for package in &mut packages {
        let key = format!("{} {}", package.name, package.version);
        let from = hashes.partition_point(|h| h.0 < key);
        if let Some((_, value, line)) = hashes.get(from).filter(|h| h.0 == key) {
            package.hashes.push(("sha256".to_owned(), value.clone(), *line));
        }
    }
    packages
}

/// `go.sum`: one hash a line.
pub(super) fn go_sum(blob: &[u8]) -> Vec<Package> {
    numbered(blob)
        .filter_map(|(number, line)| {
            let mut words = line.split_ascii_whitespace();
            let (name, version, hash) = (words.next()?, words.next()?, words.next()?);
            let mut package = Package::new(name, number);
            package.version = version.to_owned();
            package.hashes.push(("h1".to_owned(), hash.to_owned(), number));
            Some(package)
        })
        .collect()
}
