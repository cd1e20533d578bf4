//! Reviews of ours. A review is submitted whole or not at all, always with its
//! event: without one GitHub would make a pending review, which then blocks every
//! later one (QwenLM/qwen-code#10088).

use http::Method;
use serde_json::{Value, json};

use crate::{
    domain::{ids::ReviewId, review::finding::Side, space::PullRef},
    ports::forge::{ForgeError, PostedReview, ReviewComment, ReviewView},
};

use super::{
    budget::Purpose,
    client::Call,
    loose::{Loose, loose},
    origin::repo_path,
    pulls::{UserBody, positive},
    session::Session,
};

loose! {
    ReviewBody {
        id: i64,
        user: UserBody,
        state: String,
        body: String,
    }
}

fn path(pull: &PullRef, rest: &str) -> String {
    repo_path(&pull.repo, &format!("/pulls/{}/reviews{rest}", pull.number))
}

impl Session {
    pub(super) async fn list_own_reviews(&self, pull: &PullRef) -> Result<Vec<PostedReview>, ForgeError> {
        let bot = self.bot_login().await?;
        let reviews: Vec<ReviewBody> = self
            .list(
                pull.repo.installation,
                Purpose::Concluding,
                path(pull, "?per_page=100"),
                |page: Loose<Vec<ReviewBody>>| page.0.unwrap_or_default(),
            )
            .await?;
        Ok(reviews
            .into_iter()
            .filter(|review| {
                let user = review.user.as_ref();
                user.and_then(|u| u.login.as_deref())
                    .is_some_and(|login| login.eq_ignore_ascii_case(bot))
            })
            .filter_map(|review| {
                Some(PostedReview {
                    id: ReviewId(positive(&review.id)?),
                    state: review.state.0.unwrap_or_default(),
                    body: review.body.0.unwrap_or_default(),
                })
            })
            .collect())
    }

    pub(super) async fn post_review(
        &self,
        pull: &PullRef,
        review: &ReviewView,
    ) -> Result<ReviewId, ForgeError> {
        let body = json!({
            "commit_id": review.commit,
            "event": review.event,
            "body": review.body,
            "comments": review.comments.iter().map(comment_body).collect::<Vec<_>>(),
        });
        let call = Call::write(Method::POST, path(pull, ""), Some(body)).to(Purpose::Concluding);
        let answer = self.installed(pull.repo.installation, call).await?;
        let review: Loose<ReviewBody> = answer.json()?;
        review
            .0
            .and_then(|review| positive(&review.id))
            .map(ReviewId)
            .ok_or_else(|| ForgeError::Unknown("a review was submitted, but not told its id".to_owned()))
    }

    pub(super) async fn dismiss(
        &self,
        pull: &PullRef,
        review: ReviewId,
        message: &str,
    ) -> Result<(), ForgeError> {
        let body = json!({ "message": message, "event": "DISMISS" });
        let call = Call::write(
            Method::PUT,
            path(pull, &format!("/{review}/dismissals")),
            Some(body),
        )
        .to(Purpose::Concluding);
        self.installed(pull.repo.installation, call).await.map(drop)
    }

    pub(super) async fn delete_pending(&self, pull: &PullRef, review: ReviewId) -> Result<(), ForgeError> {
        let call =
            Call::write(Method::DELETE, path(pull, &format!("/{review}")), None).to(Purpose::Concluding);
        self.installed(pull.repo.installation, call).await.map(drop)
    }
}

/// `line` is the last line; `start_line` is left out unless it precedes it, which
/// is refused otherwise ("start line must precede the end line").
fn comment_body(comment: &ReviewComment) -> Value {
    let side = match comment.side {
        Side::Left => "LEFT",
        Side::Right => "RIGHT",
    };
    let mut body = json!({
        "path": comment.path,
        "line": comment.line,
        "side": side,
        "body": comment.body,
    });
    if let Some(start) = comment.start_line.filter(|start| *start < comment.line) {
        body["start_line"] = json!(start);
        body["start_side"] = json!(side);
    }
    body
}
