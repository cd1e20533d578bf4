//! What an App asks about itself, and its tokens.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    Answer, Call, Caller, Outcome,
    answer::{list, page},
};
use crate::emulator::{
    refusal::Refusal,
    state::{Installation, World, iso},
};

fn app(call: &Call) -> Result<u64, Refusal> {
    match call.caller {
        Caller::App(id) => Ok(id),
        _ => Err(Refusal::new(401, "A JSON web token could not be decoded")),
    }
}

fn owned<'a>(world: &'a World, call: &Call, id: &str) -> Result<&'a Installation, Refusal> {
    let app = app(call)?;
    id.parse()
        .ok()
        .and_then(|id: u64| world.installations.get(&id))
        .filter(|i| i.app == app)
        .ok_or_else(Refusal::not_found)
}

/// `GET /app`
pub(crate) fn own(world: &World, call: &Call) -> Outcome {
    let id = app(call)?;
    let app = world.apps.get(&id).ok_or_else(Refusal::not_found)?;
    let mut shown = world.app_json(app);
    let count = world.installations.values().filter(|i| i.app == id).count();
    shown["installations_count"] = json!(count);
    Ok(Answer::ok(shown))
}

/// `GET /app/installations`
pub(crate) fn installations(world: &World, call: &Call) -> Outcome {
    let id = app(call)?;
    let all = world.installations.values().filter(|i| i.app == id);
    let shown = all.map(|i| world.installation_json(i)).collect();
    Ok(list(world, call, None, shown))
}

/// `GET /app/installations/{id}`
pub(crate) fn installation(world: &World, call: &Call, id: &str) -> Outcome {
    Ok(Answer::ok(world.installation_json(owned(world, call, id)?)))
}

/// `GET /repos/{owner}/{repo}/installation`
pub(crate) fn on_repository(world: &World, call: &Call, repo: u64) -> Outcome {
    let id = app(call)?;
    world
        .installations_on(repo)
        .iter()
        .filter_map(|i| world.installations.get(i))
        .find(|i| i.app == id)
        .map(|i| Answer::ok(world.installation_json(i)))
        .ok_or_else(Refusal::not_found)
}

/// `POST /app/installations/{id}/access_tokens`
pub(crate) fn new_token(world: &mut World, call: &Call, id: &str) -> Outcome {
    let installation = owned(world, call, id)?.clone();
    if installation.suspended.is_some() {
        return Err(Refusal::new(403, "This installation has been suspended"));
    }
    let covered = world.covered(&installation);
    let chosen = chosen_repos(world, call, &covered)?;
    let mut permissions = installation.permissions.clone();
    if let Value::Object(asked) = &call.body["permissions"] {
        permissions = narrowed(&installation.permissions, asked)?;
    }
    let (token, expires_at) = world.installation_token(
        installation.id,
        installation.app,
        chosen.clone(),
        permissions.clone(),
    );
    let whole = world.installation_json(&installation)["repository_selection"].clone();
    let mut body = json!({
        "token": token,
        "expires_at": iso(expires_at),
        "permissions": permissions,
        "repository_selection": if chosen.is_some() { json!("selected") } else { whole },
    });
    if let Some(chosen) = &chosen {
        let shown = chosen.iter().filter_map(|id| world.repos.get(id));
        body["repositories"] = shown.map(|r| world.repo_json(r)).collect();
    }
    Ok(Answer::json(201, body))
}

fn chosen_repos(world: &World, call: &Call, covered: &[u64]) -> Result<Option<BTreeSet<u64>>, Refusal> {
    let outside = || {
        Refusal::new(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        )
    };
    let mut chosen = BTreeSet::new();
    let mut asked = false;
    if let Value::Array(names) = &call.body["repositories"] {
        asked = true;
        for name in names {
            let name = name.as_str().unwrap_or_default();
            let same = |id: &&u64| {
                let repo = world.repos.get(id);
                repo.is_some_and(|r| r.name.eq_ignore_ascii_case(name))
            };
            chosen.insert(*covered.iter().find(same).ok_or_else(outside)?);
        }
    }
    if let Value::Array(ids) = &call.body["repository_ids"] {
        asked = true;
        for id in ids {
            let id = id.as_u64().filter(|id| covered.contains(id));
            chosen.insert(id.ok_or_else(outside)?);
        }
    }
    Ok(asked.then_some(chosen))
}

fn narrowed(
    granted: &BTreeMap<String, String>,
    asked: &serde_json::Map<String, Value>,
) -> Result<BTreeMap<String, String>, Refusal> {
    let rank = |level: &str| ["read", "write", "admin"].iter().position(|l| *l == level);
    let mut permissions = BTreeMap::new();
    for (name, level) in asked {
        let level = level.as_str().unwrap_or_default();
        let has = granted.get(name).and_then(|g| rank(g));
        match (rank(level), has) {
            (Some(wants), Some(has)) if wants <= has => {
                permissions.insert(name.clone(), level.to_owned());
            }
            _ => {
                let text = "The permissions requested are not granted to this installation.";
                return Err(Refusal::new(422, text));
            }
        }
    }
    permissions.insert("metadata".to_owned(), "read".to_owned());
    Ok(permissions)
}

/// `GET /installation/repositories`
pub(crate) fn repositories(world: &World, call: &Call) -> Outcome {
    let Caller::Installation { id, repos, .. } = &call.caller else {
        let text = "You must authenticate with an installation access token in order to list repositories for an installation.";
        return Err(Refusal::new(403, text));
    };
    let installation = world.installations.get(id).ok_or_else(Refusal::not_found)?;
    let all: Vec<Value> = world
        .covered(installation)
        .iter()
        .filter(|id| repos.as_ref().is_none_or(|r| r.contains(id)))
        .filter_map(|id| world.repos.get(id))
        .map(|r| world.repo_json(r))
        .collect();
    let total = all.len();
    let selection = world.installation_json(installation)["repository_selection"].clone();
    Ok(page(world, call, None, all).answer(
        |items| json!({"total_count": total, "repository_selection": selection, "repositories": items}),
    ))
}
