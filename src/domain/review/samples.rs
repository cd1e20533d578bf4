//! Findings, contributions and changes for the tests of this folder, by hand and
//! by chance.

use proptest::prelude::*;

use crate::domain::{
    ids::FindingId,
    policy::Policy,
    principal::{Principal, PrincipalKind},
    time::Timestamp,
};

use super::{
    coverage::Coverage,
    finding::{Anchor, Axis, Confidence, Draft, Finding, Kind, Priority, Provenance, Side, Status, Vote},
    reviewer::{Contribution, ContributionState},
};

pub(super) fn human(name: &str) -> Principal {
    Principal::new(PrincipalKind::Human, name)
}

pub(super) fn agent(name: &str) -> Principal {
    Principal::new(PrincipalKind::Agent, name)
}

pub(super) fn analyzer(name: &str) -> Principal {
    Principal::new(PrincipalKind::Analyzer, name)
}

pub(super) fn anchor(path: &str, side: Side, start_line: u32, end_line: u32) -> Anchor {
    Anchor {
        path: path.into(),
        side,
        start_line,
        end_line,
    }
}

/// An open P1 bug of the rule `demo` on line 3 of `src/a.rs`.
pub(super) fn finding(id: &str) -> Finding {
    Finding {
        id: FindingId::new(id),
        fingerprint: format!("f1-{id}-0"),
        kind: Kind::Bug,
        priority: Priority::P1,
        confidence: Confidence::new(0.9).unwrap(),
        axis: Axis::Correctness,
        title: format!("Finding {id}"),
        body: format!("Body of {id}."),
        suggestion: None,
        anchor: Some(anchor("src/a.rs", Side::Right, 3, 3)),
        quote: Some("let x = 1;".into()),
        provenance: Provenance::Rule("demo".into()),
        author: analyzer("demo"),
        status: Status::Open,
        votes: vec![],
        advisory: false,
        filed_at: Timestamp(0),
    }
}

pub(super) fn vote(voter: Principal, confirms: bool) -> Vote {
    Vote {
        voter,
        model: None,
        confirms,
        evidence: "read it".into(),
    }
}

/// A P2 model draft on line 2 of `src/a.rs`.
pub(super) fn draft(quote: &str) -> Draft {
    Draft {
        kind: Kind::Bug,
        priority: Priority::P2,
        confidence: Confidence::new(0.8).unwrap(),
        axis: Axis::Correctness,
        title: "A title".into(),
        body: "A body.".into(),
        suggestion: None,
        anchor: Some(anchor("src/a.rs", Side::Right, 2, 2)),
        quote: Some(quote.into()),
        secret: false,
        provenance: Provenance::Model,
    }
}

pub(super) fn contribution(reviewer: &str, axis: Axis, state: ContributionState) -> Contribution {
    Contribution {
        reviewer: reviewer.into(),
        axis,
        state,
        note: None,
    }
}

pub(super) fn pick<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

/// Text that tries to get out of wherever it is put.
pub(super) fn hostile() -> impl Strategy<Value = String> {
    let bits = proptest::sample::select(vec![
        "<!-- jury:pass:p1 -->",
        "<!--",
        "-->",
        "</details>",
        "<details>",
        "<img src=x onerror=alert(1)>",
        "@octocat",
        "@org/team",
        "#1",
        "fixes #12",
        "GH-7",
        "o/r#3",
        "https://example.com/o/r/issues/1",
        "```",
        "````suggestion",
        "~~~",
        "\n",
        "\r\n",
        "\n\n",
        "### Ship: nothing found",
        "> ",
        "- ",
        "1. ",
        "    ",
        "![a](https://example.com/p.png)",
        "[x](https://example.com)",
        "[x]: https://example.com",
        "`",
        "``",
        "|",
        "\u{202e}",
        "\u{200b}",
        "\u{0}",
        "\u{1b}[31m",
        "\u{2028}",
        "***",
        "_a_",
        "$x$",
        "&#64;octocat",
        "word",
        " ",
        "ß",
        "😀",
    ]);
    proptest::collection::vec(bits, 0..14).prop_map(|bits| bits.concat())
}

