//! Hazards of containers: in Dockerfiles, Compose files and Kubernetes manifests.
//!
//! What the image runs as, what it is made of and from where, what of the host it
//! reaches, and which secrets are baked in. Files are judged whole on both sides.

mod compose;
mod dockerfile;
mod kubernetes;
mod words;

#[cfg(test)]
mod tests;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        review::finding::{Axis, Draft, Finding, Provenance, Side},
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use super::{
    added::{is_vendored, report_but},
    hazard::{Hazard, told},
    yaml,
};

/// Finds hazards in Dockerfiles, Compose files and Kubernetes manifests.
#[derive(Debug, Clone, Copy)]
pub struct ContainerHazards;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Dockerfile,
    Compose,
    /// Any other YAML: a manifest if it says so.
    Yaml,
}

impl Role {
    fn of(path: &str) -> Option<Self> {
        let lower = path.to_ascii_lowercase();
        let name = lower.rsplit('/').next().unwrap_or_default();
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let ends = matches!(
            extension,
            "md" | "txt" | "sh" | "py" | "go" | "rs" | "js" | "ts" | "yml" | "yaml" | "json"
        );
        let is_file = |head: &str| name == head || (name.starts_with(&format!("{head}.")) && !ends);
        if is_vendored(path) {
            None
        } else if is_file("dockerfile") || is_file("containerfile") || extension == "dockerfile" {
            Some(Self::Dockerfile)
        } else if !matches!(extension, "yml" | "yaml") || lower.starts_with(".github/") {
            None
        } else if stem.split(['.', '-', '_']).any(|part| part == "compose") {
            Some(Self::Compose)
        } else {
            Some(Self::Yaml)
        }
    }
}

/// What a file has.
enum Judged {
    Hazards(Vec<Hazard>),
    /// It is not what its name may promise.
    Other,
    Unreadable,
}

fn judge(role: Role, blob: &[u8]) -> Judged {
    if role == Role::Dockerfile {
        return Judged::Hazards(dockerfile::hazards(blob));
    }
    let manifest = looks_like_a_manifest(blob);
    // A template is no YAML until it is filled in.
    let template = blob.windows(3).any(|w| matches!(w, b"{{-" | b"{{ " | b"{% "));
    if role == Role::Yaml && !manifest {
        return Judged::Other;
    }
    match yaml::read(blob) {
        None if template => Judged::Other,
        None => Judged::Unreadable,
        Some(yaml) => {
            let mut hazards = Vec::new();
            for top in yaml.documents() {
                match role {
                    Role::Compose => compose::judge(top, &mut hazards),
                    _ => kubernetes::judge(top, &mut hazards),
                }
            }
            hazards.sort_by_key(|h| h.line);
            Judged::Hazards(hazards)
        }
    }
}

/// Whether both marks of a manifest stand at the start of a line.
fn looks_like_a_manifest(blob: &[u8]) -> bool {
    let has = |mark: &[u8]| {
        blob.split(|b| *b == b'\n').any(|line| {
            let line = line
                .strip_prefix(b"\xEF\xBB\xBF")
                .unwrap_or(line)
                .trim_ascii_start();
            let line = line.strip_prefix(b"{").unwrap_or(line).trim_ascii_start();
            let line = line.strip_prefix(b"\"").unwrap_or(line);
            line.starts_with(mark)
        })
    };
    has(b"apiVersion") && has(b"kind")
}

async fn in_file<'a>(
    change: &dyn Change,
    file: &'a ChangedFile,
    drafts: &mut Vec<Draft>,
    unread: &mut Vec<&'a str>,
) -> Result<(), ChangeError> {
    let Some(role) = Role::of(&file.path) else {
        return Ok(());
    };
    if file.status == FileStatus::Removed
        || file.added_lines().next().is_none() && file.removed_lines().next().is_none()
    {
        return Ok(());
    }
    let Some(head) = change.read(Side::Right, &file.path).await? else {
        if role != Role::Yaml {
            unread.push(&file.path);
        }
        return Ok(());
    };
    let found = match judge(role, &head) {
        Judged::Hazards(found) => found,
        Judged::Other => return Ok(()),
        Judged::Unreadable => {
            unread.push(&file.path);
            return Ok(());
        }
    };
    if found.is_empty() {
        return Ok(());
    }
    let base = match Role::of(file.base_path()) {
        Some(before) if before == role && file.status != FileStatus::Added => change
            .read(Side::Left, file.base_path())
            .await?
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    let before = match judge(role, &base) {
        Judged::Hazards(before) => before,
        Judged::Other | Judged::Unreadable => Vec::new(),
    };
    told(file, (&head, found), (&base, &before), drafts);
    Ok(())
}

#[async_trait]
impl Analyzer for ContainerHazards {
    fn name(&self) -> &'static str {
        "container_hazards"
    }

    fn axis(&self) -> Axis {
        Axis::Security
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let (mut drafts, mut unread) = (Vec::new(), Vec::new());
        for file in change.files() {
            if file.binary || file.unseen.is_some() {
                // Only a name that promises a container file does.
                unread.extend(
                    Role::of(&file.path)
                        .filter(|role| *role != Role::Yaml)
                        .map(|_| file.path.as_str()),
                );
            } else {
                in_file(change, file, &mut drafts, &mut unread).await?;
            }
        }
        Ok(report_but(change, drafts, unread))
    }

    fn holds_in_blob(&self, finding: &Finding, blob: &[u8], _: &[&[u8]]) -> Option<bool> {
        let Provenance::Rule(rule) = &finding.provenance else {
            return None;
        };
        let anchor = finding.anchor.as_ref()?;
        match judge(Role::of(&anchor.path)?, blob) {
            Judged::Hazards(found) => {
                Some(found.iter().any(|h| h.rule == rule && h.is_at(anchor.start_line)))
            }
            Judged::Other => Some(false),
            Judged::Unreadable => None,
        }
    }
}
