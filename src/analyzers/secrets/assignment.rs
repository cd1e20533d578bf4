//! Values that look random, given to a name that says they are secret, and
//! addresses with a password in them.
//!
//! Entropy alone cries wolf at hashes, identifiers and pictures, so a name has
//! to ask for it: `password`, `secret`, `token`, `api_key` and their kin. Names
//! that only speak *of* a secret (`token_type`, `secret_name`) do not.

use std::{ops::Range, sync::LazyLock};

use regex::bytes::Regex;

use crate::domain::{
    review::finding::Priority,
    secret::{
        placeholder,
        shapes::{Hit, Hits},
    },
};

use super::place::Place;

/// Lines longer than this are bundles, pictures or tables; assignments are not
/// looked for there.
const LONGEST: usize = 2000;

const NAME: &str = r"[a-z0-9_.\-\[\]$]{0,48}?(?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[_\-]?key|access[_\-]?key|auth[_\-]?key|private[_\-]?key|signing[_\-]?key|encryption[_\-]?key|master[_\-]?key|shared[_\-]?key|secret[_\-]?key|credential)(?P<tail>[a-z0-9_.\-]{0,32})";

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        r#"(?i-u)(?P<name>{NAME})(?:["'`]?\]?["'`]?)(?:\s{{0,12}}:\s{{0,4}}[a-z&'<>\[\] _:]{{1,24}}?)?\s{{0,24}}(?:=>|:=|===?|!==?|[:=,(]|\|\|)\s{{0,12}}(?:[a-z]{{1,2}})?["'`](?P<v>[^"'`\s\\]{{8,400}})["'`]"#
    ))
});

static BARE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        r#"(?i-u)(?:^|[\s{{,;])(?P<name>{NAME})\s{{0,8}}(?:=|:\s|:=)\s{{0,8}}(?P<v>[^\s"'`#;,<>()\[\]{{}}]{{8,400}})\s*(?:$|#|;|&&)"#
    ))
});

static ELEMENT: LazyLock<Regex> =
    LazyLock::new(|| compiled(&format!(r#"(?i-u)<(?P<name>{NAME})>(?P<v>[^<>\s]{{8,400}})</"#)));

static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r#"(?i-u)(?:proxy-)?authorization["'`]?\]?\s{0,4}(?:[:=,]|=>)\s{0,4}["'`]?(?:bearer|basic|token)\s{1,4}(?P<v>[A-Za-z0-9+/_.~\-]{20,1000}={0,2})"#,
    )
});

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r#"(?i-u)\b(?P<scheme>[a-z][a-z0-9+]{1,20})://(?P<user>[^\s:/@"'`<>?#]{0,100}):(?P<v>[^\s/@"'`<>]{3,200})@(?P<host>\[[0-9a-f:]+\]|[a-z0-9.\-_${}%<]{1,200})"#,
    )
});

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles every pattern")
}

/// Every suspicious assignment on `line`.
pub(super) fn find(line: &[u8], place: Place, hits: &mut Hits) {
    if line.len() < 12 || line.len() > LONGEST {
        return;
    }
    addresses(line, place, hits);
    if place.hashes {
        return;
    }
    for found in HEADER.captures_iter(line) {
        let value = found.name("v").expect("the pattern names it");
        if random(value.as_bytes()) && !placeholder::value(value.as_bytes()) {
            push(
                hits,
                "authorization-header",
                "credential in an Authorization header",
                value.range(),
                place,
                0.7,
            );
        }
    }
    for pattern in [&*QUOTED, &*ELEMENT]
        .into_iter()
        .chain(place.bare.then_some(&*BARE))
    {
        for found in pattern.captures_iter(line) {
            let part = |name| found.name(name).map_or(&b""[..], |m| m.as_bytes());
            let value = found.name("v").expect("the pattern names it");
            // A token that was told by its shape needs no second look.
            if hits.is_free(&value.range())
                && names_a_secret(part("name"), part("tail"))
                && is_secret(part("name"), value.as_bytes())
            {
                push(
                    hits,
                    "high-entropy-value",
                    "value that looks like a secret",
                    value.range(),
                    place,
                    0.65,
                );
            }
        }
    }
}

