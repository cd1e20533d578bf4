//! SQL as tokens, in one pass over the bytes and without recursion.
//!
//! Only what decides where code ends and text begins is told apart by dialect:
//! backslashes, dollar quotes, comment signs, `DELIMITER`. Text whose end is missing
//! is no error but told ([`Lexed::open`]): what stands behind it was not judged.

/// Whose wording a file is in, as far as one can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Postgres,
    MySql,
    Sqlite,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword or a bare name.
    Word,
    /// A name in double quotes.
    Quoted,
    /// A name in backticks.
    Ticked,
    /// A string.
    Text,
    /// A dollar-quoted string; the token is what stands inside.
    Body,
    Number,
    /// The end of a statement.
    End,
    /// Any other byte.
    Sign(u8),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    /// The bytes, without quotes.
    pub(super) text: &'a [u8],
    /// One-based line on which it begins.
    pub(super) line: u32,
}

impl Token<'_> {
    /// Whether it is this keyword (given in lower case).
    pub(super) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word.as_bytes())
    }

    pub(super) fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(super) fn sign(&self, sign: u8) -> bool {
        self.kind == Kind::Sign(sign)
    }
}

/// What a tool's comment says of the statements below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// They go up; `wrapped`: the tool puts them into a transaction.
    Up { wrapped: bool },
    /// They undo.
    Down,
    /// The tool opens no transaction for this file.
    Bare,
}

pub(super) struct Lexed<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    /// Marks, each with the number of tokens before it.
    pub(super) marks: Vec<(usize, Mark)>,
    /// Whether a string or a comment never ends.
    pub(super) open: bool,
}

struct Lexer<'a> {
    sql: &'a [u8],
    at: usize,
    line: u32,
    dialect: Dialect,
    delimiter: &'a [u8],
    out: Lexed<'a>,
    /// Where the statement at hand begins among the tokens.
    statement: usize,
}

