//! Bare mirrors: one per repository of a forge, in a folder of ours.
//!
//! A mirror only ever gains objects, so readers need no lock. Fetches of one mirror
//! stand in line: within this process behind an async lock, between processes behind
//! an operating system's lock on a file beside it, which dies with its holder. Whoever
//! holds both knows that what a killed git left behind (`*.lock`, half a pack) belongs
//! to nobody and sweeps it away. A mirror appears under its name only when it is
//! complete, and one that git calls damaged is made anew from the forge.

use std::{
    collections::HashMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::{domain::ids::Sha, ports::change::ChangeError};

use super::{
    change::{GitChange, Head},
    repository::{ObjectFormat, Repository},
    run::{Git, GitError},
};

/// How long one fetch may take: a first one brings the whole history.
const FETCH: Duration = Duration::from_secs(600);
/// How often a lock that another process holds is tried.
const TRY_LOCK: Duration = Duration::from_millis(100);

/// Words of git that say its own files are broken.
const DAMAGED: &[&str] = &[
    "bad config",
    "bad object",
    "bad ref",
    "bad tree",
    "cannot read existing object",
    "corrupt",
    "did not send all necessary objects",
    "inflate",
    "missing blob",
    "missing tree",
    "not a git repository",
    "unable to read",
];
/// Packs of a mirror above which small ones are joined.
const MAX_PACKS: usize = 50;

/// Where a repository is fetched from.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Its address for git, `http` or `https`, without user or password.
    pub url: Url,
    /// The token that opens it; `None` for a public one.
    pub token: Option<SecretString>,
}

/// What of it is wanted: the two ends of a pull request.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The pull request's number.
    pub pull: i64,
    /// The tip of its head.
    pub head: Sha,
    /// The name of its base branch.
    pub base_ref: String,
    /// The tip of the base branch.
    pub base: Sha,
}

/// All mirrors below one folder.
#[derive(Debug)]
pub struct Mirrors {
    folder: PathBuf,
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Mirrors {
    /// Mirrors below `folder`, which is made when it is needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            locks: Mutex::default(),
        }
    }

    /// Brings what is wanted of the repository `key` (`<workspace>/<repository id>`, never
    /// a name that can change) and opens the change between.
    ///
    /// # Errors
    /// [`ChangeError::Gone`] when the forge no longer has a commit, [`ChangeError::Later`]
    /// when it could not be asked, [`ChangeError::User`] when the two ends share no commit.
    pub async fn change(
        &self,
        key: &str,
        remote: &Remote,
        wanted: &Wanted,
    ) -> Result<GitChange, ChangeError> {
        let open = |repository| {
            let head = Head::Commit(wanted.head.clone());
            GitChange::open(repository, wanted.base.clone(), head)
        };
        let opened = match open(self.fetch(key, remote, wanted, false).await?).await {
            Err(ChangeError::Internal(reason)) if DAMAGED.iter().any(|w| reason.contains(w)) => {
                tracing::warn!(mirror = key, reason, "a mirror is damaged and made anew");
                open(self.fetch(key, remote, wanted, true).await?).await?
            }
            other => other?,
        };
        opened.ok_or_else(|| {
            ChangeError::User(format!(
                "the pull request's head shares no commit with its base branch {:?}",
                wanted.base_ref
            ))
        })
    }

    /// Brings what is wanted, when it is not there yet; `anew`: into a new mirror.
    async fn fetch(
        &self,
        key: &str,
        remote: &Remote,
        wanted: &Wanted,
        anew: bool,
    ) -> Result<Repository, ChangeError> {
        let name = utf8_percent_encode(key, NON_ALPHANUMERIC).to_string();
        let lock = {
            let mut locks = self
                .locks
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            locks.entry(name.clone()).or_default().clone()
        };
        let _in_line = lock.lock().await;
        fs::create_dir_all(&self.folder).map_err(GitError::System)?;
        let _alone = lock_file(&self.folder.join(format!("{name}.lock"))).await?;
        let folder = self.folder.join(format!("{name}.git"));
        let format = match wanted.head.as_str().len() {
            64 => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        };
        let repository = Repository::bare(folder.clone(), format);
        sweep(&folder);
        if anew || !folder.join("HEAD").is_file() {
            create(&folder, format).await?;
        }
        match bring(&repository, remote, wanted).await {
            Err(FetchError::Damaged(reason)) => {
                tracing::warn!(mirror = name, reason, "a mirror is damaged and made anew");
                create(&folder, format).await?;
                bring(&repository, remote, wanted).await
            }
            other => other,
        }
        .map_err(ChangeError::from)?;
        tidy(&repository).await;
        Ok(repository)
    }
}

/// Joins the small packs when there are many. Readers find the joined one by themselves.
async fn tidy(repository: &Repository) {
    let packs = fs::read_dir(repository.folder().join("objects/pack"))
        .into_iter()
        .flatten();
    let packs = packs
        .flatten()
        .filter(|e| e.path().extension().is_some_and(|e| e == "pack"));
    if packs.count() > MAX_PACKS {
        let git = repository.git("repack").args(["-d", "-q", "--geometric=2"]);
        if let Err(error) = git.timeout(FETCH).run().await {
            tracing::warn!(%error, "the packs of a mirror could not be joined");
        }
    }
}

/// Why a fetch brought nothing.
enum FetchError {
    /// The mirror itself is broken.
    Damaged(String),
    /// The forge does not have it.
    Gone(String),
    /// The forge could not be asked.
    Unreachable(String),
    Git(GitError),
}

