//! What is left over from debugging, told by the tokens of a file.

mod languages;

use std::ops::Range;

use crate::domain::review::finding::{Axis, Priority};

use super::lexer::{Kind, Language, Lexed, Token};

/// The rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    FocusedTest,
    Debugger,
    SkippedTest,
    Unfinished,
    DebugPrint,
    DeadBranch,
}

impl Rule {
    pub(super) const ALL: [Self; 6] = [
        Self::FocusedTest,
        Self::Debugger,
        Self::SkippedTest,
        Self::Unfinished,
        Self::DebugPrint,
        Self::DeadBranch,
    ];

    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::FocusedTest => "debug_leftovers/focused-test",
            Self::Debugger => "debug_leftovers/debugger",
            Self::SkippedTest => "debug_leftovers/skipped-test",
            Self::Unfinished => "debug_leftovers/unfinished",
            Self::DebugPrint => "debug_leftovers/debug-print",
            Self::DeadBranch => "debug_leftovers/dead-branch",
        }
    }

    pub(super) const fn axis(self) -> Axis {
        match self {
            Self::FocusedTest | Self::SkippedTest => Axis::TestGap,
            _ => Axis::Correctness,
        }
    }
}

/// One thing left over.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    pub(super) rule: Rule,
    pub(super) line: u32,
    /// What it is called, for the title.
    pub(super) name: String,
    pub(super) priority: Priority,
    pub(super) confidence: f64,
    /// Bytes of the text whose removal mends it, on that line.
    pub(super) cut: Option<Range<usize>>,
}

/// What the place of a file says of its code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// It is a test.
    pub(super) test: bool,
    /// It is shipped, and does not print for a living.
    pub(super) quiet: bool,
    /// RSpec or minitest helpers, which speak of focus as configuration.
    pub(super) helper: bool,
}

/// Everything left over in `lexed`, in order.
pub(super) fn find(language: Language, place: Place, lexed: &Lexed<'_>) -> Vec<Hit> {
    let mut found = Finder {
        place,
        lexed,
        hits: Vec::new(),
    };
    for i in 0..lexed.tokens.len() {
        match language {
            Language::Rust => found.rust(i),
            Language::Script => found.script(i),
            Language::Python => found.python(i),
            Language::Go => found.go(i),
            Language::Java => found.java(i),
            Language::Ruby => found.ruby(i),
            Language::C => found.c(i),
        }
        found.marked_print(language, i);
        found.dead_branch(language, i);
    }
    found.hits
}

struct Finder<'a> {
    place: Place,
    lexed: &'a Lexed<'a>,
    hits: Vec<Hit>,
}

impl<'a> Finder<'a> {
    fn token(&self, i: usize) -> Option<&Token> {
        self.lexed.tokens.get(i)
    }

