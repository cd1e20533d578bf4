//! Every delivery that GitHub publishes as an example, to a server at work.

use jury::{emulator::Edit, store::JobKind};
use serde_json::Value;

use crate::room::{Room, SECRET, signature};

/// One encoding of a delivery's body.
struct Encoding {
    name: &'static str,
    content_type: &'static str,
    encode: fn(&str) -> String,
}

const ENCODINGS: [Encoding; 2] = [
    Encoding {
        name: "json",
        content_type: "application/json",
        encode: str::to_owned,
    },
    Encoding {
        name: "form",
        content_type: "application/x-www-form-urlencoded",
        encode: |body| {
            let mut form = String::from("payload=");
            form.extend(body.bytes().map(|byte| format!("%{byte:02X}")));
            form
        },
    },
];

/// The examples name installations and repositories that the emulator has never heard of, some
/// name no installation, some have shapes that are years old. Each must be taken in, and none may
/// end as a dead letter. Checks that two of them ask for can never be published, because their
/// installation does not exist; those jobs are given up with that reason.
#[tokio::test]
#[ignore = "needs npm @octokit/webhooks-examples"]
async fn every_published_example_is_taken_in_and_none_is_left() {
    let index = std::env::var("JURY_WEBHOOK_EXAMPLES")
        .expect("JURY_WEBHOOK_EXAMPLES names index.json in a folder of npm @octokit/webhooks-examples");
    let events: Vec<Value> = serde_json::from_slice(&std::fs::read(index).unwrap()).unwrap();
    let room = Room::open().await;
    let mut sent = 0;
    for encoding in &ENCODINGS {
        for event in &events {
            let name = event["name"].as_str().unwrap();
            for payload in event["examples"].as_array().unwrap() {
                let body = (encoding.encode)(&payload.to_string());
                let answer = room
                    .http
                    .post(format!("http://{}/webhooks/github", room.server.address))
                    .header("x-github-event", name)
                    .header("x-github-delivery", format!("{}-{sent}", encoding.name))
                    .header("x-hub-signature-256", signature(SECRET, body.as_bytes()))
                    .header("content-type", encoding.content_type)
                    .body(body)
                    .send()
                    .await
                    .unwrap();
                assert_eq!(answer.status(), 202, "{name} as {}: {payload}", encoding.name);
                sent += 1;
            }
        }
        room.settle().await;
    }
    assert!(sent >= 2 * 329, "only {sent} examples were sent");
    // Whatever was put off comes due.
    for _ in 0..20 {
        room.later(600).await;
    }
    // And the server still does its work.
    let clean = [Edit::write("tests/two.rs", "#[test]\nfn two() {}\n")];
    let (_, head) = room.reviewed("feature", &clean).await;
    assert_eq!(room.shown(&head).await, ["completed/success"]);
    room.leave_given_up(&[JobKind::SyncCheck]).await;
}
