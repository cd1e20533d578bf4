//! Registering Apps and installing them.

use std::collections::{BTreeMap, BTreeSet};

use jsonwebtoken::DecodingKey;
use serde_json::{Value, json};

use super::{Done, People, person, repo};
use crate::emulator::{
    refusal::Refusal,
    state::{App, Installation, Selection, World},
};

/// An App as it is registered.
#[derive(Clone)]
pub struct AppRegistration {
    /// Its name.
    pub name: String,
    /// Its short name; it speaks as `slug[bot]`.
    pub slug: String,
    /// The login of who owns it.
    pub owner: String,
    /// The public half of its key, in PEM.
    pub public_key_pem: String,
    /// Where its webhooks go; may be set later.
    pub webhook_url: Option<String>,
    /// The secret that signs them.
    pub webhook_secret: Option<String>,
    /// What it may do: name and `read` or `write`.
    pub permissions: BTreeMap<String, String>,
    /// The events it is told.
    pub events: Vec<String>,
}

impl AppRegistration {
    /// An App with the permissions and events of a reviewer of pull requests:
    /// checks and pull requests to write, contents and metadata to read.
    pub fn reviewer(slug: &str, owner: &str, public_key_pem: impl Into<String>) -> Self {
        let permissions = [
            ("checks", "write"),
            ("pull_requests", "write"),
            ("contents", "read"),
            ("metadata", "read"),
            ("merge_queues", "read"),
        ];
        let events = [
            "pull_request",
            "check_run",
            "check_suite",
            "repository",
            "merge_group",
        ];
        let own = |(k, v): (&str, &str)| (k.to_owned(), v.to_owned());
        Self {
            name: slug.to_owned(),
            slug: slug.to_owned(),
            owner: owner.to_owned(),
            public_key_pem: public_key_pem.into(),
            webhook_url: None,
            webhook_secret: None,
            permissions: permissions.into_iter().map(own).collect(),
            events: events.map(str::to_owned).to_vec(),
        }
    }
}

impl People {
    /// Registers an App and gives its id. When it has a webhook, it is pinged.
    ///
    /// # Errors
    /// When the owner is unknown or the key is not an RSA public key.
    pub fn register_app(&self, new: AppRegistration) -> Done<u64> {
        let mut world = self.world();
        let owner = person(&world, &new.owner)?;
        let key = DecodingKey::from_rsa_pem(new.public_key_pem.as_bytes())
            .map_err(|_| Refusal::new(422, "the key is not an RSA public key in PEM"))?;
        let (id, created_at) = (world.small_id(), world.seconds());
        let bot = world.bot_account(&new.slug);
        let app = App {
            id,
            client_id: format!("Iv23li{id:014}"),
            slug: new.slug,
            name: new.name,
            owner,
            bot,
            key,
            permissions: new.permissions,
            events: new.events,
            created_at,
        };
        world.apps.insert(id, app);
        let pinged = new.webhook_url.is_some();
        world.hooks.set_target(id, new.webhook_url, new.webhook_secret);
        if pinged {
            world.ping(id);
        }
        Ok(id)
    }

    /// Points an App's webhooks somewhere else and pings it.
    pub fn set_webhook_url(&self, app: u64, url: &str) {
        let world = self.world();
        world.hooks.set_url(app, Some(url.to_owned()));
        world.ping(app);
    }

    /// The login an App speaks as.
    pub fn bot_login(&self, app: u64) -> Done<String> {
        let world = self.world();
        let bot = world.apps.get(&app).ok_or_else(Refusal::not_found)?.bot;
        Ok(world.login(bot).to_owned())
    }