fn push(
    hits: &mut Hits,
    id: &'static str,
    what: &'static str,
    at: Range<usize>,
    place: Place,
    confidence: f64,
) {
    if !hits.is_free(&at) {
        return;
    }
    hits.push(Hit {
        id,
        what,
        at,
        priority: if place.example { Priority::P2 } else { Priority::P1 },
        confidence: if place.example { 0.5 } else { confidence },
    });
}

/// Addresses of databases, brokers and servers that carry a password.
fn addresses(line: &[u8], place: Place, hits: &mut Hits) {
    for found in ADDRESS.captures_iter(line) {
        let part = |name| {
            found
                .name(name)
                .map_or(&b""[..], |m| m.as_bytes())
                .to_ascii_lowercase()
        };
        let value = found.name("v").expect("the pattern names it");
        let (scheme, user, host, password) = (part("scheme"), part("user"), part("host"), part("v"));
        const COMMON: &[&[u8]] = &[
            b"password",
            b"passwd",
            b"pass",
            b"pwd",
            b"postgres",
            b"mysql",
            b"root",
            b"admin",
            b"secret",
            b"guest",
            b"test",
            b"user",
            b"rabbitmq",
            b"redis",
            b"mongo",
            b"mongodb",
            b"token",
            b"pw",
            b"hunter2",
            b"password123",
            b"letmein",
            b"123456",
            b"12345",
            b"1234",
            b"123",
            b"12345678",
            b"abc123",
            b"s3cret",
            b"s3cr3t",
            b"foo",
            b"bar",
            b"baz",
            b"p4ssw0rd",
            b"passw0rd",
            b"username",
            b"dev",
            b"development",
            b"app",
            b"db",
            b"x-oauth-basic",
            b"abc",
            b"xyz",
            b"app_password",
            b"db_password",
            b"mypassword",
            b"userpass",
            b"postgres_password",
            b"credentials",
        ];
        let template = |text: &[u8]| {
            text.iter()
                .any(|b| matches!(b, b'{' | b'}' | b'$' | b'%' | b'<' | b'*'))
                && !percent_encoded(text)
        };
        let near = [
            &b"localhost"[..],
            b"127.0.0.1",
            b"0.0.0.0",
            b"[::1]",
            b"host",
            b"hostname",
            b"server",
            b"db",
            b"database",
            b"postgres",
            b"mysql",
            b"redis",
            b"mongo",
            b"rabbitmq",
            b"host.docker.internal",
        ]
        .contains(&host.as_slice())
            || [
                &b"example.com"[..],
                b"example.org",
                b"example.net",
                b".test",
                b".example",
                b".invalid",
                b".local",
                b".localhost",
            ]
            .iter()
            .any(|t| host.ends_with(t));
        if password == user
            || COMMON.contains(&password.as_slice())
            || template(&password)
            || host.starts_with(b"$")
            || host.starts_with(b"{")
            || host.starts_with(b"<")
            || host.starts_with(b"%")
            || placeholder::value(&password)
            || (near && !random(value.as_bytes()))
            || placeholder::varied(&password) < 4
        {
            continue;
        }
        const STORES: &[&[u8]] = &[
            b"postgres",
            b"postgresql",
            b"mysql",
            b"mysql2",
            b"mariadb",
            b"mongodb",
            b"mongodb+srv",
            b"redis",
            b"rediss",
            b"amqp",
            b"amqps",
            b"mssql",
            b"sqlserver",
            b"oracle",
            b"clickhouse",
            b"cockroachdb",
            b"jdbc",
            b"cassandra",
            b"couchdb",
            b"neo4j",
            b"kafka",
            b"nats",
            b"ldap",
            b"ldaps",
            b"influxdb",
            b"postgis",
            b"cockroach",
        ];
        let base = scheme.split(|b| *b == b'+').next().unwrap_or_default();
        let store = STORES.contains(&scheme.as_slice()) || STORES.contains(&base);
        if !hits.is_free(&value.range()) {
            continue;
        }
        let made_up = near || place.example;
        hits.push(Hit {
            id: if store { "database-url" } else { "url-password" },
            what: if store {
                "database address with a password"
            } else {
                "address with a password"
            },
            at: value.range(),
            priority: match (made_up, store) {
                (true, _) => Priority::P2,
                (false, true) => Priority::P0,
                (false, false) => Priority::P1,
            },
            confidence: if made_up { 0.5 } else { 0.8 },
        });
    }
}

