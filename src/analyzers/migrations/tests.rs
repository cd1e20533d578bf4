use proptest::prelude::*;

use super::{Migrations, place};
use crate::{
    analyzers::doubles::{TextChange, found, report},
    domain::{diff::FileStatus, review::reviewer::ContributionState},
};

const PG: &str = "db/postgres/migrations/0002_x.sql";
const MY: &str = "db/mysql/migrations/0002_x.sql";
const LITE: &str = "db/sqlite/migrations/0002_x.sql";
const ANY: &str = "migrations/0002_x.sql";

fn at(path: &str, sql: &str) -> Vec<String> {
    found(&Migrations, &TextChange::new().adding(path, sql))
        .into_iter()
        .map(|f| {
            f.replace("migrations/", "")
                .replace(&format!(" {}", path.replace("migrations/", "")), "")
        })
        .collect()
}

fn none(path: &str, sql: &str) {
    assert_eq!(at(path, sql), [""; 0], "{sql}");
}

#[test]
fn what_is_a_migration_is_known_by_its_place() {
    for path in [
        "migrations/0001_init.sql",
        "db/migrate/20200101_x.sql",
        "prisma/migrations/20200101_x/migration.sql",
        "migrations/2020-01-01-000000_x/up.sql",
        "src/main/resources/db/migration/V1__x.sql",
        "sql/V1_2.3__x.sql",
        "R__views.sql",
        "000001_x.up.sql",
        "supabase/migrations/1_x.sql",
        "Migrations/1.SQL",
        "alembic/versions/1.sql",
        "crates/x_migrations/a.sql",
    ] {
        assert!(place::is_migration(path), "{path}");
    }
    for path in [
        "schema.sql",
        "queries/users.sql",
        "migrations/a.rs",
        "tests/fixtures/migrations/1.sql",
        "Vx__a.sql",
        "V1_x.sql",
        "migrations.sql",
        "seeds/1.up.sql",
    ] {
        assert!(!place::is_migration(path), "{path}");
    }
}

#[test]
fn a_table_that_is_dropped_takes_its_rows_along() {
    for path in [PG, MY, LITE, ANY] {
        assert_eq!(at(path, "DROP TABLE a;\n"), ["p1 drop-table:1"], "{path}");
        assert_eq!(at(path, "drop table if exists a, b cascade"), ["p1 drop-table:1"]);
    }
    assert_eq!(at(PG, "DROP SCHEMA a CASCADE;\n"), ["p1 drop-table:1"]);
    assert_eq!(at(MY, "ALTER TABLE a DROP PARTITION p1;\n"), ["p1 drop-table:1"]);
    none(PG, "DROP VIEW a; DROP INDEX b; DROP TYPE c; DROP FUNCTION d();\n");
    none(MY, "DROP TEMPORARY TABLE a;\n");
    none(PG, "CREATE TABLE a (id int);\nDROP TABLE a;\n");
    none(PG, "CREATE TABLE public.a (id int);\nDROP TABLE \"A\";\n");
}

#[test]
fn a_script_that_makes_a_table_anew_weighs_less_and_one_by_the_book_nothing() {
    assert_eq!(
        at(ANY, "DROP TABLE IF EXISTS a;\nCREATE TABLE a (id int);\n"),
        ["p2 drop-table:1"]
    );
    assert_eq!(
        at(ANY, "DROP TABLE a;\nCREATE TABLE a (id int);\n"),
        ["p1 drop-table:1"]
    );
    none(
        LITE,
        "PRAGMA foreign_keys=OFF;\nCREATE TABLE new_a (id int);\nINSERT INTO new_a SELECT id FROM a;\nDROP TABLE a;\nALTER TABLE new_a RENAME TO a;\n",
    );
    // Nothing was carried over.
    assert_eq!(
        at(
            LITE,
            "CREATE TABLE new_a (id int);\nDROP TABLE a;\nALTER TABLE new_a RENAME TO a;\n"
        ),
        ["p1 drop-table:2"]
    );
    // It may have been there before.
    assert_eq!(
        at(PG, "CREATE TABLE IF NOT EXISTS a (id int);\nDROP TABLE a;\n"),
        ["p2 drop-table:2"]
    );
}

