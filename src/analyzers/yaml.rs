//! YAML with the line of every value, for rules that point at one.
//!
//! Bounds: 1 MiB, 64 levels, 200,000 values. An alias is a reference to the value it
//! names, never a copy, so nothing grows by being named often; a walk that must not do
//! the same work twice keeps the [`Node::id`]s it has seen. A value cannot hold itself.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, Span};

/// The longest text that is read.
pub(super) const MAX_BYTES: usize = 1 << 20;
const MAX_DEPTH: usize = 64;
const MAX_VALUES: usize = 200_000;

/// The documents of a file.
#[derive(Debug)]
pub(super) struct Yaml {
    values: Vec<Value>,
    documents: Vec<usize>,
}

#[derive(Debug)]
struct Value {
    content: Content,
    /// First and last line, one-based, as LF counts them.
    lines: (u32, u32),
}

#[derive(Debug)]
enum Content {
    Text(String),
    List(Vec<usize>),
    /// Keys and values, in order, doubled keys included.
    Map(Vec<(usize, usize)>),
}

/// What is being read.
enum Open {
    List(usize, Vec<usize>),
    Map(usize, Vec<(usize, usize)>, Option<usize>),
}

/// Reads `text`; `None` when it is no YAML or exceeds a bound.
pub(super) fn read(text: &[u8]) -> Option<Yaml> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(text);
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let lines = Lines::of(text);
    let mut reader = Reader {
        yaml: Yaml {
            values: Vec::new(),
            documents: Vec::new(),
        },
        open: Vec::new(),
        anchors: BTreeMap::new(),
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        reader.take(event, lines.span(span))?;
    }
    Some(reader.yaml)
}

/// How the parser's lines, which end at a lone CR too, are counted by LF.
struct Lines {
    /// By the parser's line; `None` where both count the same.
    table: Option<Vec<u32>>,
    last: u32,
}

impl Lines {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let lone = |i: usize| bytes[i] == b'\r' && bytes.get(i + 1) != Some(&b'\n');
        let breaks = bytes.iter().filter(|b| **b == b'\n').count();
        let last = breaks + usize::from(!bytes.ends_with(b"\n"));
        let last = u32::try_from(last).unwrap_or(u32::MAX).max(1);
        if !(0..bytes.len()).any(lone) {
            return Self { table: None, last };
        }
        let (mut table, mut line) = (vec![1, 1], 1);
        for (i, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' {
                line += 1;
                table.push(line);
            } else if lone(i) {
                table.push(line);
            }
        }
        Self {
            table: Some(table),
            last,
        }
    }

    fn line(&self, line: usize) -> u32 {
        let line = match &self.table {
            None => u32::try_from(line).unwrap_or(u32::MAX),
            Some(table) => table.get(line).or(table.last()).copied().unwrap_or(1),
        };
        line.clamp(1, self.last)
    }

    fn span(&self, span: Span) -> (u32, u32) {
        let first = span.start.line();
        // A block ends where the next token starts, which is on a line of its own.
        let last = if span.end.line() > first && span.end.col() <= span.start.col() {
            span.end.line() - 1
        } else {
            span.end.line()
        };
        let first = self.line(first);
        (first, self.line(last).max(first))
    }
}

struct Reader {
    yaml: Yaml,
    open: Vec<(Open, u32, usize)>,
    anchors: BTreeMap<usize, usize>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, lines: (u32, u32)) -> Option<()> {
        match event {
            Event::DocumentStart(_) => self.anchors.clear(),
            Event::Scalar(text, _, anchor, _) => {
                self.value(Content::Text(text.into_owned()), lines, anchor)?;
            }
            Event::Alias(anchor) => {
                // One that names a value which is not complete would hold itself.
                let named = *self.anchors.get(&anchor)?;
                self.put(named);
            }
            Event::SequenceStart(anchor, _) => self.begin(Open::List(anchor, Vec::new()), lines)?,
            Event::MappingStart(anchor, _) => self.begin(Open::Map(anchor, Vec::new(), None), lines)?,
            Event::SequenceEnd | Event::MappingEnd => {
                let (open, first, _) = self.open.pop()?;
                let (content, anchor) = match open {
                    Open::List(anchor, items) => (Content::List(items), anchor),
                    Open::Map(anchor, entries, _) => (Content::Map(entries), anchor),
                };
                self.value(content, (first, lines.1.max(first)), anchor)?;
            }
            _ => {}
        }
        Some(())
    }

    fn begin(&mut self, open: Open, lines: (u32, u32)) -> Option<()> {
        self.open.push((open, lines.0, self.yaml.values.len()));
        (self.open.len() <= MAX_DEPTH).then_some(())
    }

    fn value(&mut self, content: Content, lines: (u32, u32), anchor: usize) -> Option<()> {
        let id = self.yaml.values.len();
        self.yaml.values.push(Value { content, lines });
        if anchor > 0 {
            self.anchors.insert(anchor, id);
        }
        self.put(id);
        (id < MAX_VALUES).then_some(())
    }

    fn put(&mut self, id: usize) {
        match self.open.last_mut() {
            None => self.yaml.documents.push(id),
            Some((Open::List(_, items), ..)) => items.push(id),
            Some((Open::Map(_, entries, key), ..)) => match key.take() {
                None => *key = Some(id),
                Some(key) => entries.push((key, id)),
            },
        }
    }
}

impl Yaml {
    /// The top of every document.
    pub(super) fn documents(&self) -> impl Iterator<Item = Node<'_>> {
        self.documents.iter().map(|id| Node { yaml: self, id: *id })
    }
}

/// A value in its place.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    yaml: &'a Yaml,
    id: usize,
}

