//! Lockfiles that are JSON: npm's, composer's, pipenv's.

use super::package::Package;
use crate::analyzers::json::{Id, Tree, Value};

/// Levels of `dependencies` that npm's first form nests.
const DEEPEST: usize = 64;

/// `package-lock.json` in all its forms.
pub(super) fn npm(tree: &Tree) -> Vec<Package> {
    let mut packages = Vec::new();
    if let Some(all) = tree.get(tree.root(), "packages") {
        for (path, line, id) in tree.entries(all) {
            // "" is the project itself; what lies in no node_modules is a part of it.
            let Some((_, name)) = path.rsplit_once("node_modules/") else {
                continue;
            };
            let name = tree.text_of(id, "name").unwrap_or(name);
            packages.push(npm_package(tree, name, line, id));
        }
        return packages;
    }
    let mut open: Vec<(Id, usize)> = tree
        .get(tree.root(), "dependencies")
        .map(|id| (id, 0))
        .into_iter()
        .collect();
    while let Some((all, depth)) = open.pop() {
        for (name, line, id) in tree.entries(all) {
            packages.push(npm_package(tree, name, line, id));
            if let Some(inner) = tree.get(id, "dependencies").filter(|_| depth < DEEPEST) {
                open.push((inner, depth + 1));
            }
        }
    }
    packages
}

fn npm_package(tree: &Tree, name: &str, line: u32, id: Id) -> Package {
    let mut package = Package::new(name, line);
    let text = |key: &str| {
        let value = tree.get(id, key)?;
        Some((tree.text(value)?, tree.line(value)))
    };
    let yes = |key: &str| {
        tree.get(id, key)
            .is_some_and(|v| tree.value(v) == &Value::Bool(true))
    };
    if let Some((version, _)) = text("version") {
        package.version = version.to_owned();
    }
    for key in ["version", "resolved"] {
        if let Some((url, at)) = text(key).filter(|(url, _)| url.contains(':')) {
            package.sources.push((url.to_owned(), at));
        }
    }
    if let Some((integrity, at)) = text("integrity") {
        package.integrity(integrity, at);
    }
    package.lines.1 = tree
        .entries(id)
        .map(|(_, _, v)| tree.line(v))
        .max()
        .unwrap_or(line)
        .max(line);
    let archive = package.sources.iter().any(|(s, _)| s.starts_with("http"));
    package.hashable = archive && !yes("link") && !yes("inBundle") && !yes("bundled");
    package
}

/// `composer.lock`.
pub(super) fn composer(tree: &Tree) -> Vec<Package> {
    let lists = ["packages", "packages-dev"];
    let mut packages = Vec::new();
    for id in lists
        .iter()
        .filter_map(|key| tree.get(tree.root(), key))
        .flat_map(|list| tree.items(list))
    {
        let mut package = Package::new(tree.text_of(*id, "name").unwrap_or_default(), tree.line(*id));
        package.version = tree.text_of(*id, "version").unwrap_or_default().to_owned();
        package.hashable = false;
        for place in ["source", "dist"] {
            let Some(part) = tree.get(*id, place) else {
                continue;
            };
            if let Some(url) = tree.get(part, "url")
                && let Some(text) = tree.text(url)
                && place == "dist"
            {
                package.sources.push((text.to_owned(), tree.line(url)));
            }
            // A branch moves by its nature; a released version does not.
            let branch = package.version.starts_with("dev-") || package.version.ends_with("-dev");
            for key in ["reference", "shasum"] {
                let value = tree.get(part, key).filter(|_| !(branch && key == "reference"));
                if let Some(value) = value
                    && let Some(text) = tree.text(value).filter(|t| !t.is_empty())
                {
                    package
                        .hashes
                        .push((format!("{place} {key}"), text.to_owned(), tree.line(value)));
                }
            }
            package.lines.1 = package.lines.1.max(tree.line(part));
        }
        packages.push(package);
    }
    packages
}

/// `Pipfile.lock`: many files a version, so its hashes are a set.
pub(super) fn pipfile(tree: &Tree) -> Vec<Package> {
    let mut packages = Vec::new();
    if let Some(sources) = tree
        .get(tree.root(), "_meta")
        .and_then(|m| tree.get(m, "sources"))
    {
        for id in tree.items(sources) {
            if let Some(url) = tree.get(*id, "url")
                && let Some(text) = tree.text(url)
            {
                let mut package = Package::new("(index)", tree.line(*id));
                package.hashable = false;
                package.sources.push((text.to_owned(), tree.line(url)));
                packages.push(package);
            }
        }
    }
    for section in ["default", "develop"] {
        let Some(all) = tree.get(tree.root(), section) else {
            continue;
        };
        for (name, line, id) in tree.entries(all) {
            let mut package = Package::new(name, line);
            package.version = tree.text_of(id, "version").unwrap_or_default().to_owned();
            if let Some(git) = tree.get(id, "git")
                && let Some(text) = tree.text(git)
            {
                package
                    .sources
                    .push((format!("git+{}", text.trim_start_matches("git+")), tree.line(git)));
            }
            for hash in tree.get(id, "hashes").map(|h| tree.items(h)).unwrap_or_default() {
                if let Some(text) = tree.text(*hash) {
                    // Of what each is one cannot tell: files come and go within a version.
                    package
                        .hashes
                        .push((text.to_owned(), text.to_owned(), tree.line(*hash)));
                }
            }
            package.hashable = package.sources.is_empty() && tree.get(id, "path").is_none();
            packages.push(package);
        }
    }
    packages
}
