//! Hostile text is made harmless and nothing panics.
#![no_main]

use jury::domain::text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    for line in [text::inline(input), text::code_span(input), text::one_line(input), text::visible_path(input)] {
        assert!(!line.contains(['\n', '\r', '\0']));
    }
    let markdown = text::markdown(input);
    assert!(!markdown.contains("<!--") && !markdown.contains('\0'));
    assert!(text::truncate_chars(input, 9).chars().count() <= 9);
    let _ = (text::code_fence("suggestion", input), text::redact(input, input), text::storable(input));
});
