//! Looks at what is open on the forge: at start, and when the App can reach
//! (more) repositories. Deliveries are hints; this is what heals missed ones.
//!
//! Bounded and paced: one job a repository, each a little later than the one before.

use crate::{
    domain::ids::{InstallationId, RepoId},
    ports::forge::ForgeError,
    store::{InstallationState, Task},
};

use super::{CHECK_NAME, Context, Failure, intake, reap};

/// How many open pull requests of one repository are looked at, newest first.
const PULLS: usize = 1000;

/// Carries out a `ListInstallations` job: every installation of the App.
pub async fn installations(ctx: &Context) -> Result<(), Failure> {
    ctx.forge.identify().await?;
    let found = ctx.forge.installations().await?;
    let mut tx = ctx.db.write().await?;
    let mut at = ctx.now();
    for installation in found {
        let workspace = intake::remember_workspace(ctx, &mut tx, &installation.account).await?;
        let state = if installation.suspended {
            InstallationState::Suspended
        } else {
            InstallationState::Active
        };
        tx.put_installation(installation.id, &workspace, state).await?;
        if state == InstallationState::Active {
            tx.enqueue(&Task::ListRepositories(installation.id), at).await?;
            at = at.plus_ms(ctx.settings.pace_ms);
        }
    }
    tx.commit().await?;
    ctx.bell.notify_waiters();
    Ok(())
}

/// Carries out a `ListRepositories` job: every repository of one installation.
pub async fn repositories(ctx: &Context, installation: InstallationId) -> Result<(), Failure> {
    let known = {
        let mut tx = ctx.db.read().await?;
        tx.repos_of(installation).await?
    };
    let found = match ctx.forge.repositories(installation).await {
        Ok(found) => found,
        Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => return Ok(()),
        Err(other) => return Err(other.into()),
    };
    // What was known before and is not listed was taken away, transferred or deleted, and
    // nobody told.
    let gone: Vec<RepoId> = known
        .iter()
        .map(|repo| repo.id)
        .filter(|id| found.iter().all(|repo| repo.id != *id))
        .collect();
    if !gone.is_empty() {
        let mut tx = ctx.db.write().await?;
        tx.forget_repos(installation, &gone).await?;
        tx.commit().await?;
    }
    let mut at = ctx.now();
    for repo in found {
        let mut tx = ctx.db.write().await?;
        let Some(place) = intake::reachable(ctx, &mut tx, installation, &repo).await? else {
            return Ok(());
        };
        tx.enqueue(&Task::ListPulls(installation, place.id), at).await?;
        tx.commit().await?;
        at = at.plus_ms(ctx.settings.pace_ms);
    }
    // What waited until these could be reached again.
    reap::reap(ctx).await
}

/// Carries out a `ListPulls` job: every open pull request of one repository whose
/// head has no concluded check gets a pass.
pub async fn pulls(ctx: &Context, installation: InstallationId, id: RepoId) -> Result<(), Failure> {
    let repo = {
        let mut tx = ctx.db.read().await?;
        tx.repos_of(installation).await?.into_iter().find(|r| r.id == id)
    };
    let Some(repo) = repo else { return Ok(()) };
    let open = match ctx.forge.open_pulls(&repo).await {
        Ok(open) => open,
        Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => return Ok(()),
        Err(other) => return Err(other.into()),
    };
    if open.len() > PULLS {
        tracing::warn!(repo = %repo.id, open = open.len(), looked_at = PULLS, "too many open pull requests");
    }
    if open.len() <= PULLS {
        // What is open here and not there was closed, and its delivery was missed.
        let known = {
            let mut tx = ctx.db.read().await?;
            tx.open_spaces_of_repo(&repo.workspace, repo.id).await?
        };
        for space in known {
            if !open.iter().any(|(pull, _)| pull.number == space.pull.number) {
                intake::reread(ctx, &space.pull).await?;
            }
        }
    }
    for (pull, snapshot) in open.into_iter().take(PULLS) {
        let known = {
            let mut tx = ctx.db.read().await?;
            tx.space_of(&pull).await?
        };
        // What is known here heals by itself; only a head that is new to us may
        // already have been concluded, by this server before it lost its data.
        if known.is_none() {
            let runs = ctx
                .forge
                .check_runs(&pull.repo, &snapshot.head, CHECK_NAME)
                .await?;
            let last = runs.first().and_then(|run| run.conclusion.as_deref());
            if last.is_some_and(|conclusion| conclusion != "cancelled" && conclusion != "stale") {
                continue;
            }
        }
        intake::accept(ctx, &pull, snapshot).await?;
    }
    Ok(())
}
