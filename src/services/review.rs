//! Reviews the head of a space: asks [`next`] what to do, does it, and asks again.
//!
//! Everything that must outlive a crash is a row; what is held in memory (the
//! opened change, which findings the verifier judged in this sitting) can be made
//! again. The revision is read anew before every step, so a pass notices that it is
//! superseded between any two of them, and finalizing is one conditional update
//! that fails when the revision moved in the last moment.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tracing::Instrument;

use crate::{
    domain::{
        ids::{FindingId, PassId, SpaceId},
        policy::Policy,
        review::{
            finding::{Finding, Status},
            next::{Facts, Next, next},
            pass::{Origin, Outcome, Pass},
            reviewer::{Contribution, ContributionState},
            verdict,
        },
        space::{PullState, Space},
    },
    ports::change::{Change, ChangeError},
    store::{Filed, Job, StoreError},
};

use super::{
    Context, Failure, backoff_ms, finalize, guarded, intake,
    review_change::{self, PolicyFault},
    want_check,
};

/// How often a step that takes long looks whether it is still wanted.
const SUPERSEDED_AFTER: Duration = Duration::from_secs(2);

/// What a sitting holds in memory of one pass. Another pass is another desk: its
/// change is another one.
struct Desk {
    pass: PassId,
    change: Option<Arc<dyn Change>>,
    judged: HashSet<FindingId>,
}

impl Desk {
    fn of(pass: &Pass) -> Self {
        Self {
            pass: pass.id.clone(),
            change: None,
            judged: HashSet::new(),
        }
    }
}

/// Carries out a `ReviewSpace` job.
pub async fn review(ctx: &Context, job: &Job, id: &SpaceId) -> Result<(), Failure> {
    let mut desk: Option<Desk> = None;
    loop {
        let Some((space, pass)) = sit_down(ctx, job, id).await? else {
            return Ok(());
        };
        let mut own = match desk.take() {
            Some(desk) if desk.pass == pass.id => desk,
            _ => Desk::of(&pass),
        };
        let span = tracing::info_span!("pass", space = %id, pass = %pass.id, rev = pass.rev);
        let stepped = tokio::select! {
            stepped = guarded(step(ctx, job, &space, &pass, &mut own)).instrument(span) => stepped,
            // Whatever the step was doing is let go; the facts say what is next.
            () = unwanted(ctx, &space, &pass) => Ok(()),
        };
        desk = Some(own);
        match stepped {
            Ok(()) => {}
            Err(Failure::Final(reason)) => {
                tracing::error!(%reason, pass = %pass.id, "the pass broke");
                let note = "Something went wrong inside Jury; the server's log has the details.";
                end(ctx, job, &space, &pass, Outcome::Broken, Some(note)).await?;
            }
            // The last try: say so on the forge instead of leaving the check in progress.
            Err(Failure::Later { reason, .. }) if job.attempts >= ctx.settings.attempts => {
                tracing::error!(%reason, pass = %pass.id, "the pass broke after its last try");
                let note = "The forge or Jury's own storage did not answer, several times over.";
                end(ctx, job, &space, &pass, Outcome::Broken, Some(note)).await?;
            }
            Err(Failure::Later {
                reason,
                after_ms: Some(wait),
            }) => {
                // The time that the forge asks for is not the pass's own.
                let mut tx = ctx.fenced(job).await?;
                tx.prolong_pass(&pass, backoff_ms(job.attempts, Some(wait)))
                    .await?;
                tx.commit().await?;
                return Err(Failure::Later {
                    reason,
                    after_ms: Some(wait),
                });
            }
            Err(Failure::Closed(reason)) => {
                put_aside(ctx, job, id).await?;
                return Err(Failure::Closed(reason));
            }
            Err(other) => return Err(other),
        }
    }
}

