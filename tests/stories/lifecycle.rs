//! What happens to a pull request, its repository and its installation, told late, out
//! of order, twice or not at all.

use jury::{
    emulator::{Delivery, Edit, OpenPull, Push},
    store::JobKind,
};

use crate::{
    faults,
    room::{OWNER, REPO, Room},
};

fn faulty() -> Vec<Edit> {
    vec![Edit::write("src/net.rs", faults::with_token())]
}

fn clean() -> Vec<Edit> {
    vec![Edit::write("tests/two.rs", "#[test]\nfn two() {}\n")]
}

/// What was held back of an event.
fn held(room: &Room, event: &str) -> Vec<Delivery> {
    let mut all = room.emulator.hooks().take();
    all.retain(|d| d.event == event);
    all
}

#[tokio::test]
async fn l04_a_force_push_is_reviewed_though_the_forge_moves_our_review_to_it() {
    let room = Room::open().await;
    let (number, first) = room.reviewed("feature", &faulty()).await;
    room.tick();
    let forced = room
        .people
        .push(Push {
            repo: REPO,
            branch: "feature",
            by: "mona",
            message: "Begin anew",
            edits: &[Edit::write("src/other.rs", faults::with_token())],
            onto: Some("main"),
        })
        .unwrap();
    let moved = room.reviews(number).await;
    assert_eq!(moved[0]["commit_id"], forced.as_str(), "the forge says so");
    assert_ne!(first, forced);
    room.settle().await;
    assert_eq!(
        room.shown(&forced).await,
        ["completed/failure"],
        "and it is not so"
    );
    let comments = room.comments(number).await;
    assert!(comments.contains(&"src/other.rs:2".to_owned()), "{comments:?}");
    room.leave().await;
}

#[tokio::test]
async fn l16_a_check_of_a_fork_is_asked_for_again_without_naming_its_pull_request() {
    let room = Room::open().await;
    room.people.user("stranger");
    let fork = room.people.fork(REPO, "stranger").unwrap();
    room.tick();
    let head = room
        .people
        .push(Push {
            repo: &fork,
            branch: "patch-1",
            by: "stranger",
            message: "From outside",
            edits: &faulty(),
            onto: None,
        })
        .unwrap();
    let number = room
        .people
        .open_pull(OpenPull {
            repo: REPO,
            by: "stranger",
            title: "From outside",
            body: None,
            head_repo: Some(&fork),
            head: "patch-1",
            base: "main",
            draft: false,
        })
        .unwrap();
    room.settle().await;
    room.people.rerequest_check(REPO, number, "jury", "mona").unwrap();
    room.settle().await;
    let told = room.emulator.hooks().log();
    let asked = told.iter().rfind(|d| d.delivery.event == "check_run").unwrap();
    let body: serde_json::Value = serde_json::from_slice(&asked.delivery.body).unwrap();
    assert_eq!(body["check_run"]["pull_requests"], serde_json::json!([]));
    assert_eq!(
        room.shown(&head).await,
        ["completed/failure", "completed/failure"]
    );
    assert_eq!(room.review_states(number).await, ["CHANGES_REQUESTED"]);
    room.leave().await;
}

#[tokio::test]
async fn l29_a_suspension_that_is_told_after_its_end_suspends_nothing() {
    let room = Room::open().await;
    room.emulator.hooks().wait_quiet().await;
    room.emulator.hooks().pause();
    room.people.suspend(room.installation).unwrap();
    room.people.unsuspend(room.installation).unwrap();
    let mut told = held(&room, "installation");
    told.reverse();
    for delivery in &told {
        room.emulator.hooks().send(delivery).await;
        room.settle_without_hooks().await;
    }
    room.emulator.hooks().resume();
    let (_, head) = room.reviewed("feature", &clean()).await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    room.leave().await;
}

#[tokio::test]
async fn l29_an_end_of_a_suspension_that_nobody_told_is_noticed_by_the_next_delivery() {
    let room = Room::open().await;
    room.people.suspend(room.installation).unwrap();
    room.settle().await;
    room.emulator.hooks().pause();
    room.people.unsuspend(room.installation).unwrap();
    assert!(!held(&room, "installation").is_empty(), "the delivery is lost");
    room.emulator.hooks().resume();
    let (_, head) = room.reviewed("feature", &clean()).await;
    room.later(5).await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    room.leave().await;
}

