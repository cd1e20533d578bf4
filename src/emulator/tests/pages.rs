use super::*;
use crate::emulator::{Protection, RequiredCheck};

async fn page(stage: &Stage, path: &str) -> (Response, String) {
    let url = format!("{}{path}", stage.forge.base_url());
    let answer = stage.http.get(&url).send().await.unwrap();
    let again = stage.http.get(&url).send().await.unwrap();
    (answer, again.text().await.unwrap())
}

#[tokio::test]
async fn the_page_shows_what_happened() {
    let (stage, number) = Stage::with_pull().await;
    let rules = Protection {
        required_checks: vec![RequiredCheck {
            context: "jury".to_owned(),
            app_id: Some(stage.app),
        }],
        required_approvals: 0,
    };
    stage.people.protect(REPO, "main", rules).unwrap();
    let head = stage.people.head_sha(REPO, number).unwrap();
    let review = json!({"event": "REQUEST_CHANGES", "body": "This **must** change.", "comments": [
        {"path": "src/lib.rs", "line": 3, "side": "RIGHT", "body": "Three is a number."}
    ]});
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    stage.send(Method::POST, &path, &review).await;
    let check = json!({"name": "jury", "head_sha": head, "conclusion": "failure", "output": {"title": "block", "summary": "One *finding*."}});
    stage
        .send(Method::POST, &format!("/repos/{REPO}/check-runs"), &check)
        .await;
    stage.people.comment(REPO, number, "ada", "On it.").unwrap();

    let (answer, html) = page(&stage, &format!("/{REPO}/pull/{number}")).await;
    let policy = answer.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    for shown in [
        "Change sums",
        "Please look.",
        "jury[bot]",
        "requested changes",
        "This <strong>must</strong> change.",
        "Three is a number.",
        "+line three",
        "On it.",
        "block",
        "One <em>finding</em>.",
        "required",
        "Merging is blocked",
        "Required status check &#34;jury&#34; is failing.",
        "src/lib.rs",
    ] {
        assert!(html.contains(shown), "{shown} is missing:\n{html}");
    }
    let (_, index) = page(&stage, "/").await;
    assert!(index.contains(&format!("/{REPO}/pull/{number}")));
    assert!(index.contains("merging is blocked"));
    let url = format!("{}/{REPO}/pull/99", stage.forge.base_url());
    assert_eq!(stage.http.get(url).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn hostile_text_is_inert() {
    let stage = Stage::open().await;
    let evil = "<script>alert(1)</script>";
    let name = "x<img src=y onerror=alert(2)>.txt";
    stage.push("topic", &[Edit::write(name, format!("{evil}\n"))]);
    let number = stage.pull("topic", evil);
    let body = "<img src=x onerror=alert(3)> [go](javascript:alert(4)) <iframe src=//e></iframe> <form><input></form> <style>*{}</style> <a href=\"data:text/html,x\">d</a>";
    stage.people.edit(REPO, number, None, Some(body), "ada").unwrap();
    stage.people.comment(REPO, number, "ada", body).unwrap();
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    let review =
        json!({"event": "COMMENT", "body": evil, "comments": [{"path": name, "line": 1, "body": body}]});
    assert_eq!(stage.send(Method::POST, &path, &review).await.0, 200);
    let head = stage.people.head_sha(REPO, number).unwrap();
    let check = json!({"name": evil, "head_sha": head, "conclusion": "success", "output": {"title": evil, "summary": body}});
    stage
        .send(Method::POST, &format!("/repos/{REPO}/check-runs"), &check)
        .await;
    for at in [format!("/{REPO}/pull/{number}"), "/".to_owned()] {
        let (_, html) = page(&stage, &at).await;
        assert!(html.contains("&#60;script&#62;alert(1)"), "{html}");
        let lower = html.to_lowercase();
        for bad in [
            "<script",
            "<img",
            "<iframe",
            "<form",
            "<input",
            "javascript:",
            "href=\"data:",
        ] {
            assert!(!lower.contains(bad), "{bad} in\n{html}");
        }
        assert_eq!(lower.matches("<style").count(), 1, "only our own style");
    }
}
