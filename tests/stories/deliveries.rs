//! Webhooks that come twice, late, out of order, or with things nobody knows.

use futures::future::join_all;
use jury::emulator::{Delivery, Edit};
use serde_json::{Value, json};

use crate::room::{REPO, Room, SECRET, signature};

fn clean() -> Vec<Edit> {
    vec![Edit::write("tests/two.rs", "#[test]\nfn two() {}\n")]
}

/// Posts a genuine delivery the way the forge does; the status of the answer.
pub(crate) async fn post(room: &Room, guid: &str, event: &str, body: &Value) -> u16 {
    let body = body.to_string();
    let sent = room
        .http
        .post(format!("http://{}/webhooks/github", room.server.address))
        .header("x-github-event", event)
        .header("x-github-delivery", guid)
        .header("x-hub-signature-256", signature(SECRET, body.as_bytes()))
        .header("content-type", "application/json")
        .body(body)
        .send();
    sent.await.unwrap().status().as_u16()
}

/// Opens a pull request whose deliveries are held back, and gives the one that says so.
async fn held(room: &Room) -> (u64, String, Delivery) {
    let head = room.push("feature", &clean());
    room.emulator.hooks().wait_quiet().await;
    room.emulator.hooks().pause();
    let number = room.open_pull("feature");
    let opened = room
        .emulator
        .hooks()
        .take()
        .into_iter()
        .find(|d| d.event == "pull_request")
        .unwrap();
    (number, head, opened)
}

#[tokio::test]
async fn l10_a_hundred_copies_of_one_delivery_make_one_pass() {
    let room = Room::open().await;
    let (number, head, opened) = held(&room).await;
    let hooks = room.emulator.hooks();
    let answers = join_all((0..100).map(|_| hooks.send(&opened))).await;
    assert!(answers.iter().all(|status| *status == Some(202)), "{answers:?}");
    hooks.resume();
    room.settle().await;
    assert_eq!(room.passes().await.len(), 1);
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    // And again, long after it was done.
    assert_eq!(hooks.send(&opened).await, Some(202));
    room.settle().await;
    assert_eq!(room.passes().await.len(), 1);
    assert_eq!(room.sent("POST", "/check-runs"), 1);
    assert!(room.reviews(number).await.is_empty());
    room.leave().await;
}

#[tokio::test]
async fn l12_two_hooks_with_one_guid_are_one_job() {
    let room = Room::open().await;
    let (_, head, opened) = held(&room).await;
    let body: Value = serde_json::from_slice(&opened.body).unwrap();
    for _hook in ["the App's", "the repository's"] {
        assert_eq!(post(&room, &opened.guid, "pull_request", &body).await, 202);
    }
    room.emulator.hooks().resume();
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    assert_eq!(room.passes().await.len(), 1);
    room.leave().await;
}

#[tokio::test]
async fn l13_an_older_delivery_that_comes_later_reopens_nothing() {
    let room = Room::open().await;
    let (number, _) = room.reviewed("feature", &clean()).await;
    let hooks = room.emulator.hooks();
    hooks.pause();
    let second = room.push("feature", &[Edit::write("README.md", "# more\n")]);
    room.tick();
    room.people.close(REPO, number, "mona").unwrap();
    let mut told: Vec<Delivery> = hooks
        .take()
        .into_iter()
        .filter(|d| d.event == "pull_request")
        .collect();
    told.reverse();
    for delivery in &told {
        assert_eq!(hooks.send(delivery).await, Some(202));
        room.settle_without_hooks().await;
    }
    hooks.resume();
    room.settle().await;
    assert!(room.spaces().await.is_empty(), "it stays closed");
    let last = room.shown(&second).await;
    assert!(
        last.is_empty() || last == ["completed/cancelled"],
        "nothing was reviewed: {last:?}"
    );
    room.leave().await;
}

#[tokio::test]
async fn two_changes_within_one_second_end_where_the_forge_says() {
    let room = Room::open().await;
    let (number, _) = room.reviewed("feature", &clean()).await;
    let hooks = room.emulator.hooks();
    hooks.pause();
    room.tick();
    // No second passes between them: their times are equal.
    room.people.close(REPO, number, "mona").unwrap();
    room.people.reopen(REPO, number, "mona").unwrap();
    room.people.close(REPO, number, "mona").unwrap();
    let mut told: Vec<Delivery> = hooks
        .take()
        .into_iter()
        .filter(|d| d.event == "pull_request")
        .collect();
    told.rotate_left(1);
    for delivery in &told {
        hooks.send(delivery).await;
        room.settle_without_hooks().await;
    }
    hooks.resume();
    room.settle().await;
    assert!(room.spaces().await.is_empty(), "closed is what the forge says");
    room.leave().await;
}

#[tokio::test]
async fn l38_an_unknown_action_and_an_unknown_event_are_taken_and_ignored() {
    let room = Room::open().await;
    let stacked = json!({ "action": "stacked", "number": 1 });
    assert_eq!(post(&room, "g-1", "pull_request", &stacked).await, 202);
    assert_eq!(
        post(&room, "g-2", "brand_new_event", &json!({ "x": [1, null] })).await,
        202
    );
    assert_eq!(post(&room, "g-3", "pull_request", &json!([1, 2])).await, 202);
    assert_eq!(post(&room, "g-4", "pull_request", &json!("text")).await, 202);
    room.settle().await;
    assert!(room.spaces().await.is_empty());
    room.leave().await;
}

