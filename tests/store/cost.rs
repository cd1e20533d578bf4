//! What a call costs must not grow with rows that are not its own.
//!
//! Counted, not timed: on SQLite the steps of its virtual machine, on Postgres the
//! rows that were read. Each call runs twice, before and after the tables are filled
//! with other spaces' findings, ended passes, sent checks and reviews, and deliveries
//! that are done.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use jury::{
    domain::{
        ids::{FindingId, InstallationId},
        review::{finding::Status, pass::Outcome},
        space::Space,
        time::Timestamp,
    },
    store::{CheckKey, Db, JobKind, Tx},
};

use crate::{
    home::{Home, finding, pass_snapshot, sha, snapshot, task, vote},
    stories,
};

/// Counts what a transaction costs.
enum Meter {
    Steps(Arc<AtomicI64>),
    Rows,
}

impl Meter {
    async fn new(home: &Home) -> Self {
        let Db::Lite { write, .. } = &home.db else {
            return Self::Rows;
        };
        let steps = Arc::new(AtomicI64::new(0));
        let counted = Arc::clone(&steps);
        let mut connection = write.acquire().await.unwrap();
        connection
            .lock_handle()
            .await
            .unwrap()
            .set_progress_handler(1, move || {
                counted.fetch_add(1, Ordering::Relaxed);
                true
            });
        Self::Steps(steps)
    }

    async fn read(&self, tx: &mut Tx) -> i64 {
        match (self, tx) {
            (Self::Steps(steps), _) => steps.load(Ordering::Relaxed),
            (Self::Rows, Tx::Pg(tx)) => sqlx::query_scalar(
                "SELECT CAST(COALESCE(SUM(seq_tup_read + COALESCE(idx_tup_fetch, 0)), 0) AS BIGINT) \
                 FROM pg_stat_xact_user_tables",
            )
            .fetch_one(&mut **tx)
            .await
            .unwrap(),
            (Self::Rows, Tx::Lite(_)) => unreachable!("rows are counted on Postgres"),
        }
    }
}

async fn costs(home: &Home, meter: &Meter, space: &Space) -> BTreeMap<&'static str, i64> {
    let mut costs = BTreeMap::new();
    macro_rules! cost {
        ($name:literal, $tx:ident => $call:expr) => {{
            let mut tx = home.db.write().await.unwrap();
            let before = meter.read(&mut tx).await;
            let $tx = &mut tx;
            $call.await.unwrap();
            costs.insert($name, meter.read(&mut tx).await - before);
        }};
    }
    let pass = crate::home::pass(space);
    let repo = &space.pull.repo;
    let key = CheckKey {
        workspace: repo.workspace.clone(),
        repo: repo.id,
        sha: sha('a'),
        name: "jury".into(),
    };
    let a = FindingId::new("a");
    let verdict = pass_snapshot(&[]);
    let known = finding("z", "p");
    let fresh = finding("y", "q");
    let confirm = vote(crate::home::person(1), true);
    let far = Timestamp(i64::MAX / 2);
    cost!("claim_job", tx => tx.claim_job(far, 1, "c", JobKind::ALL));
    cost!("enqueue", tx => tx.enqueue(&task("k"), Timestamp(0)));
    cost!("claim_deliveries", tx => tx.claim_deliveries(far, 1, "c", 10));
    cost!("delivery_counts", tx => tx.delivery_counts());
    cost!("findings", tx => tx.findings(&space.id));
    cost!("live_findings", tx => tx.live_findings(&space.id));
    cost!("unpublished", tx => tx.unpublished(&space.id));
    cost!("file_finding, known", tx => tx.file_finding(&space.id, &pass.id, &known));
    cost!("file_finding, new", tx => tx.file_finding(&space.id, &pass.id, &fresh));
    cost!("set_status", tx => tx.set_status(&a, Status::Disputed, Some(&pass.id), far));
    cost!("put_vote", tx => tx.put_vote(&a, &confirm, far));
    cost!("space_of", tx => tx.space_of(&space.pull));
    cost!("move_space", tx => tx.move_space(&space.id, 1, &space.snapshot));
    cost!("open_spaces_on", tx => tx.open_spaces_on(&repo.workspace, repo.id, &sha('a')));
    cost!("open_spaces_of_repo", tx => tx.open_spaces_of_repo(&repo.workspace, repo.id));
    cost!("open_spaces_of", tx => tx.open_spaces_of(repo.installation));
    cost!("repos_of", tx => tx.repos_of(repo.installation));
    cost!("pass_at", tx => tx.pass_at(&space.id, 1));
    cost!("latest_finalized", tx => tx.latest_finalized(&space.id));
    cost!("end_pass", tx => tx.end_pass(&pass, Outcome::Finalized, None, Some(&verdict), far));
    cost!("running_pass", tx => tx.running_pass(&space.id));
    cost!("spaces_to_tend", tx => tx.spaces_to_tend(100));
    cost!("is_dead", tx => tx.is_dead(&task("s")));
    cost!("release_leases", tx => tx.release_leases(far));
    cost!("contributions", tx => tx.contributions(&pass.id));
    cost!("check", tx => tx.check(&key));
    cost!("want_check", tx => tx.want_check(&key, b"new", true));
    cost!("unsent_checks", tx => tx.unsent_checks(100));
    cost!("checks_in_progress", tx => tx.checks_in_progress(100));
    cost!("reviews_of", tx => tx.reviews_of(&space.id));
    cost!("unsent_reviews", tx => tx.unsent_reviews(100));
    costs
}

