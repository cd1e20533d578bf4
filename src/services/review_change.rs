//! The part of a pass that needs no store: ask a reviewer, place what it says,
//! let the verifier check it, read the policy, come to a verdict. `jury review`
//! and the server's passes are made of the same steps.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::AssertUnwindSafe,
};

use futures::FutureExt;

use crate::{
    domain::{
        ids::{FindingId, Sha},
        policy::{self, Locked, Policy},
        principal::{Principal, PrincipalKind},
        review::{
            axis, consensus,
            consensus::Reading,
            coverage::Coverage,
            finding::{Anchor, Draft, Finding, Side, Status, Vote},
            fingerprint::Fingerprinter,
            grounding::{self, Placed},
            resolution::{self, Seen},
            reviewer::{Contribution, ContributionState},
            snapshot::PassSnapshot,
        },
        time::Timestamp,
    },
    ports::{
        analyzer::Analyzer,
        change::{Change, ChangeError},
    },
};

/// Where a repository keeps its policy, at the tip of the base branch.
pub const POLICY_FILE: &str = ".github/jury.toml";

/// What a reviewer handed in, placed.
#[derive(Debug, Clone)]
pub struct Asked {
    /// How far it came: one for each axis that it answers for, its main one first.
    pub contributions: Vec<Contribution>,
    /// Its findings, one for each fingerprint.
    pub findings: Vec<PlacedFinding>,
}

/// A finding that is placed and can be recognised again, but has no id yet.
#[derive(Debug, Clone)]
pub struct PlacedFinding {
    draft: Draft,
    fingerprint: String,
    author: Principal,
}

impl PlacedFinding {
    /// What recognises it.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Its weight.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Gives it an id and a time.
    pub fn into_finding(self, id: FindingId, filed_at: Timestamp) -> Finding {
        let Self {
            draft,
            fingerprint,
            author,
        } = self;
        Finding {
            id,
            fingerprint,
            kind: draft.kind,
            priority: draft.priority,
            confidence: draft.confidence,
            axis: draft.axis,
            title: draft.title,
            body: draft.body,
            suggestion: draft.suggestion,
            anchor: draft.anchor,
            quote: draft.quote,
            provenance: draft.provenance,
            author,
            status: Status::Open,
            votes: Vec::new(),
            advisory: false,
            filed_at,
        }
    }
}

/// Lets one reviewer look at the change. A reviewer that breaks, panics, or says
/// something that cannot be placed makes its contribution say so.
///
/// # Errors
/// What passes: the forge does not answer for now, or the installation is closed. A
/// look that ends on it would be taken for one that found nothing more.
pub async fn ask(
    analyzer: &dyn Analyzer,
    change: &dyn Change,
    fingerprinter: &Fingerprinter,
) -> Result<Asked, ChangeError> {
    let author = Principal::new(PrincipalKind::Analyzer, analyzer.name());
    let contributions = |state, note: Option<String>| {
        let on = |reviewer, axis| Contribution {
            reviewer,
            axis,
            state,
            note: note.clone(),
        };
        // A contribution is known by its reviewer's name, so the further ones carry the axis in it.
        let further = analyzer.also().iter().filter(|axis| **axis != analyzer.axis());
        std::iter::once(on(analyzer.name().to_owned(), analyzer.axis()))
            .chain(further.map(|axis| on(format!("{} ({axis})", analyzer.name()), *axis)))
            .collect()
    };
    let report = match AssertUnwindSafe(analyzer.analyze(change)).catch_unwind().await {
        Ok(Ok(report)) => report,
        Ok(Err(passing @ (ChangeError::Later { .. } | ChangeError::Closed(_)))) => return Err(passing),
        Ok(Err(error)) => {
            tracing::warn!(reviewer = analyzer.name(), %error, "a reviewer failed");
            let note = "it could not read the change".to_owned();
            return Ok(Asked {
                contributions: contributions(ContributionState::Failed, Some(note)),
                findings: vec![],
            });
        }
        Err(_) => {
            tracing::error!(reviewer = analyzer.name(), "a reviewer panicked");
            let note = "it broke".to_owned();
            return Ok(Asked {
                contributions: contributions(ContributionState::Failed, Some(note)),
                findings: vec![],
            });
        }
    };
    let mut findings: BTreeMap<String, PlacedFinding> = BTreeMap::new();
    let mut order = Vec::new();
    let mut lost = 0_usize;
    for placed in place(report.drafts, change).await? {
        match placed {
            Ok(placed) => {
                let fingerprint = fingerprinter.fingerprint(&placed);
                order.push(fingerprint.clone());
                findings.entry(fingerprint.clone()).or_insert(PlacedFinding {
                    draft: placed.draft,
                    fingerprint,
                    author: author.clone(),
                });
            }
            Err(reason) => {
                lost += 1;
                tracing::warn!(reviewer = analyzer.name(), %reason, "a finding could not be placed");
            }
        }
    }
    let mut state = report.state;
    let mut note = report.note;
    if lost > 0 {
        // What it saw and we could not place is not proved to be harmless.
        state = state.max(ContributionState::Partial);
        let words = format!("{lost} of its findings could not be placed");
        note = Some(note.map_or(words.clone(), |n| format!("{n}; {words}")));
    }
    let findings = order
        .into_iter()
        .filter_map(|fingerprint| findings.remove(&fingerprint))
        .collect();
    Ok(Asked {
        contributions: contributions(state, note),
        findings,
    })
}

