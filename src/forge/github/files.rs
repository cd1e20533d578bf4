//! The changed files as the API tells them: names, and a patch for most.
//!
//! Invariant: what the forge did not send is never taken for clean. A file whose
//! patch is missing or shorter than its counts is `unseen`, unless the objects of
//! both sides prove that there is no line to see; a list that may be cut is
//! `truncated`.

use std::collections::HashSet;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus, LineKind, Patch, parse_file_patch},
        ids::Sha,
        review::coverage::{Coverage, Unseen},
        space::{PullRef, RepoRef},
    },
    ports::forge::ForgeError,
};

use super::{
    budget::Purpose,
    client::Call,
    loose::{Loose, loose},
    origin::{encoded, repo_path},
    session::Session,
};

/// Files on a comparison's first page, the only one that has any (OpenAPI, compare).
const COMPARE_MAX: usize = 300;
/// Files that a pull request lists at most (OpenAPI, `/pulls/{n}/files`).
const PULL_MAX: usize = 3000;

loose! {
    CommitBody { sha: String }

    FileBody {
        filename: String,
        previous_filename: String,
        status: String,
        /// The blob on the head; on the base for a removed file.
        sha: String,
        patch: String,
        additions: i64,
        deletions: i64,
    }

    RefBody { object: CommitBody }

    CompareBody { merge_base_commit: CommitBody, files: Vec<FileBody> }
}

/// What the forge listed.
pub(super) struct Listing {
    pub(super) merge_base: Sha,
    pub(super) files: Vec<ChangedFile>,
    /// Indices of the files without a patch: there may be nothing to see in them.
    pub(super) without_patch: Vec<usize>,
    pub(super) truncated: Option<String>,
}

impl Session {
    /// Lists what `head` changes since it left `base`. One request for up to 299
    /// files, and exactly of these two commits; beyond that the pull request's own
    /// list, which is of its head at that moment: `None` when that has moved.
    pub(super) async fn list_changes(
        &self,
        pull: &PullRef,
        base: &Sha,
        head: &Sha,
    ) -> Result<Option<Listing>, ForgeError> {
        let repo = &pull.repo;
        let path = repo_path(repo, &format!("/compare/{base}...{head}?per_page=1"));
        let compared = match self.compare(repo, path.clone()).await {
            // Its second page has the merge base and, since only the first has files, asks
            // for no diff.
            Err(error) if too_large(&error) => {
                let second = self.compare(repo, format!("{path}&page=2")).await?;
                CompareBody {
                    files: Loose(None),
                    ..second
                }
            }
            compared => compared?,
        };
        let merge_base = compared
            .merge_base_commit
            .as_ref()
            .and_then(|c| c.sha.as_ref()?.parse().ok())
            .ok_or_else(|| ForgeError::Internal("a comparison without a merge base".to_owned()))?;
        if let Some(files) = compared.files.0.filter(|files| files.len() < COMPARE_MAX) {
            return Ok(Some(listing(merge_base, files, usize::MAX)));
        }
        let files = match self.list_pull_files(pull).await {
            Err(error) if too_large(&error) => return Err(ForgeError::Refused(vec![TOO_LARGE.to_owned()])),
            files => files?,
        };
        if self.read_pull(pull).await?.head != *head {
            return Ok(None);
        }
        Ok(Some(listing(merge_base, files, PULL_MAX)))
    }

    async fn compare(&self, repo: &RepoRef, path: String) -> Result<CompareBody, ForgeError> {
        let answer = self.installed(repo.installation, Call::get(path)).await?;
        let compared: Loose<CompareBody> = answer.json()?;
        Ok(compared.0.unwrap_or_default())
    }

    async fn list_pull_files(&self, pull: &PullRef) -> Result<Vec<FileBody>, ForgeError> {
        let path = repo_path(&pull.repo, &format!("/pulls/{}/files?per_page=100", pull.number));
        self.list(
            pull.repo.installation,
            Purpose::Reviewing,
            path,
            |page: Loose<Vec<FileBody>>| page.0.unwrap_or_default(),
        )
        .await
    }

