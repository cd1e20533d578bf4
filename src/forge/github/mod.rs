//! GitHub, github.com or an enterprise server, or our emulator of it.
//!
//! REST over octocrab ([`client`]), tokens ([`auth`]), lists ([`pager`]), the
//! meaning of errors ([`errors`]), and one file per thing that is read or said.
//! What is read of a change comes over git where the forge serves git, and over
//! the API otherwise ([`change`]).

mod auth;
mod checks;
mod client;
mod errors;
mod loose;
mod origin;
mod pager;
pub mod payloads;
mod pulls;
mod reviews;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use http::{Method, StatusCode};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::{
    domain::{
        event::{ForgeEvent, Repo},
        ids::{CheckRunId, InstallationId, ReviewId, Sha},
        space::{PullRef, PullSnapshot, RepoRef},
    },
    ports::{
        change::{Change, ChangeError},
        clock::Clock,
        forge::{
            CheckRun, CheckView, Forge, ForgeError, Installation, PostedReview, ReviewView,
            UnreadableDelivery,
        },
    },
};

use auth::{AppKey, Token, Tokens};
use client::{Answer, Call, Failure, Transport};
use loose::{Loose, loose};
use origin::Origin;
use pager::Listed;
use payloads::AppIdentity;
use pulls::{RepoBody, UserBody, milliseconds, positive};

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
    app: AppKey,
    transport: Transport,
    tokens: Tokens,
    clock: Arc<dyn Clock>,
    host: String,
    bot_login: OnceCell<String>,
}

impl fmt::Debug for GitHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHub")
            .field("host", &self.host)
            .field("app", &self.app)
            .finish_non_exhaustive()
    }
}

loose! {
    OurselvesBody { slug: String }

    TokenBody { token: String, expires_at: String }

    InstalledBody { id: i64, account: UserBody, suspended_at: String }
}

impl GitHub {
    /// Sets up; nothing is sent yet.
    ///
    /// # Errors
    /// When the URL, the key or the system's certificates cannot be used.
    pub fn new(config: &GitHubConfig, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        let origin = Origin::new(&config.api_url)?;
        Ok(Self {
            app: AppKey::new(config.app_id, &config.private_key)?,
            host: origin.host(),
            transport: Transport::new(origin, config.timeout)?,
            tokens: Tokens::default(),
            clock,
            bot_login: OnceCell::new(),
        })
    }

    /// Asks the forge who we are: proves URL and key, and learns the App's name.
    ///
    /// # Errors
    /// `Forbidden` when the forge does not take the key.
    pub async fn identify(&self) -> Result<(), ForgeError> {
        self.bot_login().await.map(drop)
    }

    /// The installation's token, for git over HTTPS.
    ///
    /// # Errors
    /// As every read; `Forbidden` when the installation is gone or suspended.
    pub async fn git_token(&self, installation: InstallationId) -> Result<SecretString, ForgeError> {
        Ok(self.token(installation).await?.carrier.secret().clone())
    }

    fn app_id(&self) -> i64 {
        self.app.id()
    }

    /// `<slug>[bot]`, read once.
    async fn bot_login(&self) -> Result<&str, ForgeError> {
        let login = self.bot_login.get_or_try_init(|| async {
            let app: Loose<OurselvesBody> = self.as_app(&Call::get("/app")).await?.json()?;
            app.0
                .and_then(|app| app.slug.0)
                .map(|slug| format!("{slug}[bot]"))
                .ok_or_else(|| ForgeError::Internal("the App has no slug".to_owned()))
        });
        login.await.map(String::as_str)
    }

    /// Sends as the App itself.
    async fn as_app(&self, call: &Call) -> Result<Answer, ForgeError> {
        let carrier = self.transport.carry(self.app.jwt(self.clock.now())?);
        match self.transport.send(&carrier, call, &*self.clock).await {
            Ok(answer) => Ok(answer),
            // Our clock may be wrong: once more, by the forge's.
            Err(Failure {
                status: Some(StatusCode::UNAUTHORIZED),
                date: Some(date),
                error,
            }) => {
                let Some(theirs) = errors::http_date(&date) else {
                    return Err(error);
                };
                let carrier = self.transport.carry(self.app.jwt(theirs)?);
                let again = self.transport.send(&carrier, call, &*self.clock).await;
                again.map_err(|failure| failure.error)
            }
            Err(failure) => Err(failure.error),
        }
    }

    async fn token(&self, installation: InstallationId) -> Result<Arc<Token>, ForgeError> {
        let now = self.clock.now();
        let mint = || async { self.mint(installation).await.map_err(minting) };
        self.tokens.get(installation, now, mint).await
    }

