use super::*;
use crate::domain::{
    policy::Gate,
    review::{
        finding::{Anchor, Finding, Provenance, Side},
        samples::finding,
    },
};

fn commands(findings: &[Finding]) -> String {
    workflow_commands(&PassSnapshot::freeze(None, Gate::Required, vec![], findings))
}

#[test]
fn nothing_in_a_finding_begins_a_command_of_its_own() {
    let hostile = Finding {
        title: "100%\n::error file=x::pwned\r::add-mask::x, a:b".into(),
        body: "one\r\n::set-output name=a::b\n%0A::stop-commands::x".into(),
        anchor: Some(Anchor {
            path: "a,b:c%\n::warning::/x.rs".into(),
            side: Side::Right,
            start_line: 3,
            end_line: 4,
        }),
        provenance: Provenance::Rule("demo/one".into()),
        priority: Priority::P0,
        status: Status::ConsensusReady,
        ..finding("f")
    };
    let text = commands(&[hostile]);
    let lines: Vec<&str> = text.split('\n').collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(!text.contains('\r'));
    assert!(
        lines[0].starts_with("::error file=a%2Cb%3Ac%25%0A%3A%3Awarning%3A%3A/x.rs,line=3,endLine=4,title=rule%3Ademo/one%3A 100%25"),
        "{text}"
    );
    // What the runner splits at the second `::` is all that it finds.
    assert_eq!(lines[0][2..].split("::").next().unwrap().matches(',').count(), 3);
    assert!(
        lines[0].contains("%0Aone%0A::set-output name=a::b%0A%250A::stop-commands::x"),
        "{text}"
    );
    assert!(lines[1].starts_with("::error title=Jury's verdict::"), "{text}");
}

#[test]
fn the_heaviest_come_first_and_each_has_its_kind() {
    let one = |priority, status| Finding {
        priority,
        status,
        ..finding(&format!("{priority}{status}"))
    };
    let text = commands(&[
        one(Priority::P3, Status::Open),
        one(Priority::P2, Status::ConsensusReady),
        one(Priority::P1, Status::ConsensusReady),
        one(Priority::P0, Status::Disputed),
        one(Priority::P1, Status::Resolved),
    ]);
    let kinds: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        kinds,
        ["::error", "::warning", "::notice", "::notice", "::warning"]
    );
}
