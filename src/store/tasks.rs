//! What a job is to do, and with which: the one home of the text that is stored for it.
//!
//! A job's row holds a kind and a key. Both are made here and read here, so what one
//! part of the program asks for is what another part carries out.

use crate::domain::ids::{InstallationId, RepoId, SpaceId};

use super::{CheckKey, JobKind};

/// A piece of work that can be asked for. Asking twice is asking once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Task {
    /// Bring a space's review further.
    ReviewSpace(SpaceId),
    /// Make a check show what it should.
    SyncCheck(CheckKey),
    /// Send or take back a space's reviews.
    SyncReview(SpaceId),
    /// Read again where the pull request of a space stands.
    ReadPull(SpaceId),
    /// Read again whether an installation is open.
    ReadInstallation(InstallationId),
    /// List the open pull requests of a repository that an installation reaches.
    ListPulls(InstallationId, RepoId),
    /// List the repositories of an installation.
    ListRepositories(InstallationId),
    /// List the installations of the App.
    ListInstallations,
}

/// The key of the one job that has nothing to be told apart by.
const ALL: &str = "all";

impl Task {
    /// What is to be done.
    pub fn kind(&self) -> JobKind {
        match self {
            Self::ReviewSpace(_) => JobKind::ReviewSpace,
            Self::SyncCheck(_) => JobKind::SyncCheck,
            Self::SyncReview(_) => JobKind::SyncReview,
            Self::ReadPull(_) => JobKind::ReadPull,
            Self::ReadInstallation(_) => JobKind::ReadInstallation,
            Self::ListPulls(..) => JobKind::ListPulls,
            Self::ListRepositories(_) => JobKind::ListRepositories,
            Self::ListInstallations => JobKind::ListInstallations,
        }
    }

    /// With which, as text: at most one job of a kind and key waits, and one runs.
    pub fn key(&self) -> String {
        match self {
            Self::ReviewSpace(space) | Self::SyncReview(space) | Self::ReadPull(space) => space.to_string(),
            Self::SyncCheck(check) => check.to_string(),
            Self::ListPulls(installation, repo) => format!("{installation}/{repo}"),
            Self::ReadInstallation(installation) | Self::ListRepositories(installation) => {
                installation.to_string()
            }
            Self::ListInstallations => ALL.to_owned(),
        }
    }

    /// The reverse of [`Task::kind`] and [`Task::key`]; `None` for a key that is none of its kind.
    pub fn read(kind: JobKind, key: &str) -> Option<Self> {
        Some(match kind {
            JobKind::ReviewSpace => Self::ReviewSpace(SpaceId::new(key)),
            JobKind::SyncReview => Self::SyncReview(SpaceId::new(key)),
            JobKind::SyncCheck => Self::SyncCheck(key.parse().ok()?),
            JobKind::ReadPull => Self::ReadPull(SpaceId::new(key)),
            JobKind::ReadInstallation => Self::ReadInstallation(InstallationId(key.parse().ok()?)),
            JobKind::ListPulls => {
                let (installation, repo) = key.split_once('/')?;
                Self::ListPulls(
                    InstallationId(installation.parse().ok()?),
                    RepoId(repo.parse().ok()?),
                )
            }
            JobKind::ListRepositories => Self::ListRepositories(InstallationId(key.parse().ok()?)),
            JobKind::ListInstallations if key == ALL => Self::ListInstallations,
            JobKind::ListInstallations => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::WorkspaceId;

    #[test]
    fn what_is_asked_for_is_what_is_carried_out() {
        let check = CheckKey {
            workspace: WorkspaceId::new("forge.example/1"),
            repo: RepoId(2),
            sha: "a".repeat(40).parse().unwrap(),
            name: "jury".into(),
        };
        let tasks = [
            Task::ReviewSpace(SpaceId::new("s")),
            Task::SyncReview(SpaceId::new("s")),
            Task::SyncCheck(check),
            Task::ReadPull(SpaceId::new("s")),
            Task::ReadInstallation(InstallationId(7)),
            Task::ListPulls(InstallationId(i64::MAX), RepoId(0)),
            Task::ListRepositories(InstallationId(7)),
            Task::ListInstallations,
        ];
        for task in &tasks {
            assert_eq!(Task::read(task.kind(), &task.key()).as_ref(), Some(task));
        }
        let kinds: std::collections::BTreeSet<_> = tasks.iter().map(|t| t.kind().as_str()).collect();
        assert_eq!(kinds.len(), JobKind::ALL.len(), "a kind is not tried here");
    }

    #[test]
    fn a_key_of_another_kind_is_not_read() {
        for (kind, key) in [
            (JobKind::SyncCheck, "forge.example/1 2"),
            (JobKind::ListPulls, "1"),
            (JobKind::ListPulls, "1/2/3"),
            (JobKind::ListPulls, "x/2"),
            (JobKind::ListRepositories, "1/2"),
            (JobKind::ListRepositories, ""),
            (JobKind::ListInstallations, "1"),
        ] {
            assert_eq!(Task::read(kind, key), None, "{kind} {key:?}");
        }
    }
}
