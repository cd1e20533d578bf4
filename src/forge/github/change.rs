//! A change, read over git from a mirror, or over the API alone where the forge does
//! not serve git to us or the operator does not want it.
//!
//! The base is the branch as it is now, which is one request to the API: what a
//! pull request says of its base may be as old as its last push, the lines that a later merge of the base brought are no part
//! of the pull request, and policy is read from the branch's tip. The head is the
//! snapshot's: when the forge has another one by now, the caller learns it from
//! [`ChangeError::Gone`] or from the commit's not being there, and looks again.
//!
//! Invariants of the API's way: every read names a commit by its object name, never a branch, so a
//! push in between changes nothing; content is read by the blob's object name that
//! the commit's own tree gives, since the contents API follows symbolic links and
//! shows submodules as files; only regular files and links themselves are read, up to 16 MiB.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus, LineKind},
        ids::Sha,
        review::{coverage::Coverage, finding::Side},
        space::{PullRef, PullSnapshot, RepoRef},
    },
    git::{
        change::GitChange,
        mirror::{Mirrors, Remote, Wanted},
    },
    ports::{
        change::{Change, ChangeError, OnTheWay, on_the_way, over_the_bound, places},
        forge::ForgeError,
    },
};

use super::{
    auth::Token,
    client::Call,
    files::{self, Listing},
    loose::{Loose, loose},
    origin::{encoded, repo_path},
    session::Session,
};

/// The largest file that is read, in bytes: the port's contract.
const BLOB_MAX: usize = 16 << 20;
/// How many bytes of blobs one change keeps, so that a second look costs no request.
const KEPT_MAX: usize = 32 << 20;
/// How many files without a patch are looked into; each costs a request.
const PROBES_MAX: usize = 60;
/// How much of a blob decides whether it is text, as git does.
const BINARY_PROBE: usize = 8000;

loose! {
    EntryBody { path: String, mode: String, sha: String, size: i64 }

    TreeBody { tree: Vec<EntryBody>, truncated: bool }
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    mode: u32,
    oid: String,
    /// Bytes, of a blob.
    size: Option<i64>,
}

impl Entry {
    /// A regular file, or a symbolic link, whose content is its target.
    fn has_content(&self) -> bool {
        matches!(self.mode & 0o170_000, 0o100_000 | 0o120_000)
    }

