//! Dockerfiles: instructions over continued lines, comments between them, here-documents,
//! stages, and arguments in `FROM`.
//!
//! Source of the grammar: Dockerfile reference, docs.docker.com.

use std::{collections::BTreeMap, ops::RangeInclusive, sync::LazyLock};

use regex::Regex;

use crate::{
    analyzers::hazard::Hazard,
    domain::review::{finding::Priority, grounding::blob_lines},
};

use super::words::{
    PIPE_TO_SHELL, REMOTE_ADD, ROOT_USER, SECRET, Value, WORLD_WRITABLE, hazard, name, names_a_secret,
    unpinned_image, value,
};

/// Longer instructions are data.
const LONGEST: usize = 1 << 16;

/// Instructions that are looked at.
const MOST: usize = 5_000;

/// One instruction, its lines joined.
#[derive(Debug, PartialEq)]
struct Instruction {
    /// In capitals.
    verb: String,
    rest: String,
    lines: RangeInclusive<u32>,
}

/// A stage that is being read.
struct Stage {
    line: u32,
    image: String,
    /// The user so far, with its line.
    user: Option<(String, u32)>,
}

static PIPED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\b(?:curl|wget)\b[^|;&]{0,400}\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:env\s+\S+\s+)?(?:/\S*/)?(?:ba|z|da|k)?sh\b|\b(?:ba|z)?sh\s+(?:-\w+\s+)*[\x22']?(?:<\(|\$\()\s*(?:curl|wget)\b",
    )
});

static WRITABLE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"\bchmod\s+(?:-\S+\s+)*(?:0?777|a\+rwx|\+rwx|ugo\+rwx)\b|^(?:--\S+\s+)*--chmod=0?777\b")
});

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles every pattern")
}

/// Every hazard of a Dockerfile.
pub(super) fn hazards(blob: &[u8]) -> Vec<Hazard> {
    let lines = blob_lines(blob.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(blob));
    let (mut found, mut arguments) = (Vec::new(), BTreeMap::new());
    let mut stages: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut stage: Option<(Stage, Option<String>)> = None;
    for instruction in instructions(&lines).into_iter().take(MOST) {
        let line = *instruction.lines.start();
        let rest = instruction.rest.as_str();
        match instruction.verb.as_str() {
            "FROM" => {
                if let Some((stage, Some(alias))) = stage.take() {
                    stages.insert(alias, stage.user.map(|(user, _)| user));
                }
                stage = Some(from(rest, line, &arguments, &stages, &mut found));
            }
            "ARG" => {
                for (key, given) in pairs(rest) {
                    // Only those before the first FROM are known in one.
                    if stage.is_none() {
                        arguments.insert(key.clone(), given.clone().unwrap_or_default());
                    }
                    found.extend(argument(&key, given.as_deref(), line));
                }
            }
            "ENV" => {
                for (key, given) in env_pairs(rest) {
                    let at = locate(&lines, &instruction.lines, &key);
                    found.extend(variable(&key, &given, at));
                }
            }
            "ADD" => found.extend(remote(rest, line)),
            "RUN" => run(rest, &lines, &instruction.lines, &mut found),
            "COPY" if WRITABLE.is_match(rest) => found.push(writable(line)),
            "USER" => {
                if let Some((stage, _)) = &mut stage {
                    stage.user = Some((rest.to_owned(), line));
                }
            }
            _ => {}
        }
    }
    if let Some((last, _)) = stage {
        found.extend(user(&last));
    }
    found.sort_by_key(|h| h.line);
    found
}

/// Reads the instructions: lines that end with the escape character go on, comments and
/// blank lines between do not end one, and here-documents belong to theirs.
fn instructions(lines: &[&[u8]]) -> Vec<Instruction> {
    let mut found = Vec::new();
    let escape = escape(lines);
    let text = |i: usize| {
        let line = lines.get(i).copied().unwrap_or_default();
        String::from_utf8_lossy(line.trim_ascii()).into_owned()
    };
    let mut i = 0;
    while i < lines.len() {
        let first = i;
        let mut whole = String::new();
        loop {
            let line = text(i);
            i += 1;
            let passed = line.is_empty() || line.starts_with('#');
            let goes_on = !passed && line.ends_with(escape);
            if !passed {
                whole.push_str(line.strip_suffix(escape).filter(|_| goes_on).unwrap_or(&line));
                whole.push(' ');
            }
            let open = goes_on || (passed && !whole.is_empty());
            if !open || i >= lines.len() {
                break;
            }
        }
        let whole = whole.trim();
        if whole.is_empty() {
            continue;
        }
        let (verb, rest) = whole.split_once(char::is_whitespace).unwrap_or((whole, ""));
        let verb = verb.to_ascii_uppercase();
        let mut rest = rest.trim().to_owned();
        if matches!(verb.as_str(), "RUN" | "COPY" | "ADD") {
            for end in heredocs(&rest) {
                while i < lines.len() {
                    let line = text(i);
                    i += 1;
                    if line == end {
                        break;
                    }
                    if verb == "RUN" {
                        rest.push('\n');
                        rest.push_str(&line);
                    }
                }
            }
        }
        if rest.len() <= LONGEST {
            let number = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
            found.push(Instruction {
                verb,
                rest,
                lines: number(first + 1)..=number(i),
            });
        }
    }
    found
}

