use super::*;
use crate::emulator::Feedback;

fn comment(path: &str, line: u32) -> Value {
    json!({"path": path, "line": line, "side": "RIGHT", "body": "look"})
}

async fn review(stage: &Stage, number: u64, comments: Value) -> (u16, Value) {
    let body = json!({"event": "COMMENT", "body": "Reviewed.", "comments": comments});
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    stage.send(Method::POST, &path, &body).await
}

const LINE: &str = "Pull request review thread line must be part of the diff and Pull request review thread diff hunk can't be blank";

#[tokio::test]
async fn a_comment_stands_only_on_a_line_that_git_shows() {
    let (stage, number) = Stage::with_pull().await;
    // src/lib.rs shows 1-6 and 17/18-24 of both sides; old.txt only its left side.
    for (path, line, side, good) in [
        ("src/lib.rs", 3, "RIGHT", true),
        ("src/lib.rs", 3, "LEFT", true),
        ("src/lib.rs", 1, "LEFT", true),
        ("src/lib.rs", 6, "RIGHT", true),
        ("src/lib.rs", 7, "RIGHT", false),
        ("src/lib.rs", 21, "RIGHT", true),
        ("src/lib.rs", 24, "RIGHT", true),
        ("src/lib.rs", 25, "RIGHT", false),
        ("src/lib.rs", 24, "LEFT", false),
        ("src/lib.rs", 0, "RIGHT", false),
        ("old.txt", 1, "LEFT", true),
        ("old.txt", 1, "RIGHT", false),
        ("new.txt", 3, "RIGHT", true),
        ("new.txt", 1, "LEFT", false),
    ] {
        let one = json!([{"path": path, "line": line, "side": side, "body": "look"}]);
        let (status, body) = review(&stage, number, one).await;
        assert_eq!(status == 200, good, "{path}:{line} {side}: {body}");
        if !good {
            assert_eq!(body["errors"], json!([LINE]));
        }
    }
    let (status, body) = review(&stage, number, json!([comment("README.md", 1)])).await;
    assert_eq!(
        (status, &body["errors"]),
        (422, &json!(["Path could not be resolved"]))
    );
}

#[tokio::test]
async fn a_range_stays_in_one_hunk_and_runs_forward() {
    let (stage, number) = Stage::with_pull().await;
    let range = |start: u32, line: u32| json!([{"path": "src/lib.rs", "start_line": start, "start_side": "RIGHT", "line": line, "side": "RIGHT", "body": "look"}]);
    assert_eq!(review(&stage, number, range(2, 4)).await.0, 200);
    let (status, body) = review(&stage, number, range(4, 4)).await;
    let before = "Pull request review thread start line must precede the end line.";
    assert_eq!((status, &body["errors"]), (422, &json!([before])));
    let (status, body) = review(&stage, number, range(4, 21)).await;
    let hunk = "pull_request_review_thread.start_line must be part of the same hunk as the line.";
    assert_eq!((status, &body["errors"]), (422, &json!([hunk])));
}

#[tokio::test]
async fn one_bad_comment_refuses_the_whole_review() {
    let (stage, number) = Stage::with_pull().await;
    let both = json!([comment("src/lib.rs", 3), comment("src/lib.rs", 30)]);
    let (status, body) = review(&stage, number, both).await;
    assert_eq!(
        (status, body["message"].as_str()),
        (422, Some("Unprocessable Entity"))
    );
    let path = format!("/repos/{REPO}/pulls/{number}");
    assert_eq!(stage.get(&format!("{path}/reviews")).await.1, json!([]));
    assert_eq!(stage.get(&format!("{path}/comments")).await.1, json!([]));
}

