//! What people do with git and the web page, as plain calls for tests and the
//! demo. Every call is one step; what it causes is told to the installed Apps.
//!
//! Repositories are named `owner/name`, people by their login.

mod apps;
mod repos;

pub use apps::AppRegistration;

use std::sync::{Arc, MutexGuard};

use serde_json::json;

use super::{
    git::Edit,
    refusal::Refusal,
    server::Shared,
    state::{AccountKind, CommentDraft, MergeMethod, NewPull, ReviewDraft, World},
};

/// Everybody who has a keyboard. A call runs git and returns when all of it has
/// happened, some milliseconds later; it may be made from async code that can wait.
#[derive(Clone)]
pub struct People {
    shared: Arc<Shared>,
}

/// A push to a branch.
#[derive(Clone, Copy, Debug)]
pub struct Push<'a> {
    /// `owner/name`.
    pub repo: &'a str,
    /// The branch; made from the default branch when it is new.
    pub branch: &'a str,
    /// Who pushes.
    pub by: &'a str,
    /// The commit's message.
    pub message: &'a str,
    /// What the commit changes.
    pub edits: &'a [Edit],
    /// A branch or a commit to start from instead of the branch's tip: the branch
    /// is force-pushed.
    pub onto: Option<&'a str>,
}

/// A pull request to open.
#[derive(Clone, Copy, Debug)]
pub struct OpenPull<'a> {
    /// Where it goes: `owner/name`.
    pub repo: &'a str,
    /// Who opens it.
    pub by: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Its description.
    pub body: Option<&'a str>,
    /// The fork it comes from; `None` is the repository itself.
    pub head_repo: Option<&'a str>,
    /// The branch it comes from.
    pub head: &'a str,
    /// The branch it goes to.
    pub base: &'a str,
    /// Whether it is a draft.
    pub draft: bool,
}

/// A person's review.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Who reviews.
    pub by: &'a str,
    /// `APPROVE`, `REQUEST_CHANGES` or `COMMENT`.
    pub event: &'a str,
    /// The text.
    pub body: &'a str,
    /// Comments on lines of the head: path, line, text.
    pub comments: &'a [(&'a str, u32, &'a str)],
}

type Done<T> = Result<T, Refusal>;

impl People {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    /// Somebody joins. Gives the account's id; a login that exists is kept.
    pub fn user(&self, login: &str) -> u64 {
        self.world().account(login, AccountKind::User)
    }

    /// An organization is founded.
    pub fn organization(&self, login: &str) -> u64 {
        self.world().account(login, AccountKind::Organization)
    }

    /// An account is deleted; what it wrote is the ghost's from now on.
    pub fn delete_account(&self, login: &str) -> Done<()> {
        let mut world = self.world();
        let id = person(&world, login)?;
        world.accounts.remove(&id);
        Ok(())
    }

    /// A token with which the person may use REST and git.
    ///
    /// # Errors
    /// When there is no such person (so for all below: what is named must exist).
    pub fn token(&self, login: &str) -> Done<String> {
        let mut world = self.world();
        let id = person(&world, login)?;
        Ok(world.user_token(id))
    }

    /// Opens a pull request and gives its number.
    pub fn open_pull(&self, new: OpenPull<'_>) -> Done<u64> {
        let mut world = self.world();
        let repo = repo(&world, new.repo)?;
        let head_repo = new.head_repo.map_or(Ok(repo), |name| self::repo(&world, name))?;
        let author = person(&world, new.by)?;
        let new = NewPull {
            author,
            title: new.title,
            body: new.body,
            head_repo,
            head_branch: new.head,
            base_branch: new.base,
            draft: new.draft,
        };
        world.open_pull(repo, &new)
    }

