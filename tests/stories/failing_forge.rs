//! The forge fails in every way that a forge fails, at each request of a pass: what a
//! person sees is right in the end, and nothing is said twice.

use std::time::Duration;

use axum::http::Method;
use jury::{
    emulator::{Edit, Fault, Rule, When},
    ports::clock::Clock,
    store::JobKind,
};

use crate::{
    faults,
    room::{REPO, Room, Setup},
};

const CHECK: &str = "POST /repos/acme/shop/check-runs";
const CONCLUSION: &str = "PATCH /repos/acme/shop/check-runs";
const REVIEW: &str = "POST /repos/acme/shop/pulls/1/reviews";

fn faulty() -> Vec<Edit> {
    vec![Edit::write("src/net.rs", faults::with_token())]
}

/// One check and one review, whatever was met.
async fn is_said_once(room: &Room, head: &str, told: &str) {
    for _ in 0..8 {
        room.later(120).await;
    }
    assert_eq!(room.shown(head).await, ["completed/failure"], "{told}");
    assert_eq!(room.review_states(1).await, ["CHANGES_REQUESTED"], "{told}");
    assert_eq!(room.comments(1).await, ["src/net.rs:2"], "{told}");
}

async fn once_despite(planned: &[(&str, Fault)]) {
    let told = format!("{planned:?}");
    let room = Room::open().await;
    let head = room.push("feature", &faulty());
    for (rule, fault) in planned {
        let rule: Rule = rule.parse().unwrap();
        room.emulator.fail(rule, fault.clone());
    }
    room.open_pull("feature");
    room.settle().await;
    is_said_once(&room, &head, &told).await;
    room.leave().await;
}

/// Every way in which one request fails.
fn every_fault(now: i64) -> Vec<Fault> {
    let mut all = vec![
        Fault::secondary_limit(403, Some(30)),
        Fault::secondary_limit(403, None),
        Fault::secondary_limit(429, Some(30)),
        Fault::secondary_limit(429, None),
        Fault::abuse(Some(30)),
        Fault::abuse(None),
        Fault::primary_limit(now / 1000 + 500),
        Fault::CutBody,
        Fault::Late,
    ];
    for when in [When::Before, When::After] {
        all.push(Fault::Cut(when));
        for status in [408, 500, 502, 503, 504] {
            all.push(Fault::status(status, when));
        }
    }
    all
}

async fn once_despite_every_fault_of(rule: &str) {
    for fault in every_fault(1_800_000_000_000) {
        once_despite(&[(rule, fault)]).await;
    }
}

#[tokio::test]
async fn a_check_is_made_once_whatever_its_making_meets() {
    once_despite_every_fault_of(CHECK).await;
}

#[tokio::test]
async fn a_check_is_concluded_whatever_its_conclusion_meets() {
    once_despite_every_fault_of(CONCLUSION).await;
}

#[tokio::test]
async fn a_review_is_posted_once_whatever_its_posting_meets() {
    once_despite_every_fault_of(REVIEW).await;
}

#[tokio::test]
async fn a_change_is_read_whatever_its_reading_meets() {
    for rule in [
        "GET /repos/acme/shop/git/ref",
        "GET /acme/shop.git/info/refs",
        "POST /acme/shop.git/git-upload-pack",
        "POST /app/installations/*/access_tokens",
    ] {
        for fault in [
            Fault::status(503, When::Before),
            Fault::Cut(When::Before),
            Fault::CutBody,
            Fault::secondary_limit(429, Some(20)),
        ] {
            let room = Room::open().await;
            // The token in use ends, so that another one is asked for.
            room.later(3600).await;
            let head = room.push("feature", &faulty());
            let told = format!("{rule} {fault:?}");
            room.emulator.fail(rule.parse().unwrap(), fault);
            room.open_pull("feature");
            room.settle().await;
            is_said_once(&room, &head, &told).await;
            room.leave().await;
        }
    }
}