impl From<GitError> for FetchError {
    fn from(error: GitError) -> Self {
        const GONE: &[&str] = &[
            "couldn't find remote ref",
            "not our ref",
            "unadvertised object",
            "no such ref",
        ];
        let has = |list: &[&str]| list.iter().any(|w| error.words().contains(w));
        match &error {
            GitError::Failed { words, .. } if has(GONE) => Self::Gone(words.clone()),
            GitError::Failed { words, .. } if has(DAMAGED) => Self::Damaged(words.clone()),
            GitError::Failed { command, words, .. } if command == "fetch" => Self::Unreachable(words.clone()),
            GitError::TimedOut(command) if command == "fetch" => {
                Self::Unreachable("the fetch took too long".to_owned())
            }
            _ => Self::Git(error),
        }
    }
}

impl From<FetchError> for ChangeError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Damaged(reason) => Self::Internal(format!("the mirror is damaged: {reason}")),
            FetchError::Gone(what) => Self::Gone(what),
            FetchError::Unreachable(reason) => Self::Later {
                reason,
                after_ms: None,
            },
            FetchError::Git(error) => error.into(),
        }
    }
}

/// Makes both commits be there: by the names under which the forge keeps them, and what
/// has moved on since by its own name.
async fn bring(repository: &Repository, remote: &Remote, wanted: &Wanted) -> Result<(), FetchError> {
    let ends = [&wanted.head, &wanted.base];
    let mut missing = missing(repository, &ends).await?;
    if missing.is_empty() {
        return Ok(());
    }
    // Branch names are flattened: one that was a folder of another must not be in its way.
    let base = utf8_percent_encode(&wanted.base_ref, NON_ALPHANUMERIC);
    let named = [
        (
            &wanted.head,
            format!("+refs/pull/{0}/head:refs/jury/pull/{0}", wanted.pull),
        ),
        (
            &wanted.base,
            format!("+refs/heads/{}:refs/jury/base/{base}", wanted.base_ref),
        ),
    ];
    let refspecs: Vec<&str> = named
        .iter()
        .filter(|(end, _)| missing.contains(end))
        .map(|(_, refspec)| &**refspec)
        .collect();
    match fetch(repository, remote, &refspecs)
        .await
        .map_err(FetchError::from)
    {
        // A branch may be gone while its commit is not.
        Ok(()) | Err(FetchError::Gone(_)) => {}
        Err(other) => return Err(other),
    }
    missing = self::missing(repository, &ends).await?;
    for end in missing {
        let refspec = format!("+{end}:refs/jury/commit/{end}");
        match fetch(repository, remote, &[&refspec])
            .await
            .map_err(FetchError::from)
        {
            Ok(()) => {}
            Err(FetchError::Gone(_)) => return Err(FetchError::Gone(end.to_string())),
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

async fn missing(repository: &Repository, ends: &[&Sha]) -> Result<Vec<Sha>, GitError> {
    let mut missing = Vec::new();
    for end in ends {
        if !missing.contains(*end) && repository.commit(end.as_str()).await?.is_none() {
            missing.push((*end).clone());
        }
    }
    Ok(missing)
}

async fn fetch(repository: &Repository, remote: &Remote, refspecs: &[&str]) -> Result<(), GitError> {
    let protocol = match remote.url.scheme() {
        "https" => "https",
        "http" => "http",
        _ => return Err(GitError::Unexpected("fetch".to_owned())),
    };
    let header = remote.token.as_ref().map(|token| {
        let pair = format!("x-access-token:{}", token.expose_secret());
        SecretString::from(format!("Authorization: Basic {}", BASE64_STANDARD.encode(pair)))
    });
    let mut url = remote.url.clone();
    // Whatever stands there would be an argument and a part of git's words.
    let _ = (url.set_username(""), url.set_password(None));
    repository
        .git("fetch")
        .args([
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-gc",
            "--no-show-forced-updates",
            "--end-of-options",
            url.as_str(),
        ])
        .args(refspecs)
        .config("protocol.version", "2")
        // As a pack, never as loose objects: a pack appears whole or not at all, so that a
        // commit which is there after a kill has its trees and files.
        .config("fetch.unpackLimit", "1")
        .network(protocol, header)
        .timeout(FETCH)
        .run()
        .await
        .map(drop)
}

/// Makes an empty mirror beside its place and moves it there whole.
async fn create(folder: &Path, format: ObjectFormat) -> Result<(), GitError> {
    let draft = folder.with_extension("new");
    for old in [&draft, &folder.to_path_buf()] {
        match fs::remove_dir_all(old) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
    }
    fs::create_dir_all(&draft)?;
    Git::new(&draft, "init")
        .args(["--bare", "--quiet", "--template=", "--initial-branch=none"])
        .arg(format!("--object-format={}", format.as_str()))
        .run()
        .await?;
    fs::rename(&draft, folder)?;
    Ok(())
}

/// Removes what a git that was killed left behind. Only for the holder of the locks.
fn sweep(folder: &Path) {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                // The 256 folders of loose objects hold no locks.
                if name.len() != 2 {
                    open.push(path);
                }
            } else if name.ends_with(".lock") || name.starts_with("tmp_") {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Waits for the lock on a file that other processes know, too.
async fn lock_file(path: &Path) -> Result<File, GitError> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) => tokio::time::sleep(TRY_LOCK).await,
            Err(fs::TryLockError::Error(e)) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests;
