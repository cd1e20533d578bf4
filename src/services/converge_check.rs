//! Sends what a check should show until *sent* equals *wanted*.
//!
//! Only the holder of the job's lease sends. Before a run is made its external id
//! is written down; after an unknown outcome the run with that external id is
//! looked for before anything is sent again, and *not found* counts only when the
//! lost request had its time to arrive, so a check is not made twice. Should the
//! forge be slower than that, both runs are made to say the same. A completed run is
//! never changed: the forge does not reopen one, so a new run of the same name takes
//! its place. Changing a run that is in progress says the same thing when it is said
//! twice, so it needs no such care.

use crate::{
    domain::{ids::CheckRunId, space::RepoRef},
    ports::forge::{CheckView, ForgeError},
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
        Some(id) if row.intent_at.is_none() => match ctx.forge.update_check(repo, id, &view).await {
            Ok(()) => (id, true),
            // Somebody deleted it (or the repository was made anew): make another.
            Err(ForgeError::NotFound(_)) => create(ctx, job, repo, row, &view).await?,
            Err(other) => return Err(other.into()),
        },
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
            match adopt(ctx, repo, row, intended, view).await? {
                // One of one request sent is all there can be; of two, the other may follow.
                Earlier::Shows(id) => {
                    let settled = row.forge_id.is_none() || ctx.settled(row.intent_at).is_ok();
                    return Ok((id, settled));
                }
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
        Err(unknown @ (ForgeError::Unknown(_) | ForgeError::Internal(_))) => Err(unknown.into()),
        Err(undone) => {
            if settled {
                let mut tx = ctx.fenced(job).await?;
                tx.forget_check_intent(&row.key).await?;
                tx.commit().await?;
            }
            Err(undone.into())
        }
    }
}

/// What an earlier try to make a run came to.
enum Earlier {
    /// It made this run, which shows what is wanted now.
    Shows(CheckRunId),
    /// It made a run that is completed and says something older: that one stays.
    Ended,
    /// Nothing of it is on the forge.
    Absent,
}

/// Looks for the runs that an earlier try made under `external_id` and makes all that
/// are in progress show `view`. There are two when a request that was given up for
/// lost arrived after all; branch protection looks at the newest.
async fn adopt(
    ctx: &Context,
    repo: &RepoRef,
    row: &CheckRow,
    external_id: &str,
    view: &CheckView,
) -> Result<Earlier, Failure> {
    let wanted = view.conclusion.map(|c| c.as_str());
    let mut newest = Earlier::Absent;
    let mut runs = ctx.forge.check_runs(repo, &row.key.sha, &row.key.name).await?;
    runs.retain(|run| run.external_id == external_id);
    runs.sort_by_key(|run| run.id);
    for run in runs {
        newest = match run.conclusion.as_deref() {
            None => {
                ctx.forge.update_check(repo, run.id, view).await?;
                Earlier::Shows(run.id)
            }
            shown if shown == wanted => Earlier::Shows(run.id),
            Some(_) => Earlier::Ended,
        };
    }
    Ok(newest)
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
