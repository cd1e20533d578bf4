//! Secrets in names: of files, of branches, of a pull request. Jury tells of them and
//! repeats them nowhere.

use std::{
    io,
    sync::{Arc, Mutex},
};

use jury::emulator::{Edit, OpenPull};
use tracing_subscriber::EnvFilter;

use crate::{
    faults,
    room::{REPO, Room, Setup},
};

/// Everything that was logged, as it was before anything could be masked on its way out.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_token_in_a_name_blocks_and_is_repeated_nowhere() {
    let log = Log::default();
    let lines = log.clone();
    // Of the whole process: passes run on threads of their own. What other stories log
    // gets in as well, and is held to the same.
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("jury=debug,jury::emulator=off"))
        .with_writer(move || lines.clone())
        .try_init()
        .expect("this story reads the log itself: run it without JURY_LOG");

    let token = faults::token();
    let setup = Setup::default()
        .env("JURY_SERVER_PUBLIC_URL", "https://jury.example")
        .file(
            "src/old.rs",
            &faults::with_conflict().replace(['<', '=', '>'], "/"),
        );
    let room = Room::with(setup).await;
    let branch = format!("fix-{token}");
    let head = room.push(
        &branch,
        &[
            // Faults of other rules, which would stand on lines of these files.
            Edit::write(format!("src/{token}.rs"), faults::with_conflict()),
            Edit::write(format!("keys/{token}/net.rs"), faults::with_token()),
            // A file that cannot be seen is named too.
            Edit::write(format!("docs/{token}.md"), "text\0more\n"),
        ],
    );
    let number = room
        .people
        .open_pull(OpenPull {
            repo: REPO,
            by: "mona",
            title: &format!("Use {token}"),
            body: Some(&token),
            head_repo: None,
            head: &branch,
            base: "main",
            draft: false,
        })
        .unwrap();
    room.settle().await;

    assert_eq!(room.shown(&head).await, ["completed/failure"]);
    let run = room.check_runs(&head).await.pop().unwrap();
    let details = run["details_url"].as_str().unwrap();
    let path = details.strip_prefix("https://jury.example").unwrap();
    let page = room
        .http
        .get(format!("http://{}{path}", room.server.address))
        .send()
        .await
        .unwrap();
    let page = page.text().await.unwrap();
    let reviews = room.reviews(number).await;
    assert_eq!(room.review_states(number).await, ["CHANGES_REQUESTED"]);
    // A comment on such a path would have to name it.
    assert_eq!(room.comments(number).await, Vec::<String>::new());
    let passes = room.passes().await;
    let snapshot = serde_json::to_string(&passes.last().unwrap().snapshot).unwrap();
    assert!(snapshot.contains("secrets/file-name-github-token"), "{snapshot}");

    let published = [
        ("the check", run["output"].to_string()),
        ("the page", page),
        ("the review", reviews[0]["body"].to_string()),
        ("the pass", snapshot),
    ];
    for (what, text) in &published {
        assert!(!text.contains(&token), "{what}: {text}");
        assert!(text.contains("in the name of a file"), "{what}: {text}");
        assert!(text.contains("src/********.rs"), "{what}: {text}");
    }
    assert!(published[1].1.contains("Use ********"), "{}", published[1].1);
    room.leave().await;

    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("finalized"), "{logged}");
    assert!(!logged.contains(&token), "{logged}");
}
