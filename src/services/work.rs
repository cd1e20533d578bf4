//! The workers: they claim deliveries and jobs, carry them out under a lease, and
//! say how it went.
//!
//! [`run_until_idle`] does everything that is due and returns; [`run`] keeps at it
//! until it is told to stop. A worker that is stopped finishes what it holds; one
//! that is killed leaves a lease that runs out.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::sync::{Notify, watch};
use tracing::Instrument;

use crate::{
    domain::ids::InstallationId,
    store::{InstallationState, Job, JobKind, Task},
};

use super::{
    Context, Failure, backoff_ms, converge_check, converge_review, guarded, intake, reap, reconcile, review,
    take_deliveries::{Looked, take_deliveries},
};

/// Reviewing takes its time; what it comes to, and what is said at its start, must
/// not wait behind it. So publishing has workers of its own.
const REVIEWING: &[JobKind] = &[JobKind::ReviewSpace];

/// Every other kind.
const PUBLISHING: &[JobKind] = &[
    JobKind::SyncCheck,
    JobKind::SyncReview,
    JobKind::ReadPull,
    JobKind::ReadInstallation,
    JobKind::ListPulls,
    JobKind::ListRepositories,
    JobKind::ListInstallations,
];

/// Workers that publish. They wait for the forge nearly all the time.
const PUBLISHERS: usize = 4;

/// How long the worker that takes deliveries in lets more of them gather when it had to
/// do with few: a commit costs as much for one as for many. Far below what a person notices.
const GATHER: Duration = Duration::from_millis(10);

/// How long an idle worker waits for the bell before it looks by itself: other
/// replicas ring no bell here, and leases run out silently.
const POLL: Duration = Duration::from_millis(500);

/// Works until `stop` turns true, then finishes what is under way.
pub async fn run(ctx: Context, stop: watch::Receiver<bool>) {
    let mut tasks = tokio::task::JoinSet::new();
    let arrivals = Arc::clone(&ctx.arrivals);
    tasks.spawn(keep_at(ctx.clone(), arrivals, stop.clone(), |ctx| async move {
        let looked = take_deliveries(&ctx).await?;
        if looked == Looked::Some {
            tokio::time::sleep(GATHER).await;
        }
        Ok(looked != Looked::Nothing)
    }));
    for _ in 0..PUBLISHERS {
        let bell = Arc::clone(&ctx.bell);
        tasks.spawn(keep_at(ctx.clone(), bell, stop.clone(), |ctx| {
            take_job(ctx, PUBLISHING)
        }));
    }
    for _ in 0..ctx.settings.passes {
        let bell = Arc::clone(&ctx.bell);
        tasks.spawn(keep_at(ctx.clone(), bell, stop.clone(), |ctx| {
            take_job(ctx, REVIEWING)
        }));
    }
    tasks.spawn(reap_regularly(ctx, stop));
    while let Some(ended) = tasks.join_next().await {
        if let Err(panic) = ended {
            tracing::error!(%panic, "a worker ended");
        }
    }
}

/// Does everything that is due now. For tests and one-shot commands.
pub async fn run_until_idle(ctx: &Context) -> Result<(), Failure> {
    loop {
        let took = take_deliveries(ctx).await? != Looked::Nothing
            || Box::pin(take_job(ctx.clone(), PUBLISHING)).await?
            || Box::pin(take_job(ctx.clone(), REVIEWING)).await?;
        if !took {
            return Ok(());
        }
    }
}

async fn keep_at<F>(
    ctx: Context,
    bell: Arc<Notify>,
    mut stop: watch::Receiver<bool>,
    mut step: impl FnMut(Context) -> F + Send,
) where
    F: Future<Output = Result<bool, Failure>> + Send,
{
    while !*stop.borrow() {
        // Armed before looking, so that a bell rung while looking is heard.
        let rung = bell.notified();
        let wait = match step(ctx.clone()).await {
            Ok(true) => continue,
            Ok(false) => POLL,
            Err(failure) => {
                tracing::warn!(%failure, "the store did not answer a worker");
                Duration::from_secs(1)
            }
        };
        tokio::select! {
            () = rung => {}
            () = tokio::time::sleep(wait) => {}
            _ = stop.changed() => {}
        }
    }
}

