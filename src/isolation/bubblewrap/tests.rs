//! Run where bubblewrap works; `.ci/run` sees to that.

use std::{fs, time::Instant};

use super::*;

const BOUNDS: Bounds = Bounds {
    time: Duration::from_secs(60),
    memory: 256 << 20,
    output: 1 << 20,
    processes: 32,
};

async fn sh(script: &str, bounds: Bounds) -> Result<Ran, IsolationError> {
    let worktree = tempfile::tempdir().unwrap();
    fs::write(worktree.path().join("a.txt"), "hello\n").unwrap();
    let program = Program {
        command: ["/bin/sh", "-c", script].map(str::to_owned).into(),
        environment: vec![("SET".into(), "by the owner".into())],
        readable: vec![],
        bounds,
    };
    let isolation = Bubblewrap::find().await.unwrap();
    assert!(isolation.name().starts_with("bubblewrap "));
    isolation.run(worktree.path(), &program).await
}

async fn printed(script: &str) -> String {
    let ran = sh(script, BOUNDS).await.unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[tokio::test]
#[ignore = "needs bubblewrap"]
async fn it_sees_the_worktree_and_nothing_else_of_ours() {
    assert_eq!(printed("cat a.txt; pwd").await, "hello\n/work\n");
    let environment = printed("env | sort").await;
    let names: Vec<&str> = environment
        .lines()
        .map(|line| line.split('=').next().unwrap())
        .collect();
    assert_eq!(names, ["HOME", "LANG", "PATH", "PWD", "SET"]);
    for path in ["/root", "/home", "/etc/passwd", "/var", "/srv", "/run", "/opt"] {
        assert_eq!(
            printed(&format!("test -e {path} || echo none")).await,
            "none\n",
            "{path}"
        );
    }
    // Neither the worktree nor the rest can be written; `/tmp` can.
    let writes = "for f in /work/x /work/a.txt /x /usr/x /etc/x; do (echo x > $f) 2>/dev/null && echo wrote $f; done; echo x > /tmp/x && echo ok";
    assert_eq!(printed(writes).await, "ok\n");
    // No process of the machine, no network but a loopback of its own.
    assert!(
        printed("ls -d /proc/[0-9]* | wc -l")
            .await
            .trim()
            .parse::<u32>()
            .unwrap()
            < 8
    );
    assert_eq!(
        printed("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").await,
        "lo\n"
    );
    assert_eq!(
        printed("grep CapEff /proc/self/status | tr -d '\\t'").await,
        "CapEff:0000000000000000\n"
    );
}

#[tokio::test]
#[ignore = "needs bubblewrap"]
async fn how_it_ended_is_told() {
    assert_eq!(sh("echo words >&2; exit 3", BOUNDS).await.unwrap().code, Some(3));
    assert_eq!(sh("echo words >&2", BOUNDS).await.unwrap().words, "words");
    assert_eq!(sh("kill -9 $$", BOUNDS).await.unwrap().code, None);
    let missing = Program {
        command: vec!["no-such-program".into()],
        environment: vec![],
        readable: vec![],
        bounds: BOUNDS,
    };
    let folder = tempfile::tempdir().unwrap();
    let ran = Bubblewrap::find()
        .await
        .unwrap()
        .run(folder.path(), &missing)
        .await
        .unwrap();
    assert_eq!(ran.code, Some(127));
}

#[tokio::test]
#[ignore = "needs bubblewrap"]
async fn one_that_hangs_floods_or_grows_is_ended() {
    let short = Bounds {
        time: Duration::from_secs(1),
        ..BOUNDS
    };
    assert_eq!(sh("sleep 1000", short).await, Err(IsolationError::TimedOut(1)));
    // Also when it lets go of its output and hides from signals.
    assert_eq!(
        sh("trap '' TERM INT HUP; exec >/dev/null 2>&1; sleep 1000", short).await,
        Err(IsolationError::TimedOut(1))
    );
    assert_eq!(sh("yes", BOUNDS).await, Err(IsolationError::Output(1)));
    let complains = sh("head -c 10000000 /dev/zero >&2; echo done", BOUNDS)
        .await
        .unwrap();
    assert_eq!(complains.stdout, b"done\n");
    // Memory of several processes together, none of which is over the bound.
    let many =
        "for i in 1 2 3 4 5 6; do (x=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 1000) & done; wait";
    assert_eq!(sh(many, BOUNDS).await, Err(IsolationError::Memory(256)));
    let forks = "i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; wait";
    match sh(forks, BOUNDS).await {
        Err(IsolationError::Processes(32)) => {}
        // Where the kernel counts, it does not get that far.
        Ok(ran) => assert_ne!(ran.code, Some(0)),
        other => panic!("{other:?}"),
    }
}

/// Processes of this machine whose command line holds `mark`.
fn alive(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter(|process| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        })
        .count()
}

/// Waits for the kernel to end what it is ending.
#[expect(clippy::disallowed_methods, reason = "the kernel has no clock of ours")]
async fn gone(mark: &str) {
    let begin = Instant::now();
    while alive(mark) > 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "{mark} lives on");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
#[ignore = "needs bubblewrap"]
#[expect(clippy::disallowed_methods, reason = "the kernel has no clock of ours")]
async fn what_it_started_ends_with_it() {
    // It ends at once and leaves a daemon behind that keeps its output open.
    let begin = Instant::now();
    let ran = sh("setsid sleep 98761 & echo done", BOUNDS).await.unwrap();
    assert_eq!((ran.code, ran.stdout.as_slice()), (Some(0), b"done\n".as_slice()));
    assert!(begin.elapsed() < Duration::from_secs(50));
    gone("98761").await;
    // It is ended.
    let short = Bounds {
        time: Duration::from_secs(1),
        ..BOUNDS
    };
    let ended = sh("setsid sleep 98762 & (setsid sleep 98762 &) ; sleep 98762", short).await;
    assert_eq!(ended, Err(IsolationError::TimedOut(1)));
    gone("98762").await;
    // Nobody wants it any more.
    let dropped = tokio::time::timeout(
        Duration::from_secs(2),
        sh("setsid sleep 98763 & sleep 98763", BOUNDS),
    )
    .await;
    assert!(dropped.is_err());
    gone("98763").await;
}
