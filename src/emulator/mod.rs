//! A GitHub-shaped server on loopback, with state and real git. It knows nothing
//! of Jury: it is the demo's forge and the tests' forge.
//!
//! - REST is at `/api/v3`, as on GitHub Enterprise Server; git smart HTTP at
//!   `/{owner}/{repo}.git`; a page of each pull request at
//!   `/{owner}/{repo}/pull/{n}`.
//! - [`People`] do what a person does with git and the web page.
//! - [`Hooks`] send the signed webhooks of what happened, in its order.
//! - Ids are deterministic, time is the caller's, and a whole request is one step:
//!   nothing half done is ever seen.
//!
//! What is asked for is refused as GitHub refuses it, in GitHub's words where they
//! are known.

mod app_key;
mod git;
mod hooks;
mod layers;
mod pages;
mod people;
mod record;
mod refusal;
mod rest;
mod server;
mod shapes;
mod state;

#[cfg(test)]
mod tests;

pub use app_key::AppKey;
pub use git::{Edit, GitFault};
pub use hooks::{Delivered, Delivery, Hooks};
pub use layers::{Deed, Fault, NotARule, Rule, UnreadableFaults, When, read_faults};
pub use people::{AppRegistration, Feedback, OpenPull, People, Push};
pub use record::Exchange;
pub use refusal::Refusal;
pub use state::{Now, Protection, RequiredCheck, Role};

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::http::Method;
use tokio::{net::TcpListener, task::JoinHandle};

use self::server::Shared;

/// How an emulator is started.
#[derive(Clone)]
pub struct Config {
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// Where the git repositories go, a folder that is new or empty; `None` is a
    /// temporary one that is removed at the end.
    pub data: Option<PathBuf>,
    /// Milliseconds since the epoch.
    pub now: Now,
    /// A file to which every REST exchange is appended, one JSON a line.
    pub record: Option<PathBuf>,
    /// Makes other delivery ids for another number.
    pub seed: u64,
    /// How long a webhook may take to be answered (GitHub: 10 s; GHES: 30 s).
    pub hook_timeout: Duration,
}

impl Config {
    /// A free port, a temporary folder, GitHub's time-outs.
    #[must_use]
    pub fn new(now: Now) -> Self {
        Self {
            port: 0,
            data: None,
            now,
            record: None,
            seed: 0,
            hook_timeout: Duration::from_secs(10),
        }
    }
}

/// The emulator could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartFault {
    /// No port or no folder.
    #[error("the emulator cannot start: {0}")]
    Io(#[from] std::io::Error),
    /// No HTTP client for webhooks.
    #[error("the emulator cannot send webhooks: {0}")]
    Client(#[from] reqwest::Error),
}

/// A running emulator; it stops when it is dropped.
pub struct Emulator {
    shared: Arc<Shared>,
    address: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
    _folder: Option<tempfile::TempDir>,
}

impl Emulator {
    /// Starts serving on 127.0.0.1.
    ///
    /// # Errors
    /// When the port is taken or the folder cannot be made.
    pub async fn start(config: Config) -> Result<Self, StartFault> {
        let (root, folder) = match config.data {
            Some(path) => (path, None),
            None => {
                let made = tempfile::tempdir()?;
                (made.path().to_owned(), Some(made))
            }
        };
        let listener = TcpListener::bind(("127.0.0.1", config.port)).await?;
        let address = listener.local_addr()?;
        let hooks = Hooks::new(config.seed, config.hook_timeout)?;
        let store = git::Store::open(root)?;
        let record = record::Record::new(config.record.as_deref())?;
        let base = format!("http://{address}");
        let world = state::World::new(base, config.now, store, hooks.clone());
        let shared = Arc::new(Shared::new(world, hooks.clone(), record));
        let tasks = vec![
            tokio::spawn(server::run(listener, shared.clone())),
            tokio::spawn(hooks.work()),
        ];
        Ok(Self {
            shared,
            address,
            tasks,
            _folder: folder,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The pages' and git's root, without a slash at the end.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// REST's root, without a slash at the end.
    #[must_use]
    pub fn api_url(&self) -> String {
        format!("{}/api/v3", self.base_url())
    }

    /// What people do.
    #[must_use]
    pub fn people(&self) -> People {
        People::new(self.shared.clone())
    }

    /// The webhook sender.
    #[must_use]
    pub fn hooks(&self) -> Hooks {
        self.shared.hooks.clone()
    }

    /// Every REST exchange so far, oldest first, without tokens.
    #[must_use]
    pub fn record(&self) -> Vec<Exchange> {
        self.shared.record.all()
    }

    /// Plans a fault for the requests that the rule names.
    pub fn fail(&self, rule: Rule, fault: Fault) {
        let then = matches!(fault, Fault::Stale).then(|| self.shared.world().clone());
        self.shared.faults.plan(rule, fault, then);
    }

    /// Plans a fault for the next request of this method whose path (below
    /// `/api/v3`, or the whole path of git and pages) begins so. Faults wait in
    /// order; each is met once.
    pub fn fail_next(&self, method: Method, path_prefix: &str, fault: Fault) {
        self.fail(Rule::on(method, path_prefix), fault);
    }

    /// Whatever was planned and not met yet does not happen any more; what is late still arrives.
    pub fn fail_no_more(&self) {
        self.shared.faults.clear();
    }

    /// Lets every request that met [`Fault::Late`] take effect now.
    pub async fn let_late_arrive(&self) {
        server::let_late_arrive(&self.shared).await;
    }

    /// Leaves so many requests of this hour to an installation.
    pub fn leave_requests(&self, installation: u64, remaining: u32) {
        let mut world = self.shared.world();
        rest::leave(&mut world, installation, remaining);
    }

    /// How many planned faults were not met yet.
    #[must_use]
    pub fn faults_waiting(&self) -> usize {
        self.shared.faults.waiting()
    }

    /// How many requests that met a fault are still under way, whether or not anybody
    /// waits for them.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.shared.failing()
    }

    /// Stops serving and sending.
    pub fn shutdown(&mut self) {
        self.shared.stop();
        for task in self.tasks.drain(..) {
            task.abort();
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.shutdown();
    }
}
