//! Sends the review that a pass wants, once, and takes back our request for
//! changes when the verdict clears.
//!
//! The review carries a marker that names its pass. An intent is written down
//! before it is sent; after an unknown outcome the marker is looked for on the
//! forge before anything is sent again, and *not found* counts only when the lost
//! request had its time to arrive: a submitted review cannot be deleted. A review
//! whose pass is no longer the space's current one is dropped: it would speak of
//! code that moved on.

use crate::{
    domain::{
        ids::{ReviewId, SpaceId},
        review::{
            pass::{Outcome, Pass},
            render,
            snapshot::Verdict,
        },
        space::{PullState, Space},
    },
    ports::forge::{ForgeError, PostedReview, ReviewEvent, ReviewView},
    store::{Job, ReviewRow, ReviewState},
};

use super::{Context, Failure, intake, want_check};

/// Said when our request for changes is taken back.
const CLEARED: &str = "What Jury asked for is settled on the current head.";

/// Carries out a `SyncReview` job.
pub async fn sync(ctx: &Context, job: &Job, id: &SpaceId) -> Result<(), Failure> {
    let (space, rows, latest) = {
        let mut tx = ctx.db.read().await?;
        let Some(space) = tx.space(id).await? else {
            return Ok(());
        };
        (space, tx.reviews_of(id).await?, tx.latest_finalized(id).await?)
    };
    for row in rows
        .iter()
        .filter(|r| matches!(r.state, ReviewState::Wanted | ReviewState::Sending))
    {
        let current = latest.as_ref().is_some_and(|pass| {
            pass.id == row.pass && pass.rev == space.rev && space.snapshot.state == PullState::Open
        });
        send(ctx, job, &space, row, current).await?;
    }
    let blocks = latest
        .as_ref()
        .and_then(|pass| pass.snapshot.as_ref())
        .is_some_and(|s| {
            s.verdict == Verdict::Block
                && latest
                    .as_ref()
                    .is_some_and(|p| p.outcome == Some(Outcome::Finalized))
        });
    if blocks || latest.as_ref().is_none_or(|pass| pass.rev != space.rev) {
        return Ok(());
    }
    take_back(ctx, job, &space, latest.as_ref()).await
}

/// Sends one review, or finds that it was sent, or drops it.
async fn send(
    ctx: &Context,
    job: &Job,
    space: &Space,
    row: &ReviewRow,
    current: bool,
) -> Result<(), Failure> {
    if row.state == ReviewState::Sending {
        let posted = match ctx.forge.own_reviews(&space.pull).await {
            // A copy of the forge may not know of the pull request yet.
            Err(ForgeError::NotFound(reason)) => {
                return Err(Failure::Later {
                    reason,
                    after_ms: None,
                });
            }
            posted => posted?,
        };
        if let Some(found) = posted.iter().find(|p| render::carries_marker(&p.body, &row.pass)) {
            return sent(ctx, job, row, found.id).await;
        }
        ctx.settled(row.intent_at)?;
    }
    if !current {
        return drop_review(ctx, job, row, "the pull request moved on before it was sent").await;
    }
    let view: ReviewView = serde_json::from_slice(&row.want)
        .map_err(|e| Failure::Final(format!("an unreadable review is stored: {e}")))?;
    let mut tx = ctx.fenced(job).await?;
    if !tx.intend_review(&row.pass, ctx.now()).await? {
        // A newer pass took its place in this moment.
        return Ok(());
    }
    tx.commit().await?;
    match ctx.forge.submit_review(&space.pull, &view).await {
        Ok(id) => sent(ctx, job, row, id).await,
        Err(ForgeError::Refused(words)) => refused(ctx, job, space, row, &view, &words).await,
        Err(ForgeError::NotFound(reason) | ForgeError::Forbidden(reason)) => {
            drop_review(ctx, job, row, &reason).await
        }
        Err(other) => unsent(ctx, job, row, other).await,
    }
}

/// The request failed. What certainly did not happen needs no looking for.
async fn unsent(ctx: &Context, job: &Job, row: &ReviewRow, error: ForgeError) -> Result<(), Failure> {
    if let ForgeError::Later { .. } | ForgeError::Closed(_) = error {
        let mut tx = ctx.fenced(job).await?;
        tx.forget_review_intent(&row.pass).await?;
        tx.commit().await?;
    }
    Err(error.into())
}

