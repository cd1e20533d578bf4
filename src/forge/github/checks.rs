//! Check runs of ours.
//!
//! A check belongs to (App, name, sha), and the same name may repeat; a completed
//! run is not reopened (taskcluster/taskcluster#5085), so that a caller makes a new
//! one. Annotations are appended, 50 a request at most, hence the request that
//! completes the run is the last one.

use http::Method;
use serde_json::{Value, json};

use crate::{
    domain::{
        ids::{CheckRunId, Sha},
        space::RepoRef,
    },
    ports::forge::{Annotation, CheckRun, CheckView, ForgeError},
};

use super::{
    GitHub,
    client::Call,
    loose::{Loose, loose},
    origin::{encoded, repo_path},
    pager::Listed,
    pulls::{AppBody, positive},
};

/// Annotations a request (OpenAPI, `POST /repos/{owner}/{repo}/check-runs`).
const ANNOTATIONS_MAX: usize = 50;

loose! {
    RunBody {
        id: i64,
        name: String,
        head_sha: String,
        external_id: String,
        status: String,
        conclusion: String,
        app: AppBody,
    }
}

impl GitHub {
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
            .list(repo.installation, path, Listed::<RunBody>::entries)
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
                Some(CheckRun {
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
        let (first, rest) = view
            .annotations
            .split_at(view.annotations.len().min(ANNOTATIONS_MAX));
        let mut body = run_body(view, first, rest.is_empty());
        body["name"] = json!(name);
        body["head_sha"] = json!(sha);
        body["external_id"] = json!(external_id);
        let call = Call::write(Method::POST, repo_path(repo, "/check-runs"), Some(body));
        let answer = self.installed(repo.installation, call).await?;
        let run: Loose<RunBody> = answer.json()?;
        let id = run
            .0
            .and_then(|run| positive(&run.id))
            .map(CheckRunId)
            .ok_or_else(|| ForgeError::Unknown("a check run was made, but not told its id".to_owned()))?;
        self.send_batches(repo, id, view, rest).await?;
        Ok(id)
    }

    pub(super) async fn change_check(
        &self,
        repo: &RepoRef,
        id: CheckRunId,
        view: &CheckView,
    ) -> Result<(), ForgeError> {
        if view.annotations.is_empty() {
            return self.patch_check(repo, id, view, &[], true).await;
        }
        self.send_batches(repo, id, view, &view.annotations).await
    }

    async fn send_batches(
        &self,
        repo: &RepoRef,
        id: CheckRunId,
        view: &CheckView,
        annotations: &[Annotation],
    ) -> Result<(), ForgeError> {
        let mut batches = annotations.chunks(ANNOTATIONS_MAX).peekable();
        while let Some(batch) = batches.next() {
            let last = batches.peek().is_none();
            self.patch_check(repo, id, view, batch, last).await?;
        }
        Ok(())
    }

    async fn patch_check(
        &self,
        repo: &RepoRef,
        id: CheckRunId,
        view: &CheckView,
        batch: &[Annotation],
        last: bool,
    ) -> Result<(), ForgeError> {
        let path = repo_path(repo, &format!("/check-runs/{id}"));
        let call = Call::write(Method::PATCH, path, Some(run_body(view, batch, last)));
        self.installed(repo.installation, call).await.map(drop)
    }
}

/// What a run should show; it is completed only with the `last` annotations.
fn run_body(view: &CheckView, annotations: &[Annotation], last: bool) -> Value {
    let mut output = json!({ "title": view.title, "summary": view.summary });
    if !annotations.is_empty() {
        output["annotations"] = annotations.iter().map(annotation_body).collect();
    }
    let mut body = json!({ "output": output });
    match view.conclusion.filter(|_| last) {
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

fn annotation_body(annotation: &Annotation) -> Value {
    json!({
        "path": annotation.path,
        "start_line": annotation.start_line,
        "end_line": annotation.end_line,
        "annotation_level": annotation.level,
        "title": annotation.title,
        "message": annotation.message,
    })
}
