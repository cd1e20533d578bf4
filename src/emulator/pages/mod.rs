//! Plain pages: what a person would see on GitHub. Everything shown is untrusted:
//! templates escape, Markdown is cleaned, and no page has a script.

mod pull;

use askama::Template;
use percent_encoding::percent_decode_str;

use super::state::{Pull, World};

/// Renders the page at a path; `None` is "not found".
pub(crate) fn show(world: &World, path: &str) -> Option<String> {
    let decoded: Vec<String> = path
        .trim_matches('/')
        .split('/')
        .map(|s| percent_decode_str(s).decode_utf8_lossy().into_owned())
        .collect();
    let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
    match parts[..] {
        [""] => index(world, None),
        [owner, name] => index(world, Some(world.repo_named(owner, name)?)),
        [owner, name, "pull", number] => {
            let repo = world.repo_named(owner, name)?;
            let pull = world.pull(repo, number.parse().ok()?)?;
            pull::render(world, repo, pull)
        }
        _ => None,
    }
}

#[derive(Template)]
#[template(path = "emulator/index.html")]
struct Index {
    title: String,
    repos: Vec<RepoRow>,
}

struct RepoRow {
    name: String,
    pulls: Vec<PullRow>,
}

struct PullRow {
    number: u64,
    title: String,
    state: &'static str,
    author: String,
    blocked: bool,
}

fn index(world: &World, only: Option<u64>) -> Option<String> {
    let chosen = world.repos.values().filter(|r| only.is_none_or(|id| id == r.id));
    let repos: Vec<RepoRow> = chosen
        .map(|repo| RepoRow {
            name: world.full_name(repo),
            pulls: repo
                .pulls
                .values()
                .rev()
                .map(|p| PullRow {
                    number: p.number,
                    title: p.title.clone(),
                    state: state(p),
                    author: world.login(p.author).to_owned(),
                    blocked: p.open && !world.blockers(repo.id, p).is_empty(),
                })
                .collect(),
        })
        .collect();
    let title = match (only, repos.first()) {
        (Some(_), Some(repo)) => repo.name.clone(),
        _ => "Repositories".to_owned(),
    };
    Index { title, repos }.render().ok()
}

/// The word on a pull request's badge.
fn state(pull: &Pull) -> &'static str {
    match (pull.open, pull.draft, pull.merged.is_some()) {
        (true, true, _) => "Draft",
        (true, false, _) => "Open",
        (false, _, true) => "Merged",
        (false, _, false) => "Closed",
    }
}
