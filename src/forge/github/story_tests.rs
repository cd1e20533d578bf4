//! The client against a forge that answers as it likes, over real HTTP.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    domain::{
        ids::{CheckRunId, InstallationId, ReviewId, Sha},
        principal::{Principal, PrincipalKind},
        review::finding::Side,
    },
    ports::forge::{CheckView, Conclusion, Forge, ForgeError, ReviewComment, ReviewEvent, ReviewView},
};

use super::{
    GitHub, GitHubConfig, SetupError,
    fake_tests::{APP_ID, Dial, Fake, NOON, Seen, key, minted, oid, plain, pull, reply, repo, token, with},
};

fn sha(digit: char) -> Sha {
    oid(digit).parse().unwrap()
}

fn review(comments: Vec<ReviewComment>) -> ReviewView {
    ReviewView {
        commit: sha('a'),
        event: ReviewEvent::Comment,
        body: "what was found <!-- jury:1 -->".to_owned(),
        comments,
    }
}

fn comment(line: u32, start_line: Option<u32>) -> ReviewComment {
    ReviewComment {
        path: "f.rs".to_owned(),
        line,
        side: Side::Right,
        start_line,
        body: "look".to_owned(),
    }
}

fn view(conclusion: Option<Conclusion>) -> CheckView {
    CheckView {
        conclusion,
        title: "title".to_owned(),
        summary: "summary".to_owned(),
        details_url: "http://127.0.0.1/space".to_owned(),
    }
}

fn is_token_request(seen: &Seen) -> bool {
    seen.path.ends_with("/access_tokens")
}

fn pull_body() -> serde_json::Value {
    json!({
        "number": 3, "title": "T", "state": "open", "draft": false,
        "user": { "id": 5_000_000_000_i64, "login": "someone" },
        "head": { "sha": oid('a'), "ref": "topic", "repo": null },
        "base": { "sha": oid('b'), "ref": "main", "repo": { "id": 99 } },
        "html_url": "http://127.0.0.1/octo/demo/pull/3",
        "updated_at": "2026-01-01T09:59:58Z",
    })
}

#[derive(Deserialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

fn claims(jwt: &str) -> Option<Claims> {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    let key = DecodingKey::from_rsa_der(&key().1);
    Some(
        jsonwebtoken::decode::<Claims>(jwt, &key, &validation)
            .ok()?
            .claims,
    )
}

// ---- who we are ----

#[tokio::test]
async fn the_jwt_is_dated_back_a_minute_and_names_the_app_as_text() {
    let fake = Fake::start(|_| None).await;
    fake.github().identify().await.unwrap();
    let seen = fake.seen();
    let claims = claims(seen[0].bearer()).expect("signed by our key");
    assert_eq!(claims.iss, APP_ID.to_string());
    assert_eq!(claims.iat, NOON / 1000 - 60);
    assert_eq!(claims.exp, NOON / 1000 + 540);
}

#[tokio::test]
async fn every_request_says_who_asks_exactly_once() {
    let fake = Fake::start(|s| s.path.ends_with("/pulls/3").then(|| reply(200, &pull_body()))).await;
    fake.github().pull(&pull()).await.unwrap();
    for seen in fake.seen() {
        let agents: Vec<_> = seen.headers.get_all("user-agent").iter().collect();
        assert_eq!(
            agents,
            [concat!("jury/", env!("CARGO_PKG_VERSION"))],
            "{}",
            seen.line()
        );
        assert_eq!(seen.headers.get_all("authorization").iter().count(), 1);
        assert_eq!(seen.headers["x-github-api-version"], "2022-11-28");
        assert_eq!(seen.headers["accept"], "application/vnd.github+json");
    }
}

#[tokio::test]
async fn l34_fifty_cold_calls_mint_one_token() {
    let fake = Fake::start(|s| s.path.ends_with("/pulls/3").then(|| reply(200, &pull_body()))).await;
    let github = Arc::new(fake.github());
    let calls = (0..50).map(|_| {
        let github = github.clone();
        tokio::spawn(async move { github.pull(&pull()).await })
    });
    for call in futures::future::join_all(calls).await {
        call.unwrap().unwrap();
    }
    assert_eq!(fake.count("POST", "/access_tokens"), 1);
    assert_eq!(fake.count("GET", "/pulls/3"), 50);
    assert_eq!(fake.count("GET", "/app"), 1);
}

