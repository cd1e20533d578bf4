use proptest::prelude::*;

use super::{super::samples::anchor, *};
use crate::domain::{diff::parse, review::publication::ReviewEvent};

const TWO_HUNKS: &str = "diff --git a/f.rs b/f.rs\nindex 58b8997..8ac9880 100644\n--- a/f.rs\n+++ b/f.rs\n\
@@ -2,7 +2,7 @@ l1\n l2\n l3\n l4\n-l5\n+L5\n l6\n l7\n l8\n\
@@ -22,7 +22,7 @@ l21\n l22\n l23\n l24\n-l25\n+L25\n l26\n l27\n l28\n";

const DELETED: &str = "diff --git a/q.sql b/q.sql\nindex e302206..707b1d1 100644\n--- a/q.sql\n+++ b/q.sql\n\
@@ -1,3 +1,2 @@\n select 1;\n--- old note\n select 2;\n";

fn position(diff: &str, anchor: &Anchor) -> Result<CommentPosition, NotCommentable> {
    let files = parse(diff.as_bytes()).unwrap();
    comment_position(anchor, changed_file(anchor, &files))
}

fn right(diff: &str, start: u32, end: u32) -> Result<CommentPosition, NotCommentable> {
    position(diff, &anchor("f.rs", Side::Right, start, end))
}

fn lines(position: &CommentPosition) -> (Side, Option<u32>, u32, bool) {
    (
        position.side,
        position.start_line,
        position.line,
        position.clamped,
    )
}

#[test]
fn a02_a_range_over_two_hunks_is_clamped_to_one_of_them() {
    for (start, end, expected) in [
        (5, 25, (Side::Right, Some(22), 25, true)),
        (5, 22, (Side::Right, None, 22, true)),
        (2, 28, (Side::Right, Some(22), 28, true)),
        // The end is in no hunk: the one that shows most of it.
        (4, 15, (Side::Right, Some(4), 8, true)),
        (7, 40, (Side::Right, Some(22), 28, true)),
        (1, 100, (Side::Right, Some(2), 8, true)),
        // Inside one hunk nothing is clamped.
        (2, 8, (Side::Right, Some(2), 8, false)),
        (22, 28, (Side::Right, Some(22), 28, false)),
    ] {
        let position = right(TWO_HUNKS, start, end).unwrap();
        assert_eq!(lines(&position), expected, "{start}-{end}");
        assert_eq!(position.suggestible, !position.clamped, "{start}-{end}");
    }
    assert_eq!(right(TWO_HUNKS, 10, 20), Err(NotCommentable::LinesNotInDiff));
    assert_eq!(right(TWO_HUNKS, 1, 1), Err(NotCommentable::LinesNotInDiff));
}

#[test]
fn a03_one_line_has_no_start_line() {
    for line in [2, 5, 8, 22, 28] {
        let position = right(TWO_HUNKS, line, line).unwrap();
        assert_eq!(lines(&position), (Side::Right, None, line, false));
    }
    // Also when only one line is left of a range.
    assert_eq!(
        lines(&right(TWO_HUNKS, 8, 20).unwrap()),
        (Side::Right, None, 8, true)
    );
}

#[test]
fn a06_a_deleted_line_takes_a_comment_but_no_suggestion() {
    let position = position(DELETED, &anchor("q.sql", Side::Left, 2, 2)).unwrap();
    assert_eq!(lines(&position), (Side::Left, None, 2, false));
    assert!(!position.suggestible);
    // A clamped range would replace the wrong lines.
    assert!(!right(TWO_HUNKS, 5, 25).unwrap().suggestible);
}

#[test]
fn a24_a_context_line_is_commented_on_the_head_with_its_head_number() {
    assert_eq!(
        lines(&right(TWO_HUNKS, 4, 4).unwrap()),
        (Side::Right, None, 4, false)
    );
    // Line 3 of the base is line 2 of the head.
    let context = position(DELETED, &anchor("q.sql", Side::Left, 3, 3)).unwrap();
    assert_eq!(lines(&context), (Side::Right, None, 2, false));
    assert!(!context.suggestible, "it was written about the base");
    // A range of the base is cut to its deleted lines.
    let mixed = position(DELETED, &anchor("q.sql", Side::Left, 1, 3)).unwrap();
    assert_eq!(lines(&mixed), (Side::Left, None, 2, true));
}