#[test]
fn a_column_that_is_dropped_is_told_and_a_constraint_is_not() {
    assert_eq!(at(PG, "ALTER TABLE a DROP COLUMN b;\n"), ["p1 drop-column:1"]);
    assert_eq!(
        at(PG, "ALTER TABLE IF EXISTS ONLY a DROP b;\n"),
        ["p1 drop-column:1"]
    );
    assert_eq!(
        at(MY, "ALTER TABLE `a`\n  ADD COLUMN c int,\n  DROP COLUMN `b`;\n"),
        ["p1 drop-column:3"]
    );
    assert_eq!(
        at(LITE, "ALTER TABLE [a] DROP COLUMN [b];\n"),
        ["p1 drop-column:1"]
    );
    none(
        PG,
        "ALTER TABLE a DROP CONSTRAINT b, ALTER COLUMN c DROP NOT NULL, ALTER d DROP DEFAULT;\n",
    );
    none(
        MY,
        "ALTER TABLE a DROP INDEX b, DROP PRIMARY KEY, DROP FOREIGN KEY c, DROP KEY d;\n",
    );
    none(PG, "CREATE TABLE a (b int);\nALTER TABLE a DROP COLUMN b;\n");
}

#[test]
fn rows_that_go_or_are_rewritten_without_a_condition_are_told() {
    assert_eq!(at(PG, "TRUNCATE a;\n"), ["p1 truncate:1"]);
    assert_eq!(at(MY, "TRUNCATE TABLE a;\n"), ["p1 truncate:1"]);
    assert_eq!(at(PG, "DELETE FROM a;\n"), ["p1 delete-all:1"]);
    assert_eq!(at(PG, "DELETE FROM a WHERE true;\n"), ["p1 delete-all:1"]);
    assert_eq!(at(PG, "DELETE FROM a WHERE 1=1;\n"), ["p1 delete-all:1"]);
    assert_eq!(at(PG, "UPDATE a SET b = 1;\n"), ["p2 update-all:1"]);
    assert_eq!(
        at(
            LITE,
            "UPDATE OR REPLACE a SET b = (SELECT c FROM d WHERE e = 1);\n"
        ),
        ["p2 update-all:1"]
    );
    assert_eq!(
        at(
            PG,
            "WITH gone AS (\n  DELETE FROM a RETURNING *\n)\nINSERT INTO b SELECT * FROM gone;\n"
        ),
        ["p1 delete-all:2"]
    );
    none(PG, "DELETE FROM a WHERE b = 1;\nUPDATE a SET b = 1 WHERE c;\n");
    none(PG, "DELETE FROM a USING b;\nUPDATE a SET b = c.d FROM c;\n");
    none(
        MY,
        "DELETE x FROM a x JOIN b ON x.i = b.i;\nUPDATE a JOIN b ON a.i = b.i SET a.c = 1;\n",
    );
    none(
        PG,
        "INSERT INTO a VALUES (1) ON CONFLICT (b) DO UPDATE SET c = 1;\n",
    );
    none(MY, "INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE c = 1;\n");
    none(
        PG,
        "CREATE TABLE a (i int);\nINSERT INTO a VALUES (1);\nDELETE FROM a;\nUPDATE a SET i = 2;\nTRUNCATE a;\n",
    );
    none(PG, "ALTER TABLE a ADD COLUMN b int;\nUPDATE a SET b = c;\n");
    none(
        PG,
        "CREATE TABLE x (a int REFERENCES b ON DELETE CASCADE ON UPDATE CASCADE);\n",
    );
}

