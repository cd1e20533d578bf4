//! `ALTER TABLE`, action by action.

use crate::domain::review::finding::Priority;

use super::{
    rules::{Judge, short},
    statements::{has, is, name, parts, skip, skip_if},
    tokens::{Dialect, Kind, Token},
};

pub(super) const RENAME: (Priority, f64) = (Priority::P2, 0.75);
pub(super) const RENAME_BODY: &str = "Code that still runs while this is rolled out uses the old name and fails. Add the new \
                                      one, move the code over, and drop the old one in a later release.";

/// Judges `ALTER TABLE name action, action …`.
pub(super) fn table(judge: &mut Judge<'_>, s: &[Token<'_>]) {
    let at = skip_if(s, 2);
    let at = skip(s, at, &["only"]);
    let Some((table, mut at)) = name(s, at) else {
        return;
    };
    if s.get(at).is_some_and(|t| t.sign(b'*')) {
        at += 1;
    }
    if judge.is_new(&table) {
        if is(s, at, "rename")
            && let Some((to, _)) = name(s, skip(s, at + 1, &["to"]))
        {
            let surely = judge.created.get(&table).copied().unwrap_or(true);
            judge.created.insert(to, surely);
        }
        return;
    }
    for action in parts(&s[at..]) {
        let Some(first) = action.first() else { continue };
        if first.is("drop") {
            drops(judge, &table, action, s);
        } else if first.is("truncate") && is(action, 1, "partition") {
            partition(judge, &table, action, s);
        } else if first.is("add") {
            adds(judge, &table, action, s);
        } else if first.is("alter") {
            alters(judge, &table, action, s);
        } else if first.is("modify") {
            let at = skip(action, 1, &["column"]);
            if let Some((column, at)) = name(action, at) {
                retyped(judge, &table, &column, &action[at..], action, s);
            }
        } else if first.is("change") {
            changes(judge, &table, action, s);
        } else if first.is("rename") {
            renames(judge, &table, action, s);
        }
    }
}

fn partition(judge: &mut Judge<'_>, table: &str, action: &[Token<'_>], s: &[Token<'_>]) {
    judge.hit(
        "drop-table",
        (Priority::P1, 0.85),
        format!("This empties a partition of {}", short(table)),
        "Its rows are lost. If that is meant, say so in the change and take a backup first.",
        action,
        s,
    );
}

fn drops(judge: &mut Judge<'_>, table: &str, action: &[Token<'_>], s: &[Token<'_>]) {
    if is(action, 1, "partition") {
        partition(judge, table, action, s);
        return;
    }
    let named = is(action, 1, "column");
    let kept = [
        "constraint",
        "check",
        "foreign",
        "index",
        "key",
        "primary",
        "period",
        "system",
        "default",
        "not",
        "expression",
        "identity",
    ];
    if !named && action.get(1).is_none_or(|t| t.is_one_of(&kept)) {
        return;
    }
    let at = skip_if(action, if named { 2 } else { 1 });
    let Some((column, _)) = name(action, at) else {
        return;
    };
    if judge.columns.contains(&format!("{table}.{column}")) {
        return;
    }
    judge.hit(
        "drop-column",
        (Priority::P1, 0.85),
        format!("This drops the column {} of {}", short(&column), short(table)),
        "What stands in it is lost, and code that still runs while this is rolled out fails. Stop using it in one release, \
         and drop it in a later one.",
        action,
        s,
    );
}

