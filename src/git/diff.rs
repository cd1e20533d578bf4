//! What changed between two trees.
//!
//! Names, kinds and object names come from `--raw -z`, lines from the text diff; the two
//! are joined by path and whatever does not fit together is unseen, never clean.
//! `--text` keeps attributes from hiding anything, so binary is decided here, from the
//! content, by git's own rule (a NUL in the first 8000 bytes). Every option that any
//! configuration could set is given on the command line, so that the lines are those
//! that the forge shows and takes comments on.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::domain::{
    diff::{self, ChangedFile, DiffError, FileStatus, TOO_LARGE, path_text},
    review::coverage::{Coverage, Unseen},
};

use super::{
    blobs::{Blobs, MAX_BLOB},
    repository::path_of,
    run::{GitError, Streamed},
    sections::{Bounds, Cut, Section, Sections},
};

/// Git's rule for binary content: a NUL within so many bytes.
const SNIFFED: usize = 8000;
/// Content of both sides, together, whose lines are read; what does not fit is unseen.
const MAX_CONTENT: u64 = 96 << 20;
/// How long git may compare lines; what it had not printed by then is unseen.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Why a file has no lines that git did not get to.
const SLOW: &str = "git needed more than two minutes to compare the files before it";
/// Why a file has no lines that stands behind too many others.
const ALL_TOO_LARGE: &str = "the change is larger than 128 MiB or 4,000,000 lines";
/// Bytes of arguments that name what the text diff leaves out.
const MAX_EXCLUDED: usize = 512 << 10;

/// Options under which git prints the same diff whatever the configuration says.
const OPTIONS: &[&str] = &[
    "-r",
    "-M50%",
    "-l1000",
    "-O/dev/null",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--ignore-submodules=none",
    "--submodule=short",
    "--full-index",
];
const TEXT_OPTIONS: &[&str] = &[
    "-p",
    "--text",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--ws-error-highlight=none",
];

const GITLINK: u32 = 0o160_000;
const TYPE: u32 = 0o170_000;

/// One line of `--raw -z`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Raw {
    old_mode: u32,
    new_mode: u32,
    old_oid: String,
    new_oid: String,
    status: FileStatus,
    old_path: Vec<u8>,
    path: Vec<u8>,
}

/// What is known of a file before its lines are read.
enum Content {
    Text,
    Binary,
    Unseen(String),
}

/// The files that changed from one tree to another, in git's order, and what could not
/// be seen of them.
pub async fn changed_files(
    blobs: &Blobs,
    old: &str,
    new: &str,
) -> Result<(Vec<ChangedFile>, Coverage), GitError> {
    within(blobs, old, new, Bounds::default()).await
}

