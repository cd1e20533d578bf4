//! What is taken in and what is turned away.

use super::*;

#[tokio::test]
async fn a_signed_delivery_is_stored_byte_for_byte() {
    let jury = Running::start().await;
    let body = b"{ \"action\":\"opened\",  \"number\": 1 }\n";
    let answer = jury
        .post(&Delivery::signed("d-1", "pull_request", body), body)
        .await;
    assert_eq!((answer.status, answer.text.as_str()), (202, "accepted\n"));
    assert_eq!(jury.inbox.body("d-1"), body);
    assert_eq!(jury.stop().await, Drained::Clean);
}

#[tokio::test]
async fn w01_the_raw_bytes_are_what_is_signed_and_stored() {
    let jury = Running::start().await;
    let body = "{\"body\":\"caf\\u00e9 \u{1f600}\"}".as_bytes();
    let mut delivery = Delivery::signed("w01", "issue_comment", body);
    delivery.signature =
        Some("sha256=88422fa4b1290f8d851d86a97cd6dabd8c055d449c028cc9f527d9e02f75f634".to_owned());
    assert_eq!(jury.post(&delivery, body).await.status, 202);
    assert_eq!(jury.inbox.body("w01"), body);
    // The same value written otherwise is another text with another signature.
    for rewritten in [
        "{\"body\":\"caf\u{e9} \u{1f600}\"}",
        r#"{"body":"caf\u00e9 \ud83d\ude00"}"#,
    ] {
        delivery.id = Some("w01-rewritten".into());
        assert_eq!(jury.post(&delivery, rewritten.as_bytes()).await.status, 401);
    }
    assert_eq!(jury.inbox.ids(), ["w01"]);
}

#[tokio::test]
async fn w02_whatever_is_not_the_signature_of_the_body_is_401_and_stored_nowhere() {
    let jury = Running::start().await;
    let body = b"{}";
    let good = sign(body);
    let digits = &good["sha256=".len()..];
    let flipped = if digits.starts_with('0') { '1' } else { '0' };
    for signature in [
        None,
        Some(String::new()),
        Some(format!("sha256={flipped}{}", &digits[1..])),
        Some(format!("sha256={}", &digits[..40])),
        Some(format!("SHA256={digits}")),
        Some(format!("sha1={digits}")),
        Some(digits.to_owned()),
        Some(sign(b"{} ")),
        Some(format!("{good}\r\nX-Hub-Signature-256: {good}")),
    ] {
        let mut delivery = Delivery::signed("w02", "ping", body);
        delivery.signature.clone_from(&signature);
        let answer = jury.post(&delivery, body).await;
        assert_eq!(answer.status, 401, "{signature:?}");
    }
    let mut old = Delivery::signed("w02", "ping", body);
    old.signature = None;
    old.more = "X-Hub-Signature: sha1=5d61605c3feea9799210ddcb71307d4ba264225f\r\n";
    assert_eq!(jury.post(&old, body).await.status, 401);
    assert_eq!(jury.inbox.ids(), Vec::<String>::new());
    assert_eq!(
        jury.post(&Delivery::signed("w02", "ping", body), body)
            .await
            .status,
        202
    );
}

#[tokio::test]
async fn w04_an_unsigned_delivery_does_not_use_up_its_id() {
    let jury = Running::start().await;
    let body = b"{}";
    let mut forged = Delivery::signed("g1", "ping", body);
    forged.signature = Some(format!("sha256={}", "0".repeat(64)));
    assert_eq!(jury.post(&forged, body).await.status, 401);
    assert_eq!(jury.inbox.ids(), Vec::<String>::new());
    let answer = jury.post(&Delivery::signed("g1", "ping", body), body).await;
    assert_eq!((answer.status, answer.text.as_str()), (202, "accepted\n"));
}

#[tokio::test]
async fn w05_three_megabytes_are_an_ordinary_delivery() {
    let jury = Running::start().await;
    let payload = json!({"action": "opened", "pull_request": {"body": "x".repeat(3 << 20)}});
    assert_eq!(jury.deliver("w05", "pull_request", &payload).await.status, 202);
    assert_eq!(jury.inbox.body("w05").len(), payload.to_string().len());
}

#[tokio::test]
async fn w06_l38_events_and_actions_nobody_knows_are_stored_for_intake_to_ignore() {
    let jury = Running::start().await;
    for (id, event, payload) in [
        (
            "W06",
            "issue_comment",
            json!({"action": "pinned", "comment": {"body": "@bot review"}}),
        ),
        ("L38", "pull_request", json!({"action": "stacked", "number": 1})),
        ("L38-event", "brand_new_event", json!({})),
        ("L38-shape", "pull_request", json!([1, null])),
    ] {
        assert_eq!(jury.deliver(id, event, &payload).await.status, 202, "{id}");
    }
    assert_eq!(jury.inbox.ids(), ["L38", "L38-event", "L38-shape", "W06"]);
}