    fn text(&self, i: usize) -> &'a [u8] {
        self.token(i)
            .map_or(&b""[..], |t| &self.lexed.text[t.start..t.end])
    }

    fn before(&self, i: usize) -> &'a [u8] {
        i.checked_sub(1).map_or(&b""[..], |i| self.text(i))
    }

    fn is(&self, i: usize, text: &str) -> bool {
        self.text(i) == text.as_bytes()
    }

    fn is_literal(&self, i: usize) -> bool {
        self.token(i).is_some_and(|t| t.kind == Kind::Literal)
    }

    fn is_word(&self, i: usize) -> bool {
        self.token(i).is_some_and(|t| t.kind == Kind::Word)
    }

    /// Whether a literal says nothing.
    fn is_empty_literal(&self, i: usize) -> bool {
        let text = self.text(i);
        self.is_literal(i)
            && !text
                .iter()
                .any(|b| b.is_ascii_alphanumeric() || *b >= 0x80 || *b == b'{')
    }

    /// Whether the tokens from `i` on are these.
    fn seq(&self, i: usize, texts: &[&str]) -> bool {
        texts.iter().enumerate().all(|(n, text)| self.is(i + n, text))
    }

    /// Whether a name at `i` is used by itself: no member of anything, not being defined.
    fn is_free(&self, i: usize) -> bool {
        !matches!(
            self.before(i),
            b"." | b"def"
                | b"fn"
                | b"func"
                | b"fun"
                | b"function"
                | b"class"
                | b"const"
                | b"let"
                | b"var"
                | b"import"
        )
    }

    fn line(&self, i: usize) -> u32 {
        self.token(i).map_or(0, |t| t.line)
    }

    /// Whether token `i` is the first one of its line.
    fn opens_line(&self, i: usize) -> bool {
        i == 0 || self.line(i - 1) != self.line(i)
    }

    /// Whether nothing but closing signs follows token `i` on its line.
    fn closes_line(&self, i: usize) -> bool {
        self.token(i + 1).is_none() || self.line(i + 1) != self.line(i) || self.is(i + 1, ";")
    }

    fn hit(&mut self, rule: Rule, i: usize, name: &str, priority: Priority, confidence: f64) {
        self.hits.push(Hit {
            rule,
            line: self.line(i),
            name: name.to_owned(),
            priority,
            confidence,
            cut: None,
        });
    }

    /// A skipped test; a comment beside it may give the reason.
    fn skipped(&mut self, i: usize, name: &str) {
        let line = self.line(i);
        let explained = self.lexed.commented(line) || self.lexed.commented(line.saturating_sub(1));
        let (priority, confidence) = if explained {
            (Priority::P3, 0.5)
        } else {
            (Priority::P2, 0.7)
        };
        self.hit(Rule::SkippedTest, i, name, priority, confidence);
    }

    /// A focused test, mended by removing `cut` where that is certain.
    fn focused(&mut self, i: usize, name: &str, cut: Option<Range<usize>>) {
        let (priority, confidence) = if self.place.test {
            (Priority::P1, 0.95)
        } else {
            (Priority::P2, 0.7)
        };
        self.hit(Rule::FocusedTest, i, name, priority, confidence);
        if let Some(hit) = self.hits.last_mut() {
            hit.cut = cut;
        }
    }

    /// The first byte of token `i`: the `f` of `fdescribe`.
    fn first_byte(&self, i: usize) -> Option<Range<usize>> {
        self.token(i).map(|t| t.start..t.start + 1)
    }

    /// Whether token `i` begins a statement.
    fn opens_statement(&self, i: usize) -> bool {
        self.opens_line(i) || matches!(self.before(i), b";" | b":" | b"{" | b"}" | b"then" | b"do")
    }

    /// Whether the line above token `i` decides whether it is reached.
    fn is_conditional(&self, i: usize) -> bool {
        let above = self.line(i).saturating_sub(1);
        (0..i)
            .rev()
            .take_while(|n| self.line(*n) >= above)
            .any(|n| matches!(self.text(n), b"if" | b"else" | b"case" | b"default" | b"unless"))
    }

    /// A print whose text is what one writes while looking for a fault: `here`, `DEBUG`.
    fn marked_print(&mut self, language: Language, i: usize) {
        let name = self.text(i);
        let opened = self.is(i + 1, "(") && self.is_literal(i + 2);
        let text = match (language, name) {
            (Language::Rust, b"println" | b"eprintln" | b"print" | b"eprint")
                if self.is(i + 1, "!") && self.is(i + 2, "(") =>
            {
                i + 3
            }
            (Language::Python, b"print")
            | (Language::C, b"printf" | b"puts")
            | (Language::Java, b"println")
                if opened =>
            {
                i + 2
            }
            (Language::C, b"fprintf") if self.is(i + 1, "(") && self.is(i + 3, ",") => i + 4,
            (Language::C, b"cout" | b"cerr") if self.seq(i + 1, &["<", "<"]) => i + 3,
            (Language::Go, b"Println" | b"Printf" | b"Print") if opened && self.before(i) == b"." => i + 2,
            (Language::Go, b"println" | b"print") if opened && self.is_free(i) => i + 2,
            (Language::Ruby, b"puts" | b"p" | b"pp") if self.opens_line(i) => {
                i + 1 + usize::from(self.is(i + 1, "("))
            }
            (Language::Script, b"log" | b"warn" | b"error" | b"info" | b"debug")
                if opened && !self.place.quiet && i >= 2 && self.is(i - 2, "console") =>
            {
                i + 2
            }
            _ => return,
        };
        if self.is_word(i) && self.is_literal(text) && marks_debugging(self.text(text)) {
            let name = String::from_utf8_lossy(name).into_owned();
            self.hit(Rule::DebugPrint, i, &name, Priority::P3, 0.7);
        }
    }

    fn dead_branch(&mut self, language: Language, i: usize) {
        if !self.is(i, "if") || !self.is_word(i) {
            return;
        }
        let name = match language {
            Language::C if self.before(i) == b"#" && self.is(i + 1, "0") && self.closes_line(i + 1) => {
                "#if 0"
            }
            Language::C | Language::Java | Language::Script
                if self.seq(i + 1, &["(", "false", ")"]) || self.seq(i + 1, &["(", "0", ")"]) =>
            {
                "if (false)"
            }
            Language::Rust | Language::Go if self.seq(i + 1, &["false", "{"]) => "if false",
            Language::Python if self.seq(i + 1, &["False", ":"]) || self.seq(i + 1, &["0", ":"]) => {
                "if False"
            }
            Language::Ruby if self.is(i + 1, "false") && self.closes_line(i + 1) => "if false",
            _ => return,
        };
        self.hit(Rule::DeadBranch, i, name, Priority::P3, 0.6);
    }
}

/// Whether a printed text is one that nobody would ship.
fn marks_debugging(literal: &[u8]) -> bool {
    let head: Vec<u8> = literal.iter().copied().take(64).collect();
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let letters: String = text.chars().filter(char::is_ascii_alphabetic).collect();
    let lower = letters.to_ascii_lowercase();
    let word = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    (literal.len() <= 16
        && matches!(
            lower.as_str(),
            "here" | "heren" | "gothere" | "wtf" | "asdf" | "foo"
        ))
        || matches!(word, "XXX" | "xxx" | "DBG" | "asdf" | "wtf")
        || (word == "DEBUG" && !text.starts_with("DEBUG=") && !text.starts_with("DEBUG_"))
}