#[tokio::test]
async fn w05_a_big_but_legal_delivery_is_taken() {
    let room = Room::open().await;
    let (_, head, opened) = held(&room).await;
    let mut body: Value = serde_json::from_slice(&opened.body).unwrap();
    body["pull_request"]["body"] = json!("x".repeat(3 << 20));
    assert_eq!(post(&room, "big", "pull_request", &body).await, 202);
    room.emulator.hooks().resume();
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    room.leave().await;
}

#[tokio::test]
async fn w04_an_unsigned_copy_does_not_keep_the_genuine_one_out() {
    let room = Room::open().await;
    let (_, head, opened) = held(&room).await;
    let unsigned = room
        .http
        .post(format!("http://{}/webhooks/github", room.server.address))
        .header("x-github-event", "pull_request")
        .header("x-github-delivery", &opened.guid)
        .body(opened.body.clone())
        .send()
        .await
        .unwrap();
    assert_eq!(unsigned.status(), 401);
    room.settle_without_hooks().await;
    assert!(room.spaces().await.is_empty(), "nothing was recorded");
    assert_eq!(room.emulator.hooks().send(&opened).await, Some(202));
    room.emulator.hooks().resume();
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    room.leave().await;
}

#[tokio::test]
async fn pull_requests_that_were_open_before_are_found_at_the_installation() {
    let room = Room::open().await;
    room.people.uninstall(room.installation).unwrap();
    room.settle().await;
    let head = room.push("feature", &clean());
    let number = room.open_pull("feature");
    room.settle().await;
    assert!(room.shown(&head).await.is_empty());
    room.tick();
    room.people.install(room.app, crate::room::OWNER, None).unwrap();
    room.settle().await;
    // Repositories are listed one after the other.
    room.later(5).await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    assert!(room.reviews(number).await.is_empty());
    room.leave().await;
}

#[tokio::test]
async fn a_suspended_installation_is_left_alone_and_caught_up_with_later() {
    let room = Room::open().await;
    room.people.suspend(room.installation).unwrap();
    room.settle().await;
    let head = room.push("feature", &clean());
    room.open_pull("feature");
    room.settle().await;
    assert!(room.shown(&head).await.is_empty());
    room.tick();
    room.people.unsuspend(room.installation).unwrap();
    room.settle().await;
    room.later(5).await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    room.leave().await;
}

#[tokio::test]
async fn a_renamed_repository_is_the_same_repository() {
    let room = Room::open().await;
    room.people.rename_repo(REPO, "store", "mona").unwrap();
    room.settle().await;
    room.tick();
    let renamed = "acme/store";
    let head = room
        .people
        .push(jury::emulator::Push {
            repo: renamed,
            branch: "feature",
            by: "mona",
            message: "After",
            edits: &clean(),
            onto: None,
        })
        .unwrap();
    room.people
        .open_pull(jury::emulator::OpenPull {
            repo: renamed,
            by: "mona",
            title: "After",
            body: None,
            head_repo: None,
            head: "feature",
            base: "main",
            draft: false,
        })
        .unwrap();
    room.settle().await;
    let listed = room
        .read(&format!("/repos/{renamed}/commits/{head}/check-runs"))
        .await;
    assert_eq!(listed["check_runs"][0]["conclusion"], "success");
    room.leave().await;
}

#[tokio::test]
async fn a_transferred_repository_is_reviewed_in_its_new_home() {
    let room = Room::open().await;
    room.people.organization("globex");
    room.people.install(room.app, "globex", None).unwrap();
    room.settle().await;
    let head = room.push("feature", &clean());
    let number = room.open_pull("feature");
    room.settle().await;
    room.tick();
    room.people.transfer_repo(REPO, "globex", "mona").unwrap();
    room.settle().await;
    room.later(5).await;
    let path = format!("/repos/globex/shop/commits/{head}/check-runs");
    let listed = room.read(&path).await;
    assert_eq!(listed["check_runs"][0]["conclusion"], "success");
    room.people
        .rerequest_check("globex/shop", number, "jury", "mona")
        .unwrap();
    room.settle().await;
    assert_eq!(room.read(&path).await["check_runs"][0]["conclusion"], "success");
    room.leave().await;
}

