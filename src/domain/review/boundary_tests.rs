use proptest::prelude::*;

use super::{super::samples::*, *};

#[test]
fn every_bad_argument_says_how_to_mend_it() {
    let base = || draft("let x = 1;");
    let with = |change: fn(&mut Draft)| {
        let mut draft = base();
        change(&mut draft);
        check_draft(&draft).unwrap_err()
    };
    let cases: Vec<(DraftError, &str)> = vec![
        (with(|d| d.title = "  ".into()), "the title is empty"),
        (with(|d| d.title = "a\nb".into()), "keep the first"),
        (with(|d| d.title = "a\u{2028}b".into()), "keep the first"),
        (with(|d| d.title = "x".repeat(201)), "201 characters, at most 200"),
        (with(|d| d.body = "x".repeat(20_001)), "at most 20000"),
        (
            with(|d| d.suggestion = Some("x".repeat(20_001))),
            "describe the change in the body",
        ),
        (
            with(|d| {
                d.anchor = None;
                d.quote = None;
                d.suggestion = Some("x".into());
            }),
            "give the anchor",
        ),
        (
            with(|d| {
                d.anchor.as_mut().unwrap().side = Side::Left;
                d.suggestion = Some("x".into());
            }),
            "side RIGHT",
        ),
        (with(|d| d.anchor = None), "add the anchor"),
        (with(|d| d.anchor.as_mut().unwrap().path.clear()), "name a file"),
        (
            with(|d| d.anchor.as_mut().unwrap().path = "/etc/passwd".into()),
            "relative",
        ),
        (
            with(|d| d.anchor.as_mut().unwrap().path = "a/../b".into()),
            "relative",
        ),
        (with(|d| d.anchor.as_mut().unwrap().start_line = 0), "start at 1"),
        (with(|d| d.anchor.as_mut().unwrap().end_line = 0), "start at 1"),
        (
            with(|d| d.anchor.as_mut().unwrap().end_line = 1),
            "after end_line 1",
        ),
        (with(|d| d.anchor.as_mut().unwrap().end_line = 502), "501 lines"),
        (with(|d| d.quote = None), "copy the anchored lines"),
        (with(|d| d.quote = Some(" \n ".into())), "empty or blank"),
        (with(|d| d.quote = Some("x".repeat(20_001))), "anchor fewer lines"),
    ];
    for (error, words) in cases {
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn lengths_are_counted_in_characters() {
    let mut draft = draft("q");
    draft.title = "😀".repeat(200);
    draft.body = "ß".repeat(20_000);
    assert_eq!(check_draft(&draft), Ok(()));
    draft.title.push('x');
    assert_eq!(check_draft(&draft), Err(DraftError::TitleTooLong(201)));
}

#[test]
fn a_remark_on_the_whole_repository_needs_no_quote() {
    let mut draft = draft("q");
    draft.anchor = None;
    draft.quote = None;
    assert_eq!(check_draft(&draft), Ok(()));
}

#[test]
fn a_stored_finding_that_is_not_whole_is_not_believed() {
    for (priority, confidence, believed) in [
        (Some("p0"), Some(0.7), true),
        (None, Some(0.7), false),
        (Some("p4"), Some(0.7), false),
        (Some("P0"), Some(0.7), false),
        (Some(""), Some(0.7), false),
        (Some("p0"), None, false),
        (Some("p0"), Some(-0.1), false),
        (Some("p0"), Some(1.000_001), false),
        (Some("p0"), Some(f64::NAN), false),
        (Some("p0"), Some(f64::INFINITY), false),
        (Some("p3"), Some(0.0), true),
    ] {
        assert_eq!(
            believe(priority, confidence).is_some(),
            believed,
            "{priority:?} {confidence:?}"
        );
    }
}

proptest! {
    #[test]
    fn what_is_believed_is_in_range(priority in ".{0,3}", confidence in any::<f64>()) {
        if let Some((priority_read, confidence)) = believe(Some(&priority), Some(confidence)) {
            prop_assert_eq!(priority_read.as_str(), priority);
            prop_assert!((0.0..=1.0).contains(&confidence.get()));
        }
    }
}
