use super::{super::samples::*, *};
use crate::domain::review::finding::Side;

fn status(votes: Vec<Vote>, policy: &Policy) -> Status {
    let mut finding = finding("f1");
    finding.votes = votes;
    status_after(&finding, policy, Some(&human("author")))
}

fn by_model(name: &str, model: Option<&str>) -> Vote {
    Vote {
        model: model.map(Into::into),
        ..vote(agent(name), true)
    }
}

#[test]
fn one_confirmation_is_enough_and_a_refutation_alone_disputes() {
    let policy = Policy::default();
    for (votes, expected) in [
        (vec![], Status::Open),
        (vec![vote(human("1"), true)], Status::ConsensusReady),
        (vec![vote(Principal::verifier(), true)], Status::ConsensusReady),
        (vec![vote(analyzer("other"), true)], Status::ConsensusReady),
        (vec![vote(human("1"), false)], Status::Disputed),
        (
            vec![vote(human("1"), false), vote(agent("2"), true)],
            Status::ConsensusReady,
        ),
        (
            vec![vote(human("1"), true), vote(human("1"), false)],
            Status::Disputed,
        ),
        (
            vec![vote(human("1"), false), vote(human("1"), true)],
            Status::ConsensusReady,
        ),
        // Not peers.
        (vec![vote(analyzer("demo"), true)], Status::Open),
        (vec![vote(human("author"), true)], Status::Open),
        (vec![vote(human("author"), false)], Status::Open),
    ] {
        assert_eq!(status(votes.clone(), &policy), expected, "{votes:?}");
    }
}

#[test]
fn the_quorum_is_per_priority() {
    let mut policy = Policy::default();
    policy.quorum.insert(Priority::P1, 2);
    let two = vec![vote(human("1"), true), vote(human("2"), true)];
    assert_eq!(status(two[..1].to_vec(), &policy), Status::Open);
    assert_eq!(status(two, &policy), Status::ConsensusReady);
    let mixed = vec![vote(human("1"), true), vote(human("2"), false)];
    assert_eq!(
        status(mixed, &policy),
        Status::Disputed,
        "refuted, and not confirmed"
    );
    policy.quorum.insert(Priority::P1, 0);
    assert_eq!(
        status(vec![], &policy),
        Status::Open,
        "nothing is confirmed by nobody"
    );
}

#[test]
fn with_distinct_models_one_model_has_one_voice() {
    let mut policy = Policy {
        distinct_models: true,
        ..Policy::default()
    };
    policy.quorum.insert(Priority::P1, 2);
    for (votes, expected) in [
        (
            vec![by_model("a", Some("m")), by_model("b", Some("m"))],
            Status::Open,
        ),
        (
            vec![by_model("a", Some("m")), by_model("b", Some("n"))],
            Status::ConsensusReady,
        ),
        (vec![by_model("a", None), by_model("b", None)], Status::Open),
        (
            vec![by_model("a", Some("m")), vote(human("1"), true)],
            Status::ConsensusReady,
        ),
        (
            vec![vote(human("2"), true), vote(human("1"), true)],
            Status::ConsensusReady,
        ),
    ] {
        assert_eq!(status(votes.clone(), &policy), expected, "{votes:?}");
    }
}

#[test]
fn a_vote_is_refused_with_the_reason() {
    let author = human("author");
    let mut finding = finding("f1");
    let check = |finding: &Finding, vote: &Vote| check_vote(finding, vote, Some(&author));
    assert_eq!(check(&finding, &vote(human("1"), true)), Ok(()));
    assert_eq!(
        check(&finding, &vote(analyzer("demo"), true)),
        Err(VoteError::OwnFinding)
    );
    assert_eq!(
        check(&finding, &vote(author.clone(), false)),
        Err(VoteError::PullAuthor)
    );
    let system = Principal::new(PrincipalKind::System, "jury");
    assert_eq!(check(&finding, &vote(system, true)), Err(VoteError::System));
    let mut silent = vote(human("1"), true);
    silent.evidence = " \n".into();
    assert_eq!(check(&finding, &silent), Err(VoteError::NoEvidence));
    finding.status = Status::Waived;
    assert_eq!(
        check(&finding, &vote(human("1"), true)),
        Err(VoteError::NotLive(Status::Waived))
    );
}

