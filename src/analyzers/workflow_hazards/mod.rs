//! Hazards of GitHub Actions workflows and composite actions: text from outside in a
//! script, code from outside with the repository's rights, actions that can change
//! under one's feet, rights and secrets given away.
//!
//! A file is judged whole on both sides, since a line can change its meaning without
//! changing: a checkout of the head is harmless until the trigger becomes
//! `pull_request_target`. What is told is what the head has and the base has not.

mod checkout;
mod expression;
mod model;
mod rules;

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

use self::model::hazards;
use super::{added::report_but, hazard::told};

/// Finds hazards in workflows and composite actions.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowHazards;

/// What a file is to GitHub Actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Workflow,
    Action,
}

impl Role {
    fn of(path: &str) -> Option<Self> {
        let lower = path.to_ascii_lowercase();
        let (folder, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let yaml = name.ends_with(".yml") || name.ends_with(".yaml");
        if yaml && (folder == ".github/workflows" || folder.ends_with("/.github/workflows")) {
            Some(Self::Workflow)
        } else {
            matches!(name, "action.yml" | "action.yaml").then_some(Self::Action)
        }
    }
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
    if file.status == FileStatus::Removed {
        return Ok(());
    }
    let head = change.read(Side::Right, &file.path).await?;
    let Some((head, found)) = head
        .as_deref()
        .and_then(|head| Some((head, hazards(role, head)?)))
    else {
        unread.push(&file.path);
        return Ok(());
    };
    let base = match file.status {
        FileStatus::Added => None,
        _ if Role::of(file.base_path()) != Some(role) => None,
        _ => change.read(Side::Left, file.base_path()).await?,
    }
    .unwrap_or_default();
    let before = hazards(role, &base).unwrap_or_default();
    told(file, (head, found), (&base, &before), drafts);
    Ok(())
}

#[async_trait]
impl Analyzer for WorkflowHazards {
    fn name(&self) -> &'static str {
        "workflow_hazards"
    }

    fn axis(&self) -> Axis {
        Axis::Security
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let (mut drafts, mut unread) = (Vec::new(), Vec::new());
        for file in change.files() {
            if file.binary || file.unseen.is_some() {
                unread.extend(Role::of(&file.path).map(|_| file.path.as_str()));
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
        let found = hazards(Role::of(&anchor.path)?, blob)?;
        Some(found.iter().any(|h| h.rule == rule && h.is_at(anchor.start_line)))
    }
}
