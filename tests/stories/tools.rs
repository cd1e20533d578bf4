//! Tools that the server's owner configured, over the emulator, with a shell script for a tool.

use jury::{domain::review::pass::Pass, emulator::Edit};

use super::room::{Room, Setup};

/// A tool that complains of every line of a changed file that holds `bad`.
const LINT: &str = r#"grep -rn bad . | sed -n 's/^\.\/\([^:]*\):\([0-9]*\):.*/{"message":"this is bad","severity":"ERROR","code":{"value":"no-bad"},"source":{"name":"lint"},"location":{"path":"\1","range":{"start":{"line":\2}}}}/p'"#;

fn tool(script: &str, more: &str) -> String {
    format!(
        "[[tools]]\nname = \"lint\"\nformat = \"rdjsonl\"\ncommand = [\"/bin/sh\", \"-c\", {}]\n{more}\n",
        toml::Value::from(script)
    )
}

/// The pass that was opened last.
async fn last(room: &Room) -> Pass {
    room.passes().await.pop().unwrap()
}

async fn room(config: &str) -> Room {
    Room::with(Setup::default().config(config)).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs bubblewrap"]
async fn a_configured_tool_reviews_the_head_and_its_fix_clears_it() {
    let room = room(&tool(LINT, "axis = \"correctness\"")).await;
    room.push(
        "work",
        &[
            Edit::write("src/a.rs", "good\nbad\n"),
            Edit::write("tests/a.rs", "#[test]\nfn a() {}\n"),
        ],
    );
    room.open_pull("work");
    room.settle().await;
    let pass = last(&room).await;
    let snapshot = pass.snapshot.unwrap();
    let told: Vec<String> = snapshot
        .findings
        .iter()
        .map(|f| {
            format!(
                "{} {} {:?}:{:?} {}",
                f.priority, f.provenance, f.path, f.start_line, f.status
            )
        })
        .collect();
    assert_eq!(
        told,
        ["p1 tool:lint/no-bad Some(\"src/a.rs\"):Some(2) consensus_ready"]
    );
    assert_eq!(snapshot.verdict.to_string(), "hold");
    room.push("work", &[Edit::write("src/a.rs", "good\n")]);
    room.settle().await;
    let snapshot = last(&room).await.snapshot.unwrap();
    assert_eq!(snapshot.verdict.to_string(), "ship");
    assert!(
        snapshot
            .findings
            .iter()
            .all(|f| f.status.to_string() == "resolved")
    );
    room.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs bubblewrap"]
async fn a_tool_that_hangs_floods_crashes_or_talks_nonsense_holds_the_pass() {
    for (script, more, words) in [
        ("sleep 1000", "timeout_seconds = 1", "took longer than 1 s"),
        ("yes", "output_mib = 1", "printed more than 1 MiB"),
        ("kill -9 $$", "", "killed by a signal"),
        ("exit 2", "", "ended with code 2"),
        ("echo Traceback", "", "the report is no JSON"),
        ("echo x > /work/README.md || exit 9", "", "ended with code 9"),
    ] {
        let room = room(&tool(script, more)).await;
        room.push("work", &[Edit::write("README.md", "# other\n")]);
        room.open_pull("work");
        room.settle().await;
        let snapshot = last(&room).await.snapshot.unwrap();
        assert_eq!(snapshot.verdict.to_string(), "hold", "{script}");
        for axis in ["correctness", "security"] {
            let axis = snapshot.axes.iter().find(|a| a.axis.to_string() == axis).unwrap();
            let note = axis.note.as_deref().unwrap();
            assert_eq!(axis.state.to_string(), "partial", "{script}: {note}");
            assert!(note.contains(words), "{script}: {note}");
        }
        room.leave().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_cannot_bring_a_tool() {
    let room = Room::open().await;
    let config = tool("touch /tmp/pwned", "");
    room.push(
        "work",
        &[
            Edit::write("jury.toml", config.as_str()),
            Edit::write("README.md", "# other\n"),
        ],
    );
    room.open_pull("work");
    room.settle().await;
    let pass = last(&room).await;
    assert!(
        pass.snapshot
            .unwrap()
            .axes
            .iter()
            .all(|a| !a.note.as_deref().unwrap_or_default().contains("lint"))
    );
    room.leave().await;
}
