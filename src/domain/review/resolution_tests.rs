use super::{
    super::{finding::Axis, finding::Status, samples::*},
    *,
};
use crate::domain::principal::PrincipalKind;

struct World {
    fingerprints: BTreeSet<String>,
    contributions: Vec<Contribution>,
    quote_gone: BTreeMap<FindingId, bool>,
    says_mended: BTreeMap<FindingId, Vec<Principal>>,
    author: Principal,
}

fn world(state: ContributionState) -> World {
    World {
        fingerprints: BTreeSet::new(),
        contributions: vec![
            contribution("demo", Axis::Correctness, state),
            contribution("other", Axis::Correctness, ContributionState::Complete),
        ],
        quote_gone: BTreeMap::new(),
        says_mended: BTreeMap::new(),
        author: human("author"),
    }
}

fn gone(finding: &Finding, world: &World) -> bool {
    resolves(
        finding,
        &Seen {
            fingerprints: &world.fingerprints,
            contributions: &world.contributions,
            quote_gone: &world.quote_gone,
            says_mended: &world.says_mended,
            pull_author: Some(&world.author),
        },
    )
}

#[test]
fn a_rules_finding_goes_when_its_rule_ran_completely_and_did_not_find_it() {
    for state in ContributionState::ALL {
        assert_eq!(
            gone(&finding("f1"), &world(*state)),
            *state == ContributionState::Complete,
            "{state}"
        );
    }
    let mut found_again = world(ContributionState::Complete);
    found_again.fingerprints.insert(finding("f1").fingerprint);
    assert!(!gone(&finding("f1"), &found_again));
}

#[test]
fn a_contributor_that_was_not_asked_clears_nothing() {
    let mut world = world(ContributionState::Complete);
    world.contributions.remove(0);
    assert!(!gone(&finding("f1"), &world));
}

#[test]
fn a_models_or_persons_finding_needs_its_quote_gone_and_a_peer() {
    for provenance in [Provenance::Model, Provenance::Human] {
        let mut filed = finding("f1");
        filed.provenance = provenance;
        filed.author = agent("a");
        let id = filed.id.clone();
        for (quote, who, expected) in [
            (None, vec![human("1")], false),
            (Some(false), vec![human("1")], false),
            (Some(true), vec![], false),
            (Some(true), vec![human("1")], true),
            (Some(true), vec![Principal::verifier()], true),
            (Some(true), vec![agent("a")], false),
            (Some(true), vec![human("author")], false),
            (
                Some(true),
                vec![Principal::new(PrincipalKind::System, "jury")],
                false,
            ),
            (Some(true), vec![human("author"), agent("b")], true),
        ] {
            let mut world = world(ContributionState::Complete);
            world.quote_gone.extend(quote.map(|gone| (id.clone(), gone)));
            world.says_mended.insert(id.clone(), who.clone());
            assert_eq!(gone(&filed, &world), expected, "{quote:?} {who:?}");
        }
    }
}

#[test]
fn what_is_cleared_is_left_alone() {
    for status in [Status::Resolved, Status::Dismissed, Status::Waived] {
        let mut cleared = finding("f1");
        cleared.status = status;
        assert!(!gone(&cleared, &world(ContributionState::Complete)));
    }
}