async fn reap_regularly(ctx: Context, mut stop: watch::Receiver<bool>) {
    let pause = Duration::from_millis(u64::try_from(ctx.settings.lease_ms).unwrap_or(60_000));
    while !*stop.borrow() {
        if let Err(failure) = reap::reap(&ctx).await {
            tracing::warn!(%failure, "the reaper could not look");
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => {}
        }
    }
}

/// Carries out one job. Says whether there was one.
async fn take_job(ctx: Context, kinds: &[JobKind]) -> Result<bool, Failure> {
    // Looking is free; claiming takes the only writer of SQLite.
    if !ctx.db.read().await?.is_job_due(ctx.now(), kinds).await? {
        return Ok(false);
    }
    let claim = ctx.ids.next();
    let mut tx = ctx.db.write().await?;
    let job = tx
        .claim_job(ctx.now(), ctx.settings.lease_ms, &claim, kinds)
        .await?;
    tx.commit().await?;
    let Some(job) = job else { return Ok(false) };
    let span = tracing::info_span!("job", kind = %job.kind, key = %job.key);
    carry_out(&ctx, &job).instrument(span).await?;
    Ok(true)
}

async fn carry_out(ctx: &Context, job: &Job) -> Result<(), Failure> {
    let done = if job.attempts > ctx.settings.attempts {
        Err(Failure::Final(NEVER_ENDED.to_owned()))
    } else {
        tokio::select! {
            done = guarded(dispatch(ctx, job)) => done,
            () = beat(ctx, job) => Err(Failure::Lost),
        }
    };
    let kind = job.kind.as_str();
    let mut tx = ctx.db.write().await?;
    match done {
        Ok(()) => {
            metrics::counter!("jury_jobs_total", "kind" => kind, "outcome" => "done").increment(1);
            tx.finish_job(job).await?;
        }
        Err(Failure::Lost) => {
            metrics::counter!("jury_jobs_total", "kind" => kind, "outcome" => "retried").increment(1);
            tracing::warn!("the lease was lost");
        }
        Err(Failure::Unsettled { after_ms }) => {
            metrics::counter!("jury_jobs_total", "kind" => kind, "outcome" => "retried").increment(1);
            // Asked for anew, with its tries still before it. Whoever lost the lease asks for nothing.
            if let Some(task) = job.task()
                && tx.fence(job).await?
            {
                tx.finish_job(job).await?;
                tx.enqueue(&task, ctx.now().plus_ms(after_ms)).await?;
            }
        }
        Err(Failure::Later { reason, after_ms }) if job.attempts < ctx.settings.attempts => {
            metrics::counter!("jury_jobs_total", "kind" => kind, "outcome" => "retried").increment(1);
            tracing::warn!(%reason, attempts = job.attempts, "tried again later");
            tx.retry_job(
                job,
                ctx.now().plus_ms(backoff_ms(job.attempts, after_ms)),
                &reason,
            )
            .await?;
        }
        Err(failure) => {
            metrics::counter!("jury_jobs_total", "kind" => kind, "outcome" => "dead").increment(1);
            tracing::error!(%failure, attempts = job.attempts, "a job could not be done");
            tx.bury_job(job, &failure.to_string()).await?;
        }
    }
    tx.commit().await?;
    // A job of the same key may have been waiting for this one.
    ctx.bell.notify_waiters();
    Ok(())
}

/// Why something is given up whose tries never came to an end.
pub(super) const NEVER_ENDED: &str =
    "it was begun again and again, and the process ended each time before it did";

