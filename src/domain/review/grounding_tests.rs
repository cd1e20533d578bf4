use proptest::prelude::*;

use super::{super::samples::*, *};

const BLOB: &[u8] = b"fn a() {\n    let x = 1;\n}\nfn b() {\n    let y = 2;\n}\n";

fn at(quote: &str, start: u32, end: u32) -> Draft {
    let mut draft = draft(quote);
    let anchor = draft.anchor.as_mut().unwrap();
    (anchor.start_line, anchor.end_line) = (start, end);
    draft
}

fn lines_of(placed: &Placed) -> (u32, u32, bool) {
    let anchor = placed.draft.anchor.as_ref().unwrap();
    (anchor.start_line, anchor.end_line, placed.mended)
}

#[test]
fn a_quote_that_stands_where_it_says_is_placed_there() {
    assert_eq!(
        lines_of(&ground(at("    let x = 1;", 2, 2), Some(BLOB)).unwrap()),
        (2, 2, false)
    );
    let two = ground(at("    let x = 1;\n}", 2, 3), Some(BLOB)).unwrap();
    assert_eq!(lines_of(&two), (2, 3, false));
    // `}` stands twice, but the line that is named is one of them.
    assert_eq!(
        lines_of(&ground(at("}", 6, 6), Some(BLOB)).unwrap()),
        (6, 6, false)
    );
}

#[test]
fn a_wrong_line_is_mended_when_the_quote_stands_once() {
    for (start, end) in [(1, 1), (5, 5), (3, 9), (400, 400)] {
        let placed = ground(at("    let y = 2;", start, end), Some(BLOB)).unwrap();
        assert_eq!(lines_of(&placed), (5, 5, (start, end) != (5, 5)), "{start}-{end}");
    }
    // The range follows the quote.
    assert_eq!(
        lines_of(&ground(at("fn b() {\n    let y = 2;", 4, 4), Some(BLOB)).unwrap()),
        (4, 5, true)
    );
}

#[test]
fn a_quote_that_cannot_be_placed_is_refused_with_what_to_do() {
    let error = |draft, blob| ground(draft, blob).unwrap_err().to_string();
    assert!(
        error(at("let z = 3;", 2, 2), Some(BLOB))
            .contains("does not occur in src/a.rs on side RIGHT (6 lines)")
    );
    let twice = error(at("}", 1, 1), Some(BLOB));
    assert!(
        twice.contains("occurs 2 times") && twice.contains("lines 3, 6"),
        "{twice}"
    );
    assert!(error(at("x", 1, 1), None).contains("is not in the change"));
    assert!(error(at("x", 1, 1), Some(b"")).contains("0 lines"));
    assert!(error(at("", 1, 1), Some(BLOB)).contains("empty or blank"));
    assert!(error(at("x", 0, 1), Some(BLOB)).contains("start at 1"));
    assert!(error(at("x", 3, 1), Some(BLOB)).contains("swap them"));
    // Part of a line is not the line, and blanks belong to it.
    assert!(ground(at("let x = 1;", 2, 2), Some(BLOB)).is_err());
    // A hostile path cannot forge a line of the answer.
    let mut draft = at("x", 1, 1);
    draft.anchor.as_mut().unwrap().path = "a\nb".into();
    assert!(error(draft, None).starts_with("a\\nb is not"));
}

#[test]
fn d27_lines_end_at_lf_only() {
    let blob = "one\u{0c}still one\u{2028}still\u{85}one\rstill\ntwo\n".as_bytes();
    assert_eq!(blob_lines(blob).len(), 2);
    assert_eq!(
        lines_of(&ground(at("two", 2, 2), Some(blob)).unwrap()),
        (2, 2, false)
    );
    assert_eq!(blob_lines(b"a\n\n"), [b"a".as_slice(), b""]);
    assert_eq!(blob_lines(b"a"), [b"a".as_slice()]);
    assert!(blob_lines(b"").is_empty());
}

