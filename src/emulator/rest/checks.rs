//! Check runs and suites. Only an App may write them, and only its own.

use serde_json::{Value, json};

use super::{
    Answer, Call, Caller, Outcome,
    answer::{list as paged, page},
    number_of, text_of,
};
use crate::emulator::{
    refusal::Refusal,
    state::{CheckRun, World},
};

/// Most annotations in one request; more are sent by further updates.
const ANNOTATIONS: usize = 50;
const TEXT: usize = 65_535;
const ACTIONS: usize = 3;
const CONCLUSIONS: [&str; 7] = [
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "timed_out",
];

fn app(call: &Call) -> Result<u64, Refusal> {
    match &call.caller {
        Caller::Installation { app, .. } => Ok(*app),
        _ => Err(Refusal::new(403, "You must authenticate via a GitHub App.")),
    }
}

fn found(world: &World, repo: u64, id: u64) -> Result<&CheckRun, Refusal> {
    let repo = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    repo.runs
        .iter()
        .find(|r| r.id == id)
        .ok_or_else(Refusal::not_found)
}

fn at_most(count: usize, limit: usize, what: &str) -> Result<(), Refusal> {
    if count <= limit {
        return Ok(());
    }
    let text = match what {
        "characters" => format!("Only {limit} characters are allowed; {count} were supplied."),
        _ => format!("No more than {limit} {what} are allowed; {count} were supplied."),
    };
    Err(Refusal::request(&text))
}

/// `POST /repos/{owner}/{repo}/check-runs`
pub(crate) fn create(world: &mut World, call: &Call, repo: u64) -> Outcome {
    let app = app(call)?;
    let missing: Vec<&str> = ["name", "head_sha"]
        .into_iter()
        .filter(|n| call.body[n].is_null())
        .collect();
    match missing[..] {
        [] => {}
        [one] => return Err(Refusal::request(&format!("\"{one}\" wasn't supplied."))),
        _ => return Err(Refusal::request("\"name\", \"head_sha\" weren't supplied.")),
    }
    let (name, sha) = (call.needed("name")?, call.needed("head_sha")?);
    if sha.len() != 40 || world.git.tip(repo, &sha).as_deref() != Some(&sha) {
        return Err(Refusal::new(422, format!("No commit found for SHA: {sha}")));
    }
    let id = world.large_id();
    let mut run = CheckRun {
        id,
        suite: 0,
        app,
        name,
        head_sha: sha.clone(),
        status: "queued".to_owned(),
        conclusion: None,
        details_url: None,
        external_id: None,
        started_at: Some(world.seconds()),
        completed_at: None,
        title: None,
        summary: None,
        text: None,
        annotations: Vec::new(),
        actions: Vec::new(),
    };
    apply(world, &mut run, &call.body, true)?;
    run.suite = world.suite(repo, app, &sha);
    let completed = run.status == "completed";
    if let Some(r) = world.repos.get_mut(&repo) {
        r.runs.push(run);
    }
    let action = if completed { "completed" } else { "created" };
    world.tell_run(repo, id, action, world.actor(&call.caller)?.0);
    let mut answer = get(world, repo, id)?;
    answer.status = 201;
    Ok(answer)
}

/// `PATCH /repos/{owner}/{repo}/check-runs/{id}`
pub(crate) fn update(world: &mut World, call: &Call, repo: u64, id: u64) -> Outcome {
    let app = app(call)?;
    let mut run = found(world, repo, id)?.clone();
    if run.app != app {
        let text = format!(
            "Invalid app_id `{app}` - check run can only be modified by the GitHub App that created it."
        );
        return Err(Refusal::new(403, text));
    }
    let was_completed = run.status == "completed";
    if let Some(name) = call.text("name")? {
        run.name = name;
    }
    apply(world, &mut run, &call.body, false)?;
    let completes = run.status == "completed" && !was_completed;
    if let Some(r) = world.repos.get_mut(&repo)
        && let Some(kept) = r.runs.iter_mut().find(|r| r.id == id)
    {
        *kept = run;
    }
    if completes {
        world.tell_run(repo, id, "completed", world.actor(&call.caller)?.0);
    }
    get(world, repo, id)
}

