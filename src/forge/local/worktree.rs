//! The working tree as a tree object, made beside the repository.
//!
//! A temporary index gets what the repository's own index lists (its flags and cached
//! times do not come along: `assume-unchanged` hides nothing) and is then brought up to
//! what is on the disk. Line ends follow the checkout's settings; filters are
//! configured nowhere and so do not run. Objects and index live in the view, and go
//! away with it.

use std::{
    collections::{HashMap, HashSet},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{
    domain::{diff::path_text, ids::Sha, review::coverage::Unseen},
    git::{
        blobs::MAX_BLOB,
        repository::{Repository, path_of},
        run::{Git, GitError},
    },
    ports::change::ChangeError,
};

use super::Checkout;

const LISTING: usize = 256 << 20;
const GITLINK: &[u8] = b"160000";

/// Settings of a checkout that say how its files stand for blobs, and what they may say.
const SETTINGS: &str = r"^core\.(filemode|symlinks|autocrlf|eol|ignorecase|precomposeunicode)$";
const VALUES: &[&str] = &["true", "false", "input", "lf", "crlf", "native"];

/// An entry of the index.
struct Tracked {
    mode: Vec<u8>,
    oid: Vec<u8>,
    path: Vec<u8>,
    /// Left out of the working tree on purpose (sparse checkout).
    skipped: bool,
}

/// Writes the tree of what is on the disk; also says what could not be read.
pub(super) async fn snapshot(
    checkout: &Checkout,
    view: &Repository,
) -> Result<(Sha, Vec<Unseen>), ChangeError> {
    let Some(top) = &checkout.top else {
        return Err(ChangeError::User(format!(
            "{} has no working tree: name a commit as the head",
            checkout.folder.display()
        )));
    };
    let settings = settings(checkout).await?;
    let exclude = checkout.common.join("info/exclude");
    if exclude.is_file() {
        fs::copy(&exclude, view.folder().join("info/exclude")).map_err(GitError::System)?;
    }
    let git = |command: &str| {
        let git = Git::new(top, command)
            .env("GIT_DIR", view.folder())
            .env("GIT_WORK_TREE", top)
            .env("GIT_INDEX_FILE", view.folder().join("index"))
            .config("core.bare", "false")
            .config("core.safecrlf", "false");
        settings
            .iter()
            .fold(git, |git, (key, value)| git.config(key, value))
    };

    let mut disk = Disk::new(top);
    let mut unseen = Vec::new();
    let mut index = Vec::new();
    let mut paths = Vec::new();
    for tracked in tracked(checkout, top).await? {
        let gitlink = tracked.mode == GITLINK;
        let there = match disk.look(&tracked.path) {
            Look::File(_) => true,
            Look::Repository if gitlink => true,
            // A submodule that is not checked out, or a file that is left out.
            Look::Folder if gitlink => false,
            Look::Missing if tracked.skipped => false,
            Look::Missing | Look::Folder | Look::Repository => continue,
            Look::Unreadable => {
                unseen.push(cannot_read(&tracked.path));
                false
            }
        };
        for part in [
            &tracked.mode,
            &b" ".to_vec(),
            &tracked.oid,
            &b" 0\t".to_vec(),
            &tracked.path,
        ] {
            index.extend_from_slice(part);
        }
        index.push(0);
        if there {
            paths.extend_from_slice(&tracked.path);
            paths.push(0);
        }
    }
    git("update-index")
        .args(["-z", "--index-info"])
        .run_with(index)
        .await?;

    let untracked = git("ls-files")
        .args(["-z", "--others", "--exclude-standard"])
        .output(LISTING)
        .run()
        .await?;
    for path in untracked.split(|&b| b == 0).filter(|p| !p.is_empty()) {
        match disk.look(path) {
            Look::File(size) if size > MAX_BLOB => unseen.push(Unseen {
                path: path_text(path),
                reason: format!("it is larger than {} MiB", MAX_BLOB >> 20),
            }),
            Look::File(_) => {
                paths.extend_from_slice(path);
                paths.push(0);
            }
            Look::Unreadable => unseen.push(cannot_read(path)),
            // Gone in the meantime, or a repository of its own.
            Look::Missing | Look::Folder | Look::Repository => {}
        }
    }
    git("update-index")
        .args(["-z", "--add", "--remove", "--replace", "--stdin"])
        .run_with(paths)
        .await?;
    let tree = git("write-tree").arg("--missing-ok").run().await?;
    let tree = std::str::from_utf8(&tree)
        .ok()
        .and_then(|t| t.trim_end().parse().ok());
    let tree = tree.ok_or_else(|| GitError::Unexpected("write-tree".to_owned()))?;
    Ok((tree, unseen))
}

fn cannot_read(path: &[u8]) -> Unseen {
    Unseen {
        path: path_text(path),
        reason: "it cannot be read".to_owned(),
    }
}

async fn settings(checkout: &Checkout) -> Result<Vec<(String, String)>, ChangeError> {
    let git = checkout
        .git("config")
        .args(["-z", "--local", "--get-regexp", SETTINGS]);
    let printed = match git.run().await {
        Ok(printed) => printed,
        Err(e) if e.code() == Some(1) => Vec::new(),
        Err(e) => return Err(e.into()),
    };
    let setting = |entry: &[u8]| {
        let (key, value) = std::str::from_utf8(entry).ok()?.split_once('\n')?;
        let value = value.to_ascii_lowercase();
        VALUES.contains(&&*value).then(|| (key.to_owned(), value))
    };
    Ok(printed.split(|&b| b == 0).filter_map(setting).collect())
}

/// What the repository's own index lists, each path once.
async fn tracked(checkout: &Checkout, top: &Path) -> Result<Vec<Tracked>, ChangeError> {
    let printed = Git::new(top, "ls-files")
        .env("GIT_DIR", &checkout.git)
        .env("GIT_WORK_TREE", top)
        .args(["-z", "-t", "--stage", "--full-name"])
        .output(LISTING)
        .run()
        .await?;
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    for line in printed.split(|&b| b == 0).filter(|l| !l.is_empty()) {
        let entry = entry(line).ok_or_else(|| GitError::Unexpected("ls-files".to_owned()))?;
        // Of the sides of a conflict the first one: the file on the disk replaces it.
        if seen.insert(entry.path.clone()) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// Reads `tag mode oid stage TAB path`.
fn entry(line: &[u8]) -> Option<Tracked> {
    let tab = line.iter().position(|&b| b == b'\t')?;
    let words: Vec<&[u8]> = line[..tab].split(|&b| b == b' ').collect();
    let [tag, mode, oid, _stage] = words[..] else {
        return None;
    };
    Some(Tracked {
        mode: mode.to_vec(),
        oid: oid.to_vec(),
        path: line[tab + 1..].to_vec(),
        skipped: tag == b"S",
    })
}

/// What is on the disk under a path.
enum Look {
    /// Nothing, something behind a symbolic link, or nothing that git keeps.
    Missing,
    /// A readable file of so many bytes, or a symbolic link.
    File(u64),
    Unreadable,
    Folder,
    /// A folder that is a repository of its own.
    Repository,
}

/// Looks at the disk without following symbolic links below the top.
struct Disk<'a> {
    top: &'a Path,
    /// Whether a folder is reached without a symbolic link.
    folders: HashMap<PathBuf, bool>,
}

impl<'a> Disk<'a> {
    fn new(top: &'a Path) -> Self {
        Self {
            top,
            folders: HashMap::new(),
        }
    }

    fn look(&mut self, path: &[u8]) -> Look {
        let relative = PathBuf::from(path_of(path));
        if relative.is_absolute() || !self.reached(relative.parent().unwrap_or(Path::new(""))) {
            return Look::Missing;
        }
        let whole = self.top.join(&relative);
        let Ok(found) = fs::symlink_metadata(&whole) else {
            return Look::Missing;
        };
        let kind = found.file_type();
        if kind.is_symlink() {
            Look::File(found.len())
        } else if kind.is_file() {
            // Opened, not asked: permissions are not all that may stand in the way.
            fs::File::open(&whole).map_or(Look::Unreadable, |_| Look::File(found.len()))
        } else if kind.is_dir() && whole.join(".git").exists() {
            Look::Repository
        } else if kind.is_dir() {
            Look::Folder
        } else {
            Look::Missing
        }
    }

    fn reached(&mut self, folder: &Path) -> bool {
        if folder.as_os_str().as_bytes().is_empty() {
            return true;
        }
        if let Some(&known) = self.folders.get(folder) {
            return known;
        }
        let above = folder.parent().unwrap_or(Path::new(""));
        let reached = self.reached(above)
            && fs::symlink_metadata(self.top.join(folder)).is_ok_and(|m| m.file_type().is_dir());
        self.folders.insert(folder.to_owned(), reached);
        reached
    }
}
