//! A light lexer, one for seven language families: it tells code from comments and
//! literals, and no more. It reads a file once, in linear time, and cannot fail; what is
//! not closed ends with its line or with the file.
//!
//! Known limits, each of which costs a finding and invents none that weighs: a regular
//! expression is told from a division by the token before it, and text between JSX tags
//! is read as code.

mod literals;

/// A family of languages with one way to write comments and literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    /// JavaScript and TypeScript.
    Script,
    Python,
    Go,
    /// Java and Kotlin.
    Java,
    Ruby,
    /// C and C++.
    C,
}

impl Language {
    /// By the extension of a path.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
        Some(match extension.to_ascii_lowercase().as_str() {
            "rs" => Self::Rust,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Self::Script,
            "py" | "pyi" => Self::Python,
            "go" => Self::Go,
            "java" | "kt" | "kts" => Self::Java,
            "rb" | "rake" => Self::Ruby,
            "c" | "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" | "hxx" => Self::C,
            _ => return None,
        })
    }
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    /// A string, character or regular expression, with its quotes.
    Literal,
    /// One byte.
    Sign,
}

/// A token: where it is in the text, and the one-based line on which it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A text in tokens: those near the wanted lines only.
#[derive(Debug)]
pub(super) struct Lexed<'a> {
    pub(super) text: &'a [u8],
    pub(super) tokens: Vec<Token>,
    /// Lines on which a comment begins or ends, in order.
    comments: Vec<u32>,
}

impl Lexed<'_> {
    /// Whether a comment stands on `line`.
    pub(super) fn commented(&self, line: u32) -> bool {
        self.comments.binary_search(&line).is_ok()
    }
}

/// Lines before and after a wanted one whose tokens are kept.
const AROUND: u32 = 2;

/// What the last token was, for telling an operator from the start of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Operand,
    /// A word that is no keyword, in Ruby perhaps a method that takes an argument.
    Name,
    Operator,
}

struct Lexer<'a, 'w> {
    language: Language,
    text: &'a [u8],
    at: usize,
    line: u32,
    before: Before,
    /// Open braces inside each `${` of a template literal.
    templates: Vec<usize>,
    /// Words that end the here-documents which begin after this line.
    heredocs: Vec<Vec<u8>>,
    wanted: &'w [u32],
    tokens: Vec<Token>,
    comments: Vec<u32>,
}

/// Lexes `text`. `wanted` are the lines that matter, in order; the rest is only passed over.
pub(super) fn lex<'a>(language: Language, text: &'a [u8], wanted: &[u32]) -> Lexed<'a> {
    let mut lexer = Lexer {
        language,
        text,
        at: if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 },
        line: 1,
        before: Before::Operator,
        templates: Vec::new(),
        heredocs: Vec::new(),
        wanted,
        tokens: Vec::new(),
        comments: Vec::new(),
    };
    while lexer.at < text.len() && lexer.step() {}
    lexer.comments.dedup();
    Lexed {
        text,
        tokens: lexer.tokens,
        comments: lexer.comments,
    }
}

fn starts_word(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b >= 0x80
}

fn goes_on(b: u8) -> bool {
    starts_word(b) || b.is_ascii_digit()
}