#[tokio::test]
async fn l29_a_suspended_installation_is_asked_about_once_and_the_others_work() {
    let fake = Fake::start(|s| match s.path.as_str() {
        "/app/installations/8/access_tokens" => Some(reply(
            403,
            &json!({ "message": "This installation has been suspended" }),
        )),
        "/repos/octo/demo/pulls/3" => Some(reply(200, &pull_body())),
        _ => None,
    })
    .await;
    let github = Arc::new(fake.github());
    let mut theirs = pull();
    theirs.repo.installation = InstallationId(8);
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (github, theirs) = (github.clone(), theirs.clone());
            tokio::spawn(async move { github.pull(&theirs).await })
        })
        .collect();
    for call in futures::future::join_all(calls).await {
        let error = call.unwrap().unwrap_err();
        assert!(
            matches!(&error, ForgeError::Closed(text) if text.contains("suspended")),
            "{error}"
        );
    }
    // The nineteen others were waiting for the first one's answer, and share it.
    assert_eq!(fake.count("POST", "/8/access_tokens"), 1);
    github.pull(&theirs).await.unwrap_err();
    assert_eq!(
        fake.count("POST", "/8/access_tokens"),
        2,
        "a later call asks again"
    );
    github.pull(&pull()).await.unwrap();
}

#[tokio::test]
async fn an_installation_that_is_gone_is_closed() {
    let fake =
        Fake::start(|s| is_token_request(s).then(|| reply(404, &json!({ "message": "Not Found" })))).await;
    let error = fake.github().pull(&pull()).await.unwrap_err();
    assert!(
        matches!(&error, ForgeError::Closed(text) if text == "it is gone"),
        "{error}"
    );
}

#[tokio::test]
async fn l31_a_token_is_replaced_five_minutes_before_its_end() {
    let mints = AtomicUsize::new(0);
    let fake = Fake::start(move |s| match s.path.as_str() {
        path if path.ends_with("/access_tokens") => Some(match mints.fetch_add(1, Ordering::SeqCst) {
            0 => minted(1, "2026-01-01T11:00:00Z"),
            _ => minted(2, "2026-01-01T12:00:00Z"),
        }),
        path if path.ends_with("/pulls/3") => Some(reply(200, &pull_body())),
        _ => None,
    })
    .await;
    let clock = Dial::at(NOON);
    let github = fake.github_at(clock.clone());
    github.identify().await.unwrap();
    let minute = 60_000;
    for (turn, expected) in [
        (0, token(1)),
        (54 * minute + 59_999, token(1)),
        (1, token(2)),
        (minute, token(2)),
    ] {
        clock.turn(turn);
        github.pull(&pull()).await.unwrap();
        assert_eq!(fake.seen().last().unwrap().bearer(), expected);
    }
    assert_eq!(fake.count("POST", "/access_tokens"), 2);
}

#[tokio::test]
async fn a_clock_that_runs_ahead_does_not_mint_for_every_call() {
    let fake = Fake::start(|s| s.path.ends_with("/pulls/3").then(|| reply(200, &pull_body()))).await;
    let github = fake.github_at(Dial::at(NOON + 2 * 3_600_000));
    for _ in 0..3 {
        github.pull(&pull()).await.unwrap();
    }
    assert_eq!(fake.count("POST", "/access_tokens"), 1);
}

#[tokio::test]
async fn a_401_drops_the_token_and_the_call_is_sent_once_more_even_a_write() {
    let mints = AtomicUsize::new(0);
    let fake = Fake::start(move |s| match s.path.as_str() {
        path if path.ends_with("/access_tokens") => Some(minted(
            mints.fetch_add(1, Ordering::SeqCst),
            "2026-01-01T11:00:00Z",
        )),
        _ if s.bearer() == token(0) => Some(reply(401, &json!({ "message": "Bad credentials" }))),
        "/repos/octo/demo/pulls/3/reviews" => Some(reply(200, &json!({ "id": 77 }))),
        _ => None,
    })
    .await;
    let github = fake.github();
    assert_eq!(
        github.submit_review(&pull(), &review(vec![])).await.unwrap(),
        ReviewId(77)
    );
    assert_eq!(fake.count("POST", "/reviews"), 2);
    assert_eq!(fake.count("POST", "/access_tokens"), 2);
}

#[tokio::test]
async fn a_401_to_every_token_ends() {
    let fake =
        Fake::start(|s| (!is_token_request(s)).then(|| reply(401, &json!({ "message": "Bad credentials" }))))
            .await;
    let error = fake.github().pull(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Forbidden(_)), "{error}");
    assert_eq!(fake.count("GET", "/pulls/3"), 2);
}

#[tokio::test]
async fn l32_a_jwt_from_a_fast_clock_is_signed_again_by_the_forges_time() {
    let fake = Fake::start(|s| {
        let claims = claims(s.bearer())?;
        let too_far = claims.exp > NOON / 1000 + 600;
        too_far.then(|| {
            let refusal = json!({ "message": "'Expiration time' claim ('exp') is too far in the future" });
            with(reply(401, &refusal), "date", "Thu, 01 Jan 2026 10:00:00 GMT")
        })
    })
    .await;
    fake.github_at(Dial::at(NOON + 3_600_000))
        .identify()
        .await
        .unwrap();
    assert_eq!(fake.count("GET", "/app"), 2);
}