    /// Installs an App on an account, on all its repositories or on the named
    /// ones. Gives the installation's id.
    pub fn install(&self, app: u64, account: &str, repos: Option<&[&str]>) -> Done<u64> {
        let mut world = self.world();
        let account = person(&world, account)?;
        let selection = match repos {
            None => Selection::All,
            Some(names) => {
                let chosen: Done<BTreeSet<u64>> = names.iter().map(|n| repo(&world, n)).collect();
                Selection::Selected(chosen?)
            }
        };
        let found = world.apps.get(&app).ok_or_else(Refusal::not_found)?;
        let (permissions, events) = (found.permissions.clone(), found.events.clone());
        let (id, now) = (world.small_id(), world.seconds());
        let installation = Installation {
            id,
            app,
            account,
            selection,
            permissions,
            events,
            created_at: now,
            updated_at: now,
            suspended: None,
        };
        world.installations.insert(id, installation);
        let repositories = covered(&world, id);
        let payload = json!({"action": "created", "repositories": repositories, "requester": null});
        world.tell_installation("installation", id, account, payload);
        Ok(id)
    }

    /// Removes an App from an account. Its tokens are worth nothing from now on.
    pub fn uninstall(&self, installation: u64) -> Done<()> {
        let mut world = self.world();
        let by = owner(&world, installation)?;
        let payload = json!({"action": "deleted", "repositories": covered(&world, installation)});
        world.tell_installation("installation", installation, by, payload);
        world.installations.remove(&installation);
        Ok(())
    }

    /// Suspends an installation: no token, no webhook.
    pub fn suspend(&self, installation: u64) -> Done<()> {
        self.set_suspended(installation, true)
    }

    /// Takes a suspension back.
    pub fn unsuspend(&self, installation: u64) -> Done<()> {
        self.set_suspended(installation, false)
    }

    fn set_suspended(&self, installation: u64, suspended: bool) -> Done<()> {
        let mut world = self.world();
        let (by, now) = (owner(&world, installation)?, world.seconds());
        if let Some(found) = world.installations.get_mut(&installation) {
            found.suspended = suspended.then_some((now, by));
            found.updated_at = now;
        }
        let action = if suspended { "suspend" } else { "unsuspend" };
        let payload = json!({"action": action, "repositories": covered(&world, installation)});
        world.tell_installation("installation", installation, by, payload);
        Ok(())
    }

    /// Adds a repository to an installation of selected ones.
    pub fn add_repository(&self, installation: u64, name: &str) -> Done<()> {
        self.change_selection(installation, name, true)
    }

    /// Takes a repository out of an installation of selected ones.
    pub fn remove_repository(&self, installation: u64, name: &str) -> Done<()> {
        self.change_selection(installation, name, false)
    }

    fn change_selection(&self, installation: u64, name: &str, add: bool) -> Done<()> {
        let mut world = self.world();
        let (by, id) = (owner(&world, installation)?, repo(&world, name)?);
        let found = world.installations.get_mut(&installation);
        match &mut found.ok_or_else(Refusal::not_found)?.selection {
            Selection::All => return Err(Refusal::new(422, "the installation covers all repositories")),
            Selection::Selected(chosen) if add => {
                chosen.insert(id);
            }
            Selection::Selected(chosen) => {
                chosen.remove(&id);
            }
        }
        let shown: Vec<Value> = world
            .repos
            .get(&id)
            .map(|r| short(&world, r.id))
            .into_iter()
            .collect();
        let (added, removed) = if add {
            (shown, Vec::new())
        } else {
            (Vec::new(), shown)
        };
        let payload = json!({
            "action": if add { "added" } else { "removed" },
            "repository_selection": "selected",
            "repositories_added": added,
            "repositories_removed": removed,
            "requester": null,
        });
        world.tell_installation("installation_repositories", installation, by, payload);
        Ok(())
    }
}

fn owner(world: &World, installation: u64) -> Done<u64> {
    let found = world.installations.get(&installation);
    Ok(found.ok_or_else(Refusal::not_found)?.account)
}

/// The few facts that installation events carry of a repository.
fn short(world: &World, id: u64) -> Value {
    let Some(repo) = world.repos.get(&id) else {
        return Value::Null;
    };
    let full = world.repo_json(repo);
    json!({
        "id": id,
        "node_id": full["node_id"],
        "name": repo.name,
        "full_name": full["full_name"],
        "private": repo.private,
    })
}

fn covered(world: &World, installation: u64) -> Vec<Value> {
    let found = world.installations.get(&installation);
    let repos = found.map(|i| world.covered(i)).unwrap_or_default();
    repos.into_iter().map(|id| short(world, id)).collect()
}