    async fn mint(&self, installation: InstallationId) -> Result<Token, ForgeError> {
        let path = format!("/app/installations/{installation}/access_tokens");
        let call = Call::write(Method::POST, path, Some(json!({})));
        let body: Loose<TokenBody> = self.as_app(&call).await?.json()?;
        let body = body.0.unwrap_or_default();
        let token = body
            .token
            .0
            .filter(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_graphic()))
            .ok_or_else(|| ForgeError::Internal("the forge gave no usable token".to_owned()))?;
        let now = self.clock.now();
        let expires_at = body.expires_at.as_deref().and_then(milliseconds).unwrap_or(now);
        Ok(Token::new(self.transport.carry(token.into()), now, expires_at))
    }

    /// Sends as an installation. A 401 says that nothing was done, for a write too:
    /// the token is dropped and the call is sent once more.
    async fn installed(&self, installation: InstallationId, call: Call) -> Result<Answer, ForgeError> {
        let token = self.token(installation).await?;
        match self.transport.send(&token.carrier, &call, &*self.clock).await {
            Err(failure) if failure.status == Some(StatusCode::UNAUTHORIZED) => {
                self.tokens.drop_token(installation, &token).await;
                let token = self.token(installation).await?;
                let again = self.transport.send(&token.carrier, &call, &*self.clock).await;
                again.map_err(|failure| failure.error)
            }
            outcome => outcome.map_err(|failure| failure.error),
        }
    }

    /// Reads every page of a list as an installation.
    async fn list<T, P: DeserializeOwned>(
        &self,
        installation: InstallationId,
        path: String,
        entries: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, ForgeError> {
        let send = |call| self.installed(installation, call);
        pager::pages(self.transport.origin(), path, send, entries).await
    }
}

/// What a failed mint means: it is no write that anybody would miss.
fn minting(error: ForgeError) -> ForgeError {
    match error {
        ForgeError::NotFound(_) => ForgeError::Forbidden("the installation is gone".to_owned()),
        ForgeError::Unknown(reason) => ForgeError::Later {
            reason,
            after_ms: None,
        },
        ForgeError::Refused(messages) => ForgeError::Forbidden(messages.join("; ")),
        other => other,
    }
}

#[async_trait]
impl Forge for GitHub {
    fn host(&self) -> &str {
        &self.host
    }

    /// Whether the App itself opened a pull request is known once the App's name was
    /// read ([`GitHub::identify`], or any read of a pull request).
    fn read_delivery(&self, event: &str, body: &[u8]) -> Result<ForgeEvent, UnreadableDelivery> {
        let identity = AppIdentity {
            id: Some(self.app.id()),
            bot_login: self.bot_login.get().cloned(),
        };
        payloads::parse(event, body, &identity)
    }

    async fn installations(&self) -> Result<Vec<Installation>, ForgeError> {
        let send = |call: Call| async move { self.as_app(&call).await };
        let path = "/app/installations?per_page=100".to_owned();
        let bodies: Vec<InstalledBody> =
            pager::pages(self.transport.origin(), path, send, |page: Loose<Vec<_>>| {
                page.0.unwrap_or_default()
            })
            .await?;
        Ok(bodies
            .into_iter()
            .filter_map(|body| {
                Some(Installation {
                    id: InstallationId(positive(&body.id)?),
                    account: body.account.as_ref()?.account()?,
                    suspended: body.suspended_at.is_some(),
                })
            })
            .collect())
    }

    async fn repositories(&self, installation: InstallationId) -> Result<Vec<Repo>, ForgeError> {
        let path = "/installation/repositories?per_page=100".to_owned();
        let bodies = self.list(installation, path, Listed::<RepoBody>::entries).await?;
        Ok(bodies.iter().filter_map(RepoBody::repo).collect())
    }

    async fn open_pulls(&self, repo: &RepoRef) -> Result<Vec<(PullRef, PullSnapshot)>, ForgeError> {
        self.list_open_pulls(repo).await
    }

    async fn pull(&self, pull: &PullRef) -> Result<PullSnapshot, ForgeError> {
        self.read_pull(pull).await
    }

    async fn change(&self, _: &PullRef, _: &PullSnapshot) -> Result<Box<dyn Change>, ChangeError> {
        Err(ChangeError::Internal(
            "reading a change is not built yet".to_owned(),
        ))
    }

    async fn check_runs(&self, repo: &RepoRef, sha: &Sha, name: &str) -> Result<Vec<CheckRun>, ForgeError> {
        self.list_check_runs(repo, sha, name).await
    }

    async fn create_check(
        &self,
        repo: &RepoRef,
        sha: &Sha,
        name: &str,
        external_id: &str,
        view: &CheckView,
    ) -> Result<CheckRunId, ForgeError> {
        self.make_check(repo, sha, name, external_id, view).await
    }

    async fn update_check(&self, repo: &RepoRef, id: CheckRunId, view: &CheckView) -> Result<(), ForgeError> {
        self.change_check(repo, id, view).await
    }

    async fn own_reviews(&self, pull: &PullRef) -> Result<Vec<PostedReview>, ForgeError> {
        self.list_own_reviews(pull).await
    }

    async fn submit_review(&self, pull: &PullRef, review: &ReviewView) -> Result<ReviewId, ForgeError> {
        self.post_review(pull, review).await
    }

    async fn dismiss_review(
        &self,
        pull: &PullRef,
        review: ReviewId,
        message: &str,
    ) -> Result<(), ForgeError> {
        self.dismiss(pull, review, message).await
    }

    async fn delete_pending_review(&self, pull: &PullRef, review: ReviewId) -> Result<(), ForgeError> {
        self.delete_pending(pull, review).await
    }
}