/// Ends the pass that runs, without a word: its installation is closed, and when it opens
/// again, perhaps in days, another pass begins.
pub(super) async fn put_aside(ctx: &Context, job: &Job, id: &SpaceId) -> Result<(), Failure> {
    let mut tx = ctx.fenced(job).await?;
    let Some(space) = tx.space(id).await? else {
        return Ok(());
    };
    if let Some(pass) = tx.running_pass(id).await?
        && tx
            .end_pass(&pass, Outcome::Superseded, None, None, ctx.now())
            .await?
    {
        tx.bump_space(id).await?;
        want_check::refresh(ctx, &mut tx, &space.pull.repo, &pass.head).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// The pass to work on: the one that runs, else a new one for the current revision
/// when there is something to review. `None` = nothing to do.
async fn sit_down(ctx: &Context, job: &Job, id: &SpaceId) -> Result<Option<(Space, Pass)>, Failure> {
    let mut tx = ctx.fenced(job).await?;
    let Some(space) = tx.space(id).await? else {
        return Ok(None);
    };
    if let Some(running) = tx.running_pass(id).await? {
        return Ok(Some((space, running)));
    }
    let reviewable = space.snapshot.state == PullState::Open && !space.snapshot.draft;
    if !reviewable || tx.pass_at(id, space.rev).await?.is_some() {
        return Ok(None);
    }
    if let Some(wait) = ctx.forge.wait_to_begin(space.pull.repo.installation) {
        return Err(Failure::Later {
            reason: "the forge's requests of this hour are kept for what is under way".to_owned(),
            after_ms: Some(wait),
        });
    }
    let now = ctx.now();
    let pass = Pass {
        id: PassId::new(ctx.ids.next()),
        space: id.clone(),
        rev: space.rev,
        origin: Origin::Review,
        head: space.snapshot.head.clone(),
        merge_base: None,
        gate: None,
        started_at: now,
        deadline_at: now.plus_ms(ctx.settings.pass_limit_ms),
        outcome: None,
        note: None,
        coverage: None,
        snapshot: None,
        finished_at: None,
    };
    tx.open_pass(&pass).await?;
    want_check::refresh(ctx, &mut tx, &space.pull.repo, &pass.head).await?;
    tx.commit().await?;
    ctx.bell.notify_waiters();
    Ok(Some((space, pass)))
}

/// Returns when the space has moved on, or the time of the pass is up.
async fn unwanted(ctx: &Context, space: &Space, pass: &Pass) {
    let mut pause = tokio::time::interval(SUPERSEDED_AFTER);
    // The first tick is at once, and the space was read just now.
    pause.tick().await;
    loop {
        pause.tick().await;
        if ctx.now() >= pass.deadline_at {
            return;
        }
        let looked: Result<_, StoreError> = async { ctx.db.read().await?.space(&space.id).await }.await;
        // A store that does not answer says nothing about the space.
        if let Ok(Some(now)) = looked
            && now.rev != space.rev
        {
            return;
        }
    }
}

/// Does the one thing that comes next.
async fn step(ctx: &Context, job: &Job, space: &Space, pass: &Pass, desk: &mut Desk) -> Result<(), Failure> {
    let (contributions, findings) = {
        let mut tx = ctx.db.read().await?;
        (
            tx.contributions(&pass.id).await?,
            tx.findings_seen(&pass.id).await?,
        )
    };
    let roster: Vec<&str> = ctx.analyzers.iter().map(|a| a.name()).collect();
    let unverified: Vec<FindingId> = findings
        .findings
        .iter()
        .filter(|f| f.is_live() && !desk.judged.contains(&f.id))
        .map(|f| f.id.clone())
        .collect();
    let facts = Facts {
        pass,
        rev: space.rev,
        // A draft needs no word of its own: becoming one moved the revision.
        open: space.snapshot.state == PullState::Open,
        now: ctx.now(),
        roster: &roster,
        contributions: &contributions,
        unverified: unverified.len(),
    };
    match next(&facts) {
        Next::Done => Ok(()),
        Next::End(outcome) => end(ctx, job, space, pass, outcome, None).await,
        Next::Gather => gather(ctx, job, space, pass, desk).await,
        Next::Ask(reviewer) => {
            if !open_change(ctx, job, space, pass, desk).await? {
                return Ok(());
            }
            ask(ctx, job, space, pass, desk, &reviewer).await
        }
        Next::Confirm => {
            if !open_change(ctx, job, space, pass, desk).await? {
                return Ok(());
            }
            let open: Vec<Finding> = findings
                .findings
                .into_iter()
                .filter(|f| unverified.contains(&f.id))
                .collect();
            confirm(ctx, job, desk, open).await
        }
        Next::Finalize => {
            if !open_change(ctx, job, space, pass, desk).await? {
                return Ok(());
            }
            let Some(change) = desk.change.as_deref() else {
                return Ok(());
            };
            finalize::finalize(ctx, job, space, pass, change).await
        }
    }
}

/// Reads the change and writes down what was reached.
async fn gather(
    ctx: &Context,
    job: &Job,
    space: &Space,
    pass: &Pass,
    desk: &mut Desk,
) -> Result<(), Failure> {
    if !open_change(ctx, job, space, pass, desk).await? {
        return Ok(());
    }
    let Some(change) = desk.change.as_deref() else {
        return Ok(());
    };
    let Some(policy) = policy_or_end(ctx, job, space, pass, change).await? else {
        return Ok(());
    };
    let mut tx = ctx.fenced(job).await?;
    tx.record_gathered(&pass.id, change.merge_base(), policy.gate, change.coverage())
        .await?;
    tx.commit().await?;
    Ok(())
}

/// The policy in force. `None` = it is broken, and the pass ended with the words that say
/// how: a review under a guessed policy would prove nothing.
pub(super) async fn policy_or_end(
    ctx: &Context,
    job: &Job,
    space: &Space,
    pass: &Pass,
    change: &dyn Change,
) -> Result<Option<Policy>, Failure> {
    match review_change::policy(change, &ctx.settings.policy, &ctx.settings.policy_locked).await {
        Ok(policy) => Ok(Some(policy)),
        Err(PolicyFault::Owner(words) | PolicyFault::Read(ChangeError::User(words))) => {
            end(ctx, job, space, pass, Outcome::Broken, Some(&words)).await?;
            Ok(None)
        }
        Err(PolicyFault::Read(ChangeError::Closed(reason))) => Err(Failure::Closed(reason)),
        Err(PolicyFault::Read(error)) => Err(Failure::Later {
            reason: error.to_string(),
            after_ms: None,
        }),
    }
}

/// Opens the change unless it is open. `false` = the pass ended, or the space moved
/// instead: look at the facts again.
async fn open_change(
    ctx: &Context,
    job: &Job,
    space: &Space,
    pass: &Pass,
    desk: &mut Desk,
) -> Result<bool, Failure> {
    if desk.change.is_some() {
        return Ok(true);
    }
    match ctx.forge.change(&space.pull, &space.snapshot).await {
        // What is proved of one head must never be said of another.
        Ok(change) if change.head() != Some(&pass.head) => Err(Failure::Later {
            reason: "the forge gave the change of another head".to_owned(),
            after_ms: None,
        }),
        Ok(change) => {
            desk.change = Some(change.into());
            Ok(true)
        }
        Err(ChangeError::User(words)) => {
            end(ctx, job, space, pass, Outcome::Broken, Some(&words)).await?;
            Ok(false)
        }
        Err(ChangeError::Gone(what)) => {
            // Most likely a push whose delivery is still on its way.
            intake::reread(ctx, &space.pull).await?;
            let moved = {
                let mut tx = ctx.db.read().await?;
                tx.space(&space.id).await?.is_none_or(|now| now.rev != space.rev)
            };
            if !moved {
                let reason = format!("commit {what} cannot be read yet");
                return Err(Failure::Later {
                    reason,
                    after_ms: None,
                });
            }
            Ok(false)
        }
        Err(ChangeError::Later { reason, after_ms }) => Err(Failure::Later { reason, after_ms }),
        Err(ChangeError::Closed(reason)) => Err(Failure::Closed(reason)),
        // git and the forge break in passing as well as for good: the number of tries decides.
        Err(ChangeError::Internal(reason)) => Err(Failure::Later {
            reason,
            after_ms: None,
        }),
    }
}

/// Lets one reviewer look, and files what it says.
async fn ask(
    ctx: &Context,
    job: &Job,
    space: &Space,
    pass: &Pass,
    desk: &Desk,
    reviewer: &str,
) -> Result<(), Failure> {
    let Some(change) = desk.change.clone() else {
        return Ok(());
    };
    let Some(index) = ctx.analyzers.iter().position(|a| a.name() == reviewer) else {
        return Ok(());
    };
    let (analyzers, fingerprinter) = (Arc::clone(&ctx.analyzers), Arc::clone(&ctx.fingerprinter));
    let read = Arc::clone(&change);
    let look = move || async move {
        review_change::ask(analyzers[index].as_ref(), read.as_ref(), &fingerprinter).await
    };
    let asked = match ctx.heavy.run(look).await {
        Ok(asked) => asked,
        Err(ChangeError::Closed(reason)) => return Err(Failure::Closed(reason)),
        Err(ChangeError::Later { reason, after_ms }) => return Err(Failure::Later { reason, after_ms }),
        Err(other) => return Err(Failure::Final(other.to_string())),
    };
    let (earlier, known) = {
        let mut tx = ctx.db.read().await?;
        let earlier = match tx.latest_finalized(&space.id).await? {
            // What it could have said then is late now; what it could not see is not.
            Some(pass) if looked_at_all(&tx.contributions(&pass.id).await?, reviewer) => Some(pass),
            _ => None,
        };
        (earlier, tx.findings(&space.id).await?.findings)
    };
    // A person cleared it by name; it does not come back under another id.
    let cleared: HashSet<&str> = known
        .iter()
        .filter(|f| matches!(f.status, Status::Dismissed | Status::Waived))
        .map(|f| &*f.fingerprint)
        .collect();
    let new = asked
        .findings
        .into_iter()
        .filter(|placed| !cleared.contains(placed.fingerprint()));
    let mut filed: Vec<Finding> = new
        .map(|placed| placed.into_finding(FindingId::new(ctx.ids.next()), ctx.now()))
        .collect();
    if let Some(earlier) = earlier {
        let fingerprinter = Arc::clone(&ctx.fingerprinter);
        filed = ctx
            .heavy
            .run(move || async move {
                let stood =
                    review_change::stood_before(change.as_ref(), &earlier.head, &filed, &fingerprinter).await;
                for (finding, unchanged) in filed.iter_mut().zip(stood) {
                    finding.advisory = verdict::is_advisory(finding.priority, true, unchanged);
                }
                filed
            })
            .await;
    }
    let mut tx = ctx.fenced(job).await?;
    for finding in &filed {
        if let Filed::Known(id) = tx.file_finding(&space.id, &pass.id, finding).await? {
            tx.set_anchor(&id, finding.anchor.as_ref()).await?;
        }
    }
    for contribution in &asked.contributions {
        tx.put_contribution(&pass.id, contribution).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Whether a reviewer saw all it should in the pass of these contributions.
fn looked_at_all(contributions: &[Contribution], reviewer: &str) -> bool {
    let own = contributions.iter().find(|c| c.reviewer == reviewer);
    own.is_some_and(|c| c.state == ContributionState::Complete)
}

/// Lets the verifier judge findings against the blob.
async fn confirm(ctx: &Context, job: &Job, desk: &mut Desk, open: Vec<Finding>) -> Result<(), Failure> {
    let Some(change) = desk.change.clone() else {
        return Ok(());
    };
    let (analyzers, fingerprinter) = (Arc::clone(&ctx.analyzers), Arc::clone(&ctx.fingerprinter));
    let judge = move || async move {
        let votes = review_change::verify(&open, change.as_ref(), &analyzers, &fingerprinter).await;
        (open, votes)
    };
    let (open, votes) = ctx.heavy.run(judge).await;
    let mut tx = ctx.fenced(job).await?;
    for (finding, vote) in open.iter().zip(votes) {
        if let Some(vote) = vote {
            tx.put_vote(&finding.id, &vote, ctx.now()).await?;
        }
    }
    tx.commit().await?;
    desk.judged.extend(open.into_iter().map(|f| f.id));
    Ok(())
}

/// Ends a pass without a verdict and lets the check say so.
async fn end(
    ctx: &Context,
    job: &Job,
    space: &Space,
    pass: &Pass,
    outcome: Outcome,
    note: Option<&str>,
) -> Result<(), Failure> {
    let mut tx = ctx.fenced(job).await?;
    tx.end_pass(pass, outcome, note, None, ctx.now()).await?;
    want_check::refresh(ctx, &mut tx, &space.pull.repo, &pass.head).await?;
    tx.commit().await?;
    ctx.bell.notify_waiters();
    metrics::counter!("jury_passes_total", "outcome" => outcome.as_str()).increment(1);
    Ok(())
}