#[tokio::test]
async fn a_wrong_key_is_not_tried_again() {
    let fake = Fake::start(|_| {
        let refusal = json!({ "message": "A JSON web token could not be decoded" });
        Some(with(
            reply(401, &refusal),
            "date",
            "Thu, 01 Jan 2026 10:00:00 GMT",
        ))
    })
    .await;
    let error = fake.github().identify().await.unwrap_err();
    assert!(matches!(error, ForgeError::Forbidden(_)), "{error}");
    assert_eq!(fake.count("GET", "/app"), 1);
}

#[test]
fn a_key_that_is_none_is_a_clear_fault_that_does_not_show_it() {
    for pem in ["", "hunter2", "-----BEGIN X-----\nhunter2\n-----END X-----"] {
        let config = GitHubConfig {
            api_url: "https://api.github.com".to_owned(),
            app_id: APP_ID,
            private_key: pem.into(),
            mirrors: None,
            timeout: GitHubConfig::TIMEOUT,
        };
        let error = GitHub::new(&config, Dial::at(NOON)).unwrap_err();
        assert!(matches!(error, SetupError::PrivateKey(_)), "{error}");
        assert!(!format!("{error} {error:?} {config:?}").contains("hunter2"));
    }
}

#[tokio::test]
async fn l35_no_secret_shows_in_errors_or_debug_even_when_the_forge_echoes_it() {
    let fake = Fake::start(|s| {
        let echo = format!("{}bad token {} for you", "x".repeat(280), s.bearer());
        (!is_token_request(s)).then(|| {
            reply(
                422,
                &json!({ "message": echo, "errors": [echo, { "message": echo }] }),
            )
        })
    })
    .await;
    let github = fake.github();
    let error = github.submit_review(&pull(), &review(vec![])).await.unwrap_err();
    let read = github.pull(&pull()).await.unwrap_err();
    let jwt_error = github.identify().await.unwrap_err();
    let shown = format!(
        "{error} {error:?} {read:?} {jwt_error:?} {github:?} {:?}",
        fake.config()
    );
    assert!(shown.contains("[token]"), "{shown}");
    for secret in ["eyJ", "PRIVATE", &token(1)[..12], &key().0[40..80]] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

// ---- what an answer means ----

#[tokio::test]
async fn a_post_that_gets_a_502_is_sent_once_and_its_outcome_is_unknown() {
    for status in [500, 502, 503, 504] {
        let fake =
            Fake::start(move |s| (!is_token_request(s)).then(|| plain(status, "<html>bad gateway</html>")))
                .await;
        let github = fake.github();
        let posted = github.submit_review(&pull(), &review(vec![])).await.unwrap_err();
        assert!(matches!(posted, ForgeError::Unknown(_)), "{posted}");
        let patched = github
            .update_check(&repo(), CheckRunId(1), &view(None))
            .await
            .unwrap_err();
        assert!(matches!(patched, ForgeError::Unknown(_)), "{patched}");
        let read = github.pull(&pull()).await.unwrap_err();
        assert!(matches!(read, ForgeError::Later { .. }), "{read}");
        assert_eq!(
            fake.lines(),
            [
                "POST /repos/octo/demo/pulls/3/reviews",
                "PATCH /repos/octo/demo/check-runs/1",
                "GET /repos/octo/demo/pulls/3"
            ]
        );
    }
}

/// A forge that mints a token and then hangs up on, or never answers, what follows.
async fn rude(answer_partly: &'static str, hang: bool) -> (std::net::SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = requests.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counter = counter.clone();
            tokio::spawn(async move {
                let mut buffer = vec![0; 1 << 16];
                loop {
                    let read = stream.read(&mut buffer).await.unwrap_or(0);
                    if read == 0 {
                        return;
                    }
                    let head = String::from_utf8_lossy(&buffer[..read]).into_owned();
                    if head.contains("/access_tokens") {
                        let body =
                            json!({ "token": token(1), "expires_at": "2026-01-01T11:00:00Z" }).to_string();
                        let answer = format!(
                            "HTTP/1.1 201 Created\r\ncontent-length: {}\r\n\r\n{body}",
                            body.len()
                        );
                        stream.write_all(answer.as_bytes()).await.unwrap();
                        continue;
                    }
                    counter.fetch_add(1, Ordering::SeqCst);
                    stream.write_all(answer_partly.as_bytes()).await.unwrap();
                    if hang {
                        std::future::pending::<()>().await;
                    }
                    return;
                }
            });
        }
    });
    (address, requests)
}

