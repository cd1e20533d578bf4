//! What happened on a forge, in our own words: the only form in which a webhook
//! reaches the core.

use super::{
    ids::{AccountId, InstallationId, PullNumber, RepoId, Sha},
    space::PullSnapshot,
};

/// The account an App is installed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The numeric id: half of the workspace's key.
    pub id: AccountId,
    /// The login now.
    pub login: String,
}

/// A repository as a delivery names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// The key.
    pub id: RepoId,
    /// The owning account.
    pub owner: Account,
    /// The name now.
    pub name: String,
}

/// Something that happened on the forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgeEvent {
    /// The forge tried the hook out.
    Pinged,
    /// A pull request was opened or moved; what changed is read from the snapshot.
    PullRequestMoved {
        /// The installation that was told.
        installation: InstallationId,
        /// The base repository.
        repo: Repo,
        /// The number there.
        number: PullNumber,
        /// The pull request after the change.
        snapshot: Box<PullSnapshot>,
    },
    /// A person asked for the check of a head to run again.
    ReviewRerequested {
        /// The installation that was told.
        installation: InstallationId,
        /// The repository of the check.
        repo: Repo,
        /// The head that is to be reviewed again.
        head: Sha,
    },
    /// A merge queue asks for checks on a group's head.
    MergeGroupRequested {
        /// The installation that was told.
        installation: InstallationId,
        /// The repository of the queue.
        repo: Repo,
        /// The group's head.
        head: Sha,
    },
    /// The App can reach (more) repositories: installed, added or unsuspended.
    InstallationOpened {
        /// The installation.
        installation: InstallationId,
        /// The account it is on.
        account: Account,
    },
    /// The App can no longer reach the installation: deleted or suspended.
    InstallationClosed {
        /// The installation.
        installation: InstallationId,
        /// The account it was on.
        account: Account,
    },
    /// Repositories were taken away from the installation.
    RepositoriesRemoved {
        /// The installation.
        installation: InstallationId,
        /// Which.
        repos: Vec<RepoId>,
    },
    /// A repository was renamed or moved to another account.
    RepositoryMoved {
        /// The installation that was told.
        installation: InstallationId,
        /// The repository as it is called now.
        repo: Repo,
    },
    /// A delivery that needs nothing from us.
    Ignored {
        /// Why, for the log and the metrics: `<event>.<action>` or a reason.
        reason: String,
    },
}
