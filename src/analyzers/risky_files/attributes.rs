//! Lines of `.gitattributes` that keep code out of diffs or out of merges.
//!
//! Generated files, lock files and pictures are marked so everywhere, and rightly;
//! what is told are patterns that reach code that people write.

use crate::{
    domain::{
        diff::ChangedFile,
        review::{
            finding::{Priority, Side},
            grounding::blob_lines,
        },
    },
    ports::change::{Change, ChangeError},
};

use super::{Found, new_or_altered, remark, span};

pub(super) const HIDDEN: &str = "hidden-from-review";

/// A line that hides something.
pub(super) struct Hiding {
    /// One-based.
    pub(super) line: u32,
    pattern: String,
    how: &'static str,
    sure: bool,
}

fn is_attributes(path: &str) -> bool {
    path == ".gitattributes" || path.ends_with("/.gitattributes")
}

/// What an attribute does to a reviewer; `None` when nothing.
fn effect(attribute: &str) -> Option<&'static str> {
    match attribute {
        "-diff" | "binary" | "diff=false" => Some("its changes are shown as binary, without lines"),
        "linguist-generated" | "linguist-generated=true" | "gitlab-generated" | "gitlab-generated=true" => {
            Some("its changes are folded away in the forge's view")
        }
        "merge=ours" => Some("a merge silently drops what the other side did to it"),
        _ => None,
    }
}

/// The pattern and the attributes of a line.
fn split(line: &str) -> Option<(String, Vec<&str>)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    if let Some(rest) = line.strip_prefix('"') {
        let mut escaped = false;
        let end = rest.bytes().position(|b| {
            let ends = b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            ends
        })?;
        return Some((
            rest[..end].replace('\\', ""),
            rest[end + 1..].split_ascii_whitespace().collect(),
        ));
    }
    let mut words = line.split_ascii_whitespace();
    Some((words.next()?.to_owned(), words.collect()))
}

/// Every line that hides code. Macros (`[attr]name …`) count where they are used.
pub(super) fn hiding(blob: &[u8]) -> Vec<Hiding> {
    let text = String::from_utf8_lossy(blob).into_owned();
    let lines = blob_lines(text.as_bytes());
    let mut macros: Vec<(String, &'static str)> = Vec::new();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let Some((pattern, attributes)) = split(line) else {
            continue;
        };
        let known = |word: &&str| {
            effect(word).or_else(|| macros.iter().find(|(name, _)| name == *word).map(|(_, how)| *how))
        };
        let Some(how) = attributes.iter().find_map(known) else {
            continue;
        };
        if let Some(name) = pattern.strip_prefix("[attr]") {
            if macros.len() < 64 {
                macros.push((name.to_owned(), how));
            }
            continue;
        }
        // `a/** -diff diff` in one line: the last one counts for git.
        if how.contains("binary") && attributes.last() == Some(&"diff") {
            continue;
        }
        if let Some(sure) = reaches_code(&pattern, how.contains("merge")) {
            found.push(Hiding {
                line: u32::try_from(index + 1).unwrap_or(u32::MAX),
                pattern,
                how,
                sure,
            });
        }
    }
    found
}