/// Words by which a column comes to a value for the rows that are there.
fn has_value(definition: &[Token<'_>]) -> bool {
    let given = [
        "default",
        "generated",
        "identity",
        "auto_increment",
        "autoincrement",
        "serial",
        "bigserial",
        "smallserial",
        "serial2",
        "serial4",
        "serial8",
        "as",
        "rowversion",
    ];
    definition.iter().any(|t| t.is_one_of(&given))
}

fn adds(judge: &mut Judge<'_>, table: &str, action: &[Token<'_>], s: &[Token<'_>]) {
    let at = skip(action, 1, &["column"]);
    let at = skip_if(action, at);
    let Some(next) = action.get(at) else { return };
    if next.is_one_of(&["constraint", "foreign", "check", "unique", "primary", "exclude"]) {
        constraint(judge, table, action, s);
        return;
    }
    if next.is_one_of(&[
        "index",
        "key",
        "fulltext",
        "spatial",
        "partition",
        "period",
        "system",
    ]) && at == 1
    {
        return;
    }
    // MySQL adds several at once in parentheses.
    if next.sign(b'(') {
        let inside = &action[at + 1..action.len() - usize::from(action.last().is_some_and(|t| t.sign(b')')))];
        for column in parts(inside) {
            column_added(judge, table, column, s);
        }
        return;
    }
    column_added(judge, table, &action[at..], s);
}

fn column_added(judge: &mut Judge<'_>, table: &str, definition: &[Token<'_>], s: &[Token<'_>]) {
    let Some((column, _)) = name(definition, 0) else {
        return;
    };
    if judge.columns.len() < 20_000 {
        judge.columns.insert(format!("{table}.{column}"));
    }
    let required = has(definition, &["not", "null"]) || has(definition, &["primary", "key"]);
    if !required || has_value(definition) {
        return;
    }
    let (weight, body) = match judge.dialect {
        Dialect::MySql => (
            (Priority::P2, 0.7),
            "MySQL gives the rows that are there an empty value of the type (0, '') without a word. Write the `DEFAULT` that \
             is meant, or add the column as nullable and fill it.",
        ),
        _ => (
            (Priority::P1, 0.85),
            "It fails as soon as the table has a row. Give a `DEFAULT`, or add the column as nullable, fill it, and set \
             `NOT NULL` afterwards.",
        ),
    };
    judge.hit(
        "not-null-without-default",
        weight,
        format!(
            "The new column {} of {} is NOT NULL and has no default",
            short(&column),
            short(table)
        ),
        body,
        definition,
        s,
    );
}

fn constraint(judge: &mut Judge<'_>, table: &str, action: &[Token<'_>], s: &[Token<'_>]) {
    let weight = match judge.dialect {
        Dialect::Postgres => (Priority::P2, 0.75),
        Dialect::Unknown => (Priority::P3, 0.5),
        Dialect::MySql | Dialect::Sqlite => return,
    };
    if has(action, &["not", "valid"]) || has(action, &["using", "index"]) {
        return;
    }
    let checks = action.iter().take(6).any(|t| t.is_one_of(&["foreign", "check"]));
    let body = if checks {
        "PostgreSQL reads every row under a lock to check it, and writes wait. Add it `NOT VALID`, and `VALIDATE CONSTRAINT` \
         in a later step."
    } else {
        "PostgreSQL builds its index under a lock, and nobody can use the table meanwhile. Build the index `CONCURRENTLY`, \
         and add the constraint `USING INDEX`."
    };
    judge.hit(
        "constraint-not-valid",
        weight,
        format!("Adding this constraint blocks {}", short(table)),
        body,
        action,
        s,
    );
}

fn alters(judge: &mut Judge<'_>, table: &str, action: &[Token<'_>], s: &[Token<'_>]) {
    if action
        .get(1)
        .is_some_and(|t| t.is_one_of(&["constraint", "index", "check"]))
    {
        return;
    }
    let at = skip(action, 1, &["column"]);
    let Some((column, at)) = name(action, at) else {
        return;
    };
    if judge.columns.contains(&format!("{table}.{column}")) {
        return;
    }
    if is(action, at, "type") {
        retyped(judge, table, &column, &action[at + 1..], action, s);
    } else if is(action, at, "set") && is(action, at + 1, "data") && is(action, at + 2, "type") {
        retyped(judge, table, &column, &action[at + 3..], action, s);
    } else if is(action, at, "set") && is(action, at + 1, "not") && is(action, at + 2, "null") {
        judge.hit(
            "set-not-null",
            (Priority::P2, 0.6),
            format!("{} of {} becomes NOT NULL", short(&column), short(table)),
            "It fails if a row has none, and every row is read under a lock that stops everybody. Fill the gaps first, and \
             add `CHECK (… IS NOT NULL) NOT VALID`, validate it, then set `NOT NULL`.",
            action,
            s,
        );
    }
}

/// Whether values of other types may not fit: the type and its size.
fn is_narrow(kind: &[Token<'_>]) -> bool {
    let Some(first) = kind.first() else { return false };
    let sized = kind.iter().take(4).any(|t| t.sign(b'('));
    first.is_one_of(&[
        "smallint",
        "tinyint",
        "mediumint",
        "int",
        "integer",
        "int2",
        "int4",
        "real",
        "float",
        "float4",
        "date",
        "time",
        "boolean",
        "bool",
        "bit",
    ]) || (sized
        && first.is_one_of(&[
            "varchar",
            "char",
            "character",
            "nvarchar",
            "nchar",
            "bpchar",
            "numeric",
            "decimal",
            "varbinary",
            "binary",
        ]))
}

/// Types that a column takes without being written anew.
fn is_widest(kind: &[Token<'_>]) -> bool {
    kind.first().is_some_and(|t| {
        t.is_one_of(&[
            "text",
            "citext",
            "varchar",
            "character",
            "numeric",
            "decimal",
            "longtext",
            "mediumtext",
            "longblob",
        ])
    })
}

fn retyped(
    judge: &mut Judge<'_>,
    table: &str,
    column: &str,
    kind: &[Token<'_>],
    action: &[Token<'_>],
    s: &[Token<'_>],
) {
    let (weight, body) = if is_narrow(kind) {
        (
            (Priority::P2, 0.55),
            "Values that the new type does not hold are cut off or make it fail, and the table may be written anew under a \
             lock. Look at the largest value first, or fill a new column and switch over.",
        )
    } else if judge.dialect == Dialect::Postgres && !is_widest(kind) {
        (
            (Priority::P3, 0.6),
            "PostgreSQL may write the whole table anew under a lock that stops everybody. Fill a new column in batches and \
             switch over where the table is large.",
        )
    } else {
        return;
    };
    let shown: Vec<String> = kind
        .iter()
        .take_while(|t| t.kind != Kind::Sign(b'(') && t.line == kind.first().map_or(0, |f| f.line))
        .take(2)
        .map(|t| String::from_utf8_lossy(t.text).into_owned())
        .collect();
    judge.hit(
        "type-change",
        weight,
        format!(
            "{} of {} becomes {}",
            short(column),
            short(table),
            short(&shown.join(" "))
        ),
        body,
        action,
        s,
    );
}

/// `CHANGE [COLUMN] old new type …` of MySQL.
fn changes(judge: &mut Judge<'_>, table: &str, action: &[Token<'_>], s: &[Token<'_>]) {
    let at = skip(action, 1, &["column"]);
    let Some((old, at)) = name(action, at) else { return };
    let Some((new, at)) = name(action, at) else { return };
    if old != new {
        judge.hit(
            "rename",
            RENAME,
            format!("This renames the column {} of {}", short(&old), short(table)),
            RENAME_BODY,
            action,
            s,
        );
    } else {
        retyped(judge, table, &new, &action[at..], action, s);
    }
}

fn renames(judge: &mut Judge<'_>, table: &str, action: &[Token<'_>], s: &[Token<'_>]) {
    if action
        .get(1)
        .is_none_or(|t| t.is_one_of(&["constraint", "index", "key"]))
    {
        return;
    }
    let column = is(action, 1, "column") || !action[1].is_one_of(&["to", "as"]) && is(action, 2, "to");
    let title = if column {
        let at = skip(action, 1, &["column"]);
        let Some((column, _)) = name(action, at) else {
            return;
        };
        if judge.columns.contains(&format!("{table}.{column}")) {
            return;
        }
        format!("This renames the column {} of {}", short(&column), short(table))
    } else {
        format!("This renames the table {}", short(table))
    };
    judge.hit("rename", RENAME, title, RENAME_BODY, action, s);
}
