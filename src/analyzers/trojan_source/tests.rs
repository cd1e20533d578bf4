//! Direction controls are written as escapes here, so that this file shows what it holds.

use super::TrojanSource;
use crate::{
    analyzers::doubles::{TextChange, found, holds, report},
    domain::diff::{ChangedFile, FileStatus},
};

fn rules(path: &str, text: impl AsRef<[u8]>) -> Vec<String> {
    found(&TrojanSource, &TextChange::new().adding(path, text))
        .into_iter()
        .map(|f| f.replace("trojan_source/", "").replace(&format!(" {path}"), ""))
        .collect()
}

#[test]
fn the_three_published_attacks_block() {
    for line in [
        "    /*\u{202E} } \u{2066}if (isAdmin)\u{2069} \u{2066} begin admins only */",
        "    if (accessLevel != \"user\u{202E} \u{2066}// Check if admin\u{2069} \u{2066}\") {",
        "    '''Subtract funds from bank account then \u{2067}''' ;return",
    ] {
        for path in ["a.c", "a.py", "Makefile", "config.json"] {
            assert_eq!(
                rules(path, format!("{line}\n")),
                ["p0 bidi-control:1"],
                "{path}: {line}"
            );
        }
    }
}

#[test]
fn an_override_of_latin_text_blocks_even_when_it_is_closed() {
    assert_eq!(
        rules("a.rs", "let a = \"\u{202E}nimda\u{202C}\";\n"),
        ["p0 bidi-control:1"]
    );
    assert_eq!(
        rules("a.rs", "let a = \"\u{2067}nimda\u{2069}\";\n"),
        ["p1 bidi-control:1"]
    );
    // The isolate ends and the override within it with it: closed, but not by whoever wrote it.
    assert_eq!(
        rules("a.rs", "/* \u{2066}\u{202E}x\u{2069} */\n"),
        ["p0 bidi-control:1"]
    );
}

#[test]
fn right_to_left_prose_and_translations_are_left_alone() {
    for (path, line) in [
        ("README.ar.md", "مرحبا \u{2067}Jury\u{2069} بالعالم"),
        ("docs/he.md", "שלום \u{202B}Rust\u{202C} עולם\u{200F}!"),
        ("po/fa.po", "msgstr \"می\u{200C}خواهم\""),
        ("locales/ar.json", "\"a\": \"نص \u{2068}x\u{2069} نص\""),
        ("src/strings.rs", "let a = \"می\u{200C}خواهم\";"),
        ("src/strings.rs", "let a = \"שלום\u{200F}\";"),
        ("a.hi.ts", "const a = \"क्\u{200D}ष\";"),
        (
            "README.md",
            "family: 👨\u{200D}👩\u{200D}👧 heart ❤\u{FE0F} flag 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} key 1\u{FE0F}\u{20E3}",
        ),
        (
            "a.rs",
            "let a = \"👨\u{200D}👩\u{200D}👧 ❤\u{FE0F} 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} 1\u{FE0F}\u{20E3} ⚠\u{FE0F}\";",
        ),
        ("a.rs", "// naïve café, λ, Δx, μs, 中文, кнопкаOK"),
        ("a.md", "soft\u{AD}hyphen and zero\u{200B}width"),
        ("a.th.js", "const a = 'สวัสดี\u{200B}ครับ';"),
    ] {
        assert_eq!(rules(path, format!("{line}\n")), [""; 0], "{path}: {line}");
    }
    // Isolated right-to-left text within code is told, and weighs little.
    assert_eq!(
        rules("a.rs", "let a = \"\u{2067}שלום\u{2069}\";\n"),
        ["p2 bidi-control:1"]
    );
}

#[test]
fn invisible_characters_in_code_are_told_and_letters_without_shape_block() {
    for (line, found) in [
        ("let a\u{200B}b = 1;", "p1 invisible-character:1"),
        ("let a\u{200D}b = 1;", "p1 invisible-character:1"),
        ("let a\u{2060} = 1;", "p1 invisible-character:1"),
        ("// see\u{2028}run();", "p1 invisible-character:1"),
        ("let a = \"x\u{FEFF}\";", "p2 invisible-character:1"),
        (
            "const { timeout,\u{3164}} = req.query;",
            "p0 invisible-character:1",
        ),
        ("let \u{FFA0} = 1;", "p0 invisible-character:1"),
        (
            "// hi\u{E0049}\u{E0067}\u{E006E}\u{E006F}\u{E0072}\u{E0065}",
            "p0 invisible-character:1",
        ),
        (
            "eval(f(`\u{FE00}\u{FE01}\u{E0101}\u{E0102}`))",
            "p0 invisible-character:1",
        ),
    ] {
        assert_eq!(rules("a.js", format!("{line}\n")), [found], "{line:?}");
    }
    assert_eq!(
        rules("a.md", "hi\u{E0049}\u{E0067}\u{E006E}\n"),
        ["p1 invisible-character:1"]
    );
}

#[test]
fn a_byte_order_mark_is_one_only_at_the_start_of_the_file() {
    assert_eq!(rules("a.cs", "\u{FEFF}using System;\n"), [""; 0]);
    assert_eq!(
        rules("a.cs", "x\n\u{FEFF}using System;\n"),
        ["p2 invisible-character:2"]
    );
}

#[test]
fn a_word_of_two_alphabets_is_told_in_code() {
    assert_eq!(rules("a.rs", "fn s\u{0441}ope() {}\n"), ["p1 homoglyph:1"]);
    assert_eq!(rules("a.md", "s\u{0441}ope\n"), [""; 0]);
}

#[test]
fn bytes_that_are_not_utf_8_are_no_invisible_characters() {
    assert_eq!(rules("a.c", b"x\xAD\xE2\x80y\n"), [""; 0]);
}

#[test]
fn a_name_that_hides_its_type_is_told_at_the_first_line_or_without_a_place() {
    let path = "gpj\u{202E}exe.sh";
    let change = TextChange::new().adding(path, "x\n");
    assert_eq!(
        found(&TrojanSource, &change),
        [format!("p0 trojan_source/file-name {path}:1")]
    );
    let body = report(&TrojanSource, &change).drafts.remove(0).body;
    assert!(
        body.contains("gpj\\u{202e}exe.sh") && !body.contains('\u{202E}'),
        "{body}"
    );
    let mut moved = TextChange::new();
    moved
        .files
        .push(ChangedFile::new("a\u{200B}b.rs", FileStatus::Renamed));
    assert_eq!(found(&TrojanSource, &moved), ["p1 trojan_source/file-name"]);
    let arabic = TextChange::new().adding("docs/مرحبا.md", "x\n");
    assert_eq!(found(&TrojanSource, &arabic), [""; 0]);
}

#[test]
fn only_added_lines_count_and_the_blob_decides() {
    let bad = "let a = \"\u{202E}x\";\n";
    let change = TextChange::new().changing("a.rs", bad, format!("{bad}fn f() {{}}\n"));
    assert_eq!(found(&TrojanSource, &change), [""; 0]);
    let change = TextChange::new().adding("a.rs", bad);
    let draft = report(&TrojanSource, &change).drafts.remove(0);
    let clean = TextChange::new().adding("a.rs", "let a = 1;\n");
    assert_eq!(holds(&TrojanSource, &clean, &draft), Some(false));
}
