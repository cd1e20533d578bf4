//! `jury doctor`: what was examined, how it is, and how to mend what is not well.

use anstyle::AnsiColor;
use serde::Serialize;

use super::{Fault, output};

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// It was not looked at, since something that it needs is not well.
    Skipped,
    /// Jury works, and somebody should know.
    Warning,
    /// Jury does not work, or not for everybody.
    Fault,
}

impl Health {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skipped => "skipped",
            Self::Warning => "warning",
            Self::Fault => "fault",
        }
    }

    fn colour(self) -> AnsiColor {
        match self {
            Self::Ok => AnsiColor::Green,
            Self::Skipped => AnsiColor::Blue,
            Self::Warning => AnsiColor::Yellow,
            Self::Fault => AnsiColor::Red,
        }
    }
}

/// One thing that was examined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// What it is: `configuration`, `database`, …
    pub what: &'static str,
    /// How it is.
    pub health: Health,
    /// What was found, on one line.
    pub found: String,
    /// What to do about it; only where something is to be done.
    pub mend: Option<String>,
}

/// Everything that was examined, in the order in which it is told.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Diagnosis {
    examined: Vec<Examined>,
}

impl Diagnosis {
    /// It is as it should be.
    pub fn ok(&mut self, what: &'static str, found: impl Into<String>) {
        self.add(what, Health::Ok, found.into(), None);
    }

    /// It was not looked at, and why.
    pub fn skipped(&mut self, what: &'static str, why: impl Into<String>) {
        self.add(what, Health::Skipped, why.into(), None);
    }

    /// Jury works, and somebody should know.
    pub fn warning(&mut self, what: &'static str, found: impl Into<String>, mend: impl Into<String>) {
        self.add(what, Health::Warning, found.into(), Some(mend.into()));
    }

    /// Jury does not work.
    pub fn fault(&mut self, what: &'static str, found: impl Into<String>, mend: impl Into<String>) {
        self.add(what, Health::Fault, found.into(), Some(mend.into()));
    }

    fn add(&mut self, what: &'static str, health: Health, found: String, mend: Option<String>) {
        // Words of the forge and of files are among them.
        let line = |text: String| crate::domain::text::one_line(&text);
        self.examined.push(Examined {
            what,
            health,
            found: line(found),
            mend: mend.map(line),
        });
    }

    /// Whether nothing keeps Jury from working.
    pub fn is_well(&self) -> bool {
        self.examined.iter().all(|one| one.health != Health::Fault)
    }

    /// Writes it to stdout, as a document or for people.
    pub fn show(&self, json: bool) -> Result<(), Fault> {
        if json {
            let document = serde_json::json!({ "ok": self.is_well(), "examined": self.examined });
            let text = serde_json::to_string_pretty(&document)
                .map_err(|error| Fault::new(format!("the result cannot be written as JSON: {error}")))?;
            return output::print(&text);
        }
        let width = self.examined.iter().map(|one| one.what.len()).max().unwrap_or(0);
        let mut text = String::new();
        for one in &self.examined {
            let style = anstyle::Style::new()
                .fg_color(Some(one.health.colour().into()))
                .bold();
            text.push_str(&format!(
                "{style}{:<8}{style:#} {:<width$}  {}\n",
                one.health.word(),
                one.what,
                one.found
            ));
            if let Some(mend) = &one.mend {
                text.push_str(&format!("{:<8} {:<width$}  -> {mend}\n", "", ""));
            }
        }
        let count = |health| self.examined.iter().filter(|one| one.health == health).count();
        let (faults, warnings) = (count(Health::Fault), count(Health::Warning));
        text.push_str(&match (faults, warnings) {
            (0, 0) => "\nAll is well.\n".to_owned(),
            (0, _) => format!("\nJury works; warnings: {warnings}.\n"),
            _ => format!("\nFaults: {faults}, warnings: {warnings}.\n"),
        });
        output::print_styled(&text)
    }
}
