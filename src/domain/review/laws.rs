//! The laws of DESIGN §5, over whatever chance makes up.

use proptest::prelude::*;

use crate::domain::{
    policy::{Gate, Policy},
    principal::{Principal, PrincipalKind},
};

use super::{
    axis::{AxisResult, AxisState, fold},
    consensus::{effective_votes, status_after},
    coverage::Coverage,
    finding::{Axis, Confidence, Finding, Priority, Status, Vote},
    reviewer::{Contribution, ContributionState},
    samples::*,
    snapshot::{PassSnapshot, Verdict},
    verdict::{Judgement, judge},
};

/// From votes to verdict, as a pass does it.
fn conclude(
    findings: &[Finding],
    contributions: &[Contribution],
    coverage: &Coverage,
    policy: &Policy,
    pull_author: Option<&Principal>,
) -> (Judgement, Vec<AxisResult>) {
    let findings: Vec<Finding> = findings
        .iter()
        .map(|f| Finding {
            status: status_after(f, policy, pull_author),
            ..f.clone()
        })
        .collect();
    let axes = fold(&findings, contributions, coverage, policy);
    (judge(&findings, &axes), axes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn adding_a_live_finding_never_improves_a_verdict(
        findings in any_findings(6), more in any_finding(), contributions in any_contributions(),
        coverage in any_coverage(), policy in any_policy(),
    ) {
        let before = conclude(&findings, &contributions, &coverage, &policy, None).0.verdict;
        let mut after = findings;
        after.push(more);
        prop_assert!(conclude(&after, &contributions, &coverage, &policy, None).0.verdict >= before);
    }

    #[test]
    fn adding_an_axis_never_improves_a_verdict(
        findings in any_findings(6), contributions in any_contributions(), coverage in any_coverage(),
        policy in any_policy(), axis in pick(Axis::ALL), state in pick(AxisState::ALL), gated in any::<bool>(),
    ) {
        let axes = fold(&findings, &contributions, &coverage, &policy);
        let before = judge(&findings, &axes).verdict;
        let mut more = axes;
        more.push(AxisResult { axis, state, gated, note: None });
        prop_assert!(judge(&findings, &more).verdict >= before);
    }

    #[test]
    fn gating_one_more_axis_never_improves_a_verdict(
        findings in any_findings(6), contributions in any_contributions(), coverage in any_coverage(),
        policy in any_policy(), axis in pick(Axis::ALL),
    ) {
        let before = conclude(&findings, &contributions, &coverage, &policy, None).0.verdict;
        let mut gated = policy;
        gated.gated.insert(axis, true);
        prop_assert!(conclude(&findings, &contributions, &coverage, &gated, None).0.verdict >= before);
    }

    #[test]
    fn an_axis_gets_no_better_when_a_contributor_gets_worse(
        findings in any_findings(4), mut contributions in any_contributions(), policy in any_policy(),
        which in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!contributions.is_empty());
        let at = which.index(contributions.len());
        contributions[at].state = ContributionState::Complete;
        let best = fold(&findings, &contributions, &Coverage::default(), &policy);
        for state in [ContributionState::Partial, ContributionState::Asked, ContributionState::Failed, ContributionState::TimedOut] {
            contributions[at].state = state;
            let worse = fold(&findings, &contributions, &Coverage::default(), &policy);
            prop_assert_eq!(best.len(), worse.len());
            for (b, w) in best.iter().zip(&worse) {
                prop_assert!(w.state >= b.state, "{:?} became {:?}", b, w);
            }
            let axis = contributions[at].axis;
            let own = worse.iter().find(|w| w.axis == axis).unwrap();
            prop_assert!(own.state >= AxisState::Partial, "{:?}", own);
        }
    }

    #[test]
    fn only_a_named_clearance_improves_a_verdict(
        findings in any_findings(6), contributions in any_contributions(), policy in any_policy(),
        which in any::<prop::sample::Index>(), voter in (pick(PrincipalKind::ALL), 3..6_u8), confirms in any::<bool>(),
    ) {
        prop_assume!(!findings.is_empty());
        let coverage = Coverage::default();
        let before = conclude(&findings, &contributions, &coverage, &policy, None).0.verdict;
        let at = which.index(findings.len());
        let mut after = findings.clone();
        // A voter that nobody heard yet, so that no earlier word is taken back.
        let voter = Principal::new(voter.0, voter.1.to_string());
        after[at].votes.push(Vote { voter, model: Some("m".into()), confirms, evidence: "e".into() });
        let verdict = conclude(&after, &contributions, &coverage, &policy, None).0.verdict;
        if verdict < before {
            prop_assert!(!confirms, "a confirmation improved the verdict");
            prop_assert_eq!(findings[at].priority, Priority::P1, "only a P1 is cleared by a refutation");
            prop_assert_eq!(verdict, Verdict::Ship);
        }
    }

    #[test]
    fn order_changes_nothing(
        findings in any_findings(7), contributions in any_contributions(), coverage in any_coverage(),
        policy in any_policy(), seed in any::<u64>(),
    ) {
        let (judged, axes) = conclude(&findings, &contributions, &coverage, &policy, None);
        let mut turned = findings.clone();
        let mut turned_contributions = contributions.clone();
        if !turned.is_empty() { let n = seed as usize % turned.len(); turned.rotate_left(n); }
        if !turned_contributions.is_empty() { let n = seed as usize % turned_contributions.len(); turned_contributions.rotate_left(n); }
        if seed % 2 == 0 { turned.reverse(); turned_contributions.reverse(); }
        let (again, axes_again) = conclude(&turned, &turned_contributions, &coverage, &policy, None);
        prop_assert_eq!(judged.confidence.to_bits(), again.confidence.to_bits());
        prop_assert_eq!(&judged, &again);
        prop_assert_eq!(axes, axes_again);
        let mut reversed = fold(&findings, &contributions, &coverage, &policy);
        reversed.reverse();
        let statuses: Vec<Finding> = findings.iter().map(|f| Finding { status: status_after(f, &policy, None), ..f.clone() }).collect();
        prop_assert_eq!(judge(&statuses, &fold(&statuses, &contributions, &coverage, &policy)), judged);
    }

    #[test]
    fn neither_the_author_nor_the_pull_author_nor_the_system_ever_confirms(
        mut finding in any_finding(), policy in any_policy(), repeats in 1..6_usize,
    ) {
        let pull_author = human("9");
        let author = finding.author.clone();
        finding.status = Status::Open;
        finding.votes.clear();
        for _ in 0..repeats {
            for voter in [author.clone(), pull_author.clone(), Principal::new(PrincipalKind::System, "jury")] {
                finding.votes.push(vote(voter.clone(), true));
                finding.votes.push(vote(voter, false));
            }
        }
        prop_assert!(effective_votes(&finding, Some(&pull_author)).is_empty());
        prop_assert_eq!(status_after(&finding, &policy, Some(&pull_author)), Status::Open);
    }

    #[test]
    fn one_voter_has_one_voice_and_the_last_word_counts(
        mut finding in any_finding(), first in any::<bool>(), last in any::<bool>(), repeats in 1..9_usize,
    ) {
        finding.status = Status::Open;
        finding.author = analyzer("a");
        finding.votes = std::iter::repeat_with(|| vote(human("1"), first)).take(repeats).collect();
        finding.votes.push(vote(human("1"), last));
        prop_assert_eq!(effective_votes(&finding, None).len(), 1);
        let mut policy = Policy::default();
        let expected = if last { Status::ConsensusReady } else { Status::Disputed };
        prop_assert_eq!(status_after(&finding, &policy, None), expected);
        policy.quorum.insert(finding.priority, 2);
        let expected = if last { Status::Open } else { Status::Disputed };
        prop_assert_eq!(status_after(&finding, &policy, None), expected);
    }

    #[test]
    fn what_was_cleared_stays_cleared(mut finding in any_finding(), policy in any_policy(), who in 0..9_u8) {
        for status in [Status::Resolved, Status::Dismissed, Status::Waived] {
            finding.status = status;
            finding.votes.push(vote(human(&who.to_string()), true));
            prop_assert_eq!(status_after(&finding, &policy, None), status);
        }
    }

    #[test]
    fn confidence_is_from_a_half_to_one(
        findings in any_findings(8), contributions in any_contributions(), coverage in any_coverage(), policy in any_policy(),
    ) {
        let judged = conclude(&findings, &contributions, &coverage, &policy, None).0;
        prop_assert!((0.5..=1.0).contains(&judged.confidence));
        prop_assert_eq!(judged.verdict == Verdict::Ship, judged.reasons.is_empty());
    }

    #[test]
    fn absence_of_evidence_never_ships(
        contributions in any_contributions(), coverage in any_coverage(), policy in any_policy(),
    ) {
        let (judged, axes) = conclude(&[], &contributions, &coverage, &policy, None);
        for axis in Axis::ALL {
            let own: Vec<_> = contributions.iter().filter(|c| c.axis == *axis).collect();
            let all_saw_everything = !own.is_empty()
                && coverage.truncated.is_none()
                && own.iter().all(|c| c.state == ContributionState::Complete);
            if policy.is_gated(*axis) && !all_saw_everything {
                prop_assert!(judged.verdict >= Verdict::Hold, "{axis} was not proved");
                let result = axes.iter().find(|a| a.axis == *axis).unwrap();
                prop_assert!(matches!(result.state, AxisState::Partial | AxisState::Unavailable));
            }
        }
    }

    #[test]
    fn a_confirmed_p0_blocks_wherever_it_stands(
        findings in any_findings(4), mut p0 in any_finding(), contributions in any_contributions(),
        policy in any_policy(), confidence in 0.7..=1.0_f64,
    ) {
        p0.priority = Priority::P0;
        p0.confidence = Confidence::new(confidence).unwrap();
        p0.status = Status::ConsensusReady;
        p0.advisory = true;
        let mut all = findings;
        all.push(p0);
        let axes = fold(&all, &contributions, &Coverage::default(), &policy);
        prop_assert_eq!(judge(&all, &axes).verdict, Verdict::Block);
    }

    #[test]
    fn an_advisory_finding_below_p0_changes_no_verdict(
        findings in any_findings(5), mut more in any_finding(), contributions in any_contributions(), policy in any_policy(),
    ) {
        prop_assume!(more.priority > Priority::P0);
        more.advisory = true;
        let before = conclude(&findings, &contributions, &Coverage::default(), &policy, None).0;
        let mut all = findings;
        all.push(more);
        prop_assert_eq!(conclude(&all, &contributions, &Coverage::default(), &policy, None).0, before);
    }

    #[test]
    fn an_axis_without_a_contributor_is_told_exactly_when_it_is_gated(
        findings in any_findings(5), contributions in any_contributions(), policy in any_policy(),
    ) {
        let axes = fold(&findings, &contributions, &Coverage::default(), &policy);
        for axis in Axis::ALL {
            let configured = contributions.iter().any(|c| c.axis == *axis);
            let told: Vec<_> = axes.iter().filter(|a| a.axis == *axis).collect();
            prop_assert_eq!(told.len(), usize::from(configured || policy.is_gated(*axis)));
            if let ([result], false) = (told.as_slice(), configured) {
                prop_assert!(result.state >= AxisState::Unavailable);
            }
            for result in told {
                prop_assert!(result.note.as_ref().is_some_and(|n| !n.is_empty() && n.chars().count() < 2_500));
                prop_assert_eq!(result.gated, policy.is_gated(*axis));
            }
        }
    }

    #[test]
    fn a_frozen_pass_agrees_with_itself(findings in any_findings(6), contributions in any_contributions(), policy in any_policy()) {
        let axes = fold(&findings, &contributions, &Coverage::default(), &policy);
        let snapshot = PassSnapshot::freeze(None, Gate::Required, axes.clone(), &findings);
        prop_assert_eq!(snapshot.verdict, judge(&findings, &axes).verdict);
        prop_assert_eq!(snapshot.findings.len(), findings.len());
        let json = serde_json::to_string(&snapshot).unwrap();
        prop_assert_eq!(serde_json::from_str::<PassSnapshot>(&json).unwrap().verdict, snapshot.verdict);
    }
}
