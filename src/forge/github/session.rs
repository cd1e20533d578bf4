//! What one App says to one forge: as itself, and as each of its installations.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::{
    domain::{ids::InstallationId, time::Timestamp},
    ports::{clock::Clock, forge::ForgeError},
};

use super::{
    GitHubConfig, SetupError,
    auth::{AppKey, Token, Tokens},
    budget::{Budgets, Purpose},
    client::{Answer, Call, Failure, Transport},
    loose::{Loose, loose},
    origin::Origin,
    pager,
    pulls::milliseconds,
};

/// Clocks that differ by less than this do not explain a refused JWT, milliseconds.
const CLOCKS_DIFFER_MS: u64 = 30_000;

/// One App and its connections to one forge.
pub(super) struct Session {
    app: AppKey,
    transport: Transport,
    tokens: Tokens,
    budgets: Budgets,
    clock: Arc<dyn Clock>,
    bot_login: OnceCell<String>,
}

loose! {
    OurselvesBody { slug: String }

    TokenBody { token: String, expires_at: String }
}

impl Session {
    pub(super) fn new(config: &GitHubConfig, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        let origin = Origin::new(&config.api_url)?;
        Ok(Self {
            app: AppKey::new(config.app_id, &config.private_key)?,
            transport: Transport::new(origin, config.timeout)?,
            tokens: Tokens::default(),
            budgets: Budgets::default(),
            clock,
            bot_login: OnceCell::new(),
        })
    }

    pub(super) fn origin(&self) -> &Origin {
        self.transport.origin()
    }

    /// `<slug>[bot]` when it was read already.
    pub(super) fn known_bot_login(&self) -> Option<&str> {
        self.bot_login.get().map(String::as_str)
    }

    pub(super) fn app_id(&self) -> i64 {
        self.app.id()
    }

    /// `<slug>[bot]`, read once.
    pub(super) async fn bot_login(&self) -> Result<&str, ForgeError> {
        let login = self.bot_login.get_or_try_init(|| async {
            let app: Loose<OurselvesBody> = self.as_app(&Call::get("/app")).await?.json()?;
            app.0
                .and_then(|app| app.slug.0)
                .map(|slug| format!("{slug}[bot]"))
                .ok_or_else(|| ForgeError::Internal("the App has no slug".to_owned()))
        });
        login.await.map(String::as_str)
    }

    /// Asks who the App is, and what time the forge has. With a clock that is so wrong
    /// that the forge refuses its JWT, once more by the forge's.
    pub(super) async fn introduce(&self) -> (Option<Timestamp>, Result<Answer, ForgeError>) {
        let call = Call::get("/app");
        let jwt = match self.app.jwt(self.clock.now()) {
            Ok(jwt) => jwt,
            Err(error) => return (None, Err(error)),
        };
        let carrier = self.transport.carry(jwt);
        match self.transport.send(&carrier, &call, &*self.clock).await {
            Ok(answer) => (answer.date(), Ok(answer)),
            Err(failure) if failure.status == Some(StatusCode::UNAUTHORIZED) => {
                (failure.date(), self.as_app(&call).await)
            }
            Err(failure) => (failure.date(), Err(failure.error)),
        }
    }

    /// Sends as the App itself.
    pub(super) async fn as_app(&self, call: &Call) -> Result<Answer, ForgeError> {
        let carrier = self.transport.carry(self.app.jwt(self.clock.now())?);
        match self.transport.send(&carrier, call, &*self.clock).await {
            Ok(answer) => Ok(answer),
            // "'exp' is too far in the future": our clock is wrong. Once more, by theirs.
            Err(failure) if failure.status == Some(StatusCode::UNAUTHORIZED) => {
                let ours = self.clock.now();
                let differs = |theirs: &Timestamp| theirs.0.abs_diff(ours.0) > CLOCKS_DIFFER_MS;
                let Some(theirs) = failure.date().filter(differs) else {
                    return Err(failure.error);
                };
                let carrier = self.transport.carry(self.app.jwt(theirs)?);
                let again = self.transport.send(&carrier, call, &*self.clock).await;
                again.map_err(|failure| failure.error)
            }
            Err(failure) => Err(failure.error),
        }
    }

    pub(super) async fn token(&self, installation: InstallationId) -> Result<Arc<Token>, ForgeError> {
        let now = self.clock.now();
        let mint = || async { self.mint(installation).await.map_err(minting) };
        self.tokens.get(installation, now, mint).await
    }

    /// Forgets a token that the forge refused.
    pub(super) async fn drop_token(&self, installation: InstallationId, used: &Arc<Token>) {
        self.tokens.drop_token(installation, used).await;
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
    pub(super) async fn installed(
        &self,
        installation: InstallationId,
        call: Call,
    ) -> Result<Answer, ForgeError> {
        let token = self.token(installation).await?;
        match self.spend(installation, &token, &call).await {
            Err(failure) if failure.status == Some(StatusCode::UNAUTHORIZED) => {
                self.tokens.drop_token(installation, &token).await;
                let token = self.token(installation).await?;
                let again = self.spend(installation, &token, &call).await;
                again.map_err(|failure| failure.error)
            }
            outcome => outcome.map_err(|failure| failure.error),
        }
    }

    /// Sends once, when the installation's budget allows it, and keeps the books.
    async fn spend(
        &self,
        installation: InstallationId,
        token: &Token,
        call: &Call,
    ) -> Result<Answer, Failure> {
        let (purpose, effect) = (call.purpose(), call.effect());
        self.budgets
            .admit(installation, purpose, effect, self.clock.now())?;
        let outcome = self.transport.send(&token.carrier, call, &*self.clock).await;
        let now = self.clock.now();
        match &outcome {
            Ok(answer) => self.budgets.note(installation, &answer.headers, now),
            Err(failure) => {
                self.budgets.note(installation, &failure.headers, now);
                let limited = matches!(failure.status.map(|s| s.as_u16()), Some(403 | 422 | 429));
                if let ForgeError::Later {
                    after_ms: Some(wait), ..
                } = failure.error
                    && limited
                {
                    let writes = failure.status == Some(StatusCode::UNPROCESSABLE_ENTITY);
                    self.budgets.pause(installation, writes, wait, now);
                }
            }
        }
        outcome
    }

    /// Milliseconds to wait before a pass is begun for the installation.
    pub(super) fn wait_to_begin(&self, installation: InstallationId) -> Option<i64> {
        self.budgets.wait_to_begin(installation, self.clock.now())
    }

    /// Reads every page of a list as an installation.
    pub(super) async fn list<T, P: DeserializeOwned>(
        &self,
        installation: InstallationId,
        purpose: Purpose,
        path: String,
        entries: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, ForgeError> {
        let send = |call: Call| self.installed(installation, call.to(purpose));
        pager::pages(self.origin(), path, send, entries).await
    }
}

/// What a failed mint means: it is no write that anybody would miss.
fn minting(error: ForgeError) -> ForgeError {
    match error {
        ForgeError::NotFound(_) => ForgeError::Closed("it is gone".to_owned()),
        ForgeError::Unknown(reason) => ForgeError::Later {
            reason,
            after_ms: None,
        },
        ForgeError::Refused(messages) => ForgeError::Forbidden(messages.join("; ")),
        other => other,
    }
}