    fn is_folder(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

/// A commit's tree: all of it, or its first level when it is too large for one answer.
struct Tree {
    entries: HashMap<String, Entry>,
    whole: bool,
}

/// A change over the API.
pub(super) struct ApiChange {
    session: Arc<Session>,
    repo: RepoRef,
    merge_base: Sha,
    head: Sha,
    base_tip: Sha,
    files: Vec<ChangedFile>,
    coverage: Coverage,
    /// By commit or tree name. Held while one is read, so that each is read once.
    trees: tokio::sync::Mutex<HashMap<String, Arc<Tree>>>,
    blobs: Mutex<HashMap<String, Bytes>>,
}

impl ApiChange {
    /// Opens `merge-base(base tip, head)..head`.
    async fn open(
        session: Arc<Session>,
        pull: &PullRef,
        base_tip: Sha,
        head: &Sha,
    ) -> Result<Self, ChangeError> {
        let failed = |error| change_error(error, head);
        let listed = session
            .list_changes(pull, &base_tip, head)
            .await
            .map_err(failed)?;
        let Listing {
            merge_base,
            files,
            without_patch,
            truncated,
        } = listed.ok_or_else(|| ChangeError::Gone(head.to_string()))?;
        let mut change = Self {
            session,
            repo: pull.repo.clone(),
            merge_base,
            head: head.clone(),
            base_tip,
            files,
            coverage: Coverage::default(),
            trees: tokio::sync::Mutex::default(),
            blobs: Mutex::default(),
        };
        for index in without_patch.into_iter().take(PROBES_MAX) {
            let mut file = change.files[index].clone();
            match change.look_into(&mut file).await {
                Ok(()) => change.files[index] = file,
                // A forge that serves no trees: the file stays unseen.
                Err(ChangeError::Gone(_)) => {}
                Err(error) => return Err(error),
            }
        }
        change.coverage = files::coverage(&change.files, truncated);
        Ok(change)
    }

    /// Finds out why a file has no patch: no line differs, it is no text, or it is
    /// too large to be sent. Only the last leaves it unseen, and not even that when it
    /// is on one side only and the whole blob can be read.
    async fn look_into(&self, file: &mut ChangedFile) -> Result<(), ChangeError> {
        let old = match file.status {
            FileStatus::Added => None,
            _ => self.entry(&self.merge_base, file.base_path()).await?,
        };
        let new = match file.status {
            FileStatus::Removed => None,
            _ => self.entry(&self.head, &file.path).await?,
        };
        file.old_mode = old.as_ref().map(|e| e.mode);
        file.new_mode = new.as_ref().map(|e| e.mode);
        file.old_oid = old.as_ref().map(|e| e.oid.clone());
        file.new_oid = new.as_ref().map(|e| e.oid.clone());
        match (&old, &new) {
            (None, None) => {}
            (Some(old), Some(new)) if old.oid == new.oid => file.unseen = None,
            (Some(old), Some(new)) => {
                for entry in [new, old] {
                    if self.text(entry).await? == Some(None) {
                        file.binary = true;
                        file.unseen = None;
                        break;
                    }
                }
            }
            (Some(only), None) | (None, Some(only)) => match self.text(only).await? {
                None => {}
                Some(None) => {
                    file.binary = true;
                    file.unseen = None;
                }
                Some(Some(blob)) if blob.is_empty() => file.unseen = None,
                Some(Some(blob)) => {
                    let kind = if old.is_some() {
                        LineKind::Removed
                    } else {
                        LineKind::Added
                    };
                    if let Some(patch) = files::whole(&blob, kind) {
                        *file = file.clone().with_patch(patch);
                        file.unseen = None;
                    }
                }
            },
        }
        Ok(())
    }

    /// `None`: not to be read; `Some(None)`: no text; else the text.
    async fn text(&self, entry: &Entry) -> Result<Option<Option<Bytes>>, ChangeError> {
        let Some(blob) = self.blob(entry).await? else {
            return Ok(None);
        };
        let probe = &blob[..blob.len().min(BINARY_PROBE)];
        Ok(Some((!probe.contains(&0)).then_some(blob)))
    }

    /// The entry of `path` in a commit's tree.
    async fn entry(&self, commit: &Sha, path: &str) -> Result<Option<Entry>, ChangeError> {
        let root = self.tree(commit.as_str(), true).await?;
        if root.whole {
            return Ok(root.entries.get(path).cloned());
        }
        let mut here = root;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let Some(entry) = here.entries.get(part).cloned() else {
                return Ok(None);
            };
            if parts.peek().is_none() {
                return Ok(Some(entry));
            }
            if !entry.is_folder() {
                return Ok(None);
            }
            here = self.tree(&entry.oid, false).await?;
        }
        Ok(None)
    }

    async fn tree(&self, name: &str, recursive: bool) -> Result<Arc<Tree>, ChangeError> {
        let mut trees = self.trees.lock().await;
        if let Some(tree) = trees.get(name) {
            return Ok(tree.clone());
        }
        let mut tree = self.read_tree(name, recursive).await?;
        if !tree.whole {
            // Not all of it came: its first level alone does.
            tree = Tree {
                whole: false,
                ..self.read_tree(name, false).await?
            };
        }
        let tree = Arc::new(tree);
        trees.insert(name.to_owned(), tree.clone());
        Ok(tree)
    }

    async fn read_tree(&self, name: &str, recursive: bool) -> Result<Tree, ChangeError> {
        let query = if recursive { "?recursive=1" } else { "" };
        let path = repo_path(&self.repo, &format!("/git/trees/{}{query}", encoded(name)));
        let answer = self
            .session
            .installed(self.repo.installation, Call::get(path))
            .await;
        let body: Loose<TreeBody> = answer
            .and_then(|answer| answer.json())
            .map_err(|error| change_error(error, &name))?;
        let body = body.0.unwrap_or_default();
        let entries = body.tree.0.unwrap_or_default().into_iter().filter_map(|entry| {
            let mode = u32::from_str_radix(entry.mode.as_deref()?, 8).ok()?;
            Some((
                entry.path.0?,
                Entry {
                    mode,
                    oid: entry.sha.0?,
                    size: entry.size.0,
                },
            ))
        });
        Ok(Tree {
            entries: entries.collect(),
            whole: !body.truncated.unwrap_or(false),
        })
    }

    /// The bytes of a regular file or of a link; `None` when it is neither, or too large.
    async fn blob(&self, entry: &Entry) -> Result<Option<Bytes>, ChangeError> {
        let too_large = entry.size.is_some_and(|size| size > BLOB_MAX as i64);
        if !entry.has_content() || too_large {
            return Ok(None);
        }
        let kept = || self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(blob) = kept().get(&entry.oid) {
            return Ok(Some(blob.clone()));
        }
        let path = repo_path(&self.repo, &format!("/git/blobs/{}", encoded(&entry.oid)));
        let call = Call::raw(path, BLOB_MAX);
        let answer = self.session.installed(self.repo.installation, call).await;
        let blob = answer.map_err(|error| change_error(error, &entry.oid))?.body;
        if let Some(blob) = &blob {
            let mut kept = kept();
            let bytes: usize = kept.values().map(Bytes::len).sum();
            if bytes + blob.len() <= KEPT_MAX {
                kept.insert(entry.oid.clone(), blob.clone());
            }
        }
        Ok(blob)
    }

    /// A file by its path, from a forge that serves no trees. It gives the content of
    /// what a symbolic link points to, so that such a finding cannot be placed and its
    /// axis is partial: not clean.
    async fn contents(&self, commit: &Sha, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        let parts: Vec<String> = path.split('/').map(encoded).collect();
        let path = repo_path(&self.repo, &format!("/contents/{}?ref={commit}", parts.join("/")));
        let call = Call::raw(path, BLOB_MAX);
        match self.session.installed(self.repo.installation, call).await {
            Ok(answer) => Ok(answer.body.map(|blob| blob.to_vec())),
            Err(ForgeError::NotFound(said)) if said.to_ascii_lowercase().contains("no commit found") => {
                Err(ChangeError::Gone(commit.to_string()))
            }
            Err(ForgeError::NotFound(_)) => Ok(None),
            Err(error) => Err(change_error(error, commit)),
        }
    }

    /// What [`Change::read_base_tip`] reads, from a forge that serves no trees. Asked for
    /// a link the contents API gives the content of what it points to; the listing of its
    /// folder tells it from a file. A submodule is listed as a file, but cannot be downloaded.
    ///
    /// Source: GitHub, `GET …/contents/{path}`.
    async fn listed_base_file(&self, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        let base = &self.base_tip;
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parts: Vec<String> = folder.split('/').map(encoded).collect();
        let url = repo_path(&self.repo, &format!("/contents/{}?ref={base}", parts.join("/")));
        let answer = self
            .session
            .installed(self.repo.installation, Call::get(url))
            .await;
        let listed: serde_json::Value = match answer.and_then(|answer| answer.json()) {
            Err(ForgeError::NotFound(said)) if said.to_ascii_lowercase().contains("no commit found") => {
                return Err(ChangeError::Gone(base.to_string()));
            }
            Err(ForgeError::NotFound(_)) => return Ok(None),
            other => other.map_err(|error| change_error(error, base))?,
        };
        let mode = |entry: &serde_json::Value| match entry["type"].as_str() {
            Some("file") if entry["download_url"].is_string() => 0o100_644,
            Some("dir") => 0o040_000,
            Some("symlink") => 0o120_000,
            Some("file" | "submodule") => 0o160_000,
            _ => 0,
        };
        let Some(entries) = listed.as_array() else {
            return on_the_way(base, path, folder, mode(&listed)).map(|_| None);
        };
        let Some(entry) = entries.iter().find(|e| e["name"].as_str() == Some(name)) else {
            return Ok(None);
        };
        on_the_way(base, path, path, mode(entry))?;
        match self.contents(base, path).await? {
            Some(content) => Ok(Some(content)),
            None if entry["size"].as_u64().is_some_and(|size| size > BLOB_MAX as u64) => {
                Err(over_the_bound(base, path))
            }
            None => Err(ChangeError::Internal(
                "a file that is listed cannot be read".to_owned(),
            )),
        }
    }

    async fn read_in(&self, commit: &Sha, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        let read = async {
            match self.entry(commit, path).await? {
                Some(entry) => Ok(self.blob(&entry).await?.map(|blob| blob.to_vec())),
                None => Ok(None),
            }
        };
        match read.await {
            // The commit is gone, or the forge serves neither trees nor blobs.
            Err(ChangeError::Gone(_)) => self.contents(commit, path).await,
            outcome => outcome,
        }
    }
}

/// Opens a pull request's change, over git when there are mirrors and git is served.
pub(super) async fn open(
    session: &Arc<Session>,
    mirrors: Option<&Mirrors>,
    pull: &PullRef,
    snapshot: &PullSnapshot,
) -> Result<Box<dyn Change>, ChangeError> {
    let repo = &pull.repo;
    let base_tip = session
        .branch_tip(repo, &snapshot.base_ref)
        .await
        .map_err(|error| change_error(error, &snapshot.base_ref))?
        .unwrap_or_else(|| snapshot.base.clone());
    if let Some(mirrors) = mirrors {
        let mut read = over_git(session, mirrors, pull, snapshot, &base_tip).await;
        if let Err((ChangeError::Later { reason, .. } | ChangeError::Internal(reason), Some(token))) = &read
            && not_let_in(reason)
        {
            // The token may have died early: once more with another one.
            session.drop_token(repo.installation, token).await;
            read = over_git(session, mirrors, pull, snapshot, &base_tip).await;
        }
        match read.map_err(|(error, _)| error) {
            Err(
                ChangeError::Later { reason, .. } | ChangeError::User(reason) | ChangeError::Internal(reason),
            ) if not_served(&reason) => {
                tracing::warn!(repo = %repo.id, reason, "git is not served to us: reading over the API, which shows less");
            }
            outcome => return Ok(Box::new(outcome?)),
        }
    }
    let change = ApiChange::open(session.clone(), pull, base_tip, &snapshot.head).await?;
    Ok(Box::new(change))
}

/// The change over git; with the token that was used when it could not be read.
async fn over_git(
    session: &Session,
    mirrors: &Mirrors,
    pull: &PullRef,
    snapshot: &PullSnapshot,
    base_tip: &Sha,
) -> Result<GitChange, (ChangeError, Option<Arc<Token>>)> {
    let repo = &pull.repo;
    let url = session.origin().clone_url(&repo.owner, &repo.name);
    let token = session
        .token(repo.installation)
        .await
        .map_err(|error| (change_error(error, &snapshot.head), None))?;
    let nowhere = |_| ChangeError::Internal("a repository without an address for git".to_owned());
    let remote = Remote {
        url: url.parse().map_err(|e| (nowhere(e), None))?,
        token: Some(token.carrier.secret().clone()),
    };
    let wanted = Wanted {
        pull: pull.number.0,
        head: snapshot.head.clone(),
        base_ref: snapshot.base_ref.clone(),
        base: base_tip.clone(),
    };
    let key = format!("{}/{}", repo.workspace, repo.id);
    let read = mirrors.change(&key, &remote, &wanted).await;
    read.map_err(|error| (error, Some(token)))
}

/// Whether git's words say that it was asked for another password.
fn not_let_in(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ["authentication failed", "could not read username"]
        .iter()
        .any(|word| reason.contains(word))
}

/// Whether git's words say that it will not be served next time either. A forge that
/// cannot be reached now is no such case: less would be seen for no lasting reason.
fn not_served(reason: &str) -> bool {
    const WORDS: &[&str] = &[
        "authentication failed",
        "could not read username",
        "error: 403",
        "error: 404",
        "git program was not found",
        "not valid: is this a git repository",
        "repository not found",
    ];
    let reason = reason.to_ascii_lowercase();
    WORDS.iter().any(|word| reason.contains(word))
        || (reason.contains("repository '") && reason.contains("' not found"))
}

#[async_trait]
impl Change for ApiChange {
    fn merge_base(&self) -> &Sha {
        &self.merge_base
    }