fn rude_client(address: std::net::SocketAddr, timeout: Duration) -> GitHub {
    let config = GitHubConfig {
        api_url: format!("http://{address}"),
        app_id: APP_ID,
        private_key: key().0.clone().into(),
        mirrors: None,
        timeout,
    };
    GitHub::new(&config, Dial::at(NOON)).unwrap()
}

#[tokio::test]
async fn a_connection_that_breaks_after_a_write_leaves_its_outcome_unknown() {
    for partly in ["", "HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{\"id\":"] {
        let (address, requests) = rude(partly, false).await;
        let github = rude_client(address, Duration::from_secs(10));
        let error = github.submit_review(&pull(), &review(vec![])).await.unwrap_err();
        assert!(matches!(error, ForgeError::Unknown(_)), "{error}");
        assert_eq!(requests.load(Ordering::SeqCst), 1, "sent exactly once");
        let error = github.pull(&pull()).await.unwrap_err();
        assert!(matches!(error, ForgeError::Later { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_forge_that_never_answers_is_given_up() {
    let (address, requests) = rude("", true).await;
    let github = rude_client(address, Duration::from_millis(200));
    let error = github.submit_review(&pull(), &review(vec![])).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unknown(_)), "{error}");
    let error = github.pull(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Later { .. }), "{error}");
    assert_eq!(requests.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_write_that_found_no_forge_was_not_done() {
    let fake = Fake::start(|s| s.path.ends_with("/pulls/3").then(|| reply(200, &pull_body()))).await;
    let github = fake.github();
    github.pull(&pull()).await.unwrap();
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let nobody = rude_client(gone, Duration::from_secs(10));
    // Without a token nothing of the review itself was sent either.
    let error = nobody.submit_review(&pull(), &review(vec![])).await.unwrap_err();
    assert!(matches!(error, ForgeError::Later { .. }), "{error}");
}

#[tokio::test]
async fn a_limit_is_later_with_the_forges_own_time() {
    let fake = Fake::start(|s| {
        let secondary = json!({ "message": "You have exceeded a secondary rate limit." });
        match s.path.as_str() {
            "/repos/octo/demo/pulls/3" => Some(with(reply(403, &secondary), "retry-after", "120")),
            "/repos/octo/demo/pulls/3/reviews" => Some(reply(
                422,
                &json!({ "message": "Validation Failed", "errors": [{ "resource": "PullRequestReviewComment", "code": "abuse", "field": "body", "message": "was submitted too quickly" }] }),
            )),
            _ => None,
        }
    })
    .await;
    let clock = Dial::at(NOON);
    let github = fake.github_at(clock.clone());
    let read = github.pull(&pull()).await.unwrap_err();
    assert!(
        matches!(
            read,
            ForgeError::Later {
                after_ms: Some(120_000),
                ..
            }
        ),
        "{read:?}"
    );
    // Whoever asks meanwhile is told to wait as well, and nothing is sent.
    clock.turn(50_000);
    let hasty = github.own_reviews(&pull()).await.unwrap_err();
    assert!(
        matches!(
            hasty,
            ForgeError::Later {
                after_ms: Some(70_000),
                ..
            }
        ),
        "{hasty:?}"
    );
    clock.turn(70_000);
    // A23: the content limit comes as a 422.
    let written = github.submit_review(&pull(), &review(vec![])).await.unwrap_err();
    assert!(
        matches!(
            written,
            ForgeError::Later {
                after_ms: Some(60_000),
                ..
            }
        ),
        "{written:?}"
    );
    assert_eq!(fake.lines().len(), 2, "nothing is sent again by itself");
}

#[tokio::test]
async fn the_last_requests_of_an_hour_are_kept_for_conclusions() {
    let left = Arc::new(AtomicUsize::new(400));
    let told = left.clone();
    let fake = Fake::start(move |s| {
        let answer = match s.path.as_str() {
            path if path.ends_with("/access_tokens") => return None,
            "/repos/octo/demo/pulls/3" => reply(200, &pull_body()),
            "/repos/octo/demo/check-runs" => reply(201, &json!({ "id": 5 })),
            path if path.ends_with("/pulls/3/reviews") => reply(200, &json!({ "id": 6 })),
            path if path.starts_with("/installation/") => reply(200, &json!({ "repositories": [] })),
            _ => return None,
        };
        let answer = with(answer, "x-ratelimit-limit", "5000");
        let answer = with(answer, "x-ratelimit-reset", &(NOON / 1000 + 600).to_string());
        let left = told.load(Ordering::SeqCst).to_string();
        Some(with(answer, "x-ratelimit-remaining", &left))
    })
    .await;
    let clock = Dial::at(NOON);
    let github = fake.github_at(clock.clone());
    let installation = pull().repo.installation;
    assert_eq!(github.wait_to_begin(installation), None, "nothing is known yet");
    github.pull(&pull()).await.unwrap();
    assert_eq!(
        github.wait_to_begin(installation),
        Some(601_000),
        "400 of 5000 are left"
    );
    let waits = |error: ForgeError| match error {
        ForgeError::Later { after_ms, .. } => after_ms,
        other => panic!("{other:?}"),
    };
    let listing = github.repositories(installation).await.unwrap_err();
    assert_eq!(waits(listing), Some(601_000));
    github.pull(&pull()).await.expect("what was begun goes on");
    left.store(200, Ordering::SeqCst);
    github.pull(&pull()).await.unwrap();
    let sent = fake.lines().len();
    let reading = github.pull(&pull()).await.unwrap_err();
    assert_eq!(waits(reading), Some(601_000));
    let beginning = github
        .create_check(&repo(), &sha('a'), "jury", "x", &view(None))
        .await;
    assert_eq!(waits(beginning.unwrap_err()), Some(601_000));
    assert_eq!(fake.lines().len(), sent, "nothing was sent");
    let done = view(Some(Conclusion::Success));
    github
        .create_check(&repo(), &sha('a'), "jury", "x", &done)
        .await
        .unwrap();
    github.submit_review(&pull(), &review(vec![])).await.unwrap();
    left.store(0, Ordering::SeqCst);
    github.submit_review(&pull(), &review(vec![])).await.unwrap();
    let nothing_left = github.submit_review(&pull(), &review(vec![])).await.unwrap_err();
    assert_eq!(waits(nothing_left), Some(601_000));
    clock.turn(601_000);
    github.submit_review(&pull(), &review(vec![])).await.unwrap();
}

#[tokio::test]
async fn a_success_whose_answer_cannot_be_read_has_happened() {
    for body in ["", "{}", "[]", "<html>", "{\"id\": \"x\"}", "{\"id\":"] {
        let fake = Fake::start(move |s| (!is_token_request(s)).then(|| plain(201, body))).await;
        let github = fake.github();
        let error = github.submit_review(&pull(), &review(vec![])).await.unwrap_err();
        assert!(matches!(error, ForgeError::Unknown(_)), "{body}: {error}");
        let error = github
            .create_check(&repo(), &sha('a'), "jury", "x", &view(None))
            .await
            .unwrap_err();
        assert!(matches!(error, ForgeError::Unknown(_)), "{body}: {error}");
        assert_eq!(fake.lines().len(), 2);
    }
}

// ---- redirects ----

#[tokio::test]
async fn l28_a_renamed_repository_is_followed_with_method_body_and_token() {
    for status in [301_u16, 302, 307, 308] {
        let fake = Fake::start(move |s| {
            if s.path.starts_with("/repos/octo/demo/") {
                let rest = s.path.trim_start_matches("/repos/octo/demo");
                let to = format!(
                    "http://{}/repositories/99{rest}",
                    s.headers["host"].to_str().unwrap()
                );
                return Some(with(
                    reply(status, &json!({ "message": "Moved" })),
                    "location",
                    &to,
                ));
            }
            match s.line().as_str() {
                "POST /repositories/99/pulls/3/reviews" => Some(reply(200, &json!({ "id": 5 }))),
                "GET /repositories/99/pulls/3" => Some(reply(200, &pull_body())),
                _ => None,
            }
        })
        .await;
        let github = fake.github();
        github.pull(&pull()).await.unwrap();
        assert_eq!(
            github.submit_review(&pull(), &review(vec![])).await.unwrap(),
            ReviewId(5)
        );
        let last = fake.seen().pop().unwrap();
        assert_eq!(last.bearer(), token(1));
        assert_eq!(last.json()["event"], "COMMENT");
    }
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed_and_gets_no_token() {
    let elsewhere = Fake::start(|_| Some(reply(200, &pull_body()))).await;
    let there = elsewhere.address;
    let targets = [
        format!("http://{there}/repositories/99/pulls/3"),
        format!("//{there}/x"),
        format!("http://user:pass@{there}/x"),
        "https://127.0.0.1/x".to_owned(),
        "ftp://127.0.0.1/x".to_owned(),
        "http://[".to_owned(),
    ];
    for target in targets {
        let to = target.clone();
        let fake = Fake::start(move |s| {
            (!is_token_request(s)).then(|| with(reply(307, &json!({})), "location", &to))
        })
        .await;
        let github = fake.github();
        let read = github.pull(&pull()).await.unwrap_err();
        assert!(matches!(read, ForgeError::Internal(_)), "{target}: {read}");
        let written = github.submit_review(&pull(), &review(vec![])).await.unwrap_err();
        assert!(matches!(written, ForgeError::Internal(_)), "{target}: {written}");
    }
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let fake =
        Fake::start(|s| (!is_token_request(s)).then(|| with(reply(302, &json!({})), "location", &s.path)))
            .await;
    let error = fake.github().pull(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Internal(_)), "{error}");
    assert_eq!(fake.lines().len(), 4);
}

// ---- lists ----

fn page_of_reviews(ids: std::ops::Range<i64>) -> serde_json::Value {
    ids.map(
        |id| json!({ "id": id, "state": "COMMENTED", "body": null, "user": { "login": "jury-test[bot]" } }),
    )
    .collect()
}

#[tokio::test]
async fn d53_pages_are_followed_until_next_is_absent_each_with_the_token() {
    // An enterprise server: the base has a path, and links are absolute.
    let fake = Fake::start(|s| {
        let host = s.headers["host"].to_str().unwrap();
        let base = format!("http://{host}/api/v3/repos/octo/demo/pulls/3/reviews");
        let link =
            |n: u8| format!("<{base}?per_page=100&page={n}>; rel=\"next\", <{base}?page=9>; rel=\"last\"");
        let path = s.path.strip_prefix("/api/v3/repos/octo/demo/pulls/3/reviews")?;
        Some(match path {
            "?per_page=100" => with(reply(200, &page_of_reviews(1..3)), "link", &link(2)),
            "?per_page=100&page=2" => with(reply(200, &page_of_reviews(3..4)), "link", &link(3)),
            // The end of a list is no `next`, not a short page or a page number.
            _ => with(
                reply(200, &page_of_reviews(4..6)),
                "link",
                &format!("<{base}>; rel=\"first\""),
            ),
        })
    })
    .await;
    let mut config = fake.config();
    config.api_url.push_str("/api/v3/");
    let github = GitHub::new(&config, Dial::at(NOON)).unwrap();
    let reviews = github.own_reviews(&pull()).await.unwrap();
    assert_eq!(
        reviews.iter().map(|r| r.id.0).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5]
    );
    let pages: Vec<Seen> = fake
        .seen()
        .into_iter()
        .filter(|s| s.path.contains("/reviews"))
        .collect();
    assert_eq!(pages.len(), 3);
    assert!(pages.iter().all(|page| page.bearer() == token(1)));
}

#[tokio::test]
async fn a_next_page_on_another_host_is_an_error_and_not_a_shorter_list() {
    let elsewhere = Fake::start(|_| Some(reply(200, &json!([])))).await;
    let there = elsewhere.address;
    let fake = Fake::start(move |s| {
        let link = format!("<http://{there}/more>; rel=\"next\"");
        s.path
            .contains("/reviews")
            .then(|| with(reply(200, &page_of_reviews(1..2)), "link", &link))
    })
    .await;
    let error = fake.github().own_reviews(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Internal(_)), "{error}");
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn a_list_that_leads_back_to_itself_ends_with_an_error() {
    let fake = Fake::start(|s| {
        s.path.contains("/reviews").then(|| {
            with(
                reply(200, &page_of_reviews(1..2)),
                "link",
                &format!("<{}>; rel=next", s.path),
            )
        })
    })
    .await;
    let error = fake.github().own_reviews(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Internal(_)), "{error}");
    assert_eq!(fake.count("GET", "/reviews?per_page=100"), 1);
}

// ---- pull requests, reviews, checks ----

#[tokio::test]
async fn l41_a_pull_request_from_a_fork_that_is_gone_is_read() {
    let fake = Fake::start(|s| s.path.ends_with("/pulls/3").then(|| reply(200, &pull_body()))).await;
    let snapshot = fake.github().pull(&pull()).await.unwrap();
    assert_eq!(snapshot.head, sha('a'));
    assert_eq!(
        snapshot.author,
        Some(Principal::new(PrincipalKind::Human, "5000000000"))
    );
    assert!(!snapshot.by_app);
    assert_eq!(snapshot.updated_at.0, NOON - 2000);
}

#[tokio::test]
async fn what_the_app_opened_itself_and_what_a_ghost_opened() {
    let user = Arc::new(Mutex::new(json!({ "id": 9, "login": "Jury-Test[bot]" })));
    let now = user.clone();
    let fake = Fake::start(move |s| {
        let mut body = pull_body();
        body["user"] = now.lock().unwrap().clone();
        s.path.ends_with("/pulls/3").then(|| reply(200, &body))
    })
    .await;
    let github = fake.github();
    assert!(github.pull(&pull()).await.unwrap().by_app);
    *user.lock().unwrap() = json!({ "id": 10, "login": "jury-test" });
    assert!(
        !github.pull(&pull()).await.unwrap().by_app,
        "a person may be called like the App"
    );
    *user.lock().unwrap() = json!(null);
    assert_eq!(github.pull(&pull()).await.unwrap().author, None);
}

#[tokio::test]
async fn a_name_that_another_repository_took_over_is_not_our_repository() {
    let mut body = pull_body();
    body["base"]["repo"]["id"] = json!(100);
    let fake = Fake::start(move |s| s.path.ends_with("/pulls/3").then(|| reply(200, &body))).await;
    let error = fake.github().pull(&pull()).await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound(_)), "{error}");
}

