//! Who is told what: one payload for each installation that may hear it.

use serde_json::{Value, json};

use crate::emulator::{
    shapes::node_id,
    state::{AccountKind, World, iso},
};

impl World {
    /// Tells the installed Apps what happened in a repository; with `only`, that
    /// App alone.
    pub(crate) fn tell(&self, event: &str, repo: u64, actor: u64, only: Option<u64>, payload: &Value) {
        let Some(found) = self.repos.get(&repo) else {
            return;
        };
        let guid = self.hooks.new_guid();
        for id in self.installations_on(repo) {
            let Some(installation) = self.installations.get(&id) else {
                continue;
            };
            let hears = installation.suspended.is_none()
                && installation.events.iter().any(|e| e == event)
                && only.is_none_or(|app| app == installation.app);
            if !hears {
                continue;
            }
            let mut payload = payload.clone();
            payload["repository"] = self.repo_json(found);
            payload["sender"] = self.user_json(actor);
            payload["installation"] = json!({
                "id": id,
                "node_id": node_id("Integration", id),
            });
            let owner = self.accounts.get(&found.owner);
            if let Some(owner) = owner.filter(|o| o.kind == AccountKind::Organization) {
                payload["organization"] = self.organization_json(owner.id);
            }
            self.hooks.queue(installation.app, event, &guid, &payload);
        }
    }

    /// Tells an App about one of its own installations. These events need no
    /// subscription and pass a suspension.
    pub(crate) fn tell_installation(&self, event: &str, id: u64, actor: u64, mut payload: Value) {
        let Some(installation) = self.installations.get(&id) else {
            return;
        };
        payload["installation"] = self.installation_json(installation);
        payload["sender"] = self.user_json(actor);
        let guid = self.hooks.new_guid();
        self.hooks.queue(installation.app, event, &guid, &payload);
    }

    /// The hook's first breath.
    pub(crate) fn ping(&self, app: u64) {
        let payload = json!({
            "zen": "Keep it logically awesome.",
            "hook_id": 400_000_000 + app,
            "hook": {
                "type": "App",
                "id": 400_000_000 + app,
                "name": "web",
                "active": true,
                "created_at": iso(self.seconds()),
                "updated_at": iso(self.seconds()),
                "app_id": app,
                "events": self.apps.get(&app).map(|a| a.events.clone()),
                "config": {"content_type": "json", "insecure_ssl": "0"},
            },
        });
        let guid = self.hooks.new_guid();
        self.hooks.queue(app, "ping", &guid, &payload);
    }
}
