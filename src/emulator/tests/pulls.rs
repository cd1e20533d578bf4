use super::*;

#[tokio::test]
async fn files_come_with_the_patches_of_git() {
    let (stage, number) = Stage::with_pull().await;
    let (status, files) = stage.get(&format!("/repos/{REPO}/pulls/{number}/files")).await;
    assert_eq!(status, 200);
    let shown: Vec<(&str, &str, u64, u64)> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            let text = |n: &str| f[n].as_str().unwrap();
            let count = |n: &str| f[n].as_u64().unwrap();
            (
                text("filename"),
                text("status"),
                count("additions"),
                count("deletions"),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("new.txt", "added", 3, 0),
            ("old.txt", "removed", 0, 1),
            ("src/lib.rs", "modified", 2, 1)
        ]
    );
    assert_eq!(files[0]["patch"], "@@ -0,0 +1,3 @@\n+a\n+b\n+c");
    assert_eq!(files[1]["patch"], "@@ -1 +0,0 @@\n-gone soon");
}

#[tokio::test]
async fn renames_binaries_and_large_files_are_told_apart() {
    let stage = Stage::open().await;
    let edits = [
        Edit::rename("README.md", "docs/README.md"),
        Edit::write("picture.bin", vec![0, 1, 2, 3, 0]),
        Edit::write("large.txt", "x\n".repeat(20_001)),
        Edit::write("ends.txt", "no newline"),
    ];
    stage.push("topic", &edits);
    let number = stage.pull("topic", "Move");
    let (_, files) = stage.get(&format!("/repos/{REPO}/pulls/{number}/files")).await;
    let by_name = |name: &str| {
        let all = files.as_array().unwrap();
        all.iter().find(|f| f["filename"] == name).unwrap().clone()
    };
    let moved = by_name("docs/README.md");
    assert_eq!(
        (&moved["status"], &moved["previous_filename"]),
        (&json!("renamed"), &json!("README.md"))
    );
    for name in ["docs/README.md", "picture.bin", "large.txt"] {
        assert!(by_name(name).get("patch").is_none(), "{name}");
    }
    assert_eq!(by_name("large.txt")["additions"], 20_001);
    assert_eq!(
        by_name("ends.txt")["patch"],
        "@@ -0,0 +1 @@\n+no newline\n\\ No newline at end of file"
    );
}

#[tokio::test]
async fn lists_are_paged_by_absolute_links() {
    let stage = Stage::open().await;
    let edits: Vec<Edit> = (0..65).map(|n| Edit::write(format!("f{n:02}"), "x\n")).collect();
    stage.push("topic", &edits);
    let number = stage.pull("topic", "Many");
    let token = stage.token().await;
    let mut url = format!(
        "{}/repos/{REPO}/pulls/{number}/files?per_page=30",
        stage.forge.api_url()
    );
    let mut seen = Vec::new();
    loop {
        let answer = stage.http.get(&url).bearer_auth(&token).send().await.unwrap();
        let link = answer
            .headers()
            .get("link")
            .map(|l| l.to_str().unwrap().to_owned());
        let (_, files) = read(answer).await;
        seen.push(files.as_array().unwrap().len());
        let next = link.unwrap_or_default();
        let Some(next) = next.split(", ").find(|l| l.ends_with("rel=\"next\"")) else {
            break;
        };
        let next = next.trim_start_matches('<').split('>').next().unwrap();
        assert!(
            next.starts_with(&format!("{}/repositories/", stage.forge.api_url())),
            "{next}"
        );
        next.clone_into(&mut url);
    }
    assert_eq!(seen, [30, 30, 5]);
}

