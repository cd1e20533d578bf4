//! The forge fails while Jury speaks: what a person sees is right all the same,
//! and nothing is said twice.

use axum::http::Method;
use jury::{
    emulator::{Edit, Fault, Rule, When},
    store::{JobKind, JobState},
};

use crate::{
    faults,
    room::{REPO, Room},
};

fn clean() -> Vec<Edit> {
    vec![Edit::write("tests/two.rs", "#[test]\nfn two() {}\n")]
}

fn faulty() -> Vec<Edit> {
    vec![Edit::write("src/net.rs", faults::with_token())]
}

/// Opens a faulty pull request with one fault of the forge planned, lets time pass,
/// and expects one check run and one review all the same.
async fn once_despite(method: Method, path: &str, fault: Fault) {
    let room = Room::open().await;
    room.push("feature", &faulty());
    room.emulator.fail_next(method.clone(), path, fault);
    let number = room.open_pull("feature");
    let head = room.people.head_sha(REPO, number).unwrap();
    room.settle().await;
    for _ in 0..6 {
        room.later(60).await;
    }
    assert_eq!(room.shown(&head).await, ["completed/failure"], "{method} {path}");
    assert_eq!(
        room.review_states(number).await,
        ["CHANGES_REQUESTED"],
        "{method} {path}"
    );
    assert_eq!(room.comments(number).await, ["src/net.rs:2"]);
    room.leave().await;
}

const REVIEWS: &str = "/repos/acme/shop/pulls/1/reviews";
const CHECKS: &str = "/repos/acme/shop/check-runs";

#[tokio::test]
async fn a_review_whose_answer_was_lost_is_not_posted_twice() {
    once_despite(Method::POST, REVIEWS, Fault::status(502, When::After)).await;
    once_despite(Method::POST, REVIEWS, Fault::Cut(When::After)).await;
}

#[tokio::test]
async fn a_review_that_was_not_taken_is_posted_again() {
    once_despite(Method::POST, REVIEWS, Fault::status(502, When::Before)).await;
    once_despite(Method::POST, REVIEWS, Fault::Cut(When::Before)).await;
}

#[tokio::test]
async fn a_check_run_whose_answer_was_lost_is_not_made_twice() {
    once_despite(Method::POST, CHECKS, Fault::status(502, When::After)).await;
    once_despite(Method::POST, CHECKS, Fault::Cut(When::After)).await;
}

#[tokio::test]
async fn a_check_run_that_was_not_made_is_made_again() {
    once_despite(Method::POST, CHECKS, Fault::status(503, When::Before)).await;
    once_despite(Method::PATCH, CHECKS, Fault::status(500, When::Before)).await;
    once_despite(Method::PATCH, CHECKS, Fault::Cut(When::After)).await;
}

#[tokio::test]
async fn a_check_run_that_arrives_late_is_waited_for() {
    let room = Room::open().await;
    room.push("feature", &faulty());
    room.emulator.fail_next(Method::POST, CHECKS, Fault::Late);
    let number = room.open_pull("feature");
    let head = room.people.head_sha(REPO, number).unwrap();
    room.settle().await;
    room.later(5).await;
    assert_eq!(
        room.shown(&head).await,
        [""; 0],
        "not sent again while it may arrive"
    );
    room.emulator.let_late_arrive().await;
    room.later(60).await;
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    room.leave().await;
}

#[tokio::test]
async fn a_check_run_that_arrives_later_than_anyone_waits_says_the_same_as_the_other() {
    let room = Room::open().await;
    room.push("feature", &faulty());
    room.emulator.fail_next(Method::POST, CHECKS, Fault::Late);
    let number = room.open_pull("feature");
    let head = room.people.head_sha(REPO, number).unwrap();
    room.settle().await;
    room.later(31).await;
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    room.emulator.let_late_arrive().await;
    assert_eq!(room.shown(&head).await.len(), 2);
    room.later(31).await;
    assert_eq!(
        room.shown(&head).await,
        ["completed/failure", "completed/failure"],
        "nothing waits for the late one"
    );
    room.leave().await;
}

#[tokio::test]
async fn a_review_that_arrives_late_is_waited_for() {
    let room = Room::open().await;
    room.push("feature", &faulty());
    room.emulator.fail_next(Method::POST, REVIEWS, Fault::Late);
    let number = room.open_pull("feature");
    room.settle().await;
    room.later(5).await;
    assert_eq!(room.review_states(number).await, [""; 0]);
    room.emulator.let_late_arrive().await;
    room.later(60).await;
    assert_eq!(room.review_states(number).await, ["CHANGES_REQUESTED"]);
    assert_eq!(room.comments(number).await, ["src/net.rs:2"]);
    room.leave().await;
}

#[tokio::test]
async fn a_rate_limit_is_waited_for() {
    let limited = || Fault::secondary_limit(403, Some(30));
    once_despite(Method::POST, REVIEWS, limited()).await;
    once_despite(Method::POST, CHECKS, limited()).await;
}

#[tokio::test]
async fn a05_a_refused_comment_moves_into_the_body_and_the_review_is_posted_once_more() {
    let room = Room::open().await;
    room.push("feature", &faulty());
    room.emulator.fail_next(
        Method::POST,
        REVIEWS,
        Fault::Status {
            status: 422,
            headers: Vec::new(),
            message: "Pull request review thread line must be part of the diff".into(),
            errors: None,
            when: When::Before,
        },
    );
    let number = room.open_pull("feature");
    room.settle().await;
    let reviews = room.reviews(number).await;
    assert_eq!(reviews.len(), 1);
    assert!(room.comments(number).await.is_empty());
    let body = reviews[0]["body"].as_str().unwrap();
    assert!(body.contains("src/net.rs:2"), "the finding is not lost: {body}");
    assert_eq!(
        room.sent("POST", "/pulls/1/reviews"),
        1,
        "after the refused one once more, not in a loop"
    );
    room.leave().await;
}

