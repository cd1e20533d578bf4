//! Looks for what fell through: passes nobody works on, wants nobody sends, checks in
//! progress that no pass will end, deliveries that are old. It only asks for work; what is
//! to be done is decided by those who do it.

use crate::store::{JobKind, JobState, Task, Tx};

use super::{Context, Failure, want_check};

/// How much one round looks at, of each kind.
const ROUND: i64 = 500;

/// How long what was given up is left alone, in milliseconds.
const GIVEN_UP_MS: i64 = 10 * 60 * 1000;

/// How long deliveries are kept, in milliseconds: 30 days. The forge redelivers for
/// 3 to 7 days, so a repeat is always recognised.
const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// How far clocks of replicas may differ, in milliseconds. A lease that ends later than
/// that after its whole length was given before a clock was set back.
const CLOCKS_DIFFER_MS: i64 = 5 * 60 * 1000;

/// Nothing is ever put off for this long, in milliseconds: the longest is an hour.
const AHEAD_MS: i64 = 2 * 60 * 60 * 1000;

/// One round. Asking for work that is already waiting changes nothing.
pub async fn reap(ctx: &Context) -> Result<(), Failure> {
    let now = ctx.now();
    let mut tx = ctx.db.write().await?;
    let leased = now.plus_ms(ctx.settings.lease_ms + CLOCKS_DIFFER_MS);
    if tx.bring_forward(now, leased, now.plus_ms(AHEAD_MS)).await? > 0 {
        tracing::warn!("the clock was set back: what was due later by it is due now");
    }
    for space in tx.spaces_to_tend(ROUND).await? {
        tx.enqueue(&Task::ReviewSpace(space), now).await?;
    }
    let mut unsent: Vec<Task> = Vec::new();
    unsent.extend(
        tx.unsent_checks(ROUND)
            .await?
            .into_iter()
            .map(|c| Task::SyncCheck(c.key)),
    );
    unsent.extend(
        tx.unsent_reviews(ROUND)
            .await?
            .into_iter()
            .map(|r| Task::SyncReview(r.space)),
    );
    for task in unsent {
        let wait = if tx.is_dead(&task).await? { GIVEN_UP_MS } else { 0 };
        tx.enqueue(&task, now.plus_ms(wait)).await?;
    }
    tx.purge_deliveries(now.plus_ms(-KEPT_MS)).await?;
    measure(&mut tx).await?;
    let stalled = tx.stalled_checks(ROUND).await?;
    tx.commit().await?;
    for check in stalled {
        // One that cannot be worked out keeps no other from it.
        if let Err(failure) = want_check::heal(ctx, &check.key).await {
            tracing::warn!(%failure, check = %check.key, "a check in progress could not be looked at");
        }
    }
    ctx.bell.notify_waiters();
    Ok(())
}

/// Says how long the queues are.
async fn measure(tx: &mut Tx) -> Result<(), Failure> {
    #[expect(clippy::cast_precision_loss, reason = "a queue is far shorter than 2^52")]
    let float = |count: i64| count as f64;
    let deliveries = tx.delivery_counts().await?;
    for (state, count) in [
        ("queued", deliveries.queued),
        ("running", deliveries.running),
        ("dead", deliveries.dead),
    ] {
        metrics::gauge!("jury_deliveries", "state" => state).set(float(count));
    }
    let jobs = tx.job_counts().await?;
    for kind in JobKind::ALL {
        for state in JobState::ALL {
            let found = jobs.iter().find(|j| j.kind == *kind && j.state == *state);
            metrics::gauge!("jury_jobs", "kind" => kind.as_str(), "state" => state.as_str())
                .set(float(found.map_or(0, |j| j.count)));
        }
    }
    Ok(())
}
