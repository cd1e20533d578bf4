//! Repositories, who may do what in them, and their protected branches.

use std::collections::BTreeMap;

use super::{CheckRun, CheckSuite, Pull, World};

/// What a collaborator may do, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Look and comment.
    Read,
    /// Also label and close.
    Triage,
    /// Also push and merge.
    Write,
    /// Also manage some settings.
    Maintain,
    /// Everything.
    Admin,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The older, coarser word: `maintain` is `write`, `triage` is `read`.
    pub(crate) fn permission(self) -> &'static str {
        match self {
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }
}

/// A check that must have passed before a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredCheck {
    /// Its name.
    pub context: String,
    /// The App that must have set it; `None` takes it from anybody.
    pub app_id: Option<u64>,
}

/// The rules of a protected branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// Checks that must be `success`, `skipped` or `neutral` on the latest head.
    pub required_checks: Vec<RequiredCheck>,
    /// Approving reviews needed; above 0, a change request blocks as well.
    pub required_approvals: u32,
}

/// A repository.
#[derive(Clone)]
pub(crate) struct Repo {
    pub(crate) id: u64,
    pub(crate) owner: u64,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) private: bool,
    pub(crate) fork_of: Option<u64>,
    pub(crate) default_branch: String,
    pub(crate) created_at: i64,
    pub(crate) pushed_at: i64,
    pub(crate) next_number: u64,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    pub(crate) collaborators: BTreeMap<u64, Role>,
    pub(crate) protection: BTreeMap<String, Protection>,
    pub(crate) suites: Vec<CheckSuite>,
    pub(crate) runs: Vec<CheckRun>,
}

impl World {
    /// The repository that has this name now. Names do not differ by case.
    pub(crate) fn repo_named(&self, owner: &str, name: &str) -> Option<u64> {
        let owner = self.account_by_login(owner)?.id;
        self.repos
            .values()
            .find(|r| r.owner == owner && r.name.eq_ignore_ascii_case(name))
            .map(|r| r.id)
    }

    /// The repository that had this name before a rename or a transfer.
    pub(crate) fn repo_moved_from(&self, owner: &str, name: &str) -> Option<u64> {
        let key = (owner.to_ascii_lowercase(), name.to_ascii_lowercase());
        self.moved
            .get(&key)
            .copied()
            .filter(|id| self.repos.contains_key(id))
    }

    /// `owner/name`.
    pub(crate) fn full_name(&self, repo: &Repo) -> String {
        format!("{}/{}", self.login(repo.owner), repo.name)
    }

    /// What the account may do in the repository; `None` is nothing.
    pub(crate) fn role(&self, repo: &Repo, account: u64) -> Option<Role> {
        if repo.owner == account {
            return Some(Role::Admin);
        }
        let given = repo.collaborators.get(&account).copied();
        given.or_else(|| (!repo.private).then_some(Role::Read))
    }
}
