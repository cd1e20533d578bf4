//! Source changed and no test was touched: advice, never more.
//!
//! What counts is new or altered code. Comments, white space, moved lines,
//! deletions and pure renames need no test; documents, configuration,
//! generated and vendored files are no source.

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        review::{
            finding::{Axis, Draft, Finding, Kind, Priority, Side},
            grounding::blob_lines,
        },
        text::code_span,
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use super::added::{Remark, readable, report};

/// Notices source that changed without any test.
#[derive(Debug, Clone, Copy)]
pub struct TestGap;

/// Paths the remark names before it only counts.
const NAMED: usize = 5;

/// What a file is to this rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Source(Comments),
    Test,
    Neither,
}

/// How a language writes comments that take a whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comments {
    /// `//`, `/* … */` and the ` * ` of its inner lines.
    Slashes,
    /// `#`.
    Hash,
    /// `--`.
    Dashes,
    /// `;` or `%`.
    Other,
}

/// Whether a file is a test by its folder or its name.
pub(super) fn is_test(path: &str) -> bool {
    role(path) == Role::Test
}

/// Whether a file is written by people and shipped: no test, example, tool or configuration.
pub(super) fn is_source(path: &str) -> bool {
    matches!(role(path), Role::Source(_))
}

fn role(path: &str) -> Role {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let comments =
        match extension.to_ascii_lowercase().as_str() {
            "rs" | "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "go" | "java" | "kt"
            | "kts" | "scala" | "groovy" | "c" | "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" | "hxx" | "m"
            | "mm" | "cs" | "swift" | "dart" | "php" | "zig" | "sol" | "vue" | "svelte" | "d" | "v"
            | "cu" | "fs" => Comments::Slashes,
            "py" | "rb" | "ex" | "exs" | "pl" | "pm" | "r" | "jl" | "sh" | "bash" | "cr" | "nim"
            | "coffee" => Comments::Hash,
            "hs" | "lua" | "elm" | "ml" | "mli" | "adb" | "ads" => Comments::Dashes,
            "clj" | "cljs" | "cljc" | "erl" | "el" | "lisp" | "scm" | "rkt" => Comments::Other,
            _ => return Role::Neither,
        };
    let lower = path.to_ascii_lowercase();
    let folders: Vec<&str> = lower.split('/').rev().skip(1).collect();
    let within = |names: &[&str]| folders.iter().any(|f| names.contains(f));
    let lower_name = name.to_ascii_lowercase();
    let tests = within(&[
        "test",
        "tests",
        "__tests__",
        "spec",
        "specs",
        "e2e",
        "testing",
        "testdata",
        "androidtest",
        "integrationtest",
        "it",
        "__mocks__",
        "cypress",
        "playwright",
        "unittests",
        "unit_tests",
        "integration_tests",
        "functional_tests",
    ]) || folders.iter().any(|f| {
        f.ends_with("-tests") || f.ends_with("_tests") || f.ends_with(".tests") || f.ends_with(".test")
    });
    if tests || names_a_test(stem) {
        return Role::Test;
    }
    let outside = within(&[
        "vendor",
        "third_party",
        "third-party",
        "node_modules",
        "dist",
        "build",
        "generated",
        "gen",
        "__generated__",
        "docs",
        "doc",
        "examples",
        "example",
        "samples",
        "migrations",
        "benches",
        "bench",
        "benchmarks",
        "fixtures",
        ".storybook",
        ".github",
        "stories",
        "target",
        "external",
        "deps",
        "site-packages",
        "bower_components",
        "mocks",
    ]);
    let generated = [
        ".pb.",
        ".g.dart",
        ".freezed.",
        "_pb2",
        ".generated.",
        ".gen.",
        "_generated.",
        ".min.",
        ".d.ts",
        ".designer.",
        "_string.go",
        ".stories.",
        "bindata.",
    ]
    .iter()
    .any(|part| lower_name.contains(part));
    let configuration = [".config.", "eslintrc", "prettierrc"]
        .iter()
        .any(|part| lower_name.contains(part))
        || matches!(
            lower_name.as_str(),
            "build.rs"
                | "setup.py"
                | "conf.py"
                | "gulpfile.js"
                | "gruntfile.js"
                | "manage.py"
                | "noxfile.py"
                | "karma.conf.js"
                | "build.gradle.kts"
                | "settings.gradle.kts"
                | "package.swift"
                | "mix.exs"
                | "fabfile.py"
                | "tasks.py"
                | "build.zig"
        );
    if outside || generated || configuration {
        Role::Neither
    } else {
        Role::Source(comments)
    }
}

