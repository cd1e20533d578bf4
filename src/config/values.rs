//! Raw values and where they came from: the file, then `JURY_…` variables, then
//! flags; the later wins.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::domain::{
    policy::{PolicyPatch, parse, parse_table},
    words::nearest,
};

use super::keys::{KEYS, Key, Kind, OTHER_VARIABLES, POLICY, policy_variables};

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value that has the shape its key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// Text, or a number's digits, or a list's entries.
    pub(super) entries: Vec<String>,
    pub(super) origin: Origin,
}

impl Value {
    pub(super) fn text(&self) -> &str {
        self.entries.first().map_or("", String::as_str)
    }
}

/// Something that keeps the server from starting, in words that say how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault(pub(super) String);

impl Fault {
    pub(super) fn at(origin: &Origin, what: impl fmt::Display) -> Self {
        Self(format!("{origin}: {what}"))
    }
}

/// The values of every source, by the path of their key.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) by_path: BTreeMap<String, Value>,
    pub(super) policy: PolicyPatch,
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<String>,
}

impl Values {
    /// Adds what a configuration file says.
    pub(super) fn add_file(&mut self, path: &Path, text: &str) {
        let at = |span: Range<usize>| Origin::File {
            path: path.to_owned(),
            line: line_of(text, span.start),
        };
        let (document, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            // A document that does not parse is not interpreted any further.
            self.faults.extend(errors.iter().take(3).map(|error| {
                let message = error.message().lines().next().unwrap_or("not TOML");
                Fault::at(&at(error.span().unwrap_or_default()), message)
            }));
            return;
        }
        for (name, value) in document.get_ref() {
            let origin = at(name.span());
            let name = name.get_ref().as_ref();
            let tables = || KEYS.iter().map(|key| key.table).filter(|table| !table.is_empty());
            if name == POLICY {
                match parse_table(&path.display().to_string(), text.as_bytes(), POLICY) {
                    Ok(policy) => self.policy = policy,
                    Err(error) => self.faults.push(Fault(error.to_string())),
                }
            } else if let Some(key) = find("", name) {
                self.add_value(key, value, at(value.span()));
            } else if tables().any(|table| table == name) {
                match value.get_ref() {
                    DeValue::Table(entries) => self.add_table(name, entries, &at),
                    other => self.fault(&origin, wrong_kind(name, "a table", other)),
                }
            } else {
                let known = tables().chain(top_level()).chain([POLICY]);
                self.fault(&origin, unknown(name, known));
            }
        }
    }

    fn add_table(&mut self, table: &str, entries: &DeTable<'_>, at: &impl Fn(Range<usize>) -> Origin) {
        for (name, value) in entries {
            let origin = at(name.span());
            let name = name.get_ref().as_ref();
            match find(table, name) {
                Some(key) => self.add_value(key, value, at(value.span())),
                None => {
                    let known = KEYS.iter().filter(|key| key.table == table).map(|key| key.name);
                    self.fault(&origin, format!("[{table}]: {}", unknown(name, known)));
                }
            }
        }
    }

