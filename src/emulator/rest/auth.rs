//! Who calls, and what they may.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::{HeaderMap, Method};
use base64::Engine;
use jsonwebtoken::{Algorithm, Validation};
use serde_json::{Value, json};

use super::{Answer, Call, Level};
use crate::emulator::{
    refusal::Refusal,
    state::{Role, Spender, TokenKind, World},
};

/// Longest life of an App's JWT, in seconds.
const JWT_LIFE: i64 = 600;
/// Calls an hour of an installation's or a person's token.
pub(crate) const HOURLY: u32 = 5000;

/// Who calls.
#[derive(Clone)]
pub(crate) enum Caller {
    Anonymous,
    /// An App by its JWT.
    App(u64),
    Installation {
        app: u64,
        id: u64,
        repos: Option<BTreeSet<u64>>,
        permissions: BTreeMap<String, String>,
    },
    User {
        id: u64,
    },
}

impl Caller {
    /// Whose budget a call is taken from.
    fn spender(&self) -> Option<Spender> {
        match self {
            Self::Installation { id, .. } => Some(Spender::Installation(*id)),
            Self::User { id } => Some(Spender::User(*id)),
            Self::Anonymous | Self::App(_) => None,
        }
    }
}

/// What the header `authorization` holds: `Bearer`, `token`, or (as git does) `Basic`
/// with the token as the password. `None`: there is no such header.
fn secret(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(header) = headers.get("authorization") else {
        return Ok(None);
    };
    let bad = || Refusal::new(401, "Bad credentials");
    let text = header.to_str().map_err(|_| bad())?;
    let (scheme, value) = text.split_once(' ').ok_or_else(bad)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Ok(Some(value.trim().to_owned()));
    }
    let plain = base64::engine::general_purpose::STANDARD
        .decode(value.trim())
        .ok()
        .and_then(|b| String::from_utf8(b).ok())
        .ok_or_else(bad)?;
    let (user, password) = plain.split_once(':').ok_or_else(bad)?;
    let named = if password.is_empty() || password == "x-oauth-basic" {
        user
    } else {
        password
    };
    Ok(Some(named.to_owned()))
}

/// Finds out who calls.
pub(crate) fn authenticate(world: &World, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let Some(secret) = secret(headers)? else {
        return Ok(Caller::Anonymous);
    };
    if secret.starts_with("ghs_") || secret.starts_with("ghp_") {
        return by_token(world, &secret);
    }
    if secret.matches('.').count() == 2 {
        return by_jwt(world, &secret).map(Caller::App);
    }
    Err(Refusal::new(401, "Bad credentials"))
}

/// The token that a request carries is worth nothing from now on.
pub(crate) fn revoke(world: &mut World, headers: &HeaderMap) {
    if let Ok(Some(secret)) = secret(headers) {
        world.tokens.remove(&secret);
    }
}

fn by_token(world: &World, secret: &str) -> Result<Caller, Refusal> {
    let bad = || Refusal::new(401, "Bad credentials");
    let token = world.tokens.get(secret).ok_or_else(bad)?;
    if token.expires_at.is_some_and(|at| world.seconds() >= at) {
        return Err(bad());
    }
    match &token.kind {
        TokenKind::User(id) => Ok(Caller::User { id: *id }),
        TokenKind::Installation {
            id,
            repos,
            permissions,
        } => {
            let installation = world.installations.get(id).ok_or_else(bad)?;
            if installation.suspended.is_some() {
                return Err(Refusal::new(403, "This installation has been suspended"));
            }
            Ok(Caller::Installation {
                app: installation.app,
                id: *id,
                repos: repos.clone(),
                permissions: permissions.clone(),
            })
        }
    }
}

/// Verifies an App's JWT: signature, `iss`, `iat`, `exp`, in GitHub's words.
fn by_jwt(world: &World, jwt: &str) -> Result<u64, Refusal> {
    let no = |text: &str| Refusal::new(401, text);
    let undecoded = || no("A JSON web token could not be decoded");
    let header = jsonwebtoken::decode_header(jwt).map_err(|_| undecoded())?;
    if header.alg != Algorithm::RS256 {
        return Err(undecoded());
    }
    let claims = unverified_claims(jwt).ok_or_else(undecoded)?;
    let issuer = match &claims["iss"] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(no("'Issuer' claim ('iss') must be an Integer")),
    };
    let app = world
        .apps
        .values()
        .find(|a| a.id.to_string() == issuer || a.client_id == issuer)
        .ok_or_else(|| Refusal::new(404, "Integration not found"))?;
    let mut rules = Validation::new(Algorithm::RS256);
    // Times are judged below by the emulator's own clock.
    rules.validate_exp = false;
    rules.validate_aud = false;
    rules.required_spec_claims.clear();
    let claims = jsonwebtoken::decode::<Value>(jwt, &app.key, &rules)
        .map_err(|_| undecoded())?
        .claims;
    let now = world.seconds();
    let whole = |name: &str| claims[name].as_i64();
    match whole("exp") {
        None => {
            return Err(no(
                "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
            ));
        }
        Some(exp) if exp <= now => {
            return Err(no(
                "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
            ));
        }
        Some(exp) if exp > now + JWT_LIFE => {
            return Err(no("'Expiration time' claim ('exp') is too far in the future"));
        }
        Some(_) => {}
    }
    match whole("iat") {
        Some(iat) if iat <= now => Ok(app.id),
        _ => Err(no(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        )),
    }
}