/// Rows of others: `many` of each kind.
async fn crowd(home: &Home, many: u32) {
    let rows = |insert: &str, select: &str| {
        format!(
            "INSERT INTO {insert} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {many}) \
             SELECT {select} FROM n;"
        )
    };
    let zero = "'0000000000000000000000000000000000000000'";
    let byte = if home.is_sqlite() {
        "x'00'"
    } else {
        "'\\x00'::bytea"
    };
    // The same repository has many closed pull requests, one other has an open one.
    let stranger = home.room(4, 2, 1).await;
    home.pass(&stranger).await;
    home.sql(&rows(
        "space (id, workspace, kind, mode, rev, created_at, repo, number, title, state, draft, head, base_ref, base, \
         by_app, html_url, updated_at)",
        &format!(
            "'closed-' || i, 'forge.example/1', 'pull_request', 'review', 1, 1, 2, 1000 + i, '', 'closed', FALSE, \
             {zero}, 'main', {zero}, FALSE, '', 1"
        ),
    ))
    .await;
    home.sql(&rows(
        "pass (id, space, rev, origin, head, started_at, deadline_at, outcome)",
        &format!("'pass-' || i, 'closed-' || i, 1, 'review', {zero}, 1, 1, 'superseded'"),
    ))
    .await;
    home.sql(&rows(
        "finding (id, workspace, space, first_pass, last_pass, fingerprint, kind, priority, confidence, axis, title, \
         body, provenance, author, status, status_pass, status_at, advisory, filed_at)",
        "'finding-' || i, 'forge.example/1', 'closed-' || (1 + i % 100), 'pass-1', 'pass-1', 'p' || i, 'bug', 'p1', 0.9, \
         'security', '', '', 'model', 'agent:x', CASE WHEN i % 2 = 0 THEN 'open' ELSE 'resolved' END, 'pass-1', 1, \
         FALSE, 1",
    ))
    .await;
    home.sql(&rows(
        "vote (finding, voter, confirms, evidence, voted_at)",
        "'finding-' || i, 'verifier:jury', TRUE, '', 1",
    ))
    .await;
    home.sql(&rows(
        "check_run (workspace, repo, sha, name, want, want_completed, want_rev, sent_rev, completed)",
        &format!("'forge.example/1', 2, 'sha-' || i, 'jury', {byte}, TRUE, 3, 3, TRUE"),
    ))
    .await;
    home.sql(&rows(
        "review (pass, space, want, event, state)",
        &format!("'pass-' || i, 'closed-' || i, {byte}, 'COMMENT', 'sent'"),
    ))
    .await;
    home.sql(&rows(
        "delivery (id, seq, event, received_at, state, attempts, requeued)",
        "'done-' || i, i, 'push', 1, 'done', 1, 0",
    ))
    .await;
    home.sql(&rows(
        "delivery_body (id, body)",
        &format!("'done-' || i, {byte}"),
    ))
    .await;
    if !home.is_sqlite() {
        home.sql("ANALYZE").await;
    }
}

/// A space with one of everything.
async fn dwell(home: &Home) -> Space {
    let space = home.room(1, 2, 3).await;
    let pass = home.pass(&space).await;
    let mut tx = home.db.write().await.unwrap();
    tx.file_finding(&space.id, &pass.id, &finding("a", "p"))
        .await
        .unwrap();
    tx.put_vote(
        &FindingId::new("a"),
        &vote(crate::home::person(2), true),
        Timestamp(1),
    )
    .await
    .unwrap();
    tx.enqueue(&task("s"), Timestamp(0)).await.unwrap();
    let repo = &space.pull.repo;
    let key = CheckKey {
        workspace: repo.workspace.clone(),
        repo: repo.id,
        sha: sha('a'),
        name: "jury".into(),
    };
    tx.want_check(&key, b"x", false).await.unwrap();
    tx.want_review(&pass.id, &space.id, "COMMENT", b"x")
        .await
        .unwrap();
    assert_eq!(repo.installation, InstallationId(10));
    assert_eq!(space.snapshot, snapshot('a'));
    tx.commit().await.unwrap();
    space
}

stories! {
    async fn no_call_pays_for_the_rows_of_others(home) {
        let meter = Meter::new(&home).await;
        let space = dwell(&home).await;
        let alone = costs(&home, &meter, &space).await;
        crowd(&home, 20_000).await;
        let crowded = costs(&home, &meter, &space).await;
        let mut grown = Vec::new();
        for (name, before) in &alone {
            let after = crowded[name];
            // The stranger's pass and a page of the index are allowed; a scan is thousands.
            if after > before + 120 {
                grown.push(format!("{name}: {before} -> {after}"));
            }
        }
        assert_eq!(grown, [""; 0]);
        assert!(crowded.values().any(|cost| *cost > 0), "nothing was measured");
    }
}
