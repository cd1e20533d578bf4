use super::*;

async fn refused(stage: &Stage, claims: Value) -> (u16, String) {
    let (status, body) = answered(stage.ask(Method::GET, "/app", &stage.jwt(&claims))).await;
    (status, body["message"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_jwt_is_really_verified() {
    let stage = Stage::open().await;
    let (now, iss) = (stage.now(), stage.app.to_string());
    let good = json!({"iss": iss, "iat": now - 60, "exp": now + 600});
    assert_eq!(refused(&stage, good.clone()).await.0, 200);
    let number = json!({"iss": stage.app, "iat": now, "exp": now + 60});
    assert_eq!(refused(&stage, number).await.0, 200);

    let far = refused(&stage, json!({"iss": iss, "iat": now, "exp": now + 601})).await;
    let text = "'Expiration time' claim ('exp') is too far in the future";
    assert_eq!(far, (401, text.to_owned()));
    let past = refused(&stage, json!({"iss": iss, "iat": now - 90, "exp": now})).await;
    assert_eq!(past.0, 401);
    assert!(past.1.starts_with("'Expiration time' claim ('exp') must be"));
    let early = refused(&stage, json!({"iss": iss, "iat": now + 1, "exp": now + 60})).await;
    assert_eq!(early.0, 401);
    assert!(early.1.starts_with("'Issued at' claim ('iat')"));
    let nobody = refused(&stage, json!({"iat": now, "exp": now + 60})).await;
    assert_eq!(
        nobody,
        (401, "'Issuer' claim ('iss') must be an Integer".to_owned())
    );
    let other = refused(&stage, json!({"iss": "9", "iat": now, "exp": now + 60})).await;
    assert_eq!(other, (404, "Integration not found".to_owned()));

    let undecoded = "A JSON web token could not be decoded";
    let secret = EncodingKey::from_secret(&[7; 64]).unwrap();
    let weak = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &good, &secret).unwrap();
    let mut parts: Vec<String> = stage.jwt(&good).split('.').map(str::to_owned).collect();
    parts[2] = parts[2].chars().rev().collect();
    for jwt in [weak, parts.join(".")] {
        let (status, body) = answered(stage.ask(Method::GET, "/app", &jwt)).await;
        assert_eq!((status, body["message"].as_str()), (401, Some(undecoded)));
    }
}

#[tokio::test]
async fn an_installation_token_dies_after_an_hour() {
    let stage = Stage::open().await;
    let token = stage.token().await;
    assert!(token.len() > 40, "the newer form is longer than 40 characters");
    let ask = || answered(stage.ask(Method::GET, "/repos/ada/sums", &token));
    stage.step(3599);
    assert_eq!(ask().await.0, 200);
    stage.step(1);
    let (status, body) = ask().await;
    assert_eq!((status, body["message"].as_str()), (401, Some("Bad credentials")));
}

#[tokio::test]
async fn a_token_may_be_narrowed_and_not_widened() {
    let stage = Stage::open().await;
    stage.people.create_private_repo("ada/other", &[]).unwrap();
    let path = format!("/app/installations/{}/access_tokens", stage.installation);
    let mint = |body: Value| answered(stage.ask(Method::POST, &path, &stage.good_jwt()).json(&body));
    let (status, narrow) = mint(json!({"repositories": ["sums"], "permissions": {"contents": "read"}})).await;
    assert_eq!(status, 201);
    assert_eq!(narrow["repository_selection"], "selected");
    let token = narrow["token"].as_str().unwrap();
    let get = |path: &'static str| answered(stage.ask(Method::GET, path, token));
    assert_eq!(get("/repos/ada/sums/contents/README.md").await.0, 200);
    assert_eq!(get("/repos/ada/other").await.0, 404);
    let (status, body) = get("/repos/ada/sums/pulls").await;
    assert_eq!(
        (status, body["message"].as_str()),
        (403, Some("Resource not accessible by integration"))
    );
    assert_eq!(mint(json!({"permissions": {"contents": "write"}})).await.0, 422);
    assert_eq!(mint(json!({"repositories": ["nowhere"]})).await.0, 422);
}

#[tokio::test]
async fn suspension_and_removal_end_everything() {
    let stage = Stage::open().await;
    let token = stage.token().await;
    let path = format!("/app/installations/{}/access_tokens", stage.installation);
    let mint = || answered(stage.ask(Method::POST, &path, &stage.good_jwt()));
    stage.people.suspend(stage.installation).unwrap();
    let (status, body) = mint().await;
    assert_eq!(
        (status, body["message"].as_str()),
        (403, Some("This installation has been suspended"))
    );
    let use_it = || answered(stage.ask(Method::GET, "/installation/repositories", &token));
    assert_eq!(use_it().await.0, 403);
    stage.people.unsuspend(stage.installation).unwrap();
    let (status, body) = use_it().await;
    assert_eq!((status, &body["total_count"]), (200, &json!(1)));
    stage.people.uninstall(stage.installation).unwrap();
    assert_eq!(mint().await.0, 404);
    assert_eq!(use_it().await.0, 401);
}

#[tokio::test]
async fn a_renamed_repository_redirects_by_its_id() {
    let (stage, number) = Stage::with_pull().await;
    stage.people.rename_repo(REPO, "totals", "ada").unwrap();
    let token = stage.token().await;
    let old = format!("/repos/ada/sums/pulls/{number}");
    let answer = stage.ask(Method::GET, &old, &token).send().await.unwrap();
    assert_eq!(answer.status(), 301);
    let to = answer.headers()["location"].to_str().unwrap().to_owned();
    assert!(to.contains("/api/v3/repositories/"), "{to}");
    let followed = answered(stage.http.get(to).bearer_auth(&token)).await;
    assert_eq!(followed.1["base"]["repo"]["full_name"], "ada/totals");
    let body = json!({"body": "hello", "event": "COMMENT"});
    let write = stage
        .ask(Method::POST, &format!("{old}/reviews"), &token)
        .json(&body);
    assert_eq!(write.send().await.unwrap().status(), 307);
}
