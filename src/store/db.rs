//! The two databases and the one transaction type.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, PgConnection, PgPool, SqlitePool,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use url::Url;

use super::StoreError;

/// Every schema version there is, oldest first.
pub static MIGRATIONS: Migrator = sqlx::migrate!();

/// How long a writer waits for another process's lock on the SQLite file.
const BUSY: Duration = Duration::from_secs(5);

/// How long a caller waits for a free connection.
const ACQUIRE: Duration = Duration::from_secs(20);

/// What to do about an older schema when a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Bring it up to date. Replicas that start together wait for one another.
    Migrate,
    /// Take it as it is; [`Db::migrate`] comes later, or the database is only looked at.
    Keep,
}

/// A database: cheap to clone.
#[derive(Debug, Clone)]
pub enum Db {
    /// SQLite: one connection that writes, some that only read.
    Lite {
        /// The writer.
        write: SqlitePool,
        /// The readers; read-only by the open flags.
        read: SqlitePool,
    },
    /// Postgres.
    Pg(PgPool),
}

/// A transaction; rolled back unless [`Tx::commit`] is called.
#[derive(Debug)]
pub enum Tx {
    /// On SQLite.
    Lite(sqlx::Transaction<'static, sqlx::Sqlite>),
    /// On Postgres.
    Pg(sqlx::Transaction<'static, sqlx::Postgres>),
}

/// Evaluates one expression with the transaction's connection, one arm per database.
macro_rules! on {
    ($tx:expr, $conn:ident => $made:expr) => {
        match $tx {
            $crate::store::db::Tx::Lite(tx) => {
                let $conn = &mut **tx;
                $made
            }
            $crate::store::db::Tx::Pg(tx) => {
                let $conn = &mut **tx;
                $made
            }
        }
    };
}
pub(super) use on;

impl Db {
    /// Opens `place`: a `postgres://` address, or the path of a SQLite file, which is
    /// made (readable by its owner only) when it does not exist.
    ///
    /// # Errors
    /// [`StoreError::User`] when it cannot be opened, is no database, or was made by a
    /// newer Jury.
    pub async fn open(place: &str, schema: Schema) -> Result<Self, StoreError> {
        let db = if place.starts_with("postgres://") || place.starts_with("postgresql://") {
            Self::open_postgres(place).await?
        } else {
            Self::open_sqlite(Path::new(place.strip_prefix("sqlite://").unwrap_or(place))).await?
        };
        match schema {
            Schema::Migrate => db.migrate().await.map(drop)?,
            Schema::Keep => {}
        }
        Ok(db)
    }

    async fn open_postgres(address: &str) -> Result<Self, StoreError> {
        let options = postgres_options(address).ok_or_else(|| {
            StoreError::User(
                "the database's address cannot be understood; expected \
                 postgres://user:password@host:port/database"
                    .to_owned(),
            )
        })?;
        let options = options.application_name("jury").disable_statement_logging();
        let place = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        let cannot = |why: &dyn std::fmt::Display| {
            StoreError::User(format!(
                "the database: Postgres at {place} cannot be reached: {why}"
            ))
        };
        // By hand first: the pool would try again in silence until its time is over.
        let first = tokio::time::timeout(ACQUIRE, PgConnection::connect_with(&options))
            .await
            .map_err(|_| cannot(&"no answer"))?
            .map_err(|error| match error {
                sqlx::Error::Tls(why) => cannot(&why),
                error => match StoreError::from(error) {
                    StoreError::Transient(why) => cannot(&why),
                    other => other,
                },
            })?;
        first.close().await?;
        // A replica that hangs with a transaction open must not stop the others for good.
        const BOUNDS: &str = "SET lock_timeout = '15s'; SET idle_in_transaction_session_timeout = '60s'";
        let pool = PgPoolOptions::new()
            .max_connections(16)
            .acquire_timeout(ACQUIRE)
            .after_connect(|connection, _| {
                Box::pin(async move { connection.execute(BOUNDS).await.map(drop) })
            });
        Ok(Self::Pg(pool.connect_lazy_with(options)))
    }

    async fn open_sqlite(path: &Path) -> Result<Self, StoreError> {
        let cannot = |why: &dyn std::fmt::Display| {
            StoreError::User(format!("the database {} cannot be opened: {why}", path.display()))
        };
        if path.as_os_str().is_empty() || path == Path::new(":memory:") {
            return Err(cannot(&"a file is needed"));
        }
        make_private(path).map_err(|error| cannot(&error))?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY)
            .foreign_keys(true)
            .disable_statement_logging();
        let explain = |error| match StoreError::from(error) {
            StoreError::Transient(why) => cannot(&format!("another program has locked it ({why})")),
            StoreError::User(why) | StoreError::Internal(why) => cannot(&why),
        };
        let pool = || {
            SqlitePoolOptions::new()
                .acquire_timeout(ACQUIRE)
                // After a full disk or a failed read SQLite has rolled back by itself; the
                // driver's own ROLLBACK then fails, and to it the transaction never ends.
                // Such a connection can begin nothing any more: another takes its place.
                .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
        };
        let write = pool()
            .max_connections(1)
            .connect_with(options.clone())
            .await
            .map_err(explain)?;
        let read = pool()
            .max_connections(4)
            .connect_with(options.read_only(true))
            .await
            .map_err(explain)?;
        Ok(Self::Lite { write, read })
    }

    /// Brings the schema up to date and returns its version. On Postgres an advisory
    /// lock makes replicas that start together wait for one another; on SQLite each
    /// migration is one transaction, and a process that lost the race looks again.
    ///
    /// # Errors
    /// [`StoreError::User`] when the database was made by a newer Jury.
    pub async fn migrate(&self) -> Result<i64, StoreError> {
        self.migrate_to(Self::newest()).await?;
        Ok(Self::newest())
    }

    /// The newest version of the schema.
    pub fn newest() -> i64 {
        MIGRATIONS.iter().map(|m| m.version).max().unwrap_or(0)
    }

    /// The version of the schema; `None` when there is none yet.
    pub async fn version(&self) -> Result<Option<i64>, StoreError> {
        const THERE_LITE: &str = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
        const THERE_PG: &str =
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = '_sqlx_migrations'";
        const VERSION: &str = "SELECT MAX(version) FROM _sqlx_migrations WHERE success";
        let mut tx = self.read().await?;
        let there = if matches!(tx, Tx::Lite(_)) {
            THERE_LITE
        } else {
            THERE_PG
        };
        let there: i64 = on!(&mut tx, c => sqlx::query_scalar(there).fetch_one(c).await?);
        if there == 0 {
            return Ok(None);
        }
        Ok(on!(&mut tx, c => sqlx::query_scalar(VERSION).fetch_one(c).await?))
    }

    /// Brings the schema to an older version than the newest, for tests of migrations.
    #[doc(hidden)]
    pub async fn migrate_to(&self, version: i64) -> Result<(), StoreError> {
        let mut tries = 0;
        loop {
            let ran = match self {
                Self::Lite { write, .. } => {
                    let mut own = write.acquire().await?;
                    MIGRATIONS.run_direct(Some(version), &mut *own, false).await
                }
                Self::Pg(pool) => {
                    // A connection of its own: the advisory lock goes with it, whatever happens.
                    let mut own = pool.acquire().await?.detach();
                    let ran = MIGRATIONS.run_direct(Some(version), &mut own, false).await;
                    own.close().await?;
                    ran
                }
            };
            match ran.map_err(StoreError::from) {
                Err(StoreError::Transient(_) | StoreError::Internal(_))
                    if matches!(self, Self::Lite { .. }) && tries < 5 =>
                {
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// A transaction that may write. On SQLite it is alone from here to its end, so
    /// what it reads cannot change before it writes.
    pub async fn write(&self) -> Result<Tx, StoreError> {
        Ok(match self {
            Self::Lite { write, .. } => Tx::Lite(write.begin_with("BEGIN IMMEDIATE").await?),
            Self::Pg(pool) => Tx::Pg(pool.begin().await?),
        })
    }

    /// A transaction that only reads, all of it at one moment.
    pub async fn read(&self) -> Result<Tx, StoreError> {
        Ok(match self {
            Self::Lite { read, .. } => Tx::Lite(read.begin().await?),
            Self::Pg(pool) => Tx::Pg(
                pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    .await?,
            ),
        })
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let mut tx = self.read().await?;
        on!(&mut tx, c => sqlx::query("SELECT 1").execute(c).await.map(drop)?);
        Ok(())
    }

    /// Waits for open transactions and closes every connection.
    pub async fn close(&self) {
        match self {
            Self::Lite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Self::Pg(pool) => pool.close().await,
        }
    }
}

impl Tx {
    /// Makes it durable.
    pub async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Lite(tx) => tx.commit().await?,
            Self::Pg(tx) => tx.commit().await?,
        }
        Ok(())
    }
}

/// The options in a `postgres://` address. Parameters that the driver does not know
/// (`connect_timeout`, `channel_binding`, a misspelt `password`) are left out here, since
/// it would log them with their values.
fn postgres_options(address: &str) -> Option<PgConnectOptions> {
    const KNOWN: &[&str] = &[
        "sslmode",
        "ssl-mode",
        "sslrootcert",
        "ssl-root-cert",
        "ssl-ca",
        "sslcert",
        "ssl-cert",
        "sslkey",
        "ssl-key",
        "statement-cache-capacity",
        "host",
        "hostaddr",
        "port",
        "dbname",
        "user",
        "password",
        "application_name",
        "options",
    ];
    let mut address = Url::parse(address).ok()?;
    let known: Vec<(String, String)> = address
        .query_pairs()
        .filter(|(key, _)| KNOWN.contains(&&**key) || (key.starts_with("options[") && key.ends_with(']')))
        .map(|(key, value)| (key.into_owned(), value.into_owned()))
        .collect();
    address.set_query(None);
    if !known.is_empty() {
        address.query_pairs_mut().extend_pairs(known);
    }
    address.as_str().parse().ok()
}

/// Makes the folder and the file when they are missing: for the owner only, since the
/// database quotes private code.
fn make_private(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(folder) = folder.map(PathBuf::from) {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path).map(drop)
}