#[tokio::test]
async fn a11_a_pending_review_of_ours_that_was_left_over_is_deleted_first() {
    let room = Room::open().await;
    room.push("feature", &faulty());
    room.emulator.hooks().pause();
    let number = room.open_pull("feature");
    let head = room.people.head_sha(REPO, number).unwrap();
    room.leave_pending_review(number, &head).await;
    room.emulator.hooks().resume();
    room.settle().await;
    assert_eq!(room.review_states(number).await, ["CHANGES_REQUESTED"]);
    room.leave().await;
}

#[tokio::test]
async fn a13_nothing_to_say_is_not_said() {
    let room = Room::open().await;
    let (number, _) = room
        .reviewed("feature", &[Edit::write("README.md", "# a shop\n")])
        .await;
    assert!(room.reviews(number).await.is_empty());
    assert_eq!(room.sent("POST", &format!("/pulls/{number}/reviews")), 0);
    room.leave().await;
}

#[tokio::test]
async fn a_request_for_changes_that_cannot_be_taken_back_is_told_to_the_maintainer() {
    let room = Room::open().await;
    let (number, _) = room.reviewed("feature", &faulty()).await;
    let dismissal = format!("/repos/{REPO}/pulls/{number}/reviews/");
    room.emulator
        .fail_next(Method::PUT, &dismissal, Fault::status(403, When::Before));
    let head = room.push("feature", &[Edit::write("src/net.rs", "//! Nothing.\n")]);
    room.settle().await;
    room.later(60).await;
    let run = room.check_runs(&head).await.pop().unwrap();
    assert_eq!(run["conclusion"], "success");
    let summary = run["output"]["summary"].as_str().unwrap();
    assert!(summary.contains("dismiss that review by hand"), "{summary}");
    room.leave().await;
}

#[tokio::test]
async fn thirty_comments_stand_inline_and_the_rest_in_the_body() {
    let room = Room::open().await;
    let edits: Vec<Edit> = (0..45)
        .map(|i| Edit::write(format!("src/net{i:02}.rs"), faults::with_token()))
        .collect();
    let (number, head) = room.reviewed("feature", &edits).await;
    assert_eq!(room.comments(number).await.len(), 30);
    let review = room.reviews(number).await.pop().unwrap();
    let body = review["body"].as_str().unwrap();
    let named = (0..45)
        .filter(|i| body.contains(&format!("P0 bug** `src/net{i:02}.rs")))
        .count();
    assert_eq!(named, 15, "the rest is in the body: {body}");
    let summary = room.check_runs(&head).await.pop().unwrap()["output"]["summary"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        (0..45).all(|i| summary.contains(&format!("src/net{i:02}.rs"))),
        "{summary}"
    );
    room.leave().await;
}

#[tokio::test]
async fn a_review_that_a_push_overtook_is_said_of_the_new_head() {
    let room = Room::open().await;
    room.push("feature", &faulty());
    room.emulator
        .fail_next(Method::POST, REVIEWS, Fault::status(503, When::Before));
    let number = room.open_pull("feature");
    room.settle().await;
    assert!(room.reviews(number).await.is_empty(), "not taken yet");
    let head = room.push("feature", &[Edit::write("README.md", "# more\n")]);
    room.settle().await;
    for _ in 0..4 {
        room.later(10).await;
    }
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    let reviews = room.reviews(number).await;
    assert_eq!(reviews.len(), 1, "said once, of the head that there is");
    assert_eq!(reviews[0]["commit_id"], head.as_str());
    assert_eq!(room.comments(number).await, ["src/net.rs:2"]);
    room.leave().await;
}

#[tokio::test]
async fn what_cannot_be_said_to_anybody_any_more_waits_quietly() {
    let room = Room::open().await;
    let (_, head) = room.reviewed("feature", &clean()).await;
    let second = room.push("feature", &faulty());
    room.people.suspend(room.installation).unwrap();
    room.settle().await;
    let ctx = &room.server.context;
    jury::services::reap::reap(ctx).await.unwrap();
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    assert!(room.shown(&second).await.is_empty());
    assert_eq!(
        ctx.db.read().await.unwrap().job_counts().await.unwrap(),
        [],
        "nothing waits, and nothing was given up"
    );
    room.people.unsuspend(room.installation).unwrap();
    room.settle().await;
    jury::services::reap::reap(ctx).await.unwrap();
    room.later(5).await;
    assert_eq!(room.check_runs(&second).await.len(), 1, "it is said now");
    room.leave().await;
}

#[tokio::test]
async fn a_refusal_that_nobody_can_explain_is_given_up_loudly() {
    let room = Room::open().await;
    room.push("feature", &clean());
    room.emulator.fail(
        Rule::on(Method::POST, CHECKS).times(2),
        Fault::status(403, When::Before),
    );
    room.open_pull("feature");
    room.settle().await;
    let given_up = room
        .server
        .context
        .db
        .read()
        .await
        .unwrap()
        .job_counts()
        .await
        .unwrap();
    assert!(
        given_up
            .iter()
            .any(|j| j.kind == JobKind::SyncCheck && j.state == JobState::Dead),
        "{given_up:?}"
    );
    room.later(20 * 60).await;
    jury::services::reap::reap(&room.server.context).await.unwrap();
    room.later(20 * 60).await;
    room.leave().await;
}
