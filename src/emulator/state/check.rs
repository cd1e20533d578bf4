//! Check runs and the suites that hold them.

use serde_json::Value;

use super::World;

/// A check run. Times are seconds since the epoch.
#[derive(Clone, Debug)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    pub(crate) suite: u64,
    pub(crate) app: u64,
    pub(crate) name: String,
    pub(crate) head_sha: String,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) details_url: Option<String>,
    pub(crate) external_id: Option<String>,
    pub(crate) started_at: Option<i64>,
    pub(crate) completed_at: Option<i64>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) annotations: Vec<Value>,
    pub(crate) actions: Vec<Value>,
}

/// The runs of one App on one commit.
#[derive(Clone, Debug)]
pub(crate) struct CheckSuite {
    pub(crate) id: u64,
    pub(crate) app: u64,
    pub(crate) head_sha: String,
    pub(crate) created_at: i64,
}

/// Conclusions that satisfy a required check (GitHub's troubleshooting page).
pub(crate) const PASSING: [&str; 3] = ["success", "skipped", "neutral"];

impl World {
    /// The App's suite on the commit, made when it is missing.
    pub(crate) fn suite(&mut self, repo: u64, app: u64, sha: &str) -> u64 {
        let found = self
            .repos
            .get(&repo)
            .and_then(|r| r.suites.iter().find(|s| s.app == app && s.head_sha == sha))
            .map(|s| s.id);
        if let Some(id) = found {
            return id;
        }
        let id = self.large_id();
        let created_at = self.seconds();
        if let Some(r) = self.repos.get_mut(&repo) {
            r.suites.push(CheckSuite {
                id,
                app,
                head_sha: sha.to_owned(),
                created_at,
            });
        }
        id
    }

    /// Every run on the commit; with `latest`, only the newest of each name of
    /// each App.
    pub(crate) fn runs_on(&self, repo: u64, sha: &str, latest: bool) -> Vec<&CheckRun> {
        let Some(repo) = self.repos.get(&repo) else {
            return Vec::new();
        };
        let on = |r: &&CheckRun| r.head_sha == sha;
        repo.runs
            .iter()
            .filter(on)
            .filter(|run| {
                !latest
                    || !repo
                        .runs
                        .iter()
                        .filter(on)
                        .any(|o| o.app == run.app && o.name == run.name && o.id > run.id)
            })
            .collect()
    }

    /// The suite's state, from its runs: GitHub takes the run of the highest
    /// priority.
    pub(crate) fn suite_state(&self, repo: u64, suite: &CheckSuite) -> (&'static str, Option<String>) {
        const ORDER: [&str; 8] = [
            "action_required",
            "timed_out",
            "cancelled",
            "failure",
            "stale",
            "success",
            "neutral",
            "skipped",
        ];
        let runs: Vec<&CheckRun> = self
            .runs_on(repo, &suite.head_sha, true)
            .into_iter()
            .filter(|r| r.suite == suite.id)
            .collect();
        if runs.is_empty() || runs.iter().all(|r| r.status == "queued") {
            return ("queued", None);
        }
        if runs.iter().any(|r| r.status != "completed") {
            return ("in_progress", None);
        }
        let conclusion = ORDER
            .iter()
            .find(|c| runs.iter().any(|r| r.conclusion.as_deref() == Some(c)))
            .map(|c| (*c).to_owned());
        ("completed", conclusion)
    }
}