/// Whether a file of that name (without extension) is a test by the habits of its language.
fn names_a_test(stem: &str) -> bool {
    let lower = stem.to_ascii_lowercase();
    let part = |separator: char| {
        lower
            .split(separator)
            .any(|p| matches!(p, "test" | "tests" | "spec" | "specs"))
    };
    let camel = ["Test", "Tests", "TestCase", "Spec", "Specs", "IT"]
        .iter()
        .any(|tail| {
            stem.strip_suffix(tail)
                .is_some_and(|head| head.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()))
        });
    lower.starts_with("test_")
        || lower == "conftest"
        || lower.ends_with("_unittest")
        || lower.ends_with(".cy")
        || part('_')
        || part('.')
        || part('-')
        || camel
        || stem
            .strip_prefix("Test")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Whether a line is code: neither empty nor all comment.
fn is_code(comments: Comments, line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let starts = |heads: &[&[u8]]| heads.iter().any(|h| text.starts_with(h));
    let comment = match comments {
        Comments::Slashes => starts(&[b"//", b"/*", b"*/", b"* ", b"<!--", b"#!"]) || text == b"*",
        Comments::Hash => starts(&[b"#", b"\"\"\"", b"'''"]),
        Comments::Dashes => starts(&[b"--", b"{-", b"(*"]),
        Comments::Other => starts(&[b";", b"%"]),
    };
    !text.is_empty() && !comment && text.iter().any(u8::is_ascii_alphanumeric)
}

/// Whether the file has new or altered code: lines of code on the head that, white
/// space aside, did not stand on the base in the same number.
fn changes_code(file: &ChangedFile, comments: Comments) -> bool {
    let code = |(_, line): (u32, &[u8])| {
        is_code(comments, line).then(|| {
            line.iter()
                .copied()
                .filter(|b| !b.is_ascii_whitespace())
                .collect::<Vec<u8>>()
        })
    };
    let generated = |line: &[u8]| {
        // A bundle's one long line says so at its beginning, or not at all.
        let line = &line[..line.len().min(1000)];
        let marks: [&[u8]; 3] = [b"DO NOT EDIT", b"@generated", b"Code generated by"];
        marks.iter().any(|m| line.windows(m.len()).any(|w| w == *m))
    };
    if file.lines_at_the_top().any(generated) {
        return false;
    }
    let mut before: Vec<Vec<u8>> = file.removed_lines().filter_map(code).collect();
    before.sort_unstable();
    let mut after: Vec<Vec<u8>> = file.added_lines().filter_map(code).collect();
    after.sort_unstable();
    let mut before = before.into_iter().peekable();
    after.into_iter().any(|line| {
        while before.next_if(|b| *b < line).is_some() {}
        before.next_if(|b| *b == line).is_none()
    })
}

/// The lines of a patch that are the first ones of the file.
trait Top {
    fn lines_at_the_top(&self) -> impl Iterator<Item = &[u8]>;
}

impl Top for ChangedFile {
    fn lines_at_the_top(&self) -> impl Iterator<Item = &[u8]> {
        self.hunks()
            .first()
            .into_iter()
            .flat_map(|hunk| self.lines(hunk))
            .filter(|line| line.new.is_some_and(|n| n <= 12))
            .map(|line| line.text)
    }
}

