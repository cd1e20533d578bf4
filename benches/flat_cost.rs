//! What the store's claims and lists take with a thousand findings and with a million.
//!
//! ```sh
//! cargo bench --profile ci-release --bench flat_cost
//! ```
//!
//! SQLite in a temporary folder, or Postgres with `JURY_BENCH_POSTGRES=postgres://…` (an
//! empty database, which is filled). Medians of many calls, each in a transaction of its
//! own; the last column is the ratio, wanted at most 1.5. That no call grows with rows of
//! others is held by `tests/store/cost.rs`, which counts steps and rows instead of time.
#![allow(missing_docs, reason = "a benchmark")]
#![allow(clippy::unwrap_used, reason = "a benchmark")]
#![allow(clippy::print_stdout, reason = "a benchmark")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use jury::{
    domain::{
        ids::{PassId, RepoId, SpaceId, WorkspaceId},
        time::Timestamp,
    },
    store::{Db, JobKind, Schema, Task},
};

const CALLS: usize = 501;
/// How many findings a space has, in both sizes.
const EACH: u64 = 20;

async fn sql(db: &Db, sql: String) {
    let sql = sqlx::AssertSqlSafe(sql);
    match db {
        Db::Lite { write, .. } => drop(sqlx::raw_sql(sql).execute(write).await.unwrap()),
        Db::Pg(pool) => drop(sqlx::raw_sql(sql).execute(pool).await.unwrap()),
    }
}

/// Fills the tables up: findings `from..to` and the spaces, passes and deliveries they came with.
async fn fill(db: &Db, from: u64, to: u64) {
    let rows = |insert: &str, from: u64, to: u64, select: &str| {
        format!(
            "INSERT INTO {insert} WITH RECURSIVE n(i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {to}) \
             SELECT {select} FROM n;"
        )
    };
    let zero = "'0000000000000000000000000000000000000000'";
    let (first, last) = (from / EACH, to / EACH);
    let space = format!(
        "'s' || i, 'w', 'pull_request', 'review', 1, 1, 2, i, 'A title', 'open', FALSE, {zero}, 'main', {zero}, FALSE, '', 1"
    );
    sql(
        db,
        rows(
            "space (id, workspace, kind, mode, rev, created_at, repo, number, title, state, draft, head, base_ref, base, \
             by_app, html_url, updated_at)",
            first,
            last,
            &space,
        ),
    )
    .await;
    let pass = format!("'p' || i, 's' || i, 1, 'review', {zero}, 1, 1, 'superseded'");
    sql(
        db,
        rows(
            "pass (id, space, rev, origin, head, started_at, deadline_at, outcome)",
            first,
            last,
            &pass,
        ),
    )
    .await;
    let finding = format!(
        "'f' || i, 'w', 's' || (i / {EACH}), 'p' || (i / {EACH}), 'p' || (i / {EACH}), 'print' || i, 'bug', 'p1', 0.9, \
         'security', 'A title of a usual length', 'A body that says in a sentence or two what is wrong.', 'rule:x', \
         'analyzer:x', CASE WHEN i % 2 = 0 THEN 'open' ELSE 'resolved' END, 1, FALSE, i"
    );
    sql(
        db,
        rows(
            "finding (id, workspace, space, first_pass, last_pass, fingerprint, kind, priority, confidence, axis, title, \
             body, provenance, author, status, status_at, advisory, filed_at)",
            from,
            to,
            &finding,
        ),
    )
    .await;
    let done = "'d' || i, i, 'push', 1, 'done', 1, 0";
    sql(
        db,
        rows(
            "delivery (id, seq, event, received_at, state, attempts, requeued)",
            from,
            to,
            done,
        ),
    )
    .await;
    if matches!(db, Db::Pg(_)) {
        sql(db, "ANALYZE".into()).await;
    }
}

/// The median of each call.
async fn measure(db: &Db) -> BTreeMap<&'static str, Duration> {
    let mut medians = BTreeMap::new();
    macro_rules! time {
        ($name:literal, $begin:ident, $tx:ident => $call:expr) => {{
            let mut took = Vec::with_capacity(CALLS);
            for _ in 0..CALLS {
                let mut own = db.$begin().await.unwrap();
                let begun = Instant::now();
                let $tx = &mut own;
                $call.await.unwrap();
                took.push(begun.elapsed());
            }
            took.sort_unstable();
            medians.insert($name, took[CALLS / 2]);
        }};
    }
    let (space, pass) = (SpaceId::new("s7"), PassId::new("p7"));
    let (workspace, far) = (WorkspaceId::new("w"), Timestamp(i64::MAX / 2));
    let head = "0".repeat(40).parse().unwrap();
    time!("claim_job", write, tx => tx.claim_job(far, 1, "c", JobKind::ALL));
    time!("claim_deliveries", write, tx => tx.claim_deliveries(far, 1, "c", 64));
    time!("findings of a space", read, tx => tx.findings(&space));
    time!("live findings of a space", read, tx => tx.live_findings(&space));
    time!("findings that a pass saw", read, tx => tx.findings_seen(&pass));
    time!("unpublished findings", read, tx => tx.unpublished(&space));
    time!("passes of a space", read, tx => tx.passes(&space));
    time!("latest finalized pass", read, tx => tx.latest_finalized(&space));
    time!("is a job due", read, tx => tx.is_job_due(far, JobKind::ALL));
    time!("is a delivery due", read, tx => tx.is_delivery_due(far));
    time!("unsent checks", read, tx => tx.unsent_checks(100));
    time!("unsent reviews", read, tx => tx.unsent_reviews(100));
    time!("repository", read, tx => tx.known_repo(&workspace, RepoId(2)));
    // Open pull requests on one head: none, among all those that are open.
    let other: jury::domain::ids::Sha = head;
    let elsewhere = RepoId(3);
    time!("open pull requests on a head", read, tx => tx.open_spaces_on(&workspace, elsewhere, &other));
    medians
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let place = std::env::var("JURY_BENCH_POSTGRES")
        .unwrap_or_else(|_| folder.path().join("jury.db").to_str().unwrap().to_owned());
    let db = Db::open(&place, Schema::Migrate).await.unwrap();
    sql(
        &db,
        "INSERT INTO workspace (id, host, account, login) VALUES ('w', 'forge.example', 1, 'acme');
         INSERT INTO installation (id, workspace, state) VALUES (1, 'w', 'active');
         INSERT INTO repo (workspace, id, installation, owner, name, reachable) VALUES ('w', 2, 1, 'acme', 'shop', TRUE);
         INSERT INTO delivery (id, seq, event, received_at, state, due_at, attempts, requeued)
            VALUES ('waits', 1, 'push', 1, 'queued', 1, 0, 0);"
            .into(),
    )
    .await;
    let mut tx = db.write().await.unwrap();
    for n in 0..10 {
        let task = Task::ReviewSpace(SpaceId::new(format!("waits-{n}")));
        tx.enqueue(&task, Timestamp(n)).await.unwrap();
    }
    tx.commit().await.unwrap();
    fill(&db, 0, 1_000).await;
    let few = measure(&db).await;
    fill(&db, 1_000, 1_000_000).await;
    let many = measure(&db).await;
    println!(
        "{:<30} {:>12} {:>12} {:>6}",
        "median of a call, us", "1,000", "1,000,000", "ratio"
    );
    for (name, before) in &few {
        let us = |d: &Duration| d.as_secs_f64() * 1e6;
        let (before, after) = (us(before), us(&many[name]));
        println!("{name:<30} {before:>12.0} {after:>12.0} {:>6.2}", after / before);
    }
}
