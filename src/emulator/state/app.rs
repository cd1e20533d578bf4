//! Apps, their installations and tokens.

use std::collections::{BTreeMap, BTreeSet};

use jsonwebtoken::DecodingKey;

use super::{AccountKind, World};

/// How long an installation token lives, in seconds (GitHub: one hour).
const TOKEN_LIFE: i64 = 3600;

/// A registered GitHub App.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) id: u64,
    pub(crate) client_id: String,
    pub(crate) slug: String,
    pub(crate) name: String,
    pub(crate) owner: u64,
    /// The account that speaks for the App: `slug[bot]`.
    pub(crate) bot: u64,
    pub(crate) key: DecodingKey,
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) events: Vec<String>,
    pub(crate) created_at: i64,
}

/// Which repositories an installation covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    All,
    Selected(BTreeSet<u64>),
}

/// An App installed on an account.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    pub(crate) id: u64,
    pub(crate) app: u64,
    pub(crate) account: u64,
    pub(crate) selection: Selection,
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) events: Vec<String>,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) suspended: Option<(i64, u64)>,
}

/// Who holds a token.
#[derive(Clone, Debug)]
pub(crate) enum TokenKind {
    Installation {
        id: u64,
        /// `None`: everything that the installation covers.
        repos: Option<BTreeSet<u64>>,
        permissions: BTreeMap<String, String>,
    },
    User(u64),
}

/// A token in use.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Seconds since the epoch.
    pub(crate) expires_at: Option<i64>,
}

impl World {
    /// The installation's repositories that exist, in the order of their ids.
    pub(crate) fn covered(&self, installation: &Installation) -> Vec<u64> {
        self.repos
            .values()
            .filter(|r| r.owner == installation.account)
            .map(|r| r.id)
            .filter(|id| match &installation.selection {
                Selection::All => true,
                Selection::Selected(chosen) => chosen.contains(id),
            })
            .collect()
    }

    /// Installations (of any App) that cover the repository.
    pub(crate) fn installations_on(&self, repo: u64) -> Vec<u64> {
        self.installations
            .values()
            .filter(|i| self.covered(i).contains(&repo))
            .map(|i| i.id)
            .collect()
    }

    /// Mints an installation token; the caller has checked that it may.
    pub(crate) fn installation_token(
        &mut self,
        installation: u64,
        app: u64,
        repos: Option<BTreeSet<u64>>,
        permissions: BTreeMap<String, String>,
    ) -> (String, i64) {
        let expires_at = self.seconds() + TOKEN_LIFE;
        // GitHub's newer form, `ghs_APPID_…`, which is longer than 40 characters.
        let token = format!("ghs_{app}_{}", random_text(80));
        let kind = TokenKind::Installation {
            id: installation,
            repos,
            permissions,
        };
        self.keep_token(token.clone(), kind, Some(expires_at));
        (token, expires_at)
    }

    /// A token with which a person may use REST and git.
    pub(crate) fn user_token(&mut self, account: u64) -> String {
        let token = format!("ghp_{}", random_text(36));
        self.keep_token(token.clone(), TokenKind::User(account), None);
        token
    }

    fn keep_token(&mut self, token: String, kind: TokenKind, expires_at: Option<i64>) {
        self.tokens.insert(token, Token { kind, expires_at });
    }

    /// The bot's account, made when the App is registered.
    pub(crate) fn bot_account(&mut self, slug: &str) -> u64 {
        self.account(&format!("{slug}[bot]"), AccountKind::Bot)
    }
}

/// Tokens are the one thing here that is not deterministic: another user of the
/// machine can reach the loopback too.
fn random_text(length: usize) -> String {
    let mut bytes = vec![0; length.div_ceil(2)];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has randomness");
    let mut text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    text.truncate(length);
    text
}
