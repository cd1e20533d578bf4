//! `[[tools]]`: the programs that review besides our own rules. They are named here, by
//! the server's owner, and nowhere else: a repository cannot add, change or take away one.

use std::{collections::BTreeSet, ops::Range, path::PathBuf, time::Duration};

use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

use crate::domain::{report::Format, review::finding::Axis};

use super::values::{Fault, Origin, unknown, wrong_kind};

/// The table's name.
pub(super) const TOOLS: &str = "tools";

const KEYS: &[&str] = &[
    "axis",
    "command",
    "environment",
    "exit_codes",
    "format",
    "memory_mib",
    "name",
    "output_mib",
    "processes",
    "readable",
    "timeout_seconds",
];

/// How many tools there may be.
const MOST: usize = 50;

/// A tool, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolConfig {
    /// The reviewer's name: lowercase letters, digits, `-` and `_`.
    pub name: String,
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// How it writes its report to standard output.
    pub format: Format,
    /// What it answers for, when that is said.
    pub axis: Option<Axis>,
    /// From its start to its end.
    pub timeout: Duration,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of output.
    pub output: usize,
    /// Processes and threads at once.
    pub processes: u32,
    /// The exit codes of work that was done.
    pub exit_codes: Vec<i32>,
    /// Absolute paths that it may read.
    pub readable: Vec<PathBuf>,
    /// Its environment.
    pub environment: Vec<(String, String)>,
}

/// One table of the list while it is read.
struct Reader<'a, 'd> {
    table: &'a DeTable<'d>,
    at: &'a dyn Fn(Range<usize>) -> Origin,
    whole: Origin,
    shown: String,
    faults: &'a mut Vec<Fault>,
}

/// Reads the list. What is wrong goes to `faults`, and the tool is left out.
pub(super) fn read(
    value: &Spanned<DeValue<'_>>,
    at: &dyn Fn(Range<usize>) -> Origin,
    faults: &mut Vec<Fault>,
) -> Vec<ToolConfig> {
    let DeValue::Array(list) = value.get_ref() else {
        let what = wrong_kind(TOOLS, "a list of tables, each under [[tools]],", value.get_ref());
        faults.push(Fault::at(&at(value.span()), what));
        return Vec::new();
    };
    let mut tools: Vec<ToolConfig> = Vec::new();
    let mut names = BTreeSet::new();
    if list.len() > MOST {
        faults.push(Fault::at(&at(value.span()), format!("at most {MOST} tools")));
    }
    for entry in list.iter().take(MOST) {
        let origin = at(entry.span());
        let DeValue::Table(table) = entry.get_ref() else {
            faults.push(Fault::at(
                &origin,
                wrong_kind(TOOLS, "a list of tables", entry.get_ref()),
            ));
            continue;
        };
        let shown = table
            .get("name")
            .and_then(|name| name.get_ref().as_str())
            .map_or_else(String::new, |name| format!(" {name:.40?}"));
        let reader = Reader {
            table,
            at,
            whole: origin.clone(),
            shown: format!("[[tools]]{shown}"),
            faults,
        };
        if let Some(tool) = reader.tool() {
            if names.insert(tool.name.clone()) {
                tools.push(tool);
            } else {
                faults.push(Fault::at(
                    &origin,
                    format!("there are two tools named {:?}", tool.name),
                ));
            }
        }
    }
    tools
}

impl Reader<'_, '_> {
    fn tool(mut self) -> Option<ToolConfig> {
        for name in self.table.keys() {
            if !KEYS.contains(&name.get_ref().as_ref()) {
                let what = format!(
                    "{}: {}",
                    self.shown,
                    unknown(name.get_ref(), KEYS.iter().copied())
                );
                self.faults.push(Fault::at(&(self.at)(name.span()), what));
            }
        }
        let name = self.name();
        let command = self.command();
        let format = self.word("format", Format::ALL);
        if format.is_none() && !self.table.contains_key("format") {
            self.fault(None, "`format` is missing: sarif, rdjson, rdjsonl or checkstyle");
        }
        let axis = self.word("axis", Axis::ALL);
        let timeout = self.number("timeout_seconds", 1, 3_600, 120);
        let memory = self.number("memory_mib", 16, 1 << 20, 2_048);
        let output = self.number("output_mib", 1, 32, 16);
        let processes = self.number("processes", 1, 4_096, 256);
        let exit_codes = self.exit_codes();
        let readable = self.readable();
        let environment = self.environment();
        Some(ToolConfig {
            name: name?,
            command: command?,
            format: format?,
            axis,
            timeout: Duration::from_secs(timeout),
            memory: memory << 20,
            output: usize::try_from(output << 20).unwrap_or(usize::MAX),
            processes: u32::try_from(processes).unwrap_or(u32::MAX),
            exit_codes,
            readable,
            environment,
        })
    }

    fn fault(&mut self, span: Option<Range<usize>>, what: impl std::fmt::Display) {
        let origin = span.map_or_else(|| self.whole.clone(), |span| (self.at)(span));
        self.faults
            .push(Fault::at(&origin, format!("{}: {what}", self.shown)));
    }

