//! Migrations are tried on rows, and their text is read for what breaks on rows.
//!
//! `tests/migrations/NNNN.sql` holds rows as schema NNNN knows them. Every migration
//! runs on the rows of all before it; a migration without such a file fails here.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test binary")]

#[expect(dead_code, reason = "a server of one test alone is for the stories")]
#[path = "support/postgres.rs"]
mod postgres;

use std::{collections::BTreeMap, fs, path::Path};

use jury::store::{Db, Schema, db::MIGRATIONS};

/// The words and marks of a statement, without comments; text literals become `'`.
fn tokens(sql: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("--") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, rest)| rest);
        } else if first == '\'' {
            let mut end = 1;
            loop {
                end += rest[end..].find('\'').map_or(rest.len() - end, |at| at + 1);
                // A doubled mark belongs to the text.
                if !rest[end.min(rest.len())..].starts_with('\'') {
                    break;
                }
                end += 1;
            }
            found.push("'".to_owned());
            rest = &rest[end.min(rest.len())..];
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            found.push(rest[..end].to_uppercase());
            rest = &rest[end..];
        } else {
            if !first.is_whitespace() {
                found.push(first.to_string());
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    found
}

/// What would fail on a table that has rows, or on one of the two databases.
fn faults(sql: &str) -> Vec<String> {
    /// Only one of the databases knows them, or they mean different things.
    const UNPORTABLE: &[&str] = &[
        "SERIAL",
        "BIGSERIAL",
        "AUTOINCREMENT",
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "DATETIME",
        "UUID",
        "JSON",
        "INT",
        "INTEGER",
        "SMALLINT",
        "REAL",
        "NUMERIC",
        "BLOB",
        "CHAR",
        "VARCHAR",
        "NOW",
        "CURRENT_TIMESTAMP",
        "WITHOUT",
        "CONCURRENTLY",
    ];
    let mut wrong = Vec::new();
    let all = tokens(sql);
    for word in UNPORTABLE {
        if all.iter().any(|t| t == word) {
            wrong.push(format!("{word} is not portable"));
        }
    }
    for statement in all.split(|t| t == ";") {
        let has = |words: &[&str]| statement.windows(words.len()).any(|w| w.iter().eq(words.iter()));
        if !has(&["ALTER", "TABLE"]) {
            continue;
        }
        if has(&["ADD"]) && has(&["NOT", "NULL"]) && !has(&["DEFAULT"]) {
            wrong.push(format!("NOT NULL without DEFAULT: {}", statement.join(" ")));
        }
        if has(&["ALTER", "COLUMN"]) || has(&["ADD", "CONSTRAINT"]) {
            wrong.push(format!("SQLite cannot do it: {}", statement.join(" ")));
        }
    }
    wrong
}

#[test]
fn every_migration_is_fit_for_tables_with_rows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut read = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(
            faults(&fs::read_to_string(&path).unwrap()),
            [""; 0],
            "{}",
            path.display()
        );
        read += 1;
    }
    assert_eq!(
        read,
        MIGRATIONS.iter().count(),
        "every file is a migration that the program knows"
    );
}

