//! A checkout on this machine as a change to review.
//!
//! The checkout is not trusted, its `.git/config` included: names are resolved and the
//! index is listed by a git that can run nothing of it, and everything else is read
//! through a view (see [`Repository::view`]) that has a clean configuration of its own.
//! Nothing is ever written to the checkout.

use std::path::{Path, PathBuf};

use crate::{
    domain::ids::Sha,
    git::{
        change::{GitChange, Head},
        repository::{ObjectFormat, Repository, path_of},
        run::{Git, GitError},
    },
    ports::change::ChangeError,
};

mod worktree;

#[cfg(test)]
mod tests;

/// The head that stands for the working tree: uncommitted and untracked files, but not
/// ignored ones, on top of `HEAD`.
pub const WORKTREE: &str = "WORKTREE";

/// Opens `merge-base(base, head)..head` of the repository that holds `folder`.
///
/// `base` is any name of a commit; without one it is the default branch of the remote,
/// else `main` or `master`. `head` is any name of a commit or [`WORKTREE`].
///
/// # Errors
/// [`ChangeError::User`], one line that says what to do, when the folder, a commit or
/// the common history is missing.
pub async fn open(folder: &Path, base: Option<&str>, head: &str) -> Result<GitChange, ChangeError> {
    let checkout = Checkout::find(folder).await?;
    let head_name = if head == WORKTREE { "HEAD" } else { head };
    let commit = checkout.head(head_name).await?;
    let (base_name, base_tip) = checkout.base(base).await?;
    let view = Repository::view(
        &checkout.common.join("objects"),
        Some(&checkout.common.join("shallow")),
        checkout.format,
    )
    .map_err(|e| ChangeError::Internal(format!("cannot make a temporary folder: {e}")))?;
    let (target, unseen) = if head == WORKTREE {
        let (tree, unseen) = worktree::snapshot(&checkout, &view).await?;
        (Head::Tree { tree, commit }, unseen)
    } else {
        (Head::Commit(commit), Vec::new())
    };
    match GitChange::open(view, base_tip, target).await {
        Ok(Some(mut change)) => {
            change.add_unseen(unseen);
            Ok(change)
        }
        Ok(None) if checkout.shallow => Err(ChangeError::User(format!(
            "this clone is shallow and lacks the commits that {base_name} and {head_name} share: \
             run `git fetch --unshallow`"
        ))),
        Ok(None) => Err(ChangeError::User(format!(
            "{base_name} and {head_name} share no commit: name another base with --base REF"
        ))),
        Err(ChangeError::Internal(reason)) if checkout.partial().await => Err(ChangeError::User(format!(
            "objects are missing in this partial clone ({reason}): fetch them with \
             `git fetch --refetch --no-filter`"
        ))),
        Err(other) => Err(other),
    }
}

/// The top of the working tree that holds `folder`; `None` outside one.
pub async fn top(folder: &Path) -> Option<PathBuf> {
    Checkout::find(folder).await.ok()?.top
}

/// Where the parts of a checkout are.
#[derive(Debug)]
struct Checkout {
    /// The folder that was asked for.
    folder: PathBuf,
    /// The git folder of this working tree.
    git: PathBuf,
    /// The git folder that all its working trees share.
    common: PathBuf,
    /// The top of the working tree; `None` in a bare repository.
    top: Option<PathBuf>,
    format: ObjectFormat,
    shallow: bool,
}

