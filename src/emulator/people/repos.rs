//! Repositories, branches and pushes.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Done, People, Push, person, repo, tell_repository};
use crate::emulator::{
    git::{Edit, GitFault},
    refusal::Refusal,
    state::{AccountKind, Protection, Repo, Role, World},
};

impl People {
    /// Creates a public repository with a first commit on `main`.
    pub fn create_repo(&self, name: &str, files: &[Edit]) -> Done<u64> {
        self.create(name, files, false)
    }

    /// Creates a private repository with a first commit on `main`.
    pub fn create_private_repo(&self, name: &str, files: &[Edit]) -> Done<u64> {
        self.create(name, files, true)
    }

    fn create(&self, name: &str, files: &[Edit], private: bool) -> Done<u64> {
        let mut world = self.world();
        let (owner, repo) = split(name)?;
        let owner = person(&world, owner)?;
        let id = new_repo(&mut world, owner, repo, private, None)?;
        if !files.is_empty() {
            let by = world.signature(owner);
            let sha = world.git.commit(id, None, files, "Begin\n", &by)?;
            world.git.set(id, "refs/heads/main", &sha)?;
        }
        Ok(id)
    }

    /// Forks a repository to an account, under the same name.
    pub fn fork(&self, name: &str, to: &str) -> Done<String> {
        let mut world = self.world();
        let from = repo(&world, name)?;
        let owner = person(&world, to)?;
        let source = world.repos.get(&from).ok_or_else(Refusal::not_found)?;
        let (short, private) = (source.name.clone(), source.private);
        let id = new_repo(&mut world, owner, &short, private, Some(from))?;
        world.git.copy_branches(from, id)?;
        Ok(format!("{to}/{short}"))
    }

    /// Deletes a repository. Open pull requests from it stay, without a head
    /// repository. Apps are not told (as GitHub).
    pub fn delete_repo(&self, name: &str) -> Done<()> {
        let mut world = self.world();
        let id = repo(&world, name)?;
        world.repos.remove(&id);
        world.git.remove(id);
        for other in world.repos.values_mut() {
            for pull in other.pulls.values_mut().filter(|p| p.head.repo == Some(id)) {
                pull.head.repo = None;
            }
        }
        Ok(())
    }

    /// Lets somebody into a repository.
    pub fn add_collaborator(&self, name: &str, login: &str, role: Role) -> Done<()> {
        let mut world = self.world();
        let (id, account) = (repo(&world, name)?, person(&world, login)?);
        let found = world.repos.get_mut(&id).ok_or_else(Refusal::not_found)?;
        found.collaborators.insert(account, role);
        Ok(())
    }

    /// Protects a branch, or changes its rules.
    pub fn protect(&self, name: &str, branch: &str, rules: Protection) -> Done<()> {
        let mut world = self.world();
        let id = repo(&world, name)?;
        let found = world.repos.get_mut(&id).ok_or_else(Refusal::not_found)?;
        found.protection.insert(branch.to_owned(), rules);
        Ok(())
    }

    /// Commits and pushes. Gives the commit.
    pub fn push(&self, push: Push<'_>) -> Done<String> {
        let mut world = self.world();
        let (id, by) = (repo(&world, push.repo)?, person(&world, push.by)?);
        let default = world.repos.get(&id).map(|r| r.default_branch.clone());
        let parent = match push.onto {
            Some(name) => {
                let found = world.git.resolve(id, name);
                Some(found.ok_or_else(|| GitFault(format!("there is no {name}")))?)
            }
            None => world
                .git
                .branch(id, push.branch)
                .or_else(|| world.git.branch(id, &default.unwrap_or_default())),
        };
        let signature = world.signature(by);
        let sha = world
            .git
            .commit(id, parent.as_deref(), push.edits, push.message, &signature)?;
        world.git.set(id, &format!("refs/heads/{}", push.branch), &sha)?;
        world.settle_heads(id, by)?;
        Ok(sha)
    }

    /// Moves a branch to a commit or another branch, by force where needed.
    pub fn reset_branch(&self, name: &str, branch: &str, to: &str, by: &str) -> Done<String> {
        let mut world = self.world();
        let (id, by) = (repo(&world, name)?, person(&world, by)?);
        let found = world.git.resolve(id, to);
        let sha = found.ok_or_else(|| GitFault(format!("there is no {to}")))?;
        world.git.set(id, &format!("refs/heads/{branch}"), &sha)?;
        world.settle_heads(id, by)?;
        Ok(sha)
    }

