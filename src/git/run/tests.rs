use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::TempDir::new().unwrap()
}

/// A run of a shell command through git, to see what a child of git would see.
fn shell(folder: &Path, command: &str) -> Git {
    Git::new(folder, "-c").args([&format!("alias.x=!{command}"), "x"])
}

#[tokio::test]
async fn a_run_ends_at_its_time() {
    let folder = folder();
    let run = shell(folder.path(), "sleep 3").timeout(Duration::from_millis(50));
    assert!(matches!(run.run().await, Err(GitError::TimedOut(_))));
}

#[tokio::test]
async fn a_run_prints_no_more_than_it_may() {
    let folder = folder();
    let run = |bytes| Git::new(folder.path(), "version").output(bytes).run();
    let whole = run(OUTPUT).await.unwrap();
    assert_eq!(run(whole.len()).await.unwrap(), whole);
    assert!(matches!(run(whole.len() - 1).await, Err(GitError::TooLarge(_))));
    // One that would go on for ever, too, and one that talks on the other pipe.
    assert!(matches!(
        shell(folder.path(), "yes").output(1 << 20).run().await,
        Err(GitError::TooLarge(_))
    ));
    let talks = shell(folder.path(), "yes | head -c 1000000 >&2; exit 3")
        .run()
        .await;
    let error = talks.unwrap_err();
    assert_eq!(error.code(), Some(3));
    assert_eq!(error.words().chars().count(), WORDS);
}

#[tokio::test]
async fn what_git_says_is_one_line_without_the_secret() {
    let folder = folder();
    let secret = format!("Authorization: Basic {}", "c2VjcmV0".repeat(2));
    let run = shell(
        folder.path(),
        "printf 'a\\033[31m\\nb\\0c ' >&2; printf '%s' \"$(git config --get-all http.extraHeader)\" >&2; exit 1",
    )
    .network("https", Some(secret.clone().into()));
    // The header does reach git, through the environment alone.
    assert!(!format!("{run:?}").contains("c2VjcmV0"));
    let error = run.run().await.unwrap_err();
    assert!(error.words().contains("[secret]"), "{error}");
    assert!(!error.to_string().contains("c2VjcmV0"), "{error}");
    assert!(!error.words().chars().any(char::is_control));
}

#[tokio::test]
async fn a_missing_folder_is_not_a_missing_git() {
    let error = Git::new(Path::new("/nonexistent/folder"), "version").run().await;
    assert!(matches!(error, Err(GitError::System(_))), "{error:?}");
}

#[tokio::test]
async fn a_stream_hands_on_all_that_git_prints_and_ends_when_its_time_is_up() {
    let repo = super::super::scratch::Scratch::new();
    let text: Vec<u8> = (0..300_000u32)
        .flat_map(|n| format!("{n}\n").into_bytes())
        .collect();
    repo.write("f", &text).commit();
    let show = || Git::new(repo.path(), "cat-file").args(["blob", "HEAD:f"]);
    let got = std::sync::Mutex::new(Vec::new());
    let keep = |piece: Vec<u8>| {
        got.lock().unwrap().extend(piece);
        async { Ok(()) }
    };
    assert_eq!(show().stream(keep).await.unwrap(), Streamed::Whole);
    assert_eq!(*got.lock().unwrap(), text);
    let forever = |_| std::future::pending::<Result<(), GitError>>();
    let ended = show().timeout(Duration::from_millis(1)).stream(forever).await;
    assert_eq!(ended.unwrap(), Streamed::TimedOut);
    let refused = Git::new(repo.path(), "cat-file")
        .args(["blob", "HEAD:none"])
        .stream(|_| async { Ok(()) })
        .await;
    assert!(matches!(refused, Err(GitError::Failed { .. })), "{refused:?}");
}
