//! Isolation by bubblewrap: new namespaces of every kind (so no network and no process of
//! the machine in sight), a file system that is put together from the system's programs,
//! the worktree and what the program names, all read-only, and a small `/tmp`.
//!
//! Invariants: the command is started by no shell; standard input is empty; the
//! environment holds only what is set here; the program has no capability and may make no
//! user namespace. Its first process is the init of a process namespace: when bubblewrap
//! is killed (by us, by our dropping the future, or with us), the kernel ends all of them,
//! whatever they did to escape their group or session.

use std::{path::Path, process::Stdio, time::Duration};

use async_trait::async_trait;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
};

use crate::{
    domain::text::{one_line, truncate_chars},
    ports::isolation::{Bounds, Isolation, IsolationError, Program, Ran, WORKTREE},
};

use super::census;

/// How often the processes are counted.
const COUNTED_EVERY: Duration = Duration::from_millis(100);
/// Characters of what a program complains about that are kept.
const WORDS: usize = 600;
/// Bytes that `/tmp` takes.
const SCRATCH: u64 = 256 << 20;
/// Parts of the system that a program is put together from, beside `/usr`.
const SYSTEM: &[&str] = &["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Files that programs need to find their libraries and alternatives.
const SETTINGS: &[&str] = &["/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"];

/// Bubblewrap, found to work on this machine.
#[derive(Debug, Clone)]
pub struct Bubblewrap {
    name: String,
    /// The options that make the namespaces.
    apart: &'static [&'static str],
}

const STRICT: &[&str] = &["--unshare-all", "--unshare-user", "--disable-userns"];
const PLAIN: &[&str] = &["--unshare-all", "--unshare-user"];

impl Bubblewrap {
    /// Looks for bubblewrap and tries it.
    ///
    /// # Errors
    /// Words for the operator: what is missing and how to mend it.
    pub async fn find() -> Result<Self, String> {
        let version = Command::new("bwrap")
            .arg("--version")
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .output()
            .await
            .map_err(|_| "bubblewrap is not installed: install it and have `bwrap` in PATH".to_owned())?;
        if !census::works() {
            return Err("the kernel does not list a process's children in /proc".to_owned());
        }
        let name = one_line(&String::from_utf8_lossy(&version.stdout));
        let empty =
            tempfile::tempdir().map_err(|error| format!("no temporary folder can be made: {error}"))?;
        let mut why = String::new();
        for apart in [STRICT, PLAIN] {
            let candidate = Self {
                name: truncate_chars(&name, 100).into_owned(),
                apart,
            };
            let program = Program {
                command: vec!["true".to_owned()],
                environment: Vec::new(),
                readable: Vec::new(),
                bounds: Bounds {
                    time: Duration::from_secs(20),
                    memory: 1 << 30,
                    output: 1 << 16,
                    processes: 64,
                },
            };
            match candidate.run(empty.path(), &program).await {
                Ok(Ran { code: Some(0), .. }) => return Ok(candidate),
                Ok(ran) => why = ran.words,
                Err(error) => why = error.to_string(),
            }
        }
        Err(format!(
            "bubblewrap does not work here ({why}): let this user make user namespaces, and have `prlimit` (util-linux) in /usr"
        ))
    }

