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

use super::keys::{
    DEVELOPERS_VARIABLES, KEYS, Key, Kind, OTHER_VARIABLES, POLICY, SECRET_VARIABLES, policy_variables,
};
use super::tools::{self, TOOLS, ToolConfig};

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
    pub(super) tools: Vec<ToolConfig>,
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<String>,
    /// Faults that are told only where no other accounts for them, by the key's path.
    missing: Vec<(&'static str, Fault)>,
    /// Paths of keys whose value was lost to a fault that is told.
    lost: BTreeSet<String>,
    /// Whether the file was lost as a whole.
    unread: bool,
}

impl Values {
    /// The faults as lines: what is written wrong, then what is missing, unless it is
    /// missing only because of the former.
    pub(super) fn told(self) -> Vec<String> {
        let missing = self
            .missing
            .into_iter()
            .filter(|(path, _)| !self.unread && !self.lost.contains(*path))
            .map(|(_, fault)| fault);
        let all = self.faults.into_iter().chain(missing);
        all.map(|Fault(line)| line).collect()
    }

    /// The file's content cannot be known.
    pub(super) fn unread(&mut self, fault: Fault) {
        self.unread = true;
        self.faults.push(fault);
    }

    /// The key at `path` is needed and nobody gives it.
    pub(super) fn missing(&mut self, path: &'static str, what: String) {
        self.missing.push((path, Fault(what)));
    }

    /// `name` was written where no such key is: whichever key it was meant for is lost.
    fn lose(&mut self, table: Option<&str>, name: &str) {
        let meant = |key: &&Key| match table {
            _ if key.name == name => true,
            Some(table) => key.table == table && nearest(name, [key.name]).is_some(),
            None => false,
        };
        self.lost.extend(KEYS.iter().filter(meant).map(Key::path));
    }

    /// A whole table was lost, by its name or one near to it.
    fn lose_table(&mut self, name: &str) {
        let meant = |key: &&Key| !key.table.is_empty() && nearest(name, [key.table]).is_some();
        self.lost.extend(KEYS.iter().filter(meant).map(Key::path));
    }

