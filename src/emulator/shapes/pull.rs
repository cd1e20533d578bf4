//! Pull requests and the comments on their conversation.

use serde_json::{Value, json};

use crate::emulator::{
    shapes::node_id,
    state::{IssueComment, Pull, Repo, World, iso},
};

impl World {
    /// A `pull-request` with `detail`, else a `pull-request-simple`.
    pub(crate) fn pull_json(&self, repo: u64, pull: &Pull, detail: bool) -> Value {
        let Some(base) = self.repos.get(&repo) else {
            return Value::Null;
        };
        let full = self.full_name(base);
        let root = self.api(&format!("/repos/{full}"));
        let url = format!("{root}/pulls/{}", pull.number);
        let issue = format!("{root}/issues/{}", pull.number);
        let page = format!("{}/{full}/pull/{}", self.base, pull.number);
        let statuses = format!("{root}/statuses/{}", pull.head.sha);
        let review_comment = format!("{root}/pulls/comments{{/number}}");
        let href = |to: &str| json!({"href": to});
        let head_repo = pull.head.repo.and_then(|id| self.repos.get(&id));
        let mut shown = json!({
            "url": url,
            "id": pull.id,
            "node_id": node_id("PullRequest", pull.id),
            "number": pull.number,
            "state": if pull.open { "open" } else { "closed" },
            "locked": false,
            "active_lock_reason": null,
            "title": pull.title,
            "body": pull.body,
            "user": self.user_json(pull.author),
            "draft": pull.draft,
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "issue_url": issue,
            "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": review_comment,
            "comments_url": format!("{issue}/comments"),
            "statuses_url": statuses,
            "created_at": iso(pull.created_at),
            "updated_at": iso(pull.updated_at),
            "closed_at": pull.closed_at.map(iso),
            "merged_at": pull.merged.as_ref().map(|m| iso(m.0)),
            "merge_commit_sha": pull.merged.as_ref().map(|m| &m.2),
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "labels": [],
            "milestone": null,
            "author_association": self.association(base, pull.author),
            "auto_merge": null,
        });
        shown["head"] = json!({
            "label": format!("{}:{}", self.login(pull.head.owner), pull.head.branch),
            "ref": pull.head.branch,
            "sha": pull.head.sha,
            "user": self.user_json(pull.head.owner),
            "repo": head_repo.map(|r| self.repo_json(r)),
        });
        shown["base"] = json!({
            "label": format!("{}:{}", self.login(base.owner), pull.base_branch),
            "ref": pull.base_branch,
            "sha": pull.base_sha,
            "user": self.user_json(base.owner),
            "repo": self.repo_json(base),
        });
        shown["_links"] = json!({
            "self": href(&url),
            "html": href(&page),
            "issue": href(&issue),
            "comments": href(&format!("{issue}/comments")),
            "review_comments": href(&format!("{url}/comments")),
            "review_comment": href(&review_comment),
            "commits": href(&format!("{url}/commits")),
            "statuses": href(&statuses),
        });
        if detail {
            self.add_detail(repo, pull, &mut shown);
        }
        shown
    }

    fn add_detail(&self, repo: u64, pull: &Pull, shown: &mut Value) {
        let changes = self.pull_changes(repo, pull.number).unwrap_or_default();
        let commits = self.git.commits(repo, &pull.base_sha, &pull.head.sha).len();
        let mergeable = pull.open.then(|| {
            let base = self.git.branch(repo, &pull.base_branch);
            base.is_some_and(|b| self.git.merged_tree(repo, &b, &pull.head.sha).is_some())
        });
        let blocked = !self.blockers(repo, pull).is_empty();
        let state = match mergeable {
            None => "unknown",
            Some(false) => "dirty",
            Some(true) if pull.draft => "draft",
            Some(true) if blocked => "blocked",
            Some(true) => "clean",
        };
        let submitted = pull.reviews.iter().filter(|r| r.submitted_at.is_some());
        let extra = json!({
            "merged": pull.merged.is_some(),
            "mergeable": mergeable,
            "rebaseable": mergeable,
            "mergeable_state": state,
            "merged_by": pull.merged.as_ref().map(|m| self.user_json(m.1)),
            "comments": pull.comments.len(),
            "review_comments": submitted.map(|r| r.comments.len()).sum::<usize>(),
            "maintainer_can_modify": false,
            "commits": commits,
            "additions": changes.iter().map(|f| f.additions).sum::<u32>(),
            "deletions": changes.iter().map(|f| f.deletions).sum::<u32>(),
            "changed_files": changes.len(),
        });
        if let (Some(to), Value::Object(extra)) = (shown.as_object_mut(), extra) {
            to.extend(extra);
        }
    }

    /// GitHub's guess at what the author is to the repository.
    pub(crate) fn association(&self, repo: &Repo, account: u64) -> &'static str {
        if repo.owner == account {
            return "OWNER";
        }
        if repo.collaborators.contains_key(&account) {
            return "COLLABORATOR";
        }
        "NONE"
    }

    /// An `issue-comment`.
    pub(crate) fn issue_comment_json(&self, repo: &Repo, number: u64, comment: &IssueComment) -> Value {
        let full = self.full_name(repo);
        let root = self.api(&format!("/repos/{full}"));
        let id = comment.id;
        let app = comment.app.and_then(|id| self.apps.get(&id));
        let url = format!("{root}/issues/comments/{id}");
        json!({
            "reactions": reactions(&url),
            "id": id,
            "node_id": node_id("IssueComment", id),
            "url": url,
            "html_url": format!("{}/{full}/pull/{number}#issuecomment-{id}", self.base),
            "issue_url": format!("{root}/issues/{number}"),
            "user": self.user_json(comment.author),
            "body": comment.body,
            "created_at": iso(comment.created_at),
            "updated_at": iso(comment.updated_at),
            "author_association": self.association(repo, comment.author),
            "performed_via_github_app": app.map(|a| self.app_json(a)),
        })
    }

    /// A pull request seen as an issue, as webhooks of its conversation carry it.
    pub(crate) fn issue_json(&self, repo: u64, pull: &Pull) -> Value {
        let shown = self.pull_json(repo, pull, false);
        let url = shown["issue_url"].as_str().unwrap_or_default();
        let mut issue = json!({
            "url": url,
            "repository_url": shown["base"]["repo"]["url"],
            "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"),
            "events_url": format!("{url}/events"),
            "timeline_url": format!("{url}/timeline"),
            "comments": pull.comments.len(),
            "pull_request": {
                "url": shown["url"],
                "html_url": shown["html_url"],
                "diff_url": shown["diff_url"],
                "patch_url": shown["patch_url"],
                "merged_at": shown["merged_at"],
            },
            "reactions": reactions(url),
            "performed_via_github_app": null,
            "state_reason": null,
        });
        for same in [
            "id",
            "node_id",
            "number",
            "title",
            "user",
            "labels",
            "state",
            "locked",
            "active_lock_reason",
            "assignee",
            "assignees",
            "milestone",
            "body",
            "draft",
            "created_at",
            "updated_at",
            "closed_at",
            "html_url",
            "author_association",
        ] {
            issue[same] = shown[same].clone();
        }
        issue
    }
}

/// A `reaction-rollup` of nobody's reactions.
fn reactions(of: &str) -> Value {
    let mut rollup = json!({"url": format!("{of}/reactions"), "total_count": 0});
    for kind in [
        "+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes",
    ] {
        rollup[kind] = json!(0);
    }
    rollup
}
