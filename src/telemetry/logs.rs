//! Where log lines go and what they look like.
//!
//! Lines go to standard error: standard output belongs to results. What is logged
//! is chosen by `JURY_LOG` (else `RUST_LOG`, else `info` for Jury and `warn` for
//! the rest), in the syntax of `tracing`'s `EnvFilter`.
//!
//! A token of a known provider is masked in every line, whoever logged it: what breaks
//! is often named after what was in a change.

use std::io::{self, IsTerminal, Write, stderr};

use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

use crate::domain::secret::conceal;

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object a line, for collectors.
    Json,
}

/// Why logging could not be set up.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// `JURY_LOG_FORMAT` holds another word.
    #[error("JURY_LOG_FORMAT is {0:?}: expected \"text\" or \"json\"")]
    Format(String),
    /// The filter does not parse.
    #[error("{variable} is not a log filter ({reason}); an example: \"info,jury=debug\"")]
    Filter {
        /// Which variable.
        variable: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Somebody has set a subscriber already.
    #[error("logging was set up already")]
    Twice,
}

/// What the environment asks for.
#[derive(Debug)]
pub struct LogOptions {
    format: Format,
    filter: EnvFilter,
}

/// Masks what is written. A line comes in one piece.
struct Concealing<W>(W);

impl<W: Write> Write for Concealing<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.write_all(conceal(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

const DEFAULT_FILTER: &str = "warn,jury=info";

impl LogOptions {
    /// Reads `JURY_LOG_FORMAT` (`text` or `json`; otherwise text on a terminal and
    /// JSON elsewhere), `JURY_LOG` and `RUST_LOG`. Empty counts as not set.
    pub fn from_env(env: impl Fn(&str) -> Option<String>, on_terminal: bool) -> Result<Self, LogError> {
        let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        let format = match set("JURY_LOG_FORMAT").as_deref() {
            Some("text") => Format::Text,
            Some("json") => Format::Json,
            Some(other) => return Err(LogError::Format(other.chars().take(32).collect())),
            None if on_terminal => Format::Text,
            None => Format::Json,
        };
        let asked = ["JURY_LOG", "RUST_LOG"]
            .into_iter()
            .find_map(|variable| Some((variable, set(variable)?)));
        let filter = match asked {
            None => EnvFilter::new(DEFAULT_FILTER),
            Some((variable, text)) => EnvFilter::try_new(text).map_err(|error| LogError::Filter {
                variable,
                reason: error.to_string(),
            })?,
        };
        Ok(Self { format, filter })
    }

    /// Sets the subscriber of the whole process.
    pub fn install(self) -> Result<(), LogError> {
        let registry = tracing_subscriber::registry().with(self.filter);
        let lines = tracing_subscriber::fmt::layer().with_writer(|| Concealing(stderr()));
        match self.format {
            Format::Text => registry
                .with(lines.with_ansi(stderr().is_terminal()).with_target(false))
                .try_init(),
            Format::Json => registry
                .with(lines.json().flatten_event(true).with_current_span(false))
                .try_init(),
        }
        .map_err(|_| LogError::Twice)
    }
}

/// [`LogOptions::from_env`] with the process's environment, then [`LogOptions::install`].
pub fn install() -> Result<(), LogError> {
    LogOptions::from_env(|name| std::env::var(name).ok(), stderr().is_terminal())?.install()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)], on_terminal: bool) -> Result<LogOptions, LogError> {
        LogOptions::from_env(
            |name| {
                let (_, value) = pairs.iter().find(|(known, _)| *known == name)?;
                Some((*value).to_owned())
            },
            on_terminal,
        )
    }

    #[test]
    fn a_terminal_reads_text_and_a_collector_json_unless_told_otherwise() {
        for (pairs, on_terminal, expected) in [
            (&[][..], true, Format::Text),
            (&[], false, Format::Json),
            (&[("JURY_LOG_FORMAT", "json")], true, Format::Json),
            (&[("JURY_LOG_FORMAT", "text")], false, Format::Text),
            (&[("JURY_LOG_FORMAT", "")], false, Format::Json),
        ] {
            assert_eq!(options(pairs, on_terminal).unwrap().format, expected, "{pairs:?}");
        }
        assert_eq!(
            options(&[("JURY_LOG_FORMAT", "xml")], true).unwrap_err(),
            LogError::Format("xml".into())
        );
    }

    #[test]
    fn a_token_does_not_get_into_the_log() {
        use std::sync::{Arc, Mutex};

        #[derive(Clone, Default)]
        struct Kept(Arc<Mutex<Vec<u8>>>);
        impl Write for Kept {
            fn write(&mut self, line: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().write(line)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        let token = format!("gh{}_{}", "p", "aB3dE5gH7jK9mN2pQ4sT6vW8xZ1cF0kLqR5t");
        let kept = Kept::default();
        for json in [false, true] {
            let kept = kept.clone();
            let lines = tracing_subscriber::fmt().with_writer(move || Concealing(kept.clone()));
            let log = || tracing::warn!(path = %format!("a/{token}\n.env"), "{token} could not be read");
            match json {
                true => tracing::subscriber::with_default(lines.json().finish(), log),
                false => tracing::subscriber::with_default(lines.with_ansi(true).finish(), log),
            }
        }
        let written = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert_eq!(written.matches("********").count(), 4, "{written}");
        assert!(!written.contains(&token), "{written}");
    }

    #[test]
    fn jurys_own_filter_wins_over_the_shared_one() {
        let both = [("RUST_LOG", "trace"), ("JURY_LOG", "error")];
        assert_eq!(options(&both, true).unwrap().filter.to_string(), "error");
        let one = [("RUST_LOG", "trace"), ("JURY_LOG", " ")];
        assert_eq!(options(&one, true).unwrap().filter.to_string(), "trace");
        let error = options(&[("JURY_LOG", "jury=loud=x")], true).unwrap_err();
        assert!(
            error.to_string().starts_with("JURY_LOG is not a log filter"),
            "{error}"
        );
    }
}
