//! Expressions of GitHub Actions, `${{ … }}`: which values that an outsider chose do they put into text?
//!
//! Source of the list of contexts: GitHub, "Secure use reference", "Understanding the risk of
//! script injections", and the payloads of the events.

use std::collections::BTreeMap;

/// What an expression may carry into a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Carried {
    /// The path, in small letters: `github.event.issue.title`.
    pub(super) path: String,
    /// Whether it stands inside `toJSON(…)`.
    pub(super) whole: bool,
}

/// The inside of every `${{ … }}`; one that is not closed goes on to the end.
pub(super) fn expressions(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${{") {
        let inside = &rest[at + 3..];
        let mut quoted = false;
        let bytes = inside.as_bytes();
        let end = (0..bytes.len())
            .find(|i| {
                quoted ^= bytes[*i] == b'\'';
                !quoted && bytes[*i..].starts_with(b"}}")
            })
            .unwrap_or(bytes.len());
        found.push(&inside[..end]);
        rest = inside.get(end + 2..).unwrap_or_default();
    }
    found
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Path(String),
    Call(String),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
    Literal,
}

const SIGNS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", ",", "[", "]", ".",
];

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'*')
}

/// Splits an expression; `a['b'].c` is one path, `a.b.c`.
fn parts(text: &str) -> Vec<Part> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        if b == b'\'' {
            let (_, end) = literal(text, i);
            parts.push(Part::Literal);
            i = end;
        } else if is_name(b) {
            let (path, end) = path(text, i);
            let next = bytes[end..].iter().find(|b| !b.is_ascii_whitespace());
            parts.push(if next == Some(&b'(') {
                Part::Call(path)
            } else {
                Part::Path(path)
            });
            i = end;
        } else if let Some(sign) = SIGNS.iter().find(|s| bytes[i..].starts_with(s.as_bytes())) {
            parts.push(Part::Sign(sign));
            i += sign.len();
        } else {
            i += 1;
        }
    }
    parts
}

/// The string that opens at `at`, and where it ends. Two quotes are one inside it.
fn literal(text: &str, at: usize) -> (String, usize) {
    let bytes = text.as_bytes();
    let (mut value, mut i) = (Vec::new(), at + 1);
    while i < bytes.len() {
        if bytes[i] == b'\'' {
            if bytes.get(i + 1) != Some(&b'\'') {
                return (String::from_utf8_lossy(&value).into_owned(), i + 1);
            }
            i += 1;
        }
        value.push(bytes[i]);
        i += 1;
    }
    (String::from_utf8_lossy(&value).into_owned(), i)
}

/// The path that begins at `at`, in small letters, and where it ends.
fn path(text: &str, at: usize) -> (String, usize) {
    let bytes = text.as_bytes();
    let space = |mut i: usize| {
        while bytes.get(i).is_some_and(u8::is_ascii_whitespace) {
            i += 1;
        }
        i
    };
    let name = |i: usize| i + bytes[i..].iter().take_while(|b| is_name(**b)).count();
    let mut end = name(at);
    let mut path = text[at..end].to_ascii_lowercase();
    loop {
        let next = space(end);
        match bytes.get(next) {
            Some(b'.') => {
                let start = space(next + 1);
                let stop = if start < bytes.len() { name(start) } else { start };
                if stop == start {
                    return (path, end);
                }
                path.push('.');
                path.push_str(&text[start..stop].to_ascii_lowercase());
                end = stop;
            }
            Some(b'[') => {
                let start = space(next + 1);
                let (part, stop) = match bytes.get(start) {
                    Some(b'\'') => literal(text, start),
                    Some(b) if is_name(*b) => {
                        let stop = name(start);
                        (text[start..stop].to_owned(), stop)
                    }
                    _ => return (path, end),
                };
                let close = space(stop);
                if bytes.get(close) != Some(&b']') {
                    // An index that is worked out: any member.
                    return (path + ".*", stop);
                }
                path.push('.');
                path.push_str(&part.to_ascii_lowercase());
                end = close + 1;
            }
            _ => return (path, end),
        }
    }
}