fn unverified_claims(jwt: &str) -> Option<Value> {
    let claims = jwt.split('.').nth(1)?;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(claims)
        .ok()?;
    serde_json::from_slice(&bytes).ok()
}

impl World {
    /// Lets the caller through to the repository for a permission, or refuses:
    /// what they may not see is not found, what they may see but not do is
    /// forbidden.
    pub(crate) fn reach(
        &self,
        call: &Call,
        repo: u64,
        permission: &str,
        level: Level,
    ) -> Result<(), Refusal> {
        let reading = call.method == Method::GET || call.method == Method::HEAD;
        self.may(&call.caller, repo, permission, level, reading)
    }

    /// The same for git and REST alike.
    pub(crate) fn may(
        &self,
        caller: &Caller,
        repo: u64,
        permission: &str,
        level: Level,
        reading: bool,
    ) -> Result<(), Refusal> {
        let found = self.repos.get(&repo).ok_or_else(Refusal::not_found)?;
        let public_read = !found.private && reading && level == Level::Read;
        match caller {
            Caller::Anonymous if public_read => Ok(()),
            Caller::Anonymous if found.private => Err(Refusal::not_found()),
            Caller::Anonymous => Err(Refusal::new(401, "Requires authentication")),
            Caller::App(_) if found.private => Err(Refusal::not_found()),
            Caller::App(_) => Err(Refusal::new(401, "Bad credentials")),
            Caller::User { id } => {
                let role = self.role(found, *id).ok_or_else(Refusal::not_found)?;
                // Anybody who can read may review and comment.
                let speaks = permission == "pull_requests";
                let enough = level == Level::Read || speaks || role >= Role::Write;
                if permission == "checks" && level == Level::Write {
                    let text = "You must authenticate via a GitHub App.";
                    return Err(Refusal::new(403, text));
                }
                if enough {
                    Ok(())
                } else {
                    Err(Refusal::new(403, "Must have write access to the repository."))
                }
            }
            Caller::Installation {
                id,
                repos,
                permissions,
                ..
            } => {
                let covered = self
                    .installations
                    .get(id)
                    .is_some_and(|i| self.covered(i).contains(&repo))
                    && repos.as_ref().is_none_or(|r| r.contains(&repo));
                if !covered {
                    return match (found.private, public_read) {
                        (true, _) => Err(Refusal::not_found()),
                        (false, true) => Ok(()),
                        (false, false) => Err(Refusal::forbidden()),
                    };
                }
                let given = |name: &str| match permissions.get(name).map(String::as_str) {
                    Some("write" | "admin") => Some(Level::Write),
                    Some("read") => Some(Level::Read),
                    _ => None,
                };
                let granted = given(permission).is_some_and(|g| g >= level) || permission == "metadata";
                if granted || public_read {
                    Ok(())
                } else {
                    Err(Refusal::forbidden())
                }
            }
        }
    }

    /// The account that acts for the caller, and its App.
    pub(crate) fn actor(&self, caller: &Caller) -> Result<(u64, Option<u64>), Refusal> {
        match caller {
            Caller::User { id } => Ok((*id, None)),
            Caller::Installation { app, .. } => {
                let bot = self.apps.get(app).ok_or_else(Refusal::not_found)?.bot;
                Ok((bot, Some(*app)))
            }
            Caller::App(_) | Caller::Anonymous => Err(Refusal::new(401, "Requires authentication")),
        }
    }

    /// Counts calls (none, to look only) against the caller's hour. Gives what is left
    /// and when the hour ends.
    pub(crate) fn count(&mut self, caller: &Caller, calls: u32) -> (u32, i64) {
        let now = self.seconds();
        let Some(spender) = caller.spender() else {
            return (HOURLY, now + 3600);
        };
        let spent = self.spent.entry(spender).or_insert((now + 3600, 0));
        if now >= spent.0 {
            *spent = (now + 3600, 0);
        }
        spent.1 = spent.1.saturating_add(calls);
        (HOURLY.saturating_sub(spent.1), spent.0)
    }
}

/// Leaves so many calls of this hour to an installation.
pub(crate) fn leave(world: &mut World, installation: u64, remaining: u32) {
    let now = world.seconds();
    let spender = Spender::Installation(installation);
    let spent = world.spent.entry(spender).or_insert((now + 3600, 0));
    if now >= spent.0 {
        spent.0 = now + 3600;
    }
    spent.1 = HOURLY.saturating_sub(remaining);
}

/// `GET /rate_limit`.
pub(crate) fn rate(world: &World, caller: &Caller) -> Answer {
    let now = world.seconds();
    let used = caller
        .spender()
        .and_then(|s| world.spent.get(&s).copied())
        .filter(|(until, _)| now < *until)
        .unwrap_or((now + 3600, 0));
    let core = json!({
        "limit": HOURLY,
        "used": used.1,
        "remaining": HOURLY.saturating_sub(used.1),
        "reset": used.0,
    });
    let search = json!({"limit": 30, "used": 0, "remaining": 30, "reset": now + 60});
    Answer::ok(json!({"resources": {"core": core, "search": search}, "rate": core}))
}