    fn command(&self, worktree: &Path, program: &Program) -> Command {
        let mut command = Command::new("bwrap");
        command.args(self.apart).args([
            "--die-with-parent",
            "--new-session",
            "--uid",
            "1000",
            "--gid",
            "1000",
            "--hostname",
            "jury",
            "--cap-drop",
            "ALL",
            "--clearenv",
            "--setenv",
            "PATH",
            "/usr/local/bin:/usr/bin:/bin",
            "--setenv",
            "HOME",
            "/tmp",
            "--setenv",
            "LANG",
            "C.UTF-8",
        ]);
        for (name, value) in &program.environment {
            command.args(["--setenv", name, value]);
        }
        command.args(["--ro-bind", "/usr", "/usr"]);
        for part in SYSTEM {
            match std::fs::read_link(part) {
                Ok(target) => {
                    command.arg("--symlink").arg(target).arg(part);
                }
                Err(_) if Path::new(part).is_dir() => {
                    command.args(["--ro-bind", part, part]);
                }
                Err(_) => {}
            }
        }
        for file in SETTINGS {
            command.args(["--ro-bind-try", file, file]);
        }
        for path in &program.readable {
            command.arg("--ro-bind").arg(path).arg(path);
        }
        let Bounds {
            memory, processes, ..
        } = program.bounds;
        command
            .args(["--proc", "/proc", "--dev", "/dev"])
            .args(["--size", &SCRATCH.to_string(), "--tmpfs", "/tmp"])
            .arg("--ro-bind")
            .arg(worktree)
            .arg(WORKTREE)
            .args(["--remount-ro", "/", "--chdir", WORKTREE, "--", "/usr/bin/prlimit"])
            .arg(format!("--data={memory}"))
            .arg(format!("--nproc={processes}"))
            .arg(format!("--fsize={SCRATCH}"))
            .args(["--core=0", "--nofile=1024", "--"])
            .args(&program.command)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

#[async_trait]
impl Isolation for Bubblewrap {
    fn name(&self) -> &str {
        &self.name
    }

    async fn run(&self, worktree: &Path, program: &Program) -> Result<Ran, IsolationError> {
        let bounds = program.bounds;
        let broken = |error: std::io::Error| IsolationError::Broken(error.to_string());
        let mut child = self.command(worktree, program).spawn().map_err(broken)?;
        let outcome = supervise(&mut child, bounds).await;
        if outcome.is_err() {
            // Its end is waited for, so that the worktree may be taken away.
            let _ = child.kill().await;
        }
        outcome
    }
}

/// Waits for the end, which comes when the program ends or a bound is passed.
async fn supervise(child: &mut Child, bounds: Bounds) -> Result<Ran, IsolationError> {
    let broken = |error: std::io::Error| IsolationError::Broken(error.to_string());
    let id = child.id();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let end = async {
        let (stdout, stderr) = tokio::join!(read_at_most(stdout, bounds.output), read_and_drop(stderr));
        let Some(stdout) = stdout.map_err(broken)? else {
            return Err(IsolationError::Output(bounds.output >> 20));
        };
        let status = child.wait().await.map_err(broken)?;
        let words = one_line(&String::from_utf8_lossy(&stderr.map_err(broken)?));
        Ok(Ran {
            // bubblewrap tells a signal as 128 and its number.
            code: status.code().filter(|code| *code <= 128),
            stdout,
            words: truncate_chars(&words, WORDS).into_owned(),
        })
    };
    tokio::select! {
        ended = end => ended,
        passed = watch(id, bounds) => Err(passed),
        () = tokio::time::sleep(bounds.time) => Err(IsolationError::TimedOut(bounds.time.as_secs())),
    }
}

/// Returns when there are too many processes, or they use too much memory.
async fn watch(id: Option<u32>, bounds: Bounds) -> IsolationError {
    let Some(id) = id else {
        return std::future::pending().await;
    };
    // bubblewrap's own.
    let most = bounds.processes.saturating_add(2);
    let mut pause = tokio::time::interval(COUNTED_EVERY);
    loop {
        pause.tick().await;
        let census = census::below(id, most);
        if census.processes > most {
            return IsolationError::Processes(bounds.processes);
        }
        if census.memory > bounds.memory {
            return IsolationError::Memory(bounds.memory >> 20);
        }
    }
}

/// Reads to the end; `None` when there is more than `limit`.
async fn read_at_most(
    pipe: Option<impl AsyncRead + Unpin>,
    limit: usize,
) -> Result<Option<Vec<u8>>, std::io::Error> {
    let mut read = Vec::new();
    if let Some(pipe) = pipe {
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        pipe.take(most).read_to_end(&mut read).await?;
    }
    Ok((read.len() <= limit).then_some(read))
}

/// Reads to the end and keeps the beginning.
async fn read_and_drop(pipe: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, std::io::Error> {
    const KEPT: u64 = 16 << 10;
    let mut read = Vec::new();
    if let Some(mut pipe) = pipe {
        (&mut pipe).take(KEPT).read_to_end(&mut read).await?;
        tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    }
    Ok(read)
}

#[cfg(test)]
mod tests;