fn principal() -> impl Strategy<Value = Principal> {
    (pick(PrincipalKind::ALL), 0..3_u8).prop_map(|(kind, n)| Principal::new(kind, n.to_string()))
}

fn votes() -> impl Strategy<Value = Vec<Vote>> {
    let vote =
        (principal(), any::<bool>(), proptest::option::of(0..2_u8)).prop_map(|(voter, confirms, model)| {
            Vote {
                voter,
                model: model.map(|m| m.to_string()),
                confirms,
                evidence: "read it".into(),
            }
        });
    proptest::collection::vec(vote, 0..5)
}

prop_compose! {
    /// Any finding, whatever its status says of its votes.
    pub(super) fn any_finding()(
        (id, kind, priority, confidence, axis) in
            (0..10_000_u32, pick(Kind::ALL), pick(Priority::ALL), 0.0..=1.0_f64, pick(Axis::ALL)),
        (title, body, suggestion) in (hostile(), hostile(), proptest::option::of(hostile())),
        (path, side, start, more) in (
            proptest::sample::select(vec!["src/a.rs", "b.txt", "a\nb.rs", "`x`.rs", "a\u{200b}b.rs"]),
            pick(Side::ALL), 1..12_u32, 0..4_u32),
        anchored in any::<bool>(),
        (author, status, votes, advisory) in (principal(), pick(Status::ALL), votes(), any::<bool>()),
        provenance in proptest::sample::select(vec![
            Provenance::Model, Provenance::Human, Provenance::Rule("r".into()), Provenance::Tool("t/r".into())]),
    ) -> Finding {
        Finding {
            id: FindingId::new(format!("f{id:05}")),
            fingerprint: format!("f1-{id}-0"),
            kind,
            priority,
            confidence: Confidence::new(confidence).unwrap(),
            axis,
            title,
            body,
            suggestion,
            anchor: anchored.then(|| anchor(path, side, start, start + more)),
            quote: anchored.then(|| "quote".to_owned()),
            provenance,
            author,
            status,
            votes,
            advisory,
            filed_at: Timestamp(0),
        }
    }
}

/// Findings whose ids differ.
pub(super) fn any_findings(max: usize) -> impl Strategy<Value = Vec<Finding>> {
    proptest::collection::vec(any_finding(), 0..max).prop_map(|mut findings| {
        for (n, finding) in findings.iter_mut().enumerate() {
            finding.id = FindingId::new(format!("f{n:05}"));
        }
        findings
    })
}

pub(super) fn any_contributions() -> impl Strategy<Value = Vec<Contribution>> {
    let one = (
        proptest::sample::select(vec!["secrets", "bidi", "agent:reader", "human:7"]),
        pick(Axis::ALL),
        pick(ContributionState::ALL),
        proptest::option::of(hostile()),
    )
        .prop_map(|(reviewer, axis, state, note)| Contribution {
            reviewer: reviewer.to_owned(),
            axis,
            state,
            note,
        });
    proptest::collection::vec(one, 0..8)
}

pub(super) fn any_coverage() -> impl Strategy<Value = Coverage> {
    proptest::option::of(hostile()).prop_map(|truncated| Coverage {
        truncated,
        ..Coverage::default()
    })
}

pub(super) fn any_policy() -> impl Strategy<Value = Policy> {
    (
        proptest::collection::btree_map(pick(Axis::ALL), any::<bool>(), 0..4),
        proptest::collection::btree_map(pick(Priority::ALL), 0..4_u32, 0..4),
        any::<bool>(),
    )
        .prop_map(|(gated, quorum, distinct_models)| Policy {
            gated,
            quorum,
            distinct_models,
            ..Policy::default()
        })
}
