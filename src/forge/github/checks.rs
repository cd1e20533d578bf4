//! Check runs of ours.
//!
//! A check belongs to (App, name, sha), and the same name may repeat; a completed
//! run is not reopened (taskcluster/taskcluster#5085), so that a caller makes a new
//! one.

use http::Method;
use serde_json::{Value, json};

use crate::{
    domain::{
        ids::{CheckRunId, Sha},
        space::RepoRef,
    },
    ports::forge::{CheckRun, CheckView, ForgeError},
};

use super::{
    budget::Purpose,
    client::Call,
    loose::{Loose, loose},
    origin::{encoded, repo_path},
    pager::Listed,
    pulls::{AppBody, positive},
    session::Session,
};

loose! {
    OutputBody {
        title: String,
        summary: String,
    }
}

loose! {
    RunBody {
        id: i64,
        name: String,
        head_sha: String,
        external_id: String,
        status: String,
        conclusion: String,
        output: OutputBody,
        app: AppBody,
    }
}

impl Session {
    pub(super) async fn list_check_runs(
        &self,
        repo: &RepoRef,
        sha: &Sha,
        name: &str,
    ) -> Result<Vec<CheckRun>, ForgeError> {
        let path = repo_path(
            repo,
            &format!(
                "/commits/{sha}/check-runs?check_name={}&app_id={}&filter=all&per_page=100",
                encoded(name),
                self.app_id()
            ),
        );
        let runs = self
            .list(
                repo.installation,
                Purpose::Concluding,
                path,
                Listed::<RunBody>::entries,
            )
            .await?;
        let mut ours: Vec<CheckRun> = runs
            .into_iter()
            // The query already says all this; a forge that ignores it must not give us others' runs.
            .filter(|run| run.name.as_deref() == Some(name))
            .filter(|run| run.app.as_ref().and_then(|app| positive(&app.id)) == Some(self.app_id()))
            .filter(|run| {
                run.head_sha
                    .as_deref()
                    .is_none_or(|of| of.eq_ignore_ascii_case(sha.as_str()))
            })
            .filter_map(|run| {
                // Seen: a conclusion while the status is still in_progress. It is finished then.
                let completed = run.status.as_deref() == Some("completed");
                let output = run.output.0.unwrap_or_default();
                Some(CheckRun {
                    title: output.title.0,
                    summary: output.summary.0,
                    id: CheckRunId(positive(&run.id)?),
                    external_id: run.external_id.0.unwrap_or_default(),
                    conclusion: run
                        .conclusion
                        .0
                        .or_else(|| completed.then(|| "unknown".to_owned())),
                })
            })
            .collect();
        ours.sort_by_key(|run| std::cmp::Reverse(run.id));
        Ok(ours)
    }

    pub(super) async fn make_check(
        &self,
        repo: &RepoRef,
        sha: &Sha,
        name: &str,
        external_id: &str,
        view: &CheckView,
    ) -> Result<CheckRunId, ForgeError> {
        let mut body = run_body(view);
        body["name"] = json!(name);
        body["head_sha"] = json!(sha);
        body["external_id"] = json!(external_id);
        let call = Call::write(Method::POST, repo_path(repo, "/check-runs"), Some(body)).to(purpose(view));
        let answer = self.installed(repo.installation, call).await?;
        let run: Loose<RunBody> = answer.json()?;
        run.0
            .and_then(|run| positive(&run.id))
            .map(CheckRunId)
            .ok_or_else(|| ForgeError::Unknown("a check run was made, but not told its id".to_owned()))
    }

    pub(super) async fn change_check(
        &self,
        repo: &RepoRef,
        id: CheckRunId,
        view: &CheckView,
    ) -> Result<(), ForgeError> {
        let path = repo_path(repo, &format!("/check-runs/{id}"));
        let call = Call::write(Method::PATCH, path, Some(run_body(view))).to(purpose(view));
        self.installed(repo.installation, call).await.map(drop)
    }
}

/// Only a conclusion may take from what is kept for conclusions.
fn purpose(view: &CheckView) -> Purpose {
    match view.conclusion {
        Some(_) => Purpose::Concluding,
        None => Purpose::Reviewing,
    }
}

/// What a run should show.
fn run_body(view: &CheckView) -> Value {
    let mut body = json!({ "output": { "title": view.title, "summary": view.summary } });
    match view.conclusion {
        Some(conclusion) => {
            body["status"] = json!("completed");
            body["conclusion"] = json!(conclusion);
        }
        None => body["status"] = json!("in_progress"),
    }
    if !view.details_url.is_empty() {
        body["details_url"] = json!(view.details_url);
    }
    body
}
