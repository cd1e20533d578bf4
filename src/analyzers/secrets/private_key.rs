//! Private keys in their textual forms: PEM of every kind, OpenSSH, SSH2, PGP
//! and PuTTY; over several lines, or escaped into one.
//!
//! The header alone is no key: programs that read keys name it. What makes it
//! one is the material behind it, on the same line or on the following ones.

use std::sync::LazyLock;

use regex::bytes::Regex;

static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?-u)(?:-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|PuTTY-User-Key-File-[23]:)",
    )
    .expect("a valid pattern")
});

static FOOTER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)-{4,5} ?END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY").expect("a valid pattern")
});

/// A run of the base64 alphabet, with what escapes may break it into.
static MATERIAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u)[A-Za-z0-9+/=]{16,}").expect("a valid pattern"));

/// Lines after the header that are searched for the key's first line: an
/// encrypted or a PGP key has headers of its own and an empty line.
const LOOK_AHEAD: u32 = 8;

/// Lines before an added line of material that are searched for the header.
const LOOK_BACK: u32 = 200;

/// How sure a header makes us, given what follows it. `following(n)` is the
/// text of the n-th line after it, counted from 1.
pub(super) fn at_header<'a>(line: &'a [u8], following: impl Fn(u32) -> Option<&'a [u8]>) -> Option<f64> {
    let header = HEADER.find(line)?;
    let rest = &line[header.end()..];
    if let Some(sure) = material(rest) {
        return Some(sure);
    }
    // A string that ends right after the header is a name for it, unless the
    // key goes on in the next line's string.
    for n in 1..=LOOK_AHEAD {
        let next = following(n)?;
        if FOOTER.is_match(next) || HEADER.is_match(next) {
            return None;
        }
        if let Some(sure) = material(next) {
            return Some(sure);
        }
        if !is_key_header(next) {
            return None;
        }
    }
    None
}

/// Whether an added line is material of a key whose header stood there before.
/// `before(n)` is the text of the n-th line above it, counted from 1.
pub(super) fn in_block<'a>(line: &'a [u8], before: impl Fn(u32) -> Option<&'a [u8]>) -> Option<f64> {
    let sure = body_line(line)?;
    for n in 1..=LOOK_BACK {
        let above = before(n)?;
        if HEADER.is_match(above) {
            return Some(sure);
        }
        if FOOTER.is_match(above) || (body_line(above).is_none() && !is_key_header(above)) {
            return None;
        }
    }
    None
}

/// Whether `line` may be a whole line of key material.
pub(super) fn body_line(line: &[u8]) -> Option<f64> {
    let text = trimmed(line);
    let whole = text.len() >= 40 && text.iter().all(|b| is_base64(*b));
    if whole { material(text) } else { None }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// How sure `text` holds key material: a long mixed run of base64.
fn material(text: &[u8]) -> Option<f64> {
    if text.len() > 4 && text.windows(3).any(|w| w == b"..." || w == b"xxx" || w == b"XXX") {
        return None;
    }
    let run = MATERIAL.find(text)?.as_bytes();
    if crate::domain::secret::placeholder::varied(run) < 8 {
        return None;
    }
    let mixed = run.iter().any(u8::is_ascii_uppercase)
        && run.iter().any(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    mixed.then_some(if run.len() >= 40 { 0.95 } else { 0.8 })
}

/// Whether a line may stand between a header and the material: empty, or
/// `Name: value`, possibly inside a comment or a string.
fn is_key_header(line: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[
        b"Proc-Type:",
        b"DEK-Info:",
        b"Version:",
        b"Comment:",
        b"Hash:",
        b"Charset:",
        b"MessageID:",
        b"Encryption:",
        b"Public-Lines:",
        b"Private-Lines:",
        b"Key-Derivation:",
        b"Argon2-",
        b"Subject:",
    ];
    let text = trimmed(line);
    text.is_empty() || NAMES.iter().any(|n| text.starts_with(n))
}

/// The line without what a comment, a quotation or a string puts around it.
fn trimmed(line: &[u8]) -> &[u8] {
    let around = |b: &u8| {
        matches!(
            b,
            b' ' | b'\t'
                | b'\r'
                | b'"'
                | b'\''
                | b'`'
                | b'#'
                | b'*'
                | b'>'
                | b'|'
                | b'+'
                | b','
                | b';'
                | b'.'
                | b'('
                | b')'
                | b'\\'
        )
    };
    // A leading `+` or `/` may belong to the material, a leading `+ "` does not.
    let start = line
        .iter()
        .position(|b| !around(b) || *b == b'+')
        .unwrap_or(line.len());
    let line = &line[start..];
    let line = line
        .strip_suffix(b"\\n\" +")
        .or_else(|| line.strip_suffix(b"\\n\""))
        .or_else(|| line.strip_suffix(b"\\n"))
        .unwrap_or(line);
    let end = line
        .iter()
        .rposition(|b| !around(b) || *b == b'+')
        .map_or(0, |i| i + 1);
    &line[..end]
}

/// Whether a line names the beginning of a key; cheap, to choose whom to look at.
pub(super) fn names_a_key(line: &[u8]) -> bool {
    HEADER.is_match(line)
}

/// Whether a line belongs to the key that began above it.
pub(super) fn goes_on(line: &[u8]) -> bool {
    body_line(line).is_some() || is_key_header(line)
}