/// The paths whose text an expression may yield: not those that are only compared, tested
/// or searched.
pub(super) fn carried(expression: &str) -> Vec<Carried> {
    const ANSWERS: &[&str] = &[
        "contains",
        "startswith",
        "endswith",
        "hashfiles",
        "success",
        "failure",
        "always",
        "cancelled",
    ];
    let parts = parts(expression);
    let mut found = Vec::new();
    // The calls and brackets that are open: whether one answers yes or no, whether one is toJSON.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut called: Option<&str> = None;
    let compares =
        |part: Option<&Part>| matches!(part, Some(Part::Sign("==" | "!=" | "<" | ">" | "<=" | ">=")));
    for (i, part) in parts.iter().enumerate() {
        match part {
            Part::Call(name) => called = Some(name),
            Part::Sign("(") => {
                let outer = open.last().copied().unwrap_or_default();
                let name = called.take().unwrap_or_default();
                open.push((outer.0 || ANSWERS.contains(&name), outer.1 || name == "tojson"));
            }
            Part::Sign(")") => {
                open.pop();
            }
            Part::Path(path) => {
                let before = i.checked_sub(1).and_then(|i| parts.get(i));
                let after = parts.get(i + 1);
                let (answered, whole) = open.last().copied().unwrap_or_default();
                let tested = before == Some(&Part::Sign("!")) || after == Some(&Part::Sign("&&"));
                if !answered && !tested && !compares(before) && !compares(after) {
                    found.push(Carried {
                        path: path.clone(),
                        whole,
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// What outsiders choose, and the events that bring it.
const CHOSEN: &[(&str, &[&str])] = &[
    ("github.head_ref", PULL),
    ("github.event.issue.title", ISSUE),
    ("github.event.issue.body", ISSUE),
    ("github.event.comment.body", COMMENT),
    ("github.event.review.body", &["pull_request_review"]),
    (
        "github.event.review_comment.body",
        &["pull_request_review_comment"],
    ),
    (
        "github.event.discussion.title",
        &["discussion", "discussion_comment"],
    ),
    (
        "github.event.discussion.body",
        &["discussion", "discussion_comment"],
    ),
    ("github.event.pull_request.title", PULL),
    ("github.event.pull_request.body", PULL),
    ("github.event.pull_request.head.ref", PULL),
    ("github.event.pull_request.head.label", PULL),
    ("github.event.pull_request.head.repo.default_branch", PULL),
    ("github.event.pull_request.head.repo.description", PULL),
    ("github.event.pull_request.head.repo.homepage", PULL),
    ("github.event.changes.title.from", EDITED),
    ("github.event.changes.body.from", EDITED),
    ("github.event.pages.*.page_name", &["gollum"]),
    ("github.event.pages.*.title", &["gollum"]),
    ("github.event.commits.*.message", &["push"]),
    ("github.event.commits.*.author.name", &["push"]),
    ("github.event.commits.*.author.email", &["push"]),
    ("github.event.head_commit.message", &["push"]),
    ("github.event.head_commit.author.name", &["push"]),
    ("github.event.head_commit.author.email", &["push"]),
    ("github.event.head_commit.committer.name", &["push"]),
    ("github.event.head_commit.committer.email", &["push"]),
    ("github.event.workflow_run.head_branch", RUN),
    ("github.event.workflow_run.display_title", RUN),
    ("github.event.workflow_run.head_commit.message", RUN),
    ("github.event.workflow_run.head_commit.author.name", RUN),
    ("github.event.workflow_run.head_commit.author.email", RUN),
    ("github.event.workflow_run.head_repository.description", RUN),
    ("github.event.workflow_run.pull_requests.*.head.ref", RUN),
];

const PULL: &[&str] = &[
    "pull_request",
    "pull_request_target",
    "pull_request_review",
    "pull_request_review_comment",
];
const ISSUE: &[&str] = &["issues", "issue_comment"];
const COMMENT: &[&str] = &[
    "issue_comment",
    "discussion_comment",
    "commit_comment",
    "pull_request_review_comment",
];
const EDITED: &[&str] = &["issues", "pull_request", "pull_request_target", "issue_comment"];
const RUN: &[&str] = &["workflow_run"];

/// The events that bring what an outsider chose into `carried`; empty where nothing is.
pub(super) fn brought_by(carried: &Carried) -> Vec<&'static str> {
    let path: Vec<&str> = carried.path.split('.').collect();
    let mut events: Vec<&str> = CHOSEN
        .iter()
        .filter(|(chosen, _)| {
            let chosen: Vec<&str> = chosen.split('.').collect();
            let same = |(a, b): (&&str, &&str)| a == b || *a == "*" || *b == "*";
            let covers = path.iter().zip(&chosen).all(same);
            covers && (path.len() == chosen.len() || (carried.whole && path.len() < chosen.len()))
        })
        .flat_map(|(_, events)| events.iter().copied())
        .collect();
    events.sort_unstable();
    events.dedup();
    events
}

/// Whether a path names the code of a pull request or of the run that came before.
pub(super) fn names_foreign_code(path: &str) -> bool {
    matches!(
        path,
        "github.head_ref"
            | "github.event.pull_request.head.sha"
            | "github.event.pull_request.head.ref"
            | "github.event.pull_request.head.label"
            | "github.event.pull_request.head.repo.full_name"
            | "github.event.pull_request.head.repo.clone_url"
            | "github.event.pull_request.merge_commit_sha"
            | "github.event.workflow_run.head_sha"
            | "github.event.workflow_run.head_branch"
            | "github.event.workflow_run.head_commit.id"
            | "github.event.workflow_run.head_repository.full_name"
    )
}

/// What the variables of an `env` hold: the paths that each carries.
pub(super) type Env = BTreeMap<String, Vec<Carried>>;

/// Every path that the expressions of `text` carry, those behind `env.NAME` included.
pub(super) fn all_carried(text: &str, env: &Env) -> Vec<Carried> {
    expressions(text)
        .into_iter()
        .flat_map(carried)
        .flat_map(|one| match one.path.strip_prefix("env.") {
            Some(name) => env.get(name).cloned().unwrap_or_default(),
            None => vec![one],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        all_carried(text, &Env::new())
            .into_iter()
            .map(|c| c.path)
            .collect()
    }

    #[test]
    fn paths_are_read_however_they_are_spelt() {
        for text in [
            "${{ github.event.issue.title }}",
            "${{github.event.issue.title}}",
            "${{ GitHub.Event['issue'].TITLE }}",
            "${{ github['event']['issue']['title'] }}",
            "${{ github . event [ 'issue' ] . title }}",
            "${{ format('a {0}', github.event.issue.title) }}",
            "${{ 'x}}' == 'y' || github.event.issue.title }}",
            "${{ github.event.issue.title",
        ] {
            assert_eq!(paths(text), ["github.event.issue.title"], "{text}");
        }
        assert_eq!(
            paths("${{ join(github.event.commits.*.message, 'it''s') }}"),
            ["github.event.commits.*.message"]
        );
    }

    #[test]
    fn what_is_only_compared_or_tested_is_not_carried() {
        for text in [
            "${{ github.event.issue.title == 'a' }}",
            "${{ 'a' != github.head_ref }}",
            "${{ contains(github.event.comment.body, '/run') }}",
            "${{ startsWith(github.head_ref, 'x') && 'a' || 'b' }}",
            "${{ !github.head_ref }}",
            "${{ github.head_ref && 'a' || 'b' }}",
            "$ { { github.head_ref } }",
            "github.head_ref",
        ] {
            assert_eq!(paths(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_whole_object_brings_all_that_is_in_it() {
        let one = |text| brought_by(&carried(text)[0]);
        assert_eq!(one("toJSON(github.event.issue)"), ["issue_comment", "issues"]);
        assert!(one("toJson(github.event)").contains(&"workflow_run"));
        assert_eq!(one("github.event.issue"), [""; 0]);
        assert_eq!(one("github.event.issue.number"), [""; 0]);
        assert_eq!(one("toJSON(github.event.issue.number)"), [""; 0]);
        assert_eq!(one("github.event.commits[0].message"), ["push"]);
    }
}
