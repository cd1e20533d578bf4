//! Reviews and their comments.

use serde_json::{Value, json};

use crate::emulator::{
    shapes::node_id,
    state::{Pull, Review, ReviewComment, World, iso},
};

impl World {
    /// A `pull-request-review`.
    pub(crate) fn review_json(&self, repo: u64, pull: &Pull, review: &Review) -> Value {
        let Some(found) = self.repos.get(&repo) else {
            return Value::Null;
        };
        let full = self.full_name(found);
        let url = self.api(&format!("/repos/{full}/pulls/{}", pull.number));
        let id = review.id;
        let page = format!("{}/{full}/pull/{}#pullrequestreview-{id}", self.base, pull.number);
        let mut shown = json!({
            "id": id,
            "node_id": node_id("PullRequestReview", id),
            "user": self.user_json(review.author),
            "body": review.body,
            "state": review.state.name(),
            "commit_id": review.commit,
            "html_url": page,
            "pull_request_url": url,
            "author_association": self.association(found, review.author),
            "_links": {"html": {"href": page}, "pull_request": {"href": url}},
        });
        if let Some(at) = review.submitted_at {
            shown["submitted_at"] = json!(iso(at));
        }
        shown
    }

    /// A `pull-request-review-comment`. With `legacy`, without the line, as
    /// GitHub lists the comments of one review.
    pub(crate) fn review_comment_json(
        &self,
        repo: u64,
        pull: &Pull,
        review: &Review,
        comment: &ReviewComment,
        legacy: bool,
    ) -> Value {
        let Some(found) = self.repos.get(&repo) else {
            return Value::Null;
        };
        let full = self.full_name(found);
        let root = self.api(&format!("/repos/{full}"));
        let pull_url = format!("{root}/pulls/{}", pull.number);
        let id = comment.id;
        let url = format!("{root}/pulls/comments/{id}");
        let page = format!("{}/{full}/pull/{}#discussion_r{id}", self.base, pull.number);
        let stands = self.still_stands(repo, pull, comment);
        let position = stands.then_some(comment.position);
        let mut shown = json!({
            "id": id,
            "node_id": node_id("PullRequestReviewComment", id),
            "url": url,
            "pull_request_review_id": review.id,
            "diff_hunk": comment.diff_hunk,
            "path": comment.path,
            "position": position,
            "original_position": comment.position,
            "commit_id": if stands { &pull.head.sha } else { &comment.commit },
            "original_commit_id": comment.commit,
            "user": self.user_json(review.author),
            "body": comment.body,
            "created_at": iso(comment.created_at),
            "updated_at": iso(comment.created_at),
            "html_url": page,
            "pull_request_url": pull_url,
            "author_association": self.association(found, review.author),
            "_links": {"self": {"href": url}, "html": {"href": page}, "pull_request": {"href": pull_url}},
        });
        if legacy {
            return shown;
        }
        let start = comment.start;
        let lines = json!({
            "side": comment.side.name(),
            "line": stands.then_some(comment.line),
            "original_line": comment.line,
            "start_side": start.map(|s| s.0.name()),
            "start_line": start.filter(|_| stands).map(|s| s.1),
            "original_start_line": start.map(|s| s.1),
            "subject_type": "line",
        });
        if let (Some(to), Value::Object(lines)) = (shown.as_object_mut(), lines) {
            to.extend(lines);
        }
        shown
    }

    /// Whether the comment's line is still in the diff as it was. When the file
    /// changed since, the comment is outdated.
    pub(crate) fn still_stands(&self, repo: u64, pull: &Pull, comment: &ReviewComment) -> bool {
        if comment.commit == pull.head.sha {
            return true;
        }
        let then = self.git.entry(repo, &comment.commit, &comment.path);
        let now = self.git.entry(repo, &pull.head.sha, &comment.path);
        let same = then.map(|e| e.sha) == now.map(|e| e.sha);
        let changes = self.pull_changes(repo, pull.number).unwrap_or_default();
        let file = changes.iter().find(|f| f.path == comment.path);
        same && file.is_some_and(|f| f.place(comment.side, comment.line).is_some())
    }
}
