//! Faults seen in public bug reports against other diff readers, each with the lines
//! that git 2.47.3 and the real blobs give. One test a case, named after its id.

use serde::Deserialize;

use crate::domain::{diff::*, review::finding::Side};

#[derive(Deserialize)]
struct Case {
    id: String,
    diff: String,
    files: Option<Vec<Expected>>,
}

#[derive(Deserialize, Clone)]
struct Expected {
    old_path: String,
    path: String,
    status: FileStatus,
    binary: bool,
    right_added: Vec<u32>,
    right_context: Vec<u32>,
    left_deleted: Vec<u32>,
}

fn case(id: &str) -> Case {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../../../fixtures/diff/cases.json")).unwrap();
    cases.into_iter().find(|c| c.id == id).unwrap()
}

fn numbers(file: &ChangedFile, kind: LineKind, side: Side) -> Vec<u32> {
    file.hunks()
        .iter()
        .flat_map(|h| file.lines(h))
        .filter(|l| l.kind == kind)
        .map(|l| if side == Side::Left { l.old } else { l.new }.unwrap())
        .collect()
}

fn assert_file(file: &ChangedFile, expected: &Expected) {
    assert_eq!(file.path, expected.path);
    assert_eq!(file.base_path(), expected.old_path);
    assert_eq!(file.status, expected.status, "{}", file.path);
    assert_eq!(file.binary, expected.binary, "{}", file.path);
    assert_eq!(
        file.added_lines().map(|(n, _)| n).collect::<Vec<_>>(),
        expected.right_added
    );
    assert_eq!(
        numbers(file, LineKind::Context, Side::Right),
        expected.right_context
    );
    assert_eq!(
        file.removed_lines().map(|(n, _)| n).collect::<Vec<_>>(),
        expected.left_deleted
    );
    // What can be commented on is exactly what was shown, on each side.
    for line in 0..200 {
        assert_eq!(
            file.is_commentable(Side::Right, line),
            expected.right_added.contains(&line) || expected.right_context.contains(&line),
            "RIGHT {line}"
        );
        assert_eq!(
            file.is_commentable(Side::Left, line),
            expected.left_deleted.contains(&line),
            "LEFT {line}"
        );
    }
}

fn check(id: &str) -> Vec<ChangedFile> {
    let case = case(id);
    let files = parse(case.diff.as_bytes()).unwrap();
    let expected = case.files.unwrap();
    assert_eq!(files.len(), expected.len());
    files.iter().zip(&expected).for_each(|(f, e)| assert_file(f, e));
    files
}

macro_rules! cases {
    ($($name:ident $id:literal)+) => { $(
        #[test]
        fn $name() {
            check($id);
        }
    )+ };
}

cases! {
    d01_a_no_newline_mark_after_a_deleted_line_counts_on_no_side "D01"
    d02_no_newline_marks_on_both_sides_count_on_no_side "D02"
    d04_a_context_line_that_reads_like_a_mark_is_content "D04"
    d05_octal_escapes_are_bytes_of_utf8 "D05"
    d07_a_path_with_quote_tab_and_backslash "D07"
    d08_a_path_with_a_line_end "D08"
    d10_a_deleted_binary_with_spaces_in_its_name "D10"
    d12_a_pure_rename_is_listed "D12"
    d14_only_one_side_is_quoted "D14"
    d17_a_binary_change_has_no_lines "D17"
    d19_content_cannot_forge_a_header_pair "D19"
    d20_a_deleted_list_item_is_no_mail_signature "D20"
    d21_an_absent_count_is_one "D21"
    d23_a_new_side_without_lines "D23"
    d24_an_emptied_file_has_no_line_zero "D24"
    d26_a_new_file_of_one_line "D26"
    d28_a_line_separator_cannot_forge_a_file "D28"
    d31_a_change_of_line_ends_is_a_change_of_lines "D31"
    d38_a_pure_copy_is_listed_beside_its_changed_source "D38"
    d43_a_committed_patch_is_one_file "D43"
    d44_a_zero_length_line_is_empty_context "D44"
    d45_an_invisible_character_in_a_path_is_kept "D45"
    d46_what_git_hides_as_binary_is_listed_as_binary "D46"
}