#[tokio::test]
async fn a_lost_answer_is_looked_for_even_when_looking_fails_or_shows_what_was() {
    let lost = || Fault::Cut(When::After);
    for looking in [
        Fault::status(502, When::Before),
        Fault::Cut(When::Before),
        Fault::CutBody,
        Fault::Stale,
        Fault::secondary_limit(403, Some(60)),
    ] {
        let reviews = "GET /repos/acme/shop/pulls/1/reviews";
        once_despite(&[(REVIEW, lost()), (reviews, looking.clone())]).await;
        let checks = "GET /repos/acme/shop/commits/*/check-runs";
        once_despite(&[(CHECK, lost()), (checks, looking)]).await;
    }
}

#[tokio::test]
async fn three_faults_in_a_row_of_everything_end_well() {
    let room = Room::open().await;
    let head = room.push("feature", &faulty());
    for rule in [CHECK, CONCLUSION, REVIEW, "GET /repos/acme/shop/git/ref"] {
        let rule = rule.parse::<Rule>().unwrap().times(3);
        room.emulator.fail(rule, Fault::status(502, When::Before));
    }
    room.open_pull("feature");
    room.settle().await;
    // More than a job is tried at once: the reaper asks again for what was given up.
    for _ in 0..8 {
        room.reap().await;
        room.later(120).await;
    }
    is_said_once(&room, &head, "three in a row").await;
    room.leave().await;
}

#[tokio::test]
async fn a_stale_pull_request_does_not_turn_the_clock_back() {
    let room = Room::open().await;
    let (number, first) = room.reviewed("feature", &faulty()).await;
    let hooks = room.emulator.hooks();
    hooks.pause();
    // Two pushes within one second, told in the wrong order, and the forge answers the
    // question what is true with what was.
    let between = room.push("feature", &[Edit::write("README.md", "# more\n")]);
    room.emulator
        .fail(Rule::on(Method::GET, "/repos/acme/shop/pulls/1$"), Fault::Stale);
    let last = room
        .people
        .push(jury::emulator::Push {
            repo: REPO,
            branch: "feature",
            by: "mona",
            message: "Mend it",
            edits: &[
                Edit::remove("src/net.rs"),
                Edit::write("tests/two.rs", "// two\n"),
            ],
            onto: None,
        })
        .unwrap();
    let mut told = hooks.take();
    told.retain(|d| d.event == "pull_request");
    told.reverse();
    for delivery in &told {
        hooks.send(delivery).await;
        room.settle_without_hooks().await;
    }
    hooks.resume();
    for _ in 0..4 {
        room.later(60).await;
    }
    assert_eq!(room.people.head_sha(REPO, number).unwrap(), last);
    assert_eq!(room.spaces().await[0].snapshot.head.as_str(), last);
    assert_eq!(room.shown(&last).await.last().unwrap(), "completed/success");
    for sha in [first, between] {
        let shown = room.shown(&sha).await;
        assert!(!shown.iter().any(|s| s.starts_with("in_progress")), "{shown:?}");
    }
    room.leave().await;
}

#[tokio::test]
async fn a_forge_that_is_slower_than_anyone_waits_does_it_once_all_the_same() {
    for rule in [CHECK, CONCLUSION, REVIEW] {
        let room = Room::with(Setup::default().env("JURY_LIMITS_LEASE_SECONDS", "3")).await;
        let head = room.push("feature", &faulty());
        let rule: Rule = rule.parse().unwrap();
        room.emulator.fail(
            rule,
            Fault::Slow {
                time: Duration::from_millis(1500),
                when: When::Before,
            },
        );
        room.open_pull("feature");
        // A request gives up after a third of the lease; the effect comes after that.
        room.settle().await;
        while room.emulator.faults_waiting() > 0 || room.emulator.under_way() > 0 {
            tokio::task::yield_now().await;
        }
        is_said_once(&room, &head, "slow").await;
        room.leave().await;
    }
}

