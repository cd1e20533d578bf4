//! Comments on a pull request's conversation.

use serde_json::{Value, json};

use super::{Answer, Call, Outcome, answer::list as paged};
use crate::emulator::{
    refusal::Refusal,
    state::{IssueComment, World},
};

const MAX_BODY: usize = 65_536;

fn body(call: &Call) -> Result<String, Refusal> {
    let body = call.needed("body")?;
    let invalid = |text: &str| Err(Refusal::invalid("IssueComment", "body", text));
    if body.trim().is_empty() {
        return invalid("body cannot be blank");
    }
    if body.chars().count() > MAX_BODY {
        return invalid("body is too long (maximum is 65536 characters)");
    }
    Ok(body)
}

/// `GET /repos/{owner}/{repo}/issues/{n}/comments`
pub(crate) fn list(world: &World, call: &Call, repo: u64, number: u64) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
    let comments = pull.comments.iter();
    let shown = comments
        .map(|c| world.issue_comment_json(found, number, c))
        .collect();
    Ok(paged(world, call, Some(repo), shown))
}

/// `POST /repos/{owner}/{repo}/issues/{n}/comments`
pub(crate) fn create(world: &mut World, call: &Call, repo: u64, number: u64) -> Outcome {
    let (author, app) = world.actor(&call.caller)?;
    let body = body(call)?;
    let id = world.comment(repo, number, author, app, &body)?;
    let mut answer = get(world, repo, id)?;
    answer.status = 201;
    Ok(answer)
}

/// `GET /repos/{owner}/{repo}/issues/comments/{id}`
pub(crate) fn get(world: &World, repo: u64, id: u64) -> Outcome {
    let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let (number, comment) = found
        .pulls
        .values()
        .flat_map(|p| p.comments.iter().map(|c| (p.number, c)))
        .find(|(_, c)| c.id == id)
        .ok_or_else(Refusal::not_found)?;
    Ok(Answer::ok(world.issue_comment_json(found, number, comment)))
}

/// `PATCH /repos/{owner}/{repo}/issues/comments/{id}`
pub(crate) fn update(world: &mut World, call: &Call, repo: u64, id: u64) -> Outcome {
    let (actor, _) = world.actor(&call.caller)?;
    let text = body(call)?;
    let now = world.seconds();
    let found = world.repos.get_mut(&repo).ok_or_else(Refusal::not_found)?;
    let (number, comment) = found
        .pulls
        .values_mut()
        .flat_map(|p| p.comments.iter_mut().map(|c| (p.number, c)))
        .find(|(_, c)| c.id == id)
        .ok_or_else(Refusal::not_found)?;
    if comment.author != actor {
        return Err(Refusal::forbidden());
    }
    let before = std::mem::replace(&mut comment.body, text);
    comment.updated_at = now;
    world.tell_comment(repo, number, id, "edited", actor, Some(&before));
    get(world, repo, id)
}

impl World {
    /// Adds a comment to the conversation.
    pub(crate) fn comment(
        &mut self,
        repo: u64,
        number: u64,
        author: u64,
        app: Option<u64>,
        body: &str,
    ) -> Result<u64, Refusal> {
        let (id, now) = (self.large_id(), self.seconds());
        let pull = self.pull_mut(repo, number).ok_or_else(Refusal::not_found)?;
        pull.comments.push(IssueComment {
            id,
            author,
            app,
            body: body.to_owned(),
            created_at: now,
            updated_at: now,
        });
        self.tell_comment(repo, number, id, "created", author, None);
        Ok(id)
    }

    fn tell_comment(&self, repo: u64, number: u64, id: u64, action: &str, actor: u64, before: Option<&str>) {
        let (Some(found), Some(pull)) = (self.repos.get(&repo), self.pull(repo, number)) else {
            return;
        };
        let Some(comment) = pull.comments.iter().find(|c| c.id == id) else {
            return;
        };
        let mut payload = json!({
            "action": action,
            "issue": self.issue_json(repo, pull),
            "comment": self.issue_comment_json(found, number, comment),
        });
        if let Some(before) = before {
            payload["changes"] = json!({"body": {"from": Value::from(before)}});
        }
        self.tell("issue_comment", repo, actor, None, &payload);
    }
}