    /// Closes a pull request without merging it.
    pub fn close(&self, repo: &str, number: u64, by: &str) -> Done<()> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        world.close_pull(repo, number, by)
    }

    /// Opens a closed pull request again.
    pub fn reopen(&self, repo: &str, number: u64, by: &str) -> Done<()> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        world.reopen_pull(repo, number, by)
    }

    /// Presses the merge button, which obeys branch protection. Gives the merge
    /// commit.
    pub fn merge(&self, repo: &str, number: u64, by: &str) -> Done<String> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        world.merge_pull(repo, number, by, MergeMethod::Merge, None, (None, None))
    }

    /// Makes a pull request a draft, or ready for review.
    pub fn set_draft(&self, repo: &str, number: u64, draft: bool, by: &str) -> Done<()> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        world.set_draft(repo, number, draft, by)
    }

    /// Points a pull request at another base branch.
    pub fn set_base(&self, repo: &str, number: u64, base: &str, by: &str) -> Done<()> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        world.set_base(repo, number, base, by)
    }

    /// Changes a pull request's title or description.
    pub fn edit(
        &self,
        repo: &str,
        number: u64,
        title: Option<&str>,
        body: Option<&str>,
        by: &str,
    ) -> Done<()> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        world.edit_pull(repo, number, title, body, by)
    }

    /// Reviews a pull request. Gives the review's id.
    pub fn review(&self, repo: &str, number: u64, feedback: Feedback<'_>) -> Done<u64> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, feedback.by)?);
        let comments = feedback.comments.iter().map(|(path, line, body)| CommentDraft {
            path: (*path).to_owned(),
            line: Some(*line),
            body: (*body).to_owned(),
            ..CommentDraft::default()
        });
        let draft = ReviewDraft {
            commit: None,
            body: Some(feedback.body.to_owned()),
            event: Some(feedback.event.to_owned()),
            comments: comments.collect(),
        };
        world.create_review(repo, number, by, &draft)
    }

    /// Dismisses a review.
    pub fn dismiss_review(&self, repo: &str, number: u64, review: u64, by: &str, message: &str) -> Done<()> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        world.dismiss_review(repo, number, review, by, message)
    }

    /// Comments on the conversation. Gives the comment's id.
    pub fn comment(&self, repo: &str, number: u64, by: &str, body: &str) -> Done<u64> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        world.comment(repo, number, by, None, body)
    }

    /// Presses "Re-run" on the newest check of that name on the pull request's
    /// head.
    pub fn rerequest_check(&self, repo: &str, number: u64, check: &str, by: &str) -> Done<()> {
        let world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
        let runs = world.runs_on(repo, &pull.head.sha, true);
        let run = runs.into_iter().rfind(|r| r.name == check);
        let id = run.ok_or_else(Refusal::not_found)?.id;
        world.tell_run(repo, id, "rerequested", by);
        Ok(())
    }

    /// Presses "Re-run all checks" for an App on the pull request's head.
    pub fn rerequest_suite(&self, repo: &str, number: u64, app: u64, by: &str) -> Done<()> {
        let world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
        let found = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
        let suite = found
            .suites
            .iter()
            .find(|s| s.app == app && s.head_sha == pull.head.sha);
        let id = suite.ok_or_else(Refusal::not_found)?.id;
        world.rerequest_suite(repo, id, by)
    }

    /// Puts a pull request into the merge queue, which asks for its checks. Gives
    /// the group's head.
    pub fn enqueue(&self, repo: &str, number: u64, by: &str) -> Done<String> {
        let mut world = self.world();
        let (repo, by) = (self::repo(&world, repo)?, person(&world, by)?);
        world.request_merge_group(repo, number, by)
    }

    /// Why the merge button is grey, in GitHub's words; empty when it is not.
    pub fn merge_blockers(&self, repo: &str, number: u64) -> Done<Vec<String>> {
        let world = self.world();
        let repo = self::repo(&world, repo)?;
        let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
        Ok(world.blockers(repo, pull))
    }

    /// The pull request's head commit.
    pub fn head_sha(&self, repo: &str, number: u64) -> Done<String> {
        let world = self.world();
        let repo = self::repo(&world, repo)?;
        let pull = world.pull(repo, number).ok_or_else(Refusal::not_found)?;
        Ok(pull.head.sha.clone())
    }
}

fn person(world: &World, login: &str) -> Done<u64> {
    let found = world.account_by_login(login).map(|a| a.id);
    found.ok_or_else(|| Refusal::new(404, format!("there is no account {login}")))
}

fn repo(world: &World, name: &str) -> Done<u64> {
    let found = name
        .split_once('/')
        .and_then(|(owner, repo)| world.repo_named(owner, repo));
    found.ok_or_else(|| Refusal::new(404, format!("there is no repository {name}")))
}

/// Tells the Apps that a repository's own facts changed.
fn tell_repository(world: &World, repo: u64, action: &str, by: u64, changes: &serde_json::Value) {
    let payload = json!({"action": action, "changes": changes});
    world.tell("repository", repo, by, None, &payload);
}
