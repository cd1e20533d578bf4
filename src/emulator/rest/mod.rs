//! The REST interface: only the routes that Jury calls or the demo's person
//! needs, at `/api/v3` as on GitHub Enterprise Server.
//!
//! One `match` on the method and the path's segments: names may be followed after
//! a rename, so the repository is found before the route below it.

mod answer;
mod apps;
mod auth;
mod checks;
mod comments;
mod contents;
mod pulls;
mod repos;
mod reviews;

pub(crate) use answer::{Answer, Content, Outcome};
pub(crate) use auth::{Caller, HOURLY, authenticate, leave, rate, revoke};

use axum::http::Method;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::emulator::{refusal::Refusal, state::World};

/// A request that knows who sent it.
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Below `/api/v3`, as it was sent.
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Value,
    pub(crate) accept: String,
    pub(crate) caller: Caller,
}

/// How much a permission allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Read,
    Write,
}

impl Call {
    /// A query parameter.
    pub(crate) fn asks(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str()).filter(|v| !v.is_empty())
    }

    /// A text of the body; `null` is as good as missing.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Refusal> {
        text_of(&self.body, name)
    }

    /// A text that must be there.
    pub(crate) fn needed(&self, name: &str) -> Result<String, Refusal> {
        self.text(name)?
            .ok_or_else(|| Refusal::request(&format!("\"{name}\" wasn't supplied.")))
    }
}

/// A text property; anything else than text or `null` is refused.
pub(crate) fn text_of(value: &Value, name: &str) -> Result<Option<String>, Refusal> {
    match &value[name] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        other => Err(Refusal::request(&format!(
            "For 'properties/{name}', {other} is not a string."
        ))),
    }
}

/// A whole number; anything else than a number or `null` is refused.
pub(crate) fn number_of(value: &Value, name: &str) -> Result<Option<u32>, Refusal> {
    match &value[name] {
        Value::Null => Ok(None),
        other => match other.as_u64().and_then(|n| u32::try_from(n).ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(Refusal::request(&format!(
                "For 'properties/{name}', {other} is not an integer."
            ))),
        },
    }
}

/// Answers one request.
pub(crate) fn answer(world: &mut World, call: &Call) -> Outcome {
    let decoded: Vec<String> = call
        .path
        .trim_matches('/')
        .split('/')
        .map(|s| percent_decode_str(s).decode_utf8_lossy().into_owned())
        .collect();
    let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
    match (call.method.as_str(), &parts[..]) {
        ("GET", ["rate_limit"]) => Ok(rate(world, &call.caller)),
        ("GET", ["app"]) => apps::own(world, call),
        ("GET", ["app", "installations"]) => apps::installations(world, call),
        ("GET", ["app", "installations", id]) => apps::installation(world, call, id),
        ("POST", ["app", "installations", id, "access_tokens"]) => apps::new_token(world, call, id),
        ("GET", ["installation", "repositories"]) => apps::repositories(world, call),
        ("GET", ["user"]) => repos::own_user(world, call),
        ("GET", ["users", login]) => repos::user(world, login),
        (_, ["repos", owner, name, rest @ ..]) => {
            let repo = find(world, call, owner, name)?;
            repository(world, call, repo, rest)
        }
        (_, ["repositories", id, rest @ ..]) => {
            let repo = id.parse().ok().filter(|id| world.repos.contains_key(id));
            repository(world, call, repo.ok_or_else(Refusal::not_found)?, rest)
        }
        _ => Err(Refusal::not_found()),
    }
}

/// The repository of that name. One that moved answers with a redirect: 301 for
/// GET, 307 for the rest.
fn find(world: &World, call: &Call, owner: &str, name: &str) -> Result<u64, Refusal> {
    if let Some(id) = world.repo_named(owner, name) {
        return Ok(id);
    }
    let id = world
        .repo_moved_from(owner, name)
        .ok_or_else(Refusal::not_found)?;
    world.reach(call, id, "metadata", Level::Read)?;
    let rest: String = call
        .path
        .trim_start_matches('/')
        .split('/')
        .skip(3)
        .map(|s| format!("/{s}"))
        .collect();
    let query: Vec<String> = call.query.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let query = if query.is_empty() {
        String::new()
    } else {
        format!("?{}", query.join("&"))
    };
    let to = world.api(&format!("/repositories/{id}{rest}{query}"));
    let mut moved = match call.method {
        Method::GET | Method::HEAD => Refusal::new(301, "Moved Permanently"),
        _ => Refusal::new(307, "Temporary Redirect"),
    };
    moved.headers.push(("location", to));
    Err(moved)
}

