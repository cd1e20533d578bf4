//! What is dangerous in a migration, statement by statement.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::review::finding::Priority;

use super::{
    alter,
    statements::{Around, Statement, has, is, name, outside, parts, skip, skip_if, split, split_body},
    tokens::{Dialect, Kind, Lexed, Token, lex},
};

/// One dangerous place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    /// The rule without `migrations/`.
    pub(super) rule: &'static str,
    pub(super) priority: Priority,
    pub(super) confidence: f64,
    pub(super) title: String,
    pub(super) body: String,
    /// First and last line of what does it, one-based.
    pub(super) lines: (u32, u32),
    /// First line of its statement.
    pub(super) statement: u32,
}

/// Tables that the judge takes note of; the rest of a larger file is judged as if
/// they were old.
const MOST_TABLES: usize = 20_000;

/// Verbs inside one `WITH` that are judged; each is read to its end.
const VERBS: usize = 64;

/// What a loss of data weighs.
const HEAVY: (Priority, f64) = (Priority::P1, 0.9);

pub(super) struct Judge<'k> {
    pub(super) dialect: Dialect,
    /// The file.
    path: &'k str,
    /// Tables that new migrations of the change create, and the first that does.
    known: &'k BTreeMap<String, String>,
    /// Tables that the file has created so far; `false`: perhaps they were there before.
    pub(super) created: BTreeMap<String, bool>,
    /// `table.column` that the file has added so far.
    pub(super) columns: BTreeSet<String>,
    /// Old tables that are made anew by the book.
    rebuilt: BTreeSet<String>,
    pub(super) hits: Vec<Hit>,
}

/// The tables that a file creates.
pub(super) fn created(lexed: &Lexed<'_>) -> BTreeSet<String> {
    split(lexed)
        .iter()
        .filter_map(|(statement, _)| created_by(statement))
        .take(MOST_TABLES)
        .collect()
}

