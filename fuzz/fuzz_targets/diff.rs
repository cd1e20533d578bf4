//! Any bytes as a diff: never a panic, and what is read keeps its own laws.
#![no_main]

use std::collections::HashSet;

use jury::domain::{
    diff::{LineKind, Patch, parse, parse_file_patch},
    review::finding::Side,
};
use libfuzzer_sys::fuzz_target;

/// Every line is found under its own number, and a hunk holds what it announces.
fn check(patch: &Patch) {
    let mut last = (0, 0);
    for hunk in patch.hunks() {
        assert!(hunk.old_start >= last.0 && hunk.new_start >= last.1);
        last = (hunk.old_start + hunk.old_count, hunk.new_start + hunk.new_count);
        let mut sides = (0, 0);
        for line in patch.lines(hunk) {
            if let Some(n) = line.old {
                assert_eq!(patch.line_text(Side::Left, n), Some(line.text));
                assert_eq!(patch.hunk_of(Side::Left, n), Some(hunk));
                sides.0 += 1;
            }
            if let Some(n) = line.new {
                assert_eq!(patch.line_text(Side::Right, n), Some(line.text));
                assert!(patch.is_commentable(Side::Right, n));
                sides.1 += 1;
            }
            assert_eq!(line.old.is_none(), line.kind == LineKind::Added);
            assert!(!line.text.contains(&b'\n'));
        }
        assert_eq!(sides, (hunk.old_count, hunk.new_count));
    }
}

fuzz_target!(|text: &[u8]| {
    if let Ok(files) = parse(text) {
        assert_eq!(files.is_empty(), text.is_empty());
        let mut paths = HashSet::new();
        for file in files {
            assert!(!file.path.is_empty() && file.old_path.as_ref() != Some(&file.path));
            assert!(paths.insert(file.path.clone()), "{:?} twice", file.path);
            check(&file.into_patch());
        }
    }
    if let Ok(patch) = parse_file_patch(text) {
        check(&patch);
    }
});
