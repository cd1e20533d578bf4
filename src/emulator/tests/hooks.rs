use std::sync::Mutex;

use aws_lc_rs::hmac;
use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use tokio::net::TcpListener;

use super::*;
use crate::emulator::{Delivery, Hooks};

#[derive(Clone, Default)]
struct Inbox {
    got: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    status: Arc<AtomicI64>,
}

impl Inbox {
    /// A receiver, and its URL.
    async fn open() -> (Self, String) {
        let inbox = Self::default();
        inbox.status.store(202, Ordering::SeqCst);
        let mine = inbox.clone();
        let take = move |headers: HeaderMap, body: Bytes| async move {
            mine.got.lock().unwrap().push((headers, body));
            let status = u16::try_from(mine.status.load(Ordering::SeqCst)).unwrap();
            StatusCode::from_u16(status).unwrap()
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/webhooks/github", listener.local_addr().unwrap());
        let app = Router::new().route("/webhooks/github", post(take));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        (inbox, url)
    }

    fn events(&self) -> Vec<String> {
        let got = self.got.lock().unwrap();
        got.iter()
            .map(|(headers, body)| {
                let body: Value = serde_json::from_slice(body).unwrap();
                let event = headers["x-github-event"].to_str().unwrap();
                let action = body["action"].as_str().unwrap_or_default();
                format!("{event} {action}").trim().to_owned()
            })
            .collect()
    }
}

#[tokio::test]
async fn a_signed_hook_tells_what_happened() {
    let (stage, number) = Stage::with_pull().await;
    let (inbox, url) = Inbox::open().await;
    let hooks = stage.forge.hooks();
    hooks.wait_quiet().await;
    stage.people.set_webhook_url(stage.app, &url);
    stage.push("topic", &[Edit::write("more.txt", "x\n")]);
    stage.people.set_draft(REPO, number, true, "ada").unwrap();
    stage.people.set_draft(REPO, number, false, "ada").unwrap();
    stage.people.reset_branch(REPO, "next", "main", "ada").unwrap();
    stage.people.set_base(REPO, number, "next", "ada").unwrap();
    stage.people.close(REPO, number, "ada").unwrap();
    stage.people.reopen(REPO, number, "ada").unwrap();
    stage.people.rename_repo(REPO, "totals", "ada").unwrap();
    stage.people.suspend(stage.installation).unwrap();
    stage.people.unsuspend(stage.installation).unwrap();
    stage.people.enqueue("ada/totals", number, "ada").unwrap();
    stage.people.uninstall(stage.installation).unwrap();
    hooks.wait_quiet().await;
    assert_eq!(
        inbox.events(),
        [
            "ping",
            "pull_request synchronize",
            "pull_request converted_to_draft",
            "pull_request ready_for_review",
            "pull_request edited",
            "pull_request closed",
            "pull_request reopened",
            "repository renamed",
            "installation suspend",
            "installation unsuspend",
            "merge_group checks_requested",
            "installation deleted",
        ]
    );
    let got = inbox.got.lock().unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"It's a Secret to Everybody");
    for (headers, body) in got.iter() {
        let tag = headers["x-hub-signature-256"].to_str().unwrap();
        let hex = tag.strip_prefix("sha256=").unwrap();
        let wanted: String = hmac::sign(&key, body)
            .as_ref()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(hex, wanted);
        assert!(headers["x-hub-signature"].to_str().unwrap().starts_with("sha1="));
        assert_eq!(
            headers["x-github-hook-installation-target-id"],
            stage.app.to_string().as_str()
        );
    }
    let body: Value = serde_json::from_slice(&got[1].1).unwrap();
    assert_eq!(body["installation"]["id"], json!(stage.installation));
    assert_eq!(body["after"], body["pull_request"]["head"]["sha"]);
    assert_ne!(body["before"], body["after"]);
    let body: Value = serde_json::from_slice(&got[4].1).unwrap();
    assert_eq!(body["changes"]["base"]["ref"]["from"], "main");
}

#[test]
fn the_signature_is_githubs() {
    // The example of GitHub's page on validating deliveries.
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"It's a Secret to Everybody");
    let tag = hmac::sign(&key, b"Hello, World!");
    assert_eq!(
        super::super::hooks::hex(tag.as_ref()),
        "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    );
}

