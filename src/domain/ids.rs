//! Identifiers. Ours are time-ordered text made by [`crate::ports::ids`]; the
//! forge's are its own 64-bit numbers (comment ids passed 32 bits long ago).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes text that already is an identifier.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = std::convert::Infallible;

            fn from_str(id: &str) -> Result<Self, Self::Err> {
                Ok(Self(id.to_owned()))
            }
        }
    )+ };
}

macro_rules! number_id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+ };
}

text_id! {
    /// One tenant: `<forge host>/<account id>`, or `local`. Survives a reinstalled App.
    WorkspaceId,
    /// A room.
    SpaceId,
    /// One review of one head.
    PassId,
    /// One finding (review node).
    FindingId,
    /// The forge's own id of a webhook delivery (`X-GitHub-Delivery`), shared by
    /// every hook that subscribes to the event and kept by a redelivery.
    DeliveryId,
}

number_id! {
    /// An installation of the App on an account. A reinstalled App gets a new one.
    InstallationId,
    /// A repository; it survives renames and transfers, its name does not.
    RepoId,
    /// A pull request's number within its repository.
    PullNumber,
    /// A check run on the forge.
    CheckRunId,
    /// A submitted review on the forge.
    ReviewId,
    /// A user or organisation on the forge.
    AccountId,
}

/// A full object name: 40 (SHA-1) or 64 (SHA-256) lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(String);

/// Text that is no full object name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a full object name (40 or 64 hexadecimal digits)")]
pub struct NotASha;

impl Sha {
    /// The object name as lowercase text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }

    /// Whether this is the all-zero name that stands for "no object".
    pub fn is_zero(&self) -> bool {
        self.0.bytes().all(|b| b == b'0')
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Sha {
    type Err = NotASha;

    fn from_str(text: &str) -> Result<Self, NotASha> {
        let whole = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
        whole.then(|| Self(text.to_ascii_lowercase())).ok_or(NotASha)
    }
}

impl TryFrom<String> for Sha {
    type Error = NotASha;

    fn try_from(text: String) -> Result<Self, NotASha> {
        text.parse()
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> Self {
        sha.0
    }
}