    /// Deletes a branch, which closes the pull requests from it.
    pub fn delete_branch(&self, name: &str, branch: &str, by: &str) -> Done<()> {
        let mut world = self.world();
        let (id, by) = (repo(&world, name)?, person(&world, by)?);
        world.git.delete(id, &format!("refs/heads/{branch}"))?;
        world.settle_heads(id, by)
    }

    /// The tip of a branch.
    #[must_use]
    pub fn branch(&self, name: &str, branch: &str) -> Option<String> {
        let world = self.world();
        let id = repo(&world, name).ok()?;
        world.git.branch(id, branch)
    }

    /// Makes another branch the default one.
    pub fn set_default_branch(&self, name: &str, branch: &str) -> Done<()> {
        let mut world = self.world();
        let id = repo(&world, name)?;
        world.git.set_head(id, branch)?;
        let found = world.repos.get_mut(&id).ok_or_else(Refusal::not_found)?;
        branch.clone_into(&mut found.default_branch);
        Ok(())
    }

    /// Renames a repository; the old name redirects.
    pub fn rename_repo(&self, name: &str, new: &str, by: &str) -> Done<()> {
        let mut world = self.world();
        let (id, by) = (repo(&world, name)?, person(&world, by)?);
        leave_name(&mut world, name, id)?;
        let found = world.repos.get_mut(&id).ok_or_else(Refusal::not_found)?;
        let old = std::mem::replace(&mut found.name, new.to_owned());
        let changes = json!({"repository": {"name": {"from": old}}});
        tell_repository(&world, id, "renamed", by, &changes);
        Ok(())
    }

    /// Gives a repository to another account. Only the new owner's installation
    /// is told (as GitHub).
    pub fn transfer_repo(&self, name: &str, to: &str, by: &str) -> Done<()> {
        let mut world = self.world();
        let (id, by, to) = (repo(&world, name)?, person(&world, by)?, person(&world, to)?);
        leave_name(&mut world, name, id)?;
        let found = world.repos.get_mut(&id).ok_or_else(Refusal::not_found)?;
        let old = std::mem::replace(&mut found.owner, to);
        let kind = world.accounts.get(&old).map(|a| a.kind);
        let from = if kind == Some(AccountKind::Organization) {
            json!({"organization": world.organization_json(old)})
        } else {
            json!({"user": world.user_json(old)})
        };
        tell_repository(&world, id, "transferred", by, &json!({"owner": {"from": from}}));
        Ok(())
    }
}

fn split(name: &str) -> Done<(&str, &str)> {
    let parts = name.split_once('/');
    parts.ok_or_else(|| Refusal::new(404, format!("{name} is not owner/name")))
}

fn leave_name(world: &mut World, name: &str, id: u64) -> Done<()> {
    let (owner, repo) = split(name)?;
    let key = (owner.to_ascii_lowercase(), repo.to_ascii_lowercase());
    world.moved.insert(key, id);
    Ok(())
}

fn new_repo(world: &mut World, owner: u64, name: &str, private: bool, fork_of: Option<u64>) -> Done<u64> {
    let taken = world.repos.values();
    let same = |r: &Repo| r.owner == owner && r.name.eq_ignore_ascii_case(name);
    if taken.into_iter().any(same) {
        let text = "name already exists on this account";
        return Err(Refusal::invalid("Repository", "name", text));
    }
    let (id, now) = (world.small_id(), world.seconds());
    world.git.create(id, "main")?;
    let login = world.login(owner).to_ascii_lowercase();
    world.moved.remove(&(login, name.to_ascii_lowercase()));
    world.repos.insert(
        id,
        Repo {
            id,
            owner,
            name: name.to_owned(),
            description: None,
            private,
            fork_of,
            default_branch: "main".to_owned(),
            created_at: now,
            pushed_at: now,
            next_number: 0,
            pulls: BTreeMap::new(),
            collaborators: BTreeMap::new(),
            protection: BTreeMap::new(),
            suites: Vec::new(),
            runs: Vec::new(),
        },
    );
    Ok(id)
}
