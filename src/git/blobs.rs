//! Reading objects through one long-lived `git cat-file --batch`.

use std::collections::HashMap;

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout},
    sync::Mutex,
};

use crate::domain::diff::path_text;

use super::{repository::Repository, run::GitError};

/// The largest blob that is read: 16 MiB.
pub const MAX_BLOB: u64 = 16 << 20;
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);
const COMMAND: &str = "cat-file";

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its mode, e.g. `0o100644`.
    pub mode: u32,
    /// Its object name.
    pub oid: String,
}

impl Entry {
    /// Whether it has content of its own that a diff shows: a regular file, or a symbolic
    /// link, whose content is its target.
    pub fn has_content(&self) -> bool {
        matches!(self.mode & 0o170_000, 0o100_000 | 0o120_000)
    }
}

/// Reads blobs of a repository by object name.
#[derive(Debug)]
pub struct Blobs {
    repository: Repository,
    /// Taken out while in use and put back only in step, so that a reader that is
    /// dropped in the middle cannot leave the next one half an answer.
    process: Mutex<Option<Process>>,
}

#[derive(Debug)]
struct Process {
    _child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Blobs {
    /// Nothing is started before the first read.
    pub fn new(repository: Repository) -> Self {
        Self {
            repository,
            process: Mutex::new(None),
        }
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The content of a blob; `None` when there is no such blob or it is over [`MAX_BLOB`].
    pub async fn read(&self, oid: &str) -> Result<Option<Vec<u8>>, GitError> {
        // A name is a line of the conversation: only a name may stand there.
        if !matches!(oid.len(), 40 | 64) || !oid.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let mut slot = self.process.lock().await;
        let mut process = match slot.take() {
            Some(process) => process,
            None => self.start()?,
        };
        let answer = tokio::time::timeout(TIMEOUT, process.ask(oid))
            .await
            .map_err(|_| GitError::TimedOut(COMMAND.to_owned()))??;
        match answer {
            Answer::Blob(content) => {
                *slot = Some(process);
                Ok(Some(content))
            }
            Answer::Nothing => {
                *slot = Some(process);
                Ok(None)
            }
            // Its content is still in the pipe: this process is done with.
            Answer::Unread => Ok(None),
        }
    }

    fn start(&self) -> Result<Process, GitError> {
        let mut child = self.repository.git(COMMAND).arg("--batch").spawn()?;
        let unexpected = || GitError::Unexpected(COMMAND.to_owned());
        let stdin = child.stdin.take().ok_or_else(unexpected)?;
        let stdout = BufReader::new(child.stdout.take().ok_or_else(unexpected)?);
        // Git's complaints about single objects are answers on stdout already.
        drop(child.stderr.take());
        Ok(Process {
            _child: child,
            stdin,
            stdout,
        })
    }

    /// What `path` is in the tree of `tree_ish`; `None` when there is nothing.
    pub async fn entry(&self, tree_ish: &str, path: &str) -> Result<Option<Entry>, GitError> {
        // No tree holds such a path, and git ends with an error when it is asked for one.
        let odd = |part: &str| matches!(part, "" | "." | "..");
        if path.contains('\0') || path.split('/').any(odd) {
            return Ok(None);
        }
        let printed = self
            .repository
            .git("ls-tree")
            .args(["-z", "--full-tree", tree_ish, "--", path])
            // A path that begins with `:` is a path.
            .env("GIT_LITERAL_PATHSPECS", "1")
            .run()
            .await?;
        Ok(printed.split(|&b| b == 0).find_map(|line| {
            let tab = line.iter().position(|&b| b == b'\t')?;
            let mut words = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
            let mode = u32::from_str_radix(words.next()?, 8).ok()?;
            let oid = words.nth(1)?.to_owned();
            (path_text(&line[tab + 1..]) == path).then_some(Entry { mode, oid })
        }))
    }

    /// The size of each object that is there.
    pub async fn sizes(&self, oids: &[&str]) -> Result<HashMap<String, u64>, GitError> {
        let input = oids.join("\n") + "\n";
        let printed = self
            .repository
            .git(COMMAND)
            .arg("--batch-check=%(objectname) %(objectsize)")
            .run_with(input.into_bytes())
            .await?;
        let line = |line: &[u8]| {
            let (oid, size) = std::str::from_utf8(line).ok()?.split_once(' ')?;
            Some((oid.to_owned(), size.parse().ok()?))
        };
        Ok(printed.split(|&b| b == b'\n').filter_map(line).collect())
    }
}

enum Answer {
    Blob(Vec<u8>),
    Nothing,
    Unread,
}

impl Process {
    async fn ask(&mut self, oid: &str) -> Result<Answer, GitError> {
        self.stdin.write_all(format!("{oid}\n").as_bytes()).await?;
        self.stdin.flush().await?;
        let unexpected = || GitError::Unexpected(COMMAND.to_owned());
        let mut head = String::new();
        (&mut self.stdout).take(256).read_line(&mut head).await?;
        let words: Vec<&str> = head.trim_end().split(' ').collect();
        let size: u64 = match words[..] {
            [_, "missing"] => return Ok(Answer::Nothing),
            [name, "blob", size] if name == oid => size.parse().map_err(|_| unexpected())?,
            [name, _, _] if name == oid => return Ok(Answer::Unread),
            _ => return Err(unexpected()),
        };
        if size > MAX_BLOB {
            return Ok(Answer::Unread);
        }
        let mut content = vec![0; usize::try_from(size).map_err(|_| unexpected())?];
        self.stdout.read_exact(&mut content).await?;
        let mut end = [0];
        self.stdout.read_exact(&mut end).await?;
        if end != *b"\n" {
            return Err(unexpected());
        }
        Ok(Answer::Blob(content))
    }
}
