//! Reads a policy: every fault is told with file, line, and what would be right.

use std::{fmt, ops::Range, str::FromStr};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::domain::{
    review::finding::{Axis, Priority},
    text,
    words::nearest,
};

use super::PolicyPatch;

/// A larger file is refused unread.
pub const MAX_BYTES: usize = 64 * 1024;

/// Confirmations that a quorum may ask for.
pub const MAX_QUORUM: i64 = 20;

/// The keys at the top of a policy: of a repository's file, and of the server's
/// `[policy]` table.
pub const KNOWN_KEYS: &[&str] = &["gate", "publish", "approvals", "approve", "axes", "consensus"];

/// A policy that cannot be read. Shown as `<file>:<line>: <what to mend>`; it
/// repeats at most 64 characters of the file, made harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// The file as the caller named it.
    pub file: String,
    /// One-based; `None` when it is about the file as a whole.
    pub line: Option<usize>,
    /// What is wrong and what would be right, on one line.
    pub message: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for PolicyError {}

/// Reads a repository's policy file, whose keys stand at the top. `file` is the
/// name to tell in errors. The first fault, in the order of the file, is told.
pub fn parse(file: &str, content: &[u8]) -> Result<PolicyPatch, PolicyError> {
    let reader = Reader::new(file, content)?;
    let table = reader.table()?;
    reader.policy(&table, "")
}

/// Reads the table `name` (`policy`, say) of a larger file; nothing else in it is
/// looked at. An absent table sets nothing.
pub fn parse_table(file: &str, content: &[u8], name: &str) -> Result<PolicyPatch, PolicyError> {
    let reader = Reader::new(file, content)?;
    let table = reader.table()?;
    match table.get(name) {
        None => Ok(PolicyPatch::default()),
        Some(value) => match value.get_ref() {
            DeValue::Table(table) => reader.policy(table, &format!("{name}.")),
            other => Err(reader.at(
                &value.span(),
                format!("`{name}` must be a table, not {}", a(other)),
            )),
        },
    }
}

struct Reader<'a> {
    file: &'a str,
    content: &'a str,
}

type Entry<'t, 'i> = (&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>);

impl<'a> Reader<'a> {
    fn new(file: &'a str, content: &'a [u8]) -> Result<Self, PolicyError> {
        let whole = |message: String| PolicyError {
            file: file.to_owned(),
            line: None,
            message,
        };
        if content.len() > MAX_BYTES {
            return Err(whole(format!(
                "the file has {} bytes, at most {MAX_BYTES} are read",
                content.len()
            )));
        }
        match std::str::from_utf8(content) {
            Ok(content) => Ok(Self { file, content }),
            Err(error) => {
                let line = line_of(content, error.valid_up_to());
                Err(PolicyError {
                    line: Some(line),
                    ..whole("the file is not UTF-8".to_owned())
                })
            }
        }
    }

