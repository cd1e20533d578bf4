//! Resolution: which live findings a pass clears (DESIGN §5).
//!
//! Only what was really looked at is cleared. A rule's or tool's finding is gone
//! when its fingerprint no longer occurs and its contributor ran completely on
//! the new head; a person's or model's needs its quote gone *and* a peer (or the
//! verifier) who says so. In doubt a finding stays.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{
    ids::FindingId,
    principal::{Principal, PrincipalKind},
};

use super::{
    finding::{Finding, Provenance, is_peer},
    reviewer::{Contribution, ContributionState},
};

/// What a pass saw of its head.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The fingerprints of everything that was filed in this pass.
    pub fingerprints: &'a BTreeSet<String>,
    /// Who was asked, and how far each came.
    pub contributions: &'a [Contribution],
    /// Whether a finding's quote no longer occurs in its file on this head: from
    /// the blob, or `true` when the file is gone. Missing = not looked at.
    pub quote_gone: &'a BTreeMap<FindingId, bool>,
    /// Who says of a finding that it was mended on this head.
    pub says_mended: &'a BTreeMap<FindingId, Vec<Principal>>,
    /// Who opened the pull request.
    pub pull_author: Option<&'a Principal>,
}

/// Whether the pass resolves `finding`. A finding that is not live is not touched.
pub fn resolves(finding: &Finding, seen: &Seen<'_>) -> bool {
    if !finding.is_live() || seen.fingerprints.contains(&finding.fingerprint) {
        return false;
    }
    match finding.provenance {
        Provenance::Rule(_) | Provenance::Tool(_) => ran_completely(&finding.author, seen.contributions),
        Provenance::Model | Provenance::Human => {
            let gone = seen.quote_gone.get(&finding.id).copied().unwrap_or(false);
            let peer = seen.says_mended.get(&finding.id).is_some_and(|who| {
                who.iter()
                    .any(|who| is_peer(who, &finding.author, seen.pull_author))
            });
            gone && peer
        }
    }
}

fn ran_completely(author: &Principal, contributions: &[Contribution]) -> bool {
    let mut own = contributions
        .iter()
        .filter(|c| author.kind == PrincipalKind::Analyzer && c.reviewer == author.name)
        .peekable();
    own.peek().is_some() && own.all(|c| c.state == ContributionState::Complete)
}

#[cfg(test)]
#[path = "resolution_tests.rs"]
mod tests;
