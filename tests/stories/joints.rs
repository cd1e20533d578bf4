//! Something happens at each point of a pass's talk with the forge, just before the
//! forge acts and just after: the head moves, the pull request closes, the
//! installation is suspended or taken away, a token dies. What a person sees in the
//! end is right, and nothing is said twice.

use std::sync::Arc;

use jury::{
    emulator::{Edit, Fault, People, Push, Rule, When},
    store::JobKind,
};

use crate::{
    faults,
    room::{OWNER, REPO, Room, StoryClock},
};

/// What a block pass asks of the forge, in its order.
const JOINTS: [&str; 6] = [
    "POST /repos/acme/shop/check-runs",
    "GET /repos/acme/shop/git/ref",
    "GET /acme/shop.git/info/refs",
    "POST /acme/shop.git/git-upload-pack",
    "PATCH /repos/acme/shop/check-runs",
    "POST /repos/acme/shop/pulls/1/reviews",
];

const REVIEWS: &str = JOINTS[5];

fn faulty() -> Vec<Edit> {
    vec![Edit::write("src/net.rs", faults::with_token())]
}

/// What is done there.
type Deed = fn(&People, &StoryClock, u64);

/// Opens a faulty pull request; the deed is done at the joint. Gives the room and the head.
async fn done_at(joint: &str, when: When, deed: Deed) -> (Room, String) {
    let room = Room::open().await;
    let head = room.push("feature", &faulty());
    let (clock, installation) = (Arc::clone(&room.clock), room.installation);
    let fault = Fault::meanwhile(when, move |people| {
        clock.step(1);
        deed(people, &clock, installation);
    });
    room.emulator.fail(joint.parse().unwrap(), fault);
    assert_eq!(room.open_pull("feature"), 1);
    room.settle().await;
    (room, head)
}