#[tokio::test]
async fn a_name_cannot_climb_out_of_its_place_in_the_path() {
    let fake = Fake::start(|_| None).await;
    let github = fake.github();
    for (owner, name) in [("..", ".."), ("a/b", "c?d"), ("a#b", "c%2fd"), ("a\r\nx: y", " ")] {
        let mut pull = pull();
        pull.repo.owner = owner.to_owned();
        pull.repo.name = name.to_owned();
        github.pull(&pull).await.unwrap_err();
    }
    assert_eq!(
        fake.lines(),
        [
            "GET /repos/%00/%00/pulls/3",
            "GET /repos/a%2Fb/c%3Fd/pulls/3",
            "GET /repos/a%23b/c%252fd/pulls/3",
            "GET /repos/a%0D%0Ax%3A%20y/%20/pulls/3",
        ]
    );
}

#[tokio::test]
async fn a05_a_refused_review_says_why_in_the_forges_words() {
    let why = "Pull request review thread line must be part of the diff and Pull request review thread diff hunk can't be blank";
    let fake = Fake::start(move |s| {
        s.path.ends_with("/reviews").then(|| {
            reply(
                422,
                &json!({ "message": "Unprocessable Entity", "errors": [why] }),
            )
        })
    })
    .await;
    let error = fake
        .github()
        .submit_review(&pull(), &review(vec![comment(5, None), comment(999, None)]))
        .await
        .unwrap_err();
    let ForgeError::Refused(messages) = error else {
        panic!("{error}")
    };
    assert_eq!(messages, ["Unprocessable Entity", why]);
    assert_eq!(fake.count("POST", "/reviews"), 1);
}