/// A key with its value.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    /// The key; empty where it is no text.
    pub(super) key: &'a str,
    /// The line of the key.
    pub(super) line: u32,
    /// The value.
    pub(super) value: Node<'a>,
}

impl<'a> Node<'a> {
    fn value(self) -> &'a Value {
        &self.yaml.values[self.id]
    }

    /// The same for two places that name one value.
    pub(super) fn id(self) -> usize {
        self.id
    }

    /// The first line; of a block of text, that of its first line of text.
    pub(super) fn line(self) -> u32 {
        self.value().lines.0
    }

    /// The last line.
    pub(super) fn last_line(self) -> u32 {
        self.value().lines.1
    }

    /// The text of a scalar.
    pub(super) fn text(self) -> Option<&'a str> {
        match &self.value().content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is a plain `true`, in any case.
    pub(super) fn is_true(self) -> bool {
        self.text().is_some_and(|t| t.eq_ignore_ascii_case("true"))
    }

    /// Whether it is a map.
    pub(super) fn is_map(self) -> bool {
        matches!(self.value().content, Content::Map(_))
    }

    /// The entries of a map; nothing of anything else.
    pub(super) fn entries(self) -> impl Iterator<Item = Entry<'a>> {
        let entries: &'a [(usize, usize)] = match &self.value().content {
            Content::Map(entries) => entries,
            _ => &[],
        };
        entries.iter().map(move |(key, value)| {
            let key = Node {
                yaml: self.yaml,
                id: *key,
            };
            Entry {
                key: key.text().unwrap_or_default(),
                line: key.line(),
                value: Node {
                    yaml: self.yaml,
                    id: *value,
                },
            }
        })
    }

    /// The items of a list; nothing of anything else.
    pub(super) fn items(self) -> impl Iterator<Item = Node<'a>> {
        let items: &'a [usize] = match &self.value().content {
            Content::List(items) => items,
            _ => &[],
        };
        items.iter().map(move |id| Node {
            yaml: self.yaml,
            id: *id,
        })
    }

    /// The entry of that key; of a doubled one, the last.
    pub(super) fn entry(self, key: &str) -> Option<Entry<'a>> {
        self.entries().filter(|e| e.key == key).last()
    }

    /// The value of that key.
    pub(super) fn get(self, key: &str) -> Option<Node<'a>> {
        self.entry(key).map(|e| e.value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_value_knows_its_line() {
        let text = "\u{FEFF}on: [push]\r\njobs:\r\n  a: |\r\n    one\r\n    two\r\n\r\n  b: >-\r\n    x\r\n  c: &k \"y\r\n    z\"\r\n  d: *k\r\n";
        let yaml = read(text.as_bytes()).unwrap();
        let top = yaml.documents().next().unwrap();
        let jobs = top.get("jobs").unwrap();
        let lines = |key| (jobs.get(key).unwrap().line(), jobs.get(key).unwrap().last_line());
        assert_eq!(top.entry("on").unwrap().line, 1);
        assert_eq!(lines("a"), (4, 6));
        assert_eq!(lines("b"), (8, 8));
        assert_eq!(lines("c"), (9, 10));
        assert_eq!(jobs.entry("d").unwrap().line, 11);
        assert_eq!(lines("d"), (9, 10), "an alias is the value it names");
        assert_eq!(jobs.get("a").unwrap().text(), Some("one\ntwo\n"));
    }

    #[test]
    fn a_lone_carriage_return_does_not_shift_the_lines() {
        let yaml = read(b"a: 1\rb: 2\nc: 3\r\nd: 4\n").unwrap();
        let top = yaml.documents().next().unwrap();
        let lines: Vec<u32> = top.entries().map(|e| e.line).collect();
        assert_eq!(lines, [1, 1, 2, 3]);
    }

    #[test]
    fn aliases_share_and_cannot_hold_themselves() {
        let mut text = "a0: &a0 [x, x]\n".to_owned();
        for i in 1..40 {
            text.push_str(&format!("a{i}: &a{i} [*a{0}, *a{0}]\n", i - 1));
        }
        let yaml = read(text.as_bytes()).unwrap();
        assert!(yaml.values.len() < 200);
        assert!(read(b"a: &a [*a]\n").is_none());
        assert!(read(b"a: *nowhere\n").is_none());
    }

    #[test]
    fn what_is_too_deep_too_large_or_no_yaml_is_refused() {
        assert!(read("[".repeat(1 << 16).as_bytes()).is_none());
        assert!(read("- ".repeat(1 << 16).as_bytes()).is_none());
        assert!(read("? ".repeat(1 << 16).as_bytes()).is_none());
        assert!(read(&vec![b'a'; MAX_BYTES + 1]).is_none());
        assert!(read(b"a: b\n\tc: d\n").is_none());
        assert!(read(b"a: \0\n").is_none());
        assert!(read(b"").unwrap().documents().next().is_none());
        assert!(
            read(b"caf\xE9: \xFF\n").is_some(),
            "bytes that are no UTF-8 hide nothing"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(parts in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..6),
            prop::sample::select(vec![
                "a: ", "- ", "\n", "\n  ", "\r", "\r\n", "\t", "[", "]", "{", "}", ",", "&a ", "*a", "|\n", ">-\n",
                "\"", "'", "#", "? ", ": ", "---\n", "...\n", "!!str ", "%TAG ! x\n", "<<: ", "\u{FEFF}", "\0",
            ]).prop_map(|s| s.as_bytes().to_vec()),
        ], 0..40)) {
            let text = parts.concat();
            let last = text.iter().filter(|b| **b == b'\n').count() as u32 + 1;
            if let Some(yaml) = read(&text) {
                for value in &yaml.values {
                    prop_assert!(value.lines.0 >= 1 && value.lines.0 <= value.lines.1 && value.lines.1 <= last);
                }
            }
        }
    }
}
