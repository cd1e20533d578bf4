use super::ConflictMarkers;
use crate::analyzers::doubles::{TextChange, found, holds, report};

fn marker(sign: &str, label: &str) -> String {
    format!(
        "{}{}{label}",
        sign.repeat(7),
        if label.is_empty() { "" } else { " " }
    )
}

/// A conflict over the lines `ours` and `theirs`, in git's merge style.
fn conflict() -> String {
    [
        marker("<", "HEAD"),
        "ours".into(),
        marker("=", ""),
        "theirs".into(),
        marker(">", "branch"),
    ]
    .join("\n")
        + "\n"
}

fn rules(path: &str, text: impl AsRef<[u8]>) -> Vec<String> {
    found(&ConflictMarkers, &TextChange::new().adding(path, text))
}

#[test]
fn a_conflict_is_one_blocking_finding_at_its_first_marker() {
    let text = format!("a\n{}b\n", conflict());
    let drafts = report(&ConflictMarkers, &TextChange::new().adding("a.rs", &text)).drafts;
    assert_eq!(drafts.len(), 1);
    assert!(drafts[0].confidence.get() >= 0.9);
    assert!(drafts[0].body.contains("lines 2, 4, 6"), "{}", drafts[0].body);
    assert_eq!(rules("a.rs", text), ["p0 conflict_markers/unresolved a.rs:2"]);
}

#[test]
fn diff3_crlf_jj_long_and_nested_markers_are_conflicts_too() {
    let unresolved = |text: String| {
        assert_eq!(
            rules("a.c", &text),
            ["p0 conflict_markers/unresolved a.c:1"],
            "{text}"
        );
    };
    unresolved(conflict().replace('\n', "\r\n"));
    unresolved(conflict().replace(
        "\nours",
        &format!("\nours\n{}\nbase", marker("|", "merged common ancestors")),
    ));
    unresolved(
        conflict()
            .replace("<<<<<<<", "<<<<<<<<<<<")
            .replace("=======", "===========")
            .replace(">>>>>>>", ">>>>>>>>>>>"),
    );
    unresolved(format!("\u{FEFF}{}", conflict()));
    unresolved(
        [
            marker("<", "Conflict 1 of 1"),
            marker("%", "Changes from base to side #1"),
            "+a".into(),
            marker("+", "Contents of side #2"),
            "b".into(),
            marker(">", "Conflict 1 of 1 ends"),
        ]
        .join("\n"),
    );
    let inner = conflict()
        .replace("<<<<<<<", "<<<<<<<<<")
        .replace("=======", "=========")
        .replace(">>>>>>>", ">>>>>>>>>");
    let nested = conflict().replace("\nours", &format!("\n{}\n{inner}", marker("|", "base")));
    assert_eq!(
        rules("a.c", nested),
        [
            "p0 conflict_markers/unresolved a.c:1",
            "p0 conflict_markers/unresolved a.c:3"
        ]
    );
}

#[test]
fn a_marker_without_its_partner_weighs_less() {
    assert_eq!(
        rules("a.rs", format!("x\n{}\n", marker(">", "theirs"))),
        ["p1 conflict_markers/leftover a.rs:2"]
    );
    assert_eq!(
        rules(
            "a.rs",
            format!("{}\nours\n{}\n", marker("<", "HEAD"), marker("=", ""))
        ),
        ["p1 conflict_markers/leftover a.rs:1"]
    );
    assert_eq!(
        rules("a.md", format!("x\n{}\n", marker(">", "a quote of a quote"))),
        ["p2 conflict_markers/leftover a.md:2"]
    );
}

#[test]
fn headings_examples_operators_and_patches_are_no_conflicts() {
    assert_eq!(rules("a.rst", "Title\n=======\n\ntext\n"), [""; 0]);
    assert_eq!(rules("a.md", "Title\n=======\n"), [""; 0]);
    assert_eq!(rules("a.txt", "======= part one =======\n"), [""; 0]);
    let indented: String = conflict().lines().map(|l| format!("    {l}\n")).collect();
    assert_eq!(rules("a.rs", indented), [""; 0]);
    assert_eq!(rules("a.c", "<<<<<<<x\n<<<<<< HEAD\n>>>>>>>>x\n"), [""; 0]);
    assert_eq!(
        rules("a.md", format!("```\n{}```\n", conflict())),
        ["p2 conflict_markers/unresolved a.md:2"]
    );
    assert_eq!(
        rules("tests/fixtures/merge.txt", conflict()),
        ["p1 conflict_markers/unresolved tests/fixtures/merge.txt:1"]
    );
}

#[test]
fn a_conflict_counts_when_any_of_its_markers_was_added() {
    let text = format!("a\n{}b\n", conflict());
    let start = marker("<", "HEAD") + "\n";
    let change = TextChange::new().changing("a.rs", text.replace(&start, ""), &text);
    assert_eq!(
        found(&ConflictMarkers, &change),
        ["p0 conflict_markers/unresolved a.rs:2"]
    );
    let middle = TextChange::new().changing("a.rs", text.replace("=======\n", ""), &text);
    assert_eq!(
        found(&ConflictMarkers, &middle),
        ["p0 conflict_markers/unresolved a.rs:4"]
    );
    let old = TextChange::new().changing("a.rs", &text, text.replace("ours", "mine"));
    assert_eq!(found(&ConflictMarkers, &old), [""; 0]);
}

#[test]
fn the_verifier_refutes_a_conflict_that_the_blob_does_not_have() {
    let change = TextChange::new().adding("a.rs", conflict());
    let draft = report(&ConflictMarkers, &change).drafts.remove(0);
    let solved = TextChange::new().adding("a.rs", "ours\n");
    assert_eq!(holds(&ConflictMarkers, &solved, &draft), Some(false));
}

#[test]
fn a_conflict_of_thousands_of_markers_still_blocks() {
    let many = format!("{}\n", marker("=", "")).repeat(9_000);
    let text = conflict().replace(&format!("{}\n", marker("=", "")), &many);
    let drafts = report(&ConflictMarkers, &TextChange::new().adding("a.rs", &text)).drafts;
    assert_eq!(drafts.len(), 1);
    assert!(
        drafts[0].body.contains("12, 13 and 8990 more are"),
        "{}",
        drafts[0].body
    );
    assert!(drafts[0].body.len() < crate::domain::review::boundary::MAX_BODY);
}

#[test]
fn a_file_of_nothing_but_starts_is_judged_in_linear_time() {
    // Looking through all open conflicts for every line, this would take hours.
    let text = format!("{}\n", marker("<", "a")).repeat(150_000) + &format!("{}\n", marker(">", "b"));
    let told = report(&ConflictMarkers, &TextChange::new().adding("a.txt", text));
    assert_eq!(told.drafts.len(), 500);
    assert!(told.note.unwrap().contains("more findings are not listed"));
}