#[test]
fn a_required_column_without_a_value_for_old_rows_is_told() {
    for path in [PG, LITE, ANY] {
        assert_eq!(
            at(path, "ALTER TABLE a ADD COLUMN b int NOT NULL;\n"),
            ["p1 not-null-without-default:1"]
        );
        assert_eq!(
            at(path, "ALTER TABLE a ADD b TEXT not null\n"),
            ["p1 not-null-without-default:1"]
        );
    }
    assert_eq!(
        at(MY, "ALTER TABLE a ADD COLUMN (b int NOT NULL, c int NULL);\n"),
        ["p2 not-null-without-default:1"]
    );
    assert_eq!(
        at(
            PG,
            "ALTER TABLE a\n  ADD COLUMN b int,\n  ADD COLUMN c int NOT NULL,\n  ADD COLUMN d int NOT NULL DEFAULT 0;\n"
        ),
        ["p1 not-null-without-default:3"]
    );
    none(
        PG,
        "ALTER TABLE a ADD COLUMN b int NOT NULL DEFAULT 0;\nALTER TABLE a ADD COLUMN c int;\n",
    );
    none(PG, "ALTER TABLE a ADD COLUMN b bigserial NOT NULL;\n");
    none(
        PG,
        "ALTER TABLE a ADD b int NOT NULL GENERATED ALWAYS AS (c) STORED;\n",
    );
    none(
        PG,
        "CREATE TABLE a (b int NOT NULL);\nALTER TABLE a ADD c int NOT NULL;\n",
    );
    none(PG, "ALTER TABLE a ADD COLUMN b int CHECK (b IS NULL);\n");
    assert_eq!(
        at(PG, "ALTER TABLE a ALTER COLUMN b SET NOT NULL;\n"),
        ["p2 set-not-null:1"]
    );
    none(PG, "ALTER TABLE a ALTER COLUMN b SET DEFAULT 1;\n");
}

#[test]
fn an_index_that_stops_writers_is_told_in_the_words_of_the_database() {
    assert_eq!(
        at(PG, "CREATE UNIQUE INDEX i ON a (b);\n"),
        ["p2 blocking-index:1"]
    );
    assert_eq!(at(PG, "CREATE INDEX ON ONLY a (b);\n"), ["p2 blocking-index:1"]);
    assert_eq!(at(ANY, "CREATE INDEX i ON a (b);\n"), ["p3 blocking-index:1"]);
    assert_eq!(
        at(MY, "CREATE FULLTEXT INDEX i ON a (b);\n"),
        ["p3 blocking-index:1"]
    );
    assert_eq!(at(PG, "REINDEX TABLE a;\n"), ["p2 blocking-index:1"]);
    none(MY, "CREATE INDEX i ON a (b);\n");
    none(LITE, "CREATE INDEX i ON a (b);\n");
    none(
        PG,
        "CREATE INDEX CONCURRENTLY i ON a (b);\nDROP INDEX CONCURRENTLY j;\n",
    );
    none(PG, "CREATE TABLE a (b int);\nCREATE INDEX i ON a (b);\n");
}

#[test]
fn concurrently_in_a_transaction_is_told_whoever_opens_it() {
    assert_eq!(
        at(PG, "BEGIN;\nCREATE INDEX CONCURRENTLY i ON a (b);\nCOMMIT;\n"),
        ["p1 concurrently-in-transaction:2"]
    );
    assert_eq!(
        at(ANY, "START TRANSACTION;\nDROP INDEX CONCURRENTLY i;\n"),
        ["p1 concurrently-in-transaction:2"]
    );
    assert_eq!(
        at(PG, "-- +goose Up\nCREATE INDEX CONCURRENTLY i ON a (b);\n"),
        ["p1 concurrently-in-transaction:2"]
    );
    assert_eq!(
        at(PG, "-- migrate:up\nCREATE INDEX CONCURRENTLY i ON a (b);\n"),
        ["p1 concurrently-in-transaction:2"]
    );
    none(
        PG,
        "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY i ON a (b);\n",
    );
    none(
        PG,
        "-- migrate:up transaction:false\nCREATE INDEX CONCURRENTLY i ON a (b);\n",
    );
    none(PG, "BEGIN;\nCOMMIT;\nCREATE INDEX CONCURRENTLY i ON a (b);\n");
}

#[test]
fn a_type_that_may_not_hold_what_is_there_is_told() {
    assert_eq!(
        at(PG, "ALTER TABLE a ALTER COLUMN b TYPE varchar(10);\n"),
        ["p2 type-change:1"]
    );
    assert_eq!(
        at(PG, "ALTER TABLE a ALTER b SET DATA TYPE int USING b::int;\n"),
        ["p2 type-change:1"]
    );
    assert_eq!(
        at(PG, "ALTER TABLE a ALTER COLUMN b TYPE bigint;\n"),
        ["p3 type-change:1"]
    );
    assert_eq!(at(MY, "ALTER TABLE a MODIFY b smallint;\n"), ["p2 type-change:1"]);
    assert_eq!(
        at(MY, "ALTER TABLE a CHANGE b b char(3) NOT NULL;\n"),
        ["p2 type-change:1"]
    );
    none(
        PG,
        "ALTER TABLE a ALTER COLUMN b TYPE text;\nALTER TABLE a ALTER b TYPE varchar;\n",
    );
    none(MY, "ALTER TABLE a MODIFY COLUMN b bigint;\n");
    none(
        PG,
        "ALTER TABLE a ADD b int;\nALTER TABLE a ALTER b TYPE smallint;\n",
    );
}

