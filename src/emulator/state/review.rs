//! Reviews: created whole or not at all, dismissed with a reason.

use serde_json::json;

use super::{FileChange, Side, World, diff::Place};
use crate::emulator::refusal::Refusal;

/// The longest body of a review or a comment, in characters.
pub(crate) const MAX_BODY: usize = 65_536;

const NOT_IN_DIFF: &str = "Pull request review thread line must be part of the diff and Pull request review thread diff hunk can't be blank";
const NOT_IN_DIFF_NOR_START: &str = "Pull request review thread line must be part of the diff, Pull request review thread start line must be part of the same hunk as the line., and Pull request review thread diff hunk can't be blank";
const NO_PATH: &str = "Path could not be resolved";
const OTHER_HUNK: &str = "pull_request_review_thread.start_line must be part of the same hunk as the line.";
const NOT_BEFORE: &str = "Pull request review thread start line must precede the end line.";

/// What became of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewState {
    Pending,
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
}

impl ReviewState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Commented => "COMMENTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

/// A comment on a line.
#[derive(Clone, Debug)]
pub(crate) struct ReviewComment {
    pub(crate) id: u64,
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) side: Side,
    pub(crate) line: u32,
    pub(crate) start: Option<(Side, u32)>,
    /// The commit whose diff it was placed in.
    pub(crate) commit: String,
    pub(crate) diff_hunk: String,
    pub(crate) position: usize,
    pub(crate) created_at: i64,
}

/// A review.
#[derive(Clone, Debug)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) author: u64,
    pub(crate) body: String,
    pub(crate) state: ReviewState,
    /// As GitHub shows it; moves after a force-push.
    pub(crate) commit: String,
    pub(crate) submitted_at: Option<i64>,
    pub(crate) comments: Vec<ReviewComment>,
    /// Why it was dismissed.
    pub(crate) dismissal: Option<String>,
}

/// A review as it is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReviewDraft {
    pub(crate) commit: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) comments: Vec<CommentDraft>,
}

/// A comment as it is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommentDraft {
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) line: Option<u32>,
    pub(crate) side: Option<String>,
    pub(crate) start_line: Option<u32>,
    pub(crate) start_side: Option<String>,
    pub(crate) position: Option<u32>,
}

impl World {
    /// Creates the review with all its comments, or refuses it with everything
    /// that is wrong.
    pub(crate) fn create_review(
        &mut self,
        repo: u64,
        number: u64,
        author: u64,
        draft: &ReviewDraft,
    ) -> Result<u64, Refusal> {
        let pull = self.pull(repo, number).ok_or_else(Refusal::not_found)?.clone();
        let state = event_state(draft.event.as_deref())?;
        let body = draft.body.clone().unwrap_or_default();
        let lengths = std::iter::once(&body).chain(draft.comments.iter().map(|c| &c.body));
        if lengths.into_iter().any(|b| b.chars().count() > MAX_BODY) {
            let text = format!("body is too long (maximum is {MAX_BODY} characters)");
            return Err(Refusal::invalid("PullRequestReview", "body", &text));
        }
        let mut wrong = Vec::new();
        let own = author == pull.author;
        match state {
            ReviewState::Approved if own => wrong.push("Can not approve your own pull request".to_owned()),
            ReviewState::ChangesRequested if own => {
                wrong.push("Can not request changes on your own pull request".to_owned());
            }
            ReviewState::ChangesRequested | ReviewState::Commented if body.trim().is_empty() => {
                wrong.push("Body can't be blank".to_owned());
            }
            _ => {}
        }
        let pending = |r: &Review| r.author == author && r.state == ReviewState::Pending;
        if pull.reviews.iter().any(pending) {
            wrong.push("User can only have one pending review per pull request".to_owned());
        }
        let commit = draft.commit.clone().unwrap_or_else(|| pull.head.sha.clone());
        let part = commit == pull.head.sha
            || self
                .git
                .commits(repo, &pull.base_sha, &pull.head.sha)
                .contains(&commit);
        let mut comments = Vec::new();
        if part {
            let changes = self.changes(repo, &pull.base_sha, &commit).unwrap_or_default();
            for comment in &draft.comments {
                match placed(&changes, comment) {
                    Ok(found) => comments.push((comment, found)),
                    Err(text) => wrong.push(text.to_owned()),
                }
            }
        } else {
            wrong.push("Start commit oid is not part of the pull request".to_owned());
        }
        if !wrong.is_empty() {
            wrong.dedup();
            return Err(Refusal::unprocessable(&wrong));
        }

        let now = self.seconds();
        let id = self.large_id();
        let mut kept = Vec::new();
        for (comment, p) in comments {
            kept.push(ReviewComment {
                id: self.large_id(),
                path: comment.path.clone(),
                body: comment.body.clone(),
                side: p.side,
                line: p.line,
                start: p.start,
                commit: commit.clone(),
                diff_hunk: p.diff_hunk,
                position: p.position,
                created_at: now,
            });
        }
        let review = Review {
            id,
            author,
            body,
            state,
            commit,
            submitted_at: (state != ReviewState::Pending).then_some(now),
            comments: kept,
            dismissal: None,
        };
        if let Some(pull) = self.pull_mut(repo, number) {
            pull.updated_at = now;
            pull.reviews.push(review);
        }
        if state != ReviewState::Pending {
            self.tell_review(repo, number, id, "submitted", author);
        }
        Ok(id)
    }

