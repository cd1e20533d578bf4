//! The database does not answer, the database goes away and comes back, and the clock
//! is set: nothing is lost, and nothing is said twice.

use std::time::Duration;

use jury::emulator::{Edit, Fault, Rule, When};
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use crate::{
    faults, postgres,
    room::{Room, Setup},
};

fn faulty() -> Vec<Edit> {
    vec![Edit::write("src/net.rs", faults::with_token())]
}

async fn said_once(room: &Room, head: &str) {
    assert_eq!(room.shown(head).await, ["completed/failure"]);
    assert_eq!(room.review_states(1).await, ["CHANGES_REQUESTED"]);
    assert_eq!(room.comments(1).await, ["src/net.rs:2"]);
}

#[tokio::test]
async fn a_database_that_somebody_else_locks_is_waited_for_and_nothing_is_lost() {
    let room = Room::open().await;
    let head = room.push("feature", &faulty());
    room.emulator.hooks().pause();
    room.open_pull("feature");
    let told = room.emulator.hooks().take();
    let file = room.data().join("jury.db");
    let mut other = SqliteConnection::connect(&file.to_string_lossy()).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let hooks = room.emulator.hooks();
    // Whoever posts meanwhile waits for the lock, and gets it.
    let posted = async {
        let mut answers = Vec::new();
        for delivery in &told {
            answers.push(hooks.send(delivery).await);
        }
        answers
    };
    let released = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        other.execute("COMMIT").await.unwrap();
    };
    let (answers, ()) = tokio::join!(posted, released);
    assert!(answers.iter().all(|a| *a == Some(202)), "{answers:?}");
    hooks.resume();
    // And a worker that finds it locked for longer than it waits begins again later.
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let locked = jury::services::work::run_until_idle(&room.server.context).await;
    assert!(locked.is_err(), "it waited for 5 s and said so");
    other.execute("ROLLBACK").await.unwrap();
    other.close().await.unwrap();
    room.settle().await;
    room.later(120).await;
    said_once(&room, &head).await;
    room.leave().await;
}

#[tokio::test]
#[ignore = "needs Postgres"]
async fn a_postgres_that_is_restarted_in_the_middle_loses_nothing() {
    let own = postgres::Private::start().await;
    let own = std::sync::Arc::new(own);
    for joint in [
        "POST /repos/acme/shop/check-runs",
        "GET /repos/acme/shop/git/ref",
        "PATCH /repos/acme/shop/check-runs",
        "POST /repos/acme/shop/pulls/1/reviews",
    ] {
        let url = own.database().await;
        let room = Room::with(Setup::default().env("DATABASE_URL", &url)).await;
        let head = room.push("feature", &faulty());
        let server = own.clone();
        room.emulator.fail(
            joint.parse().unwrap(),
            Fault::meanwhile(When::Before, move |_| server.restart()),
        );
        room.open_pull("feature");
        room.emulator.hooks().wait_quiet().await;
        // A worker that lost its connection says so; the next one gets another.
        for _ in 0..20 {
            let done = jury::services::work::run_until_idle(&room.server.context).await;
            if let Err(failure) = done {
                assert!(!failure.to_string().is_empty());
            }
            room.clock.step(60);
        }
        room.settle().await;
        said_once(&room, &head).await;
        room.leave().await;
    }
}

/// The same path, read.
fn rule_of_reading(joint: &str) -> Rule {
    joint.replace("POST", "GET").parse().unwrap()
}

#[tokio::test]
async fn a_clock_that_is_set_forth_and_back_changes_no_outcome() {
    for joint in [
        "POST /repos/acme/shop/check-runs",
        "GET /repos/acme/shop/git/ref",
        "PATCH /repos/acme/shop/check-runs",
        "POST /repos/acme/shop/pulls/1/reviews",
    ] {
        for seconds in [-86_400, -600, 120] {
            let room = Room::open().await;
            let head = room.push("feature", &faulty());
            let clock = room.clock.clone();
            // The first answer is lost, so that something has to be tried again; then, or
            // the time before, the clock is set.
            let rule = joint.parse::<Rule>().unwrap();
            room.emulator.fail(rule.clone(), Fault::Cut(When::After));
            let set = Fault::meanwhile(When::Before, move |_| clock.step(seconds));
            let looks = match joint {
                // A check whose answer was lost is looked for before it is sent again.
                "POST /repos/acme/shop/check-runs" | "PATCH /repos/acme/shop/check-runs" => {
                    "GET /repos/acme/shop/commits".parse().unwrap()
                }
                joint if joint.ends_with("/reviews") => rule_of_reading(joint),
                _ => rule,
            };
            room.emulator.fail(looks, set);
            room.open_pull("feature");
            room.settle().await;
            for _ in 0..10 {
                room.reap().await;
                room.later(60).await;
            }
            said_once(&room, &head).await;
            room.leave().await;
        }
    }
}

#[tokio::test]
async fn what_was_put_off_until_a_time_that_is_now_far_ahead_is_done_now() {
    let room = Room::open().await;
    let head = room.push("feature", &faulty());
    let rule: Rule = "GET /repos/acme/shop/git/ref".parse().unwrap();
    room.emulator.fail(rule, Fault::status(503, When::Before));
    room.open_pull("feature");
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["in_progress/-"]);
    // It is to be tried again in a second; that second is a day away when the clock is set.
    room.clock.step(-86_400);
    room.later(60).await;
    assert_eq!(room.shown(&head).await, ["in_progress/-"]);
    room.reap().await;
    room.settle().await;
    said_once(&room, &head).await;
    room.leave().await;
}

#[tokio::test]
async fn a_lease_from_before_the_clock_was_set_back_holds_nobody_up() {
    let room = Room::open().await;
    room.emulator.hooks().wait_quiet().await;
    room.emulator.hooks().pause();
    let head = room.push("feature", &faulty());
    room.open_pull("feature");
    let told = room.emulator.hooks().take();
    for delivery in &told {
        room.emulator.hooks().send(delivery).await;
    }
    // A worker of another replica claimed the delivery, and died.
    {
        let context = &room.server.context;
        let mut tx = context.db.write().await.unwrap();
        let claimed = tx
            .claim_deliveries(context.now(), 60_000, "dead", 32)
            .await
            .unwrap();
        assert!(!claimed.is_empty());
        tx.commit().await.unwrap();
    }
    room.emulator.hooks().resume();
    room.clock.step(-86_400);
    room.later(300).await;
    assert!(room.shown(&head).await.is_empty(), "still leased, by that clock");
    room.reap().await;
    room.settle().await;
    room.later(60).await;
    said_once(&room, &head).await;
    room.leave().await;
}