#[tokio::test]
async fn the_rules_of_a_review() {
    let (stage, number) = Stage::with_pull().await;
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    let post = |body: Value| {
        let (stage, path) = (&stage, &path);
        async move { stage.send(Method::POST, path, &body).await }
    };
    assert_eq!(
        post(json!({"event": "COMMENT"})).await.0,
        422,
        "a body is required"
    );
    assert_eq!(post(json!({"event": "SHRUG", "body": "x"})).await.0, 422);
    let long = "é".repeat(65_536);
    assert_eq!(post(json!({"event": "COMMENT", "body": long})).await.0, 200);
    let (status, body) = post(json!({"event": "COMMENT", "body": format!("{long}x")})).await;
    assert_eq!(status, 422);
    assert!(
        body.to_string()
            .contains("body is too long (maximum is 65536 characters)")
    );
    let stranger = "0123456789012345678901234567890123456789";
    let other = json!({"event": "COMMENT", "body": "x", "commit_id": stranger});
    assert_eq!(post(other).await.0, 422);

    let (status, pending) = post(json!({"body": "later"})).await;
    assert_eq!((status, &pending["state"]), (200, &json!("PENDING")));
    let (status, body) = post(json!({"event": "COMMENT", "body": "x"})).await;
    let one = "User can only have one pending review per pull request";
    assert_eq!((status, &body["errors"]), (422, &json!([one])));
    let own = format!("{path}/{}", pending["id"]);
    assert_eq!(stage.send(Method::DELETE, &own, &Value::Null).await.0, 200);
    assert_eq!(stage.get(&own).await.0, 404);

    let mine = Feedback {
        by: "ada",
        event: "APPROVE",
        body: "",
        comments: &[],
    };
    let refusal = stage.people.review(REPO, number, mine).unwrap_err();
    assert_eq!(
        refusal.errors,
        Some(json!(["Can not approve your own pull request"]))
    );
}

#[tokio::test]
async fn only_an_opinion_can_be_dismissed() {
    let (stage, number) = Stage::with_pull().await;
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    let body = json!({"event": "REQUEST_CHANGES", "body": "No."});
    let (_, made) = stage.send(Method::POST, &path, &body).await;
    assert_eq!(made["state"], "CHANGES_REQUESTED");
    let dismiss = format!("{path}/{}/dismissals", made["id"]);
    assert_eq!(stage.send(Method::PUT, &dismiss, &json!({})).await.0, 422);
    let why = json!({"message": "mended"});
    let (status, gone) = stage.send(Method::PUT, &dismiss, &why).await;
    assert_eq!((status, &gone["state"]), (200, &json!("DISMISSED")));
    let (status, body) = stage.send(Method::PUT, &dismiss, &why).await;
    let text = "Can not dismiss a dismissed pull request review";
    assert_eq!((status, &body["errors"]), (422, &json!([text])));
    let plain = json!({"event": "COMMENT", "body": "Hm."});
    let (_, made) = stage.send(Method::POST, &path, &plain).await;
    let dismiss = format!("{path}/{}/dismissals", made["id"]);
    assert_eq!(stage.send(Method::PUT, &dismiss, &why).await.0, 422);
    assert_eq!(
        stage
            .send(Method::DELETE, &format!("{path}/{}", made["id"]), &Value::Null)
            .await
            .0,
        422
    );
}

#[tokio::test]
async fn a_comment_is_outdated_once_its_file_changed() {
    let (stage, number) = Stage::with_pull().await;
    review(
        &stage,
        number,
        json!([comment("src/lib.rs", 3), comment("new.txt", 2)]),
    )
    .await;
    stage.push("topic", &[Edit::write("new.txt", "a\nB\nc\n")]);
    let (_, comments) = stage.get(&format!("/repos/{REPO}/pulls/{number}/comments")).await;
    assert_eq!(comments[0]["line"], 3);
    assert_eq!(comments[1]["line"], Value::Null);
    assert_eq!(comments[1]["original_line"], 2);
    assert_eq!(comments[1]["position"], Value::Null);
    assert_eq!(
        comments[0]["diff_hunk"].as_str().unwrap().lines().last(),
        Some("+line three")
    );
}

#[tokio::test]
async fn a_force_push_moves_what_a_review_says_it_saw() {
    let (stage, number) = Stage::with_pull().await;
    let seen = stage.people.head_sha(REPO, number).unwrap();
    review(&stage, number, json!([])).await;
    let push = Push {
        repo: REPO,
        branch: "topic",
        by: "ada",
        message: "Again\n",
        edits: &[Edit::write("other.txt", "x\n")],
        onto: Some("main"),
    };
    let new = stage.people.push(push).unwrap();
    let (_, reviews) = stage.get(&format!("/repos/{REPO}/pulls/{number}/reviews")).await;
    assert_ne!(seen, new);
    assert_eq!(reviews[0]["commit_id"], json!(new));
    let old = json!({"event": "COMMENT", "body": "x", "commit_id": seen});
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    assert_eq!(stage.send(Method::POST, &path, &old).await.0, 422);
}
