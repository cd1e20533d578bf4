use proptest::prelude::*;

use super::*;
use crate::domain::review::finding::Side;

const HEAD: &str = "diff --git a/f b/f\nindex d00491f..0cfbf08 100644\n--- a/f\n+++ b/f\n";

fn one(hunks: &str) -> Result<ChangedFile, DiffError> {
    parse(format!("{HEAD}{hunks}").as_bytes()).map(|mut files| files.remove(0))
}

fn fault(hunks: &str) -> HunkFault {
    let whole = one(hunks).unwrap_err();
    let alone = parse_file_patch(hunks.trim_end_matches('\n').as_bytes()).unwrap_err();
    match (whole, alone) {
        (DiffError::Hunk { fault, .. }, DiffError::Hunk { fault: alone, .. }) => {
            assert_eq!(fault, alone);
            fault
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_text_is_no_change_and_anything_else_is_not() {
    assert_eq!(parse(b"").unwrap(), []);
    assert!(parse_file_patch(b"").unwrap().is_empty());
    for text in [
        "\n",
        "hello\n",
        "From 0123 Mon Sep 17\nSubject: x\n\n---\ndiff --git a/f b/f\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
        "* Unmerged path f\n",
        "Submodule lib 1234567..89abcde:\n  > x\n",
    ] {
        assert_eq!(
            parse(text.as_bytes()),
            Err(DiffError::NotADiff { line: 1 }),
            "{text}"
        );
    }
    assert_eq!(parse_file_patch(b"hello"), Err(DiffError::NotADiff { line: 1 }));
}

#[test]
fn a_hunk_holds_what_its_header_announces_or_is_refused() {
    assert_eq!(fault("@@ -1,2 +1,2 @@\n a\n"), HunkFault::Short);
    assert_eq!(
        fault("@@ -1,2 +1,2 @@\n a\n@@ -9 +9 @@\n-a\n+b\n"),
        HunkFault::Short
    );
    assert_eq!(fault("@@ -1 +1 @@\n-a\n-b\n+c\n"), HunkFault::Line);
    assert_eq!(fault("@@ -1,3 +1,2 @@\n a\n+b\n c\n-d\n"), HunkFault::Line);
    assert_eq!(fault("@@ -1 +1,2 @@\n-a\n+b\nc\n"), HunkFault::Line);
    assert_eq!(
        fault("@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n"),
        HunkFault::Marker
    );
    // One line too many is a line of nothing.
    assert_eq!(
        one("@@ -1 +1 @@\n-a\n+b\n+c\n"),
        Err(DiffError::NotADiff { line: 8 })
    );
    assert_eq!(
        one("@@ -1 +1 @@\n-a\n+b\n\n"),
        Err(DiffError::NotADiff { line: 8 })
    );
    assert_eq!(one("@@ -1 +1 @@\n-a\n+b"), Err(DiffError::CutOff));
    assert!(matches!(one(""), Err(DiffError::Header { .. })));
    let next = "@@ -1,2 +1,2 @@\n a\ndiff --git a/g b/g\nold mode 100644\nnew mode 100755\n";
    assert_eq!(
        one(next),
        Err(DiffError::Hunk {
            line: 7,
            fault: HunkFault::Short
        })
    );
}

#[test]
fn impossible_line_numbers_are_refused_and_large_ones_do_not_overflow() {
    for header in [
        "@@ -0 +1 @@",
        "@@ -1 +0 @@",
        "@@ -4294967295 +1 @@",
        "@@ -1 +99999999999 @@",
    ] {
        assert_eq!(
            fault(&format!("{header}\n-a\n+b\n")),
            HunkFault::Numbers,
            "{header}"
        );
    }
    assert_eq!(fault("@@ -4294967295,0 +1 @@\n+b\n"), HunkFault::Numbers);
    assert_eq!(fault("@@ -1 +4294967200,4294967295 @@\n-a\n"), HunkFault::Numbers);
    assert_eq!(fault("@@ -0,0 +0,0 @@\n"), HunkFault::Numbers);
    let file = one("@@ -4294967293 +4294967293 @@\n-a\n+b\n").unwrap();
    assert_eq!(file.line_text(Side::Right, 4_294_967_293), Some(b"b".as_slice()));
    assert!(!file.is_commentable(Side::Right, u32::MAX));
    for header in [
        "@@ -1 +1",
        "@@ -a +1 @@",
        "@@ -1,+1 @@",
        "@@ - 1 +1 @@",
        "@@ -1 -1 @@",
        "@@ --1 +1 @@",
    ] {
        assert_eq!(
            fault(&format!("{header}\n-a\n+b\n")),
            HunkFault::Header,
            "{header}"
        );
    }
}

#[test]
fn hunks_that_overlap_are_refused() {
    assert_eq!(
        fault("@@ -5 +5 @@\n-a\n+b\n@@ -5 +6 @@\n-a\n+b\n"),
        HunkFault::OutOfOrder
    );
    assert_eq!(
        fault("@@ -5 +5 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+b\n"),
        HunkFault::OutOfOrder
    );
    assert!(one("@@ -5 +5 @@\n-a\n+b\n@@ -6 +6 @@\n-a\n+b\n").is_ok());
    assert!(one("@@ -5 +4,0 @@\n-a\n@@ -7 +5,0 @@\n-c\n@@ -9 +7 @@\n-a\n+b\n").is_ok());
}

#[test]
fn a_mark_is_known_by_its_backslash_in_any_language() {
    for mark in [
        "\\ No newline at end of file",
        "\\ Pas de fin de ligne à la fin du fichier",
        "\\ Kein Zeilenumbruch am Dateiende.",
    ] {
        let file = one(&format!("@@ -1 +1 @@\n-a\n{mark}\n+b\n{mark}\n")).unwrap();
        assert_eq!(file.added_lines().collect::<Vec<_>>(), [(1, b"b".as_slice())]);
        assert_eq!(file.removed_lines().collect::<Vec<_>>(), [(1, b"a".as_slice())]);
    }
}

#[test]
fn a_line_is_found_on_its_own_side_with_its_own_number() {
    let file = one("@@ -10,4 +10,5 @@ fn f()\n a\n-b\n+B\n+C\n c\n d\n@@ -20,2 +21 @@\n-x\n y\n").unwrap();
    let right: Vec<_> = (0..40)
        .filter_map(|n| file.line_text(Side::Right, n).map(|t| (n, t)))
        .collect();
    let left: Vec<_> = (0..40)
        .filter_map(|n| file.line_text(Side::Left, n).map(|t| (n, t)))
        .collect();
    let t = |n: u32, s: &'static str| (n, s.as_bytes());
    assert_eq!(
        right,
        [
            t(10, "a"),
            t(11, "B"),
            t(12, "C"),
            t(13, "c"),
            t(14, "d"),
            t(21, "y")
        ]
    );
    assert_eq!(
        left,
        [
            t(10, "a"),
            t(11, "b"),
            t(12, "c"),
            t(13, "d"),
            t(20, "x"),
            t(21, "y")
        ]
    );
    // Context is read on both sides and commented on to the right.
    assert!(file.is_commentable(Side::Left, 11));
    assert!(!file.is_commentable(Side::Left, 10));
    assert_eq!(file.hunk_of(Side::Right, 14), Some(&file.hunks()[0]));
    assert_eq!(file.hunk_of(Side::Left, 20), Some(&file.hunks()[1]));
    assert_eq!(file.hunk_of(Side::Right, 15), None);
}

#[test]
fn prefixes_are_told_from_folders() {
    let mode = |pair: &str| {
        parse(format!("diff --git {pair}\nold mode 100644\nnew mode 100755\n").as_bytes())
            .map(|files| files[0].path.clone())
    };
    for (pair, path) in [
        ("a/f b/f", "f"),
        ("i/f w/f", "f"),
        ("c/a/b/f i/a/b/f", "a/b/f"),
        ("1/f 2/f", "f"),
        ("old/f new/f", "f"),
        ("src/f src/f", "src/f"),
        ("a/f a/f", "a/f"),
        ("f f", "f"),
        ("a b a b", "a b"),
        ("a/x b/x b/x b/x", "x b/x"),
        ("a/ b/ b/ b/", " b/"),
        ("a/f  b/f ", "f "),
        ("\"a/a\\tb\" \"b/a\\tb\"", "a\tb"),
        ("\"a/a\\tb\" \"a/a\\tb\"", "a/a\tb"),
        ("\"a/\\377\" \"b/\\377\"", "\\xFF"),
    ] {
        assert_eq!(mode(pair).as_deref(), Ok(path), "{pair}");
    }
    for pair in [
        "a/f b/g",
        "a/f",
        "",
        "a/f b/ff",
        "\"a/f\" \"b/g\"",
        "\"a/f",
        "a/ b/",
    ] {
        assert!(mode(pair).is_err(), "{pair}");
    }
}

#[test]
fn what_a_header_says_is_kept() {
    let (old, new) = ("1".repeat(40), "2".repeat(40));
    let file = &parse(
        format!(
            "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex {old}..{new} 100644\n\
             --- a/x\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n"
        )
        .as_bytes(),
    )
    .unwrap()[0];
    assert_eq!((file.base_path(), file.path.as_str()), ("x", "y"));
    assert_eq!(
        (file.old_oid.as_ref(), file.new_oid.as_ref()),
        (Some(&old), Some(&new))
    );
    assert_eq!((file.old_mode, file.new_mode), (Some(0o100_644), Some(0o100_644)));
    let sub = "diff --git a/sub b/sub\nindex 1111111..2222222 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n\
               -Subproject commit 1111111\n+Subproject commit 2222222\n";
    let sub = &parse(sub.as_bytes()).unwrap()[0];
    assert_eq!((sub.new_mode, sub.new_oid.as_ref()), (Some(0o160_000), None));
    let empty = "diff --git a/e b/e\nnew file mode 100755\nindex 0000000..e69de29\n";
    let empty = &parse(empty.as_bytes()).unwrap()[0];
    assert_eq!(
        (empty.status, empty.new_mode),
        (FileStatus::Added, Some(0o100_755))
    );
}

#[test]
fn a_binary_patch_is_passed_over_whole() {
    let diff = "diff --git a/i b/i\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 4\nLcmZQ&Ku`bx0D}Mk\n\n\
                literal 4\nLcmZQ&Ku`bx0D}Mk\n\ndiff --git a/z b/z\nold mode 100644\nnew mode 100755\n";
    let files = parse(diff.as_bytes()).unwrap();
    assert_eq!(files.iter().map(|f| f.binary).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_path_that_comes_twice_is_refused_unless_its_type_changed() {
    let mode = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n";
    assert_eq!(
        parse(format!("{mode}{mode}").as_bytes()),
        Err(DiffError::Repeated { line: 4 })
    );
    let gone = "diff --git a/f b/f\ndeleted file mode 100644\nindex 1111111..0000000\n";
    let link = "diff --git a/f b/f\nnew file mode 120000\nindex 0000000..2222222\n";
    let file = "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..2222222\n";
    assert_eq!(parse(format!("{gone}{link}").as_bytes()).unwrap().len(), 1);
    assert!(parse(format!("{link}{gone}").as_bytes()).is_err());
    assert!(parse(format!("{gone}{file}").as_bytes()).is_err());
    assert!(parse(format!("{gone}{link}{link}").as_bytes()).is_err());
}

#[test]
fn an_added_or_removed_file_is_whole() {
    let gone =
        "diff --git a/f b/f\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/f\n+++ /dev/null\n";
    let new = "diff --git a/f b/f\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/f\n";
    for (head, hunks) in [
        (gone, "@@ -2 +0,0 @@\n-a\n"),
        (gone, "@@ -1 +1 @@\n-a\n+b\n"),
        (gone, "@@ -1 +0,0 @@\n-a\n@@ -3 +0,0 @@\n-b\n"),
        (new, "@@ -0,0 +2 @@\n+a\n"),
        (new, "@@ -1 +1,2 @@\n a\n+b\n"),
    ] {
        let text = format!("{head}{hunks}");
        assert!(parse(text.as_bytes()).is_err(), "{text}");
    }
    let both = format!("{gone}@@ -1,2 +0,0 @@\n-a\n-b\n{new}@@ -0,0 +1,2 @@\n+c\n+d\n");
    let file = &parse(both.as_bytes()).unwrap()[0];
    let shown = |side| [1, 2].map(|n| file.line_text(side, n).unwrap());
    assert_eq!(
        (shown(Side::Left), shown(Side::Right)),
        ([b"a", b"b"].map(|l| &l[..]), [b"c", b"d"].map(|l| &l[..]))
    );
}

#[test]
fn a_file_that_is_too_large_is_listed_as_unseen_and_hides_no_other() {
    let count = MAX_PATCH_LINES + 1;
    let big = format!("@@ -0,0 +1,{count} @@\n{}", "+x\n".repeat(count));
    let after = "diff --git a/z b/z\nold mode 100644\nnew mode 100755\n";
    let files = parse(format!("{HEAD}{big}{after}").as_bytes()).unwrap();
    assert_eq!(files[0].unseen.as_deref(), Some(TOO_LARGE));
    assert!(files[0].hunks().is_empty());
    assert_eq!(files[1].path, "z");
    assert_eq!(parse_file_patch(big.as_bytes()), Err(DiffError::TooLarge));
    // A cut in it is still noticed.
    let cut = &big[..big.len() - 3];
    assert!(parse(format!("{HEAD}{cut}{after}").as_bytes()).is_err());
}

#[test]
fn the_patch_field_of_a_forge_has_no_final_line_end() {
    let patch = parse_file_patch(b"@@ -1,2 +1,3 @@\n a\n+b\n c").unwrap();
    assert_eq!(patch.line_text(Side::Right, 3), Some(b"c".as_slice()));
    let marked = parse_file_patch(b"@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file").unwrap();
    assert_eq!(marked.added_lines().count(), 1);
    assert!(parse_file_patch(b"@@ -1 +1 @@\n-a\n+b\ndiff --git a/f b/f").is_err());
}

/// The plainest diff there is, printed as git prints it: common lines by a table.
fn print(old: &[Vec<u8>], new: &[Vec<u8>], context: usize) -> Vec<u8> {
    let mut table = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            table[i][j] = if old[i] == new[j] {
                table[i + 1][j + 1] + 1
            } else {
                table[i + 1][j].max(table[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut ops) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            ops.push((b' ', i, j));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || table[i + 1][j] >= table[i][j + 1]) {
            ops.push((b'-', i, j));
            i += 1;
        } else {
            ops.push((b'+', i, j));
            j += 1;
        }
    }
    let near = |k: usize| {
        let reach = k.saturating_sub(context)..(k + context + 1).min(ops.len());
        ops[reach].iter().any(|o| o.0 != b' ')
    };
    let shown: Vec<bool> = (0..ops.len()).map(near).collect();
    let mut out = Vec::new();
    let mut k = 0;
    while k < ops.len() {
        if !shown[k] {
            k += 1;
            continue;
        }
        let end = (k..ops.len()).find(|&e| !shown[e]).unwrap_or(ops.len());
        let run = &ops[k..end];
        let olds = run.iter().filter(|o| o.0 != b'+').count();
        let news = run.iter().filter(|o| o.0 != b'-').count();
        let start = |first: usize, count: usize| first + usize::from(count > 0);
        out.extend(
            format!(
                "@@ -{},{olds} +{},{news} @@ somewhere\n",
                start(run[0].1, olds),
                start(run[0].2, news)
            )
            .bytes(),
        );
        for &(op, i, j) in run {
            out.push(op);
            out.extend(if op == b'+' { &new[j] } else { &old[i] });
            out.push(b'\n');
        }
        k = end;
    }
    out
}

/// Lines that look like parts of a diff, and some that do not.
fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"-- a/x".to_vec()),
        Just(b"++ b/x".to_vec()),
        Just(b"@@ -1 +1 @@".to_vec()),
        Just(b"diff --git a/x b/x".to_vec()),
        Just(b"\\ No newline at end of file".to_vec()),
        Just(b"".to_vec()),
        Just(b"\r".to_vec()),
        "[ab\u{2028}\u{85}\u{c}]{0,2}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>().prop_filter("no LF", |b| *b != b'\n'), 0..4),
    ]
}

proptest! {
    #[test]
    fn what_is_read_is_what_the_blobs_hold(
        old in proptest::collection::vec(line(), 0..24),
        new in proptest::collection::vec(line(), 0..24),
        context in 0usize..4,
    ) {
        let hunks = print(&old, &new, context);
        let file = if hunks.is_empty() {
            ChangedFile::new("f", FileStatus::Modified)
        } else {
            let mut text = HEAD.as_bytes().to_vec();
            text.extend(&hunks);
            parse(&text).unwrap().remove(0)
        };
        let at = |lines: &[Vec<u8>], n: u32| lines[n as usize - 1].clone();
        let mut rebuilt = Vec::new();
        let mut copied = 0usize;
        for hunk in file.hunks() {
            for line in file.lines(hunk) {
                if let Some(n) = line.old {
                    prop_assert_eq!(line.text, at(&old, n));
                    prop_assert_eq!(file.line_text(Side::Left, n), Some(line.text));
                    // Between hunks both sides are the same.
                    rebuilt.extend(old[copied..n as usize - 1].iter().cloned());
                    copied = n as usize;
                }
                if let Some(n) = line.new {
                    if line.kind == LineKind::Added && hunk.old_count == 0 {
                        rebuilt.extend(old[copied..hunk.old_start as usize].iter().cloned());
                        copied = hunk.old_start as usize;
                    }
                    rebuilt.push(line.text.to_vec());
                    prop_assert_eq!(rebuilt.len(), n as usize);
                    prop_assert_eq!(line.text, at(&new, n));
                    prop_assert_eq!(file.line_text(Side::Right, n), Some(line.text));
                    prop_assert!(file.is_commentable(Side::Right, n));
                }
            }
        }
        rebuilt.extend(old[copied..].iter().cloned());
        prop_assert_eq!(rebuilt, new);
        let end = hunks.strip_suffix(b"\n").unwrap_or(&hunks);
        prop_assert_eq!(parse_file_patch(end).map(|p| p.hunks().to_vec()), Ok(file.hunks().to_vec()));
    }

    #[test]
    fn no_input_makes_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&bytes);
        let _ = parse_file_patch(&bytes);
    }

    #[test]
    fn nothing_that_looks_like_a_diff_makes_the_reader_panic(
        lines in proptest::collection::vec(prop_oneof![
            "(diff --git a/f b/f|--- a/f|\\+\\+\\+ b/f|index [0-9a]{1,4}\\.\\.[0-9a]{1,4}( 100644)?|Binary files)",
            "@@ -[0-9]{1,10}(,[0-9]{1,10})? \\+[0-9]{1,10}(,[0-9]{1,10})? @@",
            "@@ -1,[0-3] \\+1,[0-3] @@",
            "[-+ \\\\][ab]?",
            "(rename from|rename to|copy from|copy to|old mode|new mode|new file mode|deleted file mode) (\"?a\\\\?[0-7]{0,3}\"?|100644|120000)",
        ], 0..20),
    ) {
        let mut text = lines.join("\n");
        text.push('\n');
        if let Ok(files) = parse(text.as_bytes()) {
            for file in &files {
                for line in [0, 1, 2, u32::MAX] {
                    let _ = (file.line_text(Side::Left, line), file.line_text(Side::Right, line));
                }
                for hunk in file.hunks() {
                    prop_assert_eq!(
                        file.lines(hunk).filter(|l| l.old.is_some()).count(),
                        hunk.old_count as usize
                    );
                }
            }
        }
        let _ = parse_file_patch(text.as_bytes());
    }
}
