//! Pull requests, as a webhook or the API shows them.

use crate::{
    domain::{
        event::{Account, Repo},
        ids::{AccountId, PullNumber, RepoId, Sha},
        principal::{Principal, PrincipalKind},
        space::{PullRef, PullSnapshot, PullState, RepoRef},
        time::Timestamp,
    },
    ports::forge::ForgeError,
};

use super::{
    budget::Purpose,
    client::Call,
    loose::{Loose, loose},
    origin::repo_path,
    session::Session,
};

loose! {
    /// An account: a user, a bot or an organisation.
    UserBody {
        id: i64,
        login: String,
        /// An enterprise has a slug instead of a login.
        slug: String,
    }

    /// An App, where it is only referred to.
    AppBody { id: i64 }

    /// A repository.
    RepoBody {
        id: i64,
        name: String,
        owner: UserBody,
    }

    /// One end of a pull request. The head's repository may be gone; it is never read.
    EndBody {
        sha: String,
        #[serde(rename = "ref")]
        branch: String,
        repo: RepoBody,
    }

    /// A pull request.
    PullBody {
        number: i64,
        title: String,
        state: String,
        draft: bool,
        user: UserBody,
        head: EndBody,
        base: EndBody,
        html_url: String,
        updated_at: String,
    }
}

impl UserBody {
    pub(super) fn account(&self) -> Option<Account> {
        Some(Account {
            id: AccountId(positive(&self.id)?),
            login: self.login.as_ref().or(self.slug.as_ref())?.clone(),
        })
    }
}

impl RepoBody {
    pub(super) fn repo(&self) -> Option<Repo> {
        Some(Repo {
            id: RepoId(positive(&self.id)?),
            owner: self.owner.as_ref()?.account()?,
            name: self.name.0.clone()?,
        })
    }
}

impl PullBody {
    /// The snapshot, or the name of the field without which there is none.
    pub(super) fn snapshot(&self, bot_login: Option<&str>) -> Result<PullSnapshot, &'static str> {
        let (head, base) = (self.head.as_ref(), self.base.as_ref());
        let sha = |end: Option<&EndBody>| -> Option<Sha> {
            let sha: Sha = end?.sha.as_ref()?.parse().ok()?;
            (!sha.is_zero()).then_some(sha)
        };
        let user = self.user.as_ref();
        let login = user.and_then(|u| u.login.as_deref());
        Ok(PullSnapshot {
            title: self.title.0.clone().unwrap_or_default(),
            state: match self.state.as_deref() {
                Some("open") => PullState::Open,
                Some("closed") => PullState::Closed,
                _ => return Err("state"),
            },
            draft: self.draft.unwrap_or(false),
            head: sha(head).ok_or("head.sha")?,
            base_ref: base
                .and_then(|b| b.branch.0.clone())
                .filter(|branch| !branch.is_empty())
                .ok_or("base.ref")?,
            base: sha(base).ok_or("base.sha")?,
            author: user
                .and_then(|u| positive(&u.id))
                .map(|id| Principal::new(PrincipalKind::Human, id.to_string())),
            by_app: match (login, bot_login) {
                (Some(login), Some(bot)) => login.eq_ignore_ascii_case(bot),
                _ => false,
            },
            html_url: self.html_url.0.clone().unwrap_or_default(),
            updated_at: self
                .updated_at
                .as_deref()
                .and_then(milliseconds)
                .ok_or("updated_at")?,
        })
    }

    pub(super) fn pull_number(&self) -> Option<PullNumber> {
        positive(&self.number).map(PullNumber)
    }
}

/// An id or number of the forge; those start at 1.
pub(super) fn positive(number: &Loose<i64>) -> Option<i64> {
    number.filter(|n| *n > 0)
}

/// Reads an RFC 3339 time.
pub(super) fn milliseconds(text: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp(at.as_millisecond()))
}

impl Session {
    pub(super) async fn read_pull(&self, pull: &PullRef) -> Result<PullSnapshot, ForgeError> {
        let path = repo_path(&pull.repo, &format!("/pulls/{}", pull.number));
        let answer = self.installed(pull.repo.installation, Call::get(path)).await?;
        let body: Loose<PullBody> = answer.json()?;
        let body = body.0.ok_or_else(|| unreadable("no object"))?;
        // A name that was given up can be taken by another repository.
        let base_repo = body.base.as_ref().and_then(|b| b.repo.as_ref());
        if base_repo
            .and_then(|r| positive(&r.id))
            .is_some_and(|id| id != pull.repo.id.0)
        {
            return Err(ForgeError::NotFound(
                "another repository has this name now".to_owned(),
            ));
        }
        let bot = self.bot_login().await?;
        body.snapshot(Some(bot)).map_err(unreadable)
    }

    pub(super) async fn list_open_pulls(
        &self,
        repo: &RepoRef,
    ) -> Result<Vec<(PullRef, PullSnapshot)>, ForgeError> {
        let path = repo_path(repo, "/pulls?state=open&per_page=100");
        let bodies: Vec<PullBody> = self
            .list(
                repo.installation,
                Purpose::Listing,
                path,
                |page: Loose<Vec<PullBody>>| page.0.unwrap_or_default(),
            )
            .await?;
        let bot = self.bot_login().await?;
        bodies
            .into_iter()
            .map(|body| {
                let number = body.pull_number().ok_or_else(|| unreadable("number"))?;
                let pull = PullRef {
                    repo: repo.clone(),
                    number,
                };
                Ok((pull, body.snapshot(Some(bot)).map_err(unreadable)?))
            })
            .collect()
    }
}

fn unreadable(field: &str) -> ForgeError {
    ForgeError::Internal(format!("a pull request without a usable {field}"))
}
