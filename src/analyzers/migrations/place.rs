//! Which files are migrations, which way they go, and whose SQL they are in.

use super::tokens::{Dialect, Kind, Lexed};

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `V1__x.sql` of Flyway: a letter, a version, two underscores.
fn flyway(name: &str, letters: &[u8]) -> bool {
    let Some((head, _)) = name.split_once("__") else {
        return false;
    };
    let bytes = head.as_bytes();
    match bytes {
        [b'R'] => letters.contains(&b'R'),
        [first, version @ ..] if letters.contains(first) && !version.is_empty() => version
            .iter()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_')),
        _ => false,
    }
}

/// Whether the file changes a database that has data: by the habits of the tools.
pub(super) fn is_migration(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    if !lower.ends_with(".sql") {
        return false;
    }
    let mut folders = lower.split('/').rev().skip(1);
    let outside = lower.split('/').any(|part| {
        matches!(
            part,
            "seeds"
                | "seed"
                | "fixtures"
                | "testdata"
                | "test-data"
                | "node_modules"
                | "vendor"
                | "third_party"
        )
    });
    if outside {
        return false;
    }
    let kept = folders.any(|part| {
        matches!(
            part,
            "migrations"
                | "migration"
                | "migrate"
                | "db-migrations"
                | "db_migrations"
                | "dbmigrations"
                | "sql-migrations"
                | "schema_migrations"
                | "versions"
                | "drizzle"
                | "flyway"
                | "liquibase"
                | "changelog"
                | "changelogs"
                | "evolutions"
                | "upgrades"
                | "schema-changes"
        ) || part.starts_with("migrations-")
            || part.starts_with("migrations_")
            || part.ends_with("-migrations")
            || part.ends_with("_migrations")
    });
    let name = name_of(&lower);
    kept || flyway(name_of(path), b"VRUB") || name.ends_with(".up.sql") || name.ends_with(".down.sql")
}

/// Whether the whole file undoes a migration: it may drop what that one made.
pub(super) fn goes_down(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = name_of(&lower);
    let stem = name.strip_suffix(".sql").unwrap_or(name);
    stem == "down"
        || [
            ".down",
            "_down",
            "-down",
            ".undo",
            ".rollback",
            "_rollback",
            "-rollback",
            ".revert",
        ]
        .iter()
        .any(|tail| stem.ends_with(tail))
        || flyway(name_of(path), b"U")
        || lower
            .split('/')
            .rev()
            .skip(1)
            .any(|part| matches!(part, "down" | "rollback" | "rollbacks" | "undo" | "revert"))
}

/// What the path says of the dialect.
pub(super) fn dialect_of_path(path: &str) -> Option<Dialect> {
    let lower = path.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.find_map(|word| match word {
        "postgres" | "postgresql" | "pg" | "psql" | "cockroach" | "cockroachdb" | "timescale"
        | "supabase" => Some(Dialect::Postgres),
        "mysql" | "mariadb" | "tidb" | "vitess" => Some(Dialect::MySql),
        "sqlite" | "sqlite3" | "d1" | "libsql" | "turso" => Some(Dialect::Sqlite),
        _ => None,
    })
}

/// What `provider = "…"` of Prisma's lock file says.
pub(super) fn dialect_of_lock(text: &[u8]) -> Option<Dialect> {
    let text = String::from_utf8_lossy(text);
    let line = text
        .lines()
        .take(100)
        .find(|l| l.trim_start().starts_with("provider"))?;
    dialect_of_path(line)
}

/// What the wording says: the side with more tell-tale words.
pub(super) fn dialect_of_text(lexed: &Lexed<'_>) -> Dialect {
    let (mut postgres, mut mysql, mut sqlite) = (0usize, 0usize, 0usize);
    let mut before: Option<&super::tokens::Token<'_>> = None;
    for token in &lexed.tokens {
        match token.kind {
            Kind::Body => postgres += 3,
            Kind::Quoted => {}
            Kind::Sign(b':') if before.is_some_and(|t| t.sign(b':')) => postgres += 2,
            Kind::Word if token.text.len() <= 14 => {
                let word = token.text.to_ascii_lowercase();
                match word.as_slice() {
                    b"concurrently" | b"bigserial" | b"serial" | b"smallserial" | b"jsonb"
                    | b"timestamptz" | b"bytea" | b"plpgsql" | b"tsvector" | b"regclass" | b"extension"
                    | b"gin" | b"gist" | b"ilike" | b"inherits" | b"tablespace" | b"citext" => postgres += 2,
                    b"returning" | b"uuid" | b"cascade" => postgres += usize::from(word == b"uuid"),
                    b"auto_increment" | b"engine" | b"unsigned" | b"modify" | b"tinyint" | b"mediumint"
                    | b"longtext" | b"mediumtext" | b"charset" | b"innodb" | b"utf8mb4" | b"longblob"
                    | b"delimiter" | b"mediumblob" => {
                        mysql += 2;
                    }
                    b"autoincrement" | b"pragma" | b"rowid" | b"datetime" => {
                        sqlite += if word == b"datetime" { 1 } else { 3 }
                    }
                    // `ALTER COLUMN x TYPE y`, `SET DATA TYPE` is Postgres's way.
                    b"type" if before.is_some_and(|t| t.is("data")) => postgres += 2,
                    _ => {}
                }
            }
            _ => {}
        }
        before = Some(token);
    }
    // Some write backticks for SQLite too.
    mysql += usize::from(lexed.tokens.iter().any(|t| t.kind == Kind::Ticked));
    match postgres.max(mysql).max(sqlite) {
        0 => Dialect::Unknown,
        top if top == sqlite => Dialect::Sqlite,
        top if top == mysql => Dialect::MySql,
        _ => Dialect::Postgres,
    }
}