#[test]
fn who_may_clear_what() {
    use Clearance::{Dismiss, Resolve, Waive};
    let author = human("author");
    let mut finding = finding("f1");
    finding.author = agent("a");
    let dismissed = Ok(Cleared::Now(Status::Dismissed));
    let waived = Ok(Cleared::Now(Status::Waived));
    for (by, how, owner, expected) in [
        (agent("a"), Dismiss, false, dismissed),
        (agent("b"), Dismiss, true, Err(ClearanceError::NotYours)),
        (
            Principal::verifier(),
            Dismiss,
            true,
            Err(ClearanceError::NotYours),
        ),
        (
            Principal::new(PrincipalKind::System, "jury"),
            Dismiss,
            true,
            Err(ClearanceError::NotYours),
        ),
        (human("1"), Dismiss, true, dismissed),
        (human("1"), Dismiss, false, Err(ClearanceError::NotOwner)),
        (author.clone(), Dismiss, true, Err(ClearanceError::PullAuthor)),
        (human("1"), Waive, true, waived),
        (human("1"), Waive, false, Err(ClearanceError::NotOwner)),
        (author.clone(), Waive, false, Err(ClearanceError::NotOwner)),
        (agent("a"), Waive, true, Err(ClearanceError::NotAPerson)),
        // Resolving by word is a claim, whoever says it.
        (author.clone(), Resolve, true, Ok(Cleared::Claimed)),
        (human("1"), Resolve, false, Ok(Cleared::Claimed)),
        (agent("b"), Resolve, false, Ok(Cleared::Claimed)),
    ] {
        assert_eq!(
            clear(&finding, &by, how, owner, Some(&author)),
            expected,
            "{by} {how:?} {owner}"
        );
    }
    finding.status = Status::Resolved;
    assert_eq!(
        clear(&finding, &human("1"), Waive, true, None),
        Err(ClearanceError::NotLive(Status::Resolved))
    );
}

#[test]
fn a_rules_finding_is_verified_from_the_blob_alone() {
    let all = Reading {
        place_exists: true,
        quote_stands: true,
        rule_holds: Some(true),
        on_changed_line: false,
        run_of_this_head: false,
    };
    let word = |reading: Reading| verifier_vote(&finding("f1"), &reading).map(|vote| vote.confirms);
    assert_eq!(word(all), Some(true));
    assert_eq!(
        word(Reading {
            rule_holds: Some(false),
            ..all
        }),
        Some(false)
    );
    for blind in [
        Reading {
            place_exists: false,
            ..all
        },
        Reading {
            quote_stands: false,
            ..all
        },
        Reading {
            rule_holds: None,
            ..all
        },
        Reading::default(),
    ] {
        assert_eq!(word(blind), None, "{blind:?}");
    }
    let vote = verifier_vote(&finding("f1"), &all).unwrap();
    assert_eq!(vote.voter, Principal::verifier());
    assert!(vote.evidence.contains("verified"));
}

#[test]
fn a_tools_result_needs_its_place_a_changed_line_and_a_run_of_this_head() {
    let mut result = finding("f1");
    result.provenance = Provenance::Tool("semgrep/x".into());
    let all = Reading {
        place_exists: true,
        on_changed_line: true,
        run_of_this_head: true,
        ..Reading::default()
    };
    assert!(verifier_vote(&result, &all).unwrap().confirms);
    for blind in [
        Reading {
            place_exists: false,
            ..all
        },
        Reading {
            on_changed_line: false,
            ..all
        },
        Reading {
            run_of_this_head: false,
            ..all
        },
    ] {
        assert_eq!(verifier_vote(&result, &blind), None);
    }
    for provenance in [Provenance::Model, Provenance::Human] {
        result.provenance = provenance;
        assert_eq!(
            verifier_vote(
                &result,
                &Reading {
                    rule_holds: Some(true),
                    quote_stands: true,
                    ..all
                }
            ),
            None
        );
    }
    assert_eq!(tool_priority(Priority::P0, None), Priority::P1);
    assert_eq!(tool_priority(Priority::P2, None), Priority::P2);
    assert_eq!(tool_priority(Priority::P2, Some(Priority::P0)), Priority::P0);
}

#[test]
fn contradictions_on_one_place_are_shown_and_change_no_status() {
    let make = |id: &str, priority, kind, start, end| {
        let mut finding = finding(id);
        finding.priority = priority;
        finding.kind = kind;
        finding.anchor = Some(anchor("a.rs", Side::Right, start, end));
        finding
    };
    let mut elsewhere = make("f4", Priority::P0, Kind::Bug, 1, 4);
    elsewhere.anchor.as_mut().unwrap().path = "b.rs".into();
    let mut cleared = make("f5", Priority::P0, Kind::Bug, 1, 4);
    cleared.status = Status::Dismissed;
    let findings = [
        make("f1", Priority::P1, Kind::Bug, 1, 2),
        make("f2", Priority::P3, Kind::Bug, 2, 9),
        make("f3", Priority::P2, Kind::Suggestion, 9, 9),
        elsewhere,
        cleared,
        make("f6", Priority::P2, Kind::Bug, 9, 10),
    ];
    let (shown, count) = disagreements(&findings, 10);
    let told: Vec<_> = shown
        .iter()
        .map(|d| (d.first.as_str(), d.second.as_str(), d.how))
        .collect();
    assert_eq!(
        told,
        [
            ("f1", "f2", Contradiction::Priority),
            ("f2", "f3", Contradiction::Kind),
            ("f3", "f6", Contradiction::Kind),
        ]
    );
    assert_eq!(count, 3);
    assert_eq!(disagreements(&findings, 1).0.len(), 1);
    assert_eq!(disagreements(&findings, 1).1, 3, "what is not shown is counted");
    let mut turned = findings.to_vec();
    turned.reverse();
    assert_eq!(disagreements(&turned, 10), (shown, count));
}