    fn add_value(&mut self, key: &Key, value: &Spanned<DeValue<'_>>, origin: Origin) {
        let entries = match (key.kind, value.get_ref()) {
            (Kind::Text, DeValue::String(text)) => Ok(vec![text.to_string()]),
            (Kind::Number { .. }, DeValue::Integer(number)) => {
                match i128::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Ok(vec![number.to_string()]),
                    Err(_) => Err(format!("`{}` is too large", key.path())),
                }
            }
            (Kind::List, DeValue::Array(list)) => list
                .iter()
                .map(|entry| entry.get_ref().as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| format!("`{}` must be a list of strings", key.path())),
            (kind, other) => Err(wrong_kind(&key.path(), expected(kind), other)),
        };
        match entries {
            Ok(entries) => self.put(key, entries, origin),
            Err(what) => self.fault(&origin, what),
        }
    }

    /// Adds what the variables say; one that is empty counts as not set.
    pub(super) fn add_variables(&mut self, env: &BTreeMap<String, String>) {
        for key in KEYS {
            let name = key.variable();
            let Some(text) = env.get(&name).filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            let entries = match key.kind {
                Kind::Text => vec![text.clone()],
                Kind::Number { .. } => vec![text.trim().to_owned()],
                Kind::List => {
                    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
                    entries.map(str::to_owned).collect()
                }
            };
            self.put(key, entries, Origin::Variable(name));
        }
        let policy = policy_variables();
        for (name, line) in &policy {
            let Some(text) = env.get(name).filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            match parse(name, line(text.trim()).as_bytes()) {
                Ok(patch) => override_policy(&mut self.policy, patch),
                Err(error) => self.fault(&Origin::Variable(name.clone()), error.message),
            }
        }
        let mut variables: Vec<String> = KEYS.iter().map(Key::variable).collect();
        variables.extend(policy.into_iter().map(|(name, _)| name));
        let known = || {
            variables
                .iter()
                .map(String::as_str)
                .chain(OTHER_VARIABLES.iter().copied())
        };
        let ours = ["JURY_SERVER_", "JURY_GITHUB_", "JURY_LIMITS_", "JURY_POLICY_"];
        for name in env
            .keys()
            .filter(|name| ours.iter().any(|ours| name.starts_with(ours)))
        {
            if !known().any(|variable| variable == name) {
                let hint = nearest(name, known()).map(|close| format!("; did you mean {close}?"));
                let hint = hint.unwrap_or_default();
                self.warnings
                    .push(format!("the variable {name} means nothing to Jury{hint}"));
            }
        }
    }

    /// Adds what a flag says.
    pub(super) fn add_flag(&mut self, flag: &'static str, table: &str, name: &str, value: Option<String>) {
        if let (Some(key), Some(value)) = (find(table, name), value) {
            self.put(key, vec![value], Origin::Flag(flag));
        }
    }

    fn put(&mut self, key: &Key, entries: Vec<String>, origin: Origin) {
        if let Kind::Number { least, most } = key.kind {
            let number = entries.first().map_or("", String::as_str);
            if !number
                .parse()
                .is_ok_and(|number: u64| (least..=most).contains(&number))
            {
                let what = format!("`{}` must be a whole number from {least} to {most}", key.path());
                self.fault(&origin, what);
                return;
            }
        }
        self.by_path.insert(key.path(), Value { entries, origin });
    }

    pub(super) fn fault(&mut self, origin: &Origin, what: impl fmt::Display) {
        self.faults.push(Fault::at(origin, what));
    }

    pub(super) fn get(&self, path: &str) -> Option<&Value> {
        self.by_path.get(path)
    }

    /// A number whose bounds were checked when it was added.
    pub(super) fn number(&self, path: &str, default: u64) -> u64 {
        let given = self.get(path).and_then(|value| value.text().parse().ok());
        given.unwrap_or(default)
    }
}

fn find(table: &str, name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.table == table && key.name == name)
}

fn top_level() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(|key| key.table.is_empty()).map(|key| key.name)
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let shown: String = name.chars().take(64).flat_map(char::escape_default).collect();
    let known: BTreeSet<&str> = known.collect();
    match nearest(name, known.iter().copied()) {
        Some(close) => format!("unknown key `{shown}`; did you mean `{close}`?"),
        None => {
            let known: Vec<&str> = known.into_iter().collect();
            format!("unknown key `{shown}`; known are {}", known.join(", "))
        }
    }
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "a string",
        Kind::Number { .. } => "a whole number",
        Kind::List => "a list of strings",
    }
}

fn wrong_kind(path: &str, expected: &str, found: &DeValue<'_>) -> String {
    format!("`{path}` must be {expected}, not {}", article(found.type_str()))
}

fn article(word: &str) -> String {
    let vowel = word.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {word}", if vowel { "an" } else { "a" })
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Replaces what `over` says, key by key.
fn override_policy(policy: &mut PolicyPatch, over: PolicyPatch) {
    let PolicyPatch {
        gate,
        publish,
        approvals,
        approve,
        gated,
        quorum,
        distinct_models,
    } = over;
    policy.gate = gate.or(policy.gate);
    policy.publish = publish.or(policy.publish);
    policy.approvals = approvals.or(policy.approvals);
    policy.approve = approve.or(policy.approve);
    policy.gated.extend(gated);
    policy.quorum.extend(quorum);
    policy.distinct_models = distinct_models.or(policy.distinct_models);
}
