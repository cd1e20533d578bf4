use super::*;
use crate::emulator::{Protection, RequiredCheck};

async fn create(stage: &Stage, more: Value) -> (u16, Value) {
    let sha = stage.people.head_sha(REPO, 1).unwrap();
    let mut body = json!({"name": "jury", "head_sha": sha});
    let Value::Object(more) = more else {
        unreachable!("an object")
    };
    body.as_object_mut().unwrap().extend(more);
    let path = format!("/repos/{REPO}/check-runs");
    stage.send(Method::POST, &path, &body).await
}

fn notes(count: u32) -> Value {
    let note = |n| json!({"path": "new.txt", "start_line": n, "end_line": n, "annotation_level": "warning", "message": "m"});
    (1..=count).map(note).collect()
}

#[tokio::test]
async fn annotations_are_appended_fifty_at_a_time() {
    let (stage, _) = Stage::with_pull().await;
    let output = |count| json!({"title": "T", "summary": "S", "annotations": notes(count)});
    let (status, run) = create(&stage, json!({"status": "in_progress", "output": output(50)})).await;
    assert_eq!((status, &run["status"]), (201, &json!("in_progress")));
    let path = format!("/repos/{REPO}/check-runs/{}", run["id"]);
    let (status, body) = stage
        .send(Method::PATCH, &path, &json!({"output": output(51)}))
        .await;
    let text = "Invalid request.\n\nNo more than 50 items are allowed; 51 were supplied.";
    assert_eq!((status, body["message"].as_str()), (422, Some(text)));
    let end = json!({"conclusion": "success", "output": output(10)});
    let (_, run) = stage.send(Method::PATCH, &path, &end).await;
    assert_eq!(run["output"]["annotations_count"], 60);
    assert_eq!(run["status"], "completed", "a conclusion completes");
    assert!(run["completed_at"].is_string());
    let (_, listed) = stage.get(&format!("{path}/annotations?per_page=100")).await;
    assert_eq!(listed.as_array().unwrap().len(), 60);
}

#[tokio::test]
async fn what_is_wrong_with_a_check_run_is_said_and_nothing_is_kept() {
    let (stage, _) = Stage::with_pull().await;
    for wrong in [
        json!({"head_sha": "0123456789012345678901234567890123456789"}),
        json!({"head_sha": "main"}),
        json!({"name": null}),
        json!({"status": "completed"}),
        json!({"status": "waiting"}),
        json!({"conclusion": "stale"}),
        json!({"conclusion": "ship"}),
        json!({"output": {"summary": "S"}}),
        json!({"output": {"title": "T"}}),
        json!({"output": {"title": "T", "summary": "x".repeat(65_536)}}),
        json!({"details_url": "javascript:alert(1)"}),
        json!({"output": {"title": "T", "summary": "S", "annotations": [{"path": "a", "start_line": 0, "end_line": 1, "annotation_level": "notice", "message": "m"}]}}),
        json!({"output": {"title": "T", "summary": "S", "annotations": [{"path": "a", "start_line": 1, "end_line": 2, "start_column": 1, "annotation_level": "notice", "message": "m"}]}}),
        json!({"actions": [{"label": "a label that is far too long", "description": "d", "identifier": "i"}]}),
    ] {
        let (status, body) = create(&stage, wrong.clone()).await;
        assert_eq!(status, 422, "{wrong}: {body}");
    }
    let sha = stage.people.head_sha(REPO, 1).unwrap();
    let (_, listed) = stage
        .get(&format!("/repos/{REPO}/commits/{sha}/check-runs?filter=all"))
        .await;
    assert_eq!(listed["total_count"], 0);
}

#[tokio::test]
async fn the_newest_run_of_a_name_is_the_latest() {
    let (stage, _) = Stage::with_pull().await;
    create(&stage, json!({"conclusion": "failure"})).await;
    let (_, second) = create(&stage, json!({"conclusion": "success"})).await;
    create(&stage, json!({"name": "other"})).await;
    let sha = stage.people.head_sha(REPO, 1).unwrap();
    let list = |query: &'static str| {
        let (stage, sha) = (&stage, &sha);
        async move {
            let path = format!("/repos/{REPO}/commits/{sha}/check-runs?{query}");
            stage.get(&path).await.1
        }
    };
    let named = list("check_name=jury").await;
    assert_eq!(
        (&named["total_count"], &named["check_runs"][0]["id"]),
        (&json!(1), &second["id"])
    );
    assert_eq!(list("filter=all").await["total_count"], 3);
    assert_eq!(list("app_id=1").await["total_count"], 0);
    let path = format!("/repos/{REPO}/check-runs/{}", second["id"]);
    let back = json!({"status": "in_progress"});
    let (_, same) = stage.send(Method::PATCH, &path, &back).await;
    assert_eq!(
        (&same["status"], &same["conclusion"]),
        (&json!("completed"), &json!("success"))
    );
}

