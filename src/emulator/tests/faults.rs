use std::time::Duration;

use super::*;
use crate::emulator::{Fault, Rule, When, read_faults};

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
    let fault = Fault::secondary_limit(403, Some(7));
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
    let slow = Fault::Slow {
        time: Duration::from_secs(3600),
        when: When::After,
    };
    stage.forge.fail_next(Method::GET, "/repos", slow);
    let late = stage
        .ask(Method::GET, "/repos/ada/sums", &token)
        .timeout(Duration::from_millis(100));
    assert!(late.send().await.unwrap_err().is_timeout());
}

/// A stage, a pull request, and how to comment on it and count what arrived.
struct Reviewing {
    stage: Stage,
    path: String,
    token: String,
}

impl Reviewing {
    async fn open() -> Self {
        let (stage, number) = Stage::with_pull().await;
        let token = stage.token().await;
        Self {
            stage,
            path: format!("/repos/{REPO}/pulls/{number}/reviews"),
            token,
        }
    }

    fn post(&self) -> RequestBuilder {
        let body = json!({"event": "COMMENT", "body": "once"});
        self.stage.ask(Method::POST, &self.path, &self.token).json(&body)
    }

    async fn count(&self) -> usize {
        let (status, listed) = answered(self.stage.ask(Method::GET, &self.path, &self.token)).await;
        assert_eq!(status, 200, "{listed}");
        listed.as_array().unwrap().len()
    }

    fn fail(&self, fault: Fault) {
        self.stage.forge.fail(Rule::on(Method::POST, &self.path), fault);
    }
}

#[tokio::test]
async fn what_is_slow_happens_though_nobody_waits_any_more() {
    let r = Reviewing::open().await;
    r.fail(Fault::Slow {
        time: Duration::from_millis(300),
        when: When::Before,
    });
    let impatient = r.post().timeout(Duration::from_millis(50)).send().await;
    assert!(impatient.unwrap_err().is_timeout());
    while r.count().await == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(r.count().await, 1);
}

#[tokio::test]
async fn what_a_gateway_gave_up_on_takes_effect_when_it_is_let() {
    let r = Reviewing::open().await;
    r.fail(Fault::Late);
    assert_eq!(answered(r.post()).await.0, 504);
    assert_eq!(r.count().await, 0);
    r.stage.forge.let_late_arrive().await;
    assert_eq!(r.count().await, 1);
    r.stage.forge.let_late_arrive().await;
    assert_eq!(r.count().await, 1, "once");
}

#[tokio::test]
async fn an_answer_is_cut_in_its_middle() {
    let r = Reviewing::open().await;
    r.fail(Fault::CutBody);
    let answer = r.post().send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap_err();
    assert_eq!(r.count().await, 1);
}

#[tokio::test]
async fn a_stale_read_shows_what_was_when_it_was_planned() {
    let r = Reviewing::open().await;
    r.stage
        .forge
        .fail(Rule::on(Method::GET, &r.path).times(2), Fault::Stale);
    r.post().send().await.unwrap();
    assert_eq!(r.count().await, 0);
    // A token that is younger than the copy is as good there.
    let token = r.stage.token().await;
    let (_, listed) = answered(r.stage.ask(Method::GET, &r.path, &token)).await;
    assert_eq!(listed, json!([]));
    assert_eq!(r.count().await, 1, "and then what is");
}

#[tokio::test]
async fn a_token_dies_early_and_for_good() {
    let r = Reviewing::open().await;
    r.fail(Fault::TokenDies);
    for _ in 0..2 {
        assert_eq!(answered(r.post()).await.0, 401);
    }
    let token = r.stage.token().await;
    let (status, listed) = answered(r.stage.ask(Method::GET, &r.path, &token)).await;
    assert_eq!((status, listed), (200, json!([])));
}

#[tokio::test]
async fn people_do_something_while_a_request_is_under_way() {
    let r = Reviewing::open().await;
    let close = |people: &People| people.close(REPO, 1, "ada").unwrap();
    r.fail(Fault::meanwhile(When::After, close));
    assert_eq!(answered(r.post()).await.0, 200);
    let (_, pull) = r.stage.get(&format!("/repos/{REPO}/pulls/1")).await;
    assert_eq!(pull["state"], "closed");
    assert_eq!(r.stage.forge.faults_waiting(), 0);
}

