//! What can go wrong with the database, told apart by what a caller does about it.

use sqlx::{migrate::MigrateError, postgres::PgDatabaseError};

/// A failed use of the database. No text holds the address's password.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The person who runs Jury can mend it; the text says how and is shown as it is.
    #[error("{0}")]
    User(String),
    /// Nothing is wrong with the work: busy, serialization, connection lost. Try again
    /// in a new transaction. After a lost commit the work may have been done.
    #[error("the database is busy or not reachable for now: {0}")]
    Transient(String),
    /// A fault of ours or of the database; for the log.
    #[error("the database failed: {0}")]
    Internal(String),
}

impl StoreError {
    /// Whether the same work may be tried again, in a new transaction.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Transient(_))
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default().into_owned();
                let text = database.message().to_owned();
                if database.try_downcast_ref::<PgDatabaseError>().is_some() {
                    postgres(&code, text)
                } else {
                    sqlite(&code, text)
                }
            }
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => Self::Transient(error.to_string()),
            // A server that goes away in the middle of a message.
            sqlx::Error::Protocol(_) => Self::Transient(error.to_string()),
            // The text of a configuration error may repeat the address.
            sqlx::Error::Configuration(_) => {
                Self::User("the database's address cannot be understood".to_owned())
            }
            _ => Self::Internal(error.to_string()),
        }
    }
}

/// SQLSTATE classes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn postgres(code: &str, text: String) -> StoreError {
    match code {
        // Serialization failure, deadlock, lock not available, query cancelled.
        "40001" | "40P01" | "55P03" | "57014" => StoreError::Transient(text),
        // A standby, or a primary that is becoming one: another takes its place.
        "25006" => StoreError::Transient(text),
        // Connection lost, too many connections or out of memory, server going down.
        _ if code.starts_with("08") || code.starts_with("53") || code.starts_with("57P") => {
            StoreError::Transient(text)
        }
        "28P01" | "28000" | "3D000" | "42501" => StoreError::User(format!("Postgres refuses: {text}")),
        _ => StoreError::Internal(text),
    }
}

/// Result codes, the primary one in the low byte: <https://sqlite.org/rescode.html>.
fn sqlite(code: &str, text: String) -> StoreError {
    let primary = code.parse::<u32>().map_or(1, |c| c & 0xff);
    match primary {
        5 | 6 => StoreError::Transient(text),
        3 | 8 | 14 | 23 => StoreError::User(format!("the database file cannot be used: {text}")),
        11 | 26 => StoreError::User(format!("the database file is damaged or no database: {text}")),
        13 => StoreError::User("the disk that holds the database is full".to_owned()),
        _ => StoreError::Internal(text),
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) => error.into(),
            MigrateError::ExecuteMigration(error, version) => match Self::from(error) {
                Self::Internal(text) => Self::Internal(format!("migration {version}: {text}")),
                other => other,
            },
            MigrateError::VersionMissing(version) => Self::User(format!(
                "the database was made by a newer Jury (schema {version}); run that version or a later one"
            )),
            MigrateError::VersionMismatch(version) => Self::User(format!(
                "the database was made by another build of Jury (migration {version} differs); run the release that made it"
            )),
            MigrateError::Dirty(version) => Self::User(format!(
                "migration {version} was interrupted half-way; restore the backup made before it"
            )),
            other => Self::Internal(other.to_string()),
        }
    }
}