#[test]
fn d30_a_cr_belongs_to_the_line_and_decides_no_match() {
    let crlf = b"a\r\nB\r\nc\r\n";
    for quote in ["B", "B\r", "B\r\n", "B\n"] {
        let placed = ground(at(quote, 2, 2), Some(crlf)).unwrap();
        assert_eq!(lines_of(&placed), (2, 2, false), "{quote:?}");
        assert_eq!(placed.draft.quote.as_deref(), Some("B"));
    }
    let lf = b"a\nB\nc\n";
    assert!(ground(at("B\r", 2, 2), Some(lf)).is_ok());
}

#[test]
fn d30_a_suggestion_has_the_line_ends_of_the_file_exactly_once() {
    let crlf = b"a\r\nB\r\nc\r\n".as_slice();
    let lf = b"a\nB\nc\n".as_slice();
    for (blob, suggestion, expected) in [
        (crlf, "x\ny", "x\r\ny\r"),
        (crlf, "x\r\ny", "x\r\ny\r"),
        (crlf, "x\r\ny\r\n", "x\r\ny\r"),
        (crlf, "x\r\ny\r", "x\r\ny\r"),
        (crlf, "", ""),
        (lf, "x\r\ny", "x\ny"),
        (lf, "x\ny\n", "x\ny"),
        (lf, "\n\nx", "\n\nx"),
    ] {
        let mut draft = at("B", 2, 2);
        draft.suggestion = Some(suggestion.into());
        let placed = ground(draft, Some(blob)).unwrap();
        assert_eq!(
            placed.draft.suggestion.as_deref(),
            Some(expected),
            "{suggestion:?}"
        );
    }
}

#[test]
fn a_secret_is_nowhere_once_it_is_placed() {
    let value = ["AKIA", "QQ4R7ZK2XW5M3PLT"].concat();
    let line = format!("key = \"{value}\"");
    let blob = format!("a\n{line}\n");
    let mut draft = at(&line, 2, 2);
    draft.secret = true;
    draft.title = format!("A key {value} is here");
    draft.body = format!("`{line}` holds {value}.");
    draft.suggestion = Some(format!("key = env(\"{value}\")"));
    let placed = ground(draft, Some(blob.as_bytes())).unwrap();
    assert!(!format!("{placed:?}").contains(&value), "not even in a log");
    assert_eq!(placed.draft.quote.as_deref(), Some(text::MASK));
    assert_eq!(placed.draft.suggestion, None);
    assert!(placed.draft.title.starts_with("A key ******** is"));
}

#[test]
fn a_quote_stands_only_on_its_own_lines() {
    let prints = Fingerprinter::new(vec![7; 32]);
    let value = ["AKIA", "QQ4R7ZK2XW5M3PLT"].concat();
    let blob = format!("a\nkey = {value}\nb\n");
    for secret in [false, true] {
        let mut draft = at(&format!("key = {value}"), 2, 2);
        draft.secret = secret;
        draft.provenance = super::super::finding::Provenance::Rule("demo".into());
        let placed = ground(draft, Some(blob.as_bytes())).unwrap();
        let mut found = finding("f1");
        found.fingerprint = prints.fingerprint(&placed);
        found.anchor = placed.draft.anchor.clone();
        found.quote = placed.draft.quote.clone();
        assert!(quote_stands(&found, blob.as_bytes(), &prints));
        assert!(prints.quote_occurs(&found, blob.as_bytes()));
        let moved = format!("new\n{blob}");
        assert!(!quote_stands(&found, moved.as_bytes(), &prints));
        assert!(prints.quote_occurs(&found, moved.as_bytes()), "it only moved");
        assert!(!prints.quote_occurs(&found, b"a\nkey = env\nb\n"));
        assert!(!quote_stands(&found, b"a\n", &prints));
    }
}

