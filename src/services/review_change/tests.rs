use std::future::Future;

use async_trait::async_trait;

use super::*;
use crate::{
    domain::{
        diff::ChangedFile,
        review::finding::{Axis, Confidence, Kind, Priority, Provenance},
    },
    ports::analyzer::Report,
};

/// How many findings the talker has.
const MANY: usize = 50;

/// A change without files, whose every blob is three lines.
struct Blank(Sha, Coverage);

#[async_trait]
impl Change for Blank {
    fn merge_base(&self) -> &Sha {
        &self.0
    }

    fn head(&self) -> Option<&Sha> {
        Some(&self.0)
    }

    fn files(&self) -> &[ChangedFile] {
        &[]
    }

    fn coverage(&self) -> &Coverage {
        &self.1
    }

    async fn read(&self, _: Side, _: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(Some(b"one\ntwo\nthree\n".to_vec()))
    }

    async fn read_base_tip(&self, _: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(None)
    }

    async fn read_at(&self, _: &Sha, _: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(None)
    }
}

/// A reviewer that has the same to say of every file.
struct Talker;

#[async_trait]
impl Analyzer for Talker {
    fn name(&self) -> &'static str {
        "talker"
    }

    fn axis(&self) -> Axis {
        Axis::Correctness
    }

    async fn analyze(&self, _: &dyn Change) -> Result<Report, ChangeError> {
        let draft = |n| Draft {
            kind: Kind::Bug,
            priority: Priority::P2,
            confidence: Confidence::new(0.9).unwrap(),
            axis: Axis::Correctness,
            title: "Two".into(),
            body: String::new(),
            suggestion: None,
            anchor: Some(Anchor {
                path: format!("file-{n}"),
                side: Side::Right,
                start_line: 2,
                end_line: 2,
            }),
            quote: Some("two".into()),
            secret: false,
            provenance: Provenance::Rule("talker/two".into()),
        };
        Ok(Report {
            state: ContributionState::Complete,
            note: None,
            drafts: (0..MANY).map(draft).collect(),
        })
    }

    fn holds_in_blob(&self, _: &Finding, _: &[u8], _: &[&[u8]]) -> Option<bool> {
        Some(true)
    }
}

fn blank() -> Blank {
    Blank("a".repeat(40).parse().unwrap(), Coverage::default())
}

/// Does the work on one thread, and says how often something else had its turn meanwhile.
async fn turns_beside<T>(work: impl Future<Output = T>) -> (T, usize) {
    let mut turns = 0;
    let others = async {
        loop {
            turns += 1;
            tokio::task::yield_now().await;
        }
    };
    let done = tokio::select! {
        biased;
        done = work => done,
        () = others => unreachable!("it never ends"),
    };
    (done, turns)
}

/// The lease is kept by the same thread: work without a wait in it would lose it.
#[tokio::test]
async fn others_have_their_turn_between_two_findings() {
    let (change, fingerprinter) = (blank(), Fingerprinter::new([7; 32]));
    let (asked, turns) = turns_beside(ask(&Talker, &change, &fingerprinter)).await;
    let asked = asked.unwrap();
    assert_eq!(asked.findings.len(), MANY);
    assert!(turns >= MANY, "while placing: {turns}");

    let findings: Vec<Finding> = asked
        .findings
        .into_iter()
        .enumerate()
        .map(|(n, placed)| placed.into_finding(FindingId::new(format!("f{n}")), Timestamp(0)))
        .collect();
    let analyzers: [Box<dyn Analyzer>; 1] = [Box::new(Talker)];
    let (votes, turns) = turns_beside(verify(&findings, &change, &analyzers, &fingerprinter)).await;
    assert_eq!(votes.len(), MANY);
    assert!(turns >= MANY, "while verifying: {turns}");
}
