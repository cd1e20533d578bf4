use proptest::prelude::*;

use super::{
    super::{finding::Draft, grounding::ground, samples::*},
    *,
};

fn prints() -> Fingerprinter {
    Fingerprinter::new(vec![7; 32])
}

fn print_of(draft: Draft, blob: &str) -> String {
    prints().fingerprint(&ground(draft, Some(blob.as_bytes())).unwrap())
}

fn at(quote: &str, line: u32) -> Draft {
    let mut draft = draft(quote);
    let anchor = draft.anchor.as_mut().unwrap();
    anchor.start_line = line;
    anchor.end_line = line + u32::try_from(quote.matches('\n').count()).unwrap();
    draft
}

#[test]
fn l08_moved_and_re_indented_code_keeps_its_fingerprint() {
    let before = print_of(at("  x = f(1)", 2), "a\n  x = f(1)\n");
    assert_eq!(before, print_of(at("  x = f(1)", 5), "1\n2\n3\n4\n  x = f(1)\n"));
    assert_eq!(before, print_of(at("\t\tx  =  f(1)", 2), "a\n\t\tx  =  f(1)\r\n"));
    assert_ne!(before, print_of(at("  x = f(2)", 2), "a\n  x = f(2)\n"));
}

#[test]
fn equal_places_in_one_file_are_told_apart_in_line_order() {
    let blob = "x\ny\n x\ny\nx\n";
    let all: Vec<String> = [(1, "x"), (3, " x"), (5, "x")]
        .map(|(line, quote)| print_of(at(quote, line), blob))
        .into();
    assert_eq!(
        all.iter()
            .map(|p| p.rsplit_once('-').unwrap().1)
            .collect::<Vec<_>>(),
        ["0", "1", "2"]
    );
    assert_eq!(
        all.iter()
            .map(|p| p.rsplit_once('-').unwrap().0)
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        1
    );
}

#[test]
fn path_side_and_rule_tell_fingerprints_apart_and_words_do_not() {
    let one = at("x", 1);
    let mut others = vec![one.clone()];
    let mut other = |change: fn(&mut Draft)| {
        let mut draft = one.clone();
        change(&mut draft);
        others.push(draft);
    };
    other(|d| d.anchor.as_mut().unwrap().path = "src/b.rs".into());
    other(|d| d.anchor.as_mut().unwrap().side = Side::Left);
    other(|d| d.axis = Axis::Security);
    other(|d| d.provenance = Provenance::Rule("r".into()));
    other(|d| d.provenance = Provenance::Tool("r".into()));
    other(|d| d.secret = true);
    let all: std::collections::BTreeSet<String> = others.iter().map(|d| print_of(d.clone(), "x\n")).collect();
    assert_eq!(all.len(), others.len());

    let mut reworded = one.clone();
    reworded.title = "Other words".into();
    reworded.body = "for the same".into();
    reworded.provenance = Provenance::Human;
    assert_eq!(print_of(one, "x\n"), print_of(reworded, "x\n"));
}

#[test]
fn a_rules_fingerprint_is_not_its_axis() {
    let mut a = at("x", 1);
    a.provenance = Provenance::Rule("r".into());
    let mut b = a.clone();
    b.axis = Axis::Security;
    assert_eq!(
        print_of(a, "x\n"),
        print_of(b, "x\n"),
        "the rule speaks for itself"
    );
}

#[test]
fn a_secret_is_fingerprinted_by_the_key() {
    let mut draft = at("key = 1", 1);
    draft.secret = true;
    let placed = ground(draft, Some(b"key = 1\n")).unwrap();
    let one = Fingerprinter::new(vec![1; 32]).fingerprint(&placed);
    let two = Fingerprinter::new(vec![2; 32]).fingerprint(&placed);
    assert_ne!(one, two);
    assert!(one.starts_with("s1-"));
    assert!(!format!("{:?}", Fingerprinter::new(vec![1; 32])).contains('1'));
}

#[test]
fn remarks_on_the_whole_repository_are_told_apart_by_their_titles() {
    let whole = |title: &str| {
        let mut draft = draft("x");
        draft.anchor = None;
        draft.quote = None;
        draft.title = title.into();
        prints().fingerprint(&ground(draft, None).unwrap())
    };
    assert_eq!(whole("No tests"), whole("no  tests"));
    assert_ne!(whole("No tests"), whole("No docs"));
}

#[test]
fn the_encoding_is_pinned() {
    // A change here forgets every stored finding: it needs a new version prefix.
    assert_eq!(print_of(at("x", 1), "x\n"), PINNED);
}

const PINNED: &str = "f1-5de02dbdb7fdc01a4da1edcedf23ed2f20c1d0b1be82d9d185a04f970f0cad74-0";

proptest! {
    #[test]
    fn lines_above_that_are_other_code_change_nothing(above in proptest::collection::vec("[a-z]{1,5}", 0..9)) {
        let blob = |lines: &[String]| lines.iter().map(|l| format!("{l}\n")).collect::<String>() + "X = 1\n";
        let here = print_of(at("X = 1", u32::try_from(above.len()).unwrap() + 1), &blob(&above));
        prop_assert_eq!(here, print_of(at("X = 1", 1), "X = 1\n"));
    }

    #[test]
    fn fields_cannot_run_into_each_other(a in "[ab/]{1,4}", b in "[ab/]{1,4}") {
        let mut one = at("x", 1);
        one.provenance = Provenance::Rule(a.clone());
        let mut two = at("x", 1);
        two.provenance = Provenance::Rule(b.clone());
        prop_assert_eq!(print_of(one, "x\n") == print_of(two, "x\n"), a == b);
    }
}
