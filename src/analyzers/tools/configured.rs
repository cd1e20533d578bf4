//! A command that the server's owner configured. It never comes from a pull request, and
//! it runs in isolation on the head's files: what it does there is not trusted, and
//! neither is what it says.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;

use crate::{
    domain::{
        diff::FileStatus,
        report::{self, Format, ToolReport, paths::Roots},
        review::{
            finding::{Axis, Finding},
            reviewer::ContributionState,
        },
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
        isolation::{Isolation, IsolationError, Program, WORKTREE},
    },
};

use super::{axes, placing};

/// A tool, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The reviewer's name.
    pub name: String,
    /// What it answers for; `None` = what its rules say of themselves.
    pub axis: Option<Axis>,
    /// How it writes its report to standard output.
    pub format: Format,
    /// The exit codes with which it has done its work, whatever it found.
    pub exit_codes: Vec<i32>,
    /// What is run.
    pub program: Program,
}

/// A configured tool as a reviewer.
pub struct Configured {
    tool: Tool,
    isolation: Arc<dyn Isolation>,
    /// Where worktrees are made.
    folder: PathBuf,
}

impl Configured {
    /// The reviewer. Worktrees are made in `folder`, and taken away again.
    pub fn new(tool: Tool, isolation: Arc<dyn Isolation>, folder: PathBuf) -> Self {
        Self {
            tool,
            isolation,
            folder,
        }
    }

    async fn run(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let worktree = std::fs::create_dir_all(&self.folder)
            .and_then(|()| tempfile::TempDir::with_prefix_in("worktree-", &self.folder));
        let worktree = match worktree {
            Ok(worktree) => worktree,
            Err(error) => {
                tracing::error!(tool = self.tool.name, %error, "no worktree can be made");
                return Ok(unfinished(
                    ContributionState::Failed,
                    "there is no room for a worktree",
                ));
            }
        };
        match change.check_out(worktree.path()).await {
            Ok(()) => {}
            Err(ChangeError::User(words)) => return Ok(unfinished(ContributionState::Failed, &words)),
            Err(other) => return Err(other),
        }
        let ran = self.isolation.run(worktree.path(), &self.tool.program).await;
        let ran = match ran {
            Ok(ran) => ran,
            Err(error) => {
                tracing::warn!(tool = self.tool.name, ?error, "a tool did not come to its end");
                let state = match error {
                    IsolationError::TimedOut(_) => ContributionState::TimedOut,
                    _ => ContributionState::Failed,
                };
                return Ok(unfinished(state, &error.to_string()));
            }
        };
        let ended_well = ran.code.is_some_and(|code| self.tool.exit_codes.contains(&code));
        if !ended_well {
            tracing::warn!(
                tool = self.tool.name,
                code = ran.code,
                words = ran.words,
                "a tool failed"
            );
        }
        let ended = match ran.code {
            Some(code) => format!("it ended with code {code}"),
            None => "it was killed by a signal".to_owned(),
        };
        let said = match report::parse(self.tool.format, &ran.stdout) {
            Ok(said) if ended_well => said,
            // What it said before it failed is said; that it failed, too.
            Ok(said) => ToolReport {
                failed: Some(ended),
                ..said
            },
            Err(_) if !ended_well => return Ok(unfinished(ContributionState::Failed, &ended)),
            Err(error) => return Ok(unfinished(ContributionState::Failed, &error.to_string())),
        };
        let roots = Roots {
            roots: vec![WORKTREE.to_owned()],
            prefix: String::new(),
        };
        placing::report(change, &said, &roots, self.tool.axis).await
    }
}

fn unfinished(state: ContributionState, words: &str) -> Report {
    Report {
        state,
        note: Some(words.to_owned()),
        drafts: Vec::new(),
    }
}

#[async_trait]
impl Analyzer for Configured {
    fn name(&self) -> &str {
        &self.tool.name
    }

    fn axis(&self) -> Axis {
        axes(self.tool.axis).0
    }

    fn also(&self) -> &[Axis] {
        axes(self.tool.axis).1
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        if change
            .files()
            .iter()
            .all(|file| file.status == FileStatus::Removed)
        {
            return Ok(Report {
                state: ContributionState::Complete,
                note: None,
                drafts: Vec::new(),
            });
        }
        self.run(change).await
    }

    /// The verifier judges a tool's result by its place.
    fn holds_in_blob(&self, _: &Finding, _: &[u8], _: &[&[u8]]) -> Option<bool> {
        None
    }
}

#[cfg(test)]
mod tests;