#[tokio::test]
async fn an_installation_that_is_told_after_it_was_taken_away_stays_away() {
    let room = Room::open().await;
    room.emulator.hooks().wait_quiet().await;
    room.emulator.hooks().pause();
    room.people.uninstall(room.installation).unwrap();
    let second = room.people.install(room.app, OWNER, None).unwrap();
    room.people.uninstall(second).unwrap();
    let mut told = held(&room, "installation");
    told.reverse();
    for delivery in &told {
        room.emulator.hooks().send(delivery).await;
        room.settle_without_hooks().await;
    }
    room.emulator.hooks().resume();
    let asked = room.emulator.record().len();
    for _ in 0..3 {
        room.reap().await;
        room.later(600).await;
    }
    assert_eq!(room.emulator.record().len(), asked, "nobody asks in its name");
    room.leave().await;
}

#[tokio::test]
async fn a_repository_that_was_transferred_in_the_middle_of_a_review_is_let_go_and_taken_up() {
    let room = Room::open().await;
    room.people.organization("globex");
    room.people.install(room.app, "globex", None).unwrap();
    room.settle().await;
    let head = room.push("feature", &faulty());
    room.emulator.fail_next(
        axum::http::Method::PATCH,
        "/repos/acme/shop/check-runs",
        jury::emulator::Fault::meanwhile(jury::emulator::When::Before, |people| {
            people.transfer_repo(REPO, "globex", "mona").unwrap();
        }),
    );
    let number = room.open_pull("feature");
    room.settle().await;
    for _ in 0..4 {
        room.reap().await;
        room.later(601).await;
    }
    let listed = room
        .read(&format!(
            "/repos/globex/shop/commits/{head}/check-runs?filter=all"
        ))
        .await;
    let last = &listed["check_runs"][0];
    assert_eq!(
        (&last["status"], &last["conclusion"]),
        (&"completed".into(), &"failure".into())
    );
    let reviews = room
        .read(&format!("/repos/globex/shop/pulls/{number}/reviews"))
        .await;
    assert_eq!(reviews.as_array().unwrap().len(), 1, "{reviews}");
    let asked = room.emulator.record().len();
    for _ in 0..3 {
        room.reap().await;
        room.later(3600).await;
    }
    let more = room.emulator.record().len() - asked;
    assert!(more <= 3, "{more} requests for what was let go");
    room.leave_given_up(&[JobKind::SyncCheck, JobKind::SyncReview])
        .await;
}

#[tokio::test]
async fn a_repository_that_was_taken_from_the_app_without_a_word_is_left_alone() {
    let room = Room::open().await;
    room.push("feature", &clean());
    room.emulator.hooks().pause();
    room.open_pull("feature");
    let opened = held(&room, "pull_request");
    room.people.delete_repo(REPO).unwrap();
    for delivery in &opened {
        room.emulator.hooks().send(delivery).await;
    }
    room.emulator.hooks().resume();
    room.settle().await;
    for _ in 0..12 {
        room.reap().await;
        room.later(301).await;
    }
    let asked = room.emulator.record().len();
    for _ in 0..6 {
        room.reap().await;
        room.later(3600).await;
    }
    let more = room.emulator.record().len() - asked;
    assert!(more <= 6, "{more} requests for a repository that is gone");
    room.leave_given_up(&[JobKind::SyncCheck, JobKind::ReviewSpace, JobKind::SyncReview])
        .await;
}

#[tokio::test]
async fn a_repository_renamed_in_the_middle_of_a_review_is_the_same_repository() {
    let room = Room::open().await;
    let head = room.push("feature", &faulty());
    room.emulator.fail_next(
        axum::http::Method::PATCH,
        "/repos/acme/shop/check-runs",
        jury::emulator::Fault::meanwhile(jury::emulator::When::Before, |people| {
            people.rename_repo(REPO, "store", "mona").unwrap();
        }),
    );
    let number = room.open_pull("feature");
    room.settle().await;
    room.later(60).await;
    let listed = room
        .read(&format!("/repos/acme/store/commits/{head}/check-runs?filter=all"))
        .await;
    assert_eq!(listed["total_count"], 1);
    assert_eq!(listed["check_runs"][0]["conclusion"], "failure");
    let reviews = room
        .read(&format!("/repos/acme/store/pulls/{number}/reviews"))
        .await;
    assert_eq!(reviews.as_array().unwrap().len(), 1);
    room.leave().await;
}