#[tokio::test]
async fn l10_l12_the_same_id_again_is_202_and_changes_nothing() {
    let jury = Running::start().await;
    let id = "72d3162e-cc78-11e3-81ab-4c9367dc0958";
    let first = jury
        .deliver(id, "pull_request", &json!({"target": "app webhook"}))
        .await;
    let second = jury
        .deliver(id, "pull_request", &json!({"target": "repo webhook"}))
        .await;
    assert_eq!((first.status, first.text.as_str()), (202, "accepted\n"));
    assert_eq!((second.status, second.text.as_str()), (202, "accepted before\n"));
    assert_eq!(jury.inbox.body(id), br#"{"target":"app webhook"}"#);
}

#[tokio::test]
async fn a_repeat_of_a_dead_letter_is_queued_again() {
    let jury = Running::start().await;
    jury.inbox.dead.lock().unwrap().push("d".into());
    assert_eq!(jury.deliver("d", "ping", &json!({})).await.text, "accepted\n");
    assert!(jury.inbox.dead.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_is_not_json_is_400_after_its_signature_held() {
    let jury = Running::start().await;
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    for (body, status) in [
        (&b"Hello, World!"[..], 400),
        (b"", 400),
        (b"{", 400),
        (b"{} {}", 400),
        (b"{\"a\":\"\xff\"}", 400),
        (b"\xef\xbb\xbf{}", 400),
        (b"{\"a\":1,\"a\":2}", 202),
        (b" {\"a\":\"\\ud800 \\u0000\"} ", 202),
        (&deep.as_bytes()[..200_000], 400),
        (deep.as_bytes(), 202),
    ] {
        let start = String::from_utf8_lossy(&body[..body.len().min(20)]).into_owned();
        let id = format!("id-{}", body.len());
        let mut delivery = Delivery::signed(&id, "ping", body);
        assert_eq!(jury.post(&delivery, body).await.status, status, "{start}");
        assert_eq!(jury.inbox.ids().contains(&id), status == 202, "{start}");
        delivery.signature = None;
        assert_eq!(jury.post(&delivery, body).await.status, 401, "{start}");
    }
}

#[tokio::test]
async fn a_form_is_signed_as_it_came_and_stored_as_the_json_in_it() {
    let jury = Running::start().await;
    for (id, form, status) in [
        ("plain", "payload=%7B%22zen%22%3A%22a+b%22%7D", 202),
        ("bare-json", "{\"zen\":\"a b\"}", 400),
        ("no-json", "payload=zen", 400),
        ("nothing", "", 400),
        ("twice", "payload=%7B%7D&payload=%7B%7D", 400),
    ] {
        let mut delivery = Delivery::signed(id, "ping", form.as_bytes());
        delivery.content_type = Some("Application/X-WWW-Form-Urlencoded; charset=utf-8");
        assert_eq!(jury.post(&delivery, form.as_bytes()).await.status, status, "{id}");
    }
    assert_eq!(jury.inbox.ids(), ["plain"]);
    assert_eq!(jury.inbox.body("plain"), br#"{"zen":"a b"}"#);
    // Signing the JSON instead of the form is wrong.
    let form = b"payload=%7B%7D";
    let mut delivery = Delivery::signed("inner", "ping", form);
    delivery.content_type = Some("application/x-www-form-urlencoded");
    delivery.signature = Some(sign(b"{}"));
    assert_eq!(jury.post(&delivery, form).await.status, 401);
}

#[tokio::test]
async fn a_delivery_without_its_id_or_event_is_400() {
    let jury = Running::start().await;
    let long = "x".repeat(129);
    for (id, event) in [
        (None, Some("ping")),
        (Some("d"), None),
        (Some(""), Some("ping")),
        (Some("a b"), Some("ping")),
        (Some("caf\u{e9}"), Some("ping")),
        (Some(long.as_str()), Some("ping")),
        (Some("d"), Some("")),
        (Some("d"), Some(&long[..65])),
        (Some("d\r\nX-GitHub-Delivery: e"), Some("ping")),
    ] {
        let mut delivery = Delivery::signed("", "", b"{}");
        delivery.id = id.map(str::to_owned);
        delivery.event = event.map(str::to_owned);
        assert_eq!(jury.post(&delivery, b"{}").await.status, 400, "{id:?} {event:?}");
    }
    assert_eq!(jury.inbox.ids(), Vec::<String>::new());
}

#[tokio::test]
async fn a_store_that_fails_is_503_and_says_nothing_of_its_inside() {
    let jury = Running::start().await;
    *jury.inbox.broken.lock().unwrap() = true;
    let answer = jury.deliver("d", "ping", &json!({})).await;
    assert_eq!(
        (answer.status, answer.text.as_str()),
        (503, "cannot store deliveries now\n")
    );
    assert!(answer.head.contains("retry-after: 5"), "{answer:?}");
    assert_eq!(jury.get("/readyz").await.status, 503);
    *jury.inbox.broken.lock().unwrap() = false;
    assert_eq!(jury.deliver("d", "ping", &json!({})).await.status, 202);
    assert_eq!(jury.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn only_the_routes_that_exist_answer() {
    let jury = Running::start().await;
    assert_eq!(jury.get("/healthz").await.status, 200);
    assert_eq!(jury.get("/metrics").await.status, 200);
    assert_eq!(jury.get("/webhooks/github").await.status, 405);
    assert_eq!(jury.get("/").await.status, 404);
}
