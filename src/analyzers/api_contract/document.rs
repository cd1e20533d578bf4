//! A document of either spelling as one tree, and its references.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::analyzers::json::{self, Id, Tree, Value};

/// Bytes of YAML that are read.
const MAX_YAML: usize = 4 << 20;
/// Levels that are read; JSON has a bound of its own.
const MAX_DEPTH: usize = 100;
/// References that lead to references.
const HOPS: usize = 32;

/// Where a reference leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Here(Id),
    /// Into another document, which is not fetched.
    Elsewhere,
    /// Nowhere.
    Broken,
}

/// Reads a document by what its name says it is.
pub(super) fn read(path: &str, blob: &[u8]) -> Option<Tree> {
    if path.to_ascii_lowercase().ends_with(".json") {
        json::read(blob)
    } else {
        yaml(blob)
    }
}

/// Whether the document describes an API.
pub(super) fn is_api(tree: &Tree) -> bool {
    let root = tree.root();
    tree.get(root, "openapi").is_some() || tree.get(root, "swagger").is_some()
}

/// Whether text that could not be read was meant to describe one: a key of that name at
/// the start of a line.
pub(super) fn looks_like_api(blob: &[u8]) -> bool {
    blob.split(|b| *b == b'\n').any(|line| {
        let line = line.trim_ascii_start();
        let line = line.strip_prefix(b"{").unwrap_or(line).trim_ascii_start();
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let quoted = line.strip_prefix(b"\"");
        let key = quoted.unwrap_or(line);
        [b"openapi".as_slice(), b"swagger"].iter().any(|name| {
            key.strip_prefix(*name).is_some_and(|rest| {
                let rest = rest.strip_prefix(b"\"").unwrap_or(rest).trim_ascii_start();
                rest.first() == Some(&b':')
            })
        })
    })
}

/// Follows `$ref` as long as there is one.
pub(super) fn resolve(tree: &Tree, mut id: Id) -> Target {
    for _ in 0..HOPS {
        let Some(reference) = tree.text_of(id, "$ref") else {
            return Target::Here(id);
        };
        let Some(pointer) = reference.strip_prefix('#') else {
            return Target::Elsewhere;
        };
        let mut at = tree.root();
        for part in pointer.split('/').skip(1) {
            let part = decoded(part);
            let next = tree
                .get(at, &part)
                .or_else(|| tree.items(at).get(part.parse::<usize>().ok()?).copied());
            match next {
                Some(next) => at = next,
                None => return Target::Broken,
            }
        }
        id = at;
    }
    Target::Broken
}

/// One part of a JSON pointer in a fragment: `%7B`, then `~1` and `~0`.
fn decoded(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = part
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|h| u8::from_str_radix(h, 16).ok());
        match hex {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out)
        .replace("~1", "/")
        .replace("~0", "~")
}

/// What is being read.
enum Open {
    List(Vec<Id>),
    Map(BTreeMap<String, (u32, Id)>, Option<(String, u32)>),
}

/// Reads the first document of `blob`. An alias is the value it names and no copy of it.
fn yaml(blob: &[u8]) -> Option<Tree> {
    if blob.len() > MAX_YAML {
        return None;
    }
    let text = String::from_utf8_lossy(blob);
    // A lone CR ends a line for YAML and not for git.
    if text.replace("\r\n", "\n").contains('\r') {
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut tree = Tree::default();
    let mut anchors: BTreeMap<usize, Id> = BTreeMap::new();
    let mut open: Vec<(Open, u32, usize)> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        let line = u32::try_from(span.start.line()).ok()?;
        let (done, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                // A key is a text whatever it looks like: `200`, `true`.
                if let Some((Open::Map(_, key @ None), ..)) = open.last_mut() {
                    *key = Some((text.into_owned(), line));
                    continue;
                }
                let value = if style == ScalarStyle::Plain {
                    plain(&text)
                } else {
                    Value::Text(text.into_owned())
                };
                (tree.push(line, value)?, anchor)
            }
            Event::Alias(anchor) => (*anchors.get(&anchor)?, 0),
            Event::SequenceStart(anchor, _) => {
                open.push((Open::List(Vec::new()), line, anchor));
                if open.len() > MAX_DEPTH {
                    return None;
                }
                continue;
            }
            Event::MappingStart(anchor, _) => {
                open.push((Open::Map(BTreeMap::new(), None), line, anchor));
                if open.len() > MAX_DEPTH {
                    return None;
                }
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let (value, line, anchor) = open.pop()?;
                let value = match value {
                    Open::List(items) => Value::List(items),
                    Open::Map(map, _) => Value::Map(map),
                };
                (tree.push(line, value)?, anchor)
            }
            Event::DocumentEnd => break,
            _ => continue,
        };
        if anchor > 0 {
            anchors.insert(anchor, done);
        }
        match open.last_mut() {
            Some((Open::List(items), ..)) => items.push(done),
            Some((Open::Map(map, key), ..)) => match key.take() {
                Some((key, line)) => drop(map.insert(key, (line, done))),
                // A key that is a list or a map means nothing here.
                None => *key = Some((String::new(), line)),
            },
            None => root = Some(done),
        }
    }
    tree.set_root(root?);
    Some(tree)
}

/// An unquoted scalar by YAML's core schema.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number
            if number.parse::<f64>().is_ok()
                && number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) =>
        {
            Value::Number(number.to_owned())
        }
        text => Value::Text(text.to_owned()),
    }
}