#[tokio::test]
async fn a_failed_delivery_is_logged_and_comes_again_only_when_asked_for() {
    let (stage, _) = Stage::with_pull().await;
    let (inbox, url) = Inbox::open().await;
    let hooks = stage.forge.hooks();
    hooks.wait_quiet().await;
    inbox.status.store(500, Ordering::SeqCst);
    stage.people.set_webhook_url(stage.app, &url);
    hooks.wait_quiet().await;
    let last = hooks.log().pop().unwrap();
    assert_eq!((last.status, last.delivery.redelivery), (Some(500), false));
    assert_eq!(inbox.events().len(), 1, "nobody tries again by himself");
    inbox.status.store(202, Ordering::SeqCst);
    assert!(hooks.redeliver(&last.delivery.guid));
    assert!(!hooks.redeliver("unknown"));
    hooks.wait_quiet().await;
    let again = hooks.log().pop().unwrap();
    assert_eq!((again.status, again.delivery.redelivery), (Some(202), true));
    assert_eq!(again.delivery.guid, last.delivery.guid);
    assert_eq!(again.delivery.body, last.delivery.body);
}

#[tokio::test]
async fn a_test_may_reorder_and_repeat_deliveries() {
    let (stage, number) = Stage::with_pull().await;
    let (inbox, url) = Inbox::open().await;
    let hooks: Hooks = stage.forge.hooks();
    hooks.wait_quiet().await;
    hooks.pause();
    stage.people.set_webhook_url(stage.app, &url);
    stage.push("topic", &[Edit::write("more.txt", "x\n")]);
    stage.people.close(REPO, number, "ada").unwrap();
    let held: Vec<Delivery> = hooks.take();
    assert_eq!(held.len(), 3);
    for at in [2, 1, 1] {
        assert_eq!(hooks.send(&held[at]).await, Some(202));
    }
    assert_eq!(
        inbox.events(),
        [
            "pull_request closed",
            "pull_request synchronize",
            "pull_request synchronize"
        ]
    );
    stage.people.reopen(REPO, number, "ada").unwrap();
    hooks.resume();
    hooks.wait_quiet().await;
    assert_eq!(inbox.events().last().unwrap(), "pull_request reopened");
}

#[tokio::test]
async fn checks_are_told_to_the_app_that_owns_them() {
    let (stage, number) = Stage::with_pull().await;
    let other = AppRegistration::reviewer("other", "eve", KEY.public_pem.clone());
    let other = stage.people.register_app(other).unwrap();
    stage.people.install(other, "ada", Some(&[REPO])).unwrap();
    let hooks = stage.forge.hooks();
    hooks.pause();
    let sha = stage.people.head_sha(REPO, number).unwrap();
    let body = json!({"name": "jury", "head_sha": sha});
    let path = format!("/repos/{REPO}/check-runs");
    let (_, run) = stage.send(Method::POST, &path, &body).await;
    stage
        .send(
            Method::PATCH,
            &format!("{path}/{}", run["id"]),
            &json!({"conclusion": "success"}),
        )
        .await;
    stage.people.rerequest_check(REPO, number, "jury", "ada").unwrap();
    stage
        .people
        .rerequest_suite(REPO, number, stage.app, "ada")
        .unwrap();
    let told: Vec<(u64, String)> = hooks
        .take()
        .into_iter()
        .map(|d| (d.app, format!("{} {}", d.event, d.action.unwrap_or_default())))
        .collect();
    let mine = |text: &str| (stage.app, text.to_owned());
    assert_eq!(
        told,
        [
            mine("check_run created"),
            mine("check_run completed"),
            mine("check_run rerequested"),
            mine("check_suite rerequested"),
        ]
    );
}

