//! A change that is read with git: from a mirror or from a view of a checkout.

use std::path::Path;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        ids::Sha,
        review::{
            coverage::{Coverage, Unseen},
            finding::Side,
        },
    },
    ports::change::{Change, ChangeError, OnTheWay, on_the_way, over_the_bound, places},
};

use super::{
    blobs::{Blobs, Entry},
    diff::changed_files,
    repository::Repository,
};

/// What a change goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// A commit.
    Commit(Sha),
    /// A tree without a commit: a working tree on top of `commit`.
    Tree {
        /// The tree's object name.
        tree: Sha,
        /// The commit that is checked out.
        commit: Sha,
    },
}

impl Head {
    fn commit(&self) -> &Sha {
        match self {
            Self::Commit(commit) | Self::Tree { commit, .. } => commit,
        }
    }

    fn tree_ish(&self) -> &Sha {
        match self {
            Self::Commit(tree) | Self::Tree { tree, .. } => tree,
        }
    }
}

/// The change `merge-base(base tip, head)..head` of one repository.
#[derive(Debug)]
pub struct GitChange {
    blobs: Blobs,
    base: Sha,
    base_tip: Sha,
    head: Head,
    files: Vec<ChangedFile>,
    coverage: Coverage,
}

impl GitChange {
    /// Reads what changed. `None`: base and head have no common ancestor in this repository.
    ///
    /// With several best common ancestors (criss-cross merges) the first is taken, as
    /// `git diff base...head` and the forge do.
    pub async fn open(
        repository: Repository,
        base_tip: Sha,
        head: Head,
    ) -> Result<Option<Self>, ChangeError> {
        let bases = repository.merge_bases(&base_tip, head.commit()).await?;
        let Some(base) = bases.into_iter().next() else {
            return Ok(None);
        };
        let blobs = Blobs::new(repository);
        let (files, coverage) = changed_files(&blobs, base.as_str(), head.tree_ish().as_str()).await?;
        Ok(Some(Self {
            blobs,
            base,
            base_tip,
            head,
            files,
            coverage,
        }))
    }

    /// The tip of the base branch, where policy is read from.
    pub fn base_tip(&self) -> &Sha {
        &self.base_tip
    }

    /// Names files that are known to have changed and could not be read.
    pub(crate) fn add_unseen(&mut self, unseen: impl IntoIterator<Item = Unseen>) {
        for unseen in unseen {
            let reason = Some(unseen.reason.clone());
            match self.files.iter_mut().find(|f| f.path == unseen.path) {
                Some(file) => file.unseen = reason,
                None => {
                    let mut file = ChangedFile::new(&unseen.path, FileStatus::Modified);
                    file.unseen = reason;
                    self.files.push(file);
                }
            }
            self.coverage.unseen.push(unseen);
        }
    }

    async fn content(&self, entry: Option<Entry>) -> Result<Option<Vec<u8>>, ChangeError> {
        match entry.filter(Entry::has_content) {
            Some(entry) => Ok(self.blobs.read(&entry.oid).await?),
            None => Ok(None),
        }
    }

    async fn at(&self, tree_ish: &Sha, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        let entry = self.blobs.entry(tree_ish.as_str(), path).await?;
        self.content(entry).await
    }
}

#[async_trait]
impl Change for GitChange {
    fn merge_base(&self) -> &Sha {
        &self.base
    }

    fn head(&self) -> Option<&Sha> {
        match &self.head {
            Head::Commit(commit) => Some(commit),
            Head::Tree { .. } => None,
        }
    }

    fn files(&self) -> &[ChangedFile] {
        &self.files
    }

    fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    async fn read(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        // By object name where the diff knows it: a path that is not UTF-8 cannot be asked for.
        let entries = self.files.iter().filter_map(|file| {
            let (mode, oid) = match side {
                Side::Left => (file.old_mode, &file.old_oid),
                Side::Right => (file.new_mode, &file.new_oid),
            };
            let oid = oid.clone().filter(|_| file.path_on(side) == path)?;
            Some(Entry { mode: mode?, oid })
        });
        let mut entries: Vec<Entry> = entries.collect();
        entries.dedup();
        match entries.len() {
            0 => {
                let tree_ish = match side {
                    Side::Left => &self.base,
                    Side::Right => self.head.tree_ish(),
                };
                self.at(tree_ish, path).await
            }
            1 => self.content(entries.pop()).await,
            // Two paths that look the same: neither is the one that was meant.
            _ => Ok(None),
        }
    }

    async fn read_base_tip(&self, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        for place in places(path) {
            let Some(entry) = self.blobs.entry(self.base_tip.as_str(), place).await? else {
                return Ok(None);
            };
            match on_the_way(&self.base_tip, path, place, entry.mode)? {
                OnTheWay::Enter => {}
                OnTheWay::Nothing => return Ok(None),
                OnTheWay::Read => {
                    if let Some(content) = self.blobs.read(&entry.oid).await? {
                        return Ok(Some(content));
                    }
                    return Err(match self.blobs.sizes(&[&entry.oid]).await?.get(&entry.oid) {
                        Some(_) => over_the_bound(&self.base_tip, path),
                        // It is named and not there: a partial clone, a damaged mirror.
                        None => ChangeError::Internal(format!("missing blob {}", entry.oid)),
                    });
                }
            }
        }
        Ok(None)
    }

    async fn check_out(&self, folder: &Path) -> Result<(), ChangeError> {
        super::checkout::check_out(self.blobs.repository(), self.head.tree_ish(), folder).await
    }

    async fn read_at(&self, commit: &Sha, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        if self.blobs.repository().commit(commit.as_str()).await?.is_none() {
            return Ok(None);
        }
        self.at(commit, path).await
    }
}
