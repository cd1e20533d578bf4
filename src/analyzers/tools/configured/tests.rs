use std::{path::Path, sync::Mutex, time::Duration};

use futures::executor::block_on;

use super::*;
use crate::{
    domain::{
        diff::{self, ChangedFile},
        ids::Sha,
        review::{coverage::Coverage, finding::Side},
    },
    ports::isolation::{Bounds, Ran},
};

/// A change of one file that can be checked out.
struct Small {
    sha: Sha,
    files: Vec<ChangedFile>,
    coverage: Coverage,
    with_git: bool,
}

const BLOB: &str = "one\ntwo\n";

impl Small {
    fn new() -> Self {
        let patch = "diff --git a/a.js b/a.js\nindex 1111111..2222222 100644\n--- a/a.js\n+++ b/a.js\n@@ -1,1 +1,2 @@\n one\n+two\n";
        Self {
            sha: "a".repeat(40).parse().unwrap(),
            files: diff::parse(patch.as_bytes()).unwrap(),
            coverage: Coverage::default(),
            with_git: true,
        }
    }
}

#[async_trait]
impl Change for Small {
    fn merge_base(&self) -> &Sha {
        &self.sha
    }
    fn head(&self) -> Option<&Sha> {
        Some(&self.sha)
    }
    fn files(&self) -> &[ChangedFile] {
        &self.files
    }
    fn coverage(&self) -> &Coverage {
        &self.coverage
    }
    async fn read(&self, _: Side, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok((path == "a.js").then(|| BLOB.into()))
    }
    async fn read_base_tip(&self, _: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(None)
    }
    async fn read_at(&self, _: &Sha, _: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(None)
    }
    async fn check_out(&self, folder: &Path) -> Result<(), ChangeError> {
        if !self.with_git {
            return Err(ChangeError::User("the head cannot be checked out".into()));
        }
        std::fs::write(folder.join("a.js"), BLOB).map_err(|e| ChangeError::Internal(e.to_string()))
    }
}

/// Says what it was told to, and remembers the worktree.
struct Staged {
    outcome: Result<Ran, IsolationError>,
    saw: Mutex<Option<PathBuf>>,
}

#[async_trait]
impl Isolation for Staged {
    fn name(&self) -> &'static str {
        "staged"
    }
    async fn run(&self, worktree: &Path, _: &Program) -> Result<Ran, IsolationError> {
        assert_eq!(std::fs::read_to_string(worktree.join("a.js")).unwrap(), BLOB);
        *self.saw.lock().unwrap() = Some(worktree.to_owned());
        self.outcome.clone()
    }
}

fn report(change: &Small, outcome: Result<Ran, IsolationError>) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let staged = Arc::new(Staged {
        outcome,
        saw: Mutex::new(None),
    });
    let tool = Tool {
        name: "lint".into(),
        axis: None,
        format: Format::Rdjsonl,
        exit_codes: vec![0, 1],
        program: Program {
            command: vec!["lint".into()],
            environment: vec![],
            readable: vec![],
            bounds: Bounds {
                time: Duration::from_secs(1),
                memory: 1,
                output: 1,
                processes: 1,
            },
        },
    };
    let isolation: Arc<dyn Isolation> = staged.clone();
    let configured = Configured::new(tool, isolation, folder.path().join("worktrees"));
    assert_eq!(
        (configured.axis(), configured.also()),
        (Axis::Correctness, &[Axis::Security][..])
    );
    let report = block_on(configured.analyze(change)).unwrap();
    if let Some(saw) = staged.saw.lock().unwrap().take() {
        assert!(!saw.exists(), "the worktree is left behind");
    }
    report
}

fn ran(code: Option<i32>, stdout: &str) -> Result<Ran, IsolationError> {
    Ok(Ran {
        code,
        stdout: stdout.into(),
        words: "internal: /secret/path".into(),
    })
}

const ONE: &str = r#"{"message":"m","source":{"name":"lint"},"location":{"path":"/work/a.js","range":{"start":{"line":2}}}}"#;

#[test]
fn what_it_says_is_placed_under_the_root_it_saw() {
    let report = report(&Small::new(), ran(Some(1), ONE));
    assert_eq!(report.state, ContributionState::Complete);
    assert_eq!(report.drafts[0].anchor.as_ref().unwrap().start_line, 2);
    assert_eq!(report.drafts[0].provenance.to_string(), "tool:lint/unnamed");
    let silent = self::report(&Small::new(), ran(Some(0), ""));
    assert_eq!(
        (silent.state, silent.drafts.len()),
        (ContributionState::Complete, 0)
    );
}

#[test]
fn a_tool_that_did_not_do_its_work_is_never_clean() {
    use ContributionState::{Failed, TimedOut};
    for (outcome, state, words, drafts) in [
        (ran(Some(2), ""), Failed, "it ended with code 2", 0),
        (ran(Some(2), ONE), Failed, "it ended with code 2", 1),
        (ran(Some(127), "not found"), Failed, "it ended with code 127", 0),
        (ran(None, ""), Failed, "it was killed by a signal", 0),
        (
            ran(Some(0), "Traceback"),
            Failed,
            "the report is no JSON (line 1",
            0,
        ),
        (
            Err(IsolationError::Unavailable),
            Failed,
            "this server cannot isolate it",
            0,
        ),
        (Err(IsolationError::TimedOut(9)), TimedOut, "longer than 9 s", 0),
        (Err(IsolationError::Output(3)), Failed, "more than 3 MiB", 0),
        (
            Err(IsolationError::Memory(3)),
            Failed,
            "more than 3 MiB of memory",
            0,
        ),
        (
            Err(IsolationError::Processes(3)),
            Failed,
            "more than 3 processes",
            0,
        ),
        (
            Err(IsolationError::Broken("/secret".into())),
            Failed,
            "could not be started",
            0,
        ),
    ] {
        let report = report(&Small::new(), outcome);
        let note = report.note.unwrap();
        assert_eq!((report.state, report.drafts.len()), (state, drafts), "{note}");
        assert!(note.contains(words) && !note.contains("secret"), "{note}");
    }
    let without_git = Small {
        with_git: false,
        ..Small::new()
    };
    let report = report(&without_git, ran(Some(0), ""));
    assert_eq!(
        (report.state, report.note.as_deref()),
        (Failed, Some("the head cannot be checked out"))
    );
}

#[test]
fn a_change_that_only_removes_needs_no_tool() {
    let mut change = Small::new();
    change.files = vec![ChangedFile::new("a.js", FileStatus::Removed)];
    change.with_git = false;
    assert_eq!(
        report(&change, Err(IsolationError::Unavailable)).state,
        ContributionState::Complete
    );
}
