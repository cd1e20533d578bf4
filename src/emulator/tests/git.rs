use std::{path::Path, process::Output};

use super::*;

async fn git(folder: &Path, args: &[&str]) -> Output {
    let mut command = std::process::Command::new("git");
    super::super::git::clean(&mut command);
    command.current_dir(folder).args(args);
    command.envs([
        ("GIT_AUTHOR_NAME", "ada"),
        ("GIT_AUTHOR_EMAIL", "ada@example.org"),
        ("GIT_COMMITTER_NAME", "ada"),
        ("GIT_COMMITTER_EMAIL", "ada@example.org"),
    ]);
    tokio::process::Command::from(command).output().await.unwrap()
}

fn url(stage: &Stage, token: &str) -> String {
    let address = stage.forge.address();
    format!("http://x-access-token:{token}@{address}/{REPO}.git")
}

#[tokio::test]
async fn a_clone_needs_a_token_and_gets_the_pull_request_too() {
    let (stage, number) = Stage::with_pull().await;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for bad in ["wrong", ""] {
        let refused = git(at, &["clone", "-q", &url(&stage, bad), "no"]).await;
        assert!(!refused.status.success());
    }
    let token = stage.token().await;
    let cloned = git(at, &["clone", "-q", &url(&stage, &token), "sums"]).await;
    assert!(
        cloned.status.success(),
        "{}",
        String::from_utf8_lossy(&cloned.stderr)
    );
    let here = at.join("sums");
    assert!(here.join("src/lib.rs").exists());
    let head = format!("refs/pull/{number}/head");
    let fetched = git(&here, &["fetch", "-q", "origin", &head]).await;
    assert!(fetched.status.success());
    let tip = git(&here, &["rev-parse", "FETCH_HEAD"]).await;
    assert_eq!(
        String::from_utf8_lossy(&tip.stdout).trim(),
        stage.people.head_sha(REPO, number).unwrap()
    );
    stage.step(3600);
    let late = git(&here, &["fetch", "-q", "origin"]).await;
    assert!(!late.status.success(), "the token has expired");
}

#[tokio::test]
async fn a_push_by_git_moves_the_pull_request() {
    let (stage, number) = Stage::with_pull().await;
    let folder = tempfile::tempdir().unwrap();
    let token = stage.people.token("ada").unwrap();
    git(
        folder.path(),
        &["clone", "-q", "-b", "topic", &url(&stage, &token), "sums"],
    )
    .await;
    let here = folder.path().join("sums");
    std::fs::write(here.join("by-hand.txt"), "x\n").unwrap();
    // Larger than git's post buffer, so that the push is sent in chunks; the bytes
    // do not compress.
    let mut large = vec![0; 3 * 1024 * 1024];
    aws_lc_rs::rand::fill(&mut large).unwrap();
    std::fs::write(here.join("large.bin"), large).unwrap();
    git(&here, &["add", "."]).await;
    git(&here, &["commit", "-qm", "By hand"]).await;
    stage.forge.hooks().pause();
    let pushed = git(&here, &["push", "-q", "origin", "topic"]).await;
    assert!(
        pushed.status.success(),
        "{}",
        String::from_utf8_lossy(&pushed.stderr)
    );
    let tip = git(&here, &["rev-parse", "HEAD"]).await;
    let tip = String::from_utf8_lossy(&tip.stdout).trim().to_owned();
    assert_eq!(stage.people.head_sha(REPO, number).unwrap(), tip);
    let held = stage.forge.hooks().take();
    assert_eq!(held[0].action.as_deref(), Some("synchronize"));

    let hidden = format!("HEAD:refs/pull/{number}/head");
    let refused = git(&here, &["push", "-q", "-f", "origin", &hidden]).await;
    assert!(!refused.status.success(), "refs/pull is the forge's alone");
    let app = stage.token().await;
    let refused = git(&here, &["push", "-q", &url(&stage, &app), "HEAD:refs/heads/x"]).await;
    assert!(!refused.status.success(), "the App may only read contents");
    let eve = stage.people.token("eve").unwrap();
    let refused = git(&here, &["fetch", "-q", &url(&stage, &eve)]).await;
    assert!(!refused.status.success(), "eve does not see a private repository");
}
