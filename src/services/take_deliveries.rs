//! Takes the deliveries of the inbox in, a batch at a time.
//!
//! One transaction claims a batch; they are read outside of any; one transaction takes
//! all of them in and ends them, so what a delivery changed and that it is done are one.
//! A crash before it leaves a lease that runs out, and nothing else.
//!
//! A delivery's failure is its own: when the batch fails, for whatever reason, nothing
//! of it stays, and each is taken in again in a transaction of its own. What cannot be
//! read, or was begun too often, never comes into the batch. A delivery whose lease was
//! lost is another worker's: ending it fails, and with it whatever it changed here.

use tracing::Instrument;

use crate::{
    domain::event::ForgeEvent,
    store::{Delivery, Tx},
};

use super::{
    Context, Failure, backoff_ms, guarded,
    intake::{self, Taken},
    work::NEVER_ENDED,
};

/// How many deliveries one claim takes. The writer of SQLite is held for all of them.
const BATCH: usize = 64;

/// How a look into the inbox ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// Nothing was due.
    Nothing,
    /// Something was, and it is taken in; there may be more.
    Some,
    /// As many as one claim takes: there is more, very likely.
    Full,
}

/// Takes one batch in.
pub(super) async fn take_deliveries(ctx: &Context) -> Result<Looked, Failure> {
    // Looking is free; claiming takes the only writer of SQLite.
    if !ctx.db.read().await?.is_delivery_due(ctx.now()).await? {
        return Ok(Looked::Nothing);
    }
    let claim = ctx.ids.next();
    let mut tx = ctx.db.write().await?;
    let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
    let batch = tx
        .claim_deliveries(ctx.now(), ctx.settings.lease_ms, &claim, limit)
        .await?;
    tx.commit().await?;
    let looked = match batch.len() {
        0 => Looked::Nothing,
        BATCH.. => Looked::Full,
        _ => Looked::Some,
    };
    let (mut sound, mut rest) = (Vec::new(), Vec::new());
    for delivery in batch {
        match read(ctx, &delivery) {
            Ok(event) => sound.push((delivery, event)),
            Err(failure) => rest.push((delivery, failure)),
        }
    }
    let mut acted = false;
    match together(ctx, &sound, &claim).await {
        Ok(taken) => {
            for ((delivery, _), taken) in sound.iter().zip(&taken) {
                acted |= *taken == Taken::Acted;
                span(delivery).in_scope(|| tracing::info!(?taken, "taken in"));
            }
        }
        Err(failure) => {
            tracing::warn!(%failure, deliveries = sound.len(), "a batch of deliveries is taken in one by one");
            for (delivery, event) in sound {
                let alone = alone(ctx, &delivery, event, &claim).instrument(span(&delivery));
                acted |= alone.await? == Some(Taken::Acted);
            }
        }
    }
    for (delivery, failure) in rest {
        put_off(ctx, &delivery, failure, &claim)
            .instrument(span(&delivery))
            .await?;
    }
    if acted {
        ctx.bell.notify_waiters();
    }
    Ok(looked)
}

fn span(delivery: &Delivery) -> tracing::Span {
    tracing::info_span!("delivery", id = %delivery.id, event = %delivery.event)
}

/// What the delivery says.
fn read(ctx: &Context, delivery: &Delivery) -> Result<ForgeEvent, Failure> {
    if delivery.attempts > ctx.settings.attempts {
        return Err(Failure::Final(NEVER_ENDED.to_owned()));
    }
    let read = std::panic::AssertUnwindSafe(|| ctx.forge.read_delivery(&delivery.event, &delivery.body));
    match std::panic::catch_unwind(read) {
        Ok(Ok(event)) => Ok(event),
        Ok(Err(unreadable)) => Err(Failure::Final(unreadable.to_string())),
        Err(_) => Err(Failure::Final("it panicked".to_owned())),
    }
}

/// Takes all of them in, or none.
async fn together(
    ctx: &Context,
    deliveries: &[(Delivery, ForgeEvent)],
    claim: &str,
) -> Result<Vec<Taken>, Failure> {
    let mut taken = Vec::with_capacity(deliveries.len());
    if deliveries.is_empty() {
        return Ok(taken);
    }
    let mut tx = ctx.db.write().await?;
    for (delivery, event) in deliveries {
        let one = guarded(intake::take(ctx, &mut tx, event.clone())).instrument(span(delivery));
        taken.push(one.await?);
    }
    let ids: Vec<_> = deliveries.iter().map(|(d, _)| d.id.clone()).collect();
    if !tx.finish_deliveries(&ids, claim).await? {
        return Err(Failure::Lost);
    }
    tx.commit().await?;
    Ok(taken)
}

/// Takes one in; `None` when it could not be, or is another worker's by now.
async fn alone(
    ctx: &Context,
    delivery: &Delivery,
    event: ForgeEvent,
    claim: &str,
) -> Result<Option<Taken>, Failure> {
    let tried = async {
        let mut tx: Tx = ctx.db.write().await?;
        let taken = guarded(intake::take(ctx, &mut tx, event)).await?;
        if !tx.finish_delivery(&delivery.id, claim).await? {
            return Err(Failure::Lost);
        }
        tx.commit().await?;
        Ok(taken)
    };
    match tried.await {
        Ok(taken) => {
            tracing::info!(?taken, "taken in");
            Ok(Some(taken))
        }
        Err(failure) => {
            put_off(ctx, delivery, failure, claim).await?;
            Ok(None)
        }
    }
}

/// Says of a delivery that failed that it is tried again later, or given up.
async fn put_off(ctx: &Context, delivery: &Delivery, failure: Failure, claim: &str) -> Result<(), Failure> {
    let mut tx = ctx.db.write().await?;
    match failure {
        Failure::Lost => {
            tracing::warn!("the lease was lost");
            return Ok(());
        }
        Failure::Later { reason, after_ms } if delivery.attempts < ctx.settings.attempts => {
            let at = ctx.now().plus_ms(backoff_ms(delivery.attempts, after_ms));
            tracing::warn!(%reason, attempts = delivery.attempts, "tried again later");
            tx.retry_delivery(&delivery.id, claim, at, &reason).await?;
        }
        failure => {
            tracing::error!(%failure, "a delivery could not be taken in");
            tx.bury_delivery(&delivery.id, claim, &failure.to_string())
                .await?;
        }
    }
    tx.commit().await?;
    Ok(())
}
