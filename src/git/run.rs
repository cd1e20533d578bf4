//! One run of the git program.
//!
//! Nothing but what is written here decides what git does: the environment starts
//! empty, the system's and the user's configuration are not read, and what a
//! repository's own configuration could start or hide is set again with the highest
//! rank (`GIT_CONFIG_COUNT`). A measured plain `git diff` obeys all of it: fsmonitor,
//! hooks, external diffs, textconv, filters, colours, prefixes, `-diff`.
//!
//! Secrets travel in the environment of the child only: never in its arguments, which
//! every user of the machine can read, and never in an error.

use std::{
    ffi::{OsStr, OsString},
    future::Future,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use secrecy::{ExposeSecret, SecretString};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
};

use crate::{domain::secret::conceal, ports::change::ChangeError};

/// What a command may take when nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of output when nothing else is said.
const OUTPUT: usize = 64 << 20;
/// Bytes of git's own words that are kept.
const WORDS: usize = 600;

/// Configuration that no repository may override: a git with these runs nothing of
/// the repository and hides nothing of it.
const CONFIG: &[(&str, &str)] = &[
    ("attr.tree", ""),
    ("color.ui", "false"),
    ("core.alternateRefsCommand", "false"),
    ("core.askPass", ""),
    ("core.attributesFile", "/dev/null"),
    ("core.commitGraph", "false"),
    ("core.excludesFile", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.multiPackIndex", "false"),
    ("core.pager", "cat"),
    ("core.preloadIndex", "false"),
    ("core.quotePath", "true"),
    ("core.sshCommand", "false"),
    ("core.untrackedCache", "false"),
    ("core.useReplaceRefs", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("diff.interHunkContext", "0"),
    ("diff.mnemonicPrefix", "false"),
    ("diff.noprefix", "false"),
    ("diff.orderFile", "/dev/null"),
    ("diff.relative", "false"),
    ("diff.suppressBlankEmpty", "false"),
    ("fetch.fsckObjects", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "all"),
    // A checkout of somebody else can be read because nothing of it runs.
    ("safe.directory", "*"),
    ("submodule.recurse", "false"),
];

/// The environment of every run. What is not here or in [`INHERITED`] is not there.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_ADVICE", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_EDITOR", "false"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // No `~/.netrc`, no `~/.gitconfig`, no `~` in a hostile `include.path`.
    ("HOME", "/dev/null"),
    ("LC_ALL", "C"),
    ("XDG_CONFIG_HOME", "/dev/null"),
];

/// What a run takes over from our own environment.
const INHERITED: &[&str] = &["PATH", "TMPDIR"];
/// And what it takes over when it may use the network.
const INHERITED_BY_FETCH: &[&str] = &[
    "ALL_PROXY",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Why a run of git gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git program.
    #[error("the git program was not found: install git and have it in PATH")]
    Missing,
    /// Git said no.
    #[error("git {command} failed ({code}): {words}")]
    Failed {
        /// The subcommand.
        command: String,
        /// The exit code; -1 for a signal.
        code: i32,
        /// Git's own words, cut, on one line, without secrets.
        words: String,
    },
    /// It took longer than allowed and was ended.
    #[error("git {0} took too long")]
    TimedOut(String),
    /// It printed more than allowed and was ended.
    #[error("git {0} printed too much")]
    TooLarge(String),
    /// What it printed is not what it should print.
    #[error("git {0} printed something unexpected")]
    Unexpected(String),
    /// The operating system said no.
    #[error("cannot run git: {0}")]
    System(#[from] std::io::Error),
}

impl GitError {
    /// Git's exit code, when it ended by itself.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Failed { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Git's own words, when it said some.
    pub fn words(&self) -> &str {
        match self {
            Self::Failed { words, .. } => words,
            _ => "",
        }
    }
}

impl From<GitError> for ChangeError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Missing => Self::User(error.to_string()),
            GitError::TooLarge(command) if command == "diff-tree" => Self::User(
                "the change touches more files than Jury lists (their names take over 64 MiB): \
                 split it into smaller ones"
                    .to_owned(),
            ),
            _ => Self::Internal(error.to_string()),
        }
    }
}

/// How a streamed run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    /// All of it came.
    Whole,
    /// It was ended before it was done.
    TimedOut,
}

/// One run of git, hardened.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    args: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    config: Vec<(String, String)>,
    secret: Option<SecretString>,
    network: Option<&'static str>,
    timeout: Duration,
    output: usize,
}