#[test]
fn a_constraint_that_is_checked_under_a_lock_is_told() {
    assert_eq!(
        at(
            PG,
            "ALTER TABLE a ADD CONSTRAINT c FOREIGN KEY (b) REFERENCES d (e);\n"
        ),
        ["p2 constraint-not-valid:1"]
    );
    assert_eq!(
        at(PG, "ALTER TABLE a ADD CHECK (b > 0);\n"),
        ["p2 constraint-not-valid:1"]
    );
    assert_eq!(
        at(PG, "ALTER TABLE a ADD CONSTRAINT c UNIQUE (b);\n"),
        ["p2 constraint-not-valid:1"]
    );
    assert_eq!(
        at(ANY, "ALTER TABLE a ADD PRIMARY KEY (b);\n"),
        ["p3 constraint-not-valid:1"]
    );
    none(
        PG,
        "ALTER TABLE a ADD CONSTRAINT c CHECK (b > 0) NOT VALID;\nALTER TABLE a VALIDATE CONSTRAINT c;\n",
    );
    none(PG, "ALTER TABLE a ADD CONSTRAINT c UNIQUE USING INDEX i;\n");
    none(
        MY,
        "ALTER TABLE a ADD CONSTRAINT c FOREIGN KEY (b) REFERENCES d (e), ADD INDEX i (b);\n",
    );
    none(
        PG,
        "CREATE TABLE a (b int);\nALTER TABLE a ADD FOREIGN KEY (b) REFERENCES d (e);\n",
    );
}

#[test]
fn a_name_that_old_code_still_uses_is_told() {
    for (path, sql) in [
        (PG, "ALTER TABLE a RENAME TO b;\n"),
        (PG, "ALTER TABLE a RENAME COLUMN b TO c;\n"),
        (PG, "ALTER TABLE a RENAME b TO c;\n"),
        (LITE, "ALTER TABLE a RENAME COLUMN b TO c;\n"),
        (MY, "ALTER TABLE a RENAME AS b;\n"),
        (MY, "ALTER TABLE a CHANGE COLUMN b c int;\n"),
        (MY, "RENAME TABLE a TO b;\n"),
    ] {
        assert_eq!(at(path, sql), ["p2 rename:1"], "{sql}");
    }
    none(
        PG,
        "ALTER TABLE a RENAME CONSTRAINT b TO c;\nALTER INDEX a RENAME TO b;\n",
    );
    none(MY, "ALTER TABLE a RENAME INDEX b TO c;\n");
    none(
        PG,
        "ALTER TABLE a ADD b int;\nALTER TABLE a RENAME COLUMN b TO c;\n",
    );
}

#[test]
fn what_undoes_a_migration_may_drop() {
    for path in [
        "migrations/1_x/down.sql",
        "migrations/1_x.down.sql",
        "migrations/U1__x.sql",
        "migrations/rollback/1.sql",
    ] {
        none(path, "DROP TABLE a;\n");
    }
    assert_eq!(
        at("migrations/1_x/up.sql", "DROP TABLE a;\n"),
        ["p1 drop-table:1"]
    );
    for (up, down) in [
        ("-- +goose Up", "-- +goose Down"),
        ("-- migrate:up", "-- migrate:down"),
        ("-- +migrate Up", "-- +migrate Down"),
    ] {
        let sql = format!("{up}\nCREATE TABLE a (b int);\n{down}\nDROP TABLE a;\nDROP TABLE b;\n");
        none(ANY, &sql);
        let sql = format!("{down}\nDROP TABLE b;\n{up}\nDROP TABLE c;\n");
        assert_eq!(at(ANY, &sql), ["p1 drop-table:4"]);
    }
}

