use super::{
    super::{finding::Axis, samples::*},
    *,
};

fn weigh(priority: Priority, status: Status, confidence: f64, advisory: bool) -> Verdict {
    let mut finding = finding("f1");
    finding.priority = priority;
    finding.status = status;
    finding.confidence = Confidence::new(confidence).unwrap();
    finding.advisory = advisory;
    weight(&finding)
}

#[test]
fn each_finding_weighs_by_the_first_rule_it_meets() {
    use {Priority::*, Status::*, Verdict::*};
    for (priority, status, confidence, advisory, expected) in [
        (P0, ConsensusReady, 0.7, false, Block),
        (P0, ConsensusReady, 0.7, true, Block),
        (P0, ConsensusReady, 0.699, false, Hold),
        (P0, Open, 1.0, false, Hold),
        (P0, Disputed, 1.0, false, Hold),
        (P0, Open, 0.0, true, Hold),
        (P1, Open, 0.1, false, Hold),
        (P1, ConsensusReady, 1.0, false, Hold),
        (P1, Disputed, 1.0, false, Ship),
        (P1, Open, 1.0, true, Ship),
        (P1, ConsensusReady, 1.0, true, Ship),
        (P2, ConsensusReady, 1.0, false, Ship),
        (P3, Open, 1.0, false, Ship),
        (P0, Resolved, 1.0, false, Ship),
        (P0, Dismissed, 1.0, false, Ship),
        (P1, Waived, 1.0, false, Ship),
    ] {
        assert_eq!(
            weigh(priority, status, confidence, advisory),
            expected,
            "{priority} {status} {confidence} {advisory}"
        );
    }
}

fn axis(state: AxisState, gated: bool) -> AxisResult {
    AxisResult {
        axis: Axis::Security,
        state,
        gated,
        note: None,
    }
}

#[test]
fn axes_fold_only_upward_and_only_when_gated() {
    use {AxisState::*, Verdict::*};
    for (state, gated, expected) in [
        (Pass, true, Ship),
        (Warn, true, Ship),
        (Partial, true, Hold),
        (Unavailable, true, Hold),
        (Fail, true, Block),
        (Partial, false, Ship),
        (Unavailable, false, Ship),
        (Fail, false, Ship),
    ] {
        assert_eq!(
            judge(&[], &[axis(state, gated)]).verdict,
            expected,
            "{state} {gated}"
        );
    }
    let mut p0 = finding("f1");
    p0.priority = Priority::P0;
    p0.status = Status::ConsensusReady;
    assert_eq!(
        judge(&[p0], &[axis(AxisState::Pass, true)]).verdict,
        Verdict::Block
    );
}

fn p1(id: &str, confidence: f64) -> Finding {
    let mut finding = finding(id);
    finding.confidence = Confidence::new(confidence).unwrap();
    finding
}

#[test]
fn confidence_is_the_mean_less_the_deviation_of_those_that_decided() {
    for (confidences, expected) in [
        (vec![0.9], 0.9),
        (vec![0.9, 0.7], 0.7),
        (vec![1.0, 0.8, 0.6], 0.8 - (0.08_f64 / 3.0).sqrt()),
        (vec![0.2], 0.5),
        (vec![1.0, 0.0], 0.5),
        (vec![1.0, 1.0], 1.0),
    ] {
        let findings: Vec<_> = confidences
            .iter()
            .enumerate()
            .map(|(n, c)| p1(&format!("f{n}"), *c))
            .collect();
        let judged = judge(&findings, &[]);
        assert_eq!(judged.verdict, Verdict::Hold);
        assert!(
            (judged.confidence - expected).abs() < 1e-12,
            "{confidences:?}: {}",
            judged.confidence
        );
    }
    // A P2 beside it does not count.
    let mut low = p1("f9", 0.1);
    low.priority = Priority::P2;
    assert!((judge(&[p1("f1", 0.9), low], &[]).confidence - 0.9).abs() < 1e-12);
    // An axis decides without findings.
    let judged = judge(&[], &[axis(AxisState::Partial, true)]);
    assert_eq!((judged.verdict, judged.confidence), (Verdict::Hold, 1.0));
    assert_eq!(judged.reasons, [Reason::Axis(Axis::Security, AxisState::Partial)]);
    assert_eq!(judge(&[], &[]).confidence, 1.0);
}

#[test]
fn the_reasons_are_those_that_decided() {
    let mut p0 = finding("f1");
    p0.priority = Priority::P0;
    p0.status = Status::ConsensusReady;
    let judged = judge(
        &[p1("f2", 0.9), p0],
        &[axis(AxisState::Partial, true), axis(AxisState::Fail, true)],
    );
    assert_eq!(
        judged.reasons,
        [
            Reason::Finding(FindingId::new("f1")),
            Reason::Axis(Axis::Security, AxisState::Fail)
        ]
    );
}

#[test]
fn only_late_remarks_below_p0_on_unchanged_code_are_advisory() {
    for priority in Priority::ALL {
        for (finished, unchanged) in [(false, false), (false, true), (true, false), (true, true)] {
            let expected = *priority != Priority::P0 && finished && unchanged;
            assert_eq!(is_advisory(*priority, finished, unchanged), expected);
        }
    }
}
