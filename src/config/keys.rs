//! Every key of `jury.toml` outside `[policy]`, declared once: the reader, the
//! variables' names and the unknown-key errors come from this table. The keys of
//! `[policy]` are the domain's; here they only get their variables.

use crate::domain::review::finding::{Axis, Priority};

/// What a value must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A string.
    Text,
    /// A whole number within bounds, both included.
    Number {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A list of strings; in a variable, separated by commas.
    List,
}

/// One key.
#[derive(Debug)]
pub(super) struct Key {
    /// The table, empty at the top level.
    pub(super) table: &'static str,
    /// The name within it.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) kind: Kind,
}

impl Key {
    /// `table.name`.
    pub(super) fn path(&self) -> String {
        if self.table.is_empty() {
            self.name.to_owned()
        } else {
            format!("{}.{}", self.table, self.name)
        }
    }

    /// The variable that overrides it: `JURY_TABLE_NAME`.
    pub(super) fn variable(&self) -> String {
        format!("JURY_{}", self.path().replace('.', "_").to_ascii_uppercase())
    }
}

const fn key(table: &'static str, name: &'static str, kind: Kind) -> Key {
    Key { table, name, kind }
}

const fn number(least: u64, most: u64) -> Kind {
    Kind::Number { least, most }
}

/// The table of policy, whose keys are the domain's.
pub(super) const POLICY: &str = "policy";

/// A line of a policy from a variable's text.
pub(super) type PolicyLine = Box<dyn Fn(&str) -> String>;

/// The variables of policy, and how their text is written in a policy file.
/// `JURY_POLICY_CONSENSUS_QUORUM` stands before those of one priority, which win.
pub(super) fn policy_variables() -> Vec<(String, PolicyLine)> {
    let word = |path: &'static str| -> (String, PolicyLine) {
        let line = move |text: &str| format!("{path} = {}", toml::Value::from(text));
        (path.to_owned(), Box::new(line))
    };
    let bare = |path: String| -> (String, PolicyLine) {
        let of = path.clone();
        let line = move |text: &str| {
            // What is no number and no boolean stays a string, so that the reader of
            // policies says what it expected.
            let plain = matches!(text, "true" | "false") || text.parse::<i64>().is_ok();
            let value = if plain {
                text.to_owned()
            } else {
                toml::Value::from(text).to_string()
            };
            format!("{of} = {value}")
        };
        (path, Box::new(line))
    };
    let axes = Axis::ALL.iter().map(|axis| bare(format!("axes.{axis}.gated")));
    let quorums = Priority::ALL
        .iter()
        .map(|priority| bare(format!("consensus.quorum.{priority}")));
    [word("gate"), word("publish"), word("approvals")]
        .into_iter()
        .chain([bare("approve".into()), bare("consensus.distinct_models".into())])
        .chain(axes)
        .chain([bare("consensus.quorum".into())])
        .chain(quorums)
        .map(|(path, line)| {
            let name = format!("JURY_POLICY_{}", path.replace('.', "_").to_ascii_uppercase());
            (name, line)
        })
        .collect()
}

/// Every key.
pub(super) const KEYS: &[Key] = &[
    key("", "policy_locked", Kind::List),
    key("server", "listen", Kind::Text),
    key("server", "public_url", Kind::Text),
    key("server", "data", Kind::Text),
    key("github", "app_id", number(1, i64::MAX as u64)),
    key("github", "private_key_file", Kind::Text),
    key("github", "webhook_secret_file", Kind::Text),
    key("github", "api_url", Kind::Text),
    key("github", "read", Kind::Text),
    key("limits", "pass_seconds", number(10, 86_400)),
    key("limits", "passes", number(1, 1024)),
    key("limits", "connections", number(1, 1_000_000)),
    key("limits", "body_mib_in_flight", number(128, 1_048_576)),
    key("limits", "body_seconds", number(1, 600)),
    key("limits", "drain_seconds", number(0, 3600)),
    key("limits", "lease_seconds", number(2, 3600)),
];

/// Variables that are no key of the file but belong to Jury.
pub(super) const OTHER_VARIABLES: &[&str] = &[
    "JURY_CONFIG",
    "JURY_GITHUB_WEBHOOK_SECRET",
    "JURY_GITHUB_PRIVATE_KEY",
    "JURY_LOG",
    "JURY_LOG_FORMAT",
];

/// Variables that hold a secret itself, and the key that they stand for.
pub(super) const SECRET_VARIABLES: &[(&str, &str)] = &[
    ("JURY_GITHUB_WEBHOOK_SECRET", "github.webhook_secret_file"),
    ("JURY_GITHUB_PRIVATE_KEY", "github.private_key_file"),
];

/// Variables of those who work on Jury: its checks, its emulator, its tests. The server
/// does not read them and does not mind them.
pub(super) const DEVELOPERS_VARIABLES: &[&str] = &[
    "JURY_CI_CACHE",
    "JURY_EMULATOR_FAULTS",
    "JURY_EMULATOR_RECORD",
    "JURY_WEBHOOK_EXAMPLES",
];
