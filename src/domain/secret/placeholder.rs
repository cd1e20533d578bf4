//! What plainly stands in for a secret and is none.

/// Values that were published to be copied.
const PUBLISHED: &[&str] = &[
    // The storage emulator's key, the same on every machine.
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
];

/// The tail of the token that every introduction to JSON Web Tokens shows.
const PUBLISHED_TAILS: &[&str] = &["SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"];

/// Whether a token of a provider's shape is plainly none: an example, all
/// crosses, one character over and over.
pub fn token(token: &[u8]) -> bool {
    let lower = token.to_ascii_lowercase();
    let says = |word: &[u8]| lower.windows(word.len()).any(|w| w == word);
    says(b"example")
        || says(b"placeholder")
        || says(b"redacted")
        || says(b"changeme")
        || says(b"your_")
        || says(b"your-")
        || says(b"yourtoken")
        || says(b"_here")
        || says(b"-here")
        || longest_run(&lower) >= 8
        || (longest_run(&lower) >= 5 && says(b"xxxxx"))
        || varied(&token[token.len() / 3..]) <= 3
        || PUBLISHED.iter().any(|p| p.as_bytes() == token)
        || PUBLISHED_TAILS.iter().any(|t| token.ends_with(t.as_bytes()))
}

/// Whether the value of an assignment is plainly no secret: a lookup, a
/// template, a word that asks to be replaced.
pub fn value(value: &[u8]) -> bool {
    const PARTS: &[&[u8]] = &[
        b"${",
        b"$(",
        b"{{",
        b"}}",
        b"<",
        b">",
        b"%(",
        b"%s",
        b"%v",
        b"%d",
        b"{}",
        b"#{",
        b"@{",
        b"...",
        b"***",
        b"env.",
        b"environ",
        b"getenv",
        b"process.",
        b"secrets.",
        b"vault:",
        b"ssm:",
        b"arn:",
        b"example",
        b"sample",
        b"placeholder",
        b"changeme",
        b"change_me",
        b"change-me",
        b"replace",
        b"redacted",
        b"dummy",
        b"insert",
        b"todo",
        b"fixme",
        b"your",
        b"my-",
        b"my_",
        b"fake",
        b"mock",
        b"notasecret",
        b"not-a-secret",
        b"not_a_secret",
        b"topsecret",
        b"supersecret",
        b"xxxx",
        b"1234567",
        b"abcdef",
        b"lorem",
        b"-here",
        b"_here",
        b"qwerty",
        b"foobar",
        b"undefined",
    ];
    let lower = value.to_ascii_lowercase();
    token(value)
        || value.starts_with(b"$") && value[1..].iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
        || PARTS.iter().any(|p| lower.windows(p.len()).any(|w| w == *p))
}

/// How many different bytes there are.
pub fn varied(text: &[u8]) -> usize {
    let mut seen = [false; 256];
    text.iter().for_each(|b| seen[usize::from(*b)] = true);
    seen.iter().filter(|s| **s).count()
}

/// The longest run of one byte.
fn longest_run(text: &[u8]) -> usize {
    text.chunk_by(|a, b| a == b).map(<[u8]>::len).max().unwrap_or(0)
}
