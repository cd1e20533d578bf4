//! Files, blobs, refs, commits and comparisons.

use base64::Engine;
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};

use super::{Answer, Call, Outcome, answer::page};
use crate::emulator::{
    git::Entry,
    refusal::Refusal,
    shapes::{PATH, node_id},
    state::{Repo, World},
};

/// Above this the contents are given raw only.
const MEGABYTE: usize = 1024 * 1024;
/// Above this a file is not given at all.
const MOST: usize = 100 * MEGABYTE;
/// Most entries of a folder's listing.
const FOLDER: usize = 1000;
/// Most entries of a tree.
const TREE: usize = 100_000;
/// Most files of a comparison.
const COMPARE_FILES: usize = 300;

fn too_large() -> Refusal {
    let text = "This API returns blobs up to 100 MB in size. The requested blob is too large to fetch via the API, but you can always clone the repository via Git.";
    let mut refusal = Refusal::new(403, text);
    refusal.errors = Some(json!([{"resource": "Blob", "field": "data", "code": "too_large"}]));
    refusal
}

fn encoded(bytes: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut out = String::with_capacity(text.len() + text.len() / 60 + 1);
    for (at, c) in text.chars().enumerate() {
        out.push(c);
        if at % 60 == 59 {
            out.push('\n');
        }
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// `GET /repos/{owner}/{repo}/git/blobs/{sha}`
pub(crate) fn blob(world: &World, call: &Call, repo: u64, sha: &str) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let bytes = world.git.blob(repo, sha).ok_or_else(Refusal::not_found)?;
    if bytes.len() > MOST {
        return Err(too_large());
    }
    if call.accept.contains("raw") {
        return Ok(Answer::raw("application/vnd.github.raw", bytes));
    }
    let url = world.api(&format!("/repos/{}/git/blobs/{sha}", world.full_name(found)));
    Ok(Answer::ok(json!({
        "sha": sha,
        "node_id": node_id("Blob", found.id),
        "url": url,
        "size": bytes.len(),
        "content": encoded(&bytes),
        "encoding": "base64",
    })))
}

/// `GET /repos/{owner}/{repo}/git/trees/{sha}`
pub(crate) fn tree(world: &World, call: &Call, repo: u64, name: &str) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let of = world
        .git
        .resolve(repo, name)
        .or_else(|| world.git.tree(repo, name))
        .ok_or_else(Refusal::not_found)?;
    let sha = world.git.tree(repo, &of).ok_or_else(Refusal::not_found)?;
    let root = world.api(&format!("/repos/{}/git", world.full_name(found)));
    // GitHub takes the mere presence of the parameter for a yes.
    let entries = world
        .git
        .tree_entries(repo, &sha, call.asks("recursive").is_some());
    let cut = entries.len() > TREE;
    let shown = entries.into_iter().take(TREE).map(|entry| {
        let mut shown = json!({
            "path": entry.path,
            "mode": entry.mode,
            "type": entry.kind,
            "sha": entry.sha,
        });
        match entry.kind.as_str() {
            "tree" => shown["url"] = json!(format!("{root}/trees/{}", entry.sha)),
            "blob" => {
                let size = world.git.blob(repo, &entry.sha).map_or(0, |blob| blob.len());
                shown["size"] = json!(size);
                shown["url"] = json!(format!("{root}/blobs/{}", entry.sha));
            }
            _ => {}
        }
        shown
    });
    let shown: Vec<Value> = shown.collect();
    Ok(Answer::ok(json!({
        "sha": sha,
        "url": format!("{root}/trees/{sha}"),
        "tree": shown,
        "truncated": cut,
    })))
}

/// `GET /repos/{owner}/{repo}/git/ref/{ref}`
pub(crate) fn git_ref(world: &World, repo: u64, name: &str) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let full = format!("refs/{name}");
    let sha = (name.contains('/') && !name.contains(['^', '~', ':', '@']))
        .then(|| world.git.tip(repo, &full))
        .flatten()
        .ok_or_else(Refusal::not_found)?;
    let root = world.api(&format!("/repos/{}/git", world.full_name(found)));
    Ok(Answer::ok(json!({
        "ref": full,
        "node_id": node_id("Ref", found.id),
        "url": format!("{root}/{}", utf8_percent_encode(&full, PATH)),
        "object": {"sha": sha, "type": "commit", "url": format!("{root}/commits/{sha}")},
    })))
}

