//! The literals and comments of the languages: where each of them ends.

use super::{Before, Kind, Language, Lexer, goes_on};

impl Lexer<'_, '_> {
    /// The end of a block comment that opens here.
    pub(super) fn block_comment(&self, nests: bool) -> usize {
        if !nests {
            return self.behind(self.at + 2, b"*/");
        }
        let (mut depth, mut i) = (0usize, self.at);
        while i < self.text.len() {
            if self.text[i..].starts_with(b"/*") {
                depth += 1;
                i += 2;
            } else if self.text[i..].starts_with(b"*/") {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return i;
                }
            } else {
                i += 1;
            }
        }
        i
    }

    /// The end of a literal whose content starts at `from`: behind `quote`, or, unless it
    /// may hold line breaks, the end of its line. A backslash takes the next byte along.
    pub(super) fn quoted(&self, from: usize, quote: u8, breaks: bool) -> usize {
        let mut i = from;
        while let Some(b) = self.text.get(i) {
            match *b {
                b'\\' => i += 1,
                b'\n' if !breaks => return i,
                b if b == quote => return i + 1,
                _ => {}
            }
            i += 1;
        }
        self.text.len()
    }

    /// The end of a string between three quotes; a backslash takes the next byte along.
    pub(super) fn triple(&self, mark: &[u8]) -> usize {
        let mut i = self.at + 3;
        while i < self.text.len() {
            if self.text[i] == b'\\' {
                i += 2;
            } else if self.text[i..].starts_with(mark) {
                return i + 3;
            } else {
                i += 1;
            }
        }
        self.text.len()
    }

    /// A piece of a template literal: up to its end or to the next `${`.
    pub(super) fn template(&mut self, from: usize) -> bool {
        let mut i = from;
        while let Some(b) = self.text.get(i) {
            match b {
                b'\\' => i += 1,
                b'`' => {
                    i += 1;
                    break;
                }
                b'$' if self.text.get(i + 1) == Some(&b'{') => {
                    self.templates.push(0);
                    i += 2;
                    self.token(Kind::Literal, i);
                    self.before = Before::Operator;
                    return true;
                }
                _ => {}
            }
            i += 1;
        }
        self.token(Kind::Literal, i);
        self.before = Before::Operand;
        true
    }

    /// The end of a character literal; `None` for a lifetime.
    pub(super) fn rust_character(&self) -> Option<usize> {
        let first = self.peek(1);
        if first == b'\\' {
            return Some(self.quoted(self.at + 1, b'\'', false));
        }
        let width = match first {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            _ => 1,
        };
        (self.peek(1 + width) == b'\'').then_some(self.at + width + 2)
    }

    /// Whether a slash starts a regular expression rather than divides.
    pub(super) fn starts_pattern(&self) -> bool {
        let next = self.peek(1);
        match self.before {
            Before::Operator => true,
            Before::Operand => false,
            Before::Name => {
                self.language == Language::Ruby
                    && self.at > 0
                    && self.text[self.at - 1] == b' '
                    && !matches!(next, b' ' | b'=' | b'\n' | b'\r')
            }
        }
    }

    /// The end of a regular expression, which does not go beyond its line.
    pub(super) fn pattern(&self) -> usize {
        let (mut class, mut i) = (false, self.at + 1);
        while let Some(b) = self.text.get(i) {
            match b {
                b'\\' if self.text.get(i + 1) != Some(&b'\n') => i += 1,
                b'\n' => return i,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => {
                    i += 1;
                    while self.text.get(i).is_some_and(u8::is_ascii_alphabetic) {
                        i += 1;
                    }
                    return i;
                }
                _ => {}
            }
            i += 1;
        }
        i
    }

    /// The end of Ruby's `%w[…]`, `%q(…)`, `%(…)`; `None` where `%` divides.
    pub(super) fn percent(&self) -> Option<usize> {
        if self.before == Before::Operand {
            return None;
        }
        let letter = matches!(
            self.peek(1),
            b'w' | b'W' | b'i' | b'I' | b'q' | b'Q' | b'r' | b'x' | b's'
        );
        let open = self.peek(1 + usize::from(letter));
        let close = match open {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            b'|' | b'!' | b'/' if letter => open,
            _ => return None,
        };
        let (mut depth, mut i) = (1usize, self.at + 2 + usize::from(letter));
        while let Some(b) = self.text.get(i) {
            match *b {
                b'\\' => i += 1,
                b if b == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(i + 1);
                    }
                }
                b if b == open => depth += 1,
                _ => {}
            }
            i += 1;
        }
        Some(self.text.len())
    }

    /// Takes `<<~WORD` and remembers what ends the text below.
    pub(super) fn opens_heredoc(&mut self) -> bool {
        let mut i = 2;
        if self.peek(1) != b'<' {
            return false;
        }
        let loose = matches!(self.peek(i), b'~' | b'-');
        i += usize::from(loose);
        let quote = match self.peek(i) {
            q @ (b'"' | b'\'' | b'`') => {
                i += 1;
                Some(q)
            }
            _ => None,
        };
        let start = self.at + i;
        let end = start
            + self.text[start.min(self.text.len())..]
                .iter()
                .take_while(|b| goes_on(**b))
                .count();
        let upper = self.text.get(start).is_some_and(u8::is_ascii_uppercase);
        if end == start || self.before == Before::Operand || !(loose || upper) {
            return false;
        }
        self.heredocs.push(self.text[start..end].to_vec());
        self.token(Kind::Literal, end + usize::from(quote.is_some()));
        self.before = Before::Operand;
        true
    }

    /// Passes over a here-document, up to and with the line that is `end`.
    pub(super) fn heredoc(&mut self, end: &[u8]) {
        while self.at < self.text.len() {
            let stop = self.line_end();
            let found = self.text[self.at..stop].trim_ascii() == end;
            self.go(stop + 1);
            if found {
                return;
            }
        }
    }

    /// The end of a literal whose prefix is `word`: `r#"…"#`, `b'x'`, `R"d(…)d"`, `f"…"`.
    pub(super) fn prefixed(&self, word: &[u8]) -> Option<usize> {
        let at = self.at + word.len();
        let next = self.text.get(at).copied()?;
        match self.language {
            Language::Rust if matches!(word, b"r" | b"br" | b"cr") => {
                let hashes = self.text[at..]
                    .iter()
                    .take(256)
                    .take_while(|b| **b == b'#')
                    .count();
                if self.text.get(at + hashes) != Some(&b'"') {
                    return None;
                }
                let mark: Vec<u8> = std::iter::once(b'"')
                    .chain(std::iter::repeat_n(b'#', hashes))
                    .collect();
                Some(self.behind(at + hashes + 1, &mark))
            }
            Language::Rust if matches!(word, b"b" | b"c") && next == b'"' => {
                Some(self.quoted(at + 1, b'"', true))
            }
            Language::Rust if word == b"b" && next == b'\'' => Some(self.quoted(at + 1, b'\'', false)),
            Language::C if matches!(word, b"R" | b"u8R" | b"uR" | b"UR" | b"LR") && next == b'"' => {
                let delimiter: Vec<u8> = self.text[at + 1..]
                    .iter()
                    .copied()
                    .take(17)
                    .take_while(|b| *b != b'(')
                    .collect();
                let mark = [&b")"[..], &delimiter, b"\""].concat();
                (delimiter.len() <= 16).then(|| self.behind(at + 1 + delimiter.len(), &mark))
            }
            _ => None,
        }
    }
}