#[test]
fn a_deleted_run_with_context_between_keeps_both_ends() {
    let diff = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,4 +1,2 @@\n-a\n b\n-c\n d\n";
    let position = position(diff, &anchor("f", Side::Left, 1, 3)).unwrap();
    assert_eq!(lines(&position), (Side::Left, Some(1), 3, false));
}

#[test]
fn a_renamed_file_is_found_by_its_name_on_each_side_and_told_by_the_new_one() {
    let diff = "diff --git a/old.rs b/new.rs\nsimilarity index 50%\nrename from old.rs\nrename to new.rs\n\
index 1111111..2222222 100644\n--- a/old.rs\n+++ b/new.rs\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";
    for (path, side) in [("old.rs", Side::Left), ("new.rs", Side::Right)] {
        let position = position(diff, &anchor(path, side, 1, 1)).unwrap();
        assert_eq!((position.path.as_str(), position.side), ("new.rs", side));
    }
    for (path, side) in [
        ("old.rs", Side::Right),
        ("new.rs", Side::Left),
        ("none.rs", Side::Right),
    ] {
        assert_eq!(
            position(diff, &anchor(path, side, 1, 1)),
            Err(NotCommentable::FileNotInDiff)
        );
    }
}

#[test]
fn a_copys_source_and_an_added_files_base_are_not_in_the_diff() {
    let copy = "diff --git a/src.rs b/copy.rs\nsimilarity index 60%\ncopy from src.rs\ncopy to copy.rs\n\
index 1111111..2222222 100644\n--- a/src.rs\n+++ b/copy.rs\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";
    assert_eq!(
        position(copy, &anchor("src.rs", Side::Left, 1, 1)),
        Err(NotCommentable::FileNotInDiff)
    );
    let added = "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..2222222\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(
        position(added, &anchor("n", Side::Left, 1, 1)),
        Err(NotCommentable::FileNotInDiff)
    );
    assert_eq!(
        lines(&position(added, &anchor("n", Side::Right, 1, 1)).unwrap()),
        (Side::Right, None, 1, false)
    );
    let removed = "diff --git a/n b/n\ndeleted file mode 100644\nindex 2222222..0000000\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    assert_eq!(
        position(removed, &anchor("n", Side::Right, 1, 1)),
        Err(NotCommentable::FileNotInDiff)
    );
    assert_eq!(
        lines(&position(removed, &anchor("n", Side::Left, 1, 1)).unwrap()),
        (Side::Left, None, 1, false)
    );
}

#[test]
fn a_file_without_text_and_a_bad_range_have_no_place() {
    let binary = "diff --git a/p.png b/p.png\nindex 1111111..2222222 100644\nBinary files a/p.png and b/p.png differ\n";
    assert_eq!(
        position(binary, &anchor("p.png", Side::Right, 1, 1)),
        Err(NotCommentable::NoText)
    );
    for (start, end) in [(0, 0), (0, 5), (5, 4), (u32::MAX, 1)] {
        assert_eq!(right(TWO_HUNKS, start, end), Err(NotCommentable::BadRange));
    }
    assert!(right(TWO_HUNKS, 1, u32::MAX).is_ok(), "no overflow");
    assert_eq!(
        right(TWO_HUNKS, u32::MAX, u32::MAX),
        Err(NotCommentable::LinesNotInDiff)
    );
}

fn review(comments: Vec<ReviewComment>) -> ReviewView {
    ReviewView {
        commit: "a".repeat(40).parse().unwrap(),
        event: ReviewEvent::Comment,
        body: "body".into(),
        comments,
    }
}

fn comment(path: &str, side: Side, start_line: Option<u32>, line: u32) -> ReviewComment {
    ReviewComment {
        path: path.into(),
        line,
        side,
        start_line,
        body: "b".into(),
    }
}

