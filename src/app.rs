//! Wires the parts together and decides nothing.

mod demo;
mod doctor;
mod inbox_sink;
mod replay;
mod review;
pub mod serve;
pub mod system;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Cli, Command, Fault};

/// The `jury` program. Whatever goes wrong is one line on stderr and exit code 2.
pub fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => {
            return match cli::parse_fault(&error) {
                Some(fault) => failed(&fault),
                None => {
                    // Help that nobody reads to its end is no fault.
                    let _ = error.print();
                    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
                }
            };
        }
    };
    let done = match command {
        Command::Review(args) => review::run(&args),
        Command::Serve(args) => serve::run(args),
        Command::Demo(args) => demo::run(&args),
        Command::Migrate(args) => serve::migrate(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Schema(args) => cli::print_schema(args.what),
        Command::Completions(args) => cli::completions(args.shell),
        Command::Man => cli::manual(),
    };
    done.unwrap_or_else(|fault| failed(&fault))
}

fn failed(fault: &Fault) -> ExitCode {
    cli::complain(&fault.to_string());
    ExitCode::from(2)
}
#[cfg(test)]
mod forge_tests;
