//! Hostile text, made storable and safe to show.
//!
//! Titles, paths, quotes and bodies come from pull requests, models and other
//! tools. What leaves this module may be put into Markdown, HTML-rendering
//! Markdown, a terminal or a database column without forging structure: no
//! line, heading, marker, mention, reference, colour code or hidden character
//! survives as such. Characters that cannot be seen are *shown* (`\u{202e}`)
//! rather than dropped, so that a reader notices them.
//!
//! A token of a known provider is shown as [`MASK`], wherever it stands: a file, a
//! branch or a pull request may be named after one. It is masked before anything is
//! cut (half a token tells much) and once more when the text is whole, since joining
//! lines may make one.

mod markdown;

use std::{borrow::Cow, fmt::Write as _};

use super::secret::conceal;

pub use markdown::markdown;

/// What a secret is shown as. It tells neither the length nor any character.
pub const MASK: &str = "********";

/// Text that every database column takes: NUL, which Postgres refuses in TEXT
/// and JSONB, becomes U+FFFD. Everything else is kept as it is.
pub fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a reader could not see `c`, or it would move what he sees: control
/// characters, bidirectional controls, zero-width and other format characters,
/// blank fillers, variation selectors, tags, noncharacters of private use, and
/// line or paragraph separators. Space, TAB and LF are not meant here.
pub fn is_invisible(c: char) -> bool {
    if matches!(c, ' ' | '\t' | '\n') {
        return false;
    }
    c.is_control()
        || matches!(
            u32::from(c),
            0x00ad
                | 0x034f
                | 0x061c
                | 0x070f
                | 0x0600..=0x0605
                | 0x06dd
                | 0x0890..=0x0891
                | 0x08e2
                | 0x115f..=0x1160
                | 0x17b4..=0x17b5
                | 0x180b..=0x180f
                | 0x200b..=0x200f
                | 0x2028..=0x202e
                | 0x2060..=0x206f
                | 0x2800
                | 0x3164
                | 0xfe00..=0xfe0f
                | 0xfeff
                | 0xffa0
                | 0xfff0..=0xfffb
                | 0x110bd
                | 0x110cd
                | 0x13430..=0x1343f
                | 0x1bca0..=0x1bca3
                | 0x1d173..=0x1d17a
                | 0xe000..=0xf8ff
                | 0xe0000..=0xe0fff
                | 0xf0000..=0x0010_ffff
        )
}

/// Writes `c`, shown as an escape when it could not be seen.
fn push_visible(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_invisible(c) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// One line, nothing hidden: line ends and TAB become single spaces, everything
/// else that could not be seen is shown as an escape, and the ends are trimmed.
/// No Markdown is escaped: for terminals and for plain-text fields.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in conceal(text).chars() {
        if matches!(
            c,
            '\n' | '\r' | '\t' | ' ' | '\u{0b}' | '\u{0c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        ) {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            push_visible(&mut out, c);
        }
    }
    conceal(out.trim_matches(' ')).into_owned()
}

/// A path as people may read it: on one line, with every character that could
/// forge a line or hide (`LF`, controls, zero-width, bidi) shown as an escape.
/// Not for requests: those take the true path.
pub fn visible_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in conceal(path).chars() {
        // Wide and unbreakable blanks pass in prose; in a path they deceive.
        if c.is_whitespace() && !c.is_ascii() {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            push_visible(&mut out, c);
        }
    }
    conceal(&out).into_owned()
}

/// Text of several lines with nothing hidden in it: `CR LF` becomes LF, LF and
/// TAB stay, everything else that could not be seen is shown as an escape.
pub fn visible_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let concealed = conceal(text);
    let mut chars = concealed.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\t' => out.push(c),
            c => push_visible(&mut out, c),
        }
    }
    conceal(&out).into_owned()
}

/// Plain text for the inside of a Markdown line: it stays on one line, nothing
/// in it is read as Markdown or HTML, and mentions (`@name`), references (`#1`,
/// `GH-1`, `owner/repo#1`), closing words and autolinks are defused. The forge
/// looks for those in the *rendered* text, so a backslash is not enough there:
/// a zero-width space stands behind the sign.
pub fn inline(text: &str) -> String {
    guard_line_start(&escape(&one_line(text)))
}

/// [`inline`] without the line: LF, TAB and blanks are left as they are.
pub(crate) fn escape(text: &str) -> String {
    const BREAK: &str = "&#8203;";
    let mut out = String::with_capacity(text.len() + 16);
    let chars: Vec<char> = conceal(text).chars().collect();
    for (i, &c) in chars.iter().enumerate() {
        let previous = i.checked_sub(1).map(|p| chars[p]);
        let next = chars.get(i + 1).copied();
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        match c {
            '\n' | '\t' | ' ' => out.push(c),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' if next.is_some_and(|n| !n.is_ascii_whitespace()) => {
                out.push('@');
                out.push_str(BREAK);
            }
            '#' if word(next) => {
                out.push('#');
                out.push_str(BREAK);
            }
            // `://` of an address; the forge links it, and a link to an issue leaves a trace there.
            ':' if next == Some('/') => {
                out.push(':');
                out.push_str(BREAK);
            }
            '-' if ends_with(&chars[..i], "gh") && next.is_some_and(|n| n.is_ascii_digit()) => {
                out.push('-');
                out.push_str(BREAK);
            }
            '.' if ends_with(&chars[..i], "www") && word(next) => {
                out.push_str(BREAK);
                out.push('.');
            }
            // Inside a word an underscore is no emphasis.
            '_' if word(previous) && word(next) => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '|' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => push_visible(&mut out, c),
        }
    }
    out
}

