//! Running a program that is not trusted, on files that are not trusted.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;

/// Where the program finds the files it is to look at, read-only; it starts there.
pub const WORKTREE: &str = "/work";

/// What a program may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// From its start to its end.
    pub time: Duration,
    /// Bytes of memory, of all its processes together.
    pub memory: u64,
    /// Bytes that it may print.
    pub output: usize,
    /// Processes and threads at once.
    pub processes: u32,
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its name or path, then its arguments. No shell reads them.
    pub command: Vec<String>,
    /// Its environment, beside `PATH`, `HOME` and `LANG`; nothing of ours is in it.
    pub environment: Vec<(String, String)>,
    /// Files and folders of the machine that it may read beside the system's programs.
    pub readable: Vec<PathBuf>,
    /// What it may use up.
    pub bounds: Bounds,
}

/// How a program ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code; `None` = a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained about: one line, cut. For the log only.
    pub words: String,
}

/// Why a program did not come to its end. The texts are safe to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IsolationError {
    /// It is not run at all: there is nothing here that could isolate it.
    #[error("it is not run, because this server cannot isolate it")]
    Unavailable,
    /// It took too long.
    #[error("it took longer than {0} s and was ended")]
    TimedOut(u64),
    /// It printed too much.
    #[error("it printed more than {0} MiB and was ended")]
    Output(usize),
    /// It used too much memory.
    #[error("it used more than {0} MiB of memory and was ended")]
    Memory(u64),
    /// It started too many processes.
    #[error("it started more than {0} processes and was ended")]
    Processes(u32),
    /// It could not be started; the text is for the log.
    #[error("it could not be started")]
    Broken(String),
}

/// A way to run programs apart from everything: no network, nothing of the machine but
/// what [`Program`] names and the system's own programs, read-only; an empty environment;
/// everything that the program started ends with it, also when the caller lets go.
#[async_trait]
pub trait Isolation: Send + Sync {
    /// What it is, for people: `bubblewrap 0.8.0`.
    fn name(&self) -> &str;

    /// Runs `program` on the files of `worktree`.
    async fn run(&self, worktree: &Path, program: &Program) -> Result<Ran, IsolationError>;
}