    fn text(&mut self, key: &str) -> Option<(String, Range<usize>)> {
        let value = self.table.get(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some((text.to_string(), value.span())),
            other => {
                self.fault(Some(value.span()), wrong_kind(key, "a string", other));
                None
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        if !self.table.contains_key("name") {
            self.fault(None, "`name` is missing");
            return None;
        }
        let (name, span) = self.text("name")?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        if name.is_empty() || name.len() > 40 || !name.chars().all(plain) {
            self.fault(
                Some(span),
                "`name` must be 1 to 40 lowercase letters, digits, `-` and `_`",
            );
            return None;
        }
        Some(name)
    }

    fn list(&mut self, key: &str, of: &str) -> Option<(&DeArray<'_>, Range<usize>)> {
        let value = self.table.get(key)?;
        match value.get_ref() {
            DeValue::Array(list) => Some((list, value.span())),
            other => {
                let what = wrong_kind(key, of, other);
                self.fault(Some(value.span()), what);
                None
            }
        }
    }

    fn strings(&mut self, key: &str) -> Option<Vec<String>> {
        let (list, span) = self.list(key, "a list of strings")?;
        let strings: Option<Vec<String>> = list
            .iter()
            .map(|entry| entry.get_ref().as_str().map(str::to_owned))
            .collect();
        let sound = strings.filter(|strings| strings.iter().all(|text| !text.contains('\0')));
        if sound.is_none() {
            self.fault(Some(span), format!("`{key}` must be a list of strings"));
        }
        sound
    }

    fn command(&mut self) -> Option<Vec<String>> {
        if !self.table.contains_key("command") {
            self.fault(
                None,
                "`command` is missing: the program and its arguments, as a list",
            );
            return None;
        }
        let command = self.strings("command")?;
        let program = command.first().map_or("", String::as_str);
        if program.is_empty() || program.starts_with('-') {
            self.fault(None, "`command` must begin with a program");
            return None;
        }
        Some(command)
    }

    fn word<T: Copy + std::fmt::Display>(&mut self, key: &str, all: &[T]) -> Option<T> {
        let (text, span) = self.text(key)?;
        let found = all.iter().copied().find(|word| word.to_string() == text);
        if found.is_none() {
            let known: Vec<String> = all.iter().map(ToString::to_string).collect();
            self.fault(Some(span), format!("`{key}` must be one of {}", known.join(", ")));
        }
        found
    }

    fn number(&mut self, key: &str, least: u64, most: u64, default: u64) -> u64 {
        let Some(value) = self.table.get(key) else {
            return default;
        };
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number
            .filter(|number| (least..=most).contains(number))
            .unwrap_or_else(|| {
                self.fault(
                    Some(value.span()),
                    format!("`{key}` must be a whole number from {least} to {most}"),
                );
                default
            })
    }

    fn exit_codes(&mut self) -> Vec<i32> {
        let Some((list, span)) = self.list("exit_codes", "a list of numbers") else {
            return vec![0, 1];
        };
        let code = |entry: &Spanned<DeValue<'_>>| match entry.get_ref() {
            DeValue::Integer(number) => i32::from_str_radix(number.as_str(), number.radix())
                .ok()
                .filter(|code| (0..=125).contains(code)),
            _ => None,
        };
        let codes: Option<Vec<i32>> = list.iter().map(code).collect();
        codes.filter(|codes| !codes.is_empty()).unwrap_or_else(|| {
            self.fault(Some(span), "`exit_codes` must be a list of numbers from 0 to 125");
            Vec::new()
        })
    }

    fn readable(&mut self) -> Vec<PathBuf> {
        let paths: Vec<PathBuf> = self
            .strings("readable")
            .unwrap_or_default()
            .into_iter()
            .map(PathBuf::from)
            .collect();
        let plain = |path: &PathBuf| {
            path.is_absolute()
                && path.components().count() > 1
                && path
                    .components()
                    .all(|part| part != std::path::Component::ParentDir)
        };
        if !paths.iter().all(plain) {
            self.fault(
                None,
                "`readable` must hold absolute paths below `/`, without `..`",
            );
        }
        paths
    }

    fn environment(&mut self) -> Vec<(String, String)> {
        let Some(value) = self.table.get("environment") else {
            return Vec::new();
        };
        let DeValue::Table(table) = value.get_ref() else {
            let what = wrong_kind("environment", "a table of strings", value.get_ref());
            self.fault(Some(value.span()), what);
            return Vec::new();
        };
        let one = |(name, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
            let name = name.get_ref().to_string();
            let value = value.get_ref().as_str()?.to_owned();
            let sound = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
            sound.then_some((name, value))
        };
        let entries: Option<Vec<(String, String)>> = table.iter().map(one).collect();
        entries.unwrap_or_else(|| {
            self.fault(Some(value.span()), "`environment` must be a table of strings");
            Vec::new()
        })
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
