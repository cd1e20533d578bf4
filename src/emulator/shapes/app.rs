//! Apps and installations.

use serde_json::{Value, json};

use crate::emulator::{
    shapes::node_id,
    state::{AccountKind, App, Installation, Selection, World, iso},
};

impl World {
    /// An `integration`.
    pub(crate) fn app_json(&self, app: &App) -> Value {
        json!({
            "id": app.id,
            "client_id": app.client_id,
            "slug": app.slug,
            "node_id": node_id("App", app.id),
            "owner": self.user_json(app.owner),
            "name": app.name,
            "description": null,
            "external_url": self.base,
            "html_url": format!("{}/apps/{}", self.base, app.slug),
            "created_at": iso(app.created_at),
            "updated_at": iso(app.created_at),
            "permissions": app.permissions,
            "events": app.events,
        })
    }

    /// An `installation`.
    pub(crate) fn installation_json(&self, found: &Installation) -> Value {
        let id = found.id;
        let account = self.accounts.get(&found.account);
        let kind = account.map_or(AccountKind::User, |a| a.kind).name();
        let slug = self.apps.get(&found.app).map(|a| a.slug.as_str());
        let selection = match found.selection {
            Selection::All => "all",
            Selection::Selected(_) => "selected",
        };
        json!({
            "id": id,
            "account": self.user_json(found.account),
            "repository_selection": selection,
            "access_tokens_url": self.api(&format!("/app/installations/{id}/access_tokens")),
            "repositories_url": self.api("/installation/repositories"),
            "html_url": format!("{}/settings/installations/{id}", self.base),
            "app_id": found.app,
            "app_slug": slug,
            "target_id": found.account,
            "target_type": kind,
            "permissions": found.permissions,
            "events": found.events,
            "created_at": iso(found.created_at),
            "updated_at": iso(found.updated_at),
            "single_file_name": null,
            "has_multiple_single_files": false,
            "single_file_paths": [],
            "suspended_by": found.suspended.map(|s| self.user_json(s.1)),
            "suspended_at": found.suspended.map(|s| iso(s.0)),
        })
    }
}