#[test]
fn d11_a_path_that_holds_the_prefix_of_the_other_side() {
    let files = check("D11");
    assert_eq!(
        (files[0].old_mode, files[0].new_mode),
        (Some(0o100_644), Some(0o100_755))
    );
}

#[test]
fn d16_a_change_of_mode_alone_is_listed() {
    let files = check("D16");
    assert_eq!(
        (files[0].old_mode, files[0].new_mode),
        (Some(0o100_644), Some(0o100_755))
    );
    assert!(files[0].hunks().is_empty());
}

#[test]
fn d27_lines_end_at_lf_only() {
    check("D27");
    for separator in [
        "\u{c}", "\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\r", "\u{1c}", "\0",
    ] {
        let diff = case("D27").diff.replace('\u{c}', separator);
        let files = parse(diff.as_bytes()).unwrap();
        assert_file(&files[0], &case("D27").files.unwrap()[0]);
        let text = format!("b = \"{separator}\u{2028}\u{85}\"");
        assert_eq!(files[0].line_text(Side::Right, 2), Some(text.as_bytes()));
    }
}

#[test]
fn d30_a_cr_belongs_to_the_line() {
    let files = check("D30");
    assert_eq!(files[0].line_text(Side::Right, 2), Some(b"B\r".as_slice()));
    assert_eq!(files[0].line_text(Side::Left, 2), Some(b"b\r".as_slice()));
}

#[test]
fn d33_a_very_long_line_hides_nothing_after_it() {
    let long = "y".repeat(70_000);
    let diff = format!(
        "diff --git a/m.js b/m.js\nindex 587be6b..0000001 100644\n--- a/m.js\n+++ b/m.js\n@@ -1 +1 @@\n-x\n+{long}\n\
         diff --git a/z.txt b/z.txt\nindex d00491f..0cfbf08 100644\n--- a/z.txt\n+++ b/z.txt\n@@ -1 +1 @@\n-1\n+2\n"
    );
    let files = parse(diff.as_bytes()).unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(files[0].line_text(Side::Right, 1), Some(long.as_bytes()));
    assert_eq!(files[1].line_text(Side::Right, 1), Some(b"2".as_slice()));
}

#[test]
fn d34_a_combined_diff_is_refused_with_a_reason() {
    let text = case("D34").diff;
    let error = parse(text.as_bytes()).unwrap_err();
    assert_eq!(error, DiffError::Combined { line: 1 });
    assert!(error.to_string().contains("base...head"));
    // Also when it is not the first file, and when only its hunks are given.
    let after = format!("{}{text}", case("D21").diff);
    assert!(matches!(
        parse(after.as_bytes()),
        Err(DiffError::Combined { line: 8 })
    ));
    let hunks = &text[text.find("@@@").unwrap()..];
    assert!(matches!(
        parse_file_patch(hunks.as_bytes()),
        Err(DiffError::Combined { .. })
    ));
}

#[test]
fn d37_a_changed_type_is_one_file_with_the_lines_of_both_sides() {
    let case = case("D37");
    let files = parse(case.diff.as_bytes()).unwrap();
    let [removed, added] = &case.files.unwrap()[..] else {
        panic!("two sections")
    };
    let merged = Expected {
        status: FileStatus::TypeChanged,
        left_deleted: removed.left_deleted.clone(),
        ..added.clone()
    };
    assert_eq!(files.len(), 1);
    assert_file(&files[0], &merged);
    assert_eq!(
        (files[0].old_mode, files[0].new_mode),
        (Some(0o100_644), Some(0o120_000))
    );
    assert_eq!(files[0].line_text(Side::Left, 1), Some(b"hello".as_slice()));
    assert_eq!(files[0].line_text(Side::Right, 1), Some(b"k".as_slice()));
}

/// The recorded `path` is the wrong one that stripping gives, kept there to prove that
/// the text is ambiguous for a reader that always strips. Two equal names have no
/// prefix, so the true path can be told.
#[test]
fn d40_a_diff_without_prefixes_keeps_its_first_folder() {
    let case = case("D40");
    let expected = Expected {
        old_path: "a/f.txt".to_owned(),
        path: "a/f.txt".to_owned(),
        ..case.files.unwrap()[0].clone()
    };
    assert_file(&parse(case.diff.as_bytes()).unwrap()[0], &expected);
}
