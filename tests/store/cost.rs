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
        event::Account,
        ids::{AccountId, CheckRunId, DeliveryId, FindingId, InstallationId, PullNumber, ReviewId, SpaceId},
        policy::Gate,
        review::{
            coverage::Coverage,
            finding::{Axis, Status},
            pass::Outcome,
            reviewer::{Contribution, ContributionState},
        },
        space::Space,
        time::Timestamp,
    },
    store::{CheckKey, Db, InstallationState, Job, JobKind, Tx},
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
    cost!("bring_forward", tx => tx.bring_forward(Timestamp(0), far, far));
    cost!("release_leases", tx => tx.release_leases(far));
    cost!("contributions", tx => tx.contributions(&pass.id));
    cost!("check", tx => tx.check(&key));
    cost!("want_check", tx => tx.want_check(&key, b"new", true));
    cost!("lock_check", tx => tx.lock_check(&key));
    cost!("stalled_checks", tx => tx.stalled_checks(100));
    cost!("unsent_checks", tx => tx.unsent_checks(100));
    cost!("checks_in_progress", tx => tx.checks_in_progress(100));
    cost!("reviews_of", tx => tx.reviews_of(&space.id));
    cost!("unsent_reviews", tx => tx.unsent_reviews(100));
    let job = Job {
        kind: JobKind::ReviewSpace,
        key: "s".into(),
        attempts: 1,
        claim: "c".into(),
    };
    cost!("is_job_due", tx => tx.is_job_due(far, JobKind::ALL));
    cost!("heartbeat", tx => tx.heartbeat(&job, far, 1));
    cost!("fence", tx => tx.fence(&job));
    cost!("finish_job", tx => tx.finish_job(&job));
    cost!("retry_job", tx => tx.retry_job(&job, far, "x"));
    cost!("bury_job", tx => tx.bury_job(&job, "x"));
    cost!("job_counts", tx => tx.job_counts());
    let (d, many) = (DeliveryId::new("d"), [DeliveryId::new("d"), DeliveryId::new("e")]);
    cost!("is_delivery_due", tx => tx.is_delivery_due(far));
    cost!("delivery", tx => tx.delivery(&d));
    cost!("requeue_delivery", tx => tx.requeue_delivery(&d, far));
    cost!("finish_delivery", tx => tx.finish_delivery(&d, "c"));
    cost!("finish_deliveries", tx => tx.finish_deliveries(&many, "c"));
    cost!("retry_delivery", tx => tx.retry_delivery(&d, "c", far, "x"));
    cost!("bury_delivery", tx => tx.bury_delivery(&d, "c", "x"));
    cost!("findings_seen", tx => tx.findings_seen(&pass.id));
    cost!("set_anchor", tx => tx.set_anchor(&a, None));
    cost!("unpublish", tx => tx.unpublish(&pass.id));
    cost!("mark_published", tx => tx.mark_published(std::slice::from_ref(&a), &pass.id));
    cost!("open_pass", tx => tx.open_pass(&pass));
    cost!("pass", tx => tx.pass(&pass.id));
    cost!("passes", tx => tx.passes(&space.id));
    cost!("record_gathered", tx => tx.record_gathered(&pass.id, &sha('b'), Gate::Required, &Coverage::default()));
    cost!("prolong_pass", tx => tx.prolong_pass(&pass, 1));
    let said = Contribution {
        reviewer: "secrets".into(),
        axis: Axis::Security,
        state: ContributionState::Complete,
        note: None,
    };
    cost!("put_contribution", tx => tx.put_contribution(&pass.id, &said));
    cost!("want_review", tx => tx.want_review(&pass.id, &space.id, "COMMENT", b"y"));
    cost!("review", tx => tx.review(&pass.id));
    cost!("intend_review", tx => tx.intend_review(&pass.id, far));
    cost!("forget_review_intent", tx => tx.forget_review_intent(&pass.id));
    cost!("sent_review", tx => tx.sent_review(&pass.id, ReviewId(1)));
    cost!("drop_review", tx => tx.drop_review(&pass.id, "x"));
    cost!("dismissed_review", tx => tx.dismissed_review(&pass.id, far));
    cost!("stuck_review", tx => tx.stuck_review(&pass.id, "x"));
    cost!("intend_check", tx => tx.intend_check(&key, Some("x"), far));
    cost!("forget_check_intent", tx => tx.forget_check_intent(&key));
    cost!("sent_check", tx => tx.sent_check(&key, 1, CheckRunId(1), true, true));
    cost!("space", tx => tx.space(&space.id));
    cost!("refresh_space", tx => tx.refresh_space(&space.id, 1, &space.snapshot));
    cost!("bump_space", tx => tx.bump_space(&space.id));
    let mut another = space.clone();
    (another.id, another.pull.number) = (SpaceId::new("another"), PullNumber(9));
    cost!("insert_space", tx => tx.insert_space(&another, far));
    let account = Account {
        id: AccountId(1),
        login: "other".into(),
    };
    cost!("upsert_workspace", tx => tx.upsert_workspace(&repo.workspace, "forge.example", &account));
    cost!("put_installation", tx => tx.put_installation(repo.installation, &repo.workspace, InstallationState::Active));
    cost!("installation", tx => tx.installation(repo.installation));
    cost!("upsert_repo", tx => tx.upsert_repo(repo));
    cost!("known_repo", tx => tx.known_repo(&repo.workspace, repo.id));
    cost!("repo", tx => tx.repo(&repo.workspace, repo.id));
    cost!("forget_repos", tx => tx.forget_repos(repo.installation, &[repo.id]));
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

/// What is not counted above, and why its cost is bounded all the same.
const NOT_COUNTED: &[(&str, &str)] = &[
    (
        "purge_deliveries",
        "it deletes 1000 at most, and is there to be paid for",
    ),
    ("server_key", "its table has one row"),
];

/// Every call of the store is counted above, so that a new one cannot forget its index.
#[test]
fn every_call_of_the_store_is_counted() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut calls = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for item in syn::parse_file(&source).unwrap().items {
            let syn::Item::Impl(block) = item else { continue };
            if !matches!(&*block.self_ty, syn::Type::Path(path) if path.path.is_ident("Tx")) {
                continue;
            }
            calls.extend(block.items.into_iter().filter_map(|item| match item {
                syn::ImplItem::Fn(call) if matches!(call.vis, syn::Visibility::Public(_)) => {
                    Some(call.sig.ident.to_string())
                }
                _ => None,
            }));
        }
    }
    assert!(calls.len() > 40, "the store was not found: {calls:?}");
    calls.retain(|call| call != "commit");
    let counted = include_str!("cost.rs");
    calls.retain(|call| !counted.contains(&format!("tx => tx.{call}(")));
    calls.retain(|call| !NOT_COUNTED.iter().any(|(name, _)| name == call));
    assert_eq!(calls, [""; 0], "calls whose cost nobody counts");
}
