//! Use cases, one verb a file.
//!
//! Deliveries and jobs come in; facts in the store are changed in short
//! transactions; nothing slow (forge, git, reviewers) happens inside one. Each job
//! works under a lease and proves in the same transaction as every write that it
//! still holds it, so a worker that was given up for dead cannot do harm.

pub mod accept_delivery;
pub mod converge_check;
pub mod converge_review;
pub mod finalize;
pub mod heavy;
pub mod intake;
pub mod reap;
pub mod reconcile;
pub mod rehearse;
pub mod review;
pub mod review_change;
pub mod show_space;
mod take_deliveries;
pub mod want_check;
pub mod work;

use std::{future::Future, panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;

use tokio::sync::Notify;

use crate::{
    domain::{
        policy::{Locked, Policy},
        review::fingerprint::Fingerprinter,
        time::Timestamp,
    },
    ports::{analyzer::Analyzer, clock::Clock, forge::Forge, forge::ForgeError, ids::Ids},
    store::{Db, Job, StoreError, Tx},
};

/// The name of the one check run that Jury publishes. Branch protection names it:
/// it never changes.
pub const CHECK_NAME: &str = "jury";

/// What services need; cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The store.
    pub db: Db,
    /// The forge.
    pub forge: Arc<dyn Forge>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// New identifiers.
    pub ids: Arc<dyn Ids>,
    /// The deterministic reviewers, in the order they are asked.
    pub analyzers: Arc<[Box<dyn Analyzer>]>,
    /// Recognises findings; keyed, so that a secret cannot be guessed from its fingerprint.
    pub fingerprinter: Arc<Fingerprinter>,
    /// Where work is done that keeps a processor busy.
    pub heavy: heavy::Heavy,
    /// Rung when there may be a new job, so that idle workers need not poll fast.
    pub bell: Arc<Notify>,
    /// Rung when deliveries were stored; they have a worker of their own.
    pub arrivals: Arc<Notify>,
    /// Times and bounds.
    pub settings: Arc<Settings>,
}

/// Times and bounds of the server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The policy of repositories that say nothing else.
    pub policy: Policy,
    /// Policy keys that a repository cannot change.
    pub policy_locked: Locked,
    /// Where people reach this server, without a final slash, when they do.
    pub public_url: Option<String>,
    /// How long a pass may take before it is `timed_out`, in milliseconds.
    pub pass_limit_ms: i64,
    /// How long a worker may be silent before another takes its job over, in
    /// milliseconds. A request to the forge gives up in less than half of it.
    pub lease_ms: i64,
    /// How long a write whose answer was lost may still take effect on the forge, in
    /// milliseconds since it was written down. Only then does *not found* mean that
    /// it did not happen.
    pub settle_ms: i64,
    /// How often a job is tried before it is buried.
    pub attempts: i64,
    /// Milliseconds between repositories when open pull requests are listed.
    pub pace_ms: i64,
    /// How many passes run at once.
    pub passes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            policy_locked: Locked::default(),
            public_url: None,
            pass_limit_ms: 10 * 60 * 1000,
            lease_ms: 60 * 1000,
            settle_ms: 30 * 1000,
            attempts: 8,
            pace_ms: 250,
            passes: 4,
        }
    }
}

impl Context {
    /// Now.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Fails while a write that was written down at `intent_at`, and is not to be found
    /// on the forge, may still take effect there: a request that was given up for lost
    /// may be waiting in the forge's queue.
    fn settled(&self, intent_at: Option<Timestamp>) -> Result<(), Failure> {
        let left_ms = intent_at.map_or(0, |at| at.plus_ms(self.settings.settle_ms).0 - self.now().0);
        // More than the whole span is left only when the clock was set back.
        if left_ms <= 0 || left_ms > self.settings.settle_ms {
            return Ok(());
        }
        Err(Failure::Unsettled { after_ms: left_ms })
    }

    /// A write transaction that proves that the job's lease still holds, and keeps it
    /// from being taken over before the transaction ends.
    async fn fenced(&self, job: &Job) -> Result<Tx, Failure> {
        let mut tx = self.db.write().await?;
        if tx.fence(job).await? {
            Ok(tx)
        } else {
            Err(Failure::Lost)
        }
    }
}

/// Why a piece of work did not get done. The texts are for the log.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Try again, after this many milliseconds when the other side said so.
    #[error("{reason}")]
    Later {
        /// What happened.
        reason: String,
        /// Milliseconds to wait at least.
        after_ms: Option<i64>,
    },
    /// The installation is suspended or gone: the work is asked for again when it is open.
    #[error("the installation is closed: {0}")]
    Closed(String),
    /// A request of an earlier try may still take effect: wait so many milliseconds.
    /// Nothing was asked, so it does not count as a try.
    #[error("an earlier request without an answer may still take effect")]
    Unsettled {
        /// Milliseconds.
        after_ms: i64,
    },
    /// The lease was lost: somebody else does it now.
    #[error("the lease was lost")]
    Lost,
    /// Trying again cannot help.
    #[error("{0}")]
    Final(String),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Later {
            reason: error.to_string(),
            after_ms: None,
        }
    }
}

impl From<ForgeError> for Failure {
    fn from(error: ForgeError) -> Self {
        match error {
            ForgeError::Later { reason, after_ms } => Self::Later { reason, after_ms },
            ForgeError::Unknown(_) | ForgeError::Internal(_) => Self::Later {
                reason: error.to_string(),
                after_ms: None,
            },
            ForgeError::Closed(reason) => Self::Closed(reason),
            ForgeError::NotFound(_) | ForgeError::Forbidden(_) | ForgeError::Refused(_) => {
                Self::Final(error.to_string())
            }
        }
    }
}

/// Milliseconds before the `attempts`-th failure of a piece of work is followed by
/// another try: 1 s, doubling, at most 5 minutes, and never less than the other side asked for.
pub fn backoff_ms(attempts: i64, after_ms: Option<i64>) -> i64 {
    let exponent = u32::try_from(attempts.clamp(1, 10) - 1).unwrap_or(0);
    let own = 1000_i64.saturating_mul(1 << exponent).min(5 * 60 * 1000);
    own.max(after_ms.unwrap_or(0).min(60 * 60 * 1000))
}

/// Turns a panic into a failure, so that a worker survives what it works on.
pub(crate) async fn guarded<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let caught = AssertUnwindSafe(Box::pin(work)).catch_unwind().await;
    caught.unwrap_or_else(|_| Err(Failure::Final("it panicked".to_owned())))
}