impl Checkout {
    async fn find(folder: &Path) -> Result<Self, ChangeError> {
        let shown = folder.display();
        let folder = std::fs::canonicalize(folder)
            .ok()
            .filter(|f| f.is_dir())
            .ok_or_else(|| ChangeError::User(format!("there is no folder {shown}")))?;
        let ask = |question: &str| {
            Git::new(&folder, "rev-parse")
                .args(["--path-format=absolute", question])
                .run()
        };
        let refused = |e: GitError| match e {
            GitError::Failed { words, .. } if words.contains("not a git repository") => {
                ChangeError::User(format!("{shown} is not in a git repository"))
            }
            GitError::Failed { words, .. } => {
                ChangeError::User(format!("git cannot read the repository of {shown}: {words}"))
            }
            other => other.into(),
        };
        let git = one_path(&ask("--absolute-git-dir").await.map_err(refused)?);
        let common = one_path(&ask("--git-common-dir").await.map_err(refused)?);
        let shallow = ask("--is-shallow-repository").await.map_err(refused)? == b"true\n";
        let format = match &*ask("--show-object-format").await.map_err(refused)? {
            b"sha256\n" => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        };
        let inside = ask("--is-inside-work-tree").await.map_err(refused)? == b"true\n";
        let top = if inside {
            let top = one_path(&ask("--show-toplevel").await.map_err(refused)?);
            // `core.worktree` may name any folder of the machine: the top of a working
            // tree holds a `.git` and the folder that was asked for.
            (folder.starts_with(&top) && top.join(".git").exists()).then_some(top)
        } else {
            None
        };
        Ok(Self {
            folder,
            git,
            common,
            top,
            format,
            shallow,
        })
    }

    /// A run of git on the checkout itself, for names and the index only.
    fn git(&self, command: &str) -> Git {
        Git::new(&self.folder, command).env("GIT_DIR", &self.git)
    }

    async fn commit(&self, name: &str) -> Result<Option<Sha>, ChangeError> {
        // Git takes no name at all for `HEAD`.
        if name.is_empty() {
            return Ok(None);
        }
        let git = self
            .git("rev-parse")
            .args(["--verify", "--quiet", "--end-of-options"])
            .arg(format!("{name}^{{commit}}"));
        match git.run().await {
            Ok(printed) => Ok(std::str::from_utf8(&printed)
                .ok()
                .and_then(|t| t.trim_end().parse().ok())),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    async fn head(&self, name: &str) -> Result<Sha, ChangeError> {
        if let Some(commit) = self.commit(name).await? {
            return Ok(commit);
        }
        Err(ChangeError::User(if name == "HEAD" {
            "the current branch has no commit yet: commit something first".to_owned()
        } else {
            format!("no commit is named {name:?}")
        }))
    }

    /// The base by its name, or the branch that a pull request would go to.
    async fn base(&self, name: Option<&str>) -> Result<(String, Sha), ChangeError> {
        let candidates: &[&str] = match name {
            Some(_) => &[],
            None => &[
                "refs/remotes/origin/HEAD",
                "refs/remotes/origin/main",
                "refs/remotes/origin/master",
                "refs/heads/main",
                "refs/heads/master",
            ],
        };
        for candidate in name.iter().chain(candidates) {
            if let Some(commit) = self.commit(candidate).await? {
                let short = candidate
                    .trim_start_matches("refs/remotes/")
                    .trim_start_matches("refs/heads/");
                return Ok((short.to_owned(), commit));
            }
        }
        let mend = if self.shallow {
            " (this clone is shallow: `git fetch --unshallow` may bring it)"
        } else {
            ""
        };
        Err(ChangeError::User(match name {
            Some(name) => format!("no commit is named {name:?}, the base{mend}"),
            None => format!(
                "there is neither a default branch of the remote nor main or master to compare with: \
                 name the base with --base REF, or run `git remote set-head origin --auto`{mend}"
            ),
        }))
    }

    /// Whether this is a clone that left objects on the remote.
    async fn partial(&self) -> bool {
        let git = self.git("config").args([
            "--get-regexp",
            r"^(remote\..*\.promisor|extensions\.partialclone)$",
        ]);
        git.run().await.is_ok_and(|printed| !printed.is_empty())
    }
}

/// One path and a line end.
fn one_path(printed: &[u8]) -> PathBuf {
    path_of(printed.strip_suffix(b"\n").unwrap_or(printed)).into()
}
