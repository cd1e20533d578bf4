//! Webhook deliveries ─▶ [`ForgeEvent`]. GitHub's shapes stop here.
//!
//! Invariants: only text that is no JSON is an error; whatever is unknown, missing
//! or of another type than we need is [`ForgeEvent::Ignored`] with the reason, so
//! that new events, actions and fields (GitHub adds them at any time) are harmless.
//! What a delivery says is hostile even when its signature holds: a title, a
//! branch or a login is text that a stranger chose.

use serde::de::IgnoredAny;

use crate::{
    domain::{
        event::{Account, ForgeEvent, Repo},
        ids::{InstallationId, PullNumber, RepoId, Sha},
    },
    ports::forge::UnreadableDelivery,
};

use super::{
    loose::{Loose, loose},
    pulls::{AppBody, PullBody, RepoBody, UserBody, positive},
};

/// The name of our check run; asked for again under this name only.
const CHECK_NAME: &str = "jury";

/// Which App we are, as far as a delivery can name it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppIdentity {
    /// The App's id. When it is known, a check of another App is ignored.
    pub id: Option<i64>,
    /// `<slug>[bot]`, the login under which the App acts; `None` while it is not known.
    pub bot_login: Option<String>,
}

loose! {
    CheckSuiteBody { head_sha: String, app: AppBody }

    CheckRunBody { name: String, head_sha: String, app: AppBody, check_suite: CheckSuiteBody }

    MergeGroupBody { head_sha: String }

    InstallationBody { id: i64, account: UserBody }

    WasBody { base: WasBaseBody }

    WasBaseBody { sha: WasShaBody, #[serde(rename = "ref")] branch: WasShaBody }

    WasShaBody { from: String }

    Payload {
        action: String,
        number: i64,
        installation: InstallationBody,
        repository: RepoBody,
        pull_request: PullBody,
        changes: WasBody,
        check_run: CheckRunBody,
        check_suite: CheckSuiteBody,
        merge_group: MergeGroupBody,
        repositories_removed: Vec<RepoBody>,
    }
}

/// Reads a delivery: `event` is `X-GitHub-Event`, `body` the JSON.
///
/// # Errors
/// Only when `body` is no JSON.
pub fn parse(event: &str, body: &[u8], app: &AppIdentity) -> Result<ForgeEvent, UnreadableDelivery> {
    let payload: Loose<Payload> = match serde_json::from_slice(body) {
        Ok(payload) => payload,
        Err(_) if is_json(body) => return Ok(ignored(event, None, "a field that cannot be read")),
        // Where, not what: the library's text may quote the body.
        Err(e) => {
            return Err(UnreadableDelivery(format!(
                "no JSON at line {}, column {}",
                e.line(),
                e.column()
            )));
        }
    };
    let Some(payload) = payload.0 else {
        return Ok(ignored(event, None, "no object"));
    };
    let action = payload.action.as_deref();
    Ok(payload
        .event(event, app)
        .unwrap_or_else(|why| ignored(event, action, why)))
}

/// Whether it follows the grammar of JSON. That allows what no field can hold: half of
/// a surrogate pair, a number over every range, the same name twice.
fn is_json(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

fn ignored(event: &str, action: Option<&str>, why: &str) -> ForgeEvent {
    // Both words come from outside and go to logs and metrics.
    let word = |text: &str| -> String {
        text.chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            .take(64)
            .collect()
    };
    let mut reason = word(event);
    if let Some(action) = action {
        reason.push('.');
        reason.push_str(&word(action));
    }
    if !why.is_empty() {
        reason.push_str(": ");
        reason.push_str(why);
    }
    ForgeEvent::Ignored { reason }
}

/// Needs nothing from us: the name of event and action says it all.
const NOTHING: &str = "";

impl Payload {
    fn event(&self, event: &str, app: &AppIdentity) -> Result<ForgeEvent, &'static str> {
        let action = self.action.as_deref().unwrap_or_default();
        match (event, action) {
            ("ping", _) => Ok(ForgeEvent::Pinged),
            (
                "pull_request",
                "opened" | "reopened" | "synchronize" | "ready_for_review" | "converted_to_draft" | "closed",
            ) => self.pull_moved(app),
            ("pull_request", "edited") => {
                let base = self.changes.as_ref().and_then(|c| c.base.as_ref());
                base.ok_or("the base is the same")?;
                self.pull_moved(app)
            }
            ("check_run", "rerequested") => {
                let run = self.check_run.as_ref().ok_or("no check_run")?;
                if run.name.as_deref() != Some(CHECK_NAME) {
                    return Err("another check");
                }
                ours(run.app.as_ref(), app)?;
                let suite = run.check_suite.as_ref();
                let head = run
                    .head_sha
                    .as_deref()
                    .or_else(|| suite.and_then(|s| s.head_sha.as_deref()));
                self.rerequested(head)
            }
            ("check_suite", "rerequested") => {
                let suite = self.check_suite.as_ref().ok_or("no check_suite")?;
                ours(suite.app.as_ref(), app)?;
                self.rerequested(suite.head_sha.as_deref())
            }
            ("merge_group", "checks_requested") => {
                let group = self.merge_group.as_ref().ok_or("no merge_group")?;
                Ok(ForgeEvent::MergeGroupRequested {
                    installation: self.installation()?,
                    repo: self.repo()?,
                    head: sha(group.head_sha.as_deref())?,
                })
            }
            ("installation", "created" | "unsuspend" | "new_permissions_accepted")
            | ("installation_repositories", "added") => Ok(ForgeEvent::InstallationOpened {
                installation: self.installation()?,
                account: self.account()?,
            }),
            ("installation", "deleted" | "suspend") => Ok(ForgeEvent::InstallationClosed {
                installation: self.installation()?,
                account: self.account()?,
            }),
            ("installation_repositories", "removed") => {
                let removed = self.repositories_removed.as_deref().unwrap_or_default();
                let repos: Vec<RepoId> = removed
                    .iter()
                    .filter_map(|r| positive(&r.id).map(RepoId))
                    .collect();
                if repos.is_empty() {
                    return Err("no repositories");
                }
                Ok(ForgeEvent::RepositoriesRemoved {
                    installation: self.installation()?,
                    repos,
                })
            }
            ("repository", "renamed" | "transferred") => Ok(ForgeEvent::RepositoryMoved {
                installation: self.installation()?,
                repo: self.repo()?,
            }),
            _ => Err(NOTHING),
        }
    }

    fn pull_moved(&self, app: &AppIdentity) -> Result<ForgeEvent, &'static str> {
        let pull = self.pull_request.as_ref().ok_or("no pull_request")?;
        Ok(ForgeEvent::PullRequestMoved {
            installation: self.installation()?,
            repo: self.repo()?,
            number: pull
                .pull_number()
                .or_else(|| positive(&self.number).map(PullNumber))
                .ok_or("no number")?,
            snapshot: Box::new(
                pull.snapshot(app.bot_login.as_deref())
                    .map_err(|field| match field {
                        "state" => "no usable state",
                        "head.sha" => "no usable head.sha",
                        "base.ref" => "no usable base.ref",
                        "base.sha" => "no usable base.sha",
                        _ => "no usable updated_at",
                    })?,
            ),
        })
    }

    fn rerequested(&self, head: Option<&str>) -> Result<ForgeEvent, &'static str> {
        Ok(ForgeEvent::ReviewRerequested {
            installation: self.installation()?,
            repo: self.repo()?,
            head: sha(head)?,
        })
    }

    fn installation(&self) -> Result<InstallationId, &'static str> {
        let installation = self.installation.as_ref();
        installation
            .and_then(|i| positive(&i.id))
            .map(InstallationId)
            .ok_or("no installation")
    }

    fn account(&self) -> Result<Account, &'static str> {
        let installation = self.installation.as_ref();
        installation
            .and_then(|i| i.account.as_ref())
            .and_then(UserBody::account)
            .ok_or("no account")
    }

    fn repo(&self) -> Result<Repo, &'static str> {
        self.repository
            .as_ref()
            .and_then(RepoBody::repo)
            .ok_or("no repository")
    }
}

fn sha(text: Option<&str>) -> Result<Sha, &'static str> {
    text.and_then(|t| t.parse::<Sha>().ok())
        .filter(|sha| !sha.is_zero())
        .ok_or("no usable head_sha")
}

/// `rerequested` is sent to the owner of the check only; a server that is told of
/// several Apps must still act as one.
fn ours(app: Option<&AppBody>, us: &AppIdentity) -> Result<(), &'static str> {
    match (app.and_then(|a| positive(&a.id)), us.id) {
        (Some(theirs), Some(ours)) if theirs != ours => Err("another App's check"),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "payloads_mutation_tests.rs"]
mod mutation_tests;
#[cfg(test)]
#[path = "payloads_tests.rs"]
mod tests;
