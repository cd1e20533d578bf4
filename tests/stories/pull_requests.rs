//! What becomes of a pull request, as a person sees it on the forge.

use std::time::Duration;

use axum::http::Method;
use jury::emulator::{Edit, Fault, When};

use crate::{
    faults,
    room::{REPO, Room, Setup},
};

const CLEAN: &str = "pub fn one() -> u32 {\n    1\n}\n\npub fn two() -> u32 {\n    2\n}\n";

fn clean() -> Vec<Edit> {
    vec![
        Edit::write("src/lib.rs", CLEAN),
        Edit::write("tests/two.rs", "#[test]\nfn two() {}\n"),
    ]
}

#[tokio::test]
async fn faults_block_and_their_mending_ships() {
    let room = Room::open().await;
    let (number, faulty) = room
        .reviewed(
            "feature",
            &[
                Edit::write("src/lib.rs", faults::with_conflict()),
                Edit::write("src/net.rs", faults::with_token()),
            ],
        )
        .await;
    assert_eq!(room.shown(&faulty).await, ["completed/failure"]);
    assert_eq!(room.review_states(number).await, ["CHANGES_REQUESTED"]);
    let said = room.comments(number).await;
    assert!(
        said.contains(&"src/net.rs:2".to_owned()) && said.contains(&"src/lib.rs:2".to_owned()),
        "{said:?}"
    );

    let fixed = room.push(
        "feature",
        &[
            Edit::write("src/lib.rs", CLEAN),
            Edit::remove("src/net.rs"),
            Edit::write("tests/two.rs", "#[test]\nfn two() {}\n"),
        ],
    );
    room.settle().await;
    assert_eq!(room.shown(&fixed).await, ["completed/success"]);
    assert_eq!(
        room.review_states(number).await,
        ["DISMISSED"],
        "our own request for changes is taken back"
    );
    assert_eq!(
        room.people.merge_blockers(REPO, number).unwrap(),
        Vec::<String>::new()
    );

    let everything: String = room
        .emulator
        .record()
        .iter()
        .map(|e| format!("{:?}", e.body))
        .collect();
    assert!(
        !everything.contains(&faults::token()),
        "the secret was repeated to the forge"
    );
    room.leave().await;
}

#[tokio::test]
async fn a_clean_change_ships_without_a_word_beside_its_check() {
    let room = Room::open().await;
    let (number, head) = room.reviewed("feature", &clean()).await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    assert!(room.reviews(number).await.is_empty());
    room.leave().await;
}