/// Reads what may be set at creation and by an update. Nothing is kept when
/// anything is wrong.
fn apply(world: &World, run: &mut CheckRun, body: &Value, creating: bool) -> Result<(), Refusal> {
    let now = world.seconds();
    let not_allowed = |name: &str, value: &str| {
        Refusal::request(&format!(
            "For 'properties/{name}', \"{value}\" is not a possible value."
        ))
    };
    let time = |name: &str| -> Result<Option<i64>, Refusal> {
        let Some(text) = text_of(body, name)? else {
            return Ok(None);
        };
        let at = text.parse::<jiff::Timestamp>();
        let at = at.map_err(|_| {
            Refusal::request(&format!("For 'properties/{name}', {text} is not a valid date."))
        })?;
        Ok(Some(at.as_second()))
    };
    if let Some(url) = text_of(body, "details_url")? {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let text = "details_url must use http or https scheme";
            return Err(Refusal::invalid("CheckRun", "details_url", text));
        }
        run.details_url = Some(url);
    }
    if let Some(id) = text_of(body, "external_id")? {
        run.external_id = Some(id);
    }
    run.started_at = time("started_at")?.or(run.started_at);
    let conclusion = text_of(body, "conclusion")?;
    if let Some(given) = &conclusion
        && !CONCLUSIONS.contains(&given.as_str())
    {
        return Err(not_allowed("conclusion", given));
    }
    let completed_at = time("completed_at")?;
    let status = text_of(body, "status")?;
    match status.as_deref() {
        None | Some("queued" | "in_progress" | "completed") => {}
        Some(other) => return Err(not_allowed("status", other)),
    }
    if let Some(given) = conclusion {
        run.status = "completed".to_owned();
        run.conclusion = Some(given);
        run.completed_at = Some(completed_at.unwrap_or(now));
    } else if status.as_deref() == Some("completed") && run.conclusion.is_none() {
        return Err(Refusal::request("\"conclusion\" wasn't supplied."));
    } else if let Some(given) = status
        // Seen on GitHub: what is completed does not go back.
        && run.status != "completed"
    {
        run.status = given;
    }
    output(run, &body["output"], creating)?;
    actions(run, &body["actions"])
}

fn output(run: &mut CheckRun, given: &Value, creating: bool) -> Result<(), Refusal> {
    if given.is_null() {
        return Ok(());
    }
    let (title, summary) = (text_of(given, "title")?, text_of(given, "summary")?);
    let text = text_of(given, "text")?;
    for (name, missing) in [
        ("title", creating && title.is_none()),
        ("summary", summary.is_none()),
    ] {
        if missing {
            let problem = format!("For 'properties/output', \"{name}\" wasn't supplied.");
            return Err(Refusal::request(&problem));
        }
    }
    for long in [&summary, &text].into_iter().flatten() {
        at_most(long.chars().count(), TEXT, "characters")?;
    }
    let none = Vec::new();
    let annotations = given["annotations"].as_array().unwrap_or(&none);
    at_most(annotations.len(), ANNOTATIONS, "items")?;
    let mut added = Vec::new();
    for a in annotations {
        added.push(annotation(a)?);
    }
    run.title = title.or(run.title.take());
    run.summary = summary;
    run.text = text.or(run.text.take());
    // Annotations are appended by every request, never replaced.
    run.annotations.extend(added);
    Ok(())
}

fn annotation(given: &Value) -> Result<Value, Refusal> {
    let wrong = |text: &str| Refusal::request(&format!("For 'annotations/items', {text}"));
    let needed =
        |name: &str| text_of(given, name)?.ok_or_else(|| wrong(&format!("\"{name}\" wasn't supplied.")));
    let line = |name: &str| {
        let found = number_of(given, name)?.ok_or_else(|| wrong(&format!("\"{name}\" wasn't supplied.")))?;
        if found == 0 {
            Err(wrong(&format!("\"{name}\" must be at least 1.")))
        } else {
            Ok(found)
        }
    };
    let (start, end) = (line("start_line")?, line("end_line")?);
    if end < start {
        return Err(wrong("\"end_line\" must not be before \"start_line\"."));
    }
    let columns = (number_of(given, "start_column")?, number_of(given, "end_column")?);
    if start != end && (columns.0.is_some() || columns.1.is_some()) {
        return Err(wrong("columns are allowed only when the lines are equal."));
    }
    let level = needed("annotation_level")?;
    if !["notice", "warning", "failure"].contains(&level.as_str()) {
        return Err(wrong(&format!("\"{level}\" is not a possible annotation_level.")));
    }
    let message = needed("message")?;
    let (title, raw) = (text_of(given, "title")?, text_of(given, "raw_details")?);
    if title.as_ref().is_some_and(|t| t.chars().count() > 255) {
        return Err(wrong("\"title\" is longer than 255 characters."));
    }
    if message.len() > 64 * 1024 || raw.as_ref().is_some_and(|r| r.len() > 64 * 1024) {
        return Err(wrong("a text is longer than 64 KB."));
    }
    let path = needed("path")?;
    Ok(json!({
        "path": path,
        "blob_href": "",
        "start_line": start,
        "end_line": end,
        "start_column": columns.0,
        "end_column": columns.1,
        "annotation_level": level,
        "title": title,
        "message": message,
        "raw_details": raw,
    }))
}

