//! `jury serve`: the server and its workers in one process.

use std::{fs::File, net::SocketAddr, path::Path, process::ExitCode, sync::Arc, time::Duration};

use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

use crate::{
    analyzers::{
        self,
        tools::{Configured, Tool},
    },
    cli::{self, Fault, MigrateArgs, ServeArgs},
    config::{self, Config, ConfigError, Database, Flags, Inputs, Loaded, ReadBy, Storage},
    domain::review::fingerprint::Fingerprinter,
    forge::github::{GitHub, GitHubConfig},
    isolation::{self, Absent},
    ports::{
        analyzer::Analyzer,
        clock::Clock,
        ids::Ids,
        isolation::{Bounds, Isolation, Program},
    },
    server::{self, Face, ServeLimits, Shutdown, WebhookKey, WebhookLimits},
    services::{Context, Settings, heavy::Heavy, work},
    store::{Db, Inbox, InboxWriter, Schema, StoreError, Task},
    telemetry::{self, metrics::Metrics},
};

use super::{
    inbox_sink::InboxSink,
    system::{self, SystemClock, SystemIds, random},
};

/// Why the server does not start; words for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(String);

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

/// What a server is made with beside its configuration.
pub struct Parts {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// New identifiers.
    pub ids: Arc<dyn Ids>,
    /// The page of `/metrics`.
    pub metrics: Metrics,
    /// Told to stop.
    pub shutdown: Shutdown,
    /// Whether workers run by themselves. Stories step them by hand instead.
    pub workers: bool,
}

/// A server that runs.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// What its services work with.
    pub context: Context,
    shutdown: Shutdown,
    serving: JoinHandle<()>,
    working: Option<JoinHandle<()>>,
    inbox: InboxWriter,
    drain: Duration,
    /// Held for the life of the server; `None` on Postgres.
    _alone: Option<File>,
}