#[tokio::test]
async fn an_etag_saves_the_second_answer() {
    let stage = Stage::open().await;
    let token = stage.token().await;
    let ask = || stage.ask(Method::GET, "/repos/ada/sums", &token);
    let first = ask().send().await.unwrap();
    let tag = first.headers()["etag"].clone();
    let left = |r: &Response| {
        let header = r.headers()["x-ratelimit-remaining"].to_str().unwrap();
        header.parse::<u32>().unwrap()
    };
    let before = left(&first);
    let again = ask().header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    assert_eq!(left(&again), before, "a 304 is free");
    assert_eq!(left(&ask().send().await.unwrap()), before - 1);
}

#[tokio::test]
async fn contents_blobs_and_compare_read_git() {
    let (stage, number) = Stage::with_pull().await;
    let head = stage.people.head_sha(REPO, number).unwrap();
    let (_, file) = stage
        .get(&format!("/repos/{REPO}/contents/new.txt?ref={head}"))
        .await;
    assert_eq!(
        (&file["content"], &file["size"]),
        (&json!("YQpiCmMK\n"), &json!(6))
    );
    let sha = file["sha"].as_str().unwrap();
    let (_, blob) = stage.get(&format!("/repos/{REPO}/git/blobs/{sha}")).await;
    assert_eq!(blob["content"], file["content"]);
    let (status, _) = stage.get(&format!("/repos/{REPO}/contents/new.txt")).await;
    assert_eq!(status, 404, "main does not have it");
    let (_, folder) = stage.get(&format!("/repos/{REPO}/contents/src")).await;
    assert_eq!(folder[0]["path"], "src/lib.rs");
    let (_, compare) = stage.get(&format!("/repos/{REPO}/compare/main...topic")).await;
    assert_eq!(
        (&compare["status"], &compare["ahead_by"]),
        (&json!("ahead"), &json!(1))
    );
    assert_eq!(compare["files"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_fork_that_is_gone_leaves_a_null_head_repository() {
    let stage = Stage::open().await;
    let fork = stage.people.fork(REPO, "bob").unwrap();
    let push = Push {
        repo: &fork,
        branch: "fix",
        by: "bob",
        message: "Fix\n",
        edits: &[Edit::write("fix.txt", "x\n")],
        onto: None,
    };
    let sha = stage.people.push(push).unwrap();
    let new = OpenPull {
        repo: REPO,
        by: "bob",
        title: "Fix",
        body: None,
        head_repo: Some(&fork),
        head: "fix",
        base: "main",
        draft: true,
    };
    let number = stage.people.open_pull(new).unwrap();
    let path = format!("/repos/{REPO}/pulls/{number}");
    let (_, before) = stage.get(&path).await;
    assert_eq!(before["head"]["repo"]["full_name"], "bob/sums");
    assert_eq!((&before["body"], &before["draft"]), (&Value::Null, &json!(true)));
    stage.people.delete_repo(&fork).unwrap();
    let (_, after) = stage.get(&path).await;
    assert_eq!(after["head"]["repo"], Value::Null);
    assert_eq!(after["head"]["sha"], json!(sha));
    let (_, files) = stage.get(&format!("{path}/files")).await;
    assert_eq!(
        files[0]["filename"], "fix.txt",
        "the base keeps the pull request's commits"
    );
}

#[tokio::test]
async fn what_a_collaborator_may_do_is_told_in_both_words() {
    let stage = Stage::open().await;
    stage
        .people
        .add_collaborator(REPO, "bob", crate::emulator::Role::Maintain)
        .unwrap();
    for (login, permission, role) in [
        ("ada", "admin", "admin"),
        ("bob", "write", "maintain"),
        ("eve", "none", "none"),
    ] {
        let path = format!("/repos/{REPO}/collaborators/{login}/permission");
        let (_, body) = stage.get(&path).await;
        assert_eq!(
            (&body["permission"], &body["role_name"]),
            (&json!(permission), &json!(role))
        );
    }
    let path = format!("/repos/{REPO}/collaborators/jury%5Bbot%5D/permission");
    assert_eq!(stage.get(&path).await.0, 404);
}