#[tokio::test]
async fn the_nth_of_them_fails_and_so_many_after_it() {
    let r = Reviewing::open().await;
    let rule = Rule::on(Method::POST, "/repos/*/*/pulls/*/reviews$")
        .nth(2)
        .times(2);
    r.stage.forge.fail(rule, Fault::status(503, When::Before));
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(answered(r.post()).await.0);
    }
    assert_eq!(answers, [200, 503, 503, 200, 200]);
    let rule = Rule::any("/repos/ada/*").always();
    r.stage.forge.fail(rule, Fault::abuse(Some(3)));
    for _ in 0..2 {
        assert_eq!(answered(r.post()).await.0, 422);
    }
    assert_eq!(r.stage.forge.faults_waiting(), 0, "it was met");
    r.stage.forge.fail_no_more();
    assert_eq!(answered(r.post()).await.0, 200);
}

#[test]
fn a_rule_matches_a_paths_beginning_segment_by_segment() {
    for (rule, path, matches) in [
        ("GET /repos/*/*/pulls", "/repos/a/b/pulls/1/reviews", true),
        ("GET /repos/*/*/pulls$", "/repos/a/b/pulls/1/reviews", false),
        ("GET /repos/*/*/pulls$", "/repos/a/b/pulls", true),
        ("GET /repos/*/pulls", "/repos/a/b/pulls", false),
        (
            "GET /repos/*/*/pulls/*/reviews$",
            "/repos/a/b/pulls/12/reviews",
            true,
        ),
        ("GET /a*c$", "/abc", true),
        ("GET /a*c$", "/abcd", false),
        ("GET /*$", "/one/two", false),
    ] {
        let forge = crate::emulator::layers::Faults::default();
        forge.plan(rule.parse().unwrap(), Fault::TokenDies, None);
        let met = forge.meet(&Method::GET, path).is_some();
        assert_eq!(met, matches, "{rule} {path}");
    }
    for text in ["", "GET", "GET repos", "get /repos", "PRAY /repos"] {
        text.parse::<Rule>().unwrap_err();
    }
}

#[test]
fn faults_are_read_from_json_and_a_typo_is_an_error() {
    let text = r#"[
        {"on": "POST /repos/*/*/check-runs", "nth": 2, "fault": {"status": {"status": 502, "when": "after"}}},
        {"on": "* /repos", "times": 0, "fault": {"slow": {"ms": 20, "when": "before"}}},
        {"on": "GET /repos", "fault": "late"},
        {"on": "GET /repos", "fault": {"cut": "before"}},
        {"on": "GET /repos", "fault": "cut_body"},
        {"on": "GET /repos", "fault": "stale"},
        {"on": "GET /repos", "fault": "token_dies"}
    ]"#;
    let read = read_faults(text).unwrap();
    assert_eq!(read.len(), 7);
    assert_eq!(read[0].0, Rule::on(Method::POST, "/repos/*/*/check-runs").nth(2));
    assert_eq!(read[1].0, Rule::any("/repos").always());
    assert!(matches!(
        &read[0].1,
        Fault::Status {
            status: 502,
            when: When::After,
            ..
        }
    ));
    assert!(matches!(&read[1].1, Fault::Slow { time, .. } if time.as_millis() == 20));
    for wrong in [
        "{}",
        r#"[{"on": "GET /x", "fault": "explode"}]"#,
        r#"[{"on": "GET x", "fault": "stale"}]"#,
        r#"[{"on": "GET /x", "fault": "stale", "often": 2}]"#,
        r#"[{"on": "GET /x", "fault": {"status": {"status": 500, "when": "after", "head": []}}}]"#,
    ] {
        read_faults(wrong).unwrap_err();
    }
}

#[tokio::test]
async fn the_hour_is_an_installations_and_ends() {
    let stage = Stage::open().await;
    let first = stage.token().await;
    stage.forge.leave_requests(stage.installation, 1);
    let ask = |token: &str| stage.ask(Method::GET, "/repos/ada/sums", token).send();
    assert_eq!(ask(&first).await.unwrap().status(), 200);
    let second = stage.token().await;
    let refused = ask(&second).await.unwrap();
    assert_eq!(refused.status(), 403, "another token is no other hour");
    assert_eq!(refused.headers()["x-ratelimit-remaining"], "0");
    let reset: i64 = refused.headers()["x-ratelimit-reset"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    stage.step(reset - stage.now());
    let third = stage.token().await;
    assert_eq!(ask(&third).await.unwrap().status(), 200);
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