impl Git {
    /// A run of `git <command>` in `folder`.
    pub fn new(folder: &Path, command: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            args: vec![command.into()],
            environment: Vec::new(),
            config: Vec::new(),
            secret: None,
            network: None,
            timeout: TIMEOUT,
            output: OUTPUT,
        }
    }

    /// Adds an argument. What comes from outside goes behind `--end-of-options` or `--`.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Sets a configuration value.
    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Self {
        self.config.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Lets this run speak one protocol (`http` or `https`), with this header, which
    /// goes to no other host: redirects are not followed.
    #[must_use]
    pub fn network(mut self, protocol: &'static str, header: Option<SecretString>) -> Self {
        self.network = Some(protocol);
        self.secret = header;
        self
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How many bytes it may print.
    #[must_use]
    pub fn output(mut self, bytes: usize) -> Self {
        self.output = bytes;
        self
    }

    /// Runs it to its end and gives what it printed.
    pub async fn run(self) -> Result<Vec<u8>, GitError> {
        self.run_with(Vec::new()).await
    }

    /// The same with something to read.
    pub async fn run_with(self, input: Vec<u8>) -> Result<Vec<u8>, GitError> {
        let mut child = self.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A git that ends early closes the pipe; its exit code tells why.
                let _ = stdin.write_all(&input).await;
                let _ = stdin.shutdown().await;
            }
        };
        let work = async {
            let (out, err, ()) =
                tokio::join!(read_to(stdout, self.output), read_to(stderr, usize::MAX), write);
            let printed = out?;
            if printed.is_none() {
                // Dropped with the child, which ends it.
                return Ok((None, None, err?));
            }
            Ok::<_, std::io::Error>((printed, Some(child.wait().await?), err?))
        };
        let done = tokio::time::timeout(self.timeout, work)
            .await
            .map_err(|_| GitError::TimedOut(self.command()))??;
        match done {
            (Some(printed), Some(status), _) if status.success() => Ok(printed),
            (Some(_), Some(status), words) => Err(GitError::Failed {
                command: self.command(),
                code: status.code().unwrap_or(-1),
                words: self.safe(&words.unwrap_or_default()),
            }),
            _ => Err(GitError::TooLarge(self.command())),
        }
    }

    /// Runs it and hands on what it prints as it comes, without a bound on how much. It
    /// is ended when its time is up; `each` has then got a part of it.
    pub async fn stream<F>(self, mut each: impl FnMut(Vec<u8>) -> F) -> Result<Streamed, GitError>
    where
        F: Future<Output = Result<(), GitError>>,
    {
        const PIECE: usize = 1 << 20;
        let mut child = self.spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        drop(child.stdin.take());
        let read = async {
            let Some(mut stdout) = stdout else {
                return Ok(());
            };
            loop {
                let mut piece = Vec::with_capacity(64 << 10);
                (&mut stdout).take(PIECE as u64).read_to_end(&mut piece).await?;
                if piece.is_empty() {
                    return Ok(());
                }
                each(piece).await?;
            }
        };
        let work = async {
            let (read, words): (Result<(), GitError>, _) = tokio::join!(read, read_to(stderr, usize::MAX));
            read?;
            Ok::<_, GitError>((child.wait().await?, words?))
        };
        let Ok(done) = tokio::time::timeout(self.timeout, work).await else {
            return Ok(Streamed::TimedOut);
        };
        let (status, words) = done?;
        if status.success() {
            return Ok(Streamed::Whole);
        }
        Err(GitError::Failed {
            command: self.command(),
            code: status.code().unwrap_or(-1),
            words: self.safe(&words.unwrap_or_default()),
        })
    }

    /// Starts it with all three pipes; dropping the child ends it.
    pub fn spawn(&self) -> Result<Child, GitError> {
        let mut command = Command::new("git");
        command
            .args(&self.args)
            .current_dir(&self.folder)
            .env_clear()
            .envs(ENVIRONMENT.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let inherited = if self.network.is_some() {
            INHERITED_BY_FETCH
        } else {
            &[]
        };
        for name in INHERITED.iter().chain(inherited) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("GIT_ALLOW_PROTOCOL", self.network.unwrap_or_default());
        let mut config: Vec<(&str, &str)> = CONFIG.to_vec();
        let allow = self.network.map(|p| format!("protocol.{p}.allow"));
        if let Some(allow) = &allow {
            config.extend([
                (allow.as_str(), "always"),
                ("http.followRedirects", "false"),
                ("http.lowSpeedLimit", "1000"),
                ("http.lowSpeedTime", "30"),
                ("http.extraHeader", ""),
            ]);
        }
        config.extend(self.config.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        if let Some(header) = &self.secret {
            config.push(("http.extraHeader", header.expose_secret()));
        }
        command.env("GIT_CONFIG_COUNT", config.len().to_string());
        for (i, (key, value)) in config.into_iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{i}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{i}"), value);
        }
        command.envs(self.environment.iter().map(|(k, v)| (k, v)));
        command.spawn().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound if self.folder.is_dir() => GitError::Missing,
            _ => GitError::System(e),
        })
    }

    fn command(&self) -> String {
        self.args
            .first()
            .map(|a| a.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// Git's words as one line that is safe to log: no control characters, cut, and
    /// without the secret, whoever repeated it.
    fn safe(&self, words: &[u8]) -> String {
        let mut text = String::from_utf8_lossy(words).into_owned();
        if let Some(secret) = &self.secret {
            let header = secret.expose_secret();
            for part in std::iter::once(header).chain(header.split_whitespace().skip(1)) {
                text = text.replace(part, "[secret]");
            }
        }
        let line: Vec<&str> = text.split_whitespace().collect();
        let line: String = line.join(" ").chars().filter(|c| !c.is_control()).collect();
        conceal(&line).chars().take(WORDS).collect()
    }
}

/// Reads to the end; `None` when there is more than `limit`. With no limit, what
/// exceeds 64 KiB is read and dropped, so that a talkative git does not hang.
async fn read_to(
    pipe: Option<impl AsyncRead + Unpin>,
    limit: usize,
) -> Result<Option<Vec<u8>>, std::io::Error> {
    const KEPT: usize = 64 << 10;
    let mut read = Vec::new();
    let Some(mut pipe) = pipe else {
        return Ok(Some(read));
    };
    if limit == usize::MAX {
        (&mut pipe).take(KEPT as u64).read_to_end(&mut read).await?;
        tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
        return Ok(Some(read));
    }
    (&mut pipe).take(limit as u64 + 1).read_to_end(&mut read).await?;
    Ok((read.len() <= limit).then_some(read))
}

#[cfg(test)]
mod tests;