#[test]
fn a_table_that_an_earlier_new_migration_makes_is_new_and_a_later_one_is_not() {
    let two = |first: &str, second: &str| {
        found(
            &Migrations,
            &TextChange::new()
                .adding("db/pg/migrations/1_a.sql", first)
                .adding("db/pg/migrations/2_b.sql", second),
        )
    };
    assert_eq!(
        two(
            "CREATE TABLE a (b int);\n",
            "CREATE INDEX i ON a (b);\nALTER TABLE a ADD c int NOT NULL;\n"
        ),
        [""; 0]
    );
    assert_eq!(
        two("DROP TABLE a;\n", "CREATE TABLE a (b int);\n"),
        ["p1 migrations/drop-table db/pg/migrations/1_a.sql:1"]
    );
}

#[test]
fn only_lines_of_the_change_are_judged() {
    let before = "DROP TABLE a;\n\nALTER TABLE b\n  DROP COLUMN c;\n";
    let after = "DROP TABLE a;\nSELECT 1;\n\nALTER TABLE b\n  DROP COLUMN c;\n";
    let change = TextChange::new().changing(PG, before, after);
    assert_eq!(found(&Migrations, &change), [""; 0]);
    let after = "DROP TABLE a;\n\nALTER TABLE b\n  ADD x int,\n  DROP COLUMN c;\n";
    let change = TextChange::new().changing(PG, before, after);
    assert_eq!(found(&Migrations, &change), [""; 0]);
    let after = "DROP TABLE a;\n\nALTER TABLE d\n  DROP COLUMN c;\n";
    let change = TextChange::new().changing(PG, before, after);
    assert_eq!(
        found(&Migrations, &change),
        [format!("p1 migrations/drop-column {PG}:3")]
    );
}

#[test]
fn comments_strings_and_bodies_are_no_statements() {
    none(
        PG,
        "-- DROP TABLE a;\n/* DROP TABLE a; /* DROP TABLE b; */ DROP TABLE c; */\n",
    );
    none(PG, "INSERT INTO a VALUES ('x''; DROP TABLE a; --');\n");
    none(PG, "INSERT INTO a VALUES (E'\\'; DROP TABLE a; --');\n");
    none(
        MY,
        "INSERT INTO a VALUES ('\\'; DROP TABLE a; --');\n# DROP TABLE b;\n",
    );
    none(
        PG,
        "CREATE FUNCTION f() RETURNS void AS $x$ BEGIN DELETE FROM a; $y$ END $x$ LANGUAGE plpgsql;\n",
    );
    none(
        LITE,
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n DELETE FROM b;\n UPDATE c SET d = CASE WHEN 1 THEN 2 END;\n TRUNCATE e;\nEND;\n",
    );
    none(
        MY,
        "DELIMITER $$\nCREATE PROCEDURE p()\nBEGIN\n  IF 1 THEN DELETE FROM a; END IF;\n  DROP TABLE b;\nEND$$\nDELIMITER ;\n",
    );
    none(
        MY,
        "CREATE DEFINER=`x`@`y` TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN DELETE FROM b; END;\n",
    );
    none(PG, "COPY a FROM stdin;\n1\tDROP TABLE a;\n'\n\\.\n");
}

#[test]
fn nothing_hides_behind_a_comment_or_a_body() {
    // MySQL comments do not nest, and some of them are code.
    assert_eq!(at(MY, "/* /* */ DROP TABLE a; -- */\n"), ["p1 drop-table:1"]);
    assert_eq!(at(MY, "/*!50000 DROP TABLE a */;\n"), ["p1 drop-table:1"]);
    assert_eq!(at(PG, "SELECT '\\'; DROP TABLE a; --'\n"), ["p1 drop-table:1"]);
    assert_eq!(at(MY, "SELECT 1 --1;\n;DROP TABLE a;\n"), ["p1 drop-table:2"]);
    assert_eq!(
        at(
            LITE,
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END;\nDROP TABLE b;\n"
        ),
        ["p1 drop-table:2"]
    );
    assert_eq!(
        at(
            MY,
            "DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END//\nDELIMITER ;\nDROP TABLE b;\n"
        ),
        ["p1 drop-table:4"]
    );
    assert_eq!(
        at(
            PG,
            "DO $$\nBEGIN\n  IF EXISTS (SELECT 1) THEN\n    ALTER TABLE a DROP COLUMN b;\n  END IF;\nEND $$;\n"
        ),
        ["p1 drop-column:4"]
    );
    assert_eq!(
        at(PG, "COPY a FROM stdin;\n1\n\\.\nDROP TABLE a;\n"),
        ["p1 drop-table:4"]
    );
}

