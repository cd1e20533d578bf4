//! Everything the emulated forge knows, behind one lock.
//!
//! A request holds the lock from its first look to its answer, so every call is
//! atomic and the order of effects is the order of calls. Ids come from one
//! counter, so the same story makes the same ids.

mod account;
mod app;
mod check;
mod diff;
mod merge;
mod pull;
mod repo;
mod review;

pub(crate) use account::{Account, AccountKind};
pub(crate) use app::{App, Installation, Selection, Token, TokenKind};
pub(crate) use check::{CheckRun, CheckSuite};
pub(crate) use diff::{FileChange, Side};
pub(crate) use merge::MergeMethod;
pub(crate) use pull::{IssueComment, NewPull, Pull};
pub(crate) use repo::Repo;
pub use repo::{Protection, RequiredCheck, Role};
pub(crate) use review::{CommentDraft, Review, ReviewComment, ReviewDraft, ReviewState};

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::emulator::{git::Store, hooks::Hooks};

/// Milliseconds since the epoch, from whoever started the emulator.
pub type Now = Arc<dyn Fn() -> i64 + Send + Sync>;

type Diffs = HashMap<(u64, String, String), Arc<Vec<FileChange>>>;

/// Whose requests are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Spender {
    /// All tokens of an installation.
    Installation(u64),
    /// All tokens of a person.
    User(u64),
}

/// The whole state. A copy is what was at that moment; git and webhooks are shared.
#[derive(Clone)]
pub(crate) struct World {
    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub(crate) base: String,
    pub(crate) now: Now,
    pub(crate) git: Store,
    pub(crate) hooks: Hooks,
    pub(crate) accounts: BTreeMap<u64, Account>,
    pub(crate) apps: BTreeMap<u64, App>,
    pub(crate) installations: BTreeMap<u64, Installation>,
    pub(crate) tokens: HashMap<String, Token>,
    /// When the hour that is counted for the rate limit ends, and the requests in it.
    pub(crate) spent: HashMap<Spender, (i64, u32)>,
    pub(crate) repos: BTreeMap<u64, Repo>,
    /// Names that a rename or a transfer left behind, in lower case.
    pub(crate) moved: BTreeMap<(String, String), u64>,
    /// Diffs already asked of git, by (repository, base, head).
    pub(crate) diffs: RefCell<Diffs>,
    next_small: u64,
    next_large: u64,
}

impl World {
    pub(crate) fn new(base: String, now: Now, git: Store, hooks: Hooks) -> Self {
        Self {
            base,
            now,
            git,
            hooks,
            accounts: BTreeMap::new(),
            apps: BTreeMap::new(),
            installations: BTreeMap::new(),
            tokens: HashMap::new(),
            spent: HashMap::new(),
            repos: BTreeMap::new(),
            moved: BTreeMap::new(),
            diffs: RefCell::default(),
            next_small: 1000,
            // GitHub's ids of comments and checks are larger than 32 bits.
            next_large: 7_000_000_000,
        }
    }

    /// An id for an account, an App, an installation or a repository.
    pub(crate) fn small_id(&mut self) -> u64 {
        self.next_small += 1;
        self.next_small
    }

    /// An id for a pull request, a review, a comment or a check.
    pub(crate) fn large_id(&mut self) -> u64 {
        self.next_large += 1;
        self.next_large
    }

    /// Whole seconds since the epoch.
    pub(crate) fn seconds(&self) -> i64 {
        (self.now)().div_euclid(1000)
    }
}

/// GitHub's form of a time: whole seconds, UTC.
pub(crate) fn iso(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .unwrap_or_default()
        .to_string()
}
