use proptest::prelude::*;

use super::*;

fn error(text: &str) -> String {
    parse("jury.toml", text.as_bytes()).unwrap_err().to_string()
}

const WHOLE: &str = r#"
gate = "advisory"
publish = "ask"
approvals = "wait"
approve = true

[axes.security]
gated = false
[axes.ci]
gated = true

[consensus]
distinct_models = true
[consensus.quorum]
p0 = 3
p2 = 2
"#;

#[test]
fn every_key_is_read() {
    let patch = parse("f", WHOLE.as_bytes()).unwrap();
    let mut policy = Policy::default();
    assert_eq!(policy.apply(&patch, &Locked::default()), Vec::<String>::new());
    assert_eq!(
        policy,
        Policy {
            gate: Gate::Advisory,
            publish: Publish::Ask,
            approvals: Approvals::Wait,
            approve: true,
            gated: [(Axis::Security, false), (Axis::Ci, true)].into(),
            quorum: [(Priority::P0, 3), (Priority::P2, 2)].into(),
            distinct_models: true,
        }
    );
    assert!(!policy.is_gated(Axis::Security) && policy.is_gated(Axis::Correctness));
    assert_eq!(
        Priority::ALL
            .iter()
            .map(|p| policy.quorum(*p))
            .collect::<Vec<_>>(),
        [3, 1, 2, 1]
    );
}

#[test]
fn an_empty_file_sets_nothing_and_a_number_sets_every_quorum() {
    assert_eq!(parse("f", b"").unwrap(), PolicyPatch::default());
    assert_eq!(
        parse("f", b"# only a comment\n[axes.visual]\n").unwrap(),
        PolicyPatch::default()
    );
    let patch = parse("f", b"consensus.quorum = 2").unwrap();
    assert_eq!(patch.quorum.len(), 4);
}

#[test]
fn every_fault_is_told_with_file_line_and_what_would_be_right() {
    for (text, expected) in [
        (
            "gaet = \"required\"",
            "jury.toml:1: unknown key `gaet`; did you mean `gate`?",
        ),
        (
            "\n\nbanana = 1",
            "jury.toml:3: unknown key `banana`; known are gate, publish, approvals, approve, axes, consensus",
        ),
        (
            "[axis.security]\ngated = true",
            "jury.toml:1: unknown key `axis`; did you mean `axes`?",
        ),
        (
            "[axes.secuirty]\ngated = true",
            "jury.toml:1: unknown key `axes.secuirty`; did you mean `security`?",
        ),
        (
            "[axes.security]\ngate = true",
            "jury.toml:2: unknown key `axes.security.gate`; did you mean `gated`?",
        ),
        (
            "[consensus]\nquorom = 1",
            "jury.toml:2: unknown key `consensus.quorom`; did you mean `quorum`?",
        ),
        (
            "consensus.quorum.P0 = 1",
            "jury.toml:1: unknown key `consensus.quorum.P0`; did you mean `p0`?",
        ),
        (
            "gate = \"requird\"",
            "jury.toml:1: `gate` must be \"required\" or \"advisory\", not \"requird\"; did you mean `required`?",
        ),
        (
            "gate = true",
            "jury.toml:1: `gate` must be \"required\" or \"advisory\", not a boolean",
        ),
        (
            "publish = \"later\"",
            "jury.toml:1: `publish` must be \"auto\" or \"ask\", not \"later\"",
        ),
        (
            "approvals = 1",
            "jury.toml:1: `approvals` must be \"deny\" or \"wait\", not an integer",
        ),
        (
            "approve = \"yes\"",
            "jury.toml:1: `approve` must be true or false, not a string",
        ),
        ("axes = 1", "jury.toml:1: `axes` must be a table, not an integer"),
        (
            "axes.security = true",
            "jury.toml:1: `axes.security` must be a table, not a boolean",
        ),
        (
            "axes.security.gated = 1",
            "jury.toml:1: `axes.security.gated` must be true or false, not an integer",
        ),
        (
            "consensus = []",
            "jury.toml:1: `consensus` must be a table, not an array",
        ),
        (
            "consensus.quorum = 0",
            "jury.toml:1: `consensus.quorum` must be a whole number from 1 to 20, not 0",
        ),
        (
            "consensus.quorum = -1",
            "jury.toml:1: `consensus.quorum` must be a whole number from 1 to 20, not -1",
        ),
        (
            "consensus.quorum = 21",
            "jury.toml:1: `consensus.quorum` must be a whole number from 1 to 20, not 21",
        ),
        (
            "consensus.quorum = 1.5",
            "jury.toml:1: `consensus.quorum` must be a whole number from 1 to 20, not a float",
        ),
        (
            "[consensus.quorum]\np1 = \"2\"",
            "jury.toml:2: `consensus.quorum.p1` must be a whole number from 1 to 20, not a string",
        ),
        (
            "consensus.distinct_models = 1",
            "jury.toml:1: `consensus.distinct_models` must be true or false, not an integer",
        ),
        // The first in the file, whatever the order of the alphabet.
        (
            "publish = 1\ngate = 1",
            "jury.toml:1: `publish` must be \"auto\" or \"ask\", not an integer",
        ),
    ] {
        assert_eq!(error(text), expected);
    }
    assert!(
        error("\ngate = ").starts_with("jury.toml:2: not valid TOML: "),
        "{}",
        error("\ngate = ")
    );
    assert!(error("gate = \"required\"\ngate = \"required\"").starts_with("jury.toml:2: not valid TOML"));
    assert_eq!(
        error(&format!("a = 1 #{}", "x".repeat(MAX_BYTES))),
        format!(
            "jury.toml: the file has {} bytes, at most 65536 are read",
            MAX_BYTES + 7
        )
    );
    assert_eq!(
        parse("f", b"gate = \"required\"\n# \xff")
            .unwrap_err()
            .to_string(),
        "f:2: the file is not UTF-8"
    );
    // Hexadecimal is a number too.
    assert_eq!(
        parse("f", b"consensus.quorum = 0x2").unwrap().quorum[&Priority::P0],
        2
    );
}

