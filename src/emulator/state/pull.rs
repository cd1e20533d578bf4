//! Pull requests, and what a push or a click does to them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{FileChange, Review, World};
use crate::emulator::refusal::Refusal;

/// Where a pull request comes from.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// `None` once the fork is gone.
    pub(crate) repo: Option<u64>,
    pub(crate) owner: u64,
    pub(crate) branch: String,
    pub(crate) sha: String,
}

/// A comment on the conversation.
#[derive(Clone, Debug)]
pub(crate) struct IssueComment {
    pub(crate) id: u64,
    pub(crate) author: u64,
    /// The App that wrote it, when one did.
    pub(crate) app: Option<u64>,
    pub(crate) body: String,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

/// A pull request. Times are seconds since the epoch.
#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) author: u64,
    pub(crate) open: bool,
    pub(crate) draft: bool,
    pub(crate) base_branch: String,
    /// The base branch's tip when the head last moved, as GitHub keeps it.
    pub(crate) base_sha: String,
    pub(crate) head: Head,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) closed_at: Option<i64>,
    /// When, by whom, and the commit.
    pub(crate) merged: Option<(i64, u64, String)>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) comments: Vec<IssueComment>,
}

/// What a person asks for when opening a pull request.
pub(crate) struct NewPull<'a> {
    pub(crate) author: u64,
    pub(crate) title: &'a str,
    pub(crate) body: Option<&'a str>,
    pub(crate) head_repo: u64,
    pub(crate) head_branch: &'a str,
    pub(crate) base_branch: &'a str,
    pub(crate) draft: bool,
}

impl World {
    pub(crate) fn pull(&self, repo: u64, number: u64) -> Option<&Pull> {
        self.repos.get(&repo)?.pulls.get(&number)
    }

    pub(crate) fn pull_mut(&mut self, repo: u64, number: u64) -> Option<&mut Pull> {
        self.repos.get_mut(&repo)?.pulls.get_mut(&number)
    }

    /// The files of the pull request, against the merge base.
    pub(crate) fn pull_changes(&self, repo: u64, number: u64) -> Result<Arc<Vec<FileChange>>, Refusal> {
        let pull = self.pull(repo, number).ok_or_else(Refusal::not_found)?;
        let (base, head) = (pull.base_sha.clone(), pull.head.sha.clone());
        // Histories without a common commit show no files, as on GitHub.
        Ok(self.changes(repo, &base, &head).unwrap_or_default())
    }

    pub(crate) fn open_pull(&mut self, repo: u64, new: &NewPull<'_>) -> Result<u64, Refusal> {
        let refuse = |field: &str| Err(Refusal::invalid("PullRequest", field, "invalid"));
        let Some(base_sha) = self.git.branch(repo, new.base_branch) else {
            return refuse("base");
        };
        let Some(sha) = self.git.branch(new.head_repo, new.head_branch) else {
            return refuse("head");
        };
        let (now, id) = (self.seconds(), self.large_id());
        let owner = self
            .repos
            .get(&new.head_repo)
            .ok_or_else(Refusal::not_found)?
            .owner;
        let number = {
            let repo = self.repos.get_mut(&repo).ok_or_else(Refusal::not_found)?;
            repo.next_number += 1;
            repo.next_number
        };
        let source = format!("refs/heads/{}", new.head_branch);
        self.git
            .bring(new.head_repo, &source, repo, &format!("refs/pull/{number}/head"))?;
        if self.git.commits(repo, &base_sha, &sha).is_empty() {
            let text = format!("No commits between {} and {}", new.base_branch, new.head_branch);
            return Err(Refusal::invalid("PullRequest", "head", &text));
        }
        let pull = Pull {
            id,
            number,
            title: new.title.to_owned(),
            body: new.body.map(str::to_owned),
            author: new.author,
            open: true,
            draft: new.draft,
            base_branch: new.base_branch.to_owned(),
            base_sha,
            head: Head {
                repo: Some(new.head_repo),
                owner,
                branch: new.head_branch.to_owned(),
                sha,
            },
            created_at: now,
            updated_at: now,
            closed_at: None,
            merged: None,
            reviews: Vec::new(),
            comments: Vec::new(),
        };
        if let Some(r) = self.repos.get_mut(&repo) {
            r.pulls.insert(number, pull);
        }
        self.tell_pull(repo, number, "opened", new.author, json!({}));
        Ok(number)
    }

