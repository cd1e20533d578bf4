//! A change over the API, from a forge that leaves things out.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    domain::{
        diff::{ChangedFile, LineKind},
        principal::{Principal, PrincipalKind},
        review::finding::Side,
        space::{PullSnapshot, PullState},
        time::Timestamp,
    },
    ports::{
        change::{Change, ChangeError},
        forge::Forge,
    },
};

use crate::forge::github::fake_tests::{Fake, NOON, Seen, oid, plain, pull, reply};

const HEAD: char = 'a';
const TIP: char = 'b';
const BASE: char = 'c';

fn snapshot() -> PullSnapshot {
    PullSnapshot {
        title: "T".to_owned(),
        state: PullState::Open,
        draft: false,
        head: oid(HEAD).parse().unwrap(),
        base_ref: "release/1.0 x".to_owned(),
        base: oid('d').parse().unwrap(),
        author: Some(Principal::new(PrincipalKind::Human, "1")),
        by_app: false,
        html_url: String::new(),
        updated_at: Timestamp(NOON),
    }
}

fn entry(path: &str, mode: &str, sha: char) -> Value {
    json!({ "path": path, "mode": mode, "type": "blob", "sha": oid(sha), "size": 3 })
}

/// A forge with these files in its comparison, and trees with one entry per case.
async fn fake(files: Value, head_now: char) -> Fake {
    let more = files.clone();
    Fake::start(move |s: &Seen| {
        let path = s.path.strip_prefix("/repos/octo/demo")?;
        let tree = |entries: &[Value]| reply(200, &json!({ "tree": entries, "truncated": false }));
        Some(match path.split('?').next()? {
            "/git/ref/heads/release/1.0%20x" => reply(200, &json!({ "object": { "sha": oid(TIP) } })),
            path if path.starts_with("/compare/") => reply(
                200,
                &json!({ "merge_base_commit": { "sha": oid(BASE) }, "files": files }),
            ),
            "/pulls/3/files" => reply(200, &more),
            "/pulls/3" => reply(
                200,
                &json!({ "number": 3, "state": "open", "head": { "sha": oid(head_now) },
                         "base": { "sha": oid(TIP), "ref": "main" }, "updated_at": "2026-01-01T10:00:00Z" }),
            ),
            path if path == format!("/git/trees/{}", oid(HEAD)) => tree(&[
                entry("mode.sh", "100755", '1'),
                entry("large.txt", "100644", '2'),
                entry("image.png", "100644", '4'),
                entry("new.txt", "100644", '5'),
                entry("link", "120000", '5'),
                entry("sub", "160000", '6'),
            ]),
            path if path == format!("/git/trees/{}", oid(BASE)) => tree(&[
                entry("mode.sh", "100644", '1'),
                entry("large.txt", "100644", '3'),
                entry("image.png", "100644", '3'),
                entry("gone.txt", "100644", '5'),
            ]),
            path if path == format!("/git/blobs/{}", oid('4')) => plain(200, &b"\x89PNG\0"[..]),
            path if path == format!("/git/blobs/{}", oid('5')) => plain(200, "x\ny"),
            path if path.starts_with("/git/blobs/") => plain(200, "text\n"),
            _ => return None,
        })
    })
    .await
}

fn file(path: &str, status: &str, patch: Option<&str>, counts: (i64, i64)) -> Value {
    json!({ "filename": path, "status": status, "patch": patch, "sha": oid('9'),
            "additions": counts.0, "deletions": counts.1 })
}

async fn opened(fake: &Fake) -> Box<dyn Change> {
    fake.github().change(&pull(), &snapshot()).await.unwrap()
}

fn find<'a>(change: &'a dyn Change, path: &str) -> &'a ChangedFile {
    change.files().iter().find(|f| f.path == path).unwrap()
}

#[tokio::test]
async fn d50_a_missing_patch_is_unseen_unless_the_objects_prove_that_there_is_nothing_to_see() {
    let fake = fake(
        json!([
            file("good.rs", "modified", Some("@@ -1 +1 @@\n-a\n+b"), (1, 1)),
            file("part.rs", "modified", Some("@@ -1 +1 @@\n-a\n+b"), (2, 1)),
            file("broken.rs", "modified", Some("@@ -1,9 +1,9 @@\n-a"), (0, 1)),
            file("mode.sh", "modified", None, (0, 0)),
            file("large.txt", "modified", None, (90_000, 0)),
            file("image.png", "modified", None, (0, 0)),
            file("new.txt", "added", None, (2, 0)),
            file("gone.txt", "removed", None, (0, 2)),
            file("link", "added", None, (1, 0)),
        ]),
        HEAD,
    )
    .await;
    let change = opened(&fake).await;
    let unseen: Vec<&str> = change.coverage().unseen.iter().map(|u| u.path.as_str()).collect();
    assert_eq!(unseen, ["part.rs", "broken.rs", "large.txt"]);
    assert_eq!(change.coverage().truncated, None);
    assert!(find(&*change, "image.png").binary);
    assert_eq!(find(&*change, "mode.sh").new_mode, Some(0o100_755));
    let added: Vec<_> = find(&*change, "new.txt").added_lines().collect();
    assert_eq!(added, [(1, &b"x"[..]), (2, &b"y"[..])]);
    let gone = find(&*change, "gone.txt");
    assert!(
        gone.hunks()
            .iter()
            .flat_map(|h| gone.lines(h))
            .all(|l| l.kind == LineKind::Removed)
    );
    assert_eq!(gone.removed_lines().count(), 2);
}