#[tokio::test]
async fn a_repository_said_to_be_removed_after_it_was_added_again_stays_reachable() {
    let room = Room::open().await;
    room.people.uninstall(room.installation).unwrap();
    room.settle().await;
    room.tick();
    let chosen = room
        .people
        .install(room.app, crate::room::OWNER, Some(&[REPO]))
        .unwrap();
    room.settle().await;
    let hooks = room.emulator.hooks();
    hooks.pause();
    room.people.remove_repository(chosen, REPO).unwrap();
    room.tick();
    room.people.add_repository(chosen, REPO).unwrap();
    // And a pull request that is open by then, whose delivery was lost.
    let head = room.push("feature", &clean());
    room.open_pull("feature");
    let mut held = hooks.take();
    held.retain(|delivery| delivery.event == "installation_repositories");
    assert_eq!(held.len(), 2);
    for late in held.iter().rev() {
        assert_eq!(hooks.send(late).await, Some(202));
        room.settle_without_hooks().await;
    }
    hooks.resume();
    room.later(5).await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    let mut tx = room.server.context.db.read().await.unwrap();
    let id = jury::domain::ids::InstallationId(i64::try_from(chosen).unwrap());
    assert_eq!(tx.repos_of(id).await.unwrap().len(), 1, "it is still reachable");
    drop(tx);
    room.leave().await;
}

#[tokio::test]
async fn a_pull_request_that_was_closed_while_nobody_listened_is_closed_here_too() {
    let room = Room::open().await;
    let (number, _) = room.reviewed("feature", &clean()).await;
    room.emulator.hooks().pause();
    room.tick();
    room.people.close(REPO, number, "mona").unwrap();
    assert!(!room.emulator.hooks().take().is_empty(), "the delivery is lost");
    room.emulator.hooks().resume();
    room.people.suspend(room.installation).unwrap();
    room.people.unsuspend(room.installation).unwrap();
    room.settle().await;
    room.later(5).await;
    assert!(room.spaces().await.is_empty());
    room.leave().await;
}

/// Opens pull requests whose deliveries all wait in the inbox, and gives their heads.
async fn opened_together(room: &Room, branches: &[&str]) -> Vec<String> {
    let mut heads = Vec::new();
    for branch in branches {
        heads.push(room.push(branch, &clean_for(branch)));
        room.open_pull(branch);
    }
    room.emulator.hooks().wait_quiet().await;
    heads
}

fn clean_for(branch: &str) -> Vec<Edit> {
    vec![Edit::write(
        format!("tests/{branch}.rs"),
        "#[test]\nfn two() {}\n",
    )]
}

async fn sql(room: &Room, sql: &'static str) {
    let jury::store::Db::Lite { write, .. } = &room.server.context.db else {
        unreachable!("stories run on SQLite")
    };
    sqlx::raw_sql(sql).execute(write).await.unwrap();
}

#[tokio::test]
async fn a_delivery_that_cannot_be_taken_in_keeps_no_other_of_its_batch_back() {
    let room = Room::open().await;
    sql(
        &room,
        "CREATE TRIGGER refuse BEFORE INSERT ON space WHEN NEW.number = 2 BEGIN SELECT RAISE(ABORT, 'refused'); END",
    )
    .await;
    let heads = opened_together(&room, &["one", "two", "three"]).await;
    room.settle().await;
    assert_eq!(room.shown(&heads[0]).await, ["completed/success"]);
    assert!(room.shown(&heads[1]).await.is_empty());
    assert_eq!(room.shown(&heads[2]).await, ["completed/success"]);
    let left = room
        .server
        .context
        .db
        .read()
        .await
        .unwrap()
        .delivery_counts()
        .await
        .unwrap();
    assert_eq!((left.queued, left.dead), (1, 0), "it is tried again");
    sql(&room, "DROP TRIGGER refuse").await;
    room.later(5).await;
    assert_eq!(room.shown(&heads[1]).await, ["completed/success"]);
    room.leave().await;
}

#[tokio::test]
async fn what_a_delivery_changed_and_that_it_is_done_are_one() {
    let room = Room::open().await;
    // The end of every delivery fails: nothing of what they changed may stay.
    sql(
        &room,
        "CREATE TRIGGER refuse BEFORE UPDATE ON delivery WHEN NEW.state = 'done' BEGIN SELECT RAISE(ABORT, 'refused'); END",
    )
    .await;
    let heads = opened_together(&room, &["one", "two"]).await;
    room.settle().await;
    assert!(room.spaces().await.is_empty());
    assert!(room.shown(&heads[0]).await.is_empty());
    sql(&room, "DROP TRIGGER refuse").await;
    room.later(5).await;
    for head in &heads {
        assert_eq!(room.shown(head).await, ["completed/success"]);
    }
    room.leave().await;
}

#[tokio::test]
async fn many_deliveries_that_cannot_speak_for_themselves_are_one_question() {
    let room = Room::open().await;
    let (_, head, opened) = held(&room).await;
    let hooks = room.emulator.hooks();
    hooks.resume();
    hooks.send(&opened).await;
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    let asked = room.sent("GET", "/pulls/1");
    // The same second, another head: which of the two is newer only the forge knows.
    let mut body: Value = serde_json::from_slice(&opened.body).unwrap();
    for n in 0..20 {
        body["pull_request"]["head"]["sha"] = json!(format!("{n:040}"));
        assert_eq!(
            post(&room, &format!("late-{n}"), "pull_request", &body).await,
            202
        );
    }
    room.settle().await;
    assert_eq!(room.sent("GET", "/pulls/1"), asked + 1);
    assert_eq!(room.passes().await.len(), 1);
    room.leave().await;
}
