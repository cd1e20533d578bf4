//! Merging, and what stands in its way.

use serde_json::json;

use super::{Pull, RequiredCheck, ReviewState, World, check::PASSING};
use crate::emulator::{git::Signature, refusal::Refusal};

/// How the head gets into the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeMethod {
    Merge,
    Squash,
}

impl World {
    /// Why branch protection does not let the pull request in, in GitHub's
    /// words; empty when it may be merged.
    pub(crate) fn blockers(&self, repo: u64, pull: &Pull) -> Vec<String> {
        let mut reasons = Vec::new();
        if pull.draft {
            reasons.push("Pull Request is still a draft".to_owned());
        }
        let protection = self
            .repos
            .get(&repo)
            .and_then(|r| r.protection.get(&pull.base_branch));
        let Some(protection) = protection else {
            return reasons;
        };
        let checks: Vec<(&str, &str)> = protection
            .required_checks
            .iter()
            .filter_map(|c| Some((c.context.as_str(), self.unmet(repo, &pull.head.sha, c)?)))
            .collect();
        match checks[..] {
            [] => {}
            [(name, why)] => reasons.push(format!("Required status check \"{name}\" {why}")),
            _ => {
                let all = protection.required_checks.len();
                let each: Vec<String> = checks.iter().map(|(n, why)| format!("\"{n}\" {why}")).collect();
                let (count, list) = (checks.len(), each.join(" "));
                reasons.push(format!(
                    "{count} of {all} required status checks have not succeeded: {list}"
                ));
            }
        }
        if protection.required_approvals > 0 {
            let latest = latest_opinions(pull);
            if latest.contains(&ReviewState::ChangesRequested) {
                reasons.push("Changes have been requested.".to_owned());
            }
            let approvals = latest.iter().filter(|s| **s == ReviewState::Approved).count();
            let wanted = protection.required_approvals;
            if approvals < wanted as usize {
                reasons.push(format!(
                    "At least {wanted} approving review is required by reviewers with write access."
                ));
            }
        }
        reasons
    }

    fn unmet(&self, repo: u64, sha: &str, check: &RequiredCheck) -> Option<&'static str> {
        let named: Vec<_> = self
            .runs_on(repo, sha, true)
            .into_iter()
            .filter(|r| r.name == check.context)
            .collect();
        if named.is_empty() {
            return Some("is expected.");
        }
        let right: Vec<_> = named
            .into_iter()
            .filter(|r| check.app_id.is_none_or(|app| app == r.app))
            .collect();
        if right.is_empty() {
            return Some("was not set by the expected GitHub App.");
        }
        if right.iter().any(|r| r.status != "completed") {
            return Some("is in progress.");
        }
        let passes = |c: &Option<String>| c.as_deref().is_some_and(|c| PASSING.contains(&c));
        (!right.iter().all(|r| passes(&r.conclusion))).then_some("is failing.")
    }

    /// Merges, when protection lets it. Gives the merge commit.
    pub(crate) fn merge_pull(
        &mut self,
        repo: u64,
        number: u64,
        actor: u64,
        method: MergeMethod,
        expected: Option<&str>,
        words: (Option<&str>, Option<&str>),
    ) -> Result<String, Refusal> {
        let pull = self.pull(repo, number).ok_or_else(Refusal::not_found)?.clone();
        if !pull.open {
            return Err(Refusal::new(405, "Pull Request is not mergeable"));
        }
        if expected.is_some_and(|sha| sha != pull.head.sha) {
            let text = "Head branch was modified. Review and try the merge again.";
            return Err(Refusal::new(409, text));
        }
        if let Some(reason) = self.blockers(repo, &pull).into_iter().next() {
            return Err(Refusal::new(405, reason));
        }
        let base = self
            .git
            .branch(repo, &pull.base_branch)
            .ok_or_else(|| Refusal::new(404, "Base does not exist"))?;
        let tree = self
            .git
            .merged_tree(repo, &base, &pull.head.sha)
            .ok_or_else(|| Refusal::new(405, "Pull Request is not mergeable"))?;
        let title = words.0.map_or_else(
            || match method {
                MergeMethod::Merge => {
                    let from = self.login(pull.head.owner);
                    format!("Merge pull request #{number} from {from}/{}", pull.head.branch)
                }
                MergeMethod::Squash => format!("{} (#{number})", pull.title),
            },
            str::to_owned,
        );
        let message = format!("{title}\n\n{}\n", words.1.unwrap_or(&pull.title));
        let parents: &[&str] = match method {
            MergeMethod::Merge => &[&base, &pull.head.sha],
            MergeMethod::Squash => &[&base],
        };
        let by = self.signature(actor);
        let sha = self.git.commit_tree(repo, &tree, parents, &message, &by)?;
        self.git
            .set(repo, &format!("refs/heads/{}", pull.base_branch), &sha)?;
        let now = self.seconds();
        if let Some(p) = self.pull_mut(repo, number) {
            p.merged = Some((now, actor, sha.clone()));
        }
        self.close_pull(repo, number, actor)?;
        self.settle_heads(repo, actor)?;
        Ok(sha)
    }

    /// How an account signs its commits now.
    pub(crate) fn signature(&self, account: u64) -> Signature {
        let login = self.login(account);
        Signature {
            name: login.to_owned(),
            email: format!("{account}+{login}@users.noreply.github.com"),
            at: self.seconds(),
        }
    }

    /// Makes the temporary branch of a merge queue and asks for its checks.
    /// Gives the group's head.
    pub(crate) fn request_merge_group(
        &mut self,
        repo: u64,
        number: u64,
        actor: u64,
    ) -> Result<String, Refusal> {
        let pull = self.pull(repo, number).ok_or_else(Refusal::not_found)?.clone();
        let base = self
            .git
            .branch(repo, &pull.base_branch)
            .ok_or_else(Refusal::not_found)?;
        let tree = self
            .git
            .merged_tree(repo, &base, &pull.head.sha)
            .ok_or_else(|| Refusal::new(405, "Pull Request is not mergeable"))?;
        let message = format!("Merge pull request #{number}\n");
        let by = self.signature(actor);
        let head = self
            .git
            .commit_tree(repo, &tree, &[&base, &pull.head.sha], &message, &by)?;
        let name = format!(
            "refs/heads/gh-readonly-queue/{}/pr-{number}-{base}",
            pull.base_branch
        );
        self.git.set(repo, &name, &head)?;
        let group = json!({
            "head_sha": head,
            "head_ref": name,
            "base_sha": base,
            "base_ref": format!("refs/heads/{}", pull.base_branch),
            "head_commit": self.simple_commit_json(repo, &head),
        });
        let payload = json!({"action": "checks_requested", "merge_group": group});
        self.tell("merge_group", repo, actor, None, &payload);
        Ok(head)
    }
}

/// The latest review of each person that says yes or no; a dismissed one says
/// nothing, and a plain comment does not take an earlier opinion back.
fn latest_opinions(pull: &Pull) -> Vec<ReviewState> {
    let mut opinions: Vec<(u64, ReviewState)> = Vec::new();
    for review in &pull.reviews {
        if matches!(
            review.state,
            ReviewState::Approved | ReviewState::ChangesRequested
        ) {
            opinions.retain(|(author, _)| *author != review.author);
            opinions.push((review.author, review.state));
        }
    }
    opinions.into_iter().map(|(_, state)| state).collect()
}
