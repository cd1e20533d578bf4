//! The command line: arguments in, text out, exit codes. Decides nothing itself.
//!
//! What programs rely on: the flags, `--format json`, the exit codes 0, 1 and 2,
//! and that a fault is one line on stderr, `jury: <what to do>`.

mod fault;
mod output;
mod progress;
mod review;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::Flags;

pub use fault::{Fault, parse_fault};
pub use output::{complain, print, show};
pub use progress::Progress;
pub use review::{Reviewed, review};

/// What stands in `jury --help`.
#[derive(Debug, Parser)]
#[command(
    name = "jury",
    version,
    about = "Reviews pull requests and publishes one verdict: ship, hold or block",
    long_about = "Jury reviews pull requests. What its rules find in the added lines is confirmed against the files \
                  themselves and folded into one verdict: ship, hold or block. As a GitHub App it publishes the verdict as \
                  one check, which branch protection can require, and at most one review.",
    after_help = "Try it without any set-up:  jury demo\nReview your branch:         jury review",
    subcommand_required = true,
    arg_required_else_help = true,
    propagate_version = true
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Review a range of commits, or uncommitted work, of a local repository
    Review(ReviewArgs),
    /// Run the server that GitHub sends its webhooks to
    Serve(ServeArgs),
    /// Show the whole road on this machine: a pull request with faults, then its fix
    Demo(DemoArgs),
    /// Bring the database to this version's form and end
    Migrate(MigrateArgs),
}

/// `jury review`.
#[derive(Debug, Clone, Args)]
#[command(
    long_about = "Reviews what a branch adds: the commits from where it left its base to its head. Only added and changed \
                  lines are judged, by the built-in rules: secrets, Trojan source, merge-conflict markers, untouched \
                  tests; and by what other tools reported, when their files are given. Nothing is stored, sent or executed, and the repository's own git configuration is not trusted. \
                  The policy in .github/jury.toml is read from the base, never from the head.",
    after_help = "Exit codes: 0 the verdict is below the threshold, 1 it is at or over it, 2 bad usage or a fault.\n\n\
                  Examples:\n  jury review                                 the current branch against the default branch\n  \
                  jury review --head WORKTREE                 what is not committed yet, too\n  \
                  jury review --base v1.2 --format json       for programs\n  \
                  ruff check --output-format sarif | jury review --sarif -\n  \
                  git diff main... | jury review --patch -"
)]
pub struct ReviewArgs {
    /// A folder in the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,
    /// What the change goes into: a branch, tag or commit [default: the remote's default branch]
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// What to review: a branch, tag or commit, or WORKTREE for uncommitted and untracked files as well
    #[arg(long, value_name = "REF|WORKTREE", default_value = "HEAD")]
    pub head: String,
    /// Review this diff (`-`: from stdin) without a repository; only the lines it shows are read
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "head"])]
    pub patch: Option<PathBuf>,
    /// Take in what another tool reported of this head: SARIF 2.1.0 (`-`: from stdin; may be repeated)
    #[arg(long, value_name = "FILE")]
    pub sarif: Vec<PathBuf>,
    /// The same, in reviewdog's diagnostic format
    #[arg(long, value_name = "FILE")]
    pub rdjson: Vec<PathBuf>,
    /// The same, one diagnostic a line
    #[arg(long, value_name = "FILE")]
    pub rdjsonl: Vec<PathBuf>,
    /// The same, in checkstyle's XML
    #[arg(long, value_name = "FILE")]
    pub checkstyle: Vec<PathBuf>,
    /// How the result is written to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The verdict from which on the exit code is 1
    #[arg(long, value_enum, default_value_t = FailOn::Hold, value_name = "VERDICT")]
    pub fail_on: FailOn,
}

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned lines for people, coloured on a terminal
    Text,
    /// One document with every key
    Json,
    /// For comments and job summaries
    Markdown,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// Workflow commands of GitHub Actions: annotations
    Github,
}

/// From which verdict on the review fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Only `block`
    Block,
    /// `hold` and `block`
    Hold,
    /// No verdict: only faults
    Never,
}

/// `jury serve`.
#[derive(Debug, Clone, Default, Args)]
#[command(
    long_about = "Runs the server: takes webhooks at /webhooks/github, reviews pull requests, and publishes one check and at \
                  most one review for each head. SIGTERM lets running work end; a restart resumes what was left.",
    after_help = "Every value of the configuration file can also be given as JURY_<SECTION>_<KEY>."
)]
pub struct ServeArgs {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where to listen [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Where the database is kept [default: $XDG_STATE_HOME/jury]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// `jury demo`.
#[derive(Debug, Clone, Default, Args)]
#[command(
    long_about = "Starts a GitHub-shaped emulator and Jury on free loopback ports, opens a pull request with faults in a small \
                  real repository (the verdict is block), pushes the fix (ship), and says where to look."
)]
pub struct DemoArgs {
    /// End when both verdicts were read back: 0 if they were block and ship, else 1
    #[arg(long)]
    pub once: bool,
    /// Print one document instead of the story
    #[arg(long)]
    pub json: bool,
}

/// `jury migrate`.
#[derive(Debug, Clone, Default, Args)]
pub struct MigrateArgs {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the database is kept [default: $XDG_STATE_HOME/jury]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

impl From<ServeArgs> for Flags {
    fn from(args: ServeArgs) -> Self {
        Self {
            config: args.config,
            listen: args.listen,
            data: args.data,
        }
    }
}

impl From<MigrateArgs> for Flags {
    fn from(args: MigrateArgs) -> Self {
        Self {
            config: args.config,
            listen: None,
            data: args.data,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_and_their_flags_are_those_that_programs_rely_on() {
        Cli::command().debug_assert();
        let parsed = |words: &str| Cli::try_parse_from(words.split(' ')).map(|c| c.command);
        assert!(matches!(
            parsed("jury demo --once --json"),
            Ok(Command::Demo(DemoArgs {
                once: true,
                json: true
            }))
        ));
        let Ok(Command::Review(args)) = parsed("jury review") else {
            panic!()
        };
        assert_eq!(
            (args.base, args.head.as_str(), args.fail_on),
            (None, "HEAD", FailOn::Hold)
        );
        assert!(
            parsed("jury review --repo . --base main --head WORKTREE --format json --fail-on never").is_ok()
        );
        assert!(parsed("jury serve --config a.toml --listen 127.0.0.1:8080 --data d").is_ok());
        assert!(parsed("jury migrate").is_ok());
    }

    #[test]
    fn bad_usage_is_told_on_one_line_and_help_is_none() {
        let fault = |words: &str| parse_fault(&Cli::try_parse_from(words.split(' ')).unwrap_err());
        assert_eq!(
            fault("jury review --fail-on maybe").unwrap().to_string(),
            "invalid value 'maybe' for '--fail-on <VERDICT>': possible values: block, hold, never"
        );
        let unknown = fault("jury review --bases main").unwrap().to_string();
        assert!(unknown.contains("--base") && !unknown.contains('\n'), "{unknown}");
        assert!(fault("jury --version").is_none());
        assert!(fault("jury review --help").is_none());
    }
}
