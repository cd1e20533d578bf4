//! Consensus: what votes and clearances make of a finding (DESIGN §5).
//!
//! Everything is computed from the votes as they stand, oldest first, so their
//! order matters only between two votes of one voter (the last counts), and a
//! vote that should never have been taken changes nothing when it is found in
//! storage: peers are checked here, again, on every reading.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{
    ids::FindingId,
    policy::Policy,
    principal::{Principal, PrincipalKind},
};

use super::finding::{Finding, Kind, Priority, Provenance, Status, Vote, is_peer};

/// The votes that count: the last one of each peer.
pub fn effective_votes<'a>(finding: &'a Finding, pull_author: Option<&Principal>) -> Vec<&'a Vote> {
    let mut last: BTreeMap<&Principal, &Vote> = BTreeMap::new();
    for vote in &finding.votes {
        if is_peer(&vote.voter, &finding.author, pull_author) {
            last.insert(&vote.voter, vote);
        }
    }
    last.into_values().collect()
}

/// How many confirmations there are. With `distinct_models` the confirmations by
/// agents on one model count once; agents whose model is not known count as one.
fn confirmations(votes: &[&Vote], policy: &Policy) -> u32 {
    let confirming = votes.iter().filter(|vote| vote.confirms);
    let count = if policy.distinct_models {
        let mut others = 0;
        let mut models = BTreeSet::new();
        for vote in confirming {
            if vote.voter.kind == PrincipalKind::Agent {
                models.insert(vote.model.as_deref());
            } else {
                others += 1;
            }
        }
        models.len() + others
    } else {
        confirming.count()
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Where `finding` stands by its votes. A finding that was cleared stays so:
/// votes do not bring it back.
///
/// Confirmed by the quorum → `consensus_ready`; else refuted by a peer →
/// `disputed`; else `open`.
pub fn status_after(finding: &Finding, policy: &Policy, pull_author: Option<&Principal>) -> Status {
    if !finding.is_live() {
        return finding.status;
    }
    let votes = effective_votes(finding, pull_author);
    if confirmations(&votes, policy) >= policy.quorum(finding.priority) {
        Status::ConsensusReady
    } else if votes.iter().any(|vote| !vote.confirms) {
        Status::Disputed
    } else {
        Status::Open
    }
}

/// A vote that is not taken. The text says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VoteError {
    /// An author voted on his own finding.
    #[error("nobody confirms or refutes a finding of their own: a peer has to")]
    OwnFinding,
    /// The pull request's author voted.
    #[error("the pull request's author is not a peer of its findings: somebody else has to look")]
    PullAuthor,
    /// The system voted.
    #[error("the system does not vote")]
    System,
    /// No evidence.
    #[error("say what you read that confirms or refutes it: a vote needs evidence")]
    NoEvidence,
    /// The finding no longer counts.
    #[error("the finding is {0}: there is nothing to vote on any more")]
    NotLive(Status),
}

/// Whether `vote` may be taken on `finding`.
pub fn check_vote(finding: &Finding, vote: &Vote, pull_author: Option<&Principal>) -> Result<(), VoteError> {
    if vote.voter.kind == PrincipalKind::System {
        return Err(VoteError::System);
    }
    if vote.voter == finding.author {
        return Err(VoteError::OwnFinding);
    }
    if Some(&vote.voter) == pull_author {
        return Err(VoteError::PullAuthor);
    }
    if vote.evidence.trim().is_empty() {
        return Err(VoteError::NoEvidence);
    }
    if !finding.is_live() {
        return Err(VoteError::NotLive(finding.status));
    }
    Ok(())
}

/// How somebody wants to clear a finding by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clearance {
    /// It is wrong or does not matter.
    Dismiss,
    /// It is right, and the owner accepts the risk.
    Waive,
    /// It was mended: only a claim, which the next pass checks.
    Resolve,
}

/// What a clearance that was let through does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleared {
    /// The finding takes this status.
    Now(Status),
    /// Nothing yet: the next pass looks.
    Claimed,
}

/// A clearance that is refused. The text says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClearanceError {
    /// The finding no longer counts.
    #[error("the finding is {0} already")]
    NotLive(Status),
    /// A machine dismissed what it did not file.
    #[error("only a person can dismiss a finding of somebody else")]
    NotYours,
    /// The pull request's author dismissed somebody else's finding.
    #[error("the pull request's author cannot dismiss a finding on it: ask a reviewer, or mend it and push")]
    PullAuthor,
    /// Neither the owner nor the author of the finding.
    #[error("only somebody who may write the base branch can do that")]
    NotOwner,
    /// A machine waived.
    #[error("only a person can accept a risk")]
    NotAPerson,
}

