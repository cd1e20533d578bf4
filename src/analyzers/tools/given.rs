//! A tool's report that was given by hand. It is taken as one of this head.

use async_trait::async_trait;

use crate::{
    domain::{
        report::{self, Format, ToolReport, paths::Roots},
        review::{
            finding::{Axis, Finding},
            reviewer::ContributionState,
        },
        text::{truncate_chars, visible_path},
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use super::{axes, placing};

/// A report that was given by hand.
#[derive(Debug)]
pub struct Given {
    name: String,
    said: Result<ToolReport, String>,
    roots: Roots,
}

impl Given {
    /// Reads a report. `source` is the name of its file, for people; `content` its bytes, or
    /// why they cannot be read, in words that are safe to show.
    pub fn new(format: Format, source: &str, content: Result<Vec<u8>, String>, roots: Roots) -> Self {
        let said = content.and_then(|bytes| report::parse(format, &bytes).map_err(|error| error.to_string()));
        Self {
            name: format!("{format}:{}", truncate_chars(&visible_path(source), 200)),
            said,
            roots,
        }
    }
}

#[async_trait]
impl Analyzer for Given {
    fn name(&self) -> &str {
        &self.name
    }

    fn axis(&self) -> Axis {
        axes(None).0
    }

    fn also(&self) -> &[Axis] {
        axes(None).1
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        match &self.said {
            Ok(said) => placing::report(change, said, &self.roots, None).await,
            Err(words) => Ok(Report {
                state: ContributionState::Failed,
                note: Some(words.clone()),
                drafts: Vec::new(),
            }),
        }
    }

    /// The verifier judges a tool's result by its place.
    fn holds_in_blob(&self, _: &Finding, _: &[u8], _: &[&[u8]]) -> Option<bool> {
        None
    }
}