/// Whether people's code matches the pattern: `Some(true)` surely, `Some(false)`
/// perhaps, `None` hardly.
fn reaches_code(pattern: &str, merge: bool) -> Option<bool> {
    let lower = pattern.to_ascii_lowercase();
    let gate = [
        "codeowners",
        ".github",
        "jury.toml",
        ".gitlab-ci",
        ".gitattributes",
        "jenkinsfile",
    ];
    if gate.iter().any(|part| lower.contains(part)) {
        return Some(true);
    }
    let parts: Vec<&str> = lower.split('/').filter(|p| !p.is_empty()).collect();
    let name = parts.last().copied().unwrap_or_default();
    const MADE: &[&str] = &[
        "vendor",
        "vendored",
        "node_modules",
        "dist",
        "build",
        "out",
        "generated",
        "gen",
        "__generated__",
        "third_party",
        "third-party",
        "testdata",
        "fixtures",
        "fixture",
        "__fixtures__",
        "__snapshots__",
        "snapshots",
        "docs",
        "doc",
        "assets",
        "static",
        "public",
        "bundle",
        "bundled",
        "bindings",
        "target",
        "external",
        "deps",
        "data",
        "corpus",
        "migrations",
        "meta",
        "cassettes",
        "images",
        "img",
        "fonts",
        ".yarn",
        ".pnp",
        "i18n",
        "locales",
        "translations",
        "locale",
        "mocks",
        "test_data",
        "schemas",
    ];
    let made = |part: &str| {
        MADE.contains(&part)
            || ["generated", "snapshot", "autogen", "_gen", "vendor"]
                .iter()
                .any(|word| part.contains(word))
    };
    if parts.iter().any(|p| made(p)) {
        return None;
    }
    let made_names = [
        ".pb.",
        "_pb2",
        ".g.",
        ".gen.",
        "_gen.",
        ".min.",
        ".snap",
        ".lock",
        "lock.json",
        "lock.yaml",
        "-lock",
        ".sum",
        "shrinkwrap",
        ".designer.",
        ".freezed.",
        ".bundle.",
        ".pnp.",
        "zz_",
        ".d.ts",
        "mock_",
        "_mock",
        "changelog",
        "schema.",
        "bindata",
        "_string.go",
        "openapi",
        "swagger",
        ".pbxproj",
        ".resx",
        "license",
        "notice",
        ".api.",
        "lockfile",
        "gradlew",
        "wire_gen",
        "cargo.nix",
        "authors",
        "contributors",
        "releases",
    ];
    if made_names.iter().any(|part| name.contains(part)) {
        return None;
    }
    if matches!(name, "*" | "**" | "*.*") {
        return Some(true);
    }
    let Some((_, extension)) = name.rsplit_once('.') else {
        // A folder, or a single file without an extension.
        return Some(false);
    };
    const CODE: &[&str] = &[
        "rs", "go", "py", "js", "jsx", "mjs", "cjs", "ts", "tsx", "java", "kt", "kts", "scala", "c", "cc",
        "cpp", "cxx", "h", "hh", "hpp", "cs", "swift", "rb", "php", "sh", "bash", "ps1", "lua", "pl", "ex",
        "exs", "erl", "hs", "ml", "dart", "vue", "svelte", "zig", "sol", "m", "mm", "r", "jl", "groovy",
        "gradle", "tf", "yml", "yaml", "toml", "sql", "*",
    ];
    if CODE.contains(&extension) {
        // One named file is a decision that somebody took with it in view.
        let one_file = !name.contains(['*', '?', '[']);
        return Some(!(one_file || merge));
    }
    None
}

async fn in_file<'a>(
    change: &dyn Change,
    file: &'a ChangedFile,
    found: &mut Found<'a>,
) -> Result<(), ChangeError> {
    let Some(blob) = change
        .read(Side::Right, &file.path)
        .await?
        .filter(|_| file.unseen.is_none())
    else {
        found.unread.push(&file.path);
        return Ok(());
    };
    let mut hidings = hiding(&blob).into_iter().peekable();
    for (number, text) in file.added_lines() {
        while hidings.next_if(|h| h.line < number).is_some() {}
        let Some(hiding) = hidings.next_if(|h| h.line == number) else {
            continue;
        };
        let (priority, confidence) = if hiding.sure {
            (Priority::P2, 0.75)
        } else {
            (Priority::P3, 0.5)
        };
        let body = format!(
            "For whatever matches {}, {}. Keep that for files that a machine writes, and name those more narrowly.",
            span(&hiding.pattern),
            hiding.how
        );
        found.drafts.push(
            remark(
                HIDDEN,
                priority,
                confidence,
                "This attribute hides code from reviewers".to_owned(),
                body,
            )
            .on_line(file, number, text),
        );
    }
    Ok(())
}

pub(super) async fn judge<'a>(change: &'a dyn Change, found: &mut Found<'a>) -> Result<(), ChangeError> {
    for file in new_or_altered(change).filter(|f| is_attributes(&f.path)) {
        in_file(change, file, found).await?;
    }
    Ok(())
}
