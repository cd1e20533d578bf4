//! What goes wrong, as its one line on stderr.

use clap::error::ErrorKind;

use crate::{domain::text::one_line, ports::change::ChangeError, services::review_change::PolicyFault};

/// A fault that ends a command with exit code 2. Shown as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(String);

impl Fault {
    /// A fault in these words, which are brought onto one line.
    pub fn new(words: impl AsRef<str>) -> Self {
        Self(one_line(words.as_ref()))
    }

    /// Several faults at once, told one after the other.
    pub fn lines(lines: &[String]) -> Self {
        Self::new(lines.join("; "))
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl From<ChangeError> for Fault {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::User(words) => Self::new(words),
            other => Self::new(format!("the change could not be read: {other}")),
        }
    }
}

impl From<PolicyFault> for Fault {
    fn from(fault: PolicyFault) -> Self {
        match fault {
            PolicyFault::Owner(words) => Self::new(words),
            PolicyFault::Read(error) => error.into(),
        }
    }
}

/// Bad usage as one line; `None` when help or the version was asked for, which
/// clap prints itself.
pub fn parse_fault(error: &clap::Error) -> Option<Fault> {
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if asked {
        return None;
    }
    let whole = error.render().to_string();
    let mut lines = whole
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty());
    let mut told = lines
        .next()
        .unwrap_or("bad usage")
        .trim_start_matches("error: ")
        .to_owned();
    for line in lines {
        let more = line.trim_start_matches('[').trim_end_matches(']');
        let joint = if told.ends_with(':') { " " } else { ": " };
        told.push_str(joint);
        told.push_str(more);
    }
    Some(Fault::new(told))
}
