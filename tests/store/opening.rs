//! Opening a database, and what is said when that does not work.

use jury::store::{Db, Schema, StoreError};

use crate::stories;

/// What a user is told.
async fn refusal(place: &str) -> String {
    match Db::open(place, Schema::Migrate).await {
        Err(StoreError::User(text)) => text,
        other => panic!("not refused as the user's to mend: {other:?}"),
    }
}

stories! {
    async fn a_database_of_a_newer_jury_is_not_touched(home) {
        home.sql("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
            SELECT 9999, 'from the future', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1").await;
        let said = refusal(&home.place).await;
        assert!(said.contains("newer Jury") && said.contains("9999"), "{said}");
        // It says so whoever asks, again and again: no lock stays behind.
        assert_eq!(refusal(&home.place).await, said);
        assert!(home.db.migrate().await.is_err());
    }

    async fn a_migration_that_was_changed_afterwards_is_noticed(home) {
        let zero = if home.is_sqlite() { "x'00'" } else { "'\\x00'::bytea" };
        home.sql(&format!("UPDATE _sqlx_migrations SET checksum = {zero}")).await;
        let said = refusal(&home.place).await;
        assert!(said.contains("another build"), "{said}");
    }

    async fn what_was_committed_is_there_when_it_is_opened_again(home) {
        let space = home.room(1, 2, 3).await;
        home.db.close().await;
        let again = home.another().await;
        assert_eq!(again.read().await.unwrap().space(&space.id).await.unwrap(), Some(space));
        again.ping().await.unwrap();
        assert!(home.db.write().await.unwrap_err().is_transient(), "a closed database is no fault of the work");
    }

    async fn migrating_again_changes_nothing(home) {
        let version = home.db.migrate().await.unwrap();
        assert_eq!(home.db.migrate().await.unwrap(), version);
        assert_eq!(home.number("SELECT MAX(version) FROM _sqlx_migrations").await, version);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_start_together_share_a_fresh_sqlite_file() {
    let folder = tempfile::tempdir().unwrap();
    start_together(folder.path().join("jury.db").to_str().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Postgres"]
async fn replicas_that_start_together_share_a_fresh_postgres() {
    start_together(&crate::postgres::database().await).await;
}

async fn start_together(place: &str) {
    let starting: Vec<_> = (0..6)
        .map(|_| {
            let place = place.to_owned();
            tokio::spawn(async move { Db::open(&place, Schema::Migrate).await })
        })
        .collect();
    for started in starting {
        started.await.unwrap().unwrap().ping().await.unwrap();
    }
}

#[tokio::test]
async fn a_path_is_taken_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["plain.db", "a b?mode=memory&x#y%20.db", "deep/er/jury.db", "ä.db"] {
        let path = folder.path().join(name);
        Db::open(path.to_str().unwrap(), Schema::Migrate)
            .await
            .unwrap()
            .close()
            .await;
        assert!(path.is_file(), "{name}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{name} is for its owner only");
        }
    }
}

#[tokio::test]
async fn a_place_that_cannot_be_opened_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(
        at("letter.txt"),
        "Dear database, this is a letter and not a database at all. ".repeat(99),
    )
    .unwrap();
    for place in [
        folder.path().to_str().unwrap(),
        &at("letter.txt"),
        &at("letter.txt/jury.db"),
        "",
        ":memory:",
    ] {
        let said = refusal(place).await;
        assert!(!said.contains('\n') && said.contains("database"), "{said:?}");
    }
}

#[tokio::test]
async fn a_file_that_another_program_has_locked_is_said_to_be() {
    use sqlx::{Connection as _, Executor as _, SqliteConnection, sqlite::SqliteConnectOptions};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jury.db");
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true);
    let mut other = SqliteConnection::connect_with(&options).await.unwrap();
    other
        .execute("CREATE TABLE x (y BIGINT); BEGIN EXCLUSIVE")
        .await
        .unwrap();
    let said = refusal(path.to_str().unwrap()).await;
    assert!(said.contains("another program has locked it"), "{said}");
}

/// The password is assembled here and must not be found in anything that is said.
#[tokio::test]
async fn no_refusal_tells_the_password() {
    let word = ["open", "sesame"].join("-");
    for place in [
        format!("postgres://jury:{word}@127.0.0.1:1/jury"),
        format!("postgresql://jury:{word}@127.0.0.1:1/jury?sslmode=nonsense"),
        format!("postgres://jury:{word}@[::/jury"),
        format!("postgres://jury:{word}@host:port/jury"),
        format!("postgres:///jury?host=/nonexistent&password={word}&passwd={word}"),
    ] {
        let error = Db::open(&place, Schema::Migrate).await.unwrap_err();
        assert!(matches!(error, StoreError::User(_)), "{error:?}");
        assert!(!format!("{error} {error:?}").contains(&word), "{error:?}");
    }
}