#[tokio::test]
async fn a11_a_left_over_pending_review_is_found_and_can_be_deleted() {
    let why = "User can only have one pending review per pull request";
    let fake = Fake::start(move |s| match s.line().as_str() {
        "POST /repos/octo/demo/pulls/3/reviews" => Some(reply(
            422,
            &json!({ "message": "Validation Failed", "errors": [why] }),
        )),
        "GET /repos/octo/demo/pulls/3/reviews?per_page=100" => Some(reply(
            200,
            &json!([
                { "id": 76, "state": "APPROVED", "user": { "login": "someone" }, "body": "" },
                { "id": 75, "state": "APPROVED", "user": null, "body": "" },
                { "id": 77, "state": "PENDING", "user": { "login": "jury-test[bot]" }, "body": "" },
            ]),
        )),
        "DELETE /repos/octo/demo/pulls/3/reviews/77" => Some(reply(200, &json!({ "id": 77 }))),
        _ => None,
    })
    .await;
    let github = fake.github();
    let error = github.submit_review(&pull(), &review(vec![])).await.unwrap_err();
    assert!(
        matches!(&error, ForgeError::Refused(m) if m.contains(&why.to_owned())),
        "{error}"
    );
    let own = github.own_reviews(&pull()).await.unwrap();
    assert_eq!(
        own.iter().map(|r| (r.id, r.state.as_str())).collect::<Vec<_>>(),
        [(ReviewId(77), "PENDING")]
    );
    github.delete_pending_review(&pull(), ReviewId(77)).await.unwrap();
}

