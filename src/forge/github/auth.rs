//! Who we are to the forge: the App's own short-lived JWT, and one token for each
//! installation.
//!
//! Invariants: the private key stays here; octocrab and git are given tokens. One
//! token per installation is minted at a time, however many ask: those who wait
//! for a mint share its outcome, a failure too, so that a suspended installation
//! is asked about once and not once per job. A token is replaced five minutes
//! before it expires, and at once when the forge answers 401 to it. No text here
//! shows a key or a token, and nothing assumes a token's length or alphabet
//! (GitHub changed both in 2026).
//!
//! Races considered: two calls get 401 with the same token: the first drops it,
//! the second finds another one and leaves that alone.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::{
    domain::{ids::InstallationId, time::Timestamp},
    ports::forge::ForgeError,
};

use super::{SetupError, client::Carrier, errors};

/// How long before its end a token is replaced, milliseconds.
const EARLY_MS: i64 = 5 * 60 * 1000;
/// How long a token is used at least, milliseconds: with a clock that runs ahead
/// every token looks expired, and would be replaced on every call.
const AT_LEAST_MS: i64 = 60 * 1000;
/// A JWT is dated back, for clocks that differ (GitHub's page on App JWTs).
const JWT_BEFORE_S: i64 = 60;
/// And ends less than the allowed ten minutes after that, for the same reason.
const JWT_AFTER_S: i64 = 540;

/// The App: its id and its key.
pub(super) struct AppKey {
    id: i64,
    key: EncodingKey,
}

#[derive(Serialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

impl AppKey {
    /// Reads a PEM file's text (PKCS#1 or PKCS#8) and tries it out.
    pub(super) fn new(id: i64, pem: &SecretString) -> Result<Self, SetupError> {
        // The library's reason is left out: some of its errors quote their input.
        let key = EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes())
            .map_err(|_| SetupError::PrivateKey("it is no RSA private key in PEM form".to_owned()))?;
        let app = Self { id, key };
        app.jwt(Timestamp(0))
            .map_err(|_| SetupError::PrivateKey("it cannot sign".to_owned()))?;
        Ok(app)
    }

    pub(super) fn id(&self) -> i64 {
        self.id
    }

    /// A JWT that is good from a minute before `now` for ten minutes.
    pub(super) fn jwt(&self, now: Timestamp) -> Result<SecretString, ForgeError> {
        let seconds = now.0.div_euclid(1000);
        let claims = Claims {
            iat: seconds.saturating_sub(JWT_BEFORE_S),
            exp: seconds.saturating_add(JWT_AFTER_S),
            iss: self.id.to_string(),
        };
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.key)
            .map(SecretString::from)
            .map_err(|_| ForgeError::Internal("the App's key cannot sign".to_owned()))
    }
}

impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// An installation's token and the client that carries it.
pub(super) struct Token {
    pub(super) carrier: Carrier,
    good_until: Timestamp,
}

impl Token {
    /// A token that the forge gave at `now` and that ends at `expires_at`.
    pub(super) fn new(carrier: Carrier, now: Timestamp, expires_at: Timestamp) -> Self {
        let early = expires_at.plus_ms(-EARLY_MS);
        Self {
            carrier,
            good_until: early.max(now.plus_ms(AT_LEAST_MS)),
        }
    }
}

#[derive(Default)]
struct Slot {
    token: tokio::sync::Mutex<Held>,
    /// Mints that have ended.
    ended: AtomicU64,
}

#[derive(Default)]
struct Held {
    token: Option<Arc<Token>>,
    /// The last mint's failure; of interest only to those who waited for it.
    failure: Option<ForgeError>,
}

/// The tokens in use, one per installation.
#[derive(Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<InstallationId, Arc<Slot>>>,
}

impl Tokens {
    fn slot(&self, installation: InstallationId) -> Arc<Slot> {
        // Nothing can panic while this is held, and a map is whole after a panic anyway.
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(installation).or_default().clone()
    }

    /// The installation's token, minted with `mint` when there is none that is good at `now`.
    pub(super) async fn get<F>(
        &self,
        installation: InstallationId,
        now: Timestamp,
        mint: impl FnOnce() -> F,
    ) -> Result<Arc<Token>, ForgeError>
    where
        F: Future<Output = Result<Token, ForgeError>>,
    {
        let slot = self.slot(installation);
        let ended = slot.ended.load(Ordering::Acquire);
        let mut held = slot.token.lock().await;
        if let Some(token) = held.token.as_ref().filter(|t| now < t.good_until) {
            return Ok(token.clone());
        }
        if slot.ended.load(Ordering::Acquire) != ended
            && let Some(failure) = &held.failure
        {
            return Err(errors::copy(failure));
        }
        let minted = mint().await;
        slot.ended.fetch_add(1, Ordering::Release);
        match minted {
            Ok(token) => {
                let token = Arc::new(token);
                held.token = Some(token.clone());
                held.failure = None;
                Ok(token)
            }
            Err(error) => {
                held.token = None;
                held.failure = Some(errors::copy(&error));
                Err(error)
            }
        }
    }

    /// Forgets `used`, to which the forge answered 401, unless it was replaced already.
    pub(super) async fn drop_token(&self, installation: InstallationId, used: &Arc<Token>) {
        let slot = self.slot(installation);
        let mut held = slot.token.lock().await;
        if held.token.as_ref().is_some_and(|token| Arc::ptr_eq(token, used)) {
            held.token = None;
        }
    }
}