/// Goes through all joints, before and after each, a few at a time.
async fn at_every_joint<F: Future<Output = ()>>(story: impl Fn(&'static str, When) -> F) {
    for joint in JOINTS {
        for when in [When::Before, When::After] {
            story(joint, when).await;
        }
    }
}

/// Minutes pass.
async fn a_while_later(room: &Room) {
    for _ in 0..6 {
        room.later(60).await;
    }
}

fn push_a_fix(people: &People, _: &StoryClock, _: u64) {
    let edits = [
        Edit::remove("src/net.rs"),
        Edit::write("tests/two.rs", "// two\n"),
    ];
    let fix = Push {
        repo: REPO,
        branch: "feature",
        by: "mona",
        message: "Mend it",
        edits: &edits,
        onto: None,
    };
    people.push(fix).unwrap();
}

#[tokio::test]
async fn l01_l15_the_head_moves_at_any_moment_and_the_new_head_has_the_last_word() {
    at_every_joint(async |joint, when| {
        let (room, old) = done_at(joint, when, push_a_fix).await;
        a_while_later(&room).await;
        let told = format!("{joint} {when:?}");
        let new = room.people.head_sha(REPO, 1).unwrap();
        assert_eq!(room.shown(&new).await, ["completed/success"], "{told}");
        for shown in room.shown(&old).await {
            assert!(
                ["completed/cancelled", "completed/failure"].contains(&shown.as_str()),
                "{told}: the old head is {shown}"
            );
        }
        let states = room.review_states(1).await;
        assert!(
            states.is_empty() || states == ["DISMISSED"],
            "{told}: nothing stands of the old head: {states:?}"
        );
        // L15: a check is of a head that was the pull request's, never of another commit.
        let checked: Vec<_> = room
            .emulator
            .record()
            .into_iter()
            .filter(|e| e.method == "POST" && e.path.ends_with("/check-runs"))
            .map(|e| e.body.unwrap()["head_sha"].as_str().unwrap().to_owned())
            .collect();
        assert!(!checked.is_empty());
        assert!(
            checked.iter().all(|sha| *sha == old || *sha == new),
            "{told}: {checked:?}"
        );
        room.leave().await;
    })
    .await;
}

#[tokio::test]
async fn l24_a_pull_request_that_closes_at_any_moment_is_left_alone_from_then_on() {
    at_every_joint(async |joint, when| {
        let close: Deed = |people, _, _| people.close(REPO, 1, "mona").unwrap();
        let (room, head) = done_at(joint, when, close).await;
        a_while_later(&room).await;
        let told = format!("{joint} {when:?}");
        assert!(room.spaces().await.is_empty(), "{told}");
        let shown = room.shown(&head).await;
        assert_eq!(shown.len(), 1, "{told}");
        assert!(
            ["completed/cancelled", "completed/failure"].contains(&shown[0].as_str()),
            "{told}: {shown:?}"
        );
        if joint != REVIEWS {
            let reviews = room.review_states(1).await;
            // The check and the review are sent side by side.
            let side_by_side = joint.starts_with("PATCH");
            assert!(reviews.is_empty() || side_by_side, "{told}: {reviews:?}");
        }
        room.leave().await;
    })
    .await;
}

async fn ends_as_if_nothing_had_been(room: Room, head: &str, told: &str) {
    a_while_later(&room).await;
    assert_eq!(room.shown(head).await, ["completed/failure"], "{told}");
    assert_eq!(room.review_states(1).await, ["CHANGES_REQUESTED"], "{told}");
    assert_eq!(room.comments(1).await, ["src/net.rs:2"], "{told}");
    room.leave().await;
}

#[tokio::test]
async fn l29_an_installation_suspended_at_any_moment_goes_on_when_it_is_opened_again() {
    at_every_joint(async |joint, when| {
        let suspend: Deed = |people, _, installation| people.suspend(installation).unwrap();
        let (room, head) = done_at(joint, when, suspend).await;
        let told = format!("{joint} {when:?}");
        // Nothing is asked over and over meanwhile.
        let asked = room.emulator.record().len();
        for _ in 0..5 {
            room.reap().await;
            room.later(3600).await;
        }
        let more = room.emulator.record().len() - asked;
        assert!(more <= 3, "{told}: {more} requests of a suspended installation");
        room.people.unsuspend(room.installation).unwrap();
        room.settle().await;
        ends_as_if_nothing_had_been(room, &head, &told).await;
    })
    .await;
}

#[tokio::test]
async fn an_app_that_is_taken_away_at_any_moment_and_installed_again_goes_on() {
    at_every_joint(async |joint, when| {
        let uninstall: Deed = |people, _, installation| people.uninstall(installation).unwrap();
        let (mut room, head) = done_at(joint, when, uninstall).await;
        let told = format!("{joint} {when:?}");
        room.later(3600).await;
        room.installation = room.people.install(room.app, OWNER, None).unwrap();
        room.settle().await;
        ends_as_if_nothing_had_been(room, &head, &told).await;
    })
    .await;
}

#[tokio::test]
async fn a_token_that_dies_early_is_replaced_once() {
    for joint in JOINTS {
        let room = Room::open().await;
        let head = room.push("feature", &faulty());
        let before = room.sent("POST", "/access_tokens");
        room.emulator.fail(joint.parse().unwrap(), Fault::TokenDies);
        room.open_pull("feature");
        room.settle().await;
        let minted = room.sent("POST", "/access_tokens") - before;
        assert_eq!(minted, 1, "{joint}: one more, and no loop");
        let contents = room.sent("GET", "/pulls/1/files")
            + room
                .emulator
                .record()
                .iter()
                .filter(|e| e.path.contains("/compare/"))
                .count();
        assert_eq!(contents, 0, "{joint}: git is still read over git");
        ends_as_if_nothing_had_been(room, &head, joint).await;
    }
}

#[tokio::test]
async fn tokens_that_are_all_refused_end_and_are_no_loop() {
    let room = Room::open().await;
    let head = room.push("feature", &faulty());
    room.emulator
        .fail(Rule::any("/repos/acme/shop").always(), Fault::TokenDies);
    room.emulator
        .fail(Rule::any("/acme/shop.git").always(), Fault::TokenDies);
    let before = room.sent("POST", "/access_tokens");
    room.open_pull("feature");
    a_while_later(&room).await;
    let minted = room.sent("POST", "/access_tokens") - before;
    assert!(minted <= 24, "{minted} tokens were asked for");
    room.emulator.fail_no_more();
    room.reap().await;
    room.later(11 * 60).await;
    room.people.rerequest_check(REPO, 1, "jury", "mona").unwrap();
    room.settle().await;
    let shown = room.shown(&head).await;
    assert_eq!(shown.last().unwrap(), "completed/failure");
    assert_eq!(room.review_states(1).await, ["CHANGES_REQUESTED"]);
    room.leave_given_up(&[JobKind::SyncCheck]).await;
}
