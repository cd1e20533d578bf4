//! Sends what a check should show until *sent* equals *wanted*.
//!
//! Only the holder of the job's lease sends. Before a run is made its external id
//! is written down; after an unknown outcome the run with that external id is
//! looked for before anything is sent again, so a check is never made twice. A
//! completed run is never changed: the forge does not reopen one, so a new run of
//! the same name takes its place. Changing a run that is in progress says the same
//! thing when it is said twice, so it needs no such care.

use crate::{
    domain::{ids::CheckRunId, space::RepoRef},
    ports::forge::{CheckView, ForgeError},
    store::{CheckKey, CheckRow, Job},
};

use super::{Context, Failure, want_check};

/// Carries out a `SyncCheck` job.
pub async fn sync(ctx: &Context, job: &Job) -> Result<(), Failure> {
    let key: CheckKey = job
        .key
        .parse()
        .map_err(|_| Failure::Final(format!("unreadable job key {:?}", job.key)))?;
    loop {
        let (row, place) = {
            let mut tx = ctx.db.read().await?;
            let row = tx.check(&key).await?;
            (row, tx.repo(&key.workspace, key.repo).await?)
        };
        let (Some(row), Some(place)) = (row, place) else {
            return Ok(());
        };
        if row.is_sent() {
            return Ok(());
        }
        send(ctx, job, &place, &row).await?;
    }
}

async fn send(ctx: &Context, job: &Job, repo: &RepoRef, row: &CheckRow) -> Result<(), Failure> {
    let view = want_check::read_want(row)?;
    let open_run = row.forge_id.filter(|_| !row.completed);
    let id = match open_run {
        Some(id) => match ctx.forge.update_check(repo, id, &view).await {
            Ok(()) => id,
            // Somebody deleted it (or the repository was made anew): make another.
            Err(ForgeError::NotFound(_)) => create(ctx, job, repo, row, &view).await?,
            Err(other) => return Err(other.into()),
        },
        None => create(ctx, job, repo, row, &view).await?,
    };
    let mut tx = ctx.fenced(job).await?;
    tx.sent_check(&row.key, row.want_rev, id, view.conclusion.is_some())
        .await?;
    tx.commit().await?;
    Ok(())
}

async fn create(
    ctx: &Context,
    job: &Job,
    repo: &RepoRef,
    row: &CheckRow,
    view: &CheckView,
) -> Result<CheckRunId, Failure> {
    let CheckKey { sha, name, .. } = &row.key;
    let external_id = match (&row.external_id, row.intent_at) {
        // An earlier try ended without a clear answer.
        (Some(intended), Some(_)) => {
            let runs = ctx.forge.check_runs(repo, sha, name).await?;
            if let Some(run) = runs.into_iter().find(|run| run.external_id == *intended) {
                // It was made, perhaps to show something older than what is wanted now.
                if run.conclusion.is_none() {
                    ctx.forge.update_check(repo, run.id, view).await?;
                    return Ok(run.id);
                }
                if run.conclusion.as_deref() == view.conclusion.map(|c| c.as_str()) {
                    return Ok(run.id);
                }
                intend(ctx, job, &row.key).await?
            } else {
                intended.clone()
            }
        }
        _ => intend(ctx, job, &row.key).await?,
    };
    Ok(ctx
        .forge
        .create_check(repo, sha, name, &external_id, view)
        .await?)
}

/// Writes down that a run is about to be made, and under which name of ours.
async fn intend(ctx: &Context, job: &Job, key: &CheckKey) -> Result<String, Failure> {
    let external_id = ctx.ids.next();
    let mut tx = ctx.fenced(job).await?;
    tx.intend_check(key, Some(&external_id), ctx.now()).await?;
    tx.commit().await?;
    Ok(external_id)
}