#[tokio::test]
async fn work_is_put_off_before_the_hour_is_used_up_and_conclusions_are_not() {
    let room = Room::open().await;
    let (_, first) = room.reviewed("feature", &faulty()).await;
    // So little is left that no pass should begin, but enough for what was begun.
    room.emulator.leave_requests(room.installation, 300);
    room.people.rerequest_check(REPO, 1, "jury", "mona").unwrap();
    room.settle().await;
    let second = room.push("other", &[Edit::write("README.md", "# more\n")]);
    room.open_pull("other");
    room.settle().await;
    let asked = room.emulator.record().len();
    room.later(600).await;
    assert_eq!(room.emulator.record().len(), asked, "nothing is asked meanwhile");
    assert!(!room.shown(&second).await.iter().any(|s| s.contains("success")));
    room.later(3600).await;
    assert_eq!(room.shown(&second).await, ["completed/success"]);
    assert_eq!(
        room.shown(&first).await,
        ["completed/failure", "completed/failure"]
    );
    room.leave().await;
}

#[tokio::test]
async fn a_pass_under_way_is_not_timed_out_by_the_time_that_the_forge_asks_for() {
    let room = Room::open().await;
    let head = room.push("feature", &faulty());
    let reset = room.clock.now().0 / 1000 + 3000;
    room.emulator.fail(
        "GET /repos/acme/shop/git/ref".parse().unwrap(),
        Fault::primary_limit(reset),
    );
    room.open_pull("feature");
    room.settle().await;
    room.later(3100).await;
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    assert_eq!(room.review_states(1).await, ["CHANGES_REQUESTED"]);
    room.leave().await;
}

#[tokio::test]
async fn l05_a_commit_that_is_no_longer_part_of_the_pull_request_is_not_sent_again() {
    let room = Room::open().await;
    room.push("feature", &faulty());
    let gone = Fault::Status {
        status: 422,
        headers: Vec::new(),
        message: "Unprocessable Entity".into(),
        errors: Some(serde_json::json!([
            "Start commit oid is not part of the pull request"
        ])),
        when: When::Before,
    };
    room.emulator.hooks().pause();
    room.open_pull("feature");
    room.emulator.fail(REVIEW.parse().unwrap(), gone);
    let opened = room.emulator.hooks().take();
    for delivery in &opened {
        room.emulator.hooks().send(delivery).await;
    }
    // The push whose delivery is hours late.
    let old = room.people.head_sha(REPO, 1).unwrap();
    room.emulator.fail(
        CONCLUSION.parse().unwrap(),
        Fault::meanwhile(When::Before, {
            let clock = room.clock.clone();
            move |people| {
                clock.step(1);
                let push = jury::emulator::Push {
                    repo: REPO,
                    branch: "feature",
                    by: "mona",
                    message: "Begin anew",
                    edits: &[Edit::write("tests/two.rs", "// two\n")],
                    onto: Some("main"),
                };
                people.push(push).unwrap();
            }
        }),
    );
    room.settle_without_hooks().await;
    let new = room.people.head_sha(REPO, 1).unwrap();
    assert_ne!(old, new);
    assert_eq!(
        room.shown(&new).await,
        ["completed/success"],
        "the head was read again, though no delivery told of it"
    );
    assert!(
        room.review_states(1).await.is_empty(),
        "and nothing was sent again"
    );
    room.emulator.hooks().resume();
    room.leave().await;
}

#[tokio::test]
async fn what_was_given_up_is_asked_for_again_by_the_reaper() {
    let room = Room::open().await;
    let head = room.push("feature", &faulty());
    let rule: Rule = CONCLUSION.parse().unwrap();
    room.emulator
        .fail(rule.always(), Fault::status(500, When::Before));
    room.open_pull("feature");
    for _ in 0..12 {
        room.later(300).await;
    }
    let dead = |counts: Vec<jury::store::JobCount>| {
        counts
            .iter()
            .any(|c| c.kind == JobKind::SyncCheck && c.state == jury::store::JobState::Dead)
    };
    let counts = room
        .server
        .context
        .db
        .read()
        .await
        .unwrap()
        .job_counts()
        .await
        .unwrap();
    assert!(dead(counts), "it was given up");
    room.emulator.fail_no_more();
    room.reap().await;
    room.later(601).await;
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    room.leave().await;
}