/// Everything that can happen, once, to an App that hears it all.
async fn everything() -> (Stage, Vec<Delivery>) {
    let stage = Stage::open().await;
    let hooks = stage.forge.hooks();
    hooks.pause();
    let people = &stage.people;
    let mut new = AppRegistration::reviewer("listener", "ada", KEY.public_pem.clone());
    new.webhook_url = Some("http://127.0.0.1:9/".to_owned());
    new.events
        .extend(["pull_request_review".to_owned(), "issue_comment".to_owned()]);
    let app = people.register_app(new).unwrap();
    people.organization("guild");
    people
        .create_repo("guild/tools", &[Edit::write("a", "a\n")])
        .unwrap();
    people.install(app, "guild", None).unwrap();
    let installation = people.install(app, "ada", Some(&[REPO])).unwrap();
    people.create_repo("ada/more", &[]).unwrap();
    people.add_repository(installation, "ada/more").unwrap();
    people.remove_repository(installation, "ada/more").unwrap();

    stage.push("topic", &[Edit::write("new.txt", "a\nb\nc\n")]);
    let number = stage.pull("topic", "Change");
    stage.push("topic", &[Edit::write("later.txt", "x\n")]);
    people.set_draft(REPO, number, true, "ada").unwrap();
    people.set_draft(REPO, number, false, "ada").unwrap();
    people.edit(REPO, number, Some("Title"), None, "ada").unwrap();
    people.reset_branch(REPO, "next", "main", "ada").unwrap();
    people.set_base(REPO, number, "next", "ada").unwrap();
    people.comment(REPO, number, "ada", "hello").unwrap();
    people
        .add_collaborator(REPO, "bob", crate::emulator::Role::Write)
        .unwrap();
    let no = crate::emulator::Feedback {
        by: "bob",
        event: "REQUEST_CHANGES",
        body: "no",
        comments: &[("new.txt", 1, "x")],
    };
    let review = people.review(REPO, number, no).unwrap();
    people.dismiss_review(REPO, number, review, "ada", "old").unwrap();
    let sha = people.head_sha(REPO, number).unwrap();
    let now = stage.now();
    let jwt = stage.jwt(&json!({"iss": app.to_string(), "iat": now, "exp": now + 60}));
    let path = format!("/app/installations/{installation}/access_tokens");
    let (_, token) = answered(stage.ask(Method::POST, &path, &jwt)).await;
    let token = token["token"].as_str().unwrap();
    let path = format!("/repos/{REPO}/check-runs");
    let body = json!({"name": "listener", "head_sha": sha});
    let (_, run) = answered(stage.ask(Method::POST, &path, token).json(&body)).await;
    let path = format!("{path}/{}", run["id"]);
    let end = json!({"conclusion": "success", "output": {"title": "T", "summary": "S"}});
    answered(stage.ask(Method::PATCH, &path, token).json(&end)).await;
    people.rerequest_check(REPO, number, "listener", "ada").unwrap();
    people.rerequest_suite(REPO, number, app, "ada").unwrap();
    people.close(REPO, number, "ada").unwrap();
    people.reopen(REPO, number, "ada").unwrap();
    people.enqueue(REPO, number, "ada").unwrap();
    people.merge(REPO, number, "ada").unwrap();
    people.rename_repo(REPO, "totals", "ada").unwrap();
    people.suspend(installation).unwrap();
    people.unsuspend(installation).unwrap();
    people.transfer_repo("ada/totals", "guild", "ada").unwrap();
    people.uninstall(installation).unwrap();
    let told = hooks.take().into_iter().filter(|d| d.app == app).collect();
    (stage, told)
}

#[tokio::test]
async fn every_event_has_what_a_receiver_looks_for() {
    let (stage, told) = everything().await;
    let mut names = std::collections::BTreeSet::new();
    for delivery in &told {
        let body: Value = serde_json::from_slice(&delivery.body).unwrap();
        let name = delivery.event.as_str();
        names.insert(format!("{name} {}", delivery.action.clone().unwrap_or_default()));
        if name == "ping" {
            continue;
        }
        assert!(body["sender"]["login"].is_string(), "{name}");
        assert!(body["installation"]["id"].is_u64(), "{name}");
        let of_a_repository = !name.starts_with("installation");
        assert_eq!(body["repository"]["id"].is_u64(), of_a_repository, "{name}");
    }
    assert_eq!(names.len(), 24, "{names:#?}");
    let guids: std::collections::BTreeSet<_> = told.iter().map(|d| &d.guid).collect();
    assert_eq!(guids.len(), told.len(), "every event has an id of its own");
    let transferred: Value = told
        .iter()
        .find(|d| d.action.as_deref() == Some("transferred"))
        .map(|d| serde_json::from_slice(&d.body).unwrap())
        .unwrap();
    assert_eq!(
        transferred["organization"]["login"], "guild",
        "only the new owner is told"
    );
    assert_eq!(transferred["changes"]["owner"]["from"]["user"]["login"], "ada");
    // For who wants to check the payloads against GitHub's description.
    if let Some(path) = std::env::var_os("EMULATOR_HOOKS") {
        let lines: Vec<String> = told
            .iter()
            .map(|d| {
                let body: Value = serde_json::from_slice(&d.body).unwrap();
                json!({"event": d.event, "action": d.action, "payload": body}).to_string()
            })
            .collect();
        std::fs::write(path, lines.join("\n")).unwrap();
    }
    drop(stage);
}
