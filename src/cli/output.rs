//! Writing to stdout: a reader that goes away is no fault.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{Fault, Format, Reviewed};
use crate::domain::review::render::{
    SarifInput, TextLine, Tone, markdown, sarif, text_lines, workflow_commands,
};

/// Writes a review to stdout, coloured only as text on a terminal (or as
/// `NO_COLOR` and `CLICOLOR_FORCE` say).
pub fn show(reviewed: &Reviewed, format: Format) -> Result<(), Fault> {
    match format {
        Format::Text => quiet_when_gone(coloured(
            &mut anstream::stdout().lock(),
            &text_lines(&reviewed.snapshot),
        )),
        Format::Markdown => print(&markdown(&reviewed.snapshot, Some(&reviewed.coverage))),
        Format::Json => print(&json(&reviewed.snapshot)?),
        Format::Sarif => print(&json(&sarif(&SarifInput {
            snapshot: &reviewed.snapshot,
            findings: &reviewed.findings,
            coverage: &reviewed.coverage,
            somewhere: reviewed.somewhere.as_deref(),
            version: env!("CARGO_PKG_VERSION"),
        }))?),
        Format::Github => print(&workflow_commands(&reviewed.snapshot)),
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Fault> {
    serde_json::to_string_pretty(value)
        .map_err(|e| Fault::new(format!("the result cannot be written as JSON: {e}")))
}

/// Writes `text` to stdout, ended by one LF.
pub fn print(text: &str) -> Result<(), Fault> {
    let mut out = io::stdout().lock();
    quiet_when_gone(writeln!(out, "{}", text.trim_end_matches('\n')).and_then(|()| out.flush()))
}

/// Writes text with styles in it to stdout, which loses them where that is no terminal
/// (or as `NO_COLOR` and `CLICOLOR_FORCE` say).
pub(super) fn print_styled(text: &str) -> Result<(), Fault> {
    let mut out = anstream::stdout().lock();
    quiet_when_gone(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// One line on stderr, after the program's name. Where stderr takes nothing, the exit
/// code alone has to tell.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "jury: {line}");
}

fn coloured(out: &mut impl Write, lines: &[TextLine]) -> io::Result<()> {
    for line in lines {
        // No blanks at the end, inside a colour or not.
        let last = line.iter().rposition(|span| !span.text.trim_end().is_empty());
        for (i, span) in line.iter().enumerate().take(last.map_or(0, |l| l + 1)) {
            let text = if Some(i) == last {
                span.text.trim_end()
            } else {
                &span.text
            };
            let style = style(span.tone);
            write!(out, "{style}{text}{style:#}")?;
        }
        writeln!(out)?;
    }
    out.flush()
}

fn style(tone: Tone) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match tone {
        Tone::Plain => Style::new(),
        Tone::Dim => Style::new().dimmed(),
        Tone::Good => colour(AnsiColor::Green).bold(),
        Tone::Warning => colour(AnsiColor::Yellow).bold(),
        Tone::Bad => colour(AnsiColor::Red).bold(),
        Tone::Strong => Style::new().bold(),
    }
}

fn quiet_when_gone(written: io::Result<()>) -> Result<(), Fault> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Fault::new(format!("the result cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}