#[tokio::test]
async fn a03_a_review_always_has_its_event_and_a_single_line_no_start() {
    let fake = Fake::start(|s| {
        s.path
            .ends_with("/reviews")
            .then(|| reply(200, &json!({ "id": 1 })))
    })
    .await;
    let comments = vec![comment(5, Some(5)), comment(5, Some(3)), comment(5, None)];
    fake.github()
        .submit_review(&pull(), &review(comments))
        .await
        .unwrap();
    let sent = fake.seen().pop().unwrap().json();
    assert_eq!(sent["event"], "COMMENT");
    assert_eq!(sent["commit_id"], oid('a'));
    assert_eq!(sent["comments"][0].get("start_line"), None);
    assert_eq!(sent["comments"][1]["start_line"], 3);
    assert_eq!(sent["comments"][1]["start_side"], "RIGHT");
    assert_eq!(sent["comments"][2].get("start_line"), None);
}

#[tokio::test]
async fn a_request_for_changes_is_taken_back() {
    let fake = Fake::start(|s| {
        s.path
            .ends_with("/dismissals")
            .then(|| reply(200, &json!({ "id": 1 })))
    })
    .await;
    fake.github()
        .dismiss_review(&pull(), ReviewId(1), "it is mended")
        .await
        .unwrap();
    let sent = fake.seen().pop().unwrap();
    assert_eq!(sent.line(), "PUT /repos/octo/demo/pulls/3/reviews/1/dismissals");
    assert_eq!(
        sent.json(),
        json!({ "message": "it is mended", "event": "DISMISS" })
    );
}