/// Whether every `%` starts a percent-encoded byte and nothing else of a template is there.
fn percent_encoded(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|b| *b == b'%') {
        let hex = |i: usize| rest.get(at + i).is_some_and(u8::is_ascii_hexdigit);
        if !hex(1) || !hex(2) {
            return false;
        }
        rest = &rest[at + 3..];
    }
    !text.iter().any(|b| matches!(b, b'{' | b'}' | b'$' | b'<' | b'*'))
}

/// Whether the name says that the value itself is secret, not something about it.
fn names_a_secret(name: &[u8], tail: &[u8]) -> bool {
    const ABOUT: &[&str] = &[
        "type",
        "name",
        "id",
        "url",
        "uri",
        "path",
        "file",
        "field",
        "label",
        "hint",
        "header",
        "prefix",
        "suffix",
        "regex",
        "pattern",
        "length",
        "size",
        "ttl",
        "expir",
        "count",
        "ref",
        "arn",
        "hash",
        "digest",
        "policy",
        "param",
        "key_id",
        "keyid",
        "placeholder",
        "endpoint",
        "issuer",
        "scope",
        "version",
        "format",
        "error",
        "message",
        "msg",
        "status",
        "ize",
        "izer",
        "s_per",
        "address",
        "symbol",
        "index",
        "kind",
        "class",
        "selector",
        "env",
        "var",
        "provider",
        "manager",
        "store",
        "service",
        "stream",
        "tree",
        "list",
        "set",
        "text",
        "title",
        "description",
        "help",
        "_desc",
        "pub",
        "algorithm",
        "alg",
        "method",
        "backend",
        "mode",
        "rule",
        "reset",
        "confirm",
        "input",
        "form",
        "namespace",
        "checksum",
        "sha",
        "at",
    ];
    let lower = |text: &[u8]| String::from_utf8_lossy(text).to_ascii_lowercase();
    let (name, tail) = (lower(name), lower(tail));
    let tail = tail.trim_start_matches(['_', '-', '.']);
    const OTHER: &[&str] = &[
        "public",
        "csrf",
        "xsrf",
        "cache",
        "next_token",
        "nexttoken",
        "page_token",
        "pagetoken",
        "sync_token",
        "checksum",
        "tokenizer",
        "bos_token",
        "eos_token",
        "pad_token",
        "unk_token",
        "sha256",
        "idempotency",
    ];
    !ABOUT
        .iter()
        .any(|a| tail.starts_with(a) || tail.ends_with(&format!("_{a}")) || tail.ends_with(&format!("-{a}")))
        && !OTHER.iter().any(|o| name.contains(o))
}

/// Whether the value is random enough for what its name says.
fn is_secret(name: &[u8], value: &[u8]) -> bool {
    if placeholder::value(value) || is_uuid(value) || is_reference(value) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let password = [&b"pass"[..], b"pwd"]
        .iter()
        .any(|p| name.windows(p.len()).any(|w| w == *p));
    random(value) || (password && strong_password(value))
}

