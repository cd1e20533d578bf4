//! `jury replay`: a stored or recorded delivery again.

use std::{path::Path, process::ExitCode, sync::Arc};

use crate::{
    cli::{self, Fault, ReplayArgs},
    config::{self, Config, Database, Flags, Storage},
    domain::ids::DeliveryId,
    ports::{clock::Clock, ids::Ids},
    services::rehearse::rehearse,
    store::{Db, Delivery, Inbox, NewDelivery, Requeued, Schema},
    telemetry::logs::LogOptions,
};

use super::{
    serve,
    system::{SystemClock, SystemIds},
};

/// The largest file that is read, in bytes: GitHub sends no event over 25 MB.
const LARGEST: u64 = 26 << 20;

/// What is replayed.
enum Source {
    /// A file that holds a delivery.
    File(Delivery),
    /// The id of a stored one.
    Stored(DeliveryId),
}

/// Runs the command.
pub(super) fn run(args: ReplayArgs) -> Result<ExitCode, Fault> {
    // Only what goes wrong is told, unless somebody asks for more.
    let env = |name: &str| {
        std::env::var(name)
            .ok()
            .or_else(|| (name == "JURY_LOG").then(|| "warn".to_owned()))
    };
    LogOptions::from_env(env, true)
        .and_then(LogOptions::install)
        .map_err(|error| Fault::new(error.to_string()))?;
    let source = source(&args)?;
    let flags = Flags {
        config: args.config,
        listen: None,
        data: args.data,
    };
    if args.dry_run {
        let config = serve::loaded(flags, config::load)?;
        return serve::runtime()?.block_on(dry_run(config, source));
    }
    let storage = serve::loaded(flags, config::load_storage)?;
    serve::runtime()?.block_on(replay(&storage, source))
}

fn source(args: &ReplayArgs) -> Result<Source, Fault> {
    let path = Path::new(&args.what);
    let like_a_path = args.what.contains('/') || args.what.ends_with(".json");
    if !path.is_file() {
        if like_a_path {
            return Err(Fault::new(format!("{}: there is no such file", path.display())));
        }
        if args.event.is_some() {
            return Err(Fault::new(
                "--event is for a file; a stored delivery has its event",
            ));
        }
        return Ok(Source::Stored(DeliveryId::new(args.what.clone())));
    }
    let cannot = |error: &dyn std::fmt::Display| Fault::new(format!("{}: {error}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| cannot(&error))?.len();
    if length > LARGEST {
        return Err(cannot(&"larger than 26 MiB, which no delivery is"));
    }
    let bytes = std::fs::read(path).map_err(|error| cannot(&error))?;
    let recorded = cli::recorded(path, bytes)?;
    let Some(event) = args.event.clone().or(recorded.event) else {
        return Err(cannot(
            &"which event is it? Say so with --event, for example --event pull_request",
        ));
    };
    Ok(Source::File(Delivery {
        id: DeliveryId::new(format!("replay-{}", SystemIds.next())),
        event,
        body: recorded.body,
        attempts: 1,
        received_at: SystemClock.now(),
        seq: 0,
    }))
}

/// Opens the database as it is: a command that looks at it does not make one.
async fn open(storage: &Storage) -> Result<Db, Fault> {
    let place = match &storage.database {
        Database::Sqlite => {
            let file = storage.data.join("jury.db");
            if !file.is_file() {
                return Err(Fault::new(format!(
                    "{}: there is no database; --data or [server] data says where it is",
                    file.display()
                )));
            }
            file.to_string_lossy().into_owned()
        }
        Database::Postgres(url) => secrecy::ExposeSecret::expose_secret(url).to_owned(),
    };
    let fault = |error: crate::store::StoreError| Fault::new(error.to_string());
    let db = Db::open(&place, Schema::Keep).await.map_err(fault)?;
    if db.version().await.map_err(fault)? != Some(Db::newest()) {
        return Err(Fault::new(
            "the database is of another version; `jury migrate` brings it up to this one's",
        ));
    }
    Ok(db)
}

fn unknown(id: &DeliveryId) -> Fault {
    Fault::new(format!(
        "no delivery {id} is stored, and there is no file of that name"
    ))
}

/// Queues the delivery; a server takes it in.
async fn replay(storage: &Storage, source: Source) -> Result<ExitCode, Fault> {
    let fault = |error: crate::store::StoreError| Fault::new(error.to_string());
    let db = open(storage).await?;
    let id = match source {
        Source::Stored(id) => {
            let mut tx = db.write().await.map_err(fault)?;
            let requeued = tx.requeue_delivery(&id, SystemClock.now()).await.map_err(fault)?;
            tx.commit().await.map_err(fault)?;
            match requeued {
                Requeued::Yes => id,
                Requeued::Underway => {
                    return Err(Fault::new(format!(
                        "delivery {id} waits or is being worked on already"
                    )));
                }
                Requeued::Unknown => return Err(unknown(&id)),
            }
        }
        Source::File(delivery) => {
            let (inbox, writer) = Inbox::start(&db).await.map_err(fault)?;
            let new = NewDelivery {
                id: delivery.id.clone(),
                event: delivery.event,
                body: delivery.body.into(),
                received_at: delivery.received_at,
            };
            inbox.accept(new).await.map_err(fault)?;
            writer.drain().await;
            delivery.id
        }
    };
    db.close().await;
    cli::print(&format!(
        "delivery {id} is queued; `jury serve` takes it in at once, or when it is started"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Carries the delivery through in a store of its own and shows what would be sent.
async fn dry_run(mut config: Config, source: Source) -> Result<ExitCode, Fault> {
    let fault = |error: &dyn std::fmt::Display| Fault::new(error.to_string());
    let delivery = match source {
        Source::File(delivery) => delivery,
        Source::Stored(id) => {
            let db = open(&config.storage).await?;
            let mut tx = db.read().await.map_err(|error| fault(&error))?;
            let stored = tx.delivery(&id).await.map_err(|error| fault(&error))?;
            drop(tx);
            db.close().await;
            stored.ok_or_else(|| unknown(&id))?
        }
    };
    let folder = tempfile::tempdir().map_err(|error| fault(&error))?;
    // Neither the server's database nor its mirrors are touched.
    config.storage = Storage {
        data: folder.path().to_owned(),
        database: Database::Sqlite,
    };
    let db = serve::open(&config.storage)
        .await
        .map_err(|error| fault(&error))?;
    let isolation = serve::isolated(&config).await;
    let context = serve::context(
        &config,
        db.clone(),
        Arc::new(SystemClock),
        Arc::new(SystemIds),
        isolation,
    )
    .await
    .map_err(|error| fault(&error))?;
    let rehearsed = rehearse(&context, &delivery)
        .await
        .map_err(|error| fault(&error))?;
    db.close().await;
    cli::show_rehearsal(&delivery.event, &rehearsed)?;
    Ok(ExitCode::SUCCESS)
}