/// The forge refused the whole review. What can be mended is mended and sent once
/// more; a second refusal drops it, and the check's summary still says everything.
async fn refused(
    ctx: &Context,
    job: &Job,
    space: &Space,
    row: &ReviewRow,
    view: &ReviewView,
    words: &[String],
) -> Result<(), Failure> {
    let said = words.join("; ");
    let heard = said.to_ascii_lowercase();
    let again = if heard.contains("pending review") {
        // A left-over of ours keeps every later one out.
        for left_over in pending(&ctx.forge.own_reviews(&space.pull).await?) {
            ctx.forge.delete_pending_review(&space.pull, left_over.id).await?;
        }
        view.clone()
    } else if heard.contains("your own pull request") {
        ReviewView {
            event: ReviewEvent::Comment,
            ..view.clone()
        }
    } else if heard.contains("not part of the pull request") {
        // A push whose delivery is still on its way: the new head gets a pass of its own.
        drop_review(ctx, job, row, &said).await?;
        intake::reread(ctx, &space.pull).await?;
        return Ok(());
    } else {
        // The forge does not say which comment it could not place.
        render::demote(view, &(0..view.comments.len()).collect::<Vec<_>>())
    };
    match ctx.forge.submit_review(&space.pull, &again).await {
        Ok(id) => sent(ctx, job, row, id).await,
        Err(ForgeError::Refused(words)) => {
            tracing::warn!(space = %space.id, said = %words.join("; "), "the forge refused a review twice");
            drop_review(ctx, job, row, &words.join("; ")).await
        }
        Err(other) => unsent(ctx, job, row, other).await,
    }
}

fn pending(reviews: &[PostedReview]) -> impl Iterator<Item = &PostedReview> {
    reviews.iter().filter(|r| r.state == "PENDING")
}

async fn sent(ctx: &Context, job: &Job, row: &ReviewRow, id: ReviewId) -> Result<(), Failure> {
    let mut tx = ctx.fenced(job).await?;
    tx.sent_review(&row.pass, id).await?;
    tx.commit().await?;
    Ok(())
}

async fn drop_review(ctx: &Context, job: &Job, row: &ReviewRow, reason: &str) -> Result<(), Failure> {
    let mut tx = ctx.fenced(job).await?;
    if tx.drop_review(&row.pass, reason).await? {
        tx.unpublish(&row.pass).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Dismisses every request for changes of ours that still stands.
///
/// `cleared` is the pass that asks for nothing any more. A pass that ended since may
/// count on the request that still stands; its own job follows.
async fn take_back(ctx: &Context, job: &Job, space: &Space, cleared: Option<&Pass>) -> Result<(), Failure> {
    let rows = {
        let mut tx = ctx.db.read().await?;
        tx.reviews_of(&space.id).await?
    };
    for row in &rows {
        let Some(id) = row.forge_id else { continue };
        let stands = row.state == ReviewState::Sent
            && row.event == ReviewEvent::RequestChanges.as_str()
            && row.dismissed_at.is_none();
        if !stands {
            continue;
        }
        let latest = {
            let mut tx = ctx.db.read().await?;
            tx.latest_finalized(&space.id).await?
        };
        if latest.map(|pass| pass.id) != cleared.map(|pass| pass.id.clone()) {
            return Ok(());
        }
        let refused = match ctx.forge.dismiss_review(&space.pull, id, CLEARED).await {
            Ok(()) | Err(ForgeError::NotFound(_)) => None,
            Err(refused @ (ForgeError::Refused(_) | ForgeError::Forbidden(_))) => {
                // Somebody may have dismissed it already.
                let posted = ctx.forge.own_reviews(&space.pull).await?;
                let stands = posted
                    .iter()
                    .any(|p| p.id == id && p.state == "CHANGES_REQUESTED");
                stands.then(|| refused.to_string())
            }
            Err(other) => return Err(other.into()),
        };
        let mut tx = ctx.fenced(job).await?;
        match refused {
            None => tx.dismissed_review(&row.pass, ctx.now()).await?,
            Some(reason) => tx.stuck_review(&row.pass, &reason).await?,
        }
        // The summary tells a maintainer what is left to do.
        want_check::refresh(ctx, &mut tx, &space.pull.repo, &space.snapshot.head).await?;
        tx.commit().await?;
    }
    Ok(())
}
