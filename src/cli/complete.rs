//! What is generated from declarations: shell completions and the manual page from the
//! arguments', schemas from the domain's words.

use std::process::ExitCode;

use clap::CommandFactory;

use super::{Cli, Described, Fault, output};
use crate::domain::schema;

/// Writes a completion script to stdout.
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "jury", &mut script);
    written(&script)
}

/// Writes the manual page, with a section for each command, to stdout.
pub fn manual() -> Result<ExitCode, Fault> {
    page()
        .map_err(|error| Fault::new(error.to_string()))
        .and_then(|page| written(&page))
}

/// Writes a schema to stdout.
pub fn print_schema(what: Described) -> Result<ExitCode, Fault> {
    let schema = match what {
        Described::Policy => schema::policy(),
        Described::Review => schema::review(),
        Described::Demo => schema::demo(),
    };
    let text = serde_json::to_string_pretty(&schema).map_err(|error| Fault::new(error.to_string()))?;
    written(text.as_bytes())
}

fn page() -> std::io::Result<Vec<u8>> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut page = Vec::new();
    let whole = clap_mangen::Man::new(command.clone());
    whole.render_title(&mut page)?;
    whole.render_name_section(&mut page)?;
    whole.render_synopsis_section(&mut page)?;
    whole.render_description_section(&mut page)?;
    for sub in command.get_subcommands() {
        let name = sub.get_bin_name().unwrap_or_else(|| sub.get_name()).to_owned();
        page.extend_from_slice(format!(".SH \"{}\"\n", name.to_uppercase()).as_bytes());
        let mut sections = Vec::new();
        let one = clap_mangen::Man::new(sub.clone());
        one.render_synopsis_section(&mut sections)?;
        one.render_description_section(&mut sections)?;
        one.render_options_section(&mut sections)?;
        one.render_extra_section(&mut sections)?;
        // Sections within that of the command.
        let text = String::from_utf8_lossy(&sections).replace("\n.SH ", "\n.SS ");
        let text = text
            .strip_prefix(".SH ")
            .map_or(text.clone(), |rest| format!(".SS {rest}"));
        page.extend_from_slice(text.as_bytes());
    }
    whole.render_extra_section(&mut page)?;
    whole.render_version_section(&mut page)?;
    Ok(page)
}

fn written(bytes: &[u8]) -> Result<ExitCode, Fault> {
    output::print(&String::from_utf8_lossy(bytes))?;
    Ok(ExitCode::SUCCESS)
}
