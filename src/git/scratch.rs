//! Small real repositories for tests.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::domain::ids::Sha;

/// A repository in a temporary folder, driven by a plain git.
pub(crate) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// An empty repository on branch `main`.
    pub(crate) fn new() -> Self {
        let scratch = Self {
            folder: TempDir::new().unwrap(),
        };
        scratch.git(["init", "-q", "-b", "main"]);
        scratch
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    /// Runs git and gives what it printed, without the line end.
    #[track_caller]
    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        git_in(self.path(), args)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Commits everything.
    #[track_caller]
    pub(crate) fn commit(&self) -> Sha {
        self.git(["add", "-A", "-f"]);
        self.git(["commit", "-q", "--allow-empty", "-m", "x"]);
        self.sha("HEAD")
    }

    #[track_caller]
    pub(crate) fn sha(&self, rev: &str) -> Sha {
        self.git(["rev-parse", rev]).parse().unwrap()
    }
}

/// Runs git in a folder, with nobody's configuration but the repository's.
#[track_caller]
pub(crate) fn git_in<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> String {
    let args: Vec<_> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
    let output = Command::new("git")
        .args(&args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", "/dev/null")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.com")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.com")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}
