//! What is written is read again by our own reader, and holds to GitHub's limits.

use std::collections::BTreeSet;

use super::*;
use crate::domain::{
    ids::FindingId,
    policy::{Gate, Policy},
    report::{self, Format, draft, paths},
    review::{
        axis,
        finding::{Anchor, Axis},
        reviewer::{Contribution, ContributionState},
        samples::finding,
    },
};

fn written(findings: &[Finding], coverage: &Coverage) -> Value {
    let contributions: Vec<Contribution> = [Axis::Correctness, Axis::Security]
        .map(|axis| Contribution {
            reviewer: format!("r-{axis}"),
            axis,
            state: ContributionState::Complete,
            note: None,
        })
        .into();
    with(findings, &contributions, coverage)
}

fn with(findings: &[Finding], contributions: &[Contribution], coverage: &Coverage) -> Value {
    let axes = axis::fold(findings, contributions, coverage, &Policy::default());
    let snapshot = PassSnapshot::freeze(None, Gate::Required, axes, findings);
    sarif(&SarifInput {
        snapshot: &snapshot,
        findings,
        coverage,
        somewhere: Some("README.md"),
        version: "0.1.0",
    })
}

fn read(value: &Value) -> report::ToolReport {
    report::parse(Format::Sarif, value.to_string().as_bytes()).unwrap()
}

fn on(path: &str, start_line: u32, end_line: u32, suggestion: Option<&str>) -> Finding {
    Finding {
        fingerprint: "f1-0123456789abcdef0123456789abcdef-2".to_owned(),
        anchor: Some(Anchor {
            path: path.to_owned(),
            side: Side::Right,
            start_line,
            end_line,
        }),
        suggestion: suggestion.map(str::to_owned),
        provenance: Provenance::Rule("demo/one".into()),
        priority: Priority::P0,
        status: Status::ConsensusReady,
        ..finding("f")
    }
}

#[test]
fn what_is_written_is_read_as_the_same_places_and_suggestions() {
    let path = "app/[id]/a b#é.tsx";
    let blob = "one\ntwo\nthree\nfour\n";
    for (suggestion, expected) in [
        (None, None),
        (Some("TWO\n3"), Some("TWO\n3")),
        (Some(""), Some("")),
    ] {
        let report = read(&written(&[on(path, 2, 3, suggestion)], &Coverage::default()));
        assert_eq!(report.failed, None);
        let [result] = &report.results[..] else {
            panic!("{report:?}")
        };
        let place = result.place.as_ref().unwrap();
        let found = paths::find(&place.paths, &paths::Roots::default(), |known| known == path).unwrap();
        let file = draft::File {
            path: &found.path,
            added: &[2],
            blob: Some(blob.as_bytes()),
            whole: true,
        };
        let draft::Standing::Here(draft) = draft::place(result, None, file) else {
            panic!()
        };
        let anchor = draft.anchor.unwrap();
        assert_eq!((anchor.start_line, anchor.end_line), (2, 3));
        assert_eq!(draft.suggestion.as_deref(), expected);
        assert_eq!(draft.provenance.to_string(), "tool:jury/demo/one");
    }
}

#[test]
fn a_pass_that_did_not_prove_everything_does_not_look_clean() {
    let report = read(&with(&[], &[], &Coverage::default()));
    assert!(report.failed.is_some());
    assert_eq!(
        read(&written(&[], &Coverage::default())),
        report::ToolReport::default()
    );
    let truncated = Coverage {
        truncated: Some("too many files".into()),
        ..Coverage::default()
    };
    assert!(read(&written(&[], &truncated)).failed.is_some());
}

#[test]
fn it_holds_to_what_github_takes() {
    let long = "x".repeat(300);
    let mut findings: Vec<Finding> = (0..5_100)
        .map(|n| Finding {
            id: FindingId::new(format!("f{n}")),
            provenance: Provenance::Tool(format!("t/{n}{long}")),
            title: format!("a\u{202e}\n{long}"),
            body: "y".repeat(if n == 0 { 40_000 } else { 40 }),
            ..on("a.rs", 1, 1, None)
        })
        .collect();
    findings[0].anchor = None;
    findings[1].anchor.as_mut().unwrap().side = Side::Left;
    findings[1].suggestion = Some("x".into());
    let value = written(&findings, &Coverage::default());
    let run = &value["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 5_000);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert!(region["startLine"].as_u64().unwrap() >= 1);
        assert!(result["message"]["text"].as_str().unwrap().chars().count() <= MAX_MESSAGE + 1);
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(result["fixes"].is_null());
        let print = result["partialFingerprints"]["primaryLocationLineHash"]
            .as_str()
            .unwrap();
        assert_eq!(print, "0123456789abcdef:3");
    }
    let ids: BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rules.len());
    for rule in rules {
        assert!(rule["id"].as_str().unwrap().chars().count() <= MAX_RULE + 1);
        assert!(rule["shortDescription"]["text"].as_str().unwrap().chars().count() <= MAX_DESCRIPTION + 1);
    }
    let told = run["invocations"][0]["toolExecutionNotifications"].to_string();
    assert!(told.contains("100 more findings are not listed"), "{told}");
    assert!(!value.to_string().contains('\u{202e}'));
}

#[test]
fn a_secrets_keyed_fingerprint_does_not_get_out() {
    let secret = Finding {
        fingerprint: "s1-feedfeedfeedfeed-0".into(),
        ..on("a.rs", 1, 1, None)
    };
    assert!(
        !written(&[secret], &Coverage::default())
            .to_string()
            .contains("feed")
    );
}

#[test]
fn what_was_waived_is_a_suppressed_result_and_what_is_mended_none() {
    let waived = Finding {
        status: Status::Waived,
        ..on("a.rs", 1, 1, None)
    };
    let resolved = Finding {
        id: FindingId::new("other"),
        status: Status::Resolved,
        ..waived.clone()
    };
    let report = read(&written(&[waived, resolved], &Coverage::default()));
    assert_eq!((report.results.len(), report.left_out.suppressed), (0, 1));
}