async fn dispatch(ctx: &Context, job: &Job) -> Result<(), Failure> {
    let task = job
        .task()
        .ok_or_else(|| Failure::Final(format!("unreadable job key {:?}", job.key)))?;
    if is_out_of_reach(ctx, &task).await? {
        if let Task::ReviewSpace(space) = &task {
            review::put_aside(ctx, job, space).await?;
        }
        tracing::info!("left alone: the installation is not active");
        return Ok(());
    }
    let done = match &task {
        Task::SyncCheck(check) => converge_check::sync(ctx, job, check).await,
        Task::SyncReview(space) => converge_review::sync(ctx, job, space).await,
        Task::ReviewSpace(space) => review::review(ctx, job, space).await,
        Task::ReadPull(space) => intake::read_pull(ctx, space).await,
        Task::ReadInstallation(installation) => intake::read_installation(ctx, *installation).await,
        Task::ListPulls(installation, repo) => reconcile::pulls(ctx, *installation, *repo).await,
        Task::ListRepositories(installation) => reconcile::repositories(ctx, *installation).await,
        Task::ListInstallations => reconcile::installations(ctx).await,
    };
    match done {
        // It was closed while the job ran, which is why the forge refused.
        Err(Failure::Final(reason)) if is_out_of_reach(ctx, &task).await? => {
            tracing::info!(%reason, "left alone: the installation is not active");
            Ok(())
        }
        Err(Failure::Closed(reason)) => {
            tracing::warn!(%reason, "left until the installation is open");
            if let Some(installation) = installation_of(ctx, &task).await? {
                intake::found_closed(ctx, installation).await?;
            }
            Ok(())
        }
        done => done,
    }
}

/// Whose installation a job works for.
async fn installation_of(ctx: &Context, task: &Task) -> Result<Option<InstallationId>, Failure> {
    let mut tx = ctx.db.read().await?;
    Ok(match task {
        Task::ListInstallations => None,
        Task::ReadInstallation(installation)
        | Task::ListRepositories(installation)
        | Task::ListPulls(installation, _) => Some(*installation),
        Task::ReviewSpace(space) | Task::SyncReview(space) | Task::ReadPull(space) => {
            let space = tx.space(space).await?;
            space.map(|space| space.pull.repo.installation)
        }
        Task::SyncCheck(check) => {
            let repo = tx.repo(&check.workspace, check.repo).await?;
            repo.map(|repo| repo.installation)
        }
    })
}

/// Whether the job would review or publish where an installation is known to be closed, or a
/// repository to be lost. Then there is nobody to say it to; what is wanted stays
/// wanted, and the reaper asks again once it can be said. A refusal that nothing of
/// this explains is a fault, and ends as a dead letter.
async fn is_out_of_reach(ctx: &Context, task: &Task) -> Result<bool, Failure> {
    let mut tx = ctx.db.read().await?;
    let (workspace, repo) = match task {
        Task::SyncCheck(check) => (check.workspace.clone(), check.repo),
        Task::SyncReview(space) | Task::ReviewSpace(space) => match tx.space(space).await? {
            Some(space) => (space.pull.repo.workspace, space.pull.repo.id),
            None => return Ok(false),
        },
        _ => return Ok(false),
    };
    let Some(place) = tx.repo(&workspace, repo).await? else {
        return Ok(true);
    };
    let installation = tx.installation(place.installation).await?;
    Ok(installation.is_some_and(|(_, state)| state != InstallationState::Active))
}

/// Keeps the lease; returns when it is lost.
async fn beat(ctx: &Context, job: &Job) {
    let pause = Duration::from_millis(u64::try_from(ctx.settings.lease_ms / 4).unwrap_or(15_000));
    loop {
        tokio::time::sleep(pause).await;
        let kept: Result<bool, Failure> = async {
            let mut tx = ctx.db.write().await?;
            let kept = tx.heartbeat(job, ctx.now(), ctx.settings.lease_ms).await?;
            tx.commit().await?;
            Ok(kept)
        }
        .await;
        match kept {
            Ok(true) => {}
            Ok(false) => return,
            // The next beat may get through before the lease ends.
            Err(failure) => tracing::warn!(%failure, "a heartbeat did not get through"),
        }
    }
}