/// [`changed_files`] under these bounds.
async fn within(
    blobs: &Blobs,
    old: &str,
    new: &str,
    bounds: Bounds,
) -> Result<(Vec<ChangedFile>, Coverage), GitError> {
    let repository = blobs.repository();
    let empty_tree = repository.format().empty_tree();
    let git = |options: &[&str]| {
        repository
            .git("diff-tree")
            .env("GIT_ATTR_SOURCE", empty_tree)
            .args(OPTIONS)
            .args(options)
            .args(["--end-of-options", old, new, "--"])
    };
    let printed = git(&["--raw", "-z", "--no-abbrev"]).run().await?;
    let raws = raws(&printed).ok_or_else(|| GitError::Unexpected("diff-tree".to_owned()))?;
    let contents = contents(blobs, &raws).await?;

    let mut text = git(TEXT_OPTIONS).timeout(TIMEOUT);
    let mut excluded = 0;
    for (raw, _) in raws
        .iter()
        .zip(&contents)
        .filter(|(_, c)| !matches!(c, Content::Text))
    {
        excluded += raw.path.len() + raw.old_path.len() + 64;
        if excluded > MAX_EXCLUDED {
            break;
        }
        for path in HashSet::from([&raw.path, &raw.old_path]) {
            text = text.arg(path_of(&[b":(top,exclude,literal)".as_slice(), path].concat()));
        }
    }
    let sections = Mutex::new(Sections::new(bounds));
    let parsed: Mutex<Vec<ChangedFile>> = Mutex::default();
    let ended = text
        .stream(|piece| {
            let batch = locked(&sections).feed(&piece);
            let parsed = &parsed;
            async move {
                if let Some(batch) = batch {
                    let files = parse(batch).await?;
                    locked(parsed).extend(files);
                }
                Ok(())
            }
        })
        .await?;
    let owned = |sections: Mutex<Sections>| sections.into_inner().unwrap_or_else(PoisonError::into_inner);
    let rest = owned(sections).finish(ended == Streamed::TimedOut);
    let mut parsed = parsed.into_inner().unwrap_or_else(PoisonError::into_inner);
    parsed.extend(parse(rest).await?);
    let missing = match ended {
        Streamed::Whole => "git's two accounts of it do not fit together",
        Streamed::TimedOut => SLOW,
    };
    Ok(join(raws, contents, parsed, missing))
}

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a batch of files on a thread of its own: it is work without a wait in it.
async fn parse(sections: Vec<Section>) -> Result<Vec<ChangedFile>, GitError> {
    let unexpected = || GitError::Unexpected("diff-tree".to_owned());
    tokio::task::spawn_blocking(move || {
        let mut cut: HashMap<String, Cut> = HashMap::new();
        let mut text = Vec::with_capacity(sections.iter().map(|s| s.text.len()).sum());
        for section in sections {
            if let Some(why) = section.cut {
                cut.extend(
                    diff::parse(&section.text)?
                        .into_iter()
                        .map(|file| (file.path, why)),
                );
            }
            text.extend_from_slice(&section.text);
        }
        let mut files = diff::parse(&text)?;
        for file in &mut files {
            file.unseen = match cut.get(&file.path) {
                Some(Cut::File) => Some(TOO_LARGE.to_owned()),
                Some(Cut::Change) => Some(ALL_TOO_LARGE.to_owned()),
                Some(Cut::Ended) => Some(SLOW.to_owned()),
                None => continue,
            };
        }
        Ok(files)
    })
    .await
    .map_err(|_| unexpected())?
    .map_err(|error: DiffError| {
        tracing::error!(%error, "the text of git diff-tree was not understood");
        unexpected()
    })
}

/// Reads `:modes oids status NUL path NUL [path NUL]` over and over.
fn raws(printed: &[u8]) -> Option<Vec<Raw>> {
    let mut fields = printed.split(|&b| b == 0).peekable();
    let mut raws = Vec::new();
    while let Some(head) = fields.next_if(|f| !f.is_empty()) {
        let head = std::str::from_utf8(head).ok()?.strip_prefix(':')?;
        let words: Vec<&str> = head.split(' ').collect();
        let [old_mode, new_mode, old_oid, new_oid, status] = words[..] else {
            return None;
        };
        let mut path = || fields.next().filter(|p| !p.is_empty()).map(<[u8]>::to_vec);
        let first = path()?;
        let (status, path) = match status.as_bytes().first()? {
            b'A' => (FileStatus::Added, None),
            b'D' => (FileStatus::Removed, None),
            b'M' => (FileStatus::Modified, None),
            b'T' => (FileStatus::TypeChanged, None),
            b'R' => (FileStatus::Renamed, Some(path()?)),
            b'C' => (FileStatus::Copied, Some(path()?)),
            _ => return None,
        };
        raws.push(Raw {
            old_mode: u32::from_str_radix(old_mode, 8).ok()?,
            new_mode: u32::from_str_radix(new_mode, 8).ok()?,
            old_oid: old_oid.to_owned(),
            new_oid: new_oid.to_owned(),
            status,
            path: path.unwrap_or_else(|| first.clone()),
            old_path: first,
        });
    }
    // A status that is cut off would end here, too: the last field must be the empty
    // one behind the last NUL.
    (fields.next().is_none_or(<[u8]>::is_empty) && fields.next().is_none()).then_some(raws)
}

impl Raw {
    /// The sides that have content of their own in this repository.
    fn blobs(&self) -> impl Iterator<Item = (u32, &str)> {
        let sides = [(self.old_mode, &*self.old_oid), (self.new_mode, &*self.new_oid)];
        sides
            .into_iter()
            .filter(|(mode, _)| *mode != 0 && mode & TYPE != GITLINK)
    }
}

