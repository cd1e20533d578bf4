//! GitHub, github.com or an enterprise server, or our emulator of it.
//!
//! REST over octocrab ([`client`]), tokens ([`auth`]), lists ([`pager`]), the
//! meaning of errors ([`errors`]), what may still be asked in this hour ([`budget`]), and one file per thing that is read or said.
//! What is read of a change comes over git where the forge serves git, and over
//! the API otherwise ([`change`]).

mod auth;
mod budget;
mod change;
mod checks;
mod client;
mod errors;
pub mod examine;
#[cfg(test)]
mod fake_tests;
mod files;
mod loose;
mod origin;
mod pager;
pub mod payloads;
mod pulls;
mod reviews;
mod session;
#[cfg(test)]
mod story_tests;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use secrecy::SecretString;

use crate::{
    domain::{
        event::{ForgeEvent, Repo},
        ids::{CheckRunId, InstallationId, ReviewId, Sha},
        space::{PullRef, PullSnapshot, RepoRef},
    },
    git::mirror::Mirrors,
    ports::{
        change::{Change, ChangeError},
        clock::Clock,
        forge::{
            CheckRun, CheckView, Forge, ForgeError, Installation, PostedReview, ReviewView,
            UnreadableDelivery,
        },
    },
};

use budget::Purpose;
use client::Call;
use loose::{Loose, loose};
use pager::Listed;
use payloads::AppIdentity;
use pulls::{RepoBody, UserBody, positive};
use session::Session;

/// Why the forge cannot be set up; for the operator, without secrets.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The base URL of the API cannot be used.
    #[error("github.api_url: {0}")]
    ApiUrl(String),
    /// The App's private key cannot be used.
    #[error("github.private_key_file: {0}")]
    PrivateKey(String),
    /// The system's certificates cannot be read.
    #[error("the system's root certificates: {0}")]
    Tls(String),
}

/// What it takes to act as one App.
#[derive(Debug, Clone)]
pub struct GitHubConfig {
    /// `https://api.github.com`, `https://HOST/api/v3`, or `http://` on loopback.
    pub api_url: String,
    /// The App's id.
    pub app_id: i64,
    /// The App's RSA private key as PEM.
    pub private_key: SecretString,
    /// The folder of the bare mirrors through which changes are read over git; `None`:
    /// changes are read over the API only, which shows less.
    pub mirrors: Option<PathBuf>,
    /// How long one request may take; [`GitHubConfig::TIMEOUT`] outside tests.
    pub timeout: Duration,
}

impl GitHubConfig {
    /// 20 s: below half of a job's lease of 60 s.
    pub const TIMEOUT: Duration = client::TIMEOUT;
}

/// One App on one GitHub.
pub struct GitHub {
    session: Arc<Session>,
    mirrors: Option<Mirrors>,
    host: String,
}

impl fmt::Debug for GitHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHub")
            .field("host", &self.host)
            .field("app", &self.session.app_id())
            .finish_non_exhaustive()
    }
}

loose! {
    InstalledBody { id: i64, account: UserBody, suspended_at: String }
}

impl InstalledBody {
    fn installation(&self) -> Option<Installation> {
        Some(Installation {
            id: InstallationId(positive(&self.id)?),
            account: self.account.as_ref()?.account()?,
            suspended: self.suspended_at.is_some(),
        })
    }
}

impl GitHub {
    /// Sets up; nothing is sent yet.
    ///
    /// # Errors
    /// When the URL, the key or the system's certificates cannot be used.
    pub fn new(config: &GitHubConfig, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        let session = Session::new(config, clock)?;
        Ok(Self {
            host: session.origin().host(),
            session: Arc::new(session),
            mirrors: config.mirrors.clone().map(Mirrors::new),
        })
    }
}

#[async_trait]
impl Forge for GitHub {
    fn host(&self) -> &str {
        &self.host
    }

    async fn identify(&self) -> Result<(), ForgeError> {
        self.session.bot_login().await.map(drop)
    }