/// `GET /repos/{owner}/{repo}/commits/{ref}`
pub(crate) fn commit(world: &World, repo: u64, name: &str) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let sha = world
        .git
        .resolve(repo, name)
        .ok_or_else(|| Refusal::new(422, format!("No commit found for SHA: {name}")))?;
    Ok(Answer::ok(world.commit_json(found, &sha)?))
}

/// `GET /repos/{owner}/{repo}/contents/{path}`
pub(crate) fn get(world: &World, call: &Call, repo: u64, path: &str) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let name = call.asks("ref").unwrap_or(&found.default_branch);
    let commit = world
        .git
        .resolve(repo, name)
        .ok_or_else(|| Refusal::new(404, format!("No commit found for the ref {name}")))?;
    let path = path.trim_matches('/');
    let place = Place {
        world,
        repo: found,
        name,
        commit: &commit,
    };
    let entry = if path.is_empty() {
        None
    } else {
        world.git.entry(repo, &commit, path)
    };
    let entry = match entry {
        None if path.is_empty() => return Ok(place.folder("")),
        None => return Err(Refusal::not_found()),
        Some(entry) => entry,
    };
    match (entry.kind.as_str(), entry.mode.as_str()) {
        ("tree", _) => Ok(place.folder(path)),
        ("commit", _) => {
            let mut shown = place.shown(&entry, "submodule", 0);
            shown["submodule_git_url"] = Value::Null;
            Ok(Answer::ok(shown))
        }
        (_, "120000") => {
            let target = world.git.blob(repo, &entry.sha).unwrap_or_default();
            let target = String::from_utf8_lossy(&target).into_owned();
            let pointed = joined(path, &target).and_then(|p| world.git.entry(repo, &commit, &p));
            match pointed.filter(|e| e.kind == "blob" && e.mode != "120000") {
                Some(file) => place.file(
                    call,
                    &Entry {
                        path: path.to_owned(),
                        ..file
                    },
                ),
                None => {
                    let mut shown = place.shown(&entry, "symlink", target.len());
                    shown["target"] = json!(target);
                    Ok(Answer::ok(shown))
                }
            }
        }
        _ => place.file(call, &entry),
    }
}

/// Where a link points, if it stays inside the repository.
fn joined(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            other => parts.push(other),
        }
    }
    Some(parts.join("/"))
}

struct Place<'a> {
    world: &'a World,
    repo: &'a Repo,
    /// The ref as it was asked for.
    name: &'a str,
    commit: &'a str,
}

impl Place<'_> {
    fn shown(&self, entry: &Entry, kind: &str, size: usize) -> Value {
        let full = self.world.full_name(self.repo);
        let root = self.world.api(&format!("/repos/{full}"));
        let base = &self.world.base;
        let (name, path) = (self.name, utf8_percent_encode(&entry.path, PATH));
        let last = entry.path.rsplit('/').next().unwrap_or_default();
        let url = format!("{root}/contents/{path}?ref={}", utf8_percent_encode(name, PATH));
        let kind_url = if entry.kind == "tree" { "trees" } else { "blobs" };
        let git = format!("{root}/git/{kind_url}/{}", entry.sha);
        let page = format!("{base}/{full}/blob/{name}/{path}");
        let raw = (kind == "file" || kind == "symlink").then(|| format!("{base}/{full}/raw/{name}/{path}"));
        json!({
            "type": kind,
            "size": size,
            "name": last,
            "path": entry.path,
            "sha": entry.sha,
            "url": url,
            "git_url": git,
            "html_url": page,
            "download_url": raw,
            "_links": {"self": url, "git": git, "html": page},
        })
    }

    fn folder(&self, path: &str) -> Answer {
        let entries = self.world.git.folder_entries(self.repo.id, self.commit, path);
        let shown = entries.iter().take(FOLDER).map(|e| {
            let kind = match (e.kind.as_str(), e.mode.as_str()) {
                ("tree", _) => "dir",
                (_, "120000") => "symlink",
                // A submodule is listed as a file, for old clients.
                _ => "file",
            };
            self.shown(e, kind, e.size)
        });
        Answer::ok(shown.collect())
    }

    fn file(&self, call: &Call, entry: &Entry) -> Outcome {
        let bytes = self
            .world
            .git
            .blob(self.repo.id, &entry.sha)
            .ok_or_else(Refusal::not_found)?;
        if bytes.len() > MOST {
            return Err(too_large());
        }
        if call.accept.contains("raw") {
            return Ok(Answer::raw("application/vnd.github.raw", bytes));
        }
        let mut shown = self.shown(entry, "file", bytes.len());
        let small = bytes.len() <= MEGABYTE;
        shown["content"] = json!(if small { encoded(&bytes) } else { String::new() });
        shown["encoding"] = json!(if small { "base64" } else { "none" });
        Ok(Answer::ok(shown))
    }
}

