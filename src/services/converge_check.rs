//! Sends what a check should show until *sent* equals *wanted*.
//!
//! Only the holder of the job's lease sends. Before a run is made its external id
//! is written down; after an unknown outcome the run with that external id is
//! looked for before anything is sent again, and *not found* counts only when the
//! lost request had its time to arrive, so a check is not made twice. Should the
//! forge be slower than that, both runs are made to say the same. We never change a
//! completed run: the forge does not reopen one, so a new run of the same name takes
//! its place.
//!
//! A change of a run that was given up for lost may arrive after a newer one, and the
//! forge lets it overwrite even a conclusion. So it is written down like a making: while
//! it may arrive, what is sent is sent *in doubt*, and is looked at once more when it
//! cannot arrive any more. A run that shows something else by then is replaced.

use crate::{
    domain::{ids::CheckRunId, space::RepoRef},
    ports::forge::{CheckRun, CheckView, ForgeError},
    store::{CheckKey, CheckRow, Job, Task},
};

use super::{Context, Failure, want_check};

/// Carries out a `SyncCheck` job.
pub async fn sync(ctx: &Context, job: &Job, key: &CheckKey) -> Result<(), Failure> {
    loop {
        let (row, place) = {
            let mut tx = ctx.db.read().await?;
            let row = tx.check(key).await?;
            (row, tx.repo(&key.workspace, key.repo).await?)
        };
        let (Some(row), Some(place)) = (row, place) else {
            return Ok(());
        };
        if row.is_sent() {
            if row.intent_at.is_none() {
                return Ok(());
            }
            // Sent in doubt: look again when nothing can arrive late any more.
            ctx.settled(row.intent_at)?;
        }
        match send(ctx, job, &place, &row).await {
            Ok(()) => {}
            Err(Failure::Final(reason)) => {
                // Perhaps the repository went away, and nobody told.
                let mut tx = ctx.fenced(job).await?;
                tx.enqueue(&Task::ListRepositories(place.installation), ctx.now())
                    .await?;
                tx.commit().await?;
                return Err(Failure::Final(reason));
            }
            Err(other) => return Err(other),
        }
    }
}

async fn send(ctx: &Context, job: &Job, repo: &RepoRef, row: &CheckRow) -> Result<(), Failure> {
    let view = want_check::read_want(row)?;
    let open_run = row.forge_id.filter(|_| !row.completed);
    let (id, settled) = match open_run {
        // When it was made in doubt, a lost request may have made another one since.
        Some(id) if row.intent_at.is_none() => {
            intend_change(ctx, job, row).await?;
            match ctx.forge.update_check(repo, id, &view).await {
                Ok(()) => (id, true),
                // Somebody deleted it (or the repository was made anew): make another.
                Err(ForgeError::NotFound(_)) => create(ctx, job, repo, row, &view).await?,
                Err(error) => return Err(failed(ctx, job, row, error, true).await?),
            }
        }
        _ => create(ctx, job, repo, row, &view).await?,
    };
    let mut tx = ctx.fenced(job).await?;
    tx.sent_check(&row.key, row.want_rev, id, view.conclusion.is_some(), settled)
        .await?;
    tx.commit().await?;
    Ok(())
}

/// Makes a run that shows `view`, unless an earlier try made it. Says also whether
/// that is certain to be the only one.
async fn create(
    ctx: &Context,
    job: &Job,
    repo: &RepoRef,
    row: &CheckRow,
    view: &CheckView,
) -> Result<(CheckRunId, bool), Failure> {
    let CheckKey { sha, name, .. } = &row.key;
    let (external_id, settled) = match (&row.external_id, row.intent_at) {
        // An earlier try ended without a clear answer.
        (Some(intended), Some(_)) => {
            match adopt(ctx, job, repo, row, intended, view).await? {
                // Its own making or changing, or another one before it, may still arrive.
                Earlier::Shows(id) => return Ok((id, ctx.settled(row.intent_at).is_ok())),
                Earlier::Ended => (intend(ctx, job, row, None).await?, true),
                Earlier::Absent => {
                    ctx.settled(row.intent_at)?;
                    (intend(ctx, job, row, Some(intended)).await?, false)
                }
            }
        }
        _ => (intend(ctx, job, row, None).await?, true),
    };
    match ctx.forge.create_check(repo, sha, name, &external_id, view).await {
        Ok(id) => Ok((id, settled)),
        Err(error) => Err(failed(ctx, job, row, error, settled).await?),
    }
}