    /// Whether the App itself opened a pull request is known once the App's name was
    /// read ([`Forge::identify`], or any read of a pull request).
    fn read_delivery(&self, event: &str, body: &[u8]) -> Result<ForgeEvent, UnreadableDelivery> {
        let identity = AppIdentity {
            id: Some(self.session.app_id()),
            bot_login: self.session.known_bot_login().map(str::to_owned),
        };
        payloads::parse(event, body, &identity)
    }

    async fn installations(&self) -> Result<Vec<Installation>, ForgeError> {
        let send = |call: Call| async move { self.session.as_app(&call).await };
        let path = "/app/installations?per_page=100".to_owned();
        let bodies: Vec<InstalledBody> =
            pager::pages(self.session.origin(), path, send, |page: Loose<Vec<_>>| {
                page.0.unwrap_or_default()
            })
            .await?;
        Ok(bodies.iter().filter_map(InstalledBody::installation).collect())
    }

    async fn installation(&self, id: InstallationId) -> Result<Option<Installation>, ForgeError> {
        let call = Call::get(format!("/app/installations/{id}"));
        let body: Loose<InstalledBody> = match self.session.as_app(&call).await {
            Ok(answer) => answer.json()?,
            Err(ForgeError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = body.0.as_ref().and_then(InstalledBody::installation);
        match found.filter(|found| found.id == id) {
            Some(found) => Ok(Some(found)),
            None => Err(ForgeError::Internal(
                "an installation without its id or account".to_owned(),
            )),
        }
    }

    async fn repositories(&self, installation: InstallationId) -> Result<Vec<Repo>, ForgeError> {
        let path = "/installation/repositories?per_page=100".to_owned();
        let bodies = self
            .session
            .list(installation, Purpose::Listing, path, Listed::<RepoBody>::entries)
            .await?;
        Ok(bodies.iter().filter_map(RepoBody::repo).collect())
    }

    async fn open_pulls(&self, repo: &RepoRef) -> Result<Vec<(PullRef, PullSnapshot)>, ForgeError> {
        self.session.list_open_pulls(repo).await
    }

    fn wait_to_begin(&self, installation: InstallationId) -> Option<i64> {
        self.session.wait_to_begin(installation)
    }

    async fn pull(&self, pull: &PullRef) -> Result<PullSnapshot, ForgeError> {
        self.session.read_pull(pull).await
    }

    async fn change(&self, pull: &PullRef, snapshot: &PullSnapshot) -> Result<Box<dyn Change>, ChangeError> {
        change::open(&self.session, self.mirrors.as_ref(), pull, snapshot).await
    }

    async fn check_runs(&self, repo: &RepoRef, sha: &Sha, name: &str) -> Result<Vec<CheckRun>, ForgeError> {
        self.session.list_check_runs(repo, sha, name).await
    }

    async fn create_check(
        &self,
        repo: &RepoRef,
        sha: &Sha,
        name: &str,
        external_id: &str,
        view: &CheckView,
    ) -> Result<CheckRunId, ForgeError> {
        self.session.make_check(repo, sha, name, external_id, view).await
    }

    async fn update_check(&self, repo: &RepoRef, id: CheckRunId, view: &CheckView) -> Result<(), ForgeError> {
        self.session.change_check(repo, id, view).await
    }

    async fn own_reviews(&self, pull: &PullRef) -> Result<Vec<PostedReview>, ForgeError> {
        self.session.list_own_reviews(pull).await
    }

    async fn submit_review(&self, pull: &PullRef, review: &ReviewView) -> Result<ReviewId, ForgeError> {
        self.session.post_review(pull, review).await
    }

    async fn dismiss_review(
        &self,
        pull: &PullRef,
        review: ReviewId,
        message: &str,
    ) -> Result<(), ForgeError> {
        self.session.dismiss(pull, review, message).await
    }

    async fn delete_pending_review(&self, pull: &PullRef, review: ReviewId) -> Result<(), ForgeError> {
        self.session.delete_pending(pull, review).await
    }
}