/// Places drafts, in their order. The file that several of them quote is read once.
async fn place(drafts: Vec<Draft>, change: &dyn Change) -> Result<Vec<Result<Placed, String>>, ChangeError> {
    type Numbered = Vec<(usize, Draft)>;
    let mut files: BTreeMap<Option<(Side, String)>, Numbered> = BTreeMap::new();
    for (index, draft) in drafts.into_iter().enumerate() {
        let file = draft.anchor.as_ref().map(|a| (a.side, a.path.clone()));
        files.entry(file).or_default().push((index, draft));
    }
    let mut placed = BTreeMap::new();
    for (file, drafts) in files {
        let blob = match &file {
            Some((side, path)) => change.shown(*side, path).await,
            None => Ok(None),
        };
        if let Err(passing @ (ChangeError::Later { .. } | ChangeError::Closed(_))) = blob {
            return Err(passing);
        }
        let quotes = drafts.iter().filter_map(|(_, draft)| draft.quote.as_deref());
        let text = match &blob {
            Ok(blob) => Ok(blob.as_ref().map(|blob| grounding::Text::new(blob, quotes))),
            Err(error) => Err(error.to_string()),
        };
        for (index, draft) in drafts {
            let outcome = match &text {
                Ok(text) => grounding::ground_in(draft, text.as_ref()).map_err(|e| e.to_string()),
                Err(error) => Err(error.clone()),
            };
            placed.insert(index, outcome);
            // Where the work is let go when nobody wants it any more.
            tokio::task::yield_now().await;
        }
    }
    Ok(placed.into_values().collect())
}

/// A whole file of one side, and where its lines are.
type Blob = std::sync::Arc<(Vec<u8>, grounding::LineStarts)>;

/// The last blob that was read: findings come file by file.
struct Blobs<'a> {
    change: &'a dyn Change,
    last: Option<(Side, String, Option<Blob>)>,
}

impl<'a> Blobs<'a> {
    fn new(change: &'a dyn Change) -> Self {
        Self { change, last: None }
    }

    async fn read(&mut self, side: Side, path: &str) -> Result<Option<Blob>, ChangeError> {
        if let Some((known_side, known_path, blob)) = &self.last
            && *known_side == side
            && known_path == path
        {
            return Ok(blob.clone());
        }
        let with_lines = |blob: Vec<u8>| {
            let starts = grounding::LineStarts::new(&blob);
            Blob::new((blob, starts))
        };
        let blob = self.change.read(side, path).await?.map(with_lines);
        self.last = Some((side, path.to_owned(), blob.clone()));
        Ok(blob)
    }
}

/// Lets the verifier judge findings against the blobs of this head, in order.
/// `None` = it cannot tell.
pub async fn verify(
    findings: &[Finding],
    change: &dyn Change,
    analyzers: &[Box<dyn Analyzer>],
    fingerprinter: &Fingerprinter,
) -> Vec<Option<Vote>> {
    let mut blobs = Blobs::new(change);
    let mut votes = Vec::with_capacity(findings.len());
    for finding in findings {
        // Judging is work without a wait in it, and the lease must be kept meanwhile.
        tokio::task::yield_now().await;
        let reading = read(finding, &mut blobs, change, analyzers, fingerprinter).await;
        votes.push(reading.and_then(|reading| consensus::verifier_vote(finding, &reading)));
    }
    votes
}

