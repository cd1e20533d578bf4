//! What the rules that read added lines have in common: which files they can
//! see, what they say of the others, and how a remark about a line is drafted.

use std::collections::BTreeMap;

use crate::{
    domain::{
        diff::ChangedFile,
        review::{
            boundary::MAX_QUOTE,
            finding::{Anchor, Axis, Confidence, Draft, Kind, Priority, Provenance, Side},
            reviewer::ContributionState,
        },
        text::visible_path,
    },
    ports::{
        analyzer::Report,
        change::{Change, ChangeError},
    },
};

/// Paths that a note names before it only counts.
const NAMED: usize = 5;

/// Findings that one rule set hands in for one change. A change with more is in
/// such a state that the rest adds nothing but work.
const MOST: usize = 500;

/// Files whose added lines can be read.
pub(super) fn readable(change: &dyn Change) -> impl Iterator<Item = &ChangedFile> {
    change
        .files()
        .iter()
        .filter(|file| !file.binary && file.unseen.is_none())
}

/// The text of `file` on the head. One that is too large to be read whole is made of its
/// added lines, each on its line, as far as a million lines go.
pub(super) async fn head_text(change: &dyn Change, file: &ChangedFile) -> Result<Vec<u8>, ChangeError> {
    const LAST: u32 = 1_000_000;
    if let Some(blob) = change.read(Side::Right, &file.path).await? {
        return Ok(blob);
    }
    let (mut text, mut line) = (Vec::new(), 1);
    for (number, added) in file.added_lines().take_while(|(n, _)| *n <= LAST) {
        while line < number {
            text.push(b'\n');
            line += 1;
        }
        text.extend_from_slice(added);
    }
    Ok(text)
}

/// The lines of `file` that are new in more than their place and their indent: added, and
/// not among the removed ones.
pub(super) fn new_lines(file: &ChangedFile) -> Vec<u32> {
    let mut removed: BTreeMap<&[u8], usize> = BTreeMap::new();
    for (_, text) in file.removed_lines() {
        *removed.entry(text.trim_ascii()).or_default() += 1;
    }
    file.added_lines()
        .filter(|(_, text)| match removed.get_mut(text.trim_ascii()) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        })
        .map(|(number, _)| number)
        .collect()
}

/// Whether a file is somebody else's or a machine's: vendored, bundled, generated.
pub(super) fn is_vendored(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    lower.split('/').any(|part| {
        matches!(
            part,
            "vendor"
                | "vendored"
                | "third_party"
                | "third-party"
                | "node_modules"
                | "bower_components"
                | "site-packages"
                | "dist"
                | "__generated__"
        )
    }) || [".min.", ".bundle.", ".generated.", ".pb."]
        .iter()
        .any(|part| name.contains(part))
}

/// A report of `drafts`, `Partial` when the text of a changed file was not seen.
///
/// A file that is binary by content has no lines, and rules about lines have
/// nothing to say of it: a picture does not make the review partial, but the
/// note tells. One whose name promises text is another matter: a NUL byte must
/// not be a way to hide a line.
///
/// The heaviest [`MOST`] findings are handed in; when there are more, the rest is
/// counted and the report is partial.
pub(super) fn report(change: &dyn Change, drafts: Vec<Draft>) -> Report {
    let mut unseen: Vec<&str> = change.coverage().unseen.iter().map(|u| u.path.as_str()).collect();
    let mut binary = 0usize;
    for file in change.files() {
        if file.unseen.is_some() || (file.binary && promises_text(&file.path)) {
            unseen.push(&file.path);
        } else if file.binary {
            binary += 1;
        }
    }
    let mut report = report_but(change, drafts, unseen);
    if binary > 0 {
        let s = if binary == 1 { "file has" } else { "files have" };
        let words = format!("{binary} binary {s} no lines to judge");
        report.note = Some(match report.note {
            Some(note) => format!("{note}; {words}"),
            None => words,
        });
    }
    report
}

/// A report of `drafts` by a rule set that judges some files only: `Partial` when
/// one of those could not be read (`unseen`), or when it is not known which files
/// changed. The heaviest [`MOST`] findings are handed in, as in [`report`].
pub(super) fn report_but(change: &dyn Change, mut drafts: Vec<Draft>, mut unseen: Vec<&str>) -> Report {
    unseen.sort_unstable();
    unseen.dedup();
    let mut notes = Vec::new();
    if let Some(why) = &change.coverage().truncated {
        notes.push(format!("the list of changed files is not complete ({why})"));
    }
    if !unseen.is_empty() {
        notes.push(format!("not read: {}", listed(&unseen)));
    }
    if drafts.len() > MOST {
        notes.push(format!("{} more findings are not listed", drafts.len() - MOST));
        drafts.sort_by_key(|d| d.priority);
        drafts.truncate(MOST);
    }
    Report {
        state: if notes.is_empty() {
            ContributionState::Complete
        } else {
            ContributionState::Partial
        },
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        drafts,
    }
}

