//! GitHub's JSON shapes, with every property that its published description
//! requires. Used by REST and by webhooks alike.

mod app;
mod check;
mod commit;
mod pull;
mod repo;
mod review;

pub(crate) use commit::PATH;

use serde_json::{Value, json};

use crate::emulator::state::{AccountKind, World};

impl World {
    /// A URL below the REST root.
    pub(crate) fn api(&self, path: &str) -> String {
        format!("{}/api/v3{path}", self.base)
    }

    /// A `simple-user`; an account that is gone is the ghost.
    pub(crate) fn user_json(&self, id: u64) -> Value {
        let found = self.accounts.get(&id);
        let login = found.map_or("ghost", |a| a.login.as_str());
        let kind = found.map_or(AccountKind::User, |a| a.kind);
        let id = found.map_or(10137, |a| a.id);
        let encoded = login.replace('[', "%5B").replace(']', "%5D");
        let url = self.api(&format!("/users/{encoded}"));
        let page = login.strip_suffix("[bot]").map_or_else(
            || format!("{}/{encoded}", self.base),
            |slug| format!("{}/apps/{slug}", self.base),
        );
        json!({
            "login": login,
            "id": id,
            "node_id": node_id(kind.name(), id),
            "avatar_url": format!("{}/avatars/{id}", self.base),
            "gravatar_id": "",
            "url": url,
            "html_url": page,
            "followers_url": format!("{url}/followers"),
            "following_url": format!("{url}/following{{/other_user}}"),
            "gists_url": format!("{url}/gists{{/gist_id}}"),
            "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{url}/subscriptions"),
            "organizations_url": format!("{url}/orgs"),
            "repos_url": format!("{url}/repos"),
            "events_url": format!("{url}/events{{/privacy}}"),
            "received_events_url": format!("{url}/received_events"),
            "type": kind.name(),
            "user_view_type": "public",
            "site_admin": false,
        })
    }

    /// An `organization-simple`, as webhooks carry it.
    pub(crate) fn organization_json(&self, id: u64) -> Value {
        let login = self.login(id);
        let url = self.api(&format!("/orgs/{login}"));
        json!({
            "login": login,
            "id": id,
            "node_id": node_id("Organization", id),
            "url": url,
            "repos_url": format!("{url}/repos"),
            "events_url": format!("{url}/events"),
            "hooks_url": format!("{url}/hooks"),
            "issues_url": format!("{url}/issues"),
            "members_url": format!("{url}/members{{/member}}"),
            "public_members_url": format!("{url}/public_members{{/member}}"),
            "avatar_url": format!("{}/avatars/{id}", self.base),
            "description": "",
        })
    }
}

/// GitHub's opaque id of a thing.
pub(crate) fn node_id(kind: &str, id: u64) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD_NO_PAD.encode(format!("{kind}{id}"))
}