/// Decides from the content itself what each file is, and how much is read.
async fn contents(blobs: &Blobs, raws: &[Raw]) -> Result<Vec<Content>, GitError> {
    let oids: HashSet<&str> = raws.iter().flat_map(Raw::blobs).map(|(_, oid)| oid).collect();
    let oids: Vec<&str> = oids.into_iter().collect();
    let sizes = if oids.is_empty() {
        HashMap::new()
    } else {
        blobs.sizes(&oids).await?
    };
    let mut sniffed: HashMap<&str, bool> = HashMap::new();
    let mut left = MAX_CONTENT;
    let mut contents = Vec::with_capacity(raws.len());
    'files: for raw in raws {
        let mut size = 0;
        let mut binary = false;
        for (mode, oid) in raw.blobs() {
            let Some(&bytes) = sizes.get(oid) else {
                contents.push(Content::Unseen("its content is not in the repository".to_owned()));
                continue 'files;
            };
            size += bytes;
            if bytes == 0 || raw.old_oid == raw.new_oid {
                continue;
            }
            if bytes > MAX_BLOB {
                contents.push(Content::Unseen(format!(
                    "it is larger than {} MiB",
                    MAX_BLOB >> 20
                )));
                continue 'files;
            }
            // The target of a link is text, whatever it holds.
            if mode & TYPE != 0o100_000 {
                continue;
            }
            binary |= match sniffed.get(oid) {
                Some(known) => *known,
                None => {
                    let content = blobs.read(oid).await?.unwrap_or_default();
                    let nul = content.iter().take(SNIFFED).any(|&b| b == 0);
                    sniffed.insert(oid, nul);
                    nul
                }
            };
        }
        contents.push(if binary {
            Content::Binary
        } else if raw.old_oid == raw.new_oid {
            Content::Text
        } else if let Some(rest) = left.checked_sub(size) {
            left = rest;
            Content::Text
        } else {
            Content::Unseen(format!(
                "the change is larger than {} MiB of text",
                MAX_CONTENT >> 20
            ))
        });
    }
    Ok(contents)
}

/// Joins the list of files with the lines that were read.
fn join(
    raws: Vec<Raw>,
    contents: Vec<Content>,
    parsed: Vec<ChangedFile>,
    missing: &str,
) -> (Vec<ChangedFile>, Coverage) {
    let mut lines: HashMap<String, ChangedFile> = HashMap::new();
    let mut twice: HashSet<String> = HashSet::new();
    for file in parsed {
        if let Some(before) = lines.insert(file.path.clone(), file) {
            twice.insert(before.path);
        }
    }
    let mut files = Vec::with_capacity(raws.len());
    let mut coverage = Coverage::default();
    for (raw, content) in raws.into_iter().zip(contents) {
        let mut file = ChangedFile::new(path_text(&raw.path), raw.status);
        let mode = |mode: u32| (mode != 0).then_some(mode);
        let oid = |oid: &str| oid.bytes().any(|b| b != b'0').then(|| oid.to_owned());
        file.old_path = (raw.old_path != raw.path).then(|| path_text(&raw.old_path));
        (file.old_mode, file.new_mode) = (mode(raw.old_mode), mode(raw.new_mode));
        (file.old_oid, file.new_oid) = (oid(&raw.old_oid), oid(&raw.new_oid));
        match content {
            Content::Binary => file.binary = true,
            Content::Unseen(reason) => file.unseen = Some(reason),
            Content::Text => match lines.remove(&file.path).filter(|f| !twice.contains(&f.path)) {
                Some(read) if fits(&file, &read) => {
                    file.unseen = read.unseen.clone();
                    file = file.with_patch(read.into_patch());
                }
                _ => file.unseen = Some(missing.to_owned()),
            },
        }
        if let Some(reason) = &file.unseen {
            coverage.unseen.push(Unseen {
                path: file.path.clone(),
                reason: reason.clone(),
            });
        }
        files.push(file);
    }
    (files, coverage)
}

/// Whether the lines that were read are those of this file.
fn fits(file: &ChangedFile, read: &ChangedFile) -> bool {
    let same = file.status == read.status
        && file.base_path() == read.base_path()
        && !read.binary
        && (read.old_oid.is_none() || file.old_oid == read.old_oid)
        && (read.new_oid.is_none() || file.new_oid == read.new_oid);
    // Content that differs has lines that differ, but for a file that is or was empty.
    let needs_lines = file.old_oid != file.new_oid
        && read.unseen.is_none()
        && !matches!(file.status, FileStatus::Added | FileStatus::Removed);
    same && (!needs_lines || !read.hunks().is_empty())
}

#[cfg(test)]
mod tests;