/// Whether `chars` end with the lowercase ASCII `word`, case aside.
fn ends_with(chars: &[char], word: &str) -> bool {
    chars.len() >= word.len()
        && word
            .chars()
            .rev()
            .zip(chars.iter().rev())
            .all(|(wanted, c)| c.to_ascii_lowercase() == wanted)
}

/// Escapes what would open a block at the start of a Markdown line: a heading, a
/// list, a rule, an underlined heading, the second line of a table. Blanks in front are dropped, so that
/// they cannot make an indented code block.
pub(crate) fn guard_line_start(line: &str) -> String {
    let line = line.trim_start_matches([' ', '\t']);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if line.starts_with(['#', '-', '+', '=']) || line.starts_with(":-") {
        format!("\\{line}")
    } else if digits > 0 && line[digits..].starts_with(['.', ')']) {
        format!("{}\\{}", &line[..digits], &line[digits..])
    } else {
        line.to_owned()
    }
}

/// `text` as a Markdown code span, on one line, nothing hidden, with a fence of
/// backticks longer than any run inside.
pub fn code_span(text: &str) -> String {
    let line = defuse_comments(&visible_path(text)).into_owned();
    if line.trim_matches(' ').is_empty() {
        return "`(empty)`".to_owned();
    }
    let fence = "`".repeat(longest_run(&line, '`') + 1);
    let pad = if line.starts_with(['`', ' ']) || line.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{line}{pad}{fence}")
}

/// `text` as a fenced code block, byte for byte, with a fence longer than any
/// run of backticks inside. `info` is the info string (`suggestion`, `rust`, …);
/// it is ours, and anything but letters, digits, `_`, `+` and `-` is dropped.
/// The block ends without a line end.
pub fn code_fence(info: &str, text: &str) -> String {
    let info = info_string(info);
    let fence = "`".repeat((longest_run(text, '`') + 1).max(3));
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}{info}\n{text}{end}{fence}")
}

/// The characters of an info string that are written. Judge these, not what was given:
/// `sug]gestion` is written as `suggestion`.
fn info_string(info: &str) -> String {
    info.chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-'))
        .collect()
}

/// The longest run of `c`.
fn longest_run(text: &str, c: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for other in text.chars() {
        run = if other == c { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Breaks what a machine could take for one of our markers (`<!-- … -->`).
pub(crate) fn defuse_comments(text: &str) -> Cow<'_, str> {
    if text.contains("<!--") {
        Cow::Owned(text.replace("<!--", "<\u{200b}!--"))
    } else {
        Cow::Borrowed(text)
    }
}

/// At most `max` characters, tokens masked before the cut; what was cut is marked by a
/// final `…`, which counts. `max` = 0 gives nothing.
pub fn truncate_chars(text: &str, max: usize) -> Cow<'_, str> {
    let text = conceal(text);
    let Some((cut, _)) = text.char_indices().nth(max) else {
        return text;
    };
    if max == 0 {
        return Cow::Borrowed("");
    }
    let end = text[..cut].char_indices().next_back().map_or(0, |(at, _)| at);
    // A cut may part a token from what it was glued to. A mask is shorter than any token.
    Cow::Owned(format!("{}…", conceal(&text[..end])))
}

/// `text` with every line replaced by [`MASK`]; the number of lines is kept, and
/// nothing else is.
pub fn mask_secret(text: &str) -> String {
    vec![MASK; text.split('\n').count()].join("\n")
}

/// `text` without the values of a secret that stood in `quote`: every run of 8
/// or more non-blank characters of the quote that holds a digit or mixes cases,
/// as people do not write words, is replaced by [`MASK`] wherever it occurs.
pub fn redact(text: &str, quote: &str) -> String {
    let mut values: Vec<&str> = quote
        .split(|c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '(' | ')' | '<' | '>')
        })
        .flat_map(|run| {
            // `key=value` and `key: value` in one run: both the run and the value.
            let value = run.split_once(['=', ':']).map_or(run, |(_, value)| value);
            [run, value.trim_start_matches(['=', ':', '>'])]
        })
        .filter(|value| looks_secret(value))
        .collect();
    values.sort_unstable_by_key(|value| std::cmp::Reverse(value.len()));
    values.dedup();
    let mut out = text.to_owned();
    for value in values {
        if out.contains(value) {
            out = out.replace(value, MASK);
        }
    }
    out
}

fn looks_secret(value: &str) -> bool {
    let digit = value.chars().any(|c| c.is_ascii_digit());
    let mixed = value.chars().any(char::is_lowercase) && value.chars().any(char::is_uppercase);
    value.chars().count() >= 8 && (digit || mixed)
}

#[cfg(test)]
mod tests;