    /// Submits a pending review.
    pub(crate) fn submit_review(
        &mut self,
        repo: u64,
        number: u64,
        id: u64,
        author: u64,
        event: &str,
        body: Option<&str>,
    ) -> Result<(), Refusal> {
        let state = event_state(Some(event))?;
        let now = self.seconds();
        let pull = self.pull_mut(repo, number).ok_or_else(Refusal::not_found)?;
        let pull_author = pull.author;
        let found = pull.reviews.iter_mut().find(|r| r.id == id && r.author == author);
        let review = found.ok_or_else(Refusal::not_found)?;
        if review.state != ReviewState::Pending {
            return Err(Refusal::unprocessable(&[
                "Can not submit a submitted review".to_owned()
            ]));
        }
        if author == pull_author && state != ReviewState::Commented {
            let text = "Can not approve or request changes on your own pull request";
            return Err(Refusal::unprocessable(&[text.to_owned()]));
        }
        if let Some(body) = body {
            body.clone_into(&mut review.body);
        }
        review.state = state;
        review.submitted_at = Some(now);
        self.tell_review(repo, number, id, "submitted", author);
        Ok(())
    }

    /// Takes the force out of an approval or a change request.
    pub(crate) fn dismiss_review(
        &mut self,
        repo: u64,
        number: u64,
        id: u64,
        actor: u64,
        message: &str,
    ) -> Result<(), Refusal> {
        let pull = self.pull_mut(repo, number).ok_or_else(Refusal::not_found)?;
        let found = pull.reviews.iter_mut().find(|r| r.id == id);
        let review = found.ok_or_else(Refusal::not_found)?;
        match review.state {
            ReviewState::Approved | ReviewState::ChangesRequested => {}
            state => {
                let state = state.name().to_lowercase();
                let text = format!("Can not dismiss a {state} pull request review");
                return Err(Refusal::unprocessable(&[text]));
            }
        }
        review.state = ReviewState::Dismissed;
        review.dismissal = Some(message.to_owned());
        self.tell_review(repo, number, id, "dismissed", actor);
        Ok(())
    }

    fn tell_review(&self, repo: u64, number: u64, id: u64, action: &str, actor: u64) {
        let Some(pull) = self.pull(repo, number) else {
            return;
        };
        let Some(review) = pull.reviews.iter().find(|r| r.id == id) else {
            return;
        };
        let mut shown = self.review_json(repo, pull, review);
        // Webhooks spell the state in lower case.
        shown["state"] = json!(review.state.name().to_lowercase());
        let payload = json!({
            "action": action,
            "review": shown,
            "pull_request": self.pull_json(repo, pull, false),
        });
        self.tell("pull_request_review", repo, actor, None, &payload);
    }
}

fn event_state(event: Option<&str>) -> Result<ReviewState, Refusal> {
    match event {
        None | Some("" | "PENDING") => Ok(ReviewState::Pending),
        Some("APPROVE") => Ok(ReviewState::Approved),
        Some("REQUEST_CHANGES") => Ok(ReviewState::ChangesRequested),
        Some("COMMENT") => Ok(ReviewState::Commented),
        Some(other) => {
            let text =
                format!("Variable $event of type PullRequestReviewEvent was provided invalid value {other}");
            Err(Refusal::unprocessable(&[text]))
        }
    }
}

struct Placed {
    side: Side,
    line: u32,
    start: Option<(Side, u32)>,
    diff_hunk: String,
    position: usize,
}

/// Finds the comment's place in the diff that GitHub shows.
fn placed(changes: &[FileChange], comment: &CommentDraft) -> Result<Placed, &'static str> {
    let file = changes.iter().find(|f| f.path == comment.path).ok_or(NO_PATH)?;
    if comment.body.trim().is_empty() {
        return Err("Pull request review comment body can't be blank");
    }
    if comment.start_line.is_none() && comment.start_side.is_some() {
        return Err("Pull request review thread start line can't be blank");
    }
    let (side, line) = match (comment.line, comment.position) {
        (Some(line), _) => (side_of(comment.side.as_deref())?, line),
        (None, Some(at)) => file.at_position(at as usize).ok_or(NOT_IN_DIFF)?,
        (None, None) => return Err(NOT_IN_DIFF),
    };
    let Some(place) = file.place(side, line) else {
        return Err(if comment.start_line.is_some() {
            NOT_IN_DIFF_NOR_START
        } else {
            NOT_IN_DIFF
        });
    };
    let start = match comment.start_line {
        None => None,
        Some(first) => {
            let first_side = match comment.start_side.as_deref() {
                None | Some("side") => side,
                given => side_of(given)?,
            };
            let from: Place = file.place(first_side, first).ok_or(OTHER_HUNK)?;
            if from.hunk != place.hunk {
                return Err(OTHER_HUNK);
            }
            let same_side_order = first_side == side && first >= line;
            if same_side_order || from.line >= place.line {
                return Err(NOT_BEFORE);
            }
            Some((first_side, first))
        }
    };
    Ok(Placed {
        side,
        line,
        start,
        diff_hunk: file.hunk_until(place),
        position: file.position(place),
    })
}

fn side_of(side: Option<&str>) -> Result<Side, &'static str> {
    match side {
        None | Some("RIGHT") => Ok(Side::Right),
        Some("LEFT") => Ok(Side::Left),
        Some(_) => Err("Pull request review thread side is invalid"),
    }
}
