use std::time::Duration;

use super::*;
use crate::emulator::{Fault, When};

#[tokio::test]
async fn a_fault_after_the_effect_loses_only_the_answer() {
    let (stage, number) = Stage::with_pull().await;
    let token = stage.token().await;
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    let body = json!({"event": "COMMENT", "body": "once"});
    let post = || stage.ask(Method::POST, &path, &token).json(&body);
    let count = async || {
        let (_, listed) = answered(stage.ask(Method::GET, &path, &token)).await;
        listed.as_array().unwrap().len()
    };

    stage.forge.fail_next(
        Method::POST,
        "/repos/ada/sums/pulls",
        Fault::status(502, When::Before),
    );
    stage.forge.fail_next(
        Method::POST,
        "/repos/ada/sums/pulls",
        Fault::status(502, When::After),
    );
    assert_eq!(answered(post()).await.0, 502);
    assert_eq!(count().await, 0, "nothing happened");
    assert_eq!(answered(post()).await.0, 502);
    assert_eq!(count().await, 1, "it happened");
    stage
        .forge
        .fail_next(Method::POST, &path, Fault::Cut(When::After));
    let cut = post().send().await.unwrap_err();
    assert!(cut.status().is_none(), "there was no answer at all: {cut}");
    assert_eq!(count().await, 2);
    stage
        .forge
        .fail_next(Method::POST, &path, Fault::Cut(When::Before));
    post().send().await.unwrap_err();
    assert_eq!(count().await, 2);
    assert_eq!(stage.forge.faults_waiting(), 0);
}

#[tokio::test]
async fn a_fault_may_carry_headers_or_be_slow() {
    let stage = Stage::open().await;
    let token = stage.token().await;
    let fault = Fault::Status {
        status: 403,
        headers: vec![("retry-after".to_owned(), "7".to_owned())],
        message: "You have exceeded a secondary rate limit.".to_owned(),
        when: When::Before,
    };
    stage.forge.fail_next(Method::GET, "/repos", fault);
    let answer = stage
        .ask(Method::GET, "/repos/ada/sums", &token)
        .send()
        .await
        .unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["retry-after"]),
        (403, &"7".parse().unwrap())
    );
    stage
        .forge
        .fail_next(Method::GET, "/repos", Fault::Slow(Duration::from_secs(3600)));
    let late = stage
        .ask(Method::GET, "/repos/ada/sums", &token)
        .timeout(Duration::from_millis(100));
    assert!(late.send().await.unwrap_err().is_timeout());
}

#[tokio::test]
async fn the_rate_limit_is_counted_and_kept() {
    let stage = Stage::open().await;
    let token = stage.token().await;
    let ask = |path: &'static str| stage.ask(Method::GET, path, &token).send();
    ask("/repos/ada/sums").await.unwrap();
    let (_, limit) = read(ask("/rate_limit").await.unwrap()).await;
    assert_eq!(
        (&limit["resources"]["core"]["used"], &limit["rate"]["remaining"]),
        (&json!(1), &json!(4999))
    );
}

#[tokio::test]
async fn the_record_holds_what_was_said_and_no_token() {
    let (stage, number) = Stage::with_pull().await;
    stage.people.rename_repo(REPO, "totals", "ada").unwrap();
    let token = stage.token().await;
    let id = read(
        stage
            .ask(Method::GET, "/repos/ada/totals", &token)
            .send()
            .await
            .unwrap(),
    )
    .await
    .1["id"]
        .clone();
    answered(stage.ask(Method::GET, &format!("/repositories/{id}/pulls/{number}"), &token)).await;
    let record = stage.forge.record();
    assert_eq!(
        record.last().unwrap().path,
        format!("/repos/ada/totals/pulls/{number}")
    );
    let text = serde_json::to_string(&record).unwrap();
    assert!(text.contains("access_tokens"));
    assert!(!text.contains(&token));
    assert!(!text.contains(&stage.good_jwt()));
}