async fn read(
    finding: &Finding,
    blobs: &mut Blobs<'_>,
    change: &dyn Change,
    analyzers: &[Box<dyn Analyzer>],
    fingerprinter: &Fingerprinter,
) -> Option<Reading> {
    let analyzer = analyzers.iter().find(|a| a.name() == finding.author.name);
    let Some(anchor) = &finding.anchor else {
        let answer = || analyzer?.stands_in_change(finding, change);
        let holds = std::panic::catch_unwind(AssertUnwindSafe(answer))
            .ok()
            .flatten()?;
        return Some(Reading {
            place_exists: true,
            quote_stands: true,
            rule_holds: Some(holds),
            on_changed_line: true,
            run_of_this_head: true,
        });
    };
    // A blob that cannot be read proves nothing either way.
    let read = blobs.read(anchor.side, &anchor.path).await.ok()??;
    let (blob, starts) = &*read;
    let lines = starts.anchored(blob, anchor);
    let rule_holds = match (analyzer, lines.as_deref()) {
        (Some(analyzer), Some(lines)) => {
            let answer = analyzer.holds_in_change(finding, change, blob, lines);
            AssertUnwindSafe(answer).catch_unwind().await.ok().flatten()
        }
        _ => None,
    };
    Some(Reading {
        place_exists: lines.is_some(),
        quote_stands: lines
            .as_deref()
            .is_some_and(|lines| grounding::quote_stands_on(finding, lines, fingerprinter)),
        rule_holds,
        on_changed_line: is_changed(change, anchor),
        run_of_this_head: true,
    })
}

/// Whether at least one of the anchored lines is added (or, on the left, removed).
fn is_changed(change: &dyn Change, anchor: &Anchor) -> bool {
    let Some(file) = change
        .files()
        .iter()
        .find(|f| f.path_on(anchor.side) == anchor.path)
    else {
        return false;
    };
    (anchor.start_line..=anchor.end_line).any(|line| file.is_changed(anchor.side, line))
}

/// Whether the code that each finding quotes already stood in the same file at an
/// earlier head. `false` when that head cannot be read: then the finding keeps its weight.
pub async fn stood_before(
    change: &dyn Change,
    earlier: &Sha,
    findings: &[Finding],
    fingerprinter: &Fingerprinter,
) -> Vec<bool> {
    let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, finding) in findings.iter().enumerate() {
        if let Some(anchor) = &finding.anchor {
            files.entry(&anchor.path).or_default().push(index);
        }
    }
    let mut stood = vec![false; findings.len()];
    for (path, whose) in files {
        if let Ok(Some(blob)) = change.read_at(earlier, path).await {
            let quoting: Vec<&Finding> = whose.iter().map(|index| &findings[*index]).collect();
            let occurs = fingerprinter.quotes_occur(&quoting, &blob);
            whose
                .iter()
                .zip(occurs)
                .for_each(|(index, occurs)| stood[*index] = occurs);
        }
    }
    stood
}

/// The policy in force: the repository's, from the tip of its base branch, over the
/// server's, but for the keys that the server locked.
///
/// # Errors
/// Words for the owner when the repository's policy cannot be read or understood. A
/// review under a guessed policy would prove nothing.
pub async fn policy(change: &dyn Change, server: &Policy, locked: &Locked) -> Result<Policy, PolicyFault> {
    let content = change.read_base_tip(POLICY_FILE).await?;
    let mut policy = server.clone();
    if let Some(content) = content {
        let patch = policy::parse(POLICY_FILE, &content).map_err(|error| {
            PolicyFault::Owner(format!("The policy on the base branch is not valid. {error}"))
        })?;
        policy.apply(&patch, locked);
    }
    Ok(policy)
}

/// Why there is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFault {
    /// The owner can mend it; safe to show.
    #[error("{0}")]
    Owner(String),
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ChangeError),
}

/// Where every live finding stands at the end of a pass.
///
/// `seen` holds the fingerprints of what was filed in this pass. A finding that the
/// pass resolves becomes [`Status::Resolved`]; every other stands by its votes.
pub fn settle(
    live: &mut [Finding],
    seen: &BTreeSet<String>,
    contributions: &[Contribution],
    policy: &Policy,
    pull_author: Option<&Principal>,
) {
    let (quote_gone, says_mended) = (BTreeMap::new(), BTreeMap::new());
    let seen = Seen {
        fingerprints: seen,
        contributions,
        quote_gone: &quote_gone,
        says_mended: &says_mended,
        pull_author,
    };
    for finding in live {
        finding.status = if resolution::resolves(finding, &seen) {
            Status::Resolved
        } else {
            consensus::status_after(finding, policy, pull_author)
        };
    }
}

/// Folds a settled pass into its snapshot. `findings` are those that are live or
/// whose status the pass changed.
pub fn fold(
    head: Option<&Sha>,
    findings: &[Finding],
    contributions: &[Contribution],
    coverage: &Coverage,
    policy: &Policy,
) -> PassSnapshot {
    let axes = axis::fold(findings, contributions, coverage, policy);
    PassSnapshot::freeze(head.cloned(), policy.gate, axes, findings)
}

#[cfg(test)]
mod tests;
