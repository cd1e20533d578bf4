//! What the store's claims and lists take with a thousand findings and with a million.
//!
//! ```sh
//! cargo bench --profile ci-release --bench flat_cost
//! ```
//!
//! Two SQLite databases, asked by turns so that whatever else the machine does falls on
//! both. Medians of many calls, each in a transaction of its own; the last column is the
//! ratio, wanted at most 1.5. That no call grows with rows of others is held, on Postgres
//! too, by `tests/store/cost.rs`, which counts steps and rows instead of time.
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
    let Db::Lite { write, .. } = db else {
        unreachable!("it is SQLite")
    };
    let sql = sqlx::AssertSqlSafe(sql);
    sqlx::raw_sql(sql).execute(write).await.unwrap();
}

/// Fills the tables up: findings, and the spaces, passes and deliveries they came with.
async fn fill(db: &Db, to: u64) {
    let from = 0;
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
    // One statement of a million rows leaves a log of its size, which no server ever has.
    sql(db, "PRAGMA wal_checkpoint(TRUNCATE)".into()).await;
}

/// The median of each call, in either database.
async fn measure(both: &[Db; 2]) -> BTreeMap<&'static str, [Duration; 2]> {
    let mut medians = BTreeMap::new();
    macro_rules! time {
        ($name:literal, $begin:ident, $tx:ident => $call:expr) => {{
            let mut took = [Vec::with_capacity(CALLS), Vec::with_capacity(CALLS)];
            for _ in 0..CALLS {
                for (db, took) in both.iter().zip(&mut took) {
                    let mut own = db.$begin().await.unwrap();
                    let begun = Instant::now();
                    let $tx = &mut own;
                    $call.await.unwrap();
                    took.push(begun.elapsed());
                }
            }
            let medians_of = took.map(|mut took| {
                took.sort_unstable();
                took[CALLS / 2]
            });
            medians.insert($name, medians_of);
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

/// A database with so many findings, a delivery that waits and ten jobs.
async fn filled(place: &std::path::Path, findings: u64) -> Db {
    let db = Db::open(place.to_str().unwrap(), Schema::Migrate).await.unwrap();
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
    fill(&db, findings).await;
    db
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let both = [
        filled(&folder.path().join("few.db"), 1_000).await,
        filled(&folder.path().join("many.db"), 1_000_000).await,
    ];
    println!(
        "{:<30} {:>12} {:>12} {:>6}",
        "median of a call, us", "1,000", "1,000,000", "ratio"
    );
    for (name, medians) in measure(&both).await {
        let [few, many] = medians.map(|d| d.as_secs_f64() * 1e6);
        println!("{name:<30} {few:>12.0} {many:>12.0} {:>6.2}", many / few);
    }
}