fn repository(world: &mut World, call: &Call, repo: u64, rest: &[&str]) -> Outcome {
    use Level::{Read, Write};
    let method = call.method.as_str();
    if let ("GET", ["installation"]) = (method, rest) {
        return apps::on_repository(world, call, repo);
    }
    let permission = match (method, rest) {
        ("GET", [] | ["collaborators", ..]) => ("metadata", Read),
        (_, ["check-runs" | "check-suites", ..]) if method != "GET" => ("checks", Write),
        (_, ["check-runs" | "check-suites", ..] | ["commits", _, "check-runs" | "check-suites"]) => {
            ("checks", Read)
        }
        ("GET", ["contents" | "git" | "compare" | "commits", ..]) => ("contents", Read),
        ("PUT", ["pulls", _, "merge"]) => ("contents", Write),
        ("GET", ["pulls" | "issues", ..]) => ("pull_requests", Read),
        (_, ["pulls" | "issues", ..]) => ("pull_requests", Write),
        _ => ("metadata", Read),
    };
    world.reach(call, repo, permission.0, permission.1)?;
    match (method, rest) {
        ("GET", []) => repos::get(world, repo),
        ("GET", ["collaborators", login, "permission"]) => repos::permission(world, repo, login),
        ("GET", ["git", "blobs", sha]) => contents::blob(world, call, repo, sha),
        ("GET", ["git", "trees", name]) => contents::tree(world, call, repo, name),
        ("GET", ["git", "ref", name @ ..]) => contents::git_ref(world, repo, &name.join("/")),
        ("GET", ["contents", path @ ..]) => contents::get(world, call, repo, &path.join("/")),
        ("GET", ["compare", basehead @ ..]) => contents::compare(world, call, repo, &basehead.join("/")),
        ("GET", ["commits", name @ .., "check-runs"]) => checks::list(world, call, repo, &name.join("/")),
        ("GET", ["commits", name @ .., "check-suites"]) => checks::suites(world, call, repo, &name.join("/")),
        ("GET", ["commits", name @ ..]) => contents::commit(world, repo, &name.join("/")),
        ("POST", ["check-runs"]) => checks::create(world, call, repo),
        ("GET", ["check-runs", id]) => checks::get(world, repo, number(id)?),
        ("PATCH", ["check-runs", id]) => checks::update(world, call, repo, number(id)?),
        ("GET", ["check-runs", id, "annotations"]) => checks::annotations(world, call, repo, number(id)?),
        ("GET", ["check-suites", id]) => checks::suite(world, repo, number(id)?),
        ("GET", ["pulls"]) => pulls::list(world, call, repo),
        ("GET", ["pulls", "comments", id]) => reviews::comment(world, repo, number(id)?),
        ("GET", ["pulls", n]) => pulls::get(world, call, repo, number(n)?),
        ("GET", ["pulls", n, "files"]) => pulls::files(world, call, repo, number(n)?),
        ("GET", ["pulls", n, "commits"]) => pulls::commits(world, call, repo, number(n)?),
        ("GET", ["pulls", n, "comments"]) => reviews::comments(world, call, repo, number(n)?),
        ("PUT", ["pulls", n, "merge"]) => pulls::merge(world, call, repo, number(n)?),
        ("GET", ["pulls", n, "reviews"]) => reviews::list(world, call, repo, number(n)?),
        ("POST", ["pulls", n, "reviews"]) => reviews::create(world, call, repo, number(n)?),
        (_, ["pulls", n, "reviews", id, rest @ ..]) => {
            reviews::one(world, call, repo, (number(n)?, number(id)?), rest)
        }
        ("GET", ["issues", n, "comments"]) => comments::list(world, call, repo, number(n)?),
        ("POST", ["issues", n, "comments"]) => comments::create(world, call, repo, number(n)?),
        ("GET", ["issues", "comments", id]) => comments::get(world, repo, number(id)?),
        ("PATCH", ["issues", "comments", id]) => comments::update(world, call, repo, number(id)?),
        _ => Err(Refusal::not_found()),
    }
}

fn number(text: &str) -> Result<u64, Refusal> {
    text.parse().map_err(|_| Refusal::not_found())
}
