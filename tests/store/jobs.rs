//! Jobs: coalescing, leases, fencing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use jury::{
    domain::{ids::SpaceId, time::Timestamp},
    store::{Db, Job, JobCount, JobKind, JobState, StoreError, Task},
};

use crate::{home::task, stories};

const ALL: &[JobKind] = JobKind::ALL;

async fn enqueue(db: &Db, key: &str, not_before: i64) {
    let mut tx = db.write().await.unwrap();
    tx.enqueue(&task(key), Timestamp(not_before)).await.unwrap();
    tx.commit().await.unwrap();
}

async fn claim(db: &Db, now: i64, claim: &str) -> Option<Job> {
    let mut tx = db.write().await.unwrap();
    let job = tx.claim_job(Timestamp(now), 100, claim, ALL).await.unwrap();
    tx.commit().await.unwrap();
    job
}

async fn finish(db: &Db, job: &Job) -> bool {
    let mut tx = db.write().await.unwrap();
    let done = tx.finish_job(job).await.unwrap();
    tx.commit().await.unwrap();
    done
}

async fn counts(db: &Db) -> Vec<(JobKind, JobState, i64)> {
    let counts = db.read().await.unwrap().job_counts().await.unwrap();
    counts
        .into_iter()
        .map(|JobCount { kind, state, count }| (kind, state, count))
        .collect()
}