#[test]
fn a_seeded_fault_is_seen() {
    for sql in [
        "ALTER TABLE space ADD COLUMN x TEXT NOT NULL;",
        "alter table space add x bigint\n  not -- so\n null",
        "CREATE TABLE a (b TEXT); ALTER TABLE a ADD COLUMN c BIGINT CHECK (c > 0) NOT NULL; CREATE INDEX d ON a (b)",
        "ALTER TABLE a ADD COLUMN b TEXT NOT NULL /* DEFAULT '' */",
        "ALTER TABLE a ADD COLUMN b TEXT NOT NULL CHECK (b <> 'DEFAULT')",
        "ALTER TABLE a ADD COLUMN b TEXT NOT NULL CHECK (b <> 'it''s DEFAULT; ')",
        "CREATE TABLE a (b INTEGER PRIMARY KEY AUTOINCREMENT)",
        "ALTER TABLE a ALTER COLUMN b SET NOT NULL",
    ] {
        assert_ne!(faults(sql), [""; 0], "{sql}");
    }
    for sql in [
        "ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE a ADD COLUMN b TEXT; CREATE TABLE c (d BIGINT NOT NULL)",
        "ALTER TABLE a ADD COLUMN b TEXT -- NOT NULL comes with the next one",
        "ALTER TABLE a ADD COLUMN b TEXT CHECK (b <> 'NOT NULL')",
    ] {
        assert_eq!(faults(sql), [""; 0], "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrations_keep_the_rows_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    keep_the_rows(folder.path().join("jury.db").to_str().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Postgres"]
async fn migrations_keep_the_rows_on_postgres() {
    keep_the_rows(&postgres::database().await).await;
}

async fn keep_the_rows(place: &str) {
    let rows = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/migrations");
    let db = Db::open(place, Schema::Keep).await.unwrap();
    let mut before = BTreeMap::new();
    for migration in MIGRATIONS.iter() {
        let version = migration.version;
        db.migrate_to(version).await.unwrap();
        for (table, count) in &before {
            assert!(
                counts(&db).await.get(table) >= Some(count),
                "{version} lost rows of {table}"
            );
        }
        let file = rows.join(format!("{version:04}.sql"));
        let sql = fs::read_to_string(&file).unwrap_or_else(|error| {
            panic!(
                "rows for the next migration belong in {}: {error}",
                file.display()
            )
        });
        run(&db, &sql).await;
        before = counts(&db).await;
        let empty: Vec<&String> = before
            .iter()
            .filter(|(_, count)| **count == 0)
            .map(|(table, _)| table)
            .collect();
        assert_eq!(
            empty,
            Vec::<&String>::new(),
            "a table without rows proves nothing"
        );
    }
    // And the program reads them.
    db.migrate().await.unwrap();
    let mut tx = db.write().await.unwrap();
    let space = tx
        .space(&jury::domain::ids::SpaceId::new("space-1"))
        .await
        .unwrap()
        .expect("the space is there");
    let passes = tx.passes(&space.id).await.unwrap();
    assert_eq!(passes.len(), 1);
    let findings = tx.findings(&space.id).await.unwrap();
    assert_eq!((findings.findings.len(), findings.dropped), (1, 0));
    assert_eq!(findings.findings[0].votes.len(), 1);
    assert_eq!(tx.contributions(&passes[0].id).await.unwrap().len(), 1);
    assert_eq!(tx.reviews_of(&space.id).await.unwrap().len(), 1);
    assert_eq!(tx.unsent_checks(9).await.unwrap().len(), 1);
    let now = jury::domain::time::Timestamp(10_000);
    assert!(
        tx.claim_job(now, 9, "c", jury::store::JobKind::ALL)
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(tx.claim_deliveries(now, 9, "c", 9).await.unwrap().len(), 1);
    assert_eq!(tx.server_key([9; 32]).await.unwrap(), [0x41; 32]);
}

/// Runs statements in which `BYTES'…'` stands for the byte literal of either database.
async fn run(db: &Db, sql: &str) {
    let bytes = if matches!(db, Db::Lite { .. }) {
        "x'"
    } else {
        "bytea '\\x"
    };
    let sql = sqlx::AssertSqlSafe(sql.replace("BYTES'", bytes));
    match db {
        Db::Lite { write, .. } => drop(sqlx::raw_sql(sql).execute(write).await.unwrap()),
        Db::Pg(pool) => drop(sqlx::raw_sql(sql).execute(pool).await.unwrap()),
    }
}

/// How many rows each of our tables has.
async fn counts(db: &Db) -> BTreeMap<String, i64> {
    let lite = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_%' ESCAPE '\\'";
    let pg = "SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = 'public' \
        AND table_name NOT LIKE '\\_%'";
    let tables: Vec<String> = match db {
        Db::Lite { write, .. } => sqlx::query_scalar(lite).fetch_all(write).await.unwrap(),
        Db::Pg(pool) => sqlx::query_scalar(pg).fetch_all(pool).await.unwrap(),
    };
    let mut counts = BTreeMap::new();
    for table in tables {
        let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
        let count = match db {
            Db::Lite { write, .. } => sqlx::query_scalar(sql).fetch_one(write).await.unwrap(),
            Db::Pg(pool) => sqlx::query_scalar(sql).fetch_one(pool).await.unwrap(),
        };
        counts.insert(table, count);
    }
    counts
}
