//! A deterministic reviewer.

use async_trait::async_trait;

use crate::domain::review::{
    finding::{Axis, Draft, Finding},
    reviewer::ContributionState,
};

use super::change::{Change, ChangeError};

/// What an analyzer hands in.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// `Complete`; `Partial` with a note when a file it should judge could not be read;
    /// `Failed` or `TimedOut` with a note when a program that it asked did not do its work.
    pub state: ContributionState,
    /// What could not be judged, or was left out.
    pub note: Option<String>,
    /// Its findings; all about added or changed lines.
    pub drafts: Vec<Draft>,
}

/// A rule set that judges only what a change adds or alters.
///
/// Same change, same report: no clock, no randomness, no network.
#[async_trait]
pub trait Analyzer: Send + Sync {
    /// A short stable name, e.g. `secrets`; the principal is `analyzer:<name>`.
    fn name(&self) -> &str;

    /// The axis it answers for.
    fn axis(&self) -> Axis;

    /// Further axes on which it may have findings. When it does not finish, nothing is
    /// proved on these either.
    fn also(&self) -> &[Axis] {
        &[]
    }

    /// Judges the change.
    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError>;

    /// For the verifier: does the rule behind `finding` still say the same when it is
    /// given the whole blob, not the patch? `lines` are the anchored lines as the blob
    /// has them. `None`: this analyzer cannot tell (the finding then stays unconfirmed).
    fn holds_in_blob(&self, finding: &Finding, blob: &[u8], lines: &[&[u8]]) -> Option<bool>;

    /// The same question for a finding without an anchor, which speaks of the change as a
    /// whole: does the rule still say so of `change`? `None` unless a rule set knows.
    fn stands_in_change(&self, finding: &Finding, change: &dyn Change) -> Option<bool> {
        let _ = (finding, change);
        None
    }

    /// The same question for a rule that compares base and head, or that speaks of a
    /// place on the base: it may read both sides of `change`. `blob` and `lines` are as
    /// in [`Self::holds_in_blob`], which answers unless a rule set says otherwise.
    async fn holds_in_change(
        &self,
        finding: &Finding,
        change: &dyn Change,
        blob: &[u8],
        lines: &[&[u8]],
    ) -> Option<bool> {
        let _ = change;
        self.holds_in_blob(finding, blob, lines)
    }
}
