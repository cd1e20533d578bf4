//! A delivery becomes facts: which spaces there are, where they stand, what is to
//! be looked at.
//!
//! Deliveries come late, twice and out of order, and the forge's times have a
//! resolution of one second. So a delivery only speaks for itself when it is
//! strictly newer than what is known; otherwise, if it differs, the pull request
//! is read again, by a job, and what the forge says then counts.
//!
//! Intake is a queue of its own: it never waits behind the pass it supersedes.

use crate::{
    domain::{
        event::{Account, ForgeEvent, Repo},
        ids::{InstallationId, PullNumber, Sha, SpaceId, WorkspaceId},
        review::check::Conclusion,
        space::{Mode, PullRef, PullSnapshot, PullState, RepoRef, Space},
    },
    ports::forge::{CheckView, ForgeError},
    store::{InstallationState, Task, Tx},
};

use super::{Context, Failure, want_check};

/// What became of a delivery, for the log and the metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// Facts changed or work was asked for.
    Acted,
    /// Nothing to do, and why.
    Ignored(String),
}

/// Takes in what a delivery said, in the caller's transaction, and asks the forge
/// nothing. Doing it twice is the same as doing it once. After a failure the caller
/// drops the transaction; after [`Taken::Acted`] it rings the bell once that is committed.
pub(super) async fn take(ctx: &Context, tx: &mut Tx, event: ForgeEvent) -> Result<Taken, Failure> {
    let (installation, repo, said) = match event {
        ForgeEvent::Pinged => return Ok(Taken::Ignored("ping".into())),
        ForgeEvent::Ignored { reason } => return Ok(Taken::Ignored(reason)),
        ForgeEvent::PullRequestMoved {
            installation,
            repo,
            number,
            snapshot,
        } => (installation, repo, Said::PullMoved(number, snapshot)),
        ForgeEvent::ReviewRerequested {
            installation,
            repo,
            head,
        } => (installation, repo, Said::ReviewRerequested(head)),
        ForgeEvent::MergeGroupRequested {
            installation,
            repo,
            head,
        } => (installation, repo, Said::MergeGroupRequested(head)),
        ForgeEvent::RepositoryMoved { installation, repo } => (installation, repo, Said::Moved),
        ForgeEvent::InstallationOpened {
            installation,
            account,
        } => {
            let workspace = remember_workspace(ctx, tx, &account).await?;
            tx.put_installation(installation, &workspace, InstallationState::Active)
                .await?;
            tx.enqueue(&Task::ListRepositories(installation), ctx.now())
                .await?;
            return Ok(Taken::Acted);
        }
        ForgeEvent::InstallationClosed {
            installation,
            account,
        } => {
            let workspace = remember_workspace(ctx, tx, &account).await?;
            tx.put_installation(installation, &workspace, InstallationState::Suspended)
                .await?;
            // Perhaps it was told hours late, and has been opened again since.
            tx.enqueue(&Task::ReadInstallation(installation), ctx.now())
                .await?;
            return Ok(Taken::Acted);
        }
        ForgeEvent::RepositoriesRemoved { installation, repos } => {
            tx.forget_repos(installation, &repos).await?;
            // Perhaps it was told hours late, and they have been added again since.
            tx.enqueue(&Task::ListRepositories(installation), ctx.now())
                .await?;
            return Ok(Taken::Acted);
        }
    };
    let Some(repo) = reachable(ctx, tx, installation, &repo).await? else {
        return Ok(Taken::Ignored("the installation is not active".into()));
    };
    match said {
        Said::PullMoved(number, snapshot) => pull_moved(ctx, tx, &PullRef { repo, number }, *snapshot).await,
        Said::ReviewRerequested(head) => rerequested(ctx, tx, &repo, &head).await,
        Said::MergeGroupRequested(head) => merge_group(ctx, tx, &repo, &head).await,
        Said::Moved => look_at(ctx, tx, &repo).await,
    }
}

/// What an event says of a repository.
enum Said {
    /// A pull request may have moved.
    PullMoved(PullNumber, Box<PullSnapshot>),
    /// Somebody asks for a new look at a head.
    ReviewRerequested(Sha),
    /// A merge queue waits for a word on a group's head.
    MergeGroupRequested(Sha),
    /// It was renamed or transferred.
    Moved,
}

/// Has the repository's open pull requests listed. A transfer brings it into another
/// workspace, where they have no rooms yet.
async fn look_at(ctx: &Context, tx: &mut Tx, repo: &RepoRef) -> Result<Taken, Failure> {
    tx.enqueue(&Task::ListPulls(repo.installation, repo.id), ctx.now())
        .await?;
    Ok(Taken::Acted)
}

/// The workspace of an account: survives a reinstalled App.
fn workspace_of(ctx: &Context, account: &Account) -> WorkspaceId {
    WorkspaceId::new(format!("{}/{}", ctx.forge.host(), account.id))
}

