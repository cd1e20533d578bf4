//! Comes to a verdict: settles every finding, folds the axes, freezes the result,
//! and writes down what the forge should show. One transaction, and one conditional
//! update in it that fails when the space moved on.

use std::collections::BTreeSet;

use crate::{
    domain::{
        ids::FindingId,
        policy::Publish,
        review::{
            finding::{Finding, Priority},
            pass::{Outcome, Pass},
            publication::{ReviewEvent, ReviewView},
            render::{self, ReviewInput},
        },
        space::Space,
    },
    ports::change::Change,
    store::{Job, ReviewRow, ReviewState, Task},
};

use super::{Context, Failure, review::policy_or_end, review_change, want_check};

/// Said while a finished pass waits for its publication to be approved.
const AWAITS_APPROVAL: &str = "Waiting for approval to publish the review. The review is done, and the policy asks \
    that a person agrees before it is published (publish = \"ask\"). Agreeing comes with a later release of Jury: to \
    see this review, set publish = \"auto\" in .github/jury.toml on the base branch, or in the server's [policy], and \
    re-run the check.";

/// Ends the pass with a verdict. Does nothing when the space moved on meanwhile:
/// the facts then say what is next.
pub(super) async fn finalize(
    ctx: &Context,
    job: &Job,
    space: &Space,
    pass: &Pass,
    change: &dyn Change,
) -> Result<(), Failure> {
    let Some(policy) = policy_or_end(ctx, job, space, pass, change).await? else {
        return Ok(());
    };
    let mut tx = ctx.fenced(job).await?;
    let contributions = tx.contributions(&pass.id).await?;
    let stored = tx.live_findings(&space.id).await?;
    if stored.dropped > 0 {
        tracing::warn!(
            dropped = stored.dropped,
            "stored findings without a valid priority or confidence"
        );
    }
    let seen: BTreeSet<String> = tx
        .findings_seen(&pass.id)
        .await?
        .findings
        .into_iter()
        .map(|f| f.fingerprint)
        .collect();
    let before = stored.findings;
    let mut after = before.clone();
    review_change::settle(
        &mut after,
        &seen,
        &contributions,
        &policy,
        space.snapshot.author.as_ref(),
    );
    for (was, is) in before.iter().zip(&after) {
        if was.status != is.status {
            tx.set_status(&is.id, is.status, Some(&pass.id), ctx.now())
                .await?;
        }
    }
    let snapshot = review_change::fold(
        Some(&pass.head),
        &after,
        &contributions,
        change.coverage(),
        &policy,
    );
    let note = (policy.publish == Publish::Ask).then_some(AWAITS_APPROVAL);
    if !tx
        .end_pass(pass, Outcome::Finalized, note, Some(&snapshot), ctx.now())
        .await?
    {
        return Ok(());
    }
    if note.is_none() {
        let mut reviews = tx.reviews_of(&space.id).await?;
        if reviews.iter().any(|r| r.state == ReviewState::Sending) {
            // Whether it arrived decides what is left to be said.
            return Err(Failure::Later {
                reason: "an earlier review is still being sent".to_owned(),
                after_ms: None,
            });
        }
        for replaced in reviews.iter_mut().filter(|r| r.state == ReviewState::Wanted) {
            tx.drop_review(&replaced.pass, "a newer pass took its place")
                .await?;
            tx.unpublish(&replaced.pass).await?;
            replaced.state = ReviewState::Dropped;
        }
        let news: BTreeSet<FindingId> = tx
            .unpublished(&space.id)
            .await?
            .findings
            .into_iter()
            .map(|f| f.id)
            .collect();
        let earlier = after
            .iter()
            .map(|f| &f.id)
            .filter(|id| !news.contains(*id))
            .cloned()
            .collect();
        let view = render::review(&ReviewInput {
            pass: &pass.id,
            commit: &pass.head,
            snapshot: &snapshot,
            findings: &after,
            files: change.files(),
            earlier: &earlier,
            request_stands: reviews.iter().any(request_stands),
            by_app: space.snapshot.by_app,
            approve: policy.approve && !reviews.last().is_some_and(is_approval),
        });
        if let Some(view) = view.filter(|view| worth_sending(view, &after, &news)) {
            let want = serde_json::to_vec(&view).map_err(|e| Failure::Final(e.to_string()))?;
            tx.want_review(&pass.id, &space.id, view.event.as_str(), &want)
                .await?;
            tx.mark_published(&news.into_iter().collect::<Vec<_>>(), &pass.id)
                .await?;
        }
        tx.enqueue(&Task::SyncReview(space.id.clone()), ctx.now()).await?;
    }
    want_check::refresh(ctx, &mut tx, &space.pull.repo, &pass.head).await?;
    tx.commit().await?;
    ctx.bell.notify_waiters();
    metrics::counter!("jury_passes_total", "outcome" => snapshot.verdict.as_str()).increment(1);
    #[expect(clippy::cast_precision_loss, reason = "a pass takes far less than 2^52 ms")]
    metrics::histogram!("jury_pass_seconds").record((ctx.now().0 - pass.started_at.0).max(0) as f64 / 1000.0);
    tracing::info!(verdict = %snapshot.verdict, findings = snapshot.findings.len(), "finalized");
    Ok(())
}

/// Whether a request for changes of ours still stands, or is about to.
fn request_stands(review: &ReviewRow) -> bool {
    review.event == ReviewEvent::RequestChanges.as_str()
        && review.dismissed_at.is_none()
        && review.state != ReviewState::Dropped
}

fn is_approval(review: &ReviewRow) -> bool {
    review.event == ReviewEvent::Approve.as_str() && review.state != ReviewState::Dropped
}

/// A comment that would hold nothing but plain advice (P3) is not worth a mail to
/// everyone who watches: the check's summary has it.
fn worth_sending(view: &ReviewView, findings: &[Finding], news: &BTreeSet<FindingId>) -> bool {
    view.event != ReviewEvent::Comment
        || findings
            .iter()
            .any(|f| news.contains(&f.id) && f.is_live() && f.priority < Priority::P3)
}
