//! Whatever the diff and the anchor, a comment is placed on lines of one hunk, or nowhere.
#![no_main]

use jury::domain::{
    diff::parse,
    review::{
        anchor::{changed_file, comment_position, offenders},
        finding::{Anchor, Side},
        publication::{ReviewComment, ReviewEvent, ReviewView},
    },
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u32, u32, bool, &[u8])| {
    let (start_line, end_line, left, diff) = input;
    let Ok(files) = parse(diff) else { return };
    let side = if left { Side::Left } else { Side::Right };
    for file in &files {
        let anchor = Anchor {
            path: file.path_on(side).to_owned(),
            side,
            start_line,
            end_line,
        };
        let Ok(place) = comment_position(&anchor, changed_file(&anchor, &files)) else {
            continue;
        };
        let first = place.start_line.unwrap_or(place.line);
        let there = files.iter().any(|file| {
            file.path == place.path
                && file.is_commentable(place.side, first)
                && file.is_commentable(place.side, place.line)
                && file.hunk_of(place.side, first) == file.hunk_of(place.side, place.line)
        });
        assert!(there && place.start_line.is_none_or(|start| start < place.line));
        assert!(!place.suggestible || (first, place.line) == (start_line, end_line));
        let view = ReviewView {
            commit: "1".repeat(40).parse().unwrap(),
            event: ReviewEvent::Comment,
            body: String::new(),
            comments: vec![ReviewComment {
                path: place.path,
                line: place.line,
                side: place.side,
                start_line: place.start_line,
                body: String::new(),
            }],
        };
        assert!(offenders(&view, &files).is_empty(), "{:?}", view.comments);
    }
});
