//! Looks for what fell through: passes nobody works on, wants nobody sends, deliveries
//! that are old. It only asks for work; what is to be done is decided by those who do it.

use crate::store::JobKind;

use super::{Context, Failure};

/// How much one round looks at, of each kind.
const ROUND: i64 = 500;

/// How long what was given up is left alone, in milliseconds.
const GIVEN_UP_MS: i64 = 10 * 60 * 1000;

/// How long deliveries are kept, in milliseconds: 30 days. The forge redelivers for
/// 3 to 7 days, so a repeat is always recognised.
const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// One round. Asking for work that is already waiting changes nothing.
pub async fn reap(ctx: &Context) -> Result<(), Failure> {
    let now = ctx.now();
    let mut tx = ctx.db.write().await?;
    for space in tx.spaces_to_tend(ROUND).await? {
        tx.enqueue(JobKind::ReviewSpace, space.as_str(), now).await?;
    }
    let mut unsent: Vec<(JobKind, String)> = Vec::new();
    unsent.extend(
        tx.unsent_checks(ROUND)
            .await?
            .iter()
            .map(|c| (JobKind::SyncCheck, c.key.to_string())),
    );
    unsent.extend(
        tx.unsent_reviews(ROUND)
            .await?
            .iter()
            .map(|r| (JobKind::SyncReview, r.space.to_string())),
    );
    for (kind, key) in unsent {
        let wait = if tx.is_dead(kind, &key).await? {
            GIVEN_UP_MS
        } else {
            0
        };
        tx.enqueue(kind, &key, now.plus_ms(wait)).await?;
    }
    tx.purge_deliveries(now.plus_ms(-KEPT_MS)).await?;
    tx.commit().await?;
    ctx.bell.notify_waiters();
    Ok(())
}