/// Decides a clearance by name. `owner` = `by` may write the base branch; the
/// caller has asked the forge.
///
/// A finding's author may always dismiss it. Beyond that only people clear:
/// owners dismiss (unless the pull request is their own) and waive.
pub fn clear(
    finding: &Finding,
    by: &Principal,
    how: Clearance,
    owner: bool,
    pull_author: Option<&Principal>,
) -> Result<Cleared, ClearanceError> {
    if !finding.is_live() {
        return Err(ClearanceError::NotLive(finding.status));
    }
    let person = by.kind == PrincipalKind::Human;
    match how {
        Clearance::Resolve => Ok(Cleared::Claimed),
        Clearance::Dismiss if by == &finding.author && by.kind != PrincipalKind::System => {
            Ok(Cleared::Now(Status::Dismissed))
        }
        Clearance::Dismiss if !person => Err(ClearanceError::NotYours),
        Clearance::Dismiss if Some(by) == pull_author => Err(ClearanceError::PullAuthor),
        Clearance::Waive if !person => Err(ClearanceError::NotAPerson),
        Clearance::Dismiss | Clearance::Waive if !owner => Err(ClearanceError::NotOwner),
        Clearance::Dismiss => Ok(Cleared::Now(Status::Dismissed)),
        Clearance::Waive => Ok(Cleared::Now(Status::Waived)),
    }
}

/// What the verifier read for one finding, from the blob of this head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// The blob exists and has the anchored lines.
    pub place_exists: bool,
    /// The lines are the quoted ones ([`super::grounding::quote_stands`]).
    pub quote_stands: bool,
    /// The rule, given the whole blob, still says so; `None` = it cannot tell.
    pub rule_holds: Option<bool>,
    /// At least one anchored line is added or changed by this change.
    pub on_changed_line: bool,
    /// The tool ran on this head, or its report was given by hand.
    pub run_of_this_head: bool,
}

/// The verifier's vote: what makes a rule's finding *verified*, and another
/// tool's result confirmed. `None` = it cannot tell; the finding stays as it is.
///
/// - A **rule's** finding is verified when its place exists in the blob, the
///   quoted lines stand there, and the rule, run on the whole blob, says the same
///   again. A rule that no longer says so refutes.
/// - A **tool's** result is confirmed when its place exists on this head, on a
///   changed line, and the run is of this head.
/// - What a model or a person said is for peers.
pub fn verifier_vote(finding: &Finding, reading: &Reading) -> Option<Vote> {
    let vote = |confirms, evidence: &str| {
        Some(Vote {
            voter: Principal::verifier(),
            model: None,
            confirms,
            evidence: evidence.to_owned(),
        })
    };
    match &finding.provenance {
        Provenance::Rule(_) => match (reading.place_exists && reading.quote_stands, reading.rule_holds) {
            (true, Some(true)) => vote(
                true,
                "verified: the rule says the same of the whole file on this head",
            ),
            (true, Some(false)) => vote(false, "the rule does not hold when the whole file is read"),
            _ => None,
        },
        Provenance::Tool(_)
            if reading.place_exists && reading.on_changed_line && reading.run_of_this_head =>
        {
            vote(
                true,
                "confirmed: the place exists on this head, on a changed line, and the report is of it",
            )
        }
        Provenance::Tool(_) | Provenance::Model | Provenance::Human => None,
    }
}

/// The priority that another tool's result may have: at most P1, unless the
/// policy maps its rule higher.
pub fn tool_priority(claimed: Priority, mapped: Option<Priority>) -> Priority {
    mapped.unwrap_or_else(|| claimed.max(Priority::P1))
}

/// How two findings on one place contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contradiction {
    /// Two or more priorities apart.
    Priority,
    /// One calls it a bug, the other a suggestion.
    Kind,
}

/// Two live findings on one place that contradict each other. Shown; neither
/// status changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Disagreement {
    /// The one with the smaller id.
    pub first: FindingId,
    /// The other.
    pub second: FindingId,
    /// How.
    pub how: Contradiction,
}

/// Every disagreement among the live findings, in the order of the ids, at most
/// `max` of them, with the number of all. One place = the same side of one path,
/// overlapping lines.
pub fn disagreements(findings: &[Finding], max: usize) -> (Vec<Disagreement>, usize) {
    let mut placed: Vec<_> = findings
        .iter()
        .filter(|finding| finding.is_live())
        .filter_map(|finding| finding.anchor.as_ref().map(|anchor| (anchor, finding)))
        .collect();
    placed.sort_by_key(|(anchor, finding)| ((*anchor).clone(), finding.id.clone()));
    let mut found = Vec::new();
    for (i, (anchor, finding)) in placed.iter().enumerate() {
        let near = placed[i + 1..].iter().filter(|(other, _)| {
            // Not `take_while`: the order is by path, side, start, so it could be; clarity first.
            other.path == anchor.path
                && other.side == anchor.side
                && other.start_line <= anchor.end_line
                && anchor.start_line <= other.end_line
        });
        for (_, other) in near {
            if let Some(how) = contradiction(finding, other) {
                let (first, second) = if finding.id <= other.id {
                    (finding, other)
                } else {
                    (other, finding)
                };
                found.push(Disagreement {
                    first: first.id.clone(),
                    second: second.id.clone(),
                    how,
                });
            }
        }
    }
    found.sort();
    let count = found.len();
    found.truncate(max);
    (found, count)
}

fn contradiction(a: &Finding, b: &Finding) -> Option<Contradiction> {
    if (a.priority as u8).abs_diff(b.priority as u8) >= 2 {
        return Some(Contradiction::Priority);
    }
    matches!(
        (a.kind, b.kind),
        (Kind::Bug, Kind::Suggestion) | (Kind::Suggestion, Kind::Bug)
    )
    .then_some(Contradiction::Kind)
}

#[cfg(test)]
#[path = "consensus_tests.rs"]
mod tests;