#[tokio::test]
async fn a_link_is_its_target_a_submodule_is_no_file_and_blobs_are_asked_for_once() {
    let fake = fake(json!([]), HEAD).await;
    let change = opened(&fake).await;
    let target = change.read(Side::Right, "link").await.unwrap().unwrap();
    assert_eq!(target, b"x\ny", "the link's own blob");
    for path in ["sub", "missing", "new.txt/x"] {
        assert_eq!(change.read(Side::Right, path).await.unwrap(), None, "{path}");
    }
    for _ in 0..3 {
        assert_eq!(
            change.read(Side::Right, "new.txt").await.unwrap().unwrap(),
            b"x\ny"
        );
    }
    assert_eq!(fake.count("GET", &format!("/git/blobs/{}", oid('5'))), 1);
    assert_eq!(
        fake.count("GET", &format!("/git/trees/{}?recursive=1", oid(HEAD))),
        1
    );
}

#[tokio::test]
async fn a_long_list_is_the_pull_requests_own_and_only_of_this_head() {
    let many: Vec<Value> = (0..300)
        .map(|n| file(&format!("f{n}"), "modified", Some("@@ -1 +1 @@\n-a\n+b"), (1, 1)))
        .collect();
    let still = fake(json!(many), HEAD).await;
    assert_eq!(opened(&still).await.files().len(), 300);
    let moved_on = fake(json!(many), 'e').await;
    let error = moved_on
        .github()
        .change(&pull(), &snapshot())
        .await
        .err()
        .unwrap();
    assert!(matches!(error, ChangeError::Gone(_)), "{error}");
}

#[tokio::test]
async fn d53_a_list_that_may_be_cut_or_is_odd_says_so() {
    let most: Vec<Value> = (0..3000)
        .map(|n| file(&format!("f{n}"), "modified", Some("@@ -1 +1 @@\n-a\n+b"), (1, 1)))
        .collect();
    let twice = file("f", "modified", Some("@@ -1 +1 @@\n-a\n+b"), (1, 1));
    for files in [
        json!(most),
        json!([twice, twice]),
        json!([{ "status": "added" }]),
        json!([file("", "added", None, (0, 0))]),
    ] {
        let fake = Arc::new(fake(files, HEAD).await);
        assert!(opened(&fake).await.coverage().truncated.is_some());
    }
}

