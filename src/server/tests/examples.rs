//! Every payload that GitHub publishes as an example.

use super::*;

#[tokio::test]
#[ignore = "needs npm @octokit/webhooks-examples (JURY_WEBHOOK_EXAMPLES names its index.json)"]
async fn every_published_example_is_taken_in() {
    let index = std::env::var("JURY_WEBHOOK_EXAMPLES").expect("JURY_WEBHOOK_EXAMPLES is set");
    let events: Vec<Value> = serde_json::from_slice(&std::fs::read(index).unwrap()).unwrap();
    let jury = Running::start().await;
    let mut sent = 0;
    for event in &events {
        let name = event["name"].as_str().unwrap();
        for payload in event["examples"].as_array().unwrap() {
            let json = jury.deliver(&format!("json-{sent}"), name, payload).await;
            assert_eq!(json.status, 202, "{name}: {payload}");
            let encoded: String = payload
                .to_string()
                .bytes()
                .map(|byte| format!("%{byte:02X}"))
                .collect();
            let form = format!("payload={encoded}");
            let mut delivery = Delivery::signed(&format!("form-{sent}"), name, form.as_bytes());
            delivery.content_type = Some("application/x-www-form-urlencoded");
            assert_eq!(jury.post(&delivery, form.as_bytes()).await.status, 202, "{name}");
            assert_eq!(
                jury.inbox.body(&format!("form-{sent}")),
                jury.inbox.body(&format!("json-{sent}"))
            );
            sent += 1;
        }
    }
    assert!(sent >= 329, "only {sent} examples were found");
}
