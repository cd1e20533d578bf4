//! What a pass proved, frozen when it was finalized: the PASS document of
//! `jury review --format json` and `jury demo --json`.

use serde::{Deserialize, Serialize};

use crate::domain::{
    ids::{FindingId, Sha},
    policy::Gate,
    principal::Principal,
    secret::conceal,
    words::words,
};

use super::{
    axis::AxisResult,
    finding::{Axis, Finding, Kind, Priority, Provenance, Side, Status},
    verdict::judge,
};

words! {
    /// What a pass comes to; later is worse.
    pub enum Verdict {
        /// Nothing that was looked for stands in the way.
        Ship = "ship",
        /// A person has to look before this merges.
        Hold = "hold",
        /// This must not merge.
        Block = "block",
    }
}

/// The frozen result of one pass. Field names are a public interface: keys may
/// be added, none renamed, and each is always present.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassSnapshot {
    /// The head that was reviewed; `null` for a working tree.
    pub head_sha: Option<Sha>,
    /// The verdict.
    pub verdict: Verdict,
    /// How sure: 0.5 to 1 (DESIGN §5.5).
    pub confidence: f64,
    /// What the owner's policy made of the check when the pass was finalized.
    pub gate: Gate,
    /// Every axis that has a contributor or is gated.
    pub axes: Vec<AxisResult>,
    /// Every finding live then, or whose status this pass changed.
    pub findings: Vec<FindingSnapshot>,
}

impl PassSnapshot {
    /// Comes to the verdict and freezes it. `findings` are the space's live ones and
    /// those whose status this pass changed; they are kept heaviest first, then by place.
    pub fn freeze(head_sha: Option<Sha>, gate: Gate, axes: Vec<AxisResult>, findings: &[Finding]) -> Self {
        let judgement = judge(findings, &axes);
        let mut kept: Vec<&Finding> = findings.iter().collect();
        kept.sort_by(|a, b| (a.priority, &a.anchor, &a.id).cmp(&(b.priority, &b.anchor, &b.id)));
        Self {
            head_sha,
            verdict: judgement.verdict,
            confidence: judgement.confidence,
            gate,
            axes,
            findings: kept.into_iter().map(FindingSnapshot::from).collect(),
        }
    }
}

/// A finding as it stood when the pass was finalized, for people: a token in its words or
/// in its path is masked, so the path is not for requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of `Finding`, flattened")]
pub struct FindingSnapshot {
    pub id: FindingId,
    pub kind: Kind,
    pub priority: Priority,
    pub confidence: f64,
    pub axis: Axis,
    pub path: Option<String>,
    pub side: Option<Side>,
    pub start_line: Option<u32>,
    pub end_line: Option<u32>,
    pub status: Status,
    pub author: Principal,
    pub confirmed_by: Vec<Principal>,
    pub provenance: Provenance,
    pub title: String,
    pub body: String,
    pub advisory: bool,
}

impl From<&Finding> for FindingSnapshot {
    fn from(f: &Finding) -> Self {
        let anchor = f.anchor.as_ref();
        Self {
            id: f.id.clone(),
            kind: f.kind,
            priority: f.priority,
            confidence: f.confidence.get(),
            axis: f.axis,
            path: anchor.map(|a| conceal(&a.path).into_owned()),
            side: anchor.map(|a| a.side),
            start_line: anchor.map(|a| a.start_line),
            end_line: anchor.map(|a| a.end_line),
            status: f.status,
            author: f.author.clone(),
            confirmed_by: f.confirmed_by().cloned().collect(),
            provenance: match &f.provenance {
                Provenance::Rule(rule) => Provenance::Rule(conceal(rule).into_owned()),
                Provenance::Tool(tool) => Provenance::Tool(conceal(tool).into_owned()),
                other => other.clone(),
            },
            title: conceal(&f.title).into_owned(),
            body: conceal(&f.body).into_owned(),
            advisory: f.advisory,
        }
    }
}