#[tokio::test]
async fn everything_told_hours_late_and_in_reverse_ends_where_the_forge_stands() {
    let room = Room::open().await;
    let (number, _) = room.reviewed("feature", &faulty()).await;
    let hooks = room.emulator.hooks();
    hooks.pause();
    room.push("release", &[Edit::write("README.md", "# release\n")]);
    room.tick();
    room.people.set_draft(REPO, number, true, "mona").unwrap();
    room.tick();
    room.people.set_base(REPO, number, "release", "mona").unwrap();
    let last = room.push(
        "feature",
        &[
            Edit::remove("src/net.rs"),
            Edit::write("tests/two.rs", "// two\n"),
        ],
    );
    room.tick();
    room.people.close(REPO, number, "mona").unwrap();
    room.tick();
    room.people.reopen(REPO, number, "mona").unwrap();
    room.tick();
    room.people.set_draft(REPO, number, false, "mona").unwrap();
    room.clock.step(5 * 3600);
    let mut told = held(&room, "pull_request");
    assert!(told.len() >= 6);
    told.reverse();
    // Each from two hooks.
    for delivery in told.iter().flat_map(|d| [d, d]) {
        hooks.send(delivery).await;
        room.settle_without_hooks().await;
    }
    hooks.resume();
    room.settle().await;
    assert_eq!(room.shown(&last).await.last().unwrap(), "completed/success");
    assert_eq!(room.spaces().await[0].snapshot.base_ref, "release");
    assert_eq!(room.review_states(number).await, ["DISMISSED"]);
    room.leave().await;
}

#[tokio::test]
async fn l27_another_base_in_the_middle_of_a_review_is_another_review() {
    let room = Room::open().await;
    room.push("release", &[Edit::write("src/net.rs", faults::with_token())]);
    let head = room.push(
        "feature",
        &[
            Edit::write("src/net.rs", faults::with_token()),
            Edit::write("tests/two.rs", "// two\n"),
        ],
    );
    // Against `main` it adds the token; `release` has it already.
    let clock = room.clock.clone();
    room.emulator.fail_next(
        axum::http::Method::GET,
        "/repos/acme/shop/git/ref",
        jury::emulator::Fault::meanwhile(jury::emulator::When::After, move |people| {
            clock.step(1);
            people.set_base(REPO, 1, "release", "mona").unwrap();
        }),
    );
    room.open_pull("feature");
    room.settle().await;
    room.later(60).await;
    assert_eq!(room.spaces().await[0].snapshot.base_ref, "release");
    let passes = room.passes().await;
    assert_eq!(passes.len(), 2);
    assert!(room.shown(&head).await.last().unwrap().starts_with("completed/"));
    // The title and the text are no other code.
    let before = room.passes().await.len();
    room.tick();
    room.people
        .edit(REPO, 1, Some("Another title"), Some("Another text"), "mona")
        .unwrap();
    room.settle().await;
    assert_eq!(room.passes().await.len(), before);
    room.leave().await;
}

#[tokio::test]
async fn two_pull_requests_with_one_head_of_which_one_closes_in_the_middle() {
    let room = Room::open().await;
    let head = room.push("feature", &clean());
    room.push("release", &[Edit::write("README.md", "# release\n")]);
    let clock = room.clock.clone();
    room.emulator.fail_next(
        axum::http::Method::GET,
        "/repos/acme/shop/git/ref",
        jury::emulator::Fault::meanwhile(jury::emulator::When::After, move |people| {
            clock.step(1);
            people.close(REPO, 1, "mona").unwrap();
        }),
    );
    room.open_pull("feature");
    room.tick();
    let second = room
        .people
        .open_pull(OpenPull {
            repo: REPO,
            by: "mona",
            title: "The same",
            body: None,
            head_repo: None,
            head: "feature",
            base: "release",
            draft: false,
        })
        .unwrap();
    room.settle().await;
    room.later(60).await;
    assert_eq!(
        room.spaces().await[0].pull.number.0,
        i64::try_from(second).unwrap()
    );
    let shown = room.shown(&head).await;
    assert_eq!(shown.last().unwrap(), "completed/success", "{shown:?}");
    assert!(
        !shown.iter().any(|s| s.starts_with("in_progress")),
        "one review's end does not end the other's check: {shown:?}"
    );
    room.leave().await;
}
