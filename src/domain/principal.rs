//! Who acts. One text form, `<kind>:<name>`, in the database and in JSON.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::words::{UnknownWord, words};

words! {
    /// What kind of actor a principal is.
    pub enum PrincipalKind {
        /// A person. On a forge the name is the account's numeric id, since logins change hands.
        Human = "human",
        /// A model-driven agent.
        Agent = "agent",
        /// A deterministic reviewer: one of our rules, or another tool's report.
        Analyzer = "analyzer",
        /// The part that re-reads the blob to confirm what an analyzer claimed.
        Verifier = "verifier",
        /// Jury itself.
        System = "system",
    }
}

/// An actor. Two principals are the same exactly when kind and name are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Principal {
    /// The kind of actor.
    pub kind: PrincipalKind,
    /// The name within the kind; not empty.
    pub name: String,
}

impl Principal {
    /// A principal of `kind` called `name`.
    pub fn new(kind: PrincipalKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
        }
    }

    /// The verifier. There is one.
    pub fn verifier() -> Self {
        Self::new(PrincipalKind::Verifier, "jury")
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.name)
    }
}

impl FromStr for Principal {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        Ok(Self {
            kind: kind.parse()?,
            name: name.to_owned(),
        })
    }
}

impl TryFrom<String> for Principal {
    type Error = UnknownWord;

    fn try_from(text: String) -> Result<Self, UnknownWord> {
        text.parse()
    }
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.to_string()
    }
}
