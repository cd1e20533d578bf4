//! What a head's check should show, worked out from the facts of every open pull
//! request on it, and written down for [`super::converge_check`] to send.
//!
//! Two replicas may change facts of two pull requests on one head at once. Each would
//! then work from what was before the other, so the check is locked before anything is
//! read: who is second sees what the first one wrote. The reaper looks all the same at
//! checks in progress that no pass will end ([`heal`]).

use crate::{
    domain::{
        ids::{PullNumber, Sha},
        policy::Gate,
        review::{
            check::{Conclusion, Standing, decisive},
            coverage::Coverage,
            pass::{Outcome, Pass},
            render::{self, CheckText},
        },
        space::{RepoRef, Space},
    },
    ports::forge::CheckView,
    store::{CheckKey, CheckRow, ReviewRow, ReviewState, Task, Tx},
};

use super::{CHECK_NAME, Context, Failure};

/// Says why a draft is not reviewed, and what happens next.
const DRAFT: &str = "Waiting for the draft to be ready. Jury reviews this pull request as soon as it is marked \
    \"Ready for review\"; until then nothing is proved about this head, and the check does not pass.";

/// Said when the forge does not let us take our request for changes back.
const STUCK: &str = "\n\nAn earlier review of Jury still requests changes, and the forge did not let Jury take it \
    back. A maintainer has to dismiss that review by hand.";

/// Whether the review requests changes that are settled, and could not be taken back.
fn is_stuck(review: &ReviewRow) -> bool {
    review.state == ReviewState::Sent && review.dismissed_at.is_none() && review.reason.is_some()
}

/// Works out again what the check of `sha` should show and, when that changed,
/// asks for it to be sent. In the same transaction as the facts that changed, after them.
pub(super) async fn refresh(ctx: &Context, tx: &mut Tx, repo: &RepoRef, sha: &Sha) -> Result<(), Failure> {
    tx.lock_check(&key(repo, sha)).await?;
    match work_out(ctx, tx, repo, sha).await? {
        Some(view) => want(ctx, tx, repo, sha, &view).await,
        None => Ok(()),
    }
}

/// Works out what a check in progress should show, in a transaction of its own. Nothing
/// changes, and nothing is asked for, when that is what it was.
pub(super) async fn heal(ctx: &Context, stalled: &CheckKey) -> Result<(), Failure> {
    let mut tx = ctx.db.write().await?;
    let Some(repo) = tx.repo(&stalled.workspace, stalled.repo).await? else {
        return Ok(());
    };
    tx.lock_check(stalled).await?;
    let Some(row) = tx.check(stalled).await? else {
        return Ok(());
    };
    let Some(view) = work_out(ctx, &mut tx, &repo, &stalled.sha).await? else {
        return Ok(());
    };
    if view != read_want(&row)? {
        want(ctx, &mut tx, &repo, &stalled.sha, &view).await?;
        tracing::warn!(check = %stalled, "a check was not what the facts say; it is mended");
        tx.commit().await?;
    }
    Ok(())
}

