//! A git folder that can be asked, and names in it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;

use crate::domain::ids::Sha;

use super::run::{Git, GitError};

/// How many digits an object name has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// 40 digits.
    Sha1,
    /// 64 digits.
    Sha256,
}

impl ObjectFormat {
    /// As git spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }

    /// The tree of nothing, which every git knows without storing it.
    pub const fn empty_tree(self) -> &'static str {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }
}

/// A repository whose configuration is ours: a mirror, or a view of a checkout's objects.
#[derive(Debug, Clone)]
pub struct Repository {
    folder: PathBuf,
    format: ObjectFormat,
    /// Kept while the repository is in use.
    _temporary: Option<Arc<TempDir>>,
}

impl Repository {
    /// A bare repository that stays.
    pub fn bare(folder: PathBuf, format: ObjectFormat) -> Self {
        Self {
            folder,
            format,
            _temporary: None,
        }
    }

    /// A view of the objects of another repository: an empty bare repository with a
    /// clean configuration in a folder of its own, which borrows its objects from
    /// `objects`. So the other repository's configuration, attributes, hooks, grafts
    /// and replacements are never read, and nothing is written to it. `shallow` is its
    /// list of commits without parents, when it has one.
    pub fn view(objects: &Path, shallow: Option<&Path>, format: ObjectFormat) -> std::io::Result<Self> {
        let temporary = TempDir::with_prefix("jury-view-")?;
        let folder = temporary.path().join("git");
        std::fs::create_dir_all(folder.join("objects/info"))?;
        std::fs::create_dir_all(folder.join("refs"))?;
        std::fs::create_dir_all(folder.join("info"))?;
        std::fs::write(folder.join("HEAD"), "ref: refs/heads/none\n")?;
        let config = match format {
            ObjectFormat::Sha1 => "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n".to_owned(),
            ObjectFormat::Sha256 => "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n[extensions]\n\t\
                                     objectFormat = sha256\n"
                .to_owned(),
        };
        std::fs::write(folder.join("config"), config)?;
        std::fs::write(folder.join("objects/info/alternates"), alternate(objects))?;
        if let Some(shallow) = shallow.filter(|s| s.is_file()) {
            std::fs::copy(shallow, folder.join("shallow"))?;
        }
        Ok(Self {
            folder,
            format,
            _temporary: Some(Arc::new(temporary)),
        })
    }

    /// The git folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How its objects are named.
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// A run of git on it.
    pub fn git(&self, command: &str) -> Git {
        Git::new(&self.folder, command).env("GIT_DIR", &self.folder)
    }

    /// The commit that `rev` names, `None` when it names none.
    pub async fn commit(&self, rev: &str) -> Result<Option<Sha>, GitError> {
        let git = self
            .git("rev-parse")
            .args(["--verify", "--quiet", "--end-of-options"]);
        match git.arg(format!("{rev}^{{commit}}")).run().await {
            Ok(printed) => one_name(&printed, "rev-parse").map(Some),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Every best common ancestor of two commits; the first is the one that `A...B` takes.
    pub async fn merge_bases(&self, one: &Sha, other: &Sha) -> Result<Vec<Sha>, GitError> {
        let git = self
            .git("merge-base")
            .args(["--all", one.as_str(), other.as_str()]);
        match git.run().await {
            Ok(printed) => printed
                .split(|&b| b == b'\n')
                .filter(|l| !l.is_empty())
                .map(|l| one_name(l, "merge-base"))
                .collect(),
            Err(e) if e.code() == Some(1) => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }
}

/// One full object name, perhaps with a line end.
pub(super) fn one_name(printed: &[u8], command: &str) -> Result<Sha, GitError> {
    std::str::from_utf8(printed)
        .ok()
        .and_then(|t| t.trim_end().parse().ok())
        .ok_or_else(|| GitError::Unexpected(command.to_owned()))
}

/// A line of `objects/info/alternates`, quoted so that no byte of the path counts as
/// anything else.
fn alternate(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut line = vec![b'"'];
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', byte]),
            0..=31 | 127.. => line.extend(format!("\\{byte:03o}").bytes()),
            _ => line.push(byte),
        }
    }
    line.extend(b"\"\n");
    line
}

/// Bytes that git printed, as a path.
pub fn path_of(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes.to_vec())
}
