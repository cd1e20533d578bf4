//! Hostile text is made harmless: what the writers give is read again with the forge's
//! dialect of Markdown, and must hold nothing but what they mean to write.
#![no_main]

use jury::domain::text;
use libfuzzer_sys::fuzz_target;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// What is put behind a sign so that the forge takes it for no reference.
const BREAK: char = '\u{200b}';

fn events(markdown: &str) -> Vec<Event<'_>> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES | Options::ENABLE_GFM).collect()
}

/// The forge looks for mentions, references and addresses in the text between two tags.
fn is_inert(text: &str) -> bool {
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let word = chars.peek().is_some_and(char::is_ascii_alphanumeric);
        if (c == '@' && word) || (c == '#' && chars.peek().is_some_and(char::is_ascii_digit)) {
            return false;
        }
        if c == '-' && matches!(before, Some('h' | 'H')) && chars.peek().is_some_and(char::is_ascii_digit) {
            let lower = text.to_ascii_lowercase();
            if (0..=9).any(|digit| lower.contains(&format!("gh-{digit}"))) {
                return false;
            }
        }
        before = Some(c);
    }
    !text.contains("://")
}

/// One paragraph of text that reads as `line`.
fn check_inline(input: &str) {
    let written = text::inline(input);
    let mut read = String::new();
    for event in events(&written) {
        match event {
            Event::Text(text) => read.push_str(&text),
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
            other => panic!("{other:?} in {written:?}"),
        }
    }
    assert!(is_inert(&read), "{written:?}");
    assert_eq!(read.replace(BREAK, ""), text::one_line(input), "{written:?}");
}

fn check_code(input: &str) {
    let span = text::code_span(input);
    match events(&span).as_slice() {
        [Event::Start(Tag::Paragraph), Event::Code(code), Event::End(TagEnd::Paragraph)] => {
            let shown = text::visible_path(input);
            if !shown.trim_matches(' ').is_empty() {
                assert_eq!(code.replace(BREAK, ""), shown);
            }
        }
        other => panic!("{other:?} of {span:?}"),
    }
    let fence = text::code_fence("suggestion", input);
    let read = events(&fence);
    let Some((Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))), rest)) = read.split_first() else {
        panic!("{fence:?}");
    };
    let Some((Event::End(TagEnd::CodeBlock), inside)) = rest.split_last() else { panic!("{fence:?}") };
    assert!(inside.iter().all(|event| matches!(event, Event::Text(_))), "{fence:?}");
}

fn check_markdown(input: &str) {
    let written = text::markdown(input);
    assert!(!written.contains("<!--") && !written.contains('\0'));
    let mut node = String::new();
    let mut code = false;
    for event in events(&written) {
        if let Event::Text(text) = &event {
            if !code {
                node.push_str(text);
            }
            continue;
        }
        assert!(is_inert(&node), "{node:?} of {written:?}");
        node.clear();
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                code = true;
                if let CodeBlockKind::Fenced(info) = kind {
                    assert!(!info.contains("suggestion"), "{written:?}");
                }
            }
            Event::End(TagEnd::CodeBlock) => code = false,
            Event::Start(
                Tag::Paragraph | Tag::List(_) | Tag::Item | Tag::BlockQuote(None) | Tag::Emphasis | Tag::Strong,
            )
            | Event::End(_)
            | Event::Code(_)
            | Event::SoftBreak => {}
            other => panic!("{other:?} in {written:?}"),
        }
    }
}

fuzz_target!(|input: &str| {
    for line in [text::inline(input), text::code_span(input), text::one_line(input), text::visible_path(input)] {
        assert!(!line.contains(['\n', '\r', '\0']));
        assert!(!line.contains(text::is_invisible) || line.contains(BREAK));
    }
    check_inline(input);
    check_code(input);
    check_markdown(input);

    assert!(text::truncate_chars(input, 9).chars().count() <= 9);
    assert!(text::truncate_bytes(input, 9).len() <= 9 && input.starts_with(text::truncate_bytes(input, 9)));
    assert!(!text::storable(input).contains('\0'));
    assert_eq!(text::mask_secret(input).split('\n').count(), input.split('\n').count());
    assert!(!text::visible_lines(input).contains(text::is_invisible));
    let _ = text::redact(input, input);
});