/// What the check should show; `None` when it stays as it is. The check is locked.
async fn work_out(
    ctx: &Context,
    tx: &mut Tx,
    repo: &RepoRef,
    sha: &Sha,
) -> Result<Option<CheckView>, Failure> {
    let spaces = tx.open_spaces_on(&repo.workspace, repo.id, sha).await?;
    let mut passes = Vec::with_capacity(spaces.len());
    for space in &spaces {
        passes.push(tx.pass_at(&space.id, space.rev).await?);
    }
    let standings: Vec<(PullNumber, Standing<'_>)> = spaces
        .iter()
        .zip(&passes)
        .map(|(s, p)| (s.pull.number, standing(s, p.as_ref())))
        .collect();
    let Some((number, standing)) = decisive(&standings) else {
        return cancelled(tx, repo, sha).await;
    };
    let shown = spaces
        .iter()
        .zip(&passes)
        .find(|(space, _)| space.pull.number == *number);
    let Some((space, pass)) = shown else {
        return Ok(None);
    };
    let coverage = pass.as_ref().and_then(|pass| pass.coverage.as_ref());
    let mut view = view(ctx, space, standing, coverage, spaces.len());
    for space in &spaces {
        if tx.reviews_of(&space.id).await?.iter().any(is_stuck) {
            view.summary.push_str(STUCK);
        }
    }
    Ok(Some(view))
}

/// Nobody is open on this head any more. A check that is completed stays as it is.
async fn cancelled(tx: &mut Tx, repo: &RepoRef, sha: &Sha) -> Result<Option<CheckView>, Failure> {
    let Some(row) = tx.check(&key(repo, sha)).await? else {
        return Ok(None);
    };
    let wanted = read_want(&row)?;
    if wanted.conclusion.is_some() {
        return Ok(None);
    }
    Ok(Some(CheckView {
        conclusion: Some(Conclusion::Cancelled),
        title: "No longer needed".into(),
        summary: "The pull request was closed, or a newer commit took the place of this one, before the \
                  review was done."
            .into(),
        details_url: wanted.details_url,
    }))
}

/// Writes down what the check should show and asks for it to be sent.
pub(super) async fn want(
    ctx: &Context,
    tx: &mut Tx,
    repo: &RepoRef,
    sha: &Sha,
    view: &CheckView,
) -> Result<(), Failure> {
    let want = serde_json::to_vec(view).map_err(|e| Failure::Final(e.to_string()))?;
    let key = key(repo, sha);
    tx.want_check(&key, &want, view.conclusion.is_some()).await?;
    tx.enqueue(&Task::SyncCheck(key), ctx.now()).await?;
    Ok(())
}

/// Which check speaks of a head.
fn key(repo: &RepoRef, sha: &Sha) -> CheckKey {
    CheckKey {
        workspace: repo.workspace.clone(),
        repo: repo.id,
        sha: sha.clone(),
        name: CHECK_NAME.to_owned(),
    }
}

/// What a stored check should show.
pub(super) fn read_want(row: &CheckRow) -> Result<CheckView, Failure> {
    serde_json::from_slice(&row.want)
        .map_err(|e| Failure::Final(format!("an unreadable check is stored: {e}")))
}

/// Where the review of a space's current revision stands.
pub(super) fn standing<'a>(space: &'a Space, pass: Option<&'a Pass>) -> Standing<'a> {
    if space.snapshot.draft {
        return Standing::Waiting(DRAFT);
    }
    let Some(pass) = pass else {
        return Standing::Running;
    };
    let note = pass.note.as_deref();
    let gate = pass.gate.unwrap_or(Gate::Required);
    match (pass.outcome, &pass.snapshot) {
        (None, _) => Standing::Running,
        (Some(Outcome::Finalized), Some(snapshot)) => match note {
            Some(waiting) => Standing::Waiting(waiting),
            None => Standing::Finished(snapshot),
        },
        (Some(Outcome::TimedOut), _) => Standing::TimedOut(gate),
        (Some(Outcome::Broken | Outcome::Finalized), _) => {
            Standing::Broken(note.unwrap_or("The review could not be done."), gate)
        }
        // Closed and opened again, or moved on and not looked at yet.
        (Some(Outcome::Superseded | Outcome::Closed), _) => Standing::Running,
    }
}

fn view(
    ctx: &Context,
    space: &Space,
    standing: &Standing<'_>,
    coverage: Option<&Coverage>,
    sharing: usize,
) -> CheckView {
    let CheckText { title, mut summary } = render::check_text(standing, coverage);
    if sharing > 1 {
        summary.push_str(&format!(
            "\n\n{sharing} open pull requests share this commit; the check shows the worst of them (#{}).",
            space.pull.number
        ));
    }
    CheckView {
        conclusion: standing.conclusion(),
        title,
        summary,
        details_url: details_url(ctx, space),
    }
}

/// The page behind the check: the space's page when people can reach this server,
/// else the pull request.
fn details_url(ctx: &Context, space: &Space) -> String {
    match &ctx.settings.public_url {
        Some(url) => format!("{url}/spaces/{}", space.id),
        None => space.snapshot.html_url.clone(),
    }
}
