//! The page of one pull request.

use askama::Template;

use super::state;
use crate::emulator::state::{CheckRun, Pull, Review, ReviewComment, ReviewState, World, iso};

#[derive(Template)]
#[template(path = "emulator/pull.html")]
struct Page {
    repo: String,
    number: u64,
    title: String,
    state: &'static str,
    author: String,
    base: String,
    head: String,
    sha: String,
    body: String,
    events: Vec<Event>,
    checks: Vec<Check>,
    files: Vec<File>,
    blockers: Vec<String>,
    open: bool,
}

/// A review or a comment, in the order of the conversation.
struct Event {
    author: String,
    at: String,
    what: &'static str,
    class: &'static str,
    body: String,
    dismissal: Option<String>,
    comments: Vec<Inline>,
}

struct Inline {
    path: String,
    lines: String,
    outdated: bool,
    diff: Vec<(&'static str, String)>,
    body: String,
}

struct Check {
    name: String,
    app: String,
    outcome: String,
    class: &'static str,
    required: bool,
    title: Option<String>,
    summary: String,
    text: String,
    annotations: Vec<String>,
}

struct File {
    path: String,
    previous: Option<String>,
    status: &'static str,
    additions: u32,
    deletions: u32,
    lines: Option<Vec<(&'static str, String)>>,
}

pub(super) fn render(world: &World, repo: u64, pull: &Pull) -> Option<String> {
    let found = world.repos.get(&repo)?;
    let required: Vec<(&str, Option<u64>)> = found
        .protection
        .get(&pull.base_branch)
        .map(|p| {
            p.required_checks
                .iter()
                .map(|c| (c.context.as_str(), c.app_id))
                .collect()
        })
        .unwrap_or_default();
    let runs = world.runs_on(repo, &pull.head.sha, true);
    let checks = runs.into_iter().map(|run| check(world, run, &required)).collect();
    let changes = world.pull_changes(repo, pull.number).unwrap_or_default();
    let files = changes
        .iter()
        .take(300)
        .map(|f| File {
            path: f.path.clone(),
            previous: f.previous.clone(),
            status: f.status,
            additions: f.additions,
            deletions: f.deletions,
            lines: f.patch().map(|p| coloured(&p)),
        })
        .collect();
    let page = Page {
        repo: world.full_name(found),
        number: pull.number,
        title: pull.title.clone(),
        state: state(pull),
        author: world.login(pull.author).to_owned(),
        base: pull.base_branch.clone(),
        head: format!("{}:{}", world.login(pull.head.owner), pull.head.branch),
        sha: pull.head.sha.chars().take(7).collect(),
        body: markdown(pull.body.as_deref().unwrap_or_default()),
        events: events(world, repo, pull),
        checks,
        files,
        blockers: world.blockers(repo, pull),
        open: pull.open,
    };
    page.render().ok()
}

fn events(world: &World, repo: u64, pull: &Pull) -> Vec<Event> {
    let mut events: Vec<(i64, u64, Event)> = Vec::new();
    for review in &pull.reviews {
        // A pending review is its author's secret.
        if let Some(at) = review.submitted_at {
            events.push((at, review.id, said(world, repo, pull, review, at)));
        }
    }
    for comment in &pull.comments {
        let event = Event {
            author: world.login(comment.author).to_owned(),
            at: iso(comment.created_at),
            what: "commented",
            class: "plain",
            body: markdown(&comment.body),
            dismissal: None,
            comments: Vec::new(),
        };
        events.push((comment.created_at, comment.id, event));
    }
    events.sort_by_key(|(at, id, _)| (*at, *id));
    events.into_iter().map(|(_, _, event)| event).collect()
}

fn said(world: &World, repo: u64, pull: &Pull, review: &Review, at: i64) -> Event {
    let (what, class) = match review.state {
        ReviewState::Approved => ("approved these changes", "good"),
        ReviewState::ChangesRequested => ("requested changes", "bad"),
        ReviewState::Dismissed => ("reviewed; the review was dismissed", "plain"),
        ReviewState::Commented | ReviewState::Pending => ("reviewed", "plain"),
    };
    Event {
        author: world.login(review.author).to_owned(),
        at: iso(at),
        what,
        class,
        body: markdown(&review.body),
        dismissal: review.dismissal.clone(),
        comments: review
            .comments
            .iter()
            .map(|c| inline(world, repo, pull, c))
            .collect(),
    }
}

fn inline(world: &World, repo: u64, pull: &Pull, comment: &ReviewComment) -> Inline {
    let lines = match comment.start {
        Some((_, start)) => format!("lines {start} to {}", comment.line),
        None => format!("line {}", comment.line),
    };
    let side = if comment.side.name() == "LEFT" {
        " (before)"
    } else {
        ""
    };
    // The last lines of the hunk are what a person looks at.
    let shown: Vec<&str> = comment.diff_hunk.lines().collect();
    let from = shown.len().saturating_sub(5);
    Inline {
        path: comment.path.clone(),
        lines: format!("{lines}{side}"),
        outdated: !world.still_stands(repo, pull, comment),
        diff: coloured(&shown[from..].join("\n")),
        body: markdown(&comment.body),
    }
}

fn check(world: &World, run: &CheckRun, required: &[(&str, Option<u64>)]) -> Check {
    let class = match run.conclusion.as_deref() {
        Some("success" | "neutral" | "skipped") => "good",
        Some(_) => "bad",
        None => "plain",
    };
    let outcome = run.conclusion.as_ref().unwrap_or(&run.status);
    let annotations = run.annotations.iter().map(|a| {
        let text = |name: &str| a[name].as_str().unwrap_or_default().to_owned();
        format!(
            "{}:{} {}: {}",
            text("path"),
            a["start_line"],
            text("annotation_level"),
            text("message")
        )
    });
    Check {
        name: run.name.clone(),
        app: world
            .apps
            .get(&run.app)
            .map(|a| a.name.clone())
            .unwrap_or_default(),
        outcome: outcome.replace('_', " "),
        class,
        required: required
            .iter()
            .any(|(name, app)| *name == run.name && app.is_none_or(|a| a == run.app)),
        title: run.title.clone(),
        summary: markdown(run.summary.as_deref().unwrap_or_default()),
        text: markdown(run.text.as_deref().unwrap_or_default()),
        annotations: annotations.collect(),
    }
}

fn coloured(patch: &str) -> Vec<(&'static str, String)> {
    patch
        .split('\n')
        .map(|line| {
            let class = match line.chars().next() {
                Some('+') => "add",
                Some('-') => "del",
                Some('@') => "hunk",
                _ => "ctx",
            };
            (class, line.to_owned())
        })
        .collect()
}

/// Markdown as safe HTML: no script, no style, no image, no form.
fn markdown(text: &str) -> String {
    use pulldown_cmark::{Options, Parser, html};
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut raw = String::new();
    html::push_html(&mut raw, Parser::new_ext(text, options));
    ammonia::Builder::default()
        .rm_tags(["img", "map", "area"])
        .link_rel(Some("noopener noreferrer nofollow"))
        .clean(&raw)
        .to_string()
}