/// The escape character: a backslash, or what a directive at the top says.
fn escape(lines: &[&[u8]]) -> char {
    lines
        .iter()
        .take_while(|l| l.trim_ascii().starts_with(b"#"))
        .find_map(|line| {
            let text = String::from_utf8_lossy(line).to_ascii_lowercase();
            let (key, given) = text.trim().trim_start_matches('#').split_once('=')?;
            (key.trim() == "escape")
                .then(|| given.trim().chars().next())
                .flatten()
        })
        .filter(|c| *c == '`')
        .unwrap_or('\\')
}

/// The words that end the here-documents which an instruction opens.
fn heredocs(rest: &str) -> Vec<String> {
    const MANY: usize = 16;
    rest.match_indices("<<")
        .filter(|(at, _)| !rest[..*at].ends_with('<') && !rest[at + 2..].starts_with('<'))
        .filter_map(|(at, _)| {
            let word = rest[at + 2..].trim_start_matches('-');
            let quote = word.chars().next().filter(|c| matches!(c, '"' | '\''));
            let word = word.trim_start_matches(['"', '\'']);
            let end = word
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(word.len());
            let starts = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let closes = quote.is_none_or(|q| word[end..].starts_with(q));
            (starts && closes).then(|| word[..end].to_owned())
        })
        .take(MANY)
        .collect()
}

/// `NAME`, `NAME=value`, several of them, with quotes around values.
fn pairs(rest: &str) -> Vec<(String, Option<String>)> {
    words(rest)
        .into_iter()
        .map(|word| match word.split_once('=') {
            Some((key, given)) => (key.to_owned(), Some(given.to_owned())),
            None => (word, None),
        })
        .collect()
}

/// The variables of an ENV, in the old form, `NAME value`, too.
fn env_pairs(rest: &str) -> Vec<(String, String)> {
    let (first, given) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if first.contains('=') {
        pairs(rest)
            .into_iter()
            .filter_map(|(key, given)| Some((key, given?)))
            .collect()
    } else {
        vec![(first.to_owned(), given.trim().to_owned())]
    }
}

/// Splits at blanks outside quotes; the quotes go.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in text.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A stage's image, whose arguments are filled in as far as they are known.
fn from(
    rest: &str,
    line: u32,
    arguments: &BTreeMap<String, String>,
    stages: &BTreeMap<String, Option<String>>,
    found: &mut Vec<Hazard>,
) -> (Stage, Option<String>) {
    let words: Vec<&str> = rest.split_whitespace().filter(|w| !w.starts_with("--")).collect();
    let image = filled(words.first().copied().unwrap_or_default(), arguments);
    let alias = match words.get(1) {
        Some(word) if word.eq_ignore_ascii_case("as") => words.get(2).map(|a| a.to_ascii_lowercase()),
        _ => None,
    };
    let earlier = stages.get(&image.to_ascii_lowercase());
    if earlier.is_none() {
        found.extend(unpinned_image(&image, line, (Priority::P2, 0.7)));
    }
    let user = earlier.and_then(Clone::clone).map(|user| (user, line));
    (Stage { line, image, user }, alias)
}

/// `$NAME`, `${NAME}` and `${NAME:-default}` replaced by what they stand for; one that is
/// not known stays.
fn filled(image: &str, arguments: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    let mut rest = image;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (inside, next) = match after.strip_prefix('{') {
            Some(braced) => match braced.find('}') {
                Some(end) => (&braced[..end], &braced[end + 1..]),
                None => return image.to_owned(),
            },
            None => {
                let end = after
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(after.len());
                (&after[..end], &after[end..])
            }
        };
        let (key, default) = inside.split_once(":-").unwrap_or((inside, ""));
        match arguments.get(key).map(String::as_str).filter(|v| !v.is_empty()) {
            Some(known) => text.push_str(known),
            None if !default.is_empty() => text.push_str(default),
            None => text.push_str("${unknown}"),
        }
        rest = next;
    }
    text + rest
}

