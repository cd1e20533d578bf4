//! JSON with the line of every value, for rules that point at one.
//!
//! Bounds: [`MAX_DEPTH`] levels, [`MAX_NODES`] values. Of two equal keys the last
//! counts, as it does for the programs that read these files. Nothing recurses deeper
//! than the bound, and the nodes lie in one list, so that dropping them does not either.

use std::collections::BTreeMap;

const MAX_DEPTH: usize = 100;
const MAX_NODES: usize = 1_000_000;

/// A node of a [`Tree`].
pub(super) type Id = usize;

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Id>),
    /// Keys in order, each with its line and its value.
    Map(BTreeMap<String, (u32, Id)>),
}

/// A document.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<(u32, Value)>,
    root: Id,
}

impl Tree {
    /// The outermost value.
    pub(super) fn root(&self) -> Id {
        self.root
    }

    pub(super) fn value(&self, id: Id) -> &Value {
        self.nodes.get(id).map_or(&Value::Null, |(_, value)| value)
    }

    /// The one-based line on which the value begins.
    pub(super) fn line(&self, id: Id) -> u32 {
        self.nodes.get(id).map_or(1, |(line, _)| *line)
    }

    /// The entries of a map; none for anything else.
    pub(super) fn entries(&self, id: Id) -> impl Iterator<Item = (&str, u32, Id)> {
        let map = match self.value(id) {
            Value::Map(map) => Some(map),
            _ => None,
        };
        map.into_iter()
            .flatten()
            .map(|(key, (line, id))| (key.as_str(), *line, *id))
    }

    /// The items of a list; none for anything else.
    pub(super) fn items(&self, id: Id) -> &[Id] {
        match self.value(id) {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The value under a key, and the key's line.
    pub(super) fn entry(&self, id: Id, key: &str) -> Option<(u32, Id)> {
        match self.value(id) {
            Value::Map(map) => map.get(key).copied(),
            _ => None,
        }
    }

    pub(super) fn get(&self, id: Id, key: &str) -> Option<Id> {
        self.entry(id, key).map(|(_, id)| id)
    }

    /// The text of a string.
    pub(super) fn text(&self, id: Id) -> Option<&str> {
        match self.value(id) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text under a key.
    pub(super) fn text_of(&self, id: Id, key: &str) -> Option<&str> {
        self.text(self.get(id, key)?)
    }

    /// Puts a value in; `None` when there are too many.
    pub(super) fn push(&mut self, line: u32, value: Value) -> Option<Id> {
        if self.nodes.len() >= MAX_NODES {
            return None;
        }
        self.nodes.push((line, value));
        Some(self.nodes.len() - 1)
    }

    pub(super) fn set_root(&mut self, root: Id) {
        self.root = root;
    }
}

/// Reads `text`; `None` when it is no JSON or exceeds a bound.
pub(super) fn read(text: &[u8]) -> Option<Tree> {
    let mut reader = Reader {
        text: text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text),
        at: 0,
        line: 1,
        tree: Tree::default(),
    };
    let root = reader.value(0)?;
    reader.blanks();
    (reader.at == reader.text.len()).then(|| {
        reader.tree.set_root(root);
        reader.tree
    })
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
    tree: Tree,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.line += u32::from(self.peek() == Some(b'\n'));
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.blanks();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn word(&mut self, word: &[u8], value: Value) -> Option<Value> {
        self.text[self.at..].starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    fn value(&mut self, depth: usize) -> Option<Id> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.blanks();
        let line = self.line;
        let value = match self.peek()? {
            b'{' => self.map(depth)?,
            b'[' => self.list(depth)?,
            b'"' => Value::Text(self.string()?),
            b't' => self.word(b"true", Value::Bool(true))?,
            b'f' => self.word(b"false", Value::Bool(false))?,
            b'n' => self.word(b"null", Value::Null)?,
            b'-' | b'0'..=b'9' => self.number(),
            _ => return None,
        };
        self.tree.push(line, value)
    }

    fn number(&mut self) -> Value {
        let from = self.at;
        while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Value::Number(String::from_utf8_lossy(&self.text[from..self.at]).into_owned())
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut map = BTreeMap::new();
        self.blanks();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(Value::Map(map));
        }
        loop {
            self.blanks();
            let line = self.line;
            if self.peek()? != b'"' {
                return None;
            }
            let key = self.string()?;
            self.take(b':')?;
            let value = self.value(depth + 1)?;
            map.insert(key, (line, value));
            self.blanks();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(Value::Map(map));
                }
                _ => return None,
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.peek()? == b']' {
            self.at += 1;
            return Some(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(Value::List(items));
                }
                _ => return None,
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let from = self.at;
        self.at += 1;
        let mut plain = true;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    plain = false;
                    self.at += 2;
                }
                b'\n' => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let quoted = self.text.get(from..self.at)?;
        if plain {
            return Some(String::from_utf8_lossy(&quoted[1..quoted.len() - 1]).into_owned());
        }
        serde_json::from_slice(quoted).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_DEPTH, Value, read};

    #[test]
    fn every_value_knows_its_line() {
        let tree =
            read(b"\n{\"a\": [\n1,\n{\"b\\u0041\":\n \"x\\n\"}], \"c\": null, \"c\": true}\n").unwrap();
        let list = tree.get(tree.root(), "a").unwrap();
        assert_eq!((tree.line(tree.root()), tree.line(list)), (2, 2));
        let inner = tree.items(list)[1];
        assert_eq!(tree.line(inner), 4);
        let (line, id) = tree.entry(inner, "bA").unwrap();
        assert_eq!((line, tree.line(id), tree.text(id)), (4, 5, Some("x\n")));
        assert_eq!(
            tree.value(tree.get(tree.root(), "c").unwrap()),
            &Value::Bool(true)
        );
    }

    #[test]
    fn what_is_no_json_or_too_deep_is_nothing() {
        for text in [
            "", "{", "{}}", "[1,]", "{\"a\"}", "nul", "\"a", "{1:2}", "\"\\", "\"\\x\"", "a",
        ] {
            assert!(read(text.as_bytes()).is_none(), "{text}");
        }
        for open in ["[", "{\"a\":"] {
            assert!(read(open.repeat(1_000_000).as_bytes()).is_none());
        }
        let deep = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(read(deep.as_bytes()).is_some());
    }

    proptest! {
        #[test]
        fn anything_can_be_read_and_what_serde_reads_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..100), text in "[\\[\\]{}\",:0-9a-f\\\\ ]{0,60}") {
            let _ = read(&bytes);
            let ours = read(text.as_bytes()).is_some();
            if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
                prop_assert!(ours, "{text}");
            }
        }
    }
}