    /// The tip of a branch; `None` when there is no such branch.
    pub(super) async fn branch_tip(&self, repo: &RepoRef, branch: &str) -> Result<Option<Sha>, ForgeError> {
        let parts: Vec<String> = branch.split('/').map(encoded).collect();
        let path = repo_path(repo, &format!("/git/ref/heads/{}", parts.join("/")));
        match self.installed(repo.installation, Call::get(path)).await {
            Ok(answer) => {
                let body: Loose<RefBody> = answer.json()?;
                let object = body.0.and_then(|b| b.object.0);
                Ok(object.and_then(|c| c.sha.as_ref()?.parse().ok()))
            }
            Err(ForgeError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Said of a change that the forge shows in no way that the API has.
pub(super) const TOO_LARGE: &str =
    "the forge does not show this change over its API, since it is too large: let Jury read it over git";

/// Whether the forge refused to show a change for its size, which trying again does not
/// help. Seen: 406 `too_large` ("exceeded the maximum number of lines (20000)", "… of files
/// (300)"), 422 and 500 with like words.
fn too_large(error: &ForgeError) -> bool {
    let said = match error {
        ForgeError::Refused(words) => words.join("; "),
        ForgeError::Later {
            reason,
            after_ms: None,
        }
        | ForgeError::Internal(reason) => reason.clone(),
        _ => return false,
    };
    let said = said.to_ascii_lowercase();
    [
        "too_large",
        "exceeded the maximum",
        "too large",
        "too long to generate",
        "diff is unavailable",
    ]
    .iter()
    .any(|words| said.contains(words))
}

fn listing(merge_base: Sha, bodies: Vec<FileBody>, max: usize) -> Listing {
    let mut listing = Listing {
        merge_base,
        files: Vec::new(),
        without_patch: Vec::new(),
        truncated: (bodies.len() >= max).then(|| format!("the forge lists {max} files at most")),
    };
    let mut seen = HashSet::new();
    for body in bodies {
        let Some(path) = body.filename.0.clone().filter(|path| !path.is_empty()) else {
            listing.truncated = Some("the forge listed a file without a name".to_owned());
            continue;
        };
        if !seen.insert(path.clone()) {
            listing.truncated = Some("the forge listed a file twice".to_owned());
            continue;
        }
        let (file, patched) = changed_file(path, &body);
        if !patched {
            listing.without_patch.push(listing.files.len());
        }
        listing.files.push(file);
    }
    listing
}

/// The file, and whether its patch was sent.
fn changed_file(path: String, body: &FileBody) -> (ChangedFile, bool) {
    let status = match body.status.as_deref() {
        Some("added") => FileStatus::Added,
        Some("removed") => FileStatus::Removed,
        Some("renamed") => FileStatus::Renamed,
        Some("copied") => FileStatus::Copied,
        Some("changed") => FileStatus::TypeChanged,
        _ => FileStatus::Modified,
    };
    let mut file = ChangedFile::new(path, status);
    if matches!(status, FileStatus::Renamed | FileStatus::Copied) {
        file.old_path = body.previous_filename.0.clone();
    }
    let oid = body.sha.0.clone();
    if status == FileStatus::Removed {
        file.old_oid = oid;
    } else {
        file.new_oid = oid;
    }
    let Some(text) = body.patch.as_deref().filter(|patch| !patch.is_empty()) else {
        file.unseen = Some("the forge sent no patch for it".to_owned());
        return (file, false);
    };
    match parse_file_patch(text.as_bytes()) {
        Ok(patch) if counts(&patch) == told(body, &patch) => (file.with_patch(patch), true),
        Ok(patch) => {
            let mut file = file.with_patch(patch);
            file.unseen = Some("the forge sent only a part of its patch".to_owned());
            (file, true)
        }
        Err(error) => {
            file.unseen = Some(format!("its patch cannot be read: {error}"));
            (file, true)
        }
    }
}

fn counts(patch: &Patch) -> (i64, i64) {
    let of = |kind: LineKind| {
        let lines = patch.hunks().iter().flat_map(|hunk| patch.lines(hunk));
        i64::try_from(lines.filter(|line| line.kind == kind).count()).unwrap_or(i64::MAX)
    };
    (of(LineKind::Added), of(LineKind::Removed))
}

/// Added and removed lines as the forge counted them; what it did not count is as sent.
fn told(body: &FileBody, patch: &Patch) -> (i64, i64) {
    let sent = counts(patch);
    (body.additions.unwrap_or(sent.0), body.deletions.unwrap_or(sent.1))
}

/// What a whole blob shows when the file is only on one side.
pub(super) fn whole(blob: &[u8], kind: LineKind) -> Option<Patch> {
    let lines: Vec<&[u8]> = blob.split_inclusive(|&b| b == b'\n').collect();
    let (header, sign) = match kind {
        LineKind::Added => (format!("@@ -0,0 +1,{} @@\n", lines.len()), b'+'),
        LineKind::Removed => (format!("@@ -1,{} +0,0 @@\n", lines.len()), b'-'),
        LineKind::Context => return None,
    };
    let mut text = header.into_bytes();
    text.reserve(blob.len() + lines.len());
    for line in &lines {
        text.push(sign);
        text.extend_from_slice(line);
    }
    if !blob.ends_with(b"\n") {
        text.extend_from_slice(b"\n\\ No newline at end of file");
    }
    parse_file_patch(&text).ok()
}

/// The coverage that follows from the files.
pub(super) fn coverage(files: &[ChangedFile], truncated: Option<String>) -> Coverage {
    let unseen = files.iter().filter_map(|file| {
        Some(Unseen {
            path: file.path.clone(),
            reason: file.unseen.clone()?,
        })
    });
    Coverage {
        unseen: unseen.collect(),
        truncated,
        proviso: None,
    }
}