#[tokio::test]
async fn the_merge_gate_takes_the_check_only_from_its_app() {
    let (stage, number) = Stage::with_pull().await;
    let rules = Protection {
        required_checks: vec![RequiredCheck {
            context: "jury".to_owned(),
            app_id: Some(stage.app),
        }],
        required_approvals: 0,
    };
    stage.people.protect(REPO, "main", rules).unwrap();
    let merge = || stage.people.merge(REPO, number, "ada").unwrap_err();
    assert_eq!(
        (merge().status, merge().message.as_str()),
        (405, "Required status check \"jury\" is expected.")
    );

    // Another App forges the name.
    let forger = AppRegistration::reviewer("forger", "eve", KEY.public_pem.clone());
    let forger = stage.people.register_app(forger).unwrap();
    let installation = stage.people.install(forger, "ada", None).unwrap();
    let now = stage.now();
    let jwt = stage.jwt(&json!({"iss": forger.to_string(), "iat": now, "exp": now + 60}));
    let path = format!("/app/installations/{installation}/access_tokens");
    let (_, token) = answered(stage.ask(Method::POST, &path, &jwt)).await;
    let sha = stage.people.head_sha(REPO, number).unwrap();
    let body = json!({"name": "jury", "head_sha": sha, "conclusion": "success"});
    let checks = format!("/repos/{REPO}/check-runs");
    let forged = stage
        .ask(Method::POST, &checks, token["token"].as_str().unwrap())
        .json(&body);
    let (status, forged) = answered(forged).await;
    assert_eq!(status, 201);
    assert_eq!(
        merge().message,
        "Required status check \"jury\" was not set by the expected GitHub App."
    );
    let theirs = format!("{checks}/{}", forged["id"]);
    let (status, _) = stage
        .send(Method::PATCH, &theirs, &json!({"conclusion": "failure"}))
        .await;
    assert_eq!(status, 403, "an App changes only its own runs");

    let (_, run) = create(&stage, json!({"status": "in_progress"})).await;
    assert_eq!(merge().message, "Required status check \"jury\" is in progress.");
    let own = format!("{checks}/{}", run["id"]);
    for conclusion in ["failure", "action_required", "cancelled", "timed_out"] {
        stage
            .send(Method::PATCH, &own, &json!({"conclusion": conclusion}))
            .await;
        assert_eq!(
            merge().message,
            "Required status check \"jury\" is failing.",
            "{conclusion}"
        );
    }
    stage
        .send(Method::PATCH, &own, &json!({"conclusion": "success"}))
        .await;
    stage.push("topic", &[Edit::write("later.txt", "x\n")]);
    assert_eq!(
        merge().message,
        "Required status check \"jury\" is expected.",
        "only the latest head counts"
    );
    create(&stage, json!({"conclusion": "success"})).await;
    let merged = stage.people.merge(REPO, number, "ada").unwrap();
    assert_eq!(stage.people.branch(REPO, "main"), Some(merged));
    let (_, pull) = stage.get(&format!("/repos/{REPO}/pulls/{number}")).await;
    assert_eq!(
        (&pull["merged"], &pull["state"]),
        (&json!(true), &json!("closed"))
    );
}

#[tokio::test]
async fn changes_requested_block_where_reviews_are_required() {
    let (stage, number) = Stage::with_pull().await;
    let rules = Protection {
        required_checks: Vec::new(),
        required_approvals: 1,
    };
    stage.people.protect(REPO, "main", rules).unwrap();
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    let no = json!({"event": "REQUEST_CHANGES", "body": "No."});
    let (_, made) = stage.send(Method::POST, &path, &no).await;
    let blockers = || stage.people.merge_blockers(REPO, number).unwrap();
    assert_eq!(blockers()[0], "Changes have been requested.");
    let review = made["id"].as_u64().unwrap();
    stage
        .people
        .dismiss_review(REPO, number, review, "ada", "stale")
        .unwrap();
    assert_eq!(
        blockers(),
        ["At least 1 approving review is required by reviewers with write access."]
    );
    let yes = json!({"event": "APPROVE"});
    stage.send(Method::POST, &path, &yes).await;
    assert_eq!(blockers(), Vec::<String>::new());
}