#[test]
fn a05_offenders_are_found_before_anything_is_posted() {
    let files = parse(TWO_HUNKS.as_bytes()).unwrap();
    let review = review(vec![
        comment("f.rs", Side::Right, None, 5),
        comment("f.rs", Side::Right, None, 999),
        comment("g.rs", Side::Right, None, 5),
        comment("f.rs", Side::Right, Some(5), 25),
        comment("f.rs", Side::Right, Some(5), 5),
        comment("f.rs", Side::Left, None, 4),
        comment("f.rs", Side::Left, None, 5),
        comment("f.rs", Side::Right, Some(2), 8),
    ]);
    assert_eq!(offenders(&review, &files), [1, 2, 3, 4, 5]);
}

#[test]
fn a08_an_outdated_comment_is_never_mapped_onto_the_head() {
    let outdated = CommentFields {
        path: "f.rs".into(),
        side: Some(Side::Right),
        original_line: Some(8),
        original_start_line: Some(6),
        original_commit_id: Some("a".repeat(40)),
        ..CommentFields::default()
    };
    assert_eq!(
        outdated.place(),
        CommentPlace::Outdated {
            commit: "a".repeat(40),
            anchor: anchor("f.rs", Side::Right, 6, 8)
        }
    );
    let without_commit = CommentFields {
        original_commit_id: None,
        ..outdated.clone()
    };
    assert_eq!(without_commit.place(), CommentPlace::Unknown);
    let current = CommentFields {
        line: Some(3),
        ..outdated
    };
    assert_eq!(
        current.place(),
        CommentPlace::Current(anchor("f.rs", Side::Right, 3, 3))
    );
    let nonsense = CommentFields {
        start_line: Some(9),
        ..current
    };
    assert_eq!(nonsense.place(), CommentPlace::Unknown);
}

#[test]
fn a09_a_legacy_object_with_a_position_only_has_no_lines() {
    let legacy = CommentFields {
        path: "f.rs".into(),
        ..CommentFields::default()
    };
    assert_eq!(legacy.place(), CommentPlace::Unknown);
}

/// Hunks as git makes them: in order, apart from each other on both sides.
fn any_hunks() -> impl Strategy<Value = Vec<Vec<ShownLine>>> {
    let kind = prop::sample::select(vec![LineKind::Context, LineKind::Added, LineKind::Removed]);
    prop::collection::vec((1..6_u32, prop::collection::vec(kind, 1..8)), 0..5).prop_map(|hunks| {
        let (mut old, mut new) = (0, 0);
        hunks
            .into_iter()
            .map(|(gap, kinds)| {
                old += gap;
                new += gap;
                kinds
                    .into_iter()
                    .map(|kind| {
                        let on_old = kind != LineKind::Added;
                        let on_new = kind != LineKind::Removed;
                        old += u32::from(on_old);
                        new += u32::from(on_new);
                        ShownLine {
                            kind,
                            old: on_old.then_some(old),
                            new: on_new.then_some(new),
                        }
                    })
                    .collect()
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn every_place_is_one_that_the_forge_takes(
        hunks in any_hunks(), side in prop::sample::select(Side::ALL), start in 0..40_u32, more in 0..40_u32,
    ) {
        let anchor = anchor("f", side, start, start + more);
        let Ok(position) = place(&anchor, &hunks) else { return Ok(()) };
        let shown = |hunk: &Vec<ShownLine>, wanted: u32| hunk.iter().any(|line| match position.side {
            Side::Right => line.new == Some(wanted),
            Side::Left => line.kind == LineKind::Removed && line.old == Some(wanted),
        });
        let first = position.start_line.unwrap_or(position.line);
        prop_assert!(hunks.iter().any(|hunk| shown(hunk, first) && shown(hunk, position.line)));
        prop_assert!(position.start_line.is_none_or(|start| start < position.line));
        if position.side == side {
            prop_assert!(first >= anchor.start_line && position.line <= anchor.end_line);
        }
        if position.suggestible {
            prop_assert_eq!((side, first, position.line), (Side::Right, anchor.start_line, anchor.end_line));
        }
        if !position.clamped && position.side == side {
            prop_assert_eq!((first, position.line), (anchor.start_line, anchor.end_line));
        }
    }
}