/// Reads `sql` in the wording of `dialect`, `first` being the number of its first line.
pub(super) fn lex(sql: &[u8], dialect: Dialect, first: u32) -> Lexed<'_> {
    let mut lexer = Lexer {
        sql,
        at: 0,
        line: first,
        dialect,
        delimiter: b";",
        out: Lexed {
            tokens: Vec::new(),
            marks: Vec::new(),
            open: false,
        },
        statement: 0,
    };
    while lexer.at < sql.len() {
        lexer.step();
    }
    lexer.out
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.sql[self.at..]
    }

    fn push(&mut self, kind: Kind, text: &'a [u8], line: u32) {
        self.out.tokens.push(Token { kind, text, line });
    }

    /// Moves on by `count` bytes and counts their lines.
    fn pass(&mut self, count: usize) -> &'a [u8] {
        let passed = &self.sql[self.at..self.sql.len().min(self.at + count)];
        let lines = passed.iter().filter(|b| **b == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at += passed.len();
        passed
    }

    fn at_line_start(&self) -> bool {
        self.sql[..self.at]
            .iter()
            .rev()
            .take(64)
            .find(|b| !matches!(b, b' ' | b'\t'))
            .is_none_or(|b| *b == b'\n')
    }

    fn step(&mut self) {
        let rest = self.rest();
        let (line, first) = (self.line, rest[0]);
        let second = rest.get(1).copied();
        if rest.starts_with(self.delimiter) {
            self.push(Kind::End, self.delimiter, line);
            self.pass(self.delimiter.len());
            self.copied_data();
            self.statement = self.out.tokens.len();
            return;
        }
        match first {
            b if b.is_ascii_whitespace() => drop(self.pass(1)),
            b'-' if second == Some(b'-') && self.dashes_comment(rest) => self.line_comment(2),
            b'#' if self.dialect == Dialect::MySql
                || (self.dialect == Dialect::Unknown && self.at_line_start()) =>
            {
                self.line_comment(1);
            }
            b'/' if second == Some(b'*') => self.block_comment(),
            // The end of a comment whose inside is code (`/*!40101 … */`).
            b'*' if second == Some(b'/') => drop(self.pass(2)),
            b'\'' => self.quoted(b'\'', Kind::Text, self.backslashes()),
            b'"' if self.dialect == Dialect::MySql => self.quoted(b'"', Kind::Text, true),
            b'"' => self.quoted(b'"', Kind::Quoted, false),
            b'`' => self.quoted(b'`', Kind::Ticked, false),
            b'$' if matches!(self.dialect, Dialect::Postgres | Dialect::Unknown) => self.dollar(),
            b if is_name(b) => self.word(),
            b => {
                self.push(Kind::Sign(b), &rest[..1], line);
                self.pass(1);
            }
        }
    }

    /// MySQL takes two dashes for a comment only before a blank.
    fn dashes_comment(&self, rest: &[u8]) -> bool {
        self.dialect != Dialect::MySql
            || rest
                .get(2)
                .is_none_or(|b| b.is_ascii_whitespace() || b.is_ascii_control())
    }

    fn backslashes(&self) -> bool {
        let escaped = self
            .out
            .tokens
            .last()
            .is_some_and(|t| t.is("e") && self.at > 0 && matches!(self.sql[self.at - 1], b'e' | b'E'));
        self.dialect == Dialect::MySql || (escaped && self.dialect != Dialect::Sqlite)
    }

    fn line_comment(&mut self, sign: usize) {
        let rest = self.rest();
        let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        let text = &rest[sign..length];
        if text.len() <= 200
            && let Some(mark) = mark(&String::from_utf8_lossy(text))
        {
            self.out.marks.push((self.out.tokens.len(), mark));
        }
        self.pass(length);
    }

    fn block_comment(&mut self) {
        let rest = self.rest();
        // MySQL runs what stands in these.
        if rest.get(2) == Some(&b'!') && matches!(self.dialect, Dialect::MySql | Dialect::Unknown) {
            let digits = rest[3..].iter().take_while(|b| b.is_ascii_digit()).count();
            self.pass(3 + digits);
            return;
        }
        let nested = self.dialect == Dialect::Postgres;
        let (mut depth, mut at) = (1usize, 2);
        while depth > 0 {
            match rest.get(at..at + 2) {
                Some(b"*/") => {
                    depth -= 1;
                    at += 2;
                }
                Some(b"/*") if nested => {
                    depth += 1;
                    at += 2;
                }
                Some(_) => at += 1,
                None => {
                    self.out.open = true;
                    at = rest.len();
                    break;
                }
            }
        }
        self.pass(at);
    }

    fn quoted(&mut self, quote: u8, kind: Kind, backslashes: bool) {
        let rest = self.rest();
        let mut at = 1;
        let end = loop {
            match rest.get(at) {
                None => {
                    self.out.open = true;
                    break rest.len();
                }
                Some(b'\\') if backslashes => at += 2,
                Some(b) if *b == quote && rest.get(at + 1) == Some(&quote) => at += 2,
                Some(b) if *b == quote => break at,
                Some(_) => at += 1,
            }
        };
        self.push(kind, &rest[1.min(end)..end.min(rest.len())], self.line);
        self.pass(end + 1);
    }

    fn dollar(&mut self) {
        let rest = self.rest();
        let tag = rest[1..].iter().take(64).take_while(|b| is_name(**b)).count();
        let opens = rest.get(1 + tag) == Some(&b'$') && !rest[1].is_ascii_digit();
        if !opens {
            self.push(Kind::Sign(b'$'), &rest[..1], self.line);
            self.pass(1);
            return;
        }
        let tag = &rest[..tag + 2];
        let inside = &rest[tag.len()..];
        let length = find(inside, tag);
        if length.is_none() {
            self.out.open = true;
        }
        let length = length.unwrap_or(inside.len());
        self.pass(tag.len());
        self.push(Kind::Body, &inside[..length], self.line);
        self.pass(length + tag.len());
    }

    fn word(&mut self) {
        let rest = self.rest();
        // `END$$` ends a statement where the delimiter is `$$`.
        let dollars = self.delimiter == b";";
        let length = rest
            .iter()
            .take_while(|b| is_name(**b) || (dollars && **b == b'$'))
            .count();
        let text = &rest[..length];
        if self.out.tokens.len() == self.statement
            && text.eq_ignore_ascii_case(b"delimiter")
            && self.at_line_start()
        {
            self.set_delimiter(length);
            return;
        }
        let kind = if text[0].is_ascii_digit() {
            Kind::Number
        } else {
            Kind::Word
        };
        self.push(kind, text, self.line);
        self.pass(length);
    }

    /// `DELIMITER //` of MySQL's client.
    fn set_delimiter(&mut self, word: usize) {
        let rest = self.rest();
        let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        let sign = rest[word..length].trim_ascii();
        if !sign.is_empty() && sign.len() <= 16 {
            self.delimiter = sign;
            self.dialect = Dialect::MySql;
        }
        self.pass(length);
    }

    /// The data behind `COPY … FROM stdin;`.
    fn copied_data(&mut self) {
        let tokens = &self.out.tokens[self.statement..];
        let copies = tokens.first().is_some_and(|t| t.is("copy")) && tokens.iter().any(|t| t.is("stdin"));
        if !copies {
            return;
        }
        let rest = self.rest();
        match find(rest, b"\n\\.") {
            Some(at) => drop(self.pass(at + 3)),
            None => {
                self.out.open = true;
                self.pass(rest.len());
            }
        }
    }
}

/// Where `needle` begins; the needle is short and begins with a byte that is rare.
fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|w| w == needle)
}

/// What goose, dbmate, sql-migrate, sqlx, Play and MyBatis write into comments.
fn mark(comment: &str) -> Option<Mark> {
    let words: Vec<String> = comment.split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["+goose", "up", ..] | ["+migrate", "up"] => Some(Mark::Up { wrapped: true }),
        ["+micrate", "up", ..] => Some(Mark::Up { wrapped: false }),
        ["+migrate", "up", ..] => Some(Mark::Up { wrapped: false }),
        ["migrate:up", rest @ ..] => Some(Mark::Up {
            wrapped: !rest.contains(&"transaction:false"),
        }),
        ["+goose", "down", ..]
        | ["+migrate", "down", ..]
        | ["+micrate", "down", ..]
        | ["migrate:down", ..]
        | ["//@undo", ..]
        | ["!downs", ..]
        | ["---", "!downs", ..] => Some(Mark::Down),
        ["+goose", "no", "transaction"] | ["no-transaction"] => Some(Mark::Bare),
        _ => None,
    }
}
