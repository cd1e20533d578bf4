//! Repositories and people.

use serde_json::{Value, json};

use super::{Answer, Call, Caller, Outcome};
use crate::emulator::{
    refusal::Refusal,
    state::{AccountKind, Role, World},
};

/// `GET /repos/{owner}/{repo}`
pub(crate) fn get(world: &World, repo: u64) -> Outcome {
    let repo = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    Ok(Answer::ok(world.repo_json(repo)))
}

/// `GET /repos/{owner}/{repo}/collaborators/{username}/permission`. 404 for what
/// is not a user.
pub(crate) fn permission(world: &World, repo: u64, login: &str) -> Outcome {
    let repo = world.repos.get(&repo).ok_or_else(Refusal::not_found)?;
    let account = world
        .account_by_login(login)
        .filter(|a| a.kind == AccountKind::User)
        .ok_or_else(|| Refusal::new(404, format!("{login} is not a user")))?;
    let role = world.role(repo, account.id);
    let name = role.map_or("none", Role::name);
    let mut user = world.user_json(account.id);
    user["role_name"] = json!(name);
    user["permissions"] = json!({
        "pull": role.is_some(),
        "triage": role >= Some(Role::Triage),
        "push": role >= Some(Role::Write),
        "maintain": role >= Some(Role::Maintain),
        "admin": role >= Some(Role::Admin),
    });
    Ok(Answer::ok(json!({
        "permission": role.map_or("none", Role::permission),
        "role_name": name,
        "user": user,
    })))
}

/// `GET /users/{username}`
pub(crate) fn user(world: &World, login: &str) -> Outcome {
    let account = world.account_by_login(login).ok_or_else(Refusal::not_found)?;
    Ok(Answer::ok(full_user(world, account.id)))
}

/// `GET /user`, for a person's token.
pub(crate) fn own_user(world: &World, call: &Call) -> Outcome {
    match &call.caller {
        Caller::User { id, .. } => Ok(Answer::ok(full_user(world, *id))),
        Caller::Installation { .. } => Err(Refusal::forbidden()),
        _ => Err(Refusal::new(401, "Requires authentication")),
    }
}

fn full_user(world: &World, id: u64) -> Value {
    let mut user = world.user_json(id);
    for name in [
        "name",
        "company",
        "blog",
        "location",
        "email",
        "hireable",
        "bio",
        "twitter_username",
    ] {
        user[name] = Value::Null;
    }
    let repos = world.repos.values().filter(|r| r.owner == id).count();
    user["public_repos"] = json!(repos);
    user["public_gists"] = json!(0);
    user["followers"] = json!(0);
    user["following"] = json!(0);
    user["created_at"] = json!("2020-01-01T00:00:00Z");
    user["updated_at"] = json!("2020-01-01T00:00:00Z");
    user
}