/// The table that a `CREATE TABLE` makes.
fn created_by(s: &[Token<'_>]) -> Option<String> {
    if !is(s, 0, "create") {
        return None;
    }
    let mut at = 1;
    while s.get(at).is_some_and(|t| {
        t.is_one_of(&[
            "or",
            "replace",
            "global",
            "local",
            "temp",
            "temporary",
            "unlogged",
            "virtual",
            "foreign",
        ])
    }) {
        at += 1;
    }
    let kind = s.get(at)?;
    if kind.is("materialized") {
        at += 1;
    } else if !kind.is("table") {
        return None;
    }
    name(s, skip_if(s, at + 1)).map(|(name, _)| name)
}

/// Judges the file at `path`. `known`: what the new migrations of the change create.
pub(super) fn judge(
    lexed: &Lexed<'_>,
    dialect: Dialect,
    path: &str,
    known: &BTreeMap<String, String>,
) -> Vec<Hit> {
    let statements = split(lexed);
    let mut judge = Judge {
        dialect,
        path,
        known,
        created: BTreeMap::new(),
        columns: BTreeSet::new(),
        rebuilt: rebuilt(&statements),
        hits: Vec::new(),
    };
    let later: BTreeSet<String> = statements.iter().filter_map(|(s, _)| created_by(s)).collect();
    for (statement, around) in &statements {
        if !around.down {
            judge.statement(statement, *around, &later, true);
        }
    }
    judge.hits
}

/// Old tables that are made anew by the book: a new table is filled from the old one,
/// the old one is dropped, and the new one takes its name.
fn rebuilt(statements: &[Statement<'_, '_>]) -> BTreeSet<String> {
    let mut created = BTreeSet::new();
    let mut filled: BTreeSet<String> = BTreeSet::new();
    let mut found = BTreeSet::new();
    for (s, _) in statements {
        if let Some(table) = created_by(s) {
            // `CREATE TABLE new AS SELECT … FROM old` fills it too.
            if has(s, &["select"]) {
                filled.insert(table.clone());
            }
            created.insert(table);
        } else if is(s, 0, "insert") && has(s, &["select"]) {
            let at = skip(s, 1, &["into"]);
            filled.extend(name(s, at).map(|(n, _)| n));
        } else if is(s, 0, "alter")
            && is(s, 1, "table")
            && let Some((from, at)) = name(s, skip_if(s, 2))
            && is(s, at, "rename")
            && let Some((to, _)) = name(s, skip(s, at + 1, &["to"]))
            && created.contains(&from)
            && filled.contains(&from)
        {
            found.insert(to);
        }
    }
    found
}

/// First and last line of some tokens.
pub(super) fn lines(tokens: &[Token<'_>]) -> (u32, u32) {
    let first = tokens.first().map_or(1, |t| t.line);
    (first, tokens.last().map_or(first, |t| t.line))
}

impl Judge<'_> {
    /// Whether nothing can stand in the table yet.
    pub(super) fn is_new(&self, table: &str) -> bool {
        self.created.contains_key(table) || self.known.get(table).is_some_and(|by| by.as_str() < self.path)
    }

    /// `weight`, or less where the table is likely new: `CREATE TABLE IF NOT EXISTS` made
    /// it, or found it. `None`: it is new.
    fn weight_of_loss(&self, table: &str, weight: (Priority, f64)) -> Option<(Priority, f64)> {
        match self.created.get(table) {
            Some(true) => None,
            Some(false) => Some((Priority::P2, 0.5)),
            None => (!self.is_new(table)).then_some(weight),
        }
    }

    pub(super) fn hit(
        &mut self,
        rule: &'static str,
        (priority, confidence): (Priority, f64),
        title: impl Into<String>,
        body: impl Into<String>,
        tokens: &[Token<'_>],
        statement: &[Token<'_>],
    ) {
        self.hits.push(Hit {
            rule,
            priority,
            confidence,
            title: title.into(),
            body: body.into(),
            lines: lines(tokens),
            statement: lines(statement).0,
        });
    }

    fn statement(&mut self, s: &[Token<'_>], around: Around, later: &BTreeSet<String>, outermost: bool) {
        let Some(first) = s.first() else { return };
        if let Some(table) = created_by(s) {
            if self.created.len() < MOST_TABLES {
                let surely = !has(&s[..s.len().min(10)], &["if", "not", "exists"]);
                self.created.insert(table, surely);
            }
            return;
        }
        if first.is("drop") {
            self.drop(s, around, later);
        } else if first.is("alter") && is(s, 1, "table") {
            alter::table(self, s);
        } else if first.is("alter") && is(s, 1, "foreign") && is(s, 2, "table") {
            alter::table(self, &s[1..]);
        } else if first.is("truncate") {
            self.truncate(s);
        } else if first.is_one_of(&["delete", "update"]) {
            self.everything(s, s);
        } else if first.is("with") {
            self.with(s);
        } else if first.is("create") {
            self.index(s, around);
        } else if first.is("reindex") {
            self.reindex(s, around);
        } else if first.is("rename") && is(s, 1, "table") {
            self.rename(s);
        } else if first.is("do") && outermost {
            let Some(body) = s.iter().find(|t| t.kind == Kind::Body) else {
                return;
            };
            let inner = lex(body.text, Dialect::Postgres, body.line);
            for statement in split_body(&inner.tokens) {
                self.statement(statement, around, later, false);
            }
        }
    }

    fn drop(&mut self, s: &[Token<'_>], around: Around, later: &BTreeSet<String>) {
        if is(s, 1, "index") && is(s, 2, "concurrently") {
            self.concurrently(s, around);
            return;
        }
        let Some(kind) = s.get(1).filter(|t| t.is_one_of(&["table", "schema", "database"])) else {
            return;
        };
        if !kind.is("table") {
            let what = if kind.is("schema") { "schema" } else { "database" };
            self.hit(
                "drop-table",
                (Priority::P1, 0.9),
                format!("This drops a whole {what}"),
                "Everything in it is lost and no later migration brings it back. Take a backup that was tried, and drop it \
                 by hand once nothing reads it.",
                s,
                s,
            );
            return;
        }
        let at = skip_if(s, 2);
        let names: Vec<String> = parts(&s[at..])
            .into_iter()
            .filter_map(|part| name(part, 0).map(|(n, _)| n))
            .collect();
        let lost: Vec<&String> = names
            .iter()
            .filter(|n| self.weight_of_loss(n, HEAVY).is_some() && !self.rebuilt.contains(*n))
            .collect();
        let Some(one) = lost.first() else { return };
        let heaviest = lost
            .iter()
            .filter_map(|n| self.weight_of_loss(n, HEAVY))
            .min_by_key(|w| w.0);
        // A script that makes everything anew begins with these.
        let anew = at > 2 && lost.iter().all(|n| later.contains(*n));
        let weight = match heaviest {
            Some(weight) if !anew => weight,
            _ => (Priority::P2, 0.6),
        };
        let title = if lost.len() == 1 {
            format!("This drops the table {}", short(one))
        } else {
            format!("This drops {} tables", lost.len())
        };
        self.hit(
            "drop-table",
            weight,
            title,
            "Its rows are lost, and code that still runs while this is rolled out fails. Stop using it in one release, and \
             drop it in a later one after a backup.",
            s,
            s,
        );
    }

    fn truncate(&mut self, s: &[Token<'_>]) {
        let at = skip(s, 1, &["table"]);
        let at = skip(s, at, &["only"]);
        let Some((table, _)) = name(s, at) else { return };
        let Some(weight) = self.weight_of_loss(&table, HEAVY) else {
            return;
        };
        self.hit(
            "truncate",
            weight,
            format!("This empties the table {}", short(&table)),
            "Every row is lost. If that is meant, say so in the change and take a backup first.",
            s,
            s,
        );
    }

    /// `DELETE` and `UPDATE` without a condition. `s` begins at the verb.
    fn everything(&mut self, s: &[Token<'_>], statement: &[Token<'_>]) {
        let deletes = is(s, 0, "delete");
        let mut at = 1;
        while s
            .get(at)
            .is_some_and(|t| t.is_one_of(&["from", "only", "low_priority", "quick", "ignore"]))
        {
            at += 1;
        }
        // `UPDATE OR REPLACE t` of SQLite.
        if is(s, at, "or") {
            at += 2;
        }
        let Some((table, after)) = name(s, at) else { return };
        let set = outside(s, after, &["set"]);
        let heavy = if deletes {
            (Priority::P1, 0.85)
        } else {
            (Priority::P2, 0.7)
        };
        let Some(weight) = self.weight_of_loss(&table, heavy) else {
            return;
        };
        if !deletes && set.is_none() {
            return;
        }
        if outside(s, after, &["join", "using", "limit"]).is_some()
            || (!deletes && outside(s, after, &["from"]).is_some())
        {
            return;
        }
        if let Some(condition) = outside(s, after, &["where"])
            && !always_true(&s[condition + 1..])
        {
            return;
        }
        let end = outside(s, after, &["where", "returning", "order"]).unwrap_or(s.len());
        if deletes {
            self.hit(
                "delete-all",
                weight,
                format!("This deletes every row of {}", short(&table)),
                "There is no condition. Add the `WHERE` that is meant; if it is all of them, say so and take a backup first.",
                s,
                statement,
            );
            return;
        }
        let set = set.unwrap_or(after);
        let fills_new = parts(&s[set + 1..end.max(set + 1)]).iter().all(|part| {
            name(part, 0).is_some_and(|(column, _)| {
                let column = column.rsplit('.').next().unwrap_or_default().to_owned();
                self.columns.contains(&format!("{table}.{column}"))
            })
        });
        if fills_new {
            return;
        }
        self.hit(
            "update-all",
            weight,
            format!("This rewrites every row of {}", short(&table)),
            "There is no condition: what stood there is lost, and every row stays locked until the end. Add the `WHERE` that \
             is meant, and work in batches outside the migration where there are many rows.",
            s,
            statement,
        );
    }

    /// `WITH x AS (DELETE …) …`: the verbs in and behind the parentheses.
    fn with(&mut self, s: &[Token<'_>]) {
        // A verb begins a part only behind an opening parenthesis or at the end of them all.
        let mut depth = 0i64;
        let mut verbs = 0;
        for at in 1..s.len() {
            match s[at].kind {
                Kind::Sign(b'(') => depth += 1,
                Kind::Sign(b')') => depth -= 1,
                _ => {}
            }
            let opens = s[at - 1].sign(b'(') || (depth == 0 && s[at - 1].sign(b')'));
            if opens && s[at].is_one_of(&["delete", "update"]) {
                self.everything(&s[at..], s);
                verbs += 1;
                if depth == 0 || verbs == VERBS {
                    return;
                }
            }
        }
    }

    fn index(&mut self, s: &[Token<'_>], around: Around) {
        let mut at = 1;
        while s.get(at).is_some_and(|t| {
            t.is_one_of(&[
                "unique", "fulltext", "spatial", "or", "replace", "online", "offline",
            ])
        }) {
            at += 1;
        }
        if !is(s, at, "index") {
            return;
        }
        if is(s, at + 1, "concurrently") {
            self.concurrently(s, around);
            return;
        }
        let Some(on) = outside(s, at, &["on"]) else { return };
        let Some((table, _)) = name(s, skip(s, on + 1, &["only"])) else {
            return;
        };
        if self.is_new(&table) {
            return;
        }
        let special = s[..at].iter().any(|t| t.is_one_of(&["fulltext", "spatial"]));
        let (weight, body) = match self.dialect {
            Dialect::Postgres => (
                (Priority::P2, 0.8),
                "Writes to the table wait until the index is built. Use `CREATE INDEX CONCURRENTLY`, outside a transaction.",
            ),
            Dialect::MySql if special => (
                (Priority::P3, 0.7),
                "MySQL builds such an index under a lock: writes wait until it is done. Run it when nobody writes.",
            ),
            Dialect::Unknown => (
                (Priority::P3, 0.5),
                "On PostgreSQL writes to the table wait until the index is built; `CREATE INDEX CONCURRENTLY`, outside a \
                 transaction, lets them through.",
            ),
            Dialect::MySql | Dialect::Sqlite => return,
        };
        self.hit(
            "blocking-index",
            weight,
            format!("Building this index blocks writes to {}", short(&table)),
            body,
            s,
            s,
        );
    }

    fn reindex(&mut self, s: &[Token<'_>], around: Around) {
        if s.iter().any(|t| t.is("concurrently")) {
            self.concurrently(s, around);
        } else if self.dialect == Dialect::Postgres {
            self.hit(
                "blocking-index",
                (Priority::P2, 0.75),
                "Rebuilding an index blocks writes",
                "Writes wait until it is done. Use `REINDEX … CONCURRENTLY`, outside a transaction.",
                s,
                s,
            );
        }
    }

    fn concurrently(&mut self, s: &[Token<'_>], around: Around) {
        if around.transaction {
            self.hit(
                "concurrently-in-transaction",
                (Priority::P1, 0.9),
                "`CONCURRENTLY` cannot run inside a transaction",
                "PostgreSQL refuses it and the migration fails. Put it into a migration of its own for which the tool opens \
                 no transaction.",
                s,
                s,
            );
        }
    }

    /// `RENAME TABLE a TO b, c TO d` of MySQL.
    fn rename(&mut self, s: &[Token<'_>]) {
        for part in parts(&s[2..]) {
            let Some((table, _)) = name(part, 0) else { continue };
            if !self.is_new(&table) && has(part, &["to"]) {
                self.hit(
                    "rename",
                    alter::RENAME,
                    format!("This renames the table {}", short(&table)),
                    alter::RENAME_BODY,
                    part,
                    s,
                );
            }
        }
    }
}

/// `WHERE true`, `WHERE 1`, `WHERE 1 = 1` and nothing more.
fn always_true(condition: &[Token<'_>]) -> bool {
    match condition {
        [] => true,
        [one] => one.is("true") || (one.kind == Kind::Number && one.text != b"0"),
        [left, sign, right] => {
            sign.sign(b'=') && left.kind == right.kind && left.text == right.text && left.kind != Kind::Word
        }
        _ => false,
    }
}

/// A name for a title.
pub(super) fn short(name: &str) -> String {
    crate::domain::text::truncate_chars(&crate::domain::text::visible_path(name), 80).into_owned()
}