impl Lexer<'_, '_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &[u8] {
        &self.text[self.at..]
    }

    /// Goes to `end`, counting lines.
    fn go(&mut self, end: usize) {
        let end = end.min(self.text.len());
        let lines = self.text[self.at..end].iter().filter(|b| **b == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at = end;
    }

    fn is_near(&self, line: u32) -> bool {
        self.wanted
            .first()
            .is_some_and(|w| line.saturating_add(AROUND) >= *w)
    }

    /// Takes the text up to `end` as a token.
    fn token(&mut self, kind: Kind, end: usize) {
        if self.is_near(self.line) {
            self.tokens.push(Token {
                kind,
                line: self.line,
                start: self.at,
                end: end.min(self.text.len()),
            });
        }
        self.go(end);
    }

    /// Passes over a comment.
    fn comment(&mut self, end: usize) {
        let first = self.line;
        self.go(end);
        for line in [first, self.line] {
            if self.is_near(line) {
                self.comments.push(line);
            }
        }
    }

    /// The end of this line, before its LF.
    fn line_end(&self) -> usize {
        self.rest()
            .iter()
            .position(|b| *b == b'\n')
            .map_or(self.text.len(), |n| self.at + n)
    }

    /// Just behind the first `mark` at or after `from`, or the end of the text.
    fn behind(&self, from: usize, mark: &[u8]) -> usize {
        let from = from.min(self.text.len());
        self.text[from..]
            .windows(mark.len())
            .position(|w| w == mark)
            .map_or(self.text.len(), |n| from + n + mark.len())
    }

    /// One token, comment or stretch of white space. `false`: nothing that matters follows.
    fn step(&mut self) -> bool {
        let b = self.peek(0);
        if b == b'\n' {
            self.go(self.at + 1);
            for end in std::mem::take(&mut self.heredocs) {
                self.heredoc(&end);
            }
            while self
                .wanted
                .first()
                .is_some_and(|w| w.saturating_add(AROUND) < self.line)
            {
                self.wanted = &self.wanted[1..];
            }
            return !self.wanted.is_empty() && !self.ruby_block();
        }
        if b.is_ascii_whitespace() || b == 0 {
            self.at += 1;
            return true;
        }
        if let Some(end) = self.comment_here() {
            self.comment(end);
            return true;
        }
        if self.literal_here() {
            return true;
        }
        if b.is_ascii_digit() {
            self.number();
        } else if starts_word(b) || (b == b'$' && self.language == Language::Script) {
            self.word();
        } else {
            self.sign(b);
        }
        true
    }

    /// The end of the comment that starts here.
    fn comment_here(&self) -> Option<usize> {
        match (self.language, self.peek(0), self.peek(1)) {
            (Language::Python | Language::Ruby, b'#', _) => Some(self.line_end()),
            (Language::Python | Language::Ruby, ..) => None,
            (Language::C, b'/', b'/') => {
                let mut end = self.line_end();
                // A backslash at its end carries a comment on.
                while self.text[self.at..end].ends_with(b"\\") || self.text[self.at..end].ends_with(b"\\\r") {
                    let next = end + 1;
                    if next >= self.text.len() {
                        break;
                    }
                    end = self.behind(next, b"\n");
                    if self.text[..end].ends_with(b"\n") {
                        end -= 1;
                    }
                }
                Some(end)
            }
            (_, b'/', b'/') => Some(self.line_end()),
            (language, b'/', b'*') => {
                Some(self.block_comment(matches!(language, Language::Rust | Language::Java)))
            }
            (Language::Script, b'#', b'!') if self.at == 0 => Some(self.line_end()),
            _ => None,
        }
    }

    /// Takes the literal that starts here, if one does.
    fn literal_here(&mut self) -> bool {
        let b = self.peek(0);
        let end = match (self.language, b) {
            (Language::Python, b'"' | b'\'') | (Language::Java, b'"')
                if self.peek(1) == b && self.peek(2) == b =>
            {
                let mark = [b, b, b];
                self.triple(&mark)
            }
            (Language::Script, b'`') => return self.template(self.at + 1),
            (Language::Script, b'}') if self.templates.last() == Some(&0) => {
                self.templates.pop();
                return self.template(self.at + 1);
            }
            (Language::Go, b'`') => self.behind(self.at + 1, b"`"),
            (Language::Rust, b'\'') => match self.rust_character() {
                Some(end) => end,
                None => return false,
            },
            (Language::Rust, b'"') => self.quoted(self.at + 1, b'"', true),
            (Language::Ruby, b'"' | b'\'' | b'`') => {
                if self.at > 0 && self.text[self.at - 1] == b'$' {
                    return false;
                }
                self.quoted(self.at + 1, b, true)
            }
            (_, b'"' | b'\'') => self.quoted(self.at + 1, b, false),
            (Language::Script | Language::Ruby, b'/') if self.starts_pattern() => self.pattern(),
            (Language::Ruby, b'%') => match self.percent() {
                Some(end) => end,
                None => return false,
            },
            (Language::Ruby, b'<') if self.opens_heredoc() => return true,
            _ => return false,
        };
        self.token(Kind::Literal, end);
        self.before = Before::Operand;
        true
    }

    /// At the start of a line: passes over `=begin … =end`; `true` at `__END__`.
    fn ruby_block(&mut self) -> bool {
        if self.language != Language::Ruby {
            return false;
        }
        if self.rest().starts_with(b"=begin") {
            let end = self.behind(self.at, b"\n=end");
            self.comment(end);
            let end = self.line_end();
            self.go(end);
        }
        let line = &self.text[self.at..self.line_end()];
        line.trim_ascii_end() == b"__END__"
    }

    fn number(&mut self) {
        let mut i = self.at + 1;
        while let Some(b) = self.text.get(i) {
            let digit_follows = self.text.get(i + 1).is_some_and(u8::is_ascii_alphanumeric);
            let separates = (*b == b'.' && self.text.get(i + 1).is_some_and(u8::is_ascii_digit))
                || (*b == b'\'' && self.language == Language::C && digit_follows);
            if !goes_on(*b) && !separates {
                break;
            }
            i += 1;
        }
        self.token(Kind::Number, i);
        self.before = Before::Operand;
    }

    fn word(&mut self) {
        let dollar = self.language == Language::Script;
        let length = self
            .rest()
            .iter()
            .take_while(|b| goes_on(**b) || (dollar && **b == b'$'))
            .count();
        let word = &self.text[self.at..self.at + length];
        if let Some(end) = self.prefixed(word) {
            self.token(Kind::Literal, end);
            self.before = Before::Operand;
            return;
        }
        const KEYWORDS: &[&[u8]] = &[
            b"return",
            b"typeof",
            b"case",
            b"in",
            b"of",
            b"delete",
            b"void",
            b"throw",
            b"new",
            b"do",
            b"else",
            b"yield",
            b"await",
            b"if",
            b"unless",
            b"when",
            b"and",
            b"or",
            b"not",
            b"while",
            b"until",
            b"then",
            b"instanceof",
        ];
        self.before = if KEYWORDS.contains(&word) {
            Before::Operator
        } else {
            Before::Name
        };
        self.token(Kind::Word, self.at + length);
    }

    fn sign(&mut self, b: u8) {
        if let Some(open) = self.templates.last_mut() {
            match b {
                b'{' => *open += 1,
                b'}' => *open = open.saturating_sub(1),
                _ => {}
            }
        }
        // `?"` is a character in Ruby; a `\` before a quote would open it in none.
        let character = self.language == Language::Ruby
            && b == b'?'
            && self.before == Before::Operator
            && matches!(self.peek(1), b'"' | b'\'' | b'#' | b'/' | b'`');
        self.before = match b {
            b')' | b']' | b'}' => Before::Operand,
            _ => Before::Operator,
        };
        self.token(Kind::Sign, self.at + 1);
        if character {
            self.token(Kind::Literal, self.at + 1);
            self.before = Before::Operand;
        }
    }
}