/// `GET /repos/{owner}/{repo}/compare/{base}...{head}`: against the merge base.
pub(crate) fn compare(world: &World, call: &Call, repo: u64, basehead: &str) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let (base, head) = basehead.split_once("...").ok_or_else(Refusal::not_found)?;
    let sha = |name: &str| match name.split_once(':') {
        Some((owner, branch)) => {
            let from = world.account_by_login(owner)?.id;
            if from == found.owner {
                return world.git.resolve(repo, branch);
            }
            // The commit of a fork is here only as a pull request's head.
            let pulls = found.pulls.values();
            let mut same = pulls.filter(|p| p.head.owner == from && p.head.branch == branch);
            same.next().map(|p| p.head.sha.clone())
        }
        None => world.git.resolve(repo, name),
    };
    let base_sha = sha(base).ok_or_else(Refusal::not_found)?;
    let head_sha = sha(head).ok_or_else(Refusal::not_found)?;
    let none = |_| Refusal::new(404, format!("No common ancestor between {base} and {head}."));
    let from = world.git.merge_base(repo, &base_sha, &head_sha).map_err(none)?;
    let ahead = world.git.commits(repo, &base_sha, &head_sha);
    let behind = world.git.commits(repo, &head_sha, &base_sha).len();
    let status = match (ahead.len(), behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let total = ahead.len();
    let paged = call.asks("page").is_some() || call.asks("per_page").is_some();
    let shown = page(world, call, Some(repo), ahead);
    let at = shown.number;
    let all = || world.git.commits(repo, &base_sha, &head_sha);
    let commits = if paged {
        shown.items
    } else {
        all().into_iter().take(250).collect()
    };
    let commits: Result<Vec<Value>, _> = commits.iter().map(|c| world.commit_json(found, c)).collect();
    let files: Vec<Value> = if at == 1 {
        let changes = world.changes(repo, &base_sha, &head_sha)?;
        let first = changes.iter().take(COMPARE_FILES);
        first.map(|f| world.file_json(found, &head_sha, f)).collect()
    } else {
        Vec::new()
    };
    let full = world.full_name(found);
    let page_url = format!("{}/{full}/compare/{base}...{head}", world.base);
    let mut answer = Answer::ok(json!({
        "url": world.api(&format!("/repos/{full}/compare/{base}...{head}")),
        "html_url": page_url,
        "permalink_url": format!("{}/{full}/compare/{base_sha}...{head_sha}", world.base),
        "diff_url": format!("{page_url}.diff"),
        "patch_url": format!("{page_url}.patch"),
        "base_commit": world.commit_json(found, &base_sha)?,
        "merge_base_commit": world.commit_json(found, &from)?,
        "status": status,
        "ahead_by": total,
        "behind_by": behind,
        "total_commits": total,
        "commits": commits?,
        "files": files,
    }));
    if paged {
        answer.headers.extend(shown.link.map(|l| ("link", l)));
    }
    Ok(answer)
}