#[test]
fn text_without_an_end_makes_the_axis_partial() {
    for sql in ["SELECT 'x;\nDROP TABLE a;\n", "/* x", "SELECT $$ x", "SELECT \"x"] {
        let change = TextChange::new().adding(PG, sql);
        assert_eq!(
            report(&Migrations, &change).state,
            ContributionState::Partial,
            "{sql}"
        );
    }
    // It ends in MySQL.
    let change = TextChange::new().adding(ANY, "SELECT '\\'';\nDROP TABLE a;\n");
    assert_eq!(report(&Migrations, &change).state, ContributionState::Complete);
    assert_eq!(found(&Migrations, &change).len(), 1);
    let hidden = TextChange::new().adding(ANY, "x").with(|f| f.binary = true);
    assert_eq!(report(&Migrations, &hidden).state, ContributionState::Partial);
    let other = TextChange::new()
        .adding("a.sql", "x")
        .with(|f| f.unseen = Some("too large".into()));
    assert_eq!(report(&Migrations, &other).state, ContributionState::Complete);
}

#[test]
fn prismas_lock_names_the_dialect() {
    let change = |provider: &str| {
        TextChange::new()
            .adding(
                "prisma/migrations/1_x/migration.sql",
                "CREATE INDEX i ON a (b);\n",
            )
            .keeping(
                "prisma/migrations/migration_lock.toml",
                format!("provider = \"{provider}\"\n"),
            )
    };
    assert_eq!(found(&Migrations, &change("postgresql")).len(), 1);
    assert_eq!(found(&Migrations, &change("sqlite")), [""; 0]);
}

#[test]
fn a_removed_migration_and_a_moved_one_say_nothing() {
    assert_eq!(
        found(&Migrations, &TextChange::new().removing(PG, "DROP TABLE a;\n")),
        [""; 0]
    );
    let moved = TextChange::new().between(PG, FileStatus::Renamed, b"DROP TABLE a;\n", b"DROP TABLE a;\n");
    assert_eq!(found(&Migrations, &moved), [""; 0]);
}

#[test]
fn hostile_text_is_read_in_one_go() {
    for piece in [
        "(",
        "/*",
        "'",
        "$a$",
        "$a",
        "BEGIN ",
        "CREATE TRIGGER BEGIN ",
        "WITH a AS (DELETE ",
        "ALTER TABLE a ",
        ",",
        "\"",
        "`",
        "--\n",
        "DO $$",
        "DELIMITER $\n",
    ] {
        let sql = piece.repeat(200_000 / piece.len());
        for path in [PG, MY, LITE, ANY] {
            let _ = report(&Migrations, &TextChange::new().adding(path, &sql));
        }
    }
}

proptest! {
    #[test]
    fn anything_can_be_read(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        words in proptest::collection::vec(proptest::sample::select(vec![
            "ALTER", "TABLE", "a", "DROP", "COLUMN", "ADD", "(", ")", ",", ";", "CREATE", "INDEX", "ON", "BEGIN", "END",
            "CASE", "IF", "EXISTS", "NOT", "NULL", "WITH", "DELETE", "FROM", "UPDATE", "SET", "WHERE", "=", "1", "$$", "'",
            "\"", "`", "/*", "*/", "--", "\n", "DELIMITER", "//", "RENAME", "TO", "CHANGE", "MODIFY", "TYPE", ".", "[", "]",
            "DO", "THEN", "TRIGGER", "CONCURRENTLY", "REINDEX", "TRUNCATE", "/*!", "\\", "CONSTRAINT", "int", "varchar", "#",
        ]), 0..40),
        gap in proptest::sample::select(vec!["", " ", "\n"]),
    ) {
        for path in [PG, MY, LITE, ANY] {
            let _ = found(&Migrations, &TextChange::new().adding(path, &bytes));
            let _ = found(&Migrations, &TextChange::new().adding(path, words.join(gap)));
        }
    }
}