stories! {
    async fn what_is_due_at_times_that_no_clock_gives_is_due_now(home) {
        let db = &home.db;
        enqueue(db, "waits", 1_000).await;
        enqueue(db, "waits too long", 9_000_000).await;
        enqueue(db, "held", 0).await;
        let held = claim(db, 0, "alive").await.unwrap();
        assert_eq!(held.key, "held");
        let bring = async |now: i64, leased: i64, ahead: i64| {
            let mut tx = db.write().await.unwrap();
            let brought = tx
                .bring_forward(Timestamp(now), Timestamp(leased), Timestamp(ahead))
                .await
                .unwrap();
            tx.commit().await.unwrap();
            brought
        };
        assert_eq!(bring(10, 200, 8_000_000).await, 1, "the one that waits too long");
        assert_eq!(claim(db, 10, "c1").await.unwrap().key, "waits too long");
        // The clock is set back by a day: the leases end a day later by it.
        assert_eq!(bring(-86_400, -80_000, -70_000).await, 3);
        let taken = [claim(db, -86_400, "c2").await.unwrap(), claim(db, -86_400, "c3").await.unwrap()];
        assert!(taken.iter().any(|job| job.key == "held"), "{taken:?}");
        assert!(!finish(db, &held).await, "who held it before is fenced");
        assert_eq!(bring(-86_400, -86_300, -70_000).await, 0, "leases as long as they are stay");
    }

    async fn a_hundred_events_make_one_job_and_one_more_while_it_runs(home) {
        let db = &home.db;
        for n in 0..100 {
            enqueue(db, "s", 50 - n % 7).await;
        }
        assert_eq!(counts(db).await, [(JobKind::ReviewSpace, JobState::Ready, 1)]);
        assert_eq!(claim(db, 43, "early").await, None, "the earliest time counts, and it has not come");
        let first = claim(db, 44, "c1").await.unwrap();
        assert_eq!((first.key.as_str(), first.attempts, first.claim.as_str()), ("s", 1, "c1"));
        for _ in 0..100 {
            enqueue(db, "s", 44).await;
        }
        assert_eq!(claim(db, 45, "c2").await, None, "one runs already");
        assert!(finish(db, &first).await);
        let second = claim(db, 45, "c3").await.unwrap();
        assert_eq!(second.attempts, 1);
        assert!(finish(db, &second).await);
        assert_eq!(claim(db, 1000, "c4").await, None);
        assert_eq!(counts(db).await, [], "a finished job leaves no row");
    }

    async fn the_job_that_has_been_due_longest_comes_first(home) {
        let db = &home.db;
        for (key, at) in [("c", 30), ("a", 10), ("later", 999), ("b", 20)] {
            enqueue(db, key, at).await;
        }
        let mut order = Vec::new();
        while let Some(job) = claim(db, 100, &format!("c{}", order.len())).await {
            order.push(job.key);
        }
        assert_eq!(order, ["a", "b", "c"]);
    }

    async fn only_the_kinds_that_were_asked_for_are_claimed(home) {
        let mut tx = home.db.write().await.unwrap();
        tx.enqueue(&Task::SyncReview(SpaceId::new("k")), Timestamp(1)).await.unwrap();
        tx.enqueue(&task("k"), Timestamp(2)).await.unwrap();
        let now = Timestamp(10);
        assert_eq!(tx.claim_job(now, 100, "x", &[]).await.unwrap(), None);
        assert_eq!(tx.claim_job(now, 100, "x", &[JobKind::ListPulls, JobKind::SyncCheck]).await.unwrap(), None);
        let job = tx.claim_job(now, 100, "x", &[JobKind::ReviewSpace]).await.unwrap().unwrap();
        assert_eq!(job.kind, JobKind::ReviewSpace);
        // The same key of another kind is another job.
        assert_eq!(tx.claim_job(now, 100, "y", ALL).await.unwrap().unwrap().kind, JobKind::SyncReview);
    }

    async fn an_expired_lease_is_taken_over_and_the_old_holder_is_fenced_off(home) {
        let db = &home.db;
        enqueue(db, "s", 0).await;
        let old = claim(db, 0, "old").await.unwrap();
        assert_eq!(claim(db, 99, "thief").await, None, "the lease runs");
        let mut tx = db.write().await.unwrap();
        assert!(tx.heartbeat(&old, Timestamp(99), 100).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(claim(db, 198, "thief").await, None, "and was prolonged");
        let new = claim(db, 199, "new").await.unwrap();
        assert_eq!((new.attempts, new.key.as_str()), (2, "s"));
        enqueue(db, "s", 0).await;
        let mut tx = db.write().await.unwrap();
        assert!(!tx.heartbeat(&old, Timestamp(200), 100).await.unwrap());
        assert!(!tx.fence(&old).await.unwrap());
        assert!(!tx.finish_job(&old).await.unwrap());
        assert!(!tx.retry_job(&old, Timestamp(0), "x").await.unwrap());
        assert!(!tx.bury_job(&old, "x").await.unwrap());
        assert!(tx.fence(&new).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(
            counts(db).await,
            [(JobKind::ReviewSpace, JobState::Ready, 1), (JobKind::ReviewSpace, JobState::Running, 1)],
            "the old holder changed nothing"
        );
        assert!(finish(db, &new).await);
    }

    /// A holder whose lease has run out, but whom nobody replaced, may still commit; a
    /// takeover that comes while it does must not slip in between.
    async fn a_takeover_does_not_slip_into_a_fenced_transaction(home) {
        let db = &home.db;
        enqueue(db, "s", 0).await;
        let holder = claim(db, 0, "holder").await.unwrap();
        let mut tx = db.write().await.unwrap();
        assert!(tx.fence(&holder).await.unwrap());
        let other = home.another().await;
        let takeover = tokio::spawn(async move { claim(&other, 5_000, "late").await });
        // On Postgres the takeover skips the held row at once; on SQLite it waits for us.
        if !home.is_sqlite() {
            assert_eq!(takeover.await.unwrap(), None);
            assert!(tx.finish_job(&holder).await.unwrap());
            tx.commit().await.unwrap();
        } else {
            assert!(tx.finish_job(&holder).await.unwrap());
            tx.commit().await.unwrap();
            assert_eq!(takeover.await.unwrap(), None);
        }
        assert_eq!(counts(db).await, []);
    }

    async fn attempts_survive_a_retry_and_start_again_after_success(home) {
        let db = &home.db;
        enqueue(db, "s", 0).await;
        for attempt in 1..=3 {
            let job = claim(db, attempt * 1000, &format!("c{attempt}")).await.unwrap();
            assert_eq!(job.attempts, attempt);
            let mut tx = db.write().await.unwrap();
            assert!(tx.retry_job(&job, Timestamp((attempt + 1) * 1000), "the forge\u{0} is away").await.unwrap());
            tx.commit().await.unwrap();
            assert_eq!(claim(db, attempt * 1000 + 999, "early").await, None);
        }
        let job = claim(db, 4000, "c4").await.unwrap();
        assert_eq!(job.attempts, 4);
        assert!(finish(db, &job).await);
        enqueue(db, "s", 0).await;
        assert_eq!(claim(db, 5000, "c5").await.unwrap().attempts, 1);
    }

    async fn a_retry_is_swallowed_by_the_twin_that_waits(home) {
        let db = &home.db;
        enqueue(db, "s", 0).await;
        let job = claim(db, 0, "c1").await.unwrap();
        enqueue(db, "s", 10).await;
        let mut tx = db.write().await.unwrap();
        assert!(tx.retry_job(&job, Timestamp(5_000), "x").await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(counts(db).await, [(JobKind::ReviewSpace, JobState::Ready, 1)]);
        let job = claim(db, 10, "c2").await.unwrap();
        assert_eq!(job.attempts, 2, "the twin carries the attempts on");
    }

    async fn a_dead_letter_is_kept_until_the_job_succeeds(home) {
        let db = &home.db;
        enqueue(db, "s", 0).await;
        for n in 1..=2 {
            let job = claim(db, 10, &format!("c{n}")).await.unwrap();
            let mut tx = db.write().await.unwrap();
            assert!(tx.bury_job(&job, "gave up").await.unwrap());
            tx.commit().await.unwrap();
            assert_eq!(counts(db).await, [(JobKind::ReviewSpace, JobState::Dead, 1)]);
            assert_eq!(claim(db, i64::MAX, "none").await, None);
            enqueue(db, "s", 0).await;
        }
        let job = claim(db, 10, "c3").await.unwrap();
        assert_eq!(job.attempts, 1);
        assert!(finish(db, &job).await);
        assert_eq!(counts(db).await, []);
    }

    async fn looking_says_what_claiming_would_find(home) {
        let db = &home.db;
        let due = async |now, kinds: &[JobKind]| db.read().await.unwrap().is_job_due(Timestamp(now), kinds).await.unwrap();
        assert!(!due(i64::MAX, ALL).await);
        enqueue(db, "s", 70).await;
        assert!(!due(69, ALL).await);
        assert!(due(70, ALL).await);
        assert!(due(70, &[JobKind::ListPulls, JobKind::ReviewSpace]).await);
        assert!(!due(70, &[JobKind::ListPulls]).await);
        assert!(!due(70, &[]).await);
        claim(db, 70, "c").await.unwrap();
        enqueue(db, "s", 71).await;
        assert!(!due(169, ALL).await, "its twin runs");
        assert!(due(170, ALL).await);
    }

    async fn a_twin_waits_for_the_lease_and_not_for_its_own_time(home) {
        let db = &home.db;
        enqueue(db, "s", 70).await;
        assert_eq!(claim(db, 69, "early").await, None);
        claim(db, 70, "c").await.unwrap();
        enqueue(db, "s", 71).await;
        assert_eq!(claim(db, 169, "twin").await, None);
        let over = claim(db, 170, "over").await.unwrap();
        assert_eq!(over.attempts, 2, "the lease that ran out comes first");
    }

    async fn the_only_process_ends_the_leases_of_the_one_before_it(home) {
        let db = &home.db;
        enqueue(db, "running", 0).await;
        claim(db, 0, "old").await.unwrap();
        enqueue(db, "later", 900).await;
        let mut tx = db.write().await.unwrap();
        tx.release_leases(Timestamp(5)).await.unwrap();
        tx.commit().await.unwrap();
        let again = claim(db, 5, "new").await.unwrap();
        assert_eq!((again.key.as_str(), again.attempts), ("running", 2));
        assert_eq!(claim(db, 5, "early").await, None, "what waits for its time still waits");
    }

    async fn a_job_and_the_fact_it_follows_from_are_one(home) {
        let mut tx = home.db.write().await.unwrap();
        tx.enqueue(&task("s"), Timestamp(0)).await.unwrap();
        drop(tx);
        assert_eq!(claim(&home.db, 10, "c").await, None);
    }

    /// 400 runs of 20 keys by 8 workers in two processes: no key runs twice at a time,
    /// none is lost, each key's runs are in order.
    async fn eight_workers_share_the_keys_without_overlap(home) {
        const KEYS: usize = 20;
        const RUNS: i64 = 20;
        let state: Arc<Mutex<HashMap<String, (bool, i64)>>> = Arc::default();
        for key in 0..KEYS {
            enqueue(&home.db, &format!("space-{key}"), 0).await;
        }
        let mut workers = Vec::new();
        for worker in 0..8 {
            let db = if worker % 2 == 0 { home.db.clone() } else { home.another().await };
            let state = Arc::clone(&state);
            workers.push(tokio::spawn(async move {
                let (mut runs, mut claims) = (0, 0);
                loop {
                    claims += 1;
                    let mut tx = db.write().await.unwrap();
                    let job = match tx.claim_job(Timestamp(10), 1_000_000, &format!("{worker}-{claims}"), ALL).await {
                        Ok(job) => job,
                        Err(StoreError::Transient(_)) => continue,
                        Err(error) => panic!("{error}"),
                    };
                    tx.commit().await.unwrap();
                    let Some(job) = job else {
                        let done = state.lock().unwrap().values().filter(|(_, n)| *n == RUNS).count();
                        if done == KEYS {
                            return runs;
                        }
                        tokio::task::yield_now().await;
                        continue;
                    };
                    let run = {
                        let mut state = state.lock().unwrap();
                        let (running, n) = state.entry(job.key.clone()).or_default();
                        assert!(!*running, "{} runs twice", job.key);
                        *running = true;
                        *n += 1;
                        *n
                    };
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                    runs += 1;
                    let mut tx = db.write().await.unwrap();
                    assert!(tx.fence(&job).await.unwrap());
                    if run < RUNS {
                        tx.enqueue(&job.task().unwrap(), Timestamp(0)).await.unwrap();
                    }
                    state.lock().unwrap().get_mut(&job.key).unwrap().0 = false;
                    assert!(tx.finish_job(&job).await.unwrap());
                    tx.commit().await.unwrap();
                }
            }));
        }
        let mut runs = 0;
        for worker in workers {
            runs += worker.await.unwrap();
        }
        assert_eq!(runs, KEYS as i64 * RUNS);
        assert_eq!(counts(&home.db).await, []);
    }
}