    /// Adds what a configuration file says.
    pub(super) fn add_file(&mut self, path: &Path, text: &str) {
        let at = |span: Range<usize>| Origin::File {
            path: path.to_owned(),
            line: line_of(text, span.start),
        };
        let (document, errors) = DeTable::parse_recoverable(text);
        // A document that does not parse is not interpreted any further, and what the
        // parser says beyond its first error may be that error's consequence.
        let first = errors
            .iter()
            .min_by_key(|error| error.span().map_or(0, |span| span.start));
        if let Some(error) = first {
            let message = error.message().lines().next().unwrap_or("not TOML");
            self.unread(Fault::at(&at(error.span().unwrap_or_default()), message));
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
            } else if name == TOOLS {
                self.tools = tools::read(value, &at, &mut self.faults);
            } else if let Some(key) = find("", name) {
                self.add_value(key, value, at(value.span()));
            } else if tables().any(|table| table == name) {
                match value.get_ref() {
                    DeValue::Table(entries) => self.add_table(name, entries, &at),
                    other => {
                        self.fault(&origin, wrong_kind(name, "a table", other));
                        self.lose_table(name);
                    }
                }
            } else {
                let known = tables().chain(top_level()).chain([POLICY, TOOLS]);
                self.fault(&origin, unknown(name, known));
                self.lose(Some(""), name);
                if let DeValue::Table(entries) = value.get_ref() {
                    self.lose_table(name);
                    for name in entries.keys() {
                        self.lose(None, name.get_ref().as_ref());
                    }
                }
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
                    self.lose(Some(table), name);
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
            Err(what) => {
                self.fault(&origin, what);
                self.lost.insert(key.path());
            }
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
        self.refuse_unknown_variables(env, policy.into_iter().map(|(name, _)| name).collect());
    }

    /// Whatever begins with `JURY_` is meant for Jury: a name that it does not know is a
    /// slip, as an unknown key of the file is. Only what others set by rote is passed over.
    fn refuse_unknown_variables(&mut self, env: &BTreeMap<String, String>, policy: Vec<String>) {
        let keys: Vec<String> = KEYS.iter().map(Key::variable).chain(policy).collect();
        let known: BTreeSet<&str> = keys
            .iter()
            .map(String::as_str)
            .chain(OTHER_VARIABLES.iter().copied())
            .collect();
        for (name, value) in env.iter().filter(|(_, value)| !value.trim().is_empty()) {
            let upper = name.to_ascii_uppercase();
            // Names in small letters are other programs' as well, unless they are ours but for that.
            let ours = name.starts_with("JURY_") || known.contains(upper.as_str());
            if !ours
                || known.contains(name.as_str())
                || DEVELOPERS_VARIABLES.contains(&name.as_str())
                || is_service_link(name, value)
            {
                continue;
            }
            let shown: String = name.chars().take(64).flat_map(char::escape_default).collect();
            let close = nearest_variable(&upper, &known);
            self.faults.push(Fault(match close {
                Some(close) => format!("{shown}: Jury knows no such variable; did you mean {close}?"),
                None => format!(
                    "{shown}: Jury knows no such variable; unset it (those that begin with JURY_ are Jury's)"
                ),
            }));
            // The file that it was to name was not read.
            self.unread |= close == Some("JURY_CONFIG");
            let meant = KEYS.iter().filter(|key| Some(key.variable().as_str()) == close);
            self.lost.extend(meant.map(Key::path));
            let secrets = SECRET_VARIABLES
                .iter()
                .filter(|(variable, _)| Some(*variable) == close);
            self.lost.extend(secrets.map(|(_, path)| (*path).to_owned()));
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
                self.lost.insert(key.path());
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

/// The variable that `name` is most likely a slip of: one that only lacks its table, or
/// one that is near without what all of them begin with.
fn nearest_variable<'a>(name: &str, known: &BTreeSet<&'a str>) -> Option<&'a str> {
    let rest = name.strip_prefix("JURY_").filter(|rest| !rest.is_empty())?;
    let of = |known: &'a str| known.strip_prefix("JURY_").unwrap_or(known);
    let whole = known.iter().copied().find(|known| {
        of(known)
            .strip_suffix(rest)
            .is_some_and(|table| table.is_empty() || table.ends_with('_'))
    });
    whole.or_else(|| {
        let close = nearest(rest, known.iter().copied().map(of))?;
        known.iter().copied().find(|known| of(known) == close)
    })
}

/// Whether it is one of the variables that Kubernetes ("Discovering services") and
/// Docker's links set in every container for a service named `jury` or `jury-…`.
fn is_service_link(name: &str, value: &str) -> bool {
    let name = name.strip_prefix("JURY").unwrap_or(name);
    let address = ["tcp://", "udp://", "sctp://"]
        .iter()
        .any(|scheme| value.starts_with(scheme));
    let of_port = name.rsplit_once("_PORT_").is_some_and(|(_, rest)| {
        let mut parts = rest.splitn(3, '_');
        let number = parts.next().is_some_and(|port| port.parse::<u16>().is_ok());
        let protocol = matches!(parts.next(), Some("TCP" | "UDP" | "SCTP"));
        let what = matches!(parts.next(), None | Some("ADDR" | "PORT" | "PROTO"));
        number && protocol && what
    });
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || of_port
        || (name.ends_with("_PORT") && address)
}

fn find(table: &str, name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.table == table && key.name == name)
}

fn top_level() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(|key| key.table.is_empty()).map(|key| key.name)
}

pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let shown: String = name.chars().take(64).flat_map(char::escape_default).collect();
    let known: BTreeSet<&str> = known.collect();
    let elsewhere = KEYS.iter().find(|key| key.name == name && !key.table.is_empty());
    match (elsewhere, nearest(name, known.iter().copied())) {
        (Some(key), _) => format!("unknown key `{shown}` here; it belongs in [{}]", key.table),
        (None, Some(close)) => format!("unknown key `{shown}`; did you mean `{close}`?"),
        (None, None) => {
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

pub(super) fn wrong_kind(path: &str, expected: &str, found: &DeValue<'_>) -> String {
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
