use super::{
    super::{
        finding::{Confidence, Status},
        samples::*,
    },
    *,
};
use ContributionState::{Asked, Complete, Failed, Partial, TimedOut};

fn one(findings: &[Finding], contributions: &[Contribution], coverage: &Coverage) -> AxisResult {
    fold(findings, contributions, coverage, &Policy::default())
        .into_iter()
        .find(|a| a.axis == Axis::Correctness)
        .unwrap()
}

fn state(states: &[ContributionState]) -> AxisResult {
    let contributions: Vec<_> = states
        .iter()
        .enumerate()
        .map(|(n, s)| contribution(&format!("r{n}"), Axis::Correctness, *s))
        .collect();
    one(&[], &contributions, &Coverage::default())
}

#[test]
fn contributors_decide_how_much_was_proved() {
    for (states, expected) in [
        (vec![], AxisState::Unavailable),
        (vec![Complete], AxisState::Pass),
        (vec![Complete, Complete], AxisState::Pass),
        (vec![Partial], AxisState::Partial),
        (vec![Complete, Partial], AxisState::Partial),
        (vec![Complete, Failed], AxisState::Partial),
        (vec![Complete, Asked], AxisState::Partial),
        (vec![Partial, TimedOut], AxisState::Partial),
        (vec![Failed], AxisState::Unavailable),
        (vec![TimedOut, Asked, Failed], AxisState::Unavailable),
    ] {
        assert_eq!(state(&states).state, expected, "{states:?}");
    }
}

#[test]
fn findings_decide_between_pass_warn_and_fail() {
    let complete = [contribution("demo", Axis::Correctness, Complete)];
    for (priority, status, confidence, expected) in [
        (Priority::P0, Status::ConsensusReady, 0.7, AxisState::Fail),
        (Priority::P0, Status::ConsensusReady, 0.6, AxisState::Warn),
        (Priority::P0, Status::Open, 1.0, AxisState::Warn),
        (Priority::P1, Status::Disputed, 1.0, AxisState::Warn),
        (Priority::P1, Status::ConsensusReady, 1.0, AxisState::Warn),
        (Priority::P2, Status::ConsensusReady, 1.0, AxisState::Pass),
        (Priority::P0, Status::Waived, 1.0, AxisState::Pass),
    ] {
        let mut found = finding("f1");
        found.priority = priority;
        found.status = status;
        found.confidence = Confidence::new(confidence).unwrap();
        assert_eq!(
            one(&[found.clone()], &complete, &Coverage::default()).state,
            expected,
            "{found:?}"
        );
        // The worst wins.
        let failed = [contribution("demo", Axis::Correctness, Failed)];
        let worst = expected.max(AxisState::Unavailable);
        assert_eq!(one(&[found], &failed, &Coverage::default()).state, worst);
    }
}

#[test]
fn a_list_of_files_that_is_not_whole_makes_every_contributing_axis_partial() {
    let truncated = Coverage {
        truncated: Some("the forge lists 3,000 files at most.".into()),
        ..Coverage::default()
    };
    let contributions = [
        contribution("demo", Axis::Correctness, Complete),
        contribution("secrets", Axis::Security, Complete),
        contribution("test_gap", Axis::TestGap, Complete),
    ];
    let axes = fold(&[], &contributions, &truncated, &Policy::default());
    assert_eq!(axes.len(), 3);
    for axis in axes {
        assert_eq!(axis.state, AxisState::Partial);
        assert!(
            axis.note.unwrap().starts_with(
                "The list of changed files is not complete: the forge lists 3,000 files at most."
            )
        );
    }
}

#[test]
fn the_notes_say_what_was_and_was_not_seen() {
    let note = |contributions: &[Contribution]| one(&[], contributions, &Coverage::default()).note.unwrap();
    let with_note = |name: &str, state, words: &str| Contribution {
        note: Some(words.into()),
        ..contribution(name, Axis::Correctness, state)
    };
    assert_eq!(note(&[]), "Nothing looked at this.");
    assert_eq!(
        note(&[contribution("conflicts", Axis::Correctness, Complete)]),
        "Checked by rules only (conflicts)."
    );
    assert_eq!(
        note(&[contribution("agent:reader", Axis::Correctness, Complete)]),
        "Looked at by 1 reviewer."
    );
    assert_eq!(
        note(&[
            with_note("conflicts", Partial, "2 files could not be read: a.bin, b.bin."),
            with_note("agent:reader", TimedOut, "line\nbreak"),
        ]),
        "`agent:reader` took too long: line break. `conflicts` could not see everything: \
         2 files could not be read: a.bin, b.bin."
    );
    let many: Vec<_> = (0..9)
        .map(|n| contribution(&format!("r{n}"), Axis::Correctness, Failed))
        .collect();
    assert_eq!(
        note(&many),
        "`r0` failed. `r1` failed. `r2` failed. 6 more did not finish."
    );
}

#[test]
fn an_ungated_axis_is_told_only_when_somebody_was_asked() {
    let axes = |contributions: &[Contribution], policy: &Policy| -> Vec<(Axis, bool, AxisState)> {
        fold(&[], contributions, &Coverage::default(), policy)
            .iter()
            .map(|a| (a.axis, a.gated, a.state))
            .collect()
    };
    let policy = Policy::default();
    let unseen = [
        (Axis::Correctness, true, AxisState::Unavailable),
        (Axis::Security, true, AxisState::Unavailable),
    ];
    assert_eq!(axes(&[], &policy), unseen);
    let mut open = policy;
    open.gated.insert(Axis::Security, false);
    open.gated.insert(Axis::Ci, true);
    assert_eq!(
        axes(&[contribution("test_gap", Axis::TestGap, Complete)], &open),
        [
            (Axis::Correctness, true, AxisState::Unavailable),
            (Axis::TestGap, false, AxisState::Pass),
            (Axis::Ci, true, AxisState::Unavailable),
        ]
    );
}