fn actions(run: &mut CheckRun, given: &Value) -> Result<(), Refusal> {
    let Value::Array(given) = given else {
        return Ok(());
    };
    at_most(given.len(), ACTIONS, "items")?;
    for action in given {
        for (name, limit) in [("label", 20), ("description", 40), ("identifier", 20)] {
            let text = text_of(action, name)?;
            let text = text.ok_or_else(|| Refusal::request(&format!("\"{name}\" wasn't supplied.")))?;
            at_most(text.chars().count(), limit, "characters")?;
        }
    }
    run.actions.clone_from(given);
    Ok(())
}

/// `GET /repos/{owner}/{repo}/check-runs/{id}`
pub(crate) fn get(world: &World, repo: u64, id: u64) -> Outcome {
    let run = found(world, repo, id)?;
    let repo = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    Ok(Answer::ok(world.run_json(repo, run)))
}

/// `GET /repos/{owner}/{repo}/check-runs/{id}/annotations`
pub(crate) fn annotations(world: &World, call: &Call, repo: u64, id: u64) -> Outcome {
    let shown = found(world, repo, id)?.annotations.clone();
    Ok(paged(world, call, Some(repo), shown))
}

/// `GET /repos/{owner}/{repo}/commits/{ref}/check-runs`
pub(crate) fn list(world: &World, call: &Call, repo: u64, name: &str) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let sha = resolved(world, repo, name)?;
    let latest = call.asks("filter") != Some("all");
    let wanted = |r: &&CheckRun| {
        call.asks("check_name").is_none_or(|n| n == r.name)
            && call.asks("status").is_none_or(|s| s == r.status)
            && call.asks("app_id").is_none_or(|a| a == r.app.to_string())
    };
    let mut runs = world.runs_on(repo, &sha, latest);
    runs.reverse();
    let shown: Vec<Value> = runs
        .into_iter()
        .filter(wanted)
        .map(|r| world.run_json(found, r))
        .collect();
    let total = shown.len();
    Ok(page(world, call, Some(repo), shown)
        .answer(|items| json!({"total_count": total, "check_runs": items})))
}

/// `GET /repos/{owner}/{repo}/commits/{ref}/check-suites`
pub(crate) fn suites(world: &World, call: &Call, repo: u64, name: &str) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let sha = resolved(world, repo, name)?;
    let shown: Vec<Value> = found
        .suites
        .iter()
        .filter(|s| s.head_sha == sha)
        .filter(|s| call.asks("app_id").is_none_or(|a| a == s.app.to_string()))
        .map(|s| {
            let mut suite = world.suite_json(found, s);
            suite["repository"] = world.repo_json(found);
            suite
        })
        .collect();
    let total = shown.len();
    Ok(page(world, call, Some(repo), shown)
        .answer(|items| json!({"total_count": total, "check_suites": items})))
}

fn resolved(world: &World, repo: u64, name: &str) -> Result<String, Refusal> {
    let found = world.git.resolve(repo, name);
    found.ok_or_else(|| Refusal::new(422, format!("No commit found for SHA: {name}")))
}

/// `GET /repos/{owner}/{repo}/check-suites/{id}`
pub(crate) fn suite(world: &World, repo: u64, id: u64) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let suite = found.suites.iter().find(|s| s.id == id);
    let mut shown = world.suite_json(found, suite.ok_or_else(Refusal::not_found)?);
    shown["repository"] = world.repo_json(found);
    Ok(Answer::ok(shown))
}

impl World {
    /// Tells the App that owns a run what happened to it.
    pub(crate) fn tell_run(&self, repo: u64, id: u64, action: &str, actor: u64) {
        let Some(found) = self.repos.get(&repo) else {
            return;
        };
        let Some(run) = found.runs.iter().find(|r| r.id == id) else {
            return;
        };
        let mut shown = self.run_json(found, run);
        if let Some(suite) = found.suites.iter().find(|s| s.id == run.suite) {
            shown["check_suite"] = self.suite_json(found, suite);
        }
        let payload = json!({"action": action, "check_run": shown});
        self.tell("check_run", repo, actor, Some(run.app), &payload);
    }

    /// Whether a suite may be asked for again; tells its App.
    pub(crate) fn rerequest_suite(&self, repo: u64, id: u64, actor: u64) -> Result<(), Refusal> {
        let found = self.repos.get(&repo).ok_or_else(Refusal::not_found)?;
        let suite = found.suites.iter().find(|s| s.id == id);
        let suite = suite.ok_or_else(Refusal::not_found)?;
        let payload = json!({"action": "rerequested", "check_suite": self.suite_json(found, suite)});
        self.tell("check_suite", repo, actor, Some(suite.app), &payload);
        Ok(())
    }
}