/// A password a person or a generator would think up: three kinds of characters,
/// not mere words.
fn strong_password(value: &[u8]) -> bool {
    let kinds = [
        value.iter().any(u8::is_ascii_lowercase),
        value.iter().any(u8::is_ascii_uppercase),
        value.iter().any(u8::is_ascii_digit),
        value.iter().any(u8::is_ascii_punctuation),
    ];
    let lower = value.to_ascii_lowercase();
    let says = |word: &[u8]| lower.windows(word.len()).any(|w| w == word);
    (8..=64).contains(&value.len())
        && kinds.iter().filter(|k| **k).count() >= 3
        && entropy(value) >= 2.9
        && kinds[2]
        && !says(b"password")
        && !says(b"passw0rd")
        && !says(b"test")
        && !says(b"secret")
        && wordy(value) < 0.5
}

/// Whether it looks drawn at random: long, letters and digits mixed, high
/// entropy, and not made of words.
fn random(value: &[u8]) -> bool {
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    if value.len() < 16 || digits < 1 || letters < 4 || !value.is_ascii() {
        return false;
    }
    if value.iter().all(u8::is_ascii_hexdigit) {
        return value.len() >= 32 && entropy(value) >= 3.0;
    }
    let odd = value
        .iter()
        .filter(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-')))
        .count();
    let enough = if value.len() >= 24 { 3.7 } else { 3.3 };
    odd * 4 <= value.len()
        && entropy(value) >= enough
        && wordy(value) < 0.45
        && switches(value) * 5 >= value.len()
}

/// A path, an address, a dotted or slashed name, a version, a date.
fn is_reference(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value);
    text.contains("://")
        || text.starts_with('/')
        || text.starts_with("./")
        || text.starts_with("data:")
        || text.starts_with("sha256")
        || text.starts_with("sha512")
        || text.starts_with("sha1-")
        || text.contains("::")
        || text.contains("->")
        // A regular expression that looks for secrets.
        || ["(?", "[a-z", "[A-Z", "[0-9", "{0,"].iter().any(|p| text.contains(p))
        || text.ends_with("()")
        || text.split(['.', '/', ':']).filter(|p| !p.is_empty()).count() > 3
        || text.contains('=')
            && !text
                .trim_end_matches('=')
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_'))
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// The share of neighbouring letters that are neighbours in words too. Words
/// and names made of them come out above a half, random text near a fifth;
/// fewer than four pairs say nothing.
fn wordy(value: &[u8]) -> f64 {
    const PAIRS: &[u8] = b"thheineranrendatonnthaesstenedtoitoueahiisortiasteetngofaldeseleasiarveraldurromeicalnecrocetalicochollemaimtrionlisiceraomusutcaelotdilowepemiouirpeckkeeyokpasswoclieidapcrpidbuvivabapredofiwhghupplsmspabpofocuakamtypubmmdstdefuntintuligisvfiolalsoadeeoowoosouaybemopuuentrucloncocfigrifesiavrvoirshsc";
    let (mut pairs, mut known) = (0u32, 0u32);
    for pair in value.windows(2) {
        if pair.iter().all(u8::is_ascii_alphabetic) {
            let pair = [pair[0].to_ascii_lowercase(), pair[1].to_ascii_lowercase()];
            pairs += 1;
            known += u32::from(PAIRS.chunks(2).any(|p| p == pair));
        }
    }
    if pairs < 4 {
        0.0
    } else {
        f64::from(known) / f64::from(pairs)
    }
}

/// How often the kind of character changes.
fn switches(value: &[u8]) -> usize {
    let kind = |b: &u8| match b {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    value.windows(2).filter(|w| kind(&w[0]) != kind(&w[1])).count()
}

/// Shannon's entropy in bits a byte.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    value.iter().for_each(|b| counts[usize::from(*b)] += 1);
    let len = value.len() as f64;
    counts
        .iter()
        .filter(|c| **c > 0)
        .map(|c| {
            let p = f64::from(*c) / len;
            -p * p.log2()
        })
        .sum()
}
