//! Pull requests: read and merged.

use serde_json::{Value, json};

use super::{Answer, Call, Outcome, answer::list as paged};
use crate::emulator::{
    refusal::Refusal,
    state::{MergeMethod, Pull, World},
};

/// Most files that are ever listed.
const FILES: usize = 3000;
/// Most commits that are ever listed.
const COMMITS: usize = 250;
/// Limits of the diff media type.
const DIFF_FILES: usize = 300;
const DIFF_LINES: usize = 20_000;

/// `GET /repos/{owner}/{repo}/pulls`
pub(crate) fn list(world: &World, call: &Call, repo: u64) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let state = call.asks("state").unwrap_or("open");
    let wanted = |p: &&Pull| {
        let state = match state {
            "all" => true,
            "closed" => !p.open,
            _ => p.open,
        };
        let base = call.asks("base").is_none_or(|b| b == p.base_branch);
        let head = call.asks("head").is_none_or(|h| {
            h.split_once(':')
                .is_some_and(|(o, b)| b == p.head.branch && world.login(p.head.owner).eq_ignore_ascii_case(o))
        });
        state && base && head
    };
    let mut pulls: Vec<&Pull> = found.pulls.values().filter(wanted).collect();
    let sort = call.asks("sort").unwrap_or("created");
    if sort == "updated" {
        pulls.sort_by_key(|p| (p.updated_at, p.number));
    }
    // `created` goes newest first by default, the others oldest first (GitHub).
    let descending = match call.asks("direction") {
        Some(direction) => direction == "desc",
        None => sort == "created",
    };
    if descending {
        pulls.reverse();
    }
    let shown = pulls.iter().map(|p| world.pull_json(repo, p, false)).collect();
    Ok(paged(world, call, Some(repo), shown))
}

/// `GET /repos/{owner}/{repo}/pulls/{n}`, as JSON or as a diff.
pub(crate) fn get(world: &World, call: &Call, repo: u64, number: u64) -> Outcome {
    let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
    if !call.accept.contains("diff") {
        return Ok(Answer::ok(world.pull_json(repo, pull, true)));
    }
    let files = world.pull_changes(repo, number)?;
    let refuse = |what: String| {
        let text = format!("Sorry, the diff exceeded the maximum number of {what}");
        let mut refusal = Refusal::new(406, text);
        let error = json!({"resource": "PullRequest", "field": "diff", "code": "too_large"});
        refusal.errors = Some(json!([error]));
        Err(refusal)
    };
    if files.len() > DIFF_FILES {
        return refuse(format!("files ({DIFF_FILES})"));
    }
    let from = world.git.merge_base(repo, &pull.base_sha, &pull.head.sha)?;
    let patch = world.git.patch(repo, &from, &pull.head.sha)?;
    if patch.iter().filter(|b| **b == b'\n').count() > DIFF_LINES {
        return refuse(format!("lines ({DIFF_LINES})"));
    }
    Ok(Answer::raw("application/vnd.github.diff; charset=utf-8", patch))
}

/// `GET /repos/{owner}/{repo}/pulls/{n}/files`
pub(crate) fn files(world: &World, call: &Call, repo: u64, number: u64) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
    let files = world.pull_changes(repo, number)?;
    let shown: Vec<Value> = files
        .iter()
        .take(FILES)
        .map(|f| world.file_json(found, &pull.head.sha, f))
        .collect();
    Ok(paged(world, call, Some(repo), shown))
}

/// `GET /repos/{owner}/{repo}/pulls/{n}/commits`
pub(crate) fn commits(world: &World, call: &Call, repo: u64, number: u64) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
    let all = world.git.commits(repo, &pull.base_sha, &pull.head.sha);
    let shown: Result<Vec<Value>, _> = all
        .iter()
        .take(COMMITS)
        .map(|c| world.commit_json(found, c))
        .collect();
    Ok(paged(world, call, Some(repo), shown?))
}

/// `PUT /repos/{owner}/{repo}/pulls/{n}/merge`: obeys branch protection.
pub(crate) fn merge(world: &mut World, call: &Call, repo: u64, number: u64) -> Outcome {
    let (actor, _) = world.actor(&call.caller)?;
    let method = match call.text("merge_method")?.as_deref() {
        None | Some("merge") => MergeMethod::Merge,
        Some("squash") => MergeMethod::Squash,
        Some(_) => {
            return Err(Refusal::new(
                405,
                "Rebase merges are not allowed on this repository.",
            ));
        }
    };
    let (sha, title, message) = (
        call.text("sha")?,
        call.text("commit_title")?,
        call.text("commit_message")?,
    );
    let words = (title.as_deref(), message.as_deref());
    let merged = world.merge_pull(repo, number, actor, method, sha.as_deref(), words)?;
    Ok(Answer::ok(json!({
        "sha": merged,
        "merged": true,
        "message": "Pull Request successfully merged",
    })))
}