/// Whether a change to a source file touches the tests inside it.
async fn touches_inline_tests(change: &dyn Change, file: &ChangedFile) -> Result<bool, ChangeError> {
    let added: Vec<(u32, &[u8])> = file.added_lines().collect();
    let marks = |text: &[u8]| {
        let text = text.trim_ascii();
        let heads: [&[u8]; 8] = [
            b"#[test]",
            b"#[cfg(test)]",
            b"#[tokio::test",
            b"#[rstest",
            b"#[test_case",
            b"#[sqlx::test",
            b"proptest!",
            b"#[quickcheck",
        ];
        heads.iter().any(|h| text.starts_with(h))
    };
    if file.path.ends_with(".zig") {
        return Ok(added.iter().any(|(_, t)| t.trim_ascii().starts_with(b"test \"")));
    }
    if !file.path.ends_with(".rs") {
        return Ok(false);
    }
    if added.iter().any(|(_, t)| marks(t)) {
        return Ok(true);
    }
    let Some(blob) = change.read(Side::Right, &file.path).await? else {
        return Ok(false);
    };
    let ranges = test_modules(&blob_lines(&blob));
    Ok(added
        .iter()
        .any(|(n, text)| !text.trim_ascii().is_empty() && ranges.iter().any(|r| r.contains(&(*n as usize)))))
}

/// Where a Rust file's `#[cfg(test)]` modules are, in one-based lines: from the
/// attribute to the brace that closes the module at the module's own indent.
pub(super) fn test_modules(lines: &[&[u8]]) -> Vec<std::ops::RangeInclusive<usize>> {
    let indent = |l: &[u8]| l.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let text = line.trim_ascii();
        if !(text.starts_with(b"#[cfg(test)]") || text.starts_with(b"#[cfg(all(test")) {
            continue;
        }
        let depth = indent(line);
        let end = lines[start + 1..]
            .iter()
            .position(|l| {
                l.trim_ascii_end().starts_with(b"}") && depth == 0
                    || (depth > 0 && indent(l) == depth && l.trim_ascii() == b"}")
            })
            .map_or(lines.len(), |n| start + 1 + n + 1);
        found.push(start + 1..=end);
    }
    found
}

#[async_trait]
impl Analyzer for TestGap {
    fn name(&self) -> &'static str {
        "test_gap"
    }

    fn axis(&self) -> Axis {
        Axis::TestGap
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let mut untested = Vec::new();
        // A test that could not be read was touched all the same.
        let mut tested = change.files().iter().any(|f| {
            role(&f.path) == Role::Test
                && f.status != FileStatus::Removed
                && (f.unseen.is_some() || !f.hunks().is_empty())
        });
        for file in readable(change) {
            let Role::Source(comments) = role(&file.path) else {
                continue;
            };
            if file.status == FileStatus::Removed || !changes_code(file, comments) {
                continue;
            }
            tested = tested || touches_inline_tests(change, file).await?;
            untested.push(file.path.as_str());
        }
        let drafts = if tested || untested.is_empty() {
            Vec::new()
        } else {
            vec![gap(&untested)]
        };
        Ok(report(change, drafts))
    }

    /// There is no place to look at: whether a test is missing is for people.
    fn holds_in_blob(&self, _: &Finding, _: &[u8], _: &[&[u8]]) -> Option<bool> {
        None
    }
}

fn gap(untested: &[&str]) -> Draft {
    let mut list: String = untested
        .iter()
        .take(NAMED)
        .map(|path| format!("\n- {}", code_span(path)))
        .collect();
    if untested.len() > NAMED {
        list.push_str(&format!("\n- and {} more", untested.len() - NAMED));
    }
    let files = if untested.len() == 1 {
        "1 source file"
    } else {
        &format!("{} source files", untested.len())
    };
    let remark = Remark {
        rule: "test_gap/untouched".to_owned(),
        axis: Axis::TestGap,
        priority: Priority::P3,
        confidence: 0.6,
        title: format!("{files} changed, no test touched"),
        body: format!(
            "Code changed here and no test did:\n{list}\n\nIf tests already cover it, nothing is to be done."
        ),
        secret: false,
    };
    Draft {
        kind: Kind::Recommendation,
        ..remark.unanchored()
    }
}

#[cfg(test)]
mod tests;
