use super::*;

/// Every kind of file that a diff can hold, read back as GitHub shows it.
#[tokio::test]
async fn strange_files_keep_their_places() {
    let stage = Stage::open().await;
    let link = |path: &str, to: &str| Edit::Write {
        path: path.to_owned(),
        content: to.as_bytes().to_vec(),
        mode: "120000",
    };
    let before = [
        Edit::write("a header.txt", "diff --git a/x b/x\n@@ -1 +1 @@\nend\n"),
        Edit::write("becomes-link", "text\n"),
        Edit::write("crlf.txt", "one\r\ntwo\r\n"),
        Edit::write("mode.sh", "run\n"),
        Edit::write("n\"ö\n.txt", "name\n"),
        Edit::write(".gitattributes", "* -diff\n"),
        Edit::write("z.txt", "1\n2\n3\n"),
    ];
    stage.push("main", &before);
    let after = [
        Edit::write("a header.txt", "diff --git a/x b/x\n@@ -9 +9 @@\nend\n"),
        link("becomes-link", "z.txt"),
        Edit::write("crlf.txt", "one\r\nTWO\r\n"),
        Edit::Write {
            path: "mode.sh".to_owned(),
            content: b"run\n".to_vec(),
            mode: "100755",
        },
        Edit::write("n\"ö\n.txt", "NAME\n"),
        Edit::write("empty", ""),
        Edit::write("latin1.txt", b"caf\xe9\n".to_vec()),
        Edit::write("z.txt", "1\n2\nthree"),
    ];
    stage.push("topic", &after);
    let number = stage.pull("topic", "Strange");
    let (_, files) = stage.get(&format!("/repos/{REPO}/pulls/{number}/files")).await;
    let shown: Vec<String> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            let text = |n: &str| f[n].as_str().unwrap_or("-").escape_debug().to_string();
            let counts = format!("+{} -{}", f["additions"], f["deletions"]);
            format!(
                "{} {} {counts} {}",
                text("filename"),
                text("status"),
                text("patch")
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"a header.txt modified +1 -1 @@ -1,3 +1,3 @@\n diff --git a/x b/x\n-@@ -1 +1 @@\n+@@ -9 +9 @@\n end"#,
            r#"becomes-link changed +1 -1 @@ -1 +0,0 @@\n-text\n@@ -0,0 +1 @@\n+z.txt\n\\ No newline at end of file"#,
            r#"crlf.txt modified +1 -1 @@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r"#,
            r#"empty added +0 -0 -"#,
            "latin1.txt added +1 -0 @@ -0,0 +1 @@\\n+caf\u{fffd}",
            r#"mode.sh changed +0 -0 -"#,
            r#"n\"ö\n.txt modified +1 -1 @@ -1 +1 @@\n-name\n+NAME"#,
            r#"z.txt modified +1 -1 @@ -1,3 +1,3 @@\n 1\n 2\n-3\n+three\n\\ No newline at end of file"#,
        ]
    );
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    let on =
        |path: &str, line: u32, side: &str| json!({"path": path, "line": line, "side": side, "body": "x"});
    for (comment, good) in [
        (on("a header.txt", 2, "RIGHT"), true),
        (on("n\"ö\n.txt", 1, "RIGHT"), true),
        (on("z.txt", 3, "RIGHT"), true),
        (on("z.txt", 4, "RIGHT"), false),
        (on("mode.sh", 1, "RIGHT"), false),
        (on("empty", 1, "RIGHT"), false),
    ] {
        let body = json!({"event": "COMMENT", "body": "x", "comments": [comment]});
        let (status, said) = stage.send(Method::POST, &path, &body).await;
        assert_eq!(status == 200, good, "{body}: {said}");
    }
}

/// The older way to name a place: lines below the first hunk's header.
#[tokio::test]
async fn a_position_counts_from_the_first_hunk() {
    let (stage, number) = Stage::with_pull().await;
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    for (position, line, side) in [
        (1, json!(1), "RIGHT"),
        (3, json!(3), "LEFT"),
        (4, json!(3), "RIGHT"),
        (12, json!(21), "RIGHT"),
    ] {
        let comment = json!({"path": "src/lib.rs", "position": position, "body": "x"});
        let body = json!({"event": "COMMENT", "body": "x", "comments": [comment]});
        let (status, said) = stage.send(Method::POST, &path, &body).await;
        assert_eq!(status, 200, "{said}");
        let list = format!("/repos/{REPO}/pulls/{number}/comments?per_page=100");
        let (_, all) = stage.get(&list).await;
        let last = all.as_array().unwrap().last().unwrap();
        assert_eq!(
            (&last["line"], &last["side"], &last["position"]),
            (&line, &json!(side), &json!(position))
        );
    }
    let header = json!({"path": "src/lib.rs", "position": 8, "body": "x"});
    let body = json!({"event": "COMMENT", "body": "x", "comments": [header]});
    assert_eq!(stage.send(Method::POST, &path, &body).await.0, 422);
}