#[tokio::test]
async fn what_was_said_once_is_not_said_again_on_the_next_push() {
    let room = Room::open().await;
    let (number, _) = room
        .reviewed("feature", &[Edit::write("src/net.rs", faults::with_token())])
        .await;
    assert_eq!(room.comments(number).await, ["src/net.rs:2"]);
    // The fault moves down, nothing else happens to it.
    let moved = format!("//! One more line.\n{}", faults::with_token());
    let head = room.push("feature", &[Edit::write("src/net.rs", moved)]);
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    assert_eq!(
        room.reviews(number).await.len(),
        1,
        "the request for changes still stands"
    );
    assert_eq!(room.sent("POST", &format!("/pulls/{number}/reviews")), 1);
    let passes = room.passes().await;
    let ids: Vec<_> = passes
        .iter()
        .map(|p| {
            p.snapshot
                .as_ref()
                .unwrap()
                .findings
                .iter()
                .map(|f| f.id.clone())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(ids[0], ids[1], "it is the same finding");
    room.leave().await;
}

#[tokio::test]
async fn a_fault_that_comes_back_after_it_was_settled_blocks_again_and_is_said_again() {
    let room = Room::open().await;
    let (number, _) = room
        .reviewed("feature", &[Edit::write("src/net.rs", faults::with_token())])
        .await;
    room.push("feature", &[Edit::write("src/net.rs", "//! Nothing.\n")]);
    room.settle().await;
    let head = room.push("feature", &[Edit::write("src/net.rs", faults::with_token())]);
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    assert_eq!(
        room.review_states(number).await,
        ["DISMISSED", "CHANGES_REQUESTED"]
    );
    room.leave().await;
}

#[tokio::test]
async fn a_draft_waits_for_its_author_and_is_reviewed_when_it_is_ready() {
    let room = Room::open().await;
    let head = room.push("feature", &clean());
    let number = room.open_pull_as("feature", true);
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/action_required"]);
    assert!(room.passes().await.is_empty(), "a draft is not reviewed");
    room.tick();
    room.people.set_draft(REPO, number, false, "mona").unwrap();
    room.settle().await;
    assert_eq!(room.shown(&head).await.last().unwrap(), "completed/success");
    room.tick();
    room.people.set_draft(REPO, number, true, "mona").unwrap();
    room.settle().await;
    assert_eq!(
        room.shown(&head).await.last().unwrap(),
        "completed/action_required",
        "a draft again"
    );
    room.leave().await;
}

#[tokio::test]
async fn a_person_asks_for_the_check_to_run_again() {
    let room = Room::open().await;
    let (number, head) = room.reviewed("feature", &clean()).await;
    room.people.rerequest_check(REPO, number, "jury", "mona").unwrap();
    room.settle().await;
    assert_eq!(
        room.shown(&head).await,
        ["completed/success", "completed/success"],
        "a run of its own"
    );
    room.people
        .rerequest_suite(REPO, number, room.app, "mona")
        .unwrap();
    room.settle().await;
    assert_eq!(room.shown(&head).await.len(), 3);
    assert_eq!(room.passes().await.len(), 3);
    room.leave().await;
}

#[tokio::test]
async fn another_base_is_another_change() {
    let room = Room::open().await;
    room.push("release", &[Edit::write("src/net.rs", faults::with_token())]);
    // The token is in `release` already, so it is none of this change's against it.
    room.people
        .push(jury::emulator::Push {
            repo: REPO,
            branch: "feature",
            by: "mona",
            message: "On release",
            edits: &clean(),
            onto: Some("release"),
        })
        .unwrap();
    let number = room.open_pull("feature");
    room.settle().await;
    let head = room.people.head_sha(REPO, number).unwrap();
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    room.tick();
    room.people.set_base(REPO, number, "release", "mona").unwrap();
    room.settle().await;
    assert_eq!(
        room.shown(&head).await,
        ["completed/failure", "completed/success"]
    );
    assert_eq!(room.review_states(number).await, ["DISMISSED"]);
    room.leave().await;
}

#[tokio::test]
async fn a_closed_pull_request_is_left_alone_and_reviewed_again_when_reopened() {
    let room = Room::open().await;
    let (number, head) = room.reviewed("feature", &clean()).await;
    room.tick();
    room.people.close(REPO, number, "mona").unwrap();
    room.settle().await;
    assert_eq!(
        room.shown(&head).await,
        ["completed/success"],
        "a completed check stays"
    );
    room.tick();
    room.people.reopen(REPO, number, "mona").unwrap();
    room.settle().await;
    assert_eq!(
        room.shown(&head).await,
        ["completed/success", "completed/success"]
    );
    room.leave().await;
}

/// One head with two pull requests: clean into `release`, opened here, and faulty into
/// `main` from the branch `two`, not opened yet.
async fn opened_into_release(room: &Room) -> u64 {
    room.push("release", &[Edit::write("src/net.rs", faults::with_token())]);
    room.people
        .push(jury::emulator::Push {
            repo: REPO,
            branch: "one",
            by: "mona",
            message: "On release",
            edits: &clean(),
            onto: Some("release"),
        })
        .unwrap();
    room.people.reset_branch(REPO, "two", "one", "mona").unwrap();
    room.tick();
    let into_release = room
        .people
        .open_pull(jury::emulator::OpenPull {
            repo: REPO,
            by: "mona",
            title: "Into release",
            body: None,
            head_repo: None,
            head: "one",
            base: "release",
            draft: false,
        })
        .unwrap();
    room.settle().await;
    into_release
}

#[tokio::test]
async fn two_pull_requests_with_one_head_show_the_worst_of_both() {
    let room = Room::open().await;
    let into_release = opened_into_release(&room).await;
    let head = room.people.head_sha(REPO, into_release).unwrap();
    assert_eq!(room.shown(&head).await.last().unwrap(), "completed/success");
    let into_main = room.open_pull("two");
    room.settle().await;
    assert_eq!(room.people.head_sha(REPO, into_main).unwrap(), head);
    assert_eq!(room.shown(&head).await.last().unwrap(), "completed/failure");
    let last = room.check_runs(&head).await.pop().unwrap();
    let summary = last["output"]["summary"].as_str().unwrap();
    assert!(
        summary.contains("2 open pull requests share this commit"),
        "{summary}"
    );
    room.leave().await;
}

/// The clean review's conclusion is lost, and arrives when the faulty pull request on the
/// same head was concluded: it is not what stands.
#[tokio::test]
async fn a_conclusion_that_arrives_after_a_newer_one_does_not_stand() {
    let room = Room::open().await;
    room.emulator.fail(
        "PATCH /repos/acme/shop/check-runs".parse().unwrap(),
        jury::emulator::Fault::Late,
    );
    let into_release = opened_into_release(&room).await;
    let head = room.people.head_sha(REPO, into_release).unwrap();
    assert_eq!(room.shown(&head).await, ["in_progress/-"]);
    room.open_pull("two");
    room.later(5).await;
    assert_eq!(room.shown(&head).await.last().unwrap(), "completed/failure");
    room.emulator.let_late_arrive().await;
    for _ in 0..3 {
        room.later(60).await;
    }
    assert_eq!(room.shown(&head).await.last().unwrap(), "completed/failure");
    room.leave().await;
}

/// The conclusion took effect and its answer was lost; by the next try the same conclusion
/// has other reasons.
#[tokio::test]
async fn a_conclusion_with_other_reasons_than_the_run_shows_is_said_anew() {
    let room = Room::open().await;
    room.emulator.fail(
        "PATCH /repos/acme/shop/check-runs".parse().unwrap(),
        jury::emulator::Fault::Cut(jury::emulator::When::After),
    );
    let (_, head) = room.reviewed("feature", &clean()).await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    let mut tx = room.server.context.db.write().await.unwrap();
    let key = key_of(&room.spaces().await[0]);
    let row = tx.check(&key).await.unwrap().unwrap();
    assert!(!row.is_sent(), "for all that is known");
    let mut view: jury::ports::forge::CheckView = serde_json::from_slice(&row.want).unwrap();
    view.summary.push_str("\n\nFor another reason.");
    tx.want_check(&key, &serde_json::to_vec(&view).unwrap(), true)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    for _ in 0..3 {
        room.later(60).await;
    }
    let last = room.check_runs(&head).await.pop().unwrap();
    assert_eq!(last["conclusion"], "success");
    let summary = last["output"]["summary"].as_str().unwrap();
    assert!(summary.ends_with("For another reason."), "{summary}");
    room.leave().await;
}

fn key_of(space: &jury::domain::space::Space) -> jury::store::CheckKey {
    jury::store::CheckKey {
        workspace: space.pull.repo.workspace.clone(),
        repo: space.pull.repo.id,
        sha: space.snapshot.head.clone(),
        name: "jury".into(),
    }
}

/// What two replicas once did to a check they shared, and any want that is not what the
/// facts say: no pass will end it, so the reaper does.
#[tokio::test]
async fn a_check_left_in_progress_without_a_pass_is_mended_by_the_reaper() {
    let room = Room::open().await;
    let (_, head) = room.reviewed("feature", &clean()).await;
    let mut tx = room.server.context.db.write().await.unwrap();
    let key = key_of(&room.spaces().await[0]);
    let stale = jury::ports::forge::CheckView {
        conclusion: None,
        title: "Reviewing".into(),
        summary: "From before".into(),
        details_url: "https://jury.example/".into(),
    };
    tx.want_check(&key, &serde_json::to_vec(&stale).unwrap(), false)
        .await
        .unwrap();
    tx.enqueue(&jury::store::Task::SyncCheck(key), room.server.context.now())
        .await
        .unwrap();
    tx.commit().await.unwrap();
    room.later(1).await;
    assert_eq!(room.shown(&head).await, ["completed/success", "in_progress/-"]);
    room.reap().await;
    room.settle().await;
    assert_eq!(
        room.shown(&head).await,
        ["completed/success", "completed/success"]
    );
    room.leave().await;
}

#[tokio::test]
async fn d49_what_the_base_branch_did_meanwhile_is_not_the_pull_requests() {
    let room = Room::open().await;
    room.push("feature", &clean());
    room.people
        .push(jury::emulator::Push {
            repo: REPO,
            branch: "main",
            by: "mona",
            message: "Elsewhere",
            edits: &[Edit::write("src/net.rs", faults::with_token())],
            onto: None,
        })
        .unwrap();
    let number = room.open_pull("feature");
    room.settle().await;
    let head = room.people.head_sha(REPO, number).unwrap();
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    room.leave().await;
}

#[tokio::test]
async fn l41_a_pull_request_from_a_fork_is_reviewed_also_when_the_fork_is_gone() {
    let room = Room::open().await;
    room.people.user("stranger");
    let fork = room.people.fork(REPO, "stranger").unwrap();
    room.tick();
    let head = room
        .people
        .push(jury::emulator::Push {
            repo: &fork,
            branch: "patch-1",
            by: "stranger",
            message: "From outside",
            edits: &[Edit::write("src/net.rs", faults::with_token())],
            onto: None,
        })
        .unwrap();
    room.emulator.hooks().pause();
    let number = room
        .people
        .open_pull(jury::emulator::OpenPull {
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
    room.people.delete_repo(&fork).unwrap();
    room.emulator.hooks().resume();
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    assert_eq!(room.review_states(number).await, ["CHANGES_REQUESTED"]);
    room.leave().await;
}

#[tokio::test]
async fn an_owner_may_make_the_gate_advisory_but_never_for_a_block() {
    let room = Room::with(Setup::default().file(
        ".github/jury.toml",
        "gate = \"advisory\"\n[consensus]\nquorum = 2\n",
    ))
    .await;
    // With a quorum of two the verifier alone does not confirm: a hold, shown as neutral.
    let (_, head) = room
        .reviewed("feature", &[Edit::write("src/net.rs", faults::with_token())])
        .await;
    assert_eq!(room.shown(&head).await, ["completed/neutral"]);
    room.leave().await;
}

#[tokio::test]
async fn a_policy_in_the_pull_request_changes_nothing_in_its_own_review() {
    let room = Room::open().await;
    let (_, head) = room
        .reviewed(
            "feature",
            &[
                Edit::write(
                    ".github/jury.toml",
                    "gate = \"advisory\"\n[axes.security]\ngated = false\n[consensus]\nquorum = 9\n",
                ),
                Edit::write("src/net.rs", faults::with_token()),
            ],
        )
        .await;
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    room.leave().await;
}

#[tokio::test]
async fn a_broken_policy_fails_closed_and_says_where_and_what_was_meant() {
    let room =
        Room::with(Setup::default().file(".github/jury.toml", "publish = \"auto\"\ngait = \"advisory\"\n"))
            .await;
    let (_, head) = room.reviewed("feature", &clean()).await;
    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    let run = room.check_runs(&head).await.pop().unwrap();
    let summary = run["output"]["summary"].as_str().unwrap();
    assert!(
        summary.contains("jury.toml") && summary.contains('2') && summary.contains("gate"),
        "{summary}"
    );
    room.leave().await;
}

fn link(path: &str, target: impl Into<Vec<u8>>) -> Edit {
    Edit::Write {
        path: path.to_owned(),
        content: target.into(),
        mode: "120000",
    }
}

#[tokio::test]
async fn a_policy_that_is_a_link_fails_closed_and_says_what_to_do_however_it_is_read() {
    for read in ["git", "api"] {
        let mut setup = Setup::default()
            .file("real.toml", "gate = \"advisory\"\n")
            .env("JURY_GITHUB_READ", read);
        setup.files.push(link(".github/jury.toml", "../real.toml"));
        let room = Room::with(setup).await;
        let (number, head) = room.reviewed("feature", &clean()).await;
        assert_eq!(room.shown(&head).await, ["completed/failure"], "{read}");
        let run = room.check_runs(&head).await.pop().unwrap();
        let summary = run["output"]["summary"].as_str().unwrap();
        assert!(
            summary.contains("jury.toml")
                && summary.contains("is a symbolic link; Jury reads only a regular file"),
            "{summary}"
        );
        // Mended on the base, it is read, and the review can be asked for again.
        room.push("main", &[Edit::remove(".github/jury.toml")]);
        room.people.rerequest_check(REPO, number, "jury", "mona").unwrap();
        room.settle().await;
        assert_eq!(
            room.shown(&head).await,
            ["completed/failure", "completed/success"],
            "{read}"
        );
        room.leave().await;
    }
}

#[tokio::test]
async fn a_secret_that_is_a_links_target_blocks_on_the_line_of_the_link() {
    for read in ["git", "api"] {
        let room = Room::with(Setup::default().env("JURY_GITHUB_READ", read)).await;
        let (number, head) = room
            .reviewed("feature", &[link("config/token", faults::token())])
            .await;
        assert_eq!(room.shown(&head).await, ["completed/failure"], "{read}");
        assert_eq!(room.comments(number).await, ["config/token:1"], "{read}");
        assert_eq!(
            room.passes().await[0].snapshot.as_ref().unwrap().axes[1]
                .state
                .as_str(),
            "fail"
        );
        room.leave().await;
    }
}

#[tokio::test]
async fn a_server_may_lock_what_repositories_would_change() {
    let setup = Setup::default().file(
        ".github/jury.toml",
        "gate = \"advisory\"\n[consensus]\nquorum = 2\n",
    );
    let room = Room::with(setup.env("JURY_POLICY_LOCKED", "gate")).await;
    let (_, head) = room
        .reviewed("feature", &[Edit::write("src/net.rs", faults::with_token())])
        .await;
    assert_eq!(room.shown(&head).await, ["completed/action_required"]);
    room.leave().await;
}

#[tokio::test]
async fn a_review_that_waits_for_approval_keeps_the_check_from_passing() {
    let room = Room::with(Setup::default().file(".github/jury.toml", "publish = \"ask\"\n")).await;
    let (number, head) = room.reviewed("feature", &clean()).await;
    assert_eq!(room.shown(&head).await, ["completed/action_required"]);
    assert!(room.reviews(number).await.is_empty());
    room.leave().await;
}

#[tokio::test]
async fn a_merge_queue_is_told_at_once_that_it_is_not_supported() {
    let room = Room::open().await;
    let (number, _) = room.reviewed("feature", &clean()).await;
    room.tick();
    let group = room.people.enqueue(REPO, number, "mona").unwrap();
    room.settle().await;
    assert_eq!(room.shown(&group).await, ["completed/action_required"]);
    room.leave().await;
}

#[tokio::test]
async fn the_checks_details_lead_to_a_page_that_says_what_the_check_says() {
    let room = Room::with(Setup::default().env("JURY_SERVER_PUBLIC_URL", "https://jury.example")).await;
    let edits = [Edit::write("src/net.rs", faults::with_token())];
    let (_, head) = room.reviewed("feature", &edits).await;
    let run = room.check_runs(&head).await.pop().unwrap();
    let details = run["details_url"].as_str().unwrap();
    let path = details.strip_prefix("https://jury.example").unwrap();
    let answer = room
        .http
        .get(format!("http://{}{path}", room.server.address))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.headers().contains_key("content-security-policy"));
    let page = answer.text().await.unwrap();
    assert!(
        page.contains("Block") && page.contains("src/net.rs:2") && !page.contains(&faults::token()),
        "{page}"
    );
    let none = room
        .http
        .get(format!("http://{}/spaces/nope", room.server.address))
        .send()
        .await
        .unwrap();
    assert_eq!(none.status(), 404);
    room.leave().await;
}

#[tokio::test]
async fn without_a_public_address_the_details_are_the_pull_request() {
    let room = Room::open().await;
    let (number, head) = room.reviewed("feature", &clean()).await;
    let run = room.check_runs(&head).await.pop().unwrap();
    let details = run["details_url"].as_str().unwrap();
    assert_eq!(
        details,
        format!("{}/{REPO}/pull/{number}", room.emulator.base_url())
    );
    room.leave().await;
}

/// An answer that is slow enough for any machine.
fn slow() -> Fault {
    Fault::Slow {
        time: Duration::from_secs(10),
        when: When::After,
    }
}

#[tokio::test]
async fn a_push_in_the_middle_of_a_pass_takes_its_place() {
    let room = Room::open().await;
    let first = room.push("feature", &[Edit::write("src/net.rs", faults::with_token())]);
    room.emulator
        .fail_next(Method::GET, "/repos/acme/shop/git/ref", slow());
    let number = room.open_pull("feature");
    room.emulator.hooks().wait_quiet().await;
    let context = room.server.context.clone();
    let passing = tokio::spawn(async move { jury::services::work::run_until_idle(&context).await });
    room.until_a_pass_runs().await;
    let second = room.push(
        "feature",
        &[
            Edit::remove("src/net.rs"),
            Edit::write("tests/two.rs", "// two\n"),
        ],
    );
    room.emulator.hooks().wait_quiet().await;
    // Intake has workers of its own: it does not wait behind the pass.
    room.settle_without_hooks().await;
    passing.await.unwrap().unwrap();
    room.settle().await;
    assert_eq!(room.shown(&first).await, ["completed/cancelled"]);
    assert_eq!(room.shown(&second).await, ["completed/success"]);
    assert!(
        room.reviews(number).await.is_empty(),
        "nothing is said of a head that is gone"
    );
    room.leave().await;
}

#[tokio::test]
async fn closing_in_the_middle_of_a_pass_cancels_its_check() {
    let room = Room::open().await;
    let head = room.push("feature", &clean());
    room.emulator
        .fail_next(Method::GET, "/repos/acme/shop/git/ref", slow());
    let number = room.open_pull("feature");
    room.emulator.hooks().wait_quiet().await;
    let context = room.server.context.clone();
    let passing = tokio::spawn(async move { jury::services::work::run_until_idle(&context).await });
    room.until_a_pass_runs().await;
    room.tick();
    room.people.close(REPO, number, "mona").unwrap();
    room.emulator.hooks().wait_quiet().await;
    // Intake has workers of its own: it does not wait behind the pass.
    room.settle_without_hooks().await;
    passing.await.unwrap().unwrap();
    room.settle().await;
    assert_eq!(room.shown(&head).await, ["completed/cancelled"]);
    room.leave().await;
}

#[tokio::test]
async fn a_pass_that_takes_too_long_says_so_and_can_be_asked_for_again() {
    let room = Room::with(Setup::default().env("JURY_LIMITS_PASS_SECONDS", "10")).await;
    let head = room.push("feature", &clean());
    let answer = || Fault::status(503, When::Before);
    for _ in 0..3 {
        room.emulator
            .fail_next(Method::GET, "/repos/acme/shop/git/ref", answer());
    }
    let number = room.open_pull("feature");
    room.settle().await;
    for _ in 0..6 {
        room.later(4).await;
    }
    assert_eq!(room.shown(&head).await, ["completed/timed_out"]);
    room.people.rerequest_check(REPO, number, "jury", "mona").unwrap();
    room.settle().await;
    assert_eq!(
        room.shown(&head).await,
        ["completed/timed_out", "completed/success"]
    );
    room.leave().await;
}

#[tokio::test]
async fn a_change_that_is_read_over_the_api_comes_to_the_same_verdicts() {
    let room = Room::with(Setup::default().env("JURY_GITHUB_READ", "api")).await;
    let edits = [
        Edit::write("src/lib.rs", faults::with_conflict()),
        Edit::write("src/net.rs", faults::with_token()),
    ];
    let (number, faulty) = room.reviewed("feature", &edits).await;
    assert_eq!(room.shown(&faulty).await, ["completed/failure"]);
    assert_eq!(room.review_states(number).await, ["CHANGES_REQUESTED"]);
    let fixed = room.push(
        "feature",
        &[Edit::write("src/lib.rs", CLEAN), Edit::remove("src/net.rs")],
    );
    room.settle().await;
    assert_eq!(room.shown(&fixed).await, ["completed/success"]);
    room.leave().await;
}

#[tokio::test]
async fn under_an_advisory_gate_a_review_that_could_not_finish_is_neutral_and_says_so() {
    let setup = Setup::default().file(".github/jury.toml", "gate = \"advisory\"\n");
    let room = Room::with(setup.env("JURY_LIMITS_PASS_SECONDS", "10")).await;
    let head = room.push("feature", &[Edit::write("src/net.rs", faults::with_token())]);
    // The first pass is still sending its review when the second one is to be finalized.
    let refused = || Fault::status(503, When::Before);
    room.emulator
        .fail_next(Method::POST, "/repos/acme/shop/pulls/1/reviews", refused());
    room.open_pull("feature");
    room.settle().await;
    let second = room.push("feature", &[Edit::write("README.md", "# more\n")]);
    for _ in 0..3 {
        room.emulator
            .fail_next(Method::GET, "/repos/acme/shop/pulls/1/reviews", refused());
    }
    room.settle().await;
    for _ in 0..4 {
        room.later(4).await;
    }
    assert_eq!(
        room.shown(&head).await,
        ["completed/failure"],
        "a block stays a failure"
    );
    let run = room.check_runs(&second).await.pop().unwrap();
    assert_eq!(run["conclusion"], "neutral");
    let title = run["output"]["title"].as_str().unwrap();
    assert_eq!(
        title,
        "The review took too long: nothing is proved (advisory gate)"
    );
    for _ in 0..4 {
        room.later(60).await;
    }
    room.leave().await;
}
