//! `jury review`: one pass over a change at hand, kept nowhere.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::{FailOn, Fault, Progress};
use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        ids::FindingId,
        policy::{Locked, Policy},
        review::{
            coverage::Coverage,
            finding::Finding,
            fingerprint::Fingerprinter,
            snapshot::{PassSnapshot, Verdict},
        },
        secret::conceal,
        time::Timestamp,
    },
    ports::{analyzer::Analyzer, change::Change},
    services::review_change::{self, PlacedFinding},
};

/// What a review came to.
#[derive(Debug, Clone)]
pub struct Reviewed {
    /// The pass.
    pub snapshot: PassSnapshot,
    /// What could not be seen.
    pub coverage: Coverage,
    /// The findings with everything that the pass's document leaves out.
    pub findings: Vec<Finding>,
    /// A path of the change, where remarks on all of it can be put.
    pub somewhere: Option<String>,
}

impl Reviewed {
    /// Whether the verdict is at or over the threshold.
    pub fn fails(&self, fail_on: FailOn) -> bool {
        match fail_on {
            FailOn::Block => self.snapshot.verdict >= Verdict::Block,
            FailOn::Hold => self.snapshot.verdict >= Verdict::Hold,
            FailOn::Never => false,
        }
    }
}

/// Reviews `change` under the policy at the tip of its base.
///
/// The same change gives the same result, ids included. `key` is what secrets are
/// fingerprinted with; it appears in nothing that is handed back.
pub async fn review(
    change: &dyn Change,
    analyzers: &[Box<dyn Analyzer>],
    key: [u8; 32],
    progress: &Progress,
) -> Result<Reviewed, Fault> {
    let policy = review_change::policy(change, &Policy::default(), &Locked::default()).await?;
    let fingerprinter = Fingerprinter::new(key);
    let mut contributions = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for analyzer in analyzers {
        progress.say(&format!("reviewing: {}", analyzer.name()));
        let asked = review_change::ask(analyzer.as_ref(), change, &fingerprinter).await?;
        contributions.extend(asked.contributions);
        for placed in asked.findings {
            // Two reports of one tool say the same once.
            if known.insert(placed.fingerprint().to_owned()) {
                let id = id_of(&placed);
                findings.push(placed.into_finding(id, Timestamp::default()));
            }
        }
    }
    progress.say("confirming what was found");
    let votes = review_change::verify(&findings, change, analyzers, &fingerprinter).await;
    for (finding, vote) in findings.iter_mut().zip(votes) {
        finding.votes.extend(vote);
    }
    review_change::settle(&mut findings, &known, &contributions, &policy, None);
    let coverage = change.coverage().clone();
    let snapshot = review_change::fold(change.head(), &findings, &contributions, &coverage, &policy);
    // One that is shown as it is: a name that holds a secret would not be the file's.
    let kept = |file: &&ChangedFile| file.status != FileStatus::Removed && conceal(&file.path) == file.path;
    let somewhere = change.files().iter().find(kept).map(|file| file.path.clone());
    Ok(Reviewed {
        snapshot,
        coverage,
        findings,
        somewhere,
    })
}

/// An id that is the same whenever the same change is reviewed. It is made of the
/// fingerprint; where that speaks of a secret, whose hash must not get out, of the
/// finding's place.
fn id_of(placed: &PlacedFinding) -> FindingId {
    let draft = placed.draft();
    let known = if draft.secret {
        format!("{} {:?}", draft.provenance, draft.anchor)
    } else {
        placed.fingerprint().to_owned()
    };
    let hash = Sha256::digest(known.as_bytes());
    FindingId::new(
        hash.iter()
            .take(10)
            .map(|b| format!("{b:02x}"))
            .collect::<String>(),
    )
}
