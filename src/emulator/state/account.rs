//! People, organizations and the Apps' bot users.

use super::World;

/// What an account is, in GitHub's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountKind {
    User,
    Organization,
    Bot,
}

impl AccountKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Organization => "Organization",
            Self::Bot => "Bot",
        }
    }
}

/// An account.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) id: u64,
    pub(crate) login: String,
    pub(crate) kind: AccountKind,
}

impl World {
    /// Creates an account, or gives the one that has the login already.
    pub(crate) fn account(&mut self, login: &str, kind: AccountKind) -> u64 {
        if let Some(found) = self.account_by_login(login) {
            return found.id;
        }
        let id = self.small_id();
        let login = login.to_owned();
        self.accounts.insert(id, Account { id, login, kind });
        id
    }

    /// Logins do not differ by case.
    pub(crate) fn account_by_login(&self, login: &str) -> Option<&Account> {
        self.accounts
            .values()
            .find(|a| a.login.eq_ignore_ascii_case(login))
    }

    /// The login, or GitHub's stand-in for an account that is gone.
    pub(crate) fn login(&self, id: u64) -> &str {
        self.accounts.get(&id).map_or("ghost", |a| a.login.as_str())
    }
}
