//! A reviewer that could not look says later what it would have said.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use async_trait::async_trait;
use jury::{
    analyzers,
    domain::review::finding::{Axis, Finding},
    emulator::Edit,
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use crate::room::Room;

/// A rule set of Jury that breaks the first time it is asked.
struct BreaksOnce {
    rules: Box<dyn Analyzer>,
    asked: AtomicU32,
    as_if: fn() -> ChangeError,
}

#[async_trait]
impl Analyzer for BreaksOnce {
    fn name(&self) -> &str {
        self.rules.name()
    }

    fn axis(&self) -> Axis {
        self.rules.axis()
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        if self.asked.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err((self.as_if)());
        }
        self.rules.analyze(change).await
    }

    fn holds_in_blob(&self, finding: &Finding, blob: &[u8], lines: &[&[u8]]) -> Option<bool> {
        self.rules.holds_in_blob(finding, blob, lines)
    }
}

/// A room whose rules for left-overs break once; a pull request with a breakpoint in it.
async fn after_a_broken_look(as_if: fn() -> ChangeError) -> (Room, String) {
    let mut room = Room::open().await;
    let rules = analyzers::all()
        .into_iter()
        .find(|rules| rules.name() == "debug_leftovers")
        .unwrap();
    let broken: Box<dyn Analyzer> = Box::new(BreaksOnce {
        rules,
        asked: AtomicU32::new(0),
        as_if,
    });
    room.server.context.analyzers = Arc::from(vec![broken]);
    let (_, head) = room
        .reviewed(
            "feature",
            &[Edit::write(
                "app.py",
                "import os\n\nbreakpoint()\nprint(os.name)\n",
            )],
        )
        .await;
    (room, head)
}

#[tokio::test]
async fn what_a_broken_look_could_not_say_still_holds_when_it_is_said_later() {
    let (room, head) = after_a_broken_look(|| ChangeError::Internal("broken".into())).await;
    assert_eq!(
        room.shown(&head).await,
        ["completed/action_required"],
        "not proved"
    );
    let head = room.push("feature", &[Edit::write("NOTES.md", "more\n")]);
    room.settle().await;
    assert_eq!(
        room.shown(&head).await,
        ["completed/action_required"],
        "the breakpoint is new to everybody"
    );
    assert_eq!(room.comments(1).await, ["app.py:3"]);
    room.leave().await;
}

#[tokio::test]
async fn a_look_that_the_forge_did_not_let_finish_is_done_again() {
    let later = || ChangeError::Later {
        reason: "502".into(),
        after_ms: None,
    };
    let (room, head) = after_a_broken_look(later).await;
    assert_eq!(room.shown(&head).await, ["in_progress/-"], "nothing is said yet");
    room.later(60).await;
    assert_eq!(room.shown(&head).await, ["completed/action_required"]);
    assert_eq!(room.comments(1).await, ["app.py:3"]);
    room.leave().await;
}
