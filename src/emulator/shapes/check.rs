//! Check runs and suites.

use serde_json::{Value, json};

use crate::emulator::{
    shapes::node_id,
    state::{CheckRun, CheckSuite, Repo, World, iso},
};

impl World {
    /// A `check-run`.
    pub(crate) fn run_json(&self, repo: &Repo, run: &CheckRun) -> Value {
        let full = self.full_name(repo);
        let url = self.api(&format!("/repos/{full}/check-runs/{}", run.id));
        let page = format!("{}/{full}/runs/{}", self.base, run.id);
        json!({
            "id": run.id,
            "node_id": node_id("CheckRun", run.id),
            "name": run.name,
            "head_sha": run.head_sha,
            "external_id": run.external_id.clone().unwrap_or_default(),
            "url": url,
            "html_url": page,
            "details_url": run.details_url.as_ref().unwrap_or(&page),
            "status": run.status,
            "conclusion": run.conclusion,
            "started_at": run.started_at.map(iso),
            "completed_at": run.completed_at.map(iso),
            "output": {
                "title": run.title,
                "summary": run.summary,
                "text": run.text,
                "annotations_count": run.annotations.len(),
                "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": {"id": run.suite},
            "app": self.apps.get(&run.app).map(|a| self.app_json(a)),
            "pull_requests": self.pulls_at(repo, &run.head_sha),
        })
    }

    /// A `check-suite`, as webhooks and REST carry it.
    pub(crate) fn suite_json(&self, repo: &Repo, suite: &CheckSuite) -> Value {
        let full = self.full_name(repo);
        let url = self.api(&format!("/repos/{full}/check-suites/{}", suite.id));
        let (status, conclusion) = self.suite_state(repo.id, suite);
        let branch = repo
            .pulls
            .values()
            .find(|p| p.head.sha == suite.head_sha && p.head.repo == Some(repo.id))
            .map(|p| &p.head.branch);
        let latest = self.runs_on(repo.id, &suite.head_sha, true);
        json!({
            "id": suite.id,
            "node_id": node_id("CheckSuite", suite.id),
            "head_branch": branch,
            "head_sha": suite.head_sha,
            "status": status,
            "conclusion": conclusion,
            "url": url,
            "before": null,
            "after": suite.head_sha,
            "pull_requests": self.pulls_at(repo, &suite.head_sha),
            "app": self.apps.get(&suite.app).map(|a| self.app_json(a)),
            "created_at": iso(suite.created_at),
            "updated_at": iso(suite.created_at),
            "latest_check_runs_count": latest.iter().filter(|r| r.suite == suite.id).count(),
            "check_runs_url": format!("{url}/check-runs"),
            "head_commit": self.simple_commit_json(repo.id, &suite.head_sha),
        })
    }

    /// `pull-request-minimal` of each open pull request with this head in this
    /// repository; GitHub leaves those from forks out.
    fn pulls_at(&self, repo: &Repo, sha: &str) -> Vec<Value> {
        let full = self.full_name(repo);
        let here = json!({
            "id": repo.id,
            "name": repo.name,
            "url": self.api(&format!("/repos/{full}")),
        });
        repo.pulls
            .values()
            .filter(|p| p.open && p.head.sha == sha && p.head.repo == Some(repo.id))
            .map(|p| {
                json!({
                    "id": p.id,
                    "number": p.number,
                    "url": self.api(&format!("/repos/{full}/pulls/{}", p.number)),
                    "head": {"ref": p.head.branch, "sha": p.head.sha, "repo": here},
                    "base": {"ref": p.base_branch, "sha": p.base_sha, "repo": here},
                })
            })
            .collect()
    }
}