/// The user as whom the last stage runs.
fn user(stage: &Stage) -> Option<Hazard> {
    let mends = "A flaw in the program is then a flaw with root's rights. Add a user without them and name it by `USER`.";
    let lower = stage.image.to_ascii_lowercase();
    match &stage.user {
        Some((user, line)) if matches!(user.split(':').next(), Some("root" | "0")) => Some(hazard(
            ROOT_USER,
            (Priority::P2, 0.7),
            *line,
            "The image runs as root",
            mends,
        )),
        Some(_) => None,
        None if ["nonroot", "rootless", "unprivileged", "unknown}"]
            .iter()
            .any(|w| lower.contains(w)) =>
        {
            None
        }
        None => Some(hazard(
            ROOT_USER,
            (Priority::P3, 0.5),
            stage.line,
            "The image names no user, so it runs as root unless its base says otherwise",
            mends,
        )),
    }
}

/// The line of an instruction on which `what` stands.
fn locate(lines: &[&[u8]], range: &RangeInclusive<u32>, what: &str) -> u32 {
    range
        .clone()
        .find(|n| {
            lines
                .get(*n as usize - 1)
                .is_some_and(|l| String::from_utf8_lossy(l).contains(what))
        })
        .unwrap_or(*range.start())
}

fn argument(key: &str, given: Option<&str>, line: u32) -> Option<Hazard> {
    if key.len() > 200 || !names_a_secret(key) {
        return None;
    }
    match given.map_or(Value::Reference, value) {
        Value::Literal => variable(key, given?, line),
        Value::Reference | Value::Common => Some(hazard(
            SECRET,
            (Priority::P2, 0.6),
            line,
            format!("A build argument for a secret: {}", name(key)),
            "Build arguments stay in the image's history, where whoever has the image reads them. Use \
             `RUN --mount=type=secret`.",
        )),
    }
}

fn variable(key: &str, given: &str, line: u32) -> Option<Hazard> {
    if key.len() > 200 || !names_a_secret(key) {
        return None;
    }
    let (weight, title) = match value(given) {
        Value::Literal => ((Priority::P1, 0.7), "A secret is baked into the image"),
        Value::Common => (
            (Priority::P3, 0.5),
            "A default for a secret is baked into the image",
        ),
        Value::Reference if given.contains('$') => ((Priority::P2, 0.6), "A secret is kept in the image"),
        Value::Reference => return None,
    };
    let found = hazard(
        SECRET,
        weight,
        line,
        format!("{title}: {}", name(key)),
        "Whoever has the image reads it, in its history too. Give it to the running container, or to one build step by \
         `RUN --mount=type=secret`.",
    );
    Some(Hazard {
        secret: true,
        ..found
    })
}

fn remote(rest: &str, line: u32) -> Option<Hazard> {
    let from_afar = words(rest).iter().any(|w| {
        let lower = w.to_ascii_lowercase();
        lower.starts_with("http://") || lower.starts_with("https://")
    });
    (from_afar && !rest.contains("--checksum")).then(|| {
        hazard(
            REMOTE_ADD,
            (Priority::P2, 0.8),
            line,
            "A file from the network is added without a checksum",
            "Whoever controls that address decides what is in the image. Give `--checksum=sha256:…`.",
        )
    })
}

fn writable(line: u32) -> Hazard {
    hazard(
        WORLD_WRITABLE,
        (Priority::P2, 0.7),
        line,
        "Everybody may write these files: mode 777",
        "Any process in the container can then replace what another one runs. Give the files to the user that needs them.",
    )
}

/// What a RUN does, told on the line where it is done.
fn run(rest: &str, lines: &[&[u8]], range: &RangeInclusive<u32>, found: &mut Vec<Hazard>) {
    if PIPED.is_match(rest) {
        let line = locate(lines, range, if rest.contains("curl") { "curl" } else { "wget" });
        found.push(hazard(
            PIPE_TO_SHELL,
            (Priority::P2, 0.7),
            line,
            "A script from the network runs unseen",
            "Whoever controls that address, or the network, decides what is run while the image is built. Fetch a fixed \
             version, compare its checksum, then run it.",
        ));
    }
    if WRITABLE.is_match(rest) {
        found.push(writable(locate(lines, range, "chmod")));
    }
}