#[tokio::test]
async fn l23_l45_only_our_own_checks_are_listed_newest_first_and_a_conclusion_counts() {
    let fake = Fake::start(|s| {
        let run = |id: i64, app: i64, name: &str, status: &str, conclusion: serde_json::Value| {
            json!({ "id": id, "name": name, "head_sha": oid('a'), "external_id": format!("x{id}"),
                    "status": status, "conclusion": conclusion, "app": { "id": app },
                    "output": { "title": format!("line {id}"), "summary": 7 } })
        };
        s.path.contains("/check-runs?").then(|| {
            reply(
                200,
                &json!({ "total_count": 6, "check_runs": [
                    run(1, APP_ID, "jury", "completed", json!("stale")),
                    run(2, 666, "jury", "completed", json!("success")),
                    run(3, APP_ID, "other", "completed", json!("success")),
                    run(5, APP_ID, "jury", "in_progress", json!("success")),
                    run(4, APP_ID, "jury", "in_progress", json!(null)),
                    { "id": 6, "name": "jury", "head_sha": oid('a'), "status": "completed", "conclusion": "success", "app": null },
                ] }),
            )
        })
    })
    .await;
    let runs = fake
        .github()
        .check_runs(&repo(), &sha('a'), "jury")
        .await
        .unwrap();
    let shown: Vec<_> = runs
        .iter()
        .map(|r| (r.id.0, r.external_id.as_str(), r.conclusion.as_deref()))
        .collect();
    assert_eq!(
        (runs[0].title.as_deref(), &runs[0].summary),
        (Some("line 5"), &None)
    );
    // L23: a conclusion counts whatever the status says. L45: `stale` is read.
    assert_eq!(
        shown,
        [
            (5, "x5", Some("success")),
            (4, "x4", None),
            (1, "x1", Some("stale"))
        ]
    );
    assert_eq!(
        fake.lines(),
        [format!(
            "GET /repos/octo/demo/commits/{}/check-runs?check_name=jury&app_id={APP_ID}&filter=all&per_page=100",
            oid('a')
        )]
    );
}

#[tokio::test]
async fn l22_a_check_is_made_with_one_request() {
    let fake = Fake::start(|s| {
        s.path
            .ends_with("/check-runs")
            .then(|| reply(201, &json!({ "id": 9 })))
    })
    .await;
    let made = fake
        .github()
        .create_check(
            &repo(),
            &sha('a'),
            "jury",
            "pass-1",
            &view(Some(Conclusion::Success)),
        )
        .await
        .unwrap();
    assert_eq!(made, CheckRunId(9));
    assert_eq!(fake.lines().len(), 1);
    let sent = fake.seen().pop().unwrap().json();
    assert_eq!(
        sent,
        json!({
            "name": "jury", "head_sha": oid('a'), "external_id": "pass-1", "status": "completed",
            "conclusion": "success", "details_url": "http://127.0.0.1/space",
            "output": { "title": "title", "summary": "summary" },
        })
    );
}

#[tokio::test]
async fn installations_and_repositories_are_listed_and_what_is_odd_is_left_out() {
    let fake = Fake::start(|s| match s.path.as_str() {
        "/app/installations?per_page=100" => Some(reply(
            200,
            &json!([
                { "id": 7, "account": { "id": 42, "login": "octo" }, "suspended_at": null },
                { "id": 8, "account": { "id": 43, "slug": "corp" }, "suspended_at": "2026-01-01T00:00:00Z" },
                { "id": 9, "account": null },
            ]),
        )),
        "/installation/repositories?per_page=100" => Some(reply(
            200,
            &json!({ "total_count": 1, "repositories": [{ "id": 99, "name": "demo", "owner": { "id": 42, "login": "octo" } }] }),
        )),
        "/repos/octo/demo/pulls?state=open&per_page=100" => Some(reply(200, &json!([pull_body()]))),
        _ => None,
    })
    .await;
    let github = fake.github();
    let installations = github.installations().await.unwrap();
    let shown: Vec<_> = installations
        .iter()
        .map(|i| (i.id.0, i.account.login.as_str(), i.suspended))
        .collect();
    assert_eq!(shown, [(7, "octo", false), (8, "corp", true)]);
    let repos = github.repositories(InstallationId(7)).await.unwrap();
    assert_eq!(repos[0].name, "demo");
    let pulls = github.open_pulls(&repo()).await.unwrap();
    assert_eq!(pulls[0].0, pull());
}