#[test]
fn a_strangers_words_cannot_forge_a_line_of_the_error() {
    let told = error("\"a\\nb\\u202e\" = 1");
    assert!(!told.contains(['\n', '\u{202e}']), "{told}");
    assert!(error(&format!("\"{}\" = 1", "x".repeat(9_000))).chars().count() < 250);
    let told = error(&format!("gate = \"{}\\n\"", "y".repeat(9_000)));
    assert!(told.chars().count() < 250 && !told.contains('\n'), "{told}");
}

#[test]
fn the_servers_table_is_read_and_the_rest_of_its_file_left_alone() {
    let file = b"[server]\nlisten = 1\n\n[policy]\ngate = \"advisory\"\naprove = true\n";
    let told = parse_table("s.toml", file, "policy").unwrap_err().to_string();
    assert_eq!(
        told,
        "s.toml:6: unknown key `policy.aprove`; did you mean `approve`?"
    );
    assert_eq!(
        parse_table("s", b"[server]\nx = 1\n", "policy").unwrap(),
        PolicyPatch::default()
    );
    assert_eq!(
        parse_table("s", b"policy = 1", "policy").unwrap_err().to_string(),
        "s:1: `policy` must be a table, not an integer"
    );
    assert_eq!(
        parse_table("s", b"[policy]\ngate = \"advisory\"", "policy")
            .unwrap()
            .gate,
        Some(Gate::Advisory)
    );
}

#[test]
fn a_locked_key_keeps_the_servers_value_and_is_told() {
    let patch = parse("f", WHOLE.as_bytes()).unwrap();
    for (locks, ignored) in [
        (vec!["gate"], vec!["gate"]),
        (vec!["approve", "publish"], vec!["publish", "approve"]),
        (vec!["axes"], vec!["axes.security.gated", "axes.ci.gated"]),
        (vec!["axes.security"], vec!["axes.security.gated"]),
        (vec!["axes.security.gated"], vec!["axes.security.gated"]),
        (vec!["axes.visual"], vec![]),
        (
            vec!["consensus.quorum"],
            vec!["consensus.quorum.p0", "consensus.quorum.p2"],
        ),
        (vec!["consensus.quorum.p0"], vec!["consensus.quorum.p0"]),
        (
            vec!["consensus"],
            vec![
                "consensus.quorum.p0",
                "consensus.quorum.p2",
                "consensus.distinct_models",
            ],
        ),
    ] {
        let mut policy = Policy::default();
        let told = policy.apply(&patch, &Locked::new(locks.clone()).unwrap());
        assert_eq!(told, ignored, "{locks:?}");
    }
    let mut policy = Policy::default();
    policy.apply(
        &patch,
        &Locked::new(["gate", "axes", "consensus", "approve", "publish", "approvals"]).unwrap(),
    );
    assert_eq!(policy, Policy::default());
}

#[test]
fn an_unknown_lock_is_an_error_with_the_key_that_was_meant() {
    for (name, expected) in [
        (
            "gaet",
            "policy_locked names \"gaet\", which is no policy key; did you mean \"gate\"?",
        ),
        (
            "axes.securty.gated",
            "policy_locked names \"axes.securty.gated\", which is no policy key; did you mean \"axes.security.gated\"?",
        ),
        ("zzzzzz", "policy_locked names \"zzzzzz\", which is no policy key"),
        ("", "policy_locked names \"\", which is no policy key"),
    ] {
        assert_eq!(Locked::new([name]).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_nearest_word_is_near() {
    let words = ["gate", "publish", "approve", "approvals"];
    for (word, expected) in [
        ("gate", Some("gate")),
        ("GATE", Some("gate")),
        ("gates", Some("gate")),
        ("publsh", Some("publish")),
        ("approval", Some("approvals")),
        ("aprove", Some("approve")),
        ("x", None),
        ("", None),
        ("banana", None),
    ] {
        assert_eq!(nearest(word, words), expected, "{word}");
    }
}

proptest! {
    #[test]
    fn any_file_is_read_or_refused_on_one_line(text in "[a-z\\[\\]=.\"\n 0-9#{}]{0,80}", bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        for content in [text.as_bytes(), bytes.as_slice()] {
            if let Err(error) = parse("f", content) {
                prop_assert!(!error.to_string().contains('\n'));
                prop_assert!(error.line.is_none_or(|line| line >= 1 && line <= content.len() + 1));
            }
        }
    }
}