proptest! {
    #[test]
    fn whatever_is_placed_stands_there(
        lines in proptest::collection::vec("[ab ]{0,2}\r?", 1..10), start in 0..12_u32, more in 0..3_u32,
        quoted in any::<proptest::sample::Index>(), length in 1..4_usize,
    ) {
        let blob = lines.iter().map(|l| format!("{l}\n")).collect::<String>();
        let from = quoted.index(lines.len());
        let quote = lines[from..(from + length).min(lines.len())].join("\n");
        if let Ok(placed) = ground(at(&quote, start, start + more), Some(blob.as_bytes())) {
            let anchor = placed.draft.anchor.unwrap();
            let there = anchored_lines(blob.as_bytes(), &anchor).unwrap();
            let quote = placed.draft.quote.unwrap();
            prop_assert_eq!(there.len(), quote.split('\n').count());
            for (line, quoted) in there.iter().zip(quote.split('\n')) {
                prop_assert!(same_line(line, quoted));
            }
        }
    }

    #[test]
    fn hostile_drafts_and_blobs_never_panic(quote in hostile(), blob in proptest::collection::vec(any::<u8>(), 0..80), start in any::<u32>(), end in any::<u32>(), secret in any::<bool>()) {
        let mut draft = at(&quote, start, end);
        draft.secret = secret;
        let _ = ground(draft, Some(&blob));
    }
}

/// The law of cost: a file is read once for all that quote it, not once for each.
#[test]
fn placing_many_findings_in_one_file_reads_it_once() {
    let blob: String = (0..2000)
        .map(|n| format!("let value_{} = {n};\n", n % 7))
        .collect();
    let lines: Vec<&str> = blob.lines().collect();
    let drafts: Vec<Draft> = (1..=500).map(|n| at(lines[n - 1], n as u32, n as u32)).collect();
    LINES_READ.with(|read| read.set(0));
    let text = Text::new(blob.as_bytes(), drafts.iter().filter_map(|d| d.quote.as_deref()));
    let placed: Vec<Placed> = drafts
        .iter()
        .map(|draft| ground_in(draft.clone(), Some(&text)).unwrap())
        .collect();
    assert_eq!(LINES_READ.with(std::cell::Cell::get), 2000);
    for (draft, placed) in drafts.into_iter().zip(placed) {
        assert_eq!(ground(draft, Some(blob.as_bytes())).unwrap(), placed);
    }
}

proptest! {
    /// What the lines of a blob are does not depend on how they are found.
    #[test]
    fn line_starts_are_the_lines_of_the_blob(blob in "[ab\n\r]{0,40}") {
        let blob = blob.as_bytes();
        let starts = LineStarts::new(blob);
        let all = blob_lines(blob);
        prop_assert_eq!(starts.count(), all.len());
        for (at, line) in all.iter().enumerate() {
            prop_assert_eq!(starts.line(blob, at), Some(*line));
        }
        prop_assert_eq!(starts.line(blob, all.len()), None);
    }

    /// Placing in a text that was read for others too is placing alone, and which of
    /// several equal places it is counts those before it, blanks aside.
    #[test]
    fn placing_together_is_placing_alone(
        lines in prop::collection::vec("[ab ]{1,2}", 1..12),
        wanted in prop::collection::vec((0..12_usize, 1..3_usize, 1..14_u32), 1..6),
    ) {
        let blob = lines.join("\n");
        let drafts: Vec<Draft> = wanted
            .into_iter()
            .map(|(from, count, stated)| {
                let from = from % lines.len();
                let to = (from + count).min(lines.len());
                at(&lines[from..to].join("\n"), stated, stated)
            })
            .collect();
        let text = Text::new(blob.as_bytes(), drafts.iter().filter_map(|d| d.quote.as_deref()));
        for draft in drafts {
            let together = ground_in(draft.clone(), Some(&text));
            prop_assert_eq!(&together, &ground(draft, Some(blob.as_bytes())));
            if let Ok(placed) = together {
                let anchor = placed.draft.anchor.unwrap();
                let (start, end) = (anchor.start_line as usize - 1, anchor.end_line as usize);
                let alike = |a: &str, b: &str| a.split_whitespace().eq(b.split_whitespace());
                let before = (0..start).filter(|from| {
                    (start..end).enumerate().all(|(n, at)| alike(&lines[from + n], &lines[at]))
                });
                prop_assert_eq!(before.count() as u32, placed.occurrence);
            }
        }
    }
}