    /// Brings every open pull request up to date with its head branch after that
    /// repository's branches moved, and tells the Apps.
    pub(crate) fn settle_heads(&mut self, pushed: u64, actor: u64) -> Result<(), Refusal> {
        let now = self.seconds();
        if let Some(r) = self.repos.get_mut(&pushed) {
            r.pushed_at = now;
        }
        let waiting: Vec<(u64, u64, Head, String)> = self
            .repos
            .values()
            .flat_map(|r| r.pulls.values().map(move |p| (r.id, p)))
            .filter(|(_, p)| p.open && p.head.repo == Some(pushed))
            .map(|(repo, p)| (repo, p.number, p.head.clone(), p.base_branch.clone()))
            .collect();
        for (repo, number, head, base) in waiting {
            let Some(tip) = self.git.branch(pushed, &head.branch) else {
                self.close_pull(repo, number, actor)?;
                continue;
            };
            if tip == head.sha {
                continue;
            }
            let source = format!("refs/heads/{}", head.branch);
            self.git
                .bring(pushed, &source, repo, &format!("refs/pull/{number}/head"))?;
            let forced = !self.git.is_ancestor(repo, &head.sha, &tip);
            let base_tip = self.git.branch(repo, &base);
            let Some(pull) = self.pull_mut(repo, number) else {
                continue;
            };
            pull.head.sha.clone_from(&tip);
            pull.updated_at = now;
            if let Some(base) = base_tip {
                pull.base_sha = base;
            }
            if forced {
                // Seen on GitHub: a review then names a commit it never saw.
                for review in &mut pull.reviews {
                    review.commit.clone_from(&tip);
                }
            }
            let more = json!({"before": head.sha, "after": tip});
            self.tell_pull(repo, number, "synchronize", actor, more);
        }
        Ok(())
    }

    pub(crate) fn close_pull(&mut self, repo: u64, number: u64, actor: u64) -> Result<(), Refusal> {
        let now = self.seconds();
        let pull = self.pull_mut(repo, number).ok_or_else(Refusal::not_found)?;
        if !pull.open {
            return Err(Refusal::invalid("PullRequest", "state", "is already closed"));
        }
        pull.open = false;
        pull.closed_at = Some(now);
        pull.updated_at = now;
        self.tell_pull(repo, number, "closed", actor, json!({}));
        Ok(())
    }

    pub(crate) fn reopen_pull(&mut self, repo: u64, number: u64, actor: u64) -> Result<(), Refusal> {
        let now = self.seconds();
        let pull = self.pull(repo, number).ok_or_else(Refusal::not_found)?.clone();
        let tip = pull.head.repo.and_then(|r| self.git.branch(r, &pull.head.branch));
        let (false, None, Some(tip)) = (pull.open, &pull.merged, tip) else {
            return Err(Refusal::invalid("PullRequest", "state", "cannot be reopened"));
        };
        if let Some(from) = pull.head.repo {
            let source = format!("refs/heads/{}", pull.head.branch);
            self.git
                .bring(from, &source, repo, &format!("refs/pull/{number}/head"))?;
        }
        if let Some(p) = self.pull_mut(repo, number) {
            p.open = true;
            p.closed_at = None;
            p.updated_at = now;
            p.head.sha = tip;
        }
        self.tell_pull(repo, number, "reopened", actor, json!({}));
        Ok(())
    }

    pub(crate) fn set_draft(
        &mut self,
        repo: u64,
        number: u64,
        draft: bool,
        actor: u64,
    ) -> Result<(), Refusal> {
        let now = self.seconds();
        let pull = self.pull_mut(repo, number).ok_or_else(Refusal::not_found)?;
        if pull.draft == draft {
            return Ok(());
        }
        pull.draft = draft;
        pull.updated_at = now;
        let action = if draft {
            "converted_to_draft"
        } else {
            "ready_for_review"
        };
        self.tell_pull(repo, number, action, actor, json!({}));
        Ok(())
    }

    pub(crate) fn set_base(&mut self, repo: u64, number: u64, base: &str, actor: u64) -> Result<(), Refusal> {
        let now = self.seconds();
        let tip = self
            .git
            .branch(repo, base)
            .ok_or_else(|| Refusal::invalid("PullRequest", "base", "invalid"))?;
        let pull = self.pull_mut(repo, number).ok_or_else(Refusal::not_found)?;
        let (old, old_sha) = (pull.base_branch.clone(), pull.base_sha.clone());
        base.clone_into(&mut pull.base_branch);
        pull.base_sha = tip;
        pull.updated_at = now;
        let changes = json!({"changes": {"base": {"ref": {"from": old}, "sha": {"from": old_sha}}}});
        self.tell_pull(repo, number, "edited", actor, changes);
        Ok(())
    }

    /// Changes the title or the body.
    pub(crate) fn edit_pull(
        &mut self,
        repo: u64,
        number: u64,
        title: Option<&str>,
        body: Option<&str>,
        actor: u64,
    ) -> Result<(), Refusal> {
        let now = self.seconds();
        let pull = self.pull_mut(repo, number).ok_or_else(Refusal::not_found)?;
        let mut changes = json!({});
        if let Some(title) = title {
            changes["title"] = json!({"from": pull.title});
            title.clone_into(&mut pull.title);
        }
        if let Some(body) = body {
            changes["body"] = json!({"from": pull.body});
            pull.body = Some(body.to_owned());
        }
        pull.updated_at = now;
        self.tell_pull(repo, number, "edited", actor, json!({"changes": changes}));
        Ok(())
    }

    fn tell_pull(&self, repo: u64, number: u64, action: &str, actor: u64, more: Value) {
        let Some(pull) = self.pull(repo, number) else {
            return;
        };
        let mut payload = json!({
            "action": action,
            "number": number,
            "pull_request": self.pull_json(repo, pull, true),
        });
        if let (Some(to), Value::Object(more)) = (payload.as_object_mut(), more) {
            to.extend(more);
        }
        self.tell("pull_request", repo, actor, None, &payload);
    }
}