    fn head(&self) -> Option<&Sha> {
        Some(&self.head)
    }

    fn files(&self) -> &[ChangedFile] {
        &self.files
    }

    fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    async fn read(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        let commit = match side {
            Side::Left => &self.merge_base,
            Side::Right => &self.head,
        };
        self.read_in(commit, path).await
    }

    async fn read_base_tip(&self, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        let base = &self.base_tip;
        for place in places(path) {
            let entry = match self.entry(base, place).await {
                // The commit is gone, or the forge serves no trees.
                Err(ChangeError::Gone(_)) => return self.listed_base_file(path).await,
                found => found?,
            };
            let Some(entry) = entry else {
                return Ok(None);
            };
            match on_the_way(base, path, place, entry.mode)? {
                OnTheWay::Enter => {}
                OnTheWay::Nothing => return Ok(None),
                OnTheWay::Read => {
                    return match self.blob(&entry).await {
                        Ok(Some(blob)) => Ok(Some(blob.to_vec())),
                        Ok(None) => Err(over_the_bound(base, path)),
                        Err(ChangeError::Gone(_)) => self.listed_base_file(path).await,
                        Err(error) => Err(error),
                    };
                }
            }
        }
        Ok(None)
    }

    async fn read_at(&self, commit: &Sha, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        match self.read_in(commit, path).await {
            Err(ChangeError::Gone(_)) => Ok(None),
            outcome => outcome,
        }
    }
}

/// What a failed read means to whoever reads the change; `what` could not be found.
pub(super) fn change_error(error: ForgeError, what: &impl ToString) -> ChangeError {
    match error {
        ForgeError::Later { reason, after_ms } => ChangeError::Later { reason, after_ms },
        ForgeError::NotFound(said) if said.to_ascii_lowercase().contains("no common ancestor") => {
            ChangeError::User("base and head have no commit in common".to_owned())
        }
        ForgeError::NotFound(_) => ChangeError::Gone(what.to_string()),
        ForgeError::Closed(reason) => ChangeError::Closed(reason),
        ForgeError::Forbidden(_) => ChangeError::User(
            "Jury may not read this repository: its App needs the permission `contents: read` here"
                .to_owned(),
        ),
        ForgeError::Refused(words) if words.iter().any(|w| w == files::TOO_LARGE) => {
            ChangeError::User(files::TOO_LARGE.to_owned())
        }
        other => ChangeError::Internal(other.to_string()),
    }
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