/// The first few of `paths` and how many more there are.
pub(super) fn listed(paths: &[&str]) -> String {
    let shown: Vec<String> = paths.iter().take(NAMED).map(|p| visible_path(p)).collect();
    let mut text = shown.join(", ");
    if paths.len() > NAMED {
        text.push_str(&format!(" and {} more", paths.len() - NAMED));
    }
    text
}

/// Whether a file of that name is read as text by the programs it is meant for.
fn promises_text(path: &str) -> bool {
    const TEXT: &[&str] = &[
        "adoc",
        "asc",
        "bash",
        "bat",
        "bazel",
        "bzl",
        "c",
        "cc",
        "cfg",
        "clj",
        "cmake",
        "conf",
        "crt",
        "csr",
        "cpp",
        "cs",
        "csproj",
        "csv",
        "css",
        "cxx",
        "dart",
        "env",
        "erb",
        "erl",
        "ex",
        "exs",
        "fs",
        "go",
        "gradle",
        "graphql",
        "h",
        "hcl",
        "hpp",
        "hs",
        "htm",
        "html",
        "ini",
        "ipynb",
        "java",
        "js",
        "json",
        "jsonc",
        "jsx",
        "key",
        "kt",
        "kts",
        "less",
        "lock",
        "lua",
        "m",
        "md",
        "mdx",
        "mjs",
        "cjs",
        "ml",
        "mm",
        "nix",
        "php",
        "pem",
        "pl",
        "pm",
        "properties",
        "proto",
        "ps1",
        "pub",
        "py",
        "pyi",
        "r",
        "rb",
        "rs",
        "rst",
        "sass",
        "scala",
        "scss",
        "sh",
        "sol",
        "sql",
        "svelte",
        "svg",
        "swift",
        "tf",
        "tfvars",
        "toml",
        "tpl",
        "ts",
        "tsx",
        "tsv",
        "txt",
        "vue",
        "xml",
        "yaml",
        "yml",
        "zig",
        "zsh",
    ];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    // `Dockerfile`, `id_rsa`, `configure`, `.npmrc`: nothing in the name says that it
    // is no text, and most that is named so is.
    match name.rsplit_once('.') {
        None | Some(("", _)) => true,
        Some((_, extension)) => name.starts_with(".env.") || TEXT.contains(&extension),
    }
}

/// What a remark about one line says.
pub(super) struct Remark {
    /// The rule's whole id, `<analyzer>/<rule>`.
    pub(super) rule: String,
    /// The axis.
    pub(super) axis: Axis,
    /// The weight.
    pub(super) priority: Priority,
    /// How sure, 0 to 1.
    pub(super) confidence: f64,
    /// One line.
    pub(super) title: String,
    /// Markdown.
    pub(super) body: String,
    /// Whether the line holds a secret.
    pub(super) secret: bool,
}

impl Remark {
    /// The remark as a draft about line `line` of `file` on the head.
    pub(super) fn on_line(self, file: &ChangedFile, line: u32, text: &[u8]) -> Draft {
        self.on_side(file, Side::Right, line, text)
    }

    /// The remark as a draft about line `line` of `file` on `side`.
    pub(super) fn on_side(self, file: &ChangedFile, side: Side, line: u32, text: &[u8]) -> Draft {
        let anchor = Anchor {
            path: file.path_on(side).to_owned(),
            side,
            start_line: line,
            end_line: line,
        };
        Draft {
            anchor: Some(anchor),
            quote: Some(String::from_utf8_lossy(text).into_owned()),
            // A line that is too long to be kept is masked like a secret.
            secret: self.secret || text.len() > MAX_QUOTE,
            ..self.unanchored()
        }
    }

    /// The remark as a draft about the change as a whole.
    pub(super) fn unanchored(self) -> Draft {
        Draft {
            kind: Kind::Bug,
            priority: self.priority,
            confidence: Confidence::new(self.confidence).unwrap_or(Confidence::BLOCKING),
            axis: self.axis,
            title: self.title,
            body: self.body,
            suggestion: None,
            anchor: None,
            quote: None,
            secret: self.secret,
            provenance: Provenance::Rule(self.rule),
        }
    }
}

/// Whether `path` is prose or a translation, where right-to-left text and
/// examples of all kinds are at home.
pub(super) fn is_prose(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, e)| e);
    matches!(
        extension,
        "md" | "markdown"
            | "mdx"
            | "rst"
            | "adoc"
            | "asciidoc"
            | "txt"
            | "text"
            | "po"
            | "pot"
            | "xlf"
            | "xliff"
            | "arb"
            | "strings"
            | "resx"
            | "ftl"
            | "tex"
            | "org"
            | "csv"
            | "tsv"
            | "srt"
            | "vtt"
            | "html"
            | "htm"
            | "wiki"
            | "stringsdict"
            | "lproj"
    ) || lower.split('/').any(|part| {
        matches!(
            part,
            "locale"
                | "locales"
                | "lang"
                | "langs"
                | "i18n"
                | "l10n"
                | "translations"
                | "translation"
                | "intl"
                | "messages"
        ) || part.starts_with("values-")
            || part.ends_with(".lproj")
    }) || matches!(
        name,
        "license" | "authors" | "readme" | "changelog" | "contributors" | "notice" | "copying"
    )
}
