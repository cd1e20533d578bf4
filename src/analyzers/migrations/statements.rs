//! Tokens as statements, and the small readings that all rules share.

use super::tokens::{Kind, Lexed, Mark, Token};

/// What stands around a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Around {
    /// Whether it undoes what the file does.
    pub(super) down: bool,
    /// Whether it runs inside a transaction that the file or its tool opens.
    pub(super) transaction: bool,
}

/// One statement without its end.
pub(super) type Statement<'t, 'a> = (&'t [Token<'a>], Around);

/// Splits at statement ends, but not inside the body of a trigger or routine.
pub(super) fn split<'t, 'a>(lexed: &'t Lexed<'a>) -> Vec<Statement<'t, 'a>> {
    let tokens = &lexed.tokens;
    let bare = lexed.marks.iter().any(|(_, mark)| *mark == Mark::Bare);
    let mut marks = lexed.marks.iter().peekable();
    let mut around = Around {
        down: false,
        transaction: false,
    };
    let mut opened = false;
    let mut wrapped = false;
    let mut found = Vec::new();
    let mut start = 0;
    let mut body = Routine::default();
    for (index, token) in tokens.iter().enumerate() {
        body.read(&tokens[start..index], token);
        let ends = token.kind == Kind::End && (body.depth == 0 || token.text != b";");
        if !ends && index + 1 < tokens.len() {
            continue;
        }
        let end = if ends { index } else { index + 1 };
        while let Some((_, mark)) = marks.next_if(|(at, _)| *at <= start) {
            match mark {
                Mark::Up { wrapped: tool } => (around.down, wrapped) = (false, *tool && !bare),
                Mark::Down => around.down = true,
                Mark::Bare => {}
            }
        }
        let statement = &tokens[start..end];
        match statement {
            [first, ..] if first.is("begin") || (first.is("start") && is(statement, 1, "transaction")) => {
                opened = true;
            }
            [first, ..] if first.is_one_of(&["commit", "rollback", "end"]) => opened = false,
            [] => {}
            _ => {
                around.transaction = opened || wrapped;
                found.push((statement, around));
            }
        }
        start = index + 1;
        body = Routine::default();
    }
    found
}

/// How deep in a routine's body one is.
#[derive(Default)]
struct Routine {
    depth: usize,
    routine: Option<bool>,
    ended: bool,
}

impl Routine {
    fn read(&mut self, before: &[Token<'_>], token: &Token<'_>) {
        if token.kind != Kind::Word {
            self.ended = false;
            return;
        }
        // `CREATE [OR REPLACE] [DEFINER = x] TRIGGER`: what it creates is known from its first words.
        if self.routine.is_none() {
            let creates = before.first().is_some_and(|t| t.is("create"));
            if token.is_one_of(&["trigger", "procedure", "function", "event", "package"]) {
                self.routine = Some(creates);
            } else if !creates && !before.is_empty() || before.len() > 16 {
                self.routine = Some(false);
            }
            return;
        }
        if self.routine != Some(true) {
            return;
        }
        if std::mem::take(&mut self.ended) {
            // `END IF` and the like close what was never counted; `END CASE` was.
            if token.is_one_of(&["if", "loop", "while", "repeat", "for"]) {
                self.depth += 1;
                return;
            }
            if token.is("case") {
                return;
            }
        }
        if token.is_one_of(&["begin", "case"]) {
            self.depth += 1;
        } else if token.is("end") {
            self.depth = self.depth.saturating_sub(1);
            self.ended = true;
        }
    }
}

/// The statements inside a `DO $$ … $$`: what follows `BEGIN`, `THEN`, `ELSE` or
/// `LOOP` begins one too.
pub(super) fn split_body<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut found = Vec::new();
    let mut start = 0;
    for (index, token) in tokens.iter().enumerate() {
        if token.kind == Kind::End || token.is_one_of(&["begin", "then", "else", "loop", "declare"]) {
            if start < index {
                found.push(&tokens[start..index]);
            }
            start = index + 1;
        }
    }
    if start < tokens.len() {
        found.push(&tokens[start..]);
    }
    found
}

/// Whether token `at` is the keyword.
pub(super) fn is(tokens: &[Token<'_>], at: usize, word: &str) -> bool {
    tokens.get(at).is_some_and(|t| t.is(word))
}

/// `at`, or what comes after `words` where they stand there in full.
pub(super) fn skip(tokens: &[Token<'_>], at: usize, words: &[&str]) -> usize {
    let all = words.iter().enumerate().all(|(i, word)| is(tokens, at + i, word));
    if all { at + words.len() } else { at }
}

/// Past `IF EXISTS` and `IF NOT EXISTS`.
pub(super) fn skip_if(tokens: &[Token<'_>], at: usize) -> usize {
    let at = skip(tokens, at, &["if", "not", "exists"]);
    skip(tokens, at, &["if", "exists"])
}

/// Schemas that are there without being named.
const DEFAULT_SCHEMAS: &[&str] = &["public", "main", "dbo"];

/// A name, perhaps with its schema, in lower case; and what comes after it.
pub(super) fn name(tokens: &[Token<'_>], at: usize) -> Option<(String, usize)> {
    let part = |at: usize| {
        let token = tokens.get(at)?;
        let named = matches!(token.kind, Kind::Word | Kind::Quoted | Kind::Ticked | Kind::Text);
        named.then(|| String::from_utf8_lossy(&token.text[..token.text.len().min(256)]).to_lowercase())
    };
    let bracketed = |at: usize| {
        let inner = part(at + 1)?;
        (tokens.get(at)?.sign(b'[') && tokens.get(at + 2)?.sign(b']')).then_some((inner, at + 3))
    };
    let one = |at: usize| bracketed(at).or_else(|| Some((part(at)?, at + 1)));
    let (mut full, mut next) = one(at)?;
    for _ in 0..3 {
        if !tokens.get(next).is_some_and(|t| t.sign(b'.')) {
            break;
        }
        let Some((part, after)) = one(next + 1) else { break };
        full = if DEFAULT_SCHEMAS.contains(&full.as_str()) {
            part
        } else {
            format!("{full}.{part}")
        };
        next = after;
    }
    Some((full, next))
}

/// The parts between commas that stand in no parentheses.
pub(super) fn parts<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0i64, 0);
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Sign(b'(') => depth += 1,
            Kind::Sign(b')') => depth -= 1,
            Kind::Sign(b',') if depth <= 0 => {
                found.push(&tokens[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    found.push(&tokens[start..]);
    found
}

/// The first place at or after `from`, outside parentheses, where one of `words` stands.
pub(super) fn outside(tokens: &[Token<'_>], from: usize, words: &[&str]) -> Option<usize> {
    let mut depth = 0i64;
    for (index, token) in tokens.iter().enumerate().skip(from) {
        match token.kind {
            Kind::Sign(b'(') => depth += 1,
            Kind::Sign(b')') if depth == 0 => return None,
            Kind::Sign(b')') => depth -= 1,
            Kind::Word if depth == 0 && token.is_one_of(words) => return Some(index),
            _ => {}
        }
    }
    None
}

/// Whether `words` stand in a row somewhere.
pub(super) fn has(tokens: &[Token<'_>], words: &[&str]) -> bool {
    (0..tokens.len()).any(|at| words.iter().enumerate().all(|(i, word)| is(tokens, at + i, word)))
}
