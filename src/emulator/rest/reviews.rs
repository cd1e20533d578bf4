//! Reviews and their comments.

use serde_json::Value;

use super::{Answer, Call, Outcome, answer::list as paged, number_of, text_of};
use crate::emulator::{
    refusal::Refusal,
    state::{CommentDraft, Pull, Review, ReviewComment, ReviewDraft, ReviewState, World},
};

/// Whether the caller may see the review: a pending one is its author's alone.
fn visible(world: &World, call: &Call, review: &Review) -> bool {
    let me = world.actor(&call.caller).ok().map(|a| a.0);
    review.state != ReviewState::Pending || me == Some(review.author)
}

/// `GET /repos/{owner}/{repo}/pulls/{n}/reviews`
pub(crate) fn list(world: &World, call: &Call, repo: u64, number: u64) -> Outcome {
    let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
    let shown = pull
        .reviews
        .iter()
        .filter(|r| visible(world, call, r))
        .map(|r| world.review_json(repo, pull, r))
        .collect();
    Ok(paged(world, call, Some(repo), shown))
}

/// `POST /repos/{owner}/{repo}/pulls/{n}/reviews`
pub(crate) fn create(world: &mut World, call: &Call, repo: u64, number: u64) -> Outcome {
    let (actor, _) = world.actor(&call.caller)?;
    let mut draft = ReviewDraft {
        commit: call.text("commit_id")?,
        body: call.text("body")?,
        event: call.text("event")?,
        comments: Vec::new(),
    };
    match &call.body["comments"] {
        Value::Null => {}
        Value::Array(comments) => {
            for comment in comments {
                draft.comments.push(comment_draft(comment)?);
            }
        }
        _ => return Err(Refusal::request("For 'properties/comments', it is not an array.")),
    }
    let id = world.create_review(repo, number, actor, &draft)?;
    shown(world, repo, number, id)
}

fn comment_draft(value: &Value) -> Result<CommentDraft, Refusal> {
    let needed = |name: &str| {
        let missing = || Refusal::request(&format!("For 'comments/items', \"{name}\" wasn't supplied."));
        text_of(value, name)?.ok_or_else(missing)
    };
    const KNOWN: [&str; 7] = [
        "path",
        "body",
        "line",
        "side",
        "start_line",
        "start_side",
        "position",
    ];
    if let Some(name) = value
        .as_object()
        .and_then(|o| o.keys().find(|k| !KNOWN.contains(&k.as_str())))
    {
        let text = format!("For 'comments/items', \"{name}\" is not a permitted key.");
        return Err(Refusal::request(&text));
    }
    Ok(CommentDraft {
        path: needed("path")?,
        body: needed("body")?,
        line: number_of(value, "line")?,
        side: text_of(value, "side")?,
        start_line: number_of(value, "start_line")?,
        start_side: text_of(value, "start_side")?,
        position: number_of(value, "position")?,
    })
}

fn shown(world: &World, repo: u64, number: u64, id: u64) -> Outcome {
    let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
    let found = pull.reviews.iter().find(|r| r.id == id);
    let review = found.ok_or_else(Refusal::not_found)?;
    Ok(Answer::ok(world.review_json(repo, pull, review)))
}

/// Everything below `/repos/{owner}/{repo}/pulls/{n}/reviews/{id}`.
pub(crate) fn one(world: &mut World, call: &Call, repo: u64, at: (u64, u64), rest: &[&str]) -> Outcome {
    let (number, id) = at;
    let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
    let review = pull
        .reviews
        .iter()
        .find(|r| r.id == id && visible(world, call, r))
        .ok_or_else(Refusal::not_found)?;
    match (call.method.as_str(), rest) {
        ("GET", []) => shown(world, repo, number, id),
        ("GET", ["comments"]) => {
            let comments = review
                .comments
                .iter()
                .map(|c| world.review_comment_json(repo, pull, review, c, true))
                .collect();
            Ok(paged(world, call, Some(repo), comments))
        }
        ("PUT", []) => {
            let body = call.needed("body")?;
            mine(world, call, review)?;
            change(world, repo, at, |r| r.body = body)?;
            shown(world, repo, number, id)
        }
        ("DELETE", []) => {
            mine(world, call, review)?;
            if review.state != ReviewState::Pending {
                let text = "Can not delete a non-pending pull request review";
                return Err(Refusal::unprocessable(&[text.to_owned()]));
            }
            let gone = shown(world, repo, number, id)?;
            if let Some(pull) = world.pull_mut(repo, number) {
                pull.reviews.retain(|r| r.id != id);
            }
            Ok(gone)
        }
        ("POST", ["events"]) => {
            let event = call.needed("event")?;
            let body = call.text("body")?;
            let (actor, _) = world.actor(&call.caller)?;
            world.submit_review(repo, number, id, actor, &event, body.as_deref())?;
            shown(world, repo, number, id)
        }
        ("PUT", ["dismissals"]) => {
            let message = call.needed("message")?;
            let (actor, _) = world.actor(&call.caller)?;
            world.dismiss_review(repo, number, id, actor, &message)?;
            shown(world, repo, number, id)
        }
        _ => Err(Refusal::not_found()),
    }
}

fn mine(world: &World, call: &Call, review: &Review) -> Result<(), Refusal> {
    let (actor, _) = world.actor(&call.caller)?;
    if review.author == actor {
        return Ok(());
    }
    Err(Refusal::forbidden())
}

fn change(
    world: &mut World,
    repo: u64,
    (number, id): (u64, u64),
    apply: impl FnOnce(&mut Review),
) -> Result<(), Refusal> {
    let pull = world.pull_mut(repo, number).ok_or_else(Refusal::not_found)?;
    let found = pull.reviews.iter_mut().find(|r| r.id == id);
    apply(found.ok_or_else(Refusal::not_found)?);
    Ok(())
}

fn submitted(pull: &Pull) -> impl Iterator<Item = (&Review, &ReviewComment)> {
    pull.reviews
        .iter()
        .filter(|r| r.state != ReviewState::Pending)
        .flat_map(|r| r.comments.iter().map(move |c| (r, c)))
}

/// `GET /repos/{owner}/{repo}/pulls/{n}/comments`
pub(crate) fn comments(world: &World, call: &Call, repo: u64, number: u64) -> Outcome {
    let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
    let shown = submitted(pull)
        .map(|(r, c)| world.review_comment_json(repo, pull, r, c, false))
        .collect();
    Ok(paged(world, call, Some(repo), shown))
}

/// `GET /repos/{owner}/{repo}/pulls/comments/{id}`
pub(crate) fn comment(world: &World, repo: u64, id: u64) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    for pull in found.pulls.values() {
        if let Some((review, comment)) = submitted(pull).find(|(_, c)| c.id == id) {
            let shown = world.review_comment_json(repo, pull, review, comment, false);
            return Ok(Answer::ok(shown));
        }
    }
    Err(Refusal::not_found())
}