pub(super) async fn remember_workspace(
    ctx: &Context,
    tx: &mut Tx,
    account: &Account,
) -> Result<WorkspaceId, Failure> {
    let workspace = workspace_of(ctx, account);
    tx.upsert_workspace(&workspace, ctx.forge.host(), account).await?;
    Ok(workspace)
}

/// Carries out a `ReadInstallation` job: what an installation is now, the forge is asked.
/// One that is open is looked through.
pub async fn read_installation(ctx: &Context, id: InstallationId) -> Result<(), Failure> {
    let found = match ctx.forge.installation(id).await {
        Ok(found) => found,
        // We may not ask: what was said has to do.
        Err(ForgeError::Forbidden(_)) => return Ok(()),
        Err(other) => return Err(other.into()),
    };
    let Some(found) = found.filter(|found| !found.suspended) else {
        return found_closed(ctx, id).await;
    };
    let mut tx = ctx.db.write().await?;
    let workspace = remember_workspace(ctx, &mut tx, &found.account).await?;
    tx.put_installation(id, &workspace, InstallationState::Active)
        .await?;
    tx.enqueue(&Task::ListRepositories(id), ctx.now()).await?;
    tx.commit().await?;
    ctx.bell.notify_waiters();
    Ok(())
}

/// The forge says that an installation is closed, perhaps before a delivery does.
pub(super) async fn found_closed(ctx: &Context, id: InstallationId) -> Result<(), Failure> {
    let mut tx = ctx.db.write().await?;
    if let Some((workspace, _)) = tx.installation(id).await? {
        tx.put_installation(id, &workspace, InstallationState::Suspended)
            .await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Remembers where the repository is now. `None` when the installation is known
/// to be closed: a late delivery does not open it again. But the forge is asked, since
/// the delivery that opened it may have been missed.
pub(super) async fn reachable(
    ctx: &Context,
    tx: &mut Tx,
    installation: InstallationId,
    repo: &Repo,
) -> Result<Option<RepoRef>, Failure> {
    let place = RepoRef {
        workspace: workspace_of(ctx, &repo.owner),
        installation,
        id: repo.id,
        owner: repo.owner.login.clone(),
        name: repo.name.clone(),
    };
    // Nearly every delivery says of its repository what the one before it said. Writing it
    // again would make replicas wait for one another's rows.
    if let Some(known) = tx.known_repo(&place.workspace, place.id).await?
        && (&known.place, &known.login) == (&place, &repo.owner.login)
    {
        if known.state != InstallationState::Active {
            tx.enqueue(&Task::ReadInstallation(installation), ctx.now())
                .await?;
            return Ok(None);
        }
        return Ok(Some(place));
    }
    let workspace = remember_workspace(ctx, tx, &repo.owner).await?;
    match tx.installation(installation).await? {
        Some((_, state)) if state != InstallationState::Active => {
            tx.enqueue(&Task::ReadInstallation(installation), ctx.now())
                .await?;
            return Ok(None);
        }
        Some(_) => {}
        None => {
            tx.put_installation(installation, &workspace, InstallationState::Active)
                .await?;
        }
    }
    tx.upsert_repo(&place).await?;
    Ok(Some(place))
}

async fn pull_moved(
    ctx: &Context,
    tx: &mut Tx,
    pull: &PullRef,
    said: PullSnapshot,
) -> Result<Taken, Failure> {
    let known = tx.space_of(pull).await?;
    match known {
        Some(known) if said.updated_at <= known.snapshot.updated_at => {
            if !has_moved(&known.snapshot, &said) {
                return Ok(Taken::Ignored("nothing new".into()));
            }
            // Who asks the forge must not keep others waiting: a job does, once for all
            // the deliveries that could not speak for themselves.
            tx.enqueue(&Task::ReadPull(known.id), ctx.now()).await?;
            Ok(Taken::Acted)
        }
        known => record(ctx, tx, pull, known, said).await,
    }
}

/// Carries out a `ReadPull` job.
pub async fn read_pull(ctx: &Context, space: &SpaceId) -> Result<(), Failure> {
    let space = {
        let mut tx = ctx.db.read().await?;
        tx.space(space).await?
    };
    if let Some(space) = space {
        let taken = reread(ctx, &space.pull).await?;
        tracing::info!(?taken, "read again");
    }
    Ok(())
}

/// Asks the forge where the pull request stands now and accepts that.
pub(super) async fn reread(ctx: &Context, pull: &PullRef) -> Result<Taken, Failure> {
    match ctx.forge.pull(pull).await {
        Ok(now) => accept(ctx, pull, now).await,
        Err(ForgeError::NotFound(reason)) => {
            Ok(Taken::Ignored(format!("the pull request is gone: {reason}")))
        }
        Err(ForgeError::Forbidden(reason) | ForgeError::Closed(reason)) => {
            Ok(Taken::Ignored(format!("not readable: {reason}")))
        }
        Err(other) => Err(other.into()),
    }
}

/// Whether two snapshots differ in what a review depends on. The tip of the base
/// branch does not count: it moves all the time, and what is reviewed starts at the
/// merge base.
fn has_moved(before: &PullSnapshot, after: &PullSnapshot) -> bool {
    (before.state, before.draft, &before.head, &before.base_ref)
        != (after.state, after.draft, &after.head, &after.base_ref)
}

/// Makes a snapshot what is known of a pull request, in a transaction of its own.
pub(super) async fn accept(ctx: &Context, pull: &PullRef, said: PullSnapshot) -> Result<Taken, Failure> {
    let mut tx = ctx.db.write().await?;
    let known = tx.space_of(pull).await?;
    let taken = record(ctx, &mut tx, pull, known, said).await?;
    tx.commit().await?;
    ctx.bell.notify_waiters();
    Ok(taken)
}

/// Makes a snapshot what is known of a pull request, opens its space when there is
/// none, and asks for whatever follows from it. `known` was read in this transaction.
async fn record(
    ctx: &Context,
    tx: &mut Tx,
    pull: &PullRef,
    known: Option<Space>,
    said: PullSnapshot,
) -> Result<Taken, Failure> {
    let now = ctx.now();
    let Some(known) = known else {
        if said.state == PullState::Closed {
            return Ok(Taken::Ignored("closed before it was ever open here".into()));
        }
        let space = Space {
            id: SpaceId::new(ctx.ids.next()),
            mode: Mode::Review,
            pull: pull.clone(),
            rev: 1,
            snapshot: said,
        };
        if !tx.insert_space(&space, now).await? {
            let reason = "another replica opened the space in this moment".to_owned();
            return Err(Failure::Later {
                reason,
                after_ms: None,
            });
        }
        want_check::refresh(ctx, tx, &pull.repo, &space.snapshot.head).await?;
        tx.enqueue(&Task::ReviewSpace(space.id), now).await?;
        return Ok(Taken::Acted);
    };
    if said.updated_at < known.snapshot.updated_at {
        return Ok(Taken::Ignored("older than what is known".into()));
    }
    if !has_moved(&known.snapshot, &said) {
        tx.refresh_space(&known.id, known.rev, &said).await?;
        return Ok(Taken::Ignored("nothing that a review depends on".into()));
    }
    if !tx.move_space(&known.id, known.rev, &said).await? {
        return Err(Failure::Later {
            reason: "the space moved meanwhile".into(),
            after_ms: None,
        });
    }
    // Always in the same order: two pull requests that swap their heads wait for one another.
    let mut heads = [&said.head, &known.snapshot.head];
    heads.sort_unstable_by_key(|head| head.as_str());
    want_check::refresh(ctx, tx, &pull.repo, heads[0]).await?;
    if heads[0] != heads[1] {
        want_check::refresh(ctx, tx, &pull.repo, heads[1]).await?;
    }
    if said.updated_at == known.snapshot.updated_at {
        // Which of the two was first, the second does not tell, and a forge may answer with
        // what was: it is asked again when every copy of it knows.
        let at = now.plus_ms(ctx.settings.settle_ms);
        tx.enqueue(&Task::ReadPull(known.id.clone()), at).await?;
    }
    tx.enqueue(&Task::ReviewSpace(known.id), now).await?;
    Ok(Taken::Acted)
}

/// A new look at a head that was reviewed: every open pull request on it gets a new pass.
async fn rerequested(ctx: &Context, tx: &mut Tx, repo: &RepoRef, head: &Sha) -> Result<Taken, Failure> {
    let spaces = tx.open_spaces_on(&repo.workspace, repo.id, head).await?;
    if spaces.is_empty() {
        // Perhaps its deliveries were missed: look at what is open there.
        return look_at(ctx, tx, repo).await;
    }
    for space in &spaces {
        tx.bump_space(&space.id).await?;
        tx.enqueue(&Task::ReviewSpace(space.id.clone()), ctx.now())
            .await?;
    }
    want_check::refresh(ctx, tx, repo, head).await?;
    Ok(Taken::Acted)
}

/// Merge queues are not supported yet. Saying so at once keeps the queue from
/// waiting for its time-out.
async fn merge_group(ctx: &Context, tx: &mut Tx, repo: &RepoRef, head: &Sha) -> Result<Taken, Failure> {
    let view = CheckView {
        conclusion: Some(Conclusion::ActionRequired),
        title: "Merge queues are not supported yet".into(),
        summary: "This release of Jury does not review merge queue groups, so it cannot vouch for this one. \
                  Merge the pull request without the queue; support comes with a later release."
            .into(),
        details_url: ctx.settings.public_url.clone().unwrap_or_default(),
    };
    want_check::want(ctx, tx, repo, head, &view).await?;
    Ok(Taken::Acted)
}