#[tokio::test]
async fn d52_a_comparison_that_is_refused_for_its_size_is_read_file_by_file_and_not_asked_again() {
    let refusals = [
        (
            406,
            "Sorry, the diff exceeded the maximum number of lines (20000)",
        ),
        (
            406,
            "Sorry, the diff exceeded the maximum number of files (300). Consider using 'List pull requests files' API",
        ),
        (422, "Sorry, this diff is too large"),
        (500, "Sorry, this diff is taking too long to generate."),
    ];
    for (status, words) in refusals {
        for list_too in [false, true] {
            let fake = Fake::start(move |s: &Seen| {
                let path = s.path.strip_prefix("/repos/octo/demo")?;
                let refused = || {
                    let error = json!({ "resource": "PullRequest", "field": "diff", "code": "too_large" });
                    reply(status, &json!({ "message": words, "errors": [error] }))
                };
                Some(match path.split('?').next()? {
                    path if path.starts_with("/compare/") && !s.path.contains("&page=2") => refused(),
                    path if path.starts_with("/compare/") => {
                        reply(200, &json!({ "merge_base_commit": { "sha": oid(BASE) }, "files": [] }))
                    }
                    "/pulls/3/files" if list_too => refused(),
                    "/pulls/3/files" => {
                        let shown = file("a.rs", "modified", Some("@@ -1 +1 @@\n-a\n+b"), (1, 1));
                        let hidden = file("big.json", "modified", None, (48_210, 3));
                        reply(200, &json!([shown, hidden]))
                    }
                    "/pulls/3" => reply(
                        200,
                        &json!({ "number": 3, "state": "open", "head": { "sha": oid(HEAD) },
                                 "base": { "sha": oid(TIP), "ref": "main" }, "updated_at": "2026-01-01T10:00:00Z" }),
                    ),
                    _ => return None,
                })
            })
            .await;
            let change = fake.github().change(&pull(), &snapshot()).await;
            let asked = |path: &str| fake.lines().iter().filter(|l| l.contains(path)).count();
            assert_eq!(asked("/compare/"), 2, "{words}");
            match change {
                Ok(change) => {
                    assert!(!list_too);
                    assert_eq!(change.files().len(), 2);
                    assert_eq!(change.merge_base().as_str(), oid(BASE));
                    let unseen: Vec<&str> =
                        change.coverage().unseen.iter().map(|u| u.path.as_str()).collect();
                    assert_eq!(unseen, ["big.json"]);
                }
                Err(error) => {
                    assert!(list_too, "{error}");
                    assert!(
                        matches!(&error, ChangeError::User(words) if words.contains("too large")),
                        "{error}"
                    );
                    assert_eq!(asked("/pulls/3/files"), 1, "not again");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_forge_that_serves_neither_trees_nor_refs_is_read_by_path() {
    let fake = Fake::start(move |s: &Seen| {
        let path = s.path.strip_prefix("/repos/octo/demo")?;
        Some(match path.split('?').next()? {
            path if path.starts_with("/compare/") => {
                let files = [file("a b.rs", "modified", Some("@@ -1 +1 @@\n-a\n+b"), (1, 1))];
                reply(
                    200,
                    &json!({ "merge_base_commit": { "sha": oid(BASE) }, "files": files }),
                )
            }
            "/pulls/3" => reply(
                200,
                &json!({ "number": 3, "state": "open", "head": { "sha": oid(HEAD) },
                         "base": { "sha": oid(TIP), "ref": "main" }, "updated_at": "2026-01-01T10:00:00Z" }),
            ),
            "/contents/a%20b.rs" => plain(200, "b\n"),
            _ => return None,
        })
    })
    .await;
    let change = opened(&fake).await;
    assert_eq!(change.read(Side::Right, "a b.rs").await.unwrap().unwrap(), b"b\n");
    assert_eq!(change.read_base_tip(".github/jury.toml").await.unwrap(), None);
    assert!(change.coverage().is_complete());
}

#[tokio::test]
async fn without_trees_a_policy_behind_a_link_or_in_a_submodule_is_told_from_a_file() {
    let listed = |kind: &str, download: Value| {
        json!([{ "name": "other", "type": "file", "download_url": "u" },
        { "name": "jury.toml", "type": kind, "download_url": download, "size": 4 }])
    };
    for (listing, outcome) in [
        (listed("file", json!("http://127.0.0.1/raw")), "read"),
        (
            listed("symlink", json!("http://127.0.0.1/raw")),
            "is a symbolic link",
        ),
        // GitHub lists a submodule as a file.
        (listed("file", Value::Null), "is a submodule"),
        (listed("dir", Value::Null), "is a folder"),
        (json!([{ "name": "other", "type": "file" }]), "nothing"),
        (
            json!({ "type": "symlink", "target": "elsewhere" }),
            "`.github` on the base branch (at bbbbbbbbbb) is a symbolic link",
        ),
        (json!({ "type": "submodule" }), "is a submodule"),
        (json!({ "type": "file", "download_url": "u" }), "nothing"),
    ] {
        let answer = listing.clone();
        let fake = Fake::start(move |s: &Seen| {
            let path = s.path.strip_prefix("/repos/octo/demo")?;
            Some(match path.split('?').next()? {
                path if path.starts_with("/compare/") => reply(
                    200,
                    &json!({ "merge_base_commit": { "sha": oid(BASE) }, "files": [] }),
                ),
                "/git/ref/heads/release/1.0%20x" => reply(200, &json!({ "object": { "sha": oid(TIP) } })),
                "/contents/.github" => reply(200, &answer),
                // Asked for a link, the forge gives what it points to.
                "/contents/.github/jury.toml" => plain(200, "gate"),
                _ => return None,
            })
        })
        .await;
        let change = opened(&fake).await;
        let told = match change.read_base_tip(".github/jury.toml").await {
            Ok(Some(content)) if content == b"gate" => "read".to_owned(),
            Ok(None) => "nothing".to_owned(),
            Err(ChangeError::User(words)) => words,
            other => panic!("{other:?}"),
        };
        assert!(told.contains(outcome), "{listing}: {told}");
    }
}
