use proptest::prelude::*;

use super::*;
use crate::domain::text;

/// Made at run time, so that no scanner takes this file for a leak.
fn samples() -> Vec<String> {
    let letters = |n: usize| {
        "aB3dE5gH7jK9mN2pQ4sT6vW8xZ1cF0kL"
            .chars()
            .cycle()
            .take(n)
            .collect::<String>()
    };
    let hex = |n: usize| {
        "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
            .chars()
            .cycle()
            .take(n)
            .collect::<String>()
    };
    vec![
        format!("gh{}_{}", "p", letters(36)),
        format!("github{}_{}", "_pat", letters(60)),
        format!("gl{}-{}", "pat", letters(20)),
        format!("AK{}{}", "IA", "Q3EGZ5TNB7WXK2LM"),
        format!("xo{}-{}", "xb", letters(30)),
        format!("sk{}_{}", "_live", letters(24)),
        format!("np{}_{}", "m", letters(36)),
        format!("sk-{}-{}", "ant", letters(40)),
        format!("dop{}_{}", "_v1", hex(64)),
        format!("SG{}{}.{}", ".", letters(22), letters(43)),
        format!("hooks.slack{}/services/{}", ".com", letters(40)),
        format!(
            "heroku key: {}-{}-{}-{}-{}",
            hex(8),
            hex(4),
            hex(4),
            hex(4),
            hex(12)
        ),
        format!("mailgun {}-{}-{}", hex(32), hex(8), hex(8)),
        format!("?sv=2024-01-01&x=1&{}={}", "sig", letters(44)),
    ]
}

/// Every way in which a stranger's words leave for people.
fn rendered(words: &str) -> Vec<(&'static str, String)> {
    vec![
        ("one_line", text::one_line(words)),
        ("visible_path", text::visible_path(words)),
        ("visible_lines", text::visible_lines(words)),
        ("inline", text::inline(words)),
        ("code_span", text::code_span(words)),
        ("markdown", text::markdown(words)),
        ("truncate_chars", text::truncate_chars(words, 60).into_owned()),
        (
            "truncated path",
            text::visible_path(&text::truncate_chars(words, 30)),
        ),
    ]
}

#[test]
fn a_token_is_masked_and_what_stands_around_it_is_not() {
    for token in samples() {
        let hit = &tokens(token.as_bytes())[0];
        let value = &token[hit.at.clone()];
        let path = format!("deploy/{value}/key.txt");
        // Some are recognised by the words before them only.
        if !tokens(path.as_bytes()).is_empty() {
            assert_eq!(conceal(&path), format!("deploy/{MASK}/key.txt"));
        }
        for (how, shown) in rendered(&format!("see {token} here")) {
            assert!(!shown.contains(value), "{how}: {shown}");
        }
    }
}

#[test]
fn words_without_a_token_are_left_as_they_are() {
    for words in [
        "src/ghp_tool.rs",
        "",
        "ü/日本.rs",
        "sk-learn.md",
        "0123456789abcdef0123456789abcdef01234567",
    ] {
        assert!(
            matches!(conceal(words), Cow::Borrowed(w) if w == words),
            "{words}"
        );
    }
}

#[test]
fn a_token_that_only_a_mask_uncovers_is_masked_too() {
    let [first, second] = [&samples()[0], &samples()[3]];
    // The prefix may be glued to anything; what is glued to its end is seen once it is gone.
    for words in [
        format!("{first}-{second}"),
        format!("{second}{first}"),
        format!("é{second}é"),
    ] {
        let shown = conceal(&words);
        assert!(tokens(shown.as_bytes()).is_empty(), "{shown}");
        assert!(!shown.contains(first.as_str()), "{shown}");
    }
}

#[test]
fn a_cut_leaves_no_half_of_a_token() {
    let token = &samples()[0];
    let words = format!("{}{token}", "é".repeat(20));
    for max in 0..words.chars().count() {
        assert!(!text::truncate_chars(&words, max).contains("p_aB"), "{max}");
    }
    // What is glued to a longer word is no token, until it is cut off from that.
    let glued = format!("{}Z", samples()[3]);
    for max in 0..glued.len() {
        assert!(
            tokens(text::truncate_chars(&glued, max).as_bytes()).is_empty(),
            "{max}"
        );
    }
}

proptest! {
    #[test]
    fn no_token_survives_in_anything_that_is_published(
        parts in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(samples()),
                proptest::sample::select(vec![
                    "\n", "\t", " ", "/", "-", "_", ".", ":", "=", "\u{200b}", "é", "*", "`", "&", "<", "@", "#",
                    "a", "Z", "9", "heroku key", "mailgun", "aws_secret", "sig", "\\n", "(", "]", "**", "```",
                ]).prop_map(str::to_owned),
            ],
            0..8,
        )
    ) {
        let words = parts.concat();
        for (how, shown) in rendered(&words) {
            let left = tokens(shown.as_bytes());
            prop_assert!(left.is_empty(), "{how}: {shown:?} of {words:?} shows {left:?}");
        }
    }
}