    fn table(&self) -> Result<DeTable<'a>, PolicyError> {
        DeTable::parse(self.content)
            .map(Spanned::into_inner)
            .map_err(|error| {
                let at = error.span().unwrap_or(0..0);
                self.at(&at, format!("not valid TOML: {}", shown(error.message())))
            })
    }

    fn at(&self, span: &Range<usize>, message: String) -> PolicyError {
        PolicyError {
            file: self.file.to_owned(),
            line: Some(line_of(self.content.as_bytes(), span.start)),
            message,
        }
    }

    /// In the order of the file, so that the first fault there is the one told.
    fn entries<'t>(table: &'t DeTable<'a>) -> Vec<Entry<'t, 'a>> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    fn policy(&self, table: &DeTable<'a>, prefix: &str) -> Result<PolicyPatch, PolicyError> {
        let mut patch = PolicyPatch::default();
        for (key, value) in Self::entries(table) {
            let name = format!("{prefix}{}", key.get_ref());
            match key.get_ref().as_ref() {
                "gate" => patch.gate = Some(self.word(&name, value, super::Gate::ALL)?),
                "publish" => patch.publish = Some(self.word(&name, value, super::Publish::ALL)?),
                "approvals" => patch.approvals = Some(self.word(&name, value, super::Approvals::ALL)?),
                "approve" => patch.approve = Some(self.boolean(&name, value)?),
                "axes" => self.axes(&name, value, &mut patch)?,
                "consensus" => self.consensus(&name, value, &mut patch)?,
                _ => return Err(self.unknown(key, prefix, KNOWN_KEYS.iter().copied())),
            }
        }
        Ok(patch)
    }

    fn axes(
        &self,
        name: &str,
        value: &Spanned<DeValue<'a>>,
        patch: &mut PolicyPatch,
    ) -> Result<(), PolicyError> {
        for (key, value) in Self::entries(self.subtable(name, value)?) {
            let inner = format!("{name}.{}", key.get_ref());
            let Ok(axis) = Axis::from_str(key.get_ref()) else {
                return Err(self.unknown(
                    key,
                    &format!("{name}."),
                    Axis::ALL.iter().map(|axis| axis.as_str()),
                ));
            };
            for (key, value) in Self::entries(self.subtable(&inner, value)?) {
                if key.get_ref() != "gated" {
                    return Err(self.unknown(key, &format!("{inner}."), ["gated"]));
                }
                patch
                    .gated
                    .insert(axis, self.boolean(&format!("{inner}.gated"), value)?);
            }
        }
        Ok(())
    }

    fn consensus(
        &self,
        name: &str,
        value: &Spanned<DeValue<'a>>,
        patch: &mut PolicyPatch,
    ) -> Result<(), PolicyError> {
        for (key, value) in Self::entries(self.subtable(name, value)?) {
            let inner = format!("{name}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "distinct_models" => patch.distinct_models = Some(self.boolean(&inner, value)?),
                "quorum" => match value.get_ref() {
                    DeValue::Table(table) => {
                        for (key, value) in Self::entries(table) {
                            let Ok(priority) = Priority::from_str(key.get_ref()) else {
                                let known = Priority::ALL.iter().map(|priority| priority.as_str());
                                return Err(self.unknown(key, &format!("{inner}."), known));
                            };
                            let quorum = self.quorum(&format!("{inner}.{priority}"), value)?;
                            patch.quorum.insert(priority, quorum);
                        }
                    }
                    _ => {
                        let quorum = self.quorum(&inner, value)?;
                        patch.quorum = Priority::ALL.iter().map(|priority| (*priority, quorum)).collect();
                    }
                },
                _ => return Err(self.unknown(key, &format!("{name}."), ["quorum", "distinct_models"])),
            }
        }
        Ok(())
    }

    fn subtable<'t>(
        &self,
        name: &str,
        value: &'t Spanned<DeValue<'a>>,
    ) -> Result<&'t DeTable<'a>, PolicyError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            other => Err(self.at(
                &value.span(),
                format!("`{}` must be a table, not {}", shown(name), a(other)),
            )),
        }
    }

    fn boolean(&self, name: &str, value: &Spanned<DeValue<'a>>) -> Result<bool, PolicyError> {
        match value.get_ref() {
            DeValue::Boolean(value) => Ok(*value),
            other => Err(self.at(
                &value.span(),
                format!("`{name}` must be true or false, not {}", a(other)),
            )),
        }
    }

    fn quorum(&self, name: &str, value: &Spanned<DeValue<'a>>) -> Result<u32, PolicyError> {
        let fault = |found: String| {
            self.at(
                &value.span(),
                format!("`{name}` must be a whole number from 1 to {MAX_QUORUM}, not {found}"),
            )
        };
        match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .ok()
                .filter(|number| (1..=MAX_QUORUM).contains(number))
                .and_then(|number| u32::try_from(number).ok())
                .ok_or_else(|| fault(shown(number.as_str()))),
            other => Err(fault(a(other))),
        }
    }

    fn word<W: FromStr + Copy + fmt::Display>(
        &self,
        name: &str,
        value: &Spanned<DeValue<'a>>,
        all: &[W],
    ) -> Result<W, PolicyError> {
        let words: Vec<String> = all.iter().map(ToString::to_string).collect();
        let allowed = words
            .iter()
            .map(|word| format!("{word:?}"))
            .collect::<Vec<_>>()
            .join(" or ");
        match value.get_ref() {
            DeValue::String(found) => W::from_str(found).map_err(|_| {
                let hint = hint(nearest(found, words.iter().map(String::as_str)));
                self.at(
                    &value.span(),
                    format!("`{name}` must be {allowed}, not {:?}{hint}", shown(found)),
                )
            }),
            other => Err(self.at(
                &value.span(),
                format!("`{name}` must be {allowed}, not {}", a(other)),
            )),
        }
    }

    fn unknown<'k>(
        &self,
        key: &Spanned<std::borrow::Cow<'a, str>>,
        prefix: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> PolicyError {
        let known: Vec<&str> = known.into_iter().collect();
        let guess = nearest(key.get_ref(), known.iter().copied());
        let help = match guess {
            Some(_) => hint(guess),
            None => format!("; known are {}", known.join(", ")),
        };
        let name = shown(&format!("{prefix}{}", key.get_ref()));
        self.at(&key.span(), format!("unknown key `{name}`{help}"))
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}

/// A stranger's word, on one line and short.
fn shown(word: &str) -> String {
    text::truncate_chars(&text::one_line(word), 64).into_owned()
}

/// What a value is, with its article.
fn a(value: &DeValue<'_>) -> String {
    let kind = value.type_str();
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {kind}")
}

fn line_of(content: &[u8], at: usize) -> usize {
    content[..at.min(content.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}