/// Runs `jury serve` until it is told to stop.
pub(super) fn run(args: ServeArgs) -> Result<ExitCode, Fault> {
    let config = loaded(args.into(), config::load)?;
    telemetry::logs::install().map_err(|error| Fault::new(error.to_string()))?;
    let metrics = Metrics::install().map_err(|error| Fault::new(error.to_string()))?;
    runtime()?.block_on(async {
        system::outlive_file_limits();
        let shutdown = Shutdown::new();
        shutdown
            .on_signals()
            .map_err(|error| Fault::new(format!("cannot listen for signals: {error}")))?;
        let parts = Parts {
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            metrics: metrics.clone(),
            shutdown,
            workers: true,
        };
        let upkeep = tokio::spawn(async move {
            let mut pause = tokio::time::interval(Duration::from_secs(5));
            loop {
                pause.tick().await;
                metrics.upkeep();
            }
        });
        let running = start(&config, parts)
            .await
            .map_err(|error| Fault::new(error.to_string()))?;
        tracing::info!(address = %running.address, api = %config.github.api_url, "serving");
        running.finish().await;
        upkeep.abort();
        tracing::info!("stopped");
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs `jury migrate`: the database up to date, and nothing else.
pub(super) fn migrate(args: MigrateArgs) -> Result<ExitCode, Fault> {
    let storage = loaded(args.into(), config::load_storage)?;
    runtime()?.block_on(async {
        system::outlive_file_limits();
        let _alone = alone(&storage).map_err(|error| Fault::new(error.to_string()))?;
        let db = open(&storage)
            .await
            .map_err(|error| Fault::new(error.to_string()))?;
        let version = db
            .migrate()
            .await
            .map_err(|error| Fault::new(error.to_string()))?;
        db.close().await;
        cli::print(&format!("the database is at version {version}"))?;
        Ok(ExitCode::SUCCESS)
    })
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Fault> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::new(format!("cannot start: {error}")))
}

/// Reads the configuration of the process, and tells its warnings.
pub(super) fn loaded<T>(
    flags: Flags,
    load: impl FnOnce(&Inputs<'_>) -> Result<Loaded<T>, ConfigError>,
) -> Result<T, Fault> {
    let env = system::environment()?;
    let loaded = load(&Inputs {
        env: &env,
        flags,
        read: &config::read_file,
    })
    .map_err(|error| Fault::lines(&error.0))?;
    for warning in &loaded.warnings {
        cli::complain(&format!("warning: {warning}"));
    }
    Ok(loaded.value)
}

/// Opens the database that the configuration names, up to date.
pub async fn open(storage: &Storage) -> Result<Db, StoreError> {
    match &storage.database {
        Database::Sqlite => {
            private_folder(&storage.data)?;
            let file = storage.data.join("jury.db");
            Db::open(&file.to_string_lossy(), Schema::Migrate).await
        }
        Database::Postgres(url) => Db::open(secrecy::ExposeSecret::expose_secret(url), Schema::Migrate).await,
    }
}

/// Makes the data folder, readable by its owner only.
fn private_folder(folder: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| {
            StoreError::User(format!(
                "the data folder {} cannot be made: {error}",
                folder.display()
            ))
        })
}

/// Takes the data folder for this process alone, when the database is in it: before the
/// database is touched, since a server that runs must not have its schema changed under it.
/// `None` on Postgres, where replicas share it.
fn alone(storage: &Storage) -> Result<Option<File>, StartError> {
    match storage.database {
        Database::Sqlite => {
            private_folder(&storage.data)?;
            take_folder(&storage.data).map(Some)
        }
        Database::Postgres(_) => Ok(None),
    }
}

/// Locks the data folder. Only then may leases of an earlier process be ended at once
/// instead of running out.
fn take_folder(folder: &Path) -> Result<File, StartError> {
    let path = folder.join("jury.lock");
    let file = File::create(&path).map_err(|error| {
        StartError(format!(
            "the data folder {} cannot be written to: {error}",
            folder.display()
        ))
    })?;
    file.try_lock().map_err(|_| {
        StartError(format!(
            "another jury serve is using the data folder {}; stop it, or give this one its own with --data, or use \
             Postgres for several replicas",
            folder.display()
        ))
    })?;
    Ok(file)
}

/// Makes what the services work with.
pub async fn context(
    config: &Config,
    db: Db,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    isolation: Arc<dyn Isolation>,
) -> Result<Context, StartError> {
    let lease = config.limits.lease;
    let forge = GitHub::new(
        &GitHubConfig {
            api_url: config.github.api_url.to_string(),
            app_id: i64::try_from(config.github.app_id)
                .map_err(|_| StartError("github.app_id is too large".to_owned()))?,
            private_key: config.github.private_key.clone(),
            mirrors: (config.github.read == ReadBy::Git).then(|| config.storage.data.join("mirrors")),
            // A request must give up long before somebody else may take its job over.
            timeout: GitHubConfig::TIMEOUT.min(lease / 3),
        },
        Arc::clone(&clock),
    )
    .map_err(|error| StartError(error.to_string()))?;
    let key = {
        let mut tx = db.write().await?;
        let key = tx.server_key(random()).await?;
        tx.commit().await?;
        key
    };
    let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Ok(Context {
        db,
        forge: Arc::new(forge),
        clock,
        ids,
        analyzers: reviewers(config, &isolation)?.into(),
        fingerprinter: Arc::new(Fingerprinter::new(key)),
        heavy: Heavy::default(),
        bell: Arc::new(Notify::new()),
        arrivals: Arc::new(Notify::new()),
        settings: Arc::new(Settings {
            policy: config.policy.clone(),
            policy_locked: config.policy_locked.clone(),
            public_url: config
                .public_url
                .as_ref()
                .map(|url| url.as_str().trim_end_matches('/').to_owned()),
            pass_limit_ms: ms(config.limits.pass),
            lease_ms: ms(lease),
            settle_ms: ms(lease).min(Settings::default().settle_ms),
            passes: config.limits.passes,
            ..Settings::default()
        }),
    })
}

/// Our own rules, then the configured tools.
fn reviewers(config: &Config, isolation: &Arc<dyn Isolation>) -> Result<Vec<Box<dyn Analyzer>>, StartError> {
    let mut reviewers = analyzers::all();
    for tool in &config.tools {
        if reviewers.iter().any(|known| known.name() == tool.name) {
            return Err(StartError(format!(
                "[[tools]] {:?}: a reviewer of this name is built in; give the tool another one",
                tool.name
            )));
        }
        let program = Program {
            command: tool.command.clone(),
            environment: tool.environment.clone(),
            readable: tool.readable.clone(),
            bounds: Bounds {
                time: tool.timeout,
                memory: tool.memory,
                output: tool.output,
                processes: tool.processes,
            },
        };
        let tool = Tool {
            name: tool.name.clone(),
            axis: tool.axis,
            format: tool.format,
            exit_codes: tool.exit_codes.clone(),
            program,
        };
        let folder = config.storage.data.join("worktrees");
        reviewers.push(Box::new(Configured::new(tool, Arc::clone(isolation), folder)));
    }
    Ok(reviewers)
}

/// What tools are run in. Without any tool nothing is looked for; with tools and without
/// a back end the server runs, and every pass says that they did not.
pub(super) async fn isolated(config: &Config) -> Arc<dyn Isolation> {
    if config.tools.is_empty() {
        return Arc::new(Absent);
    }
    match isolation::detect().await {
        Ok(found) => {
            tracing::info!(
                isolation = found.name(),
                tools = config.tools.len(),
                "tools are run in isolation"
            );
            found
        }
        Err(reason) => {
            tracing::error!(%reason, tools = config.tools.len(), "no isolation: the configured tools are not run, and their axes stay unproved");
            Arc::new(Absent)
        }
    }
}

/// Starts the server: the database up to date, the port bound, the workers running.
pub async fn start(config: &Config, parts: Parts) -> Result<Running, StartError> {
    let alone = alone(&config.storage)?;
    let db = open(&config.storage).await?;
    let mut context = context(config, db.clone(), parts.clock, parts.ids, isolated(config).await).await?;
    {
        let mut tx = db.write().await?;
        let now = context.now();
        if alone.is_some() {
            tx.release_leases(now).await?;
        }
        tx.enqueue(&Task::ListInstallations, now).await?;
        tx.commit().await?;
    }
    let key =
        WebhookKey::new(&config.github.webhook_secret).map_err(|error| StartError(error.to_string()))?;
    let (inbox, writer) = Inbox::start(&db).await?;
    context.arrivals = inbox.arrived();
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(|error| StartError(format!("cannot listen on {}: {error}", config.listen)))?;
    let address = listener
        .local_addr()
        .map_err(|error| StartError(error.to_string()))?;
    let router = server::router(Face {
        sink: Arc::new(InboxSink::new(inbox, context.clone())),
        key,
        limits: WebhookLimits {
            in_flight: config.limits.body_bytes_in_flight,
            receive: config.limits.body,
            ..WebhookLimits::default()
        },
        metrics: parts.metrics,
        spaces: Some(context.clone()),
        shutdown: parts.shutdown.clone(),
    });
    let limits = ServeLimits {
        connections: config.limits.connections,
        drain: config.limits.drain,
        ..ServeLimits::default()
    };
    let shutdown = parts.shutdown;
    let switch = shutdown.clone();
    let serving = tokio::spawn(async move {
        server::serve(listener, router, limits, &switch).await;
    });
    let working = parts
        .workers
        .then(|| tokio::spawn(work::run(context.clone(), shutdown.watch())));
    Ok(Running {
        address,
        context,
        shutdown,
        serving,
        working,
        inbox: writer,
        drain: config.limits.drain,
        _alone: alone,
    })
}

impl Running {
    /// Waits until somebody asks for the end, then drains: no new requests, what is
    /// in flight is answered, jobs under way are finished, what was accepted is stored.
    pub async fn finish(self) {
        self.shutdown.requested().await;
        if let Err(error) = self.serving.await {
            tracing::error!(%error, "the server broke");
        }
        self.inbox.drain().await;
        if let Some(mut working) = self.working {
            match tokio::time::timeout(self.drain, &mut working).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(%error, "the workers broke"),
                // Nothing is lost: what they held is taken up again at the next start.
                Err(_) => {
                    tracing::warn!("work under way is left for the next start");
                    working.abort();
                }
            }
        }
        self.context.db.close().await;
    }

    /// Asks for the end and waits for it.
    pub async fn stop(self) {
        self.shutdown.request();
        self.finish().await;
    }
}