/// What comes of a write that failed. When it was not done for certain, and no other was
/// in doubt before it (`settled`), there is nothing to look for.
async fn failed(
    ctx: &Context,
    job: &Job,
    row: &CheckRow,
    error: ForgeError,
    settled: bool,
) -> Result<Failure, Failure> {
    let unknown = matches!(error, ForgeError::Unknown(_) | ForgeError::Internal(_));
    if settled && !unknown {
        let mut tx = ctx.fenced(job).await?;
        tx.forget_check_intent(&row.key).await?;
        tx.commit().await?;
    }
    Ok(error.into())
}

/// What an earlier try to make a run came to.
enum Earlier {
    /// It made this run, which shows what is wanted now.
    Shows(CheckRunId),
    /// It made a run that is completed and says something else: that one stays.
    Ended,
    /// Nothing of it is on the forge.
    Absent,
}

/// Looks for the runs that an earlier try made under `external_id` and makes all that
/// are in progress show `view`. There are two when a request that was given up for
/// lost arrived after all; branch protection looks at the newest.
async fn adopt(
    ctx: &Context,
    job: &Job,
    repo: &RepoRef,
    row: &CheckRow,
    external_id: &str,
    view: &CheckView,
) -> Result<Earlier, Failure> {
    let mut newest = Earlier::Absent;
    let mut runs = ctx.forge.check_runs(repo, &row.key.sha, &row.key.name).await?;
    runs.retain(|run| run.external_id == external_id);
    runs.sort_by_key(|run| run.id);
    for run in runs {
        newest = if run.conclusion.is_none() {
            intend_change(ctx, job, row).await?;
            ctx.forge.update_check(repo, run.id, view).await?;
            Earlier::Shows(run.id)
        } else if shows(&run, view) {
            Earlier::Shows(run.id)
        } else {
            Earlier::Ended
        };
    }
    Ok(newest)
}

/// Whether a completed run says what is wanted: its text too, since two reviews may
/// conclude alike for different reasons. A forge may store white space its own way.
fn shows(run: &CheckRun, view: &CheckView) -> bool {
    let same = |shown: &Option<String>, wanted: &str| {
        let told = |shown: &String| shown.split_whitespace().eq(wanted.split_whitespace());
        shown.as_ref().is_none_or(told)
    };
    run.conclusion.as_deref() == view.conclusion.map(|c| c.as_str())
        && same(&run.title, &view.title)
        && same(&run.summary, &view.summary)
}

/// Writes down that a run is about to be changed.
async fn intend_change(ctx: &Context, job: &Job, row: &CheckRow) -> Result<(), Failure> {
    let mut tx = ctx.fenced(job).await?;
    tx.intend_check(&row.key, None, ctx.now()).await?;
    tx.commit().await?;
    Ok(())
}

/// Writes down that a run is about to be made, and under which name of ours: a new
/// one, or `again` the name of the try before.
async fn intend(ctx: &Context, job: &Job, row: &CheckRow, again: Option<&str>) -> Result<String, Failure> {
    let external_id = again.map_or_else(|| ctx.ids.next(), str::to_owned);
    let mut tx = ctx.fenced(job).await?;
    let new_run = again.is_none().then_some(external_id.as_str());
    tx.intend_check(&row.key, new_run, ctx.now()).await?;
    tx.commit().await?;
    Ok(external_id)
}
