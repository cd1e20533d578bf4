//! The command line: arguments in, text out, exit codes. Decides nothing itself.
//!
//! What programs rely on: the flags, `--format json`, the exit codes 0, 1 and 2,
//! and that a fault is one line on stderr, `jury: <what to do>`.

mod complete;
mod doctor;
mod fault;
mod output;
mod progress;
mod replay;
mod review;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::Flags;

pub use complete::{completions, manual, print_schema};
pub use doctor::{Diagnosis, Examined, Health};
pub use fault::{Fault, parse_fault};
pub use output::{complain, print, show};
pub use progress::Progress;
pub use replay::{Recorded, recorded, show_rehearsal};
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
    #[command(long_about = long_about::<ReviewArgs>())]
    Review(ReviewArgs),
    /// Run the server that GitHub sends its webhooks to
    #[command(long_about = long_about::<ServeArgs>())]
    Serve(ServeArgs),
    /// Show the whole road on this machine: a pull request with faults, then its fix
    #[command(long_about = long_about::<DemoArgs>())]
    Demo(DemoArgs),
    /// Bring the database to this version's form and end
    Migrate(MigrateArgs),
    /// Examine what the server needs, and say how to mend what is not well
    #[command(long_about = long_about::<DoctorArgs>())]
    Doctor(DoctorArgs),
    /// Take a stored or recorded delivery in again, or show what it would publish
    #[command(long_about = long_about::<ReplayArgs>())]
    Replay(ReplayArgs),
    /// Print the JSON Schema of a file or document of Jury
    Schema(SchemaArgs),
    /// Print a script that completes Jury's commands in a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
}

/// What the arguments of a command say of it at length. The one line above the command's
/// name would otherwise take its place.
fn long_about<A: Args>() -> clap::builder::StyledStr {
    let described = A::augment_args(clap::Command::new("jury"));
    described.get_long_about().cloned().unwrap_or_default()
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

/// `jury doctor`.
#[derive(Debug, Clone, Default, Args)]
#[command(
    long_about = "Examines what jury serve needs: configuration, key, secret, database, git, the clock against the forge's, \
                  the forge and what the App may do and is told there, and what can bound a process on this machine. \
                  Each fault is told with its mend. Nothing is changed; a delivery is written to the database and taken \
                  away again.",
    after_help = "Exit codes: 0 nothing keeps Jury from working (there may be warnings), 1 something does, 2 bad usage."
)]
pub struct DoctorArgs {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the database is kept [default: $XDG_STATE_HOME/jury]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Print one document instead of lines
    #[arg(long)]
    pub json: bool,
}

/// `jury replay`.
#[derive(Debug, Clone, Args)]
#[command(
    long_about = "Takes a delivery in again. A stored one is named by its id (X-GitHub-Delivery), and is kept for 30 days; a \
                  recorded one is a file: a bare payload, whose event is in its name (pull_request.opened.json) or in \
                  --event, or GitHub's own record of a delivery (gh api /app/hook/deliveries/ID). It is queued, and \
                  jury serve takes it in; what is known already is not done twice. With --dry-run it is carried through \
                  here as on a server that had never seen the pull request: the forge is read, what would be \
                  published is printed, and nothing is sent or kept.",
    after_help = "Exit codes: 0 done, 2 bad usage or a fault.\n\nExamples:\n  \
                  jury replay 7f3e1c9a-0d4b-11f0-8a2f-9b1d2c3e4f50\n  \
                  jury replay pull_request.opened.json --dry-run"
)]
pub struct ReplayArgs {
    /// A file, or the id of a stored delivery
    #[arg(value_name = "FILE|DELIVERY_ID")]
    pub what: String,
    /// Send and keep nothing: print what would be published
    #[arg(long)]
    pub dry_run: bool,
    /// Which event a file holds, for example pull_request
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the database is kept [default: $XDG_STATE_HOME/jury]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// `jury schema`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "An editor that knows TOML's schemas completes and checks .github/jury.toml with the policy's."
)]
pub struct SchemaArgs {
    /// Of what
    #[arg(value_enum, default_value_t = Described::Policy, value_name = "WHAT")]
    pub what: Described,
}

/// What has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Described {
    /// .github/jury.toml, and the server's policy
    Policy,
    /// The document of jury review --format json
    Review,
    /// The document of jury demo --json
    Demo,
}

/// `jury completions`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "For example:  jury completions bash > ~/.local/share/bash-completion/completions/jury"
)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

impl From<DoctorArgs> for Flags {
    fn from(args: DoctorArgs) -> Self {
        Self {
            config: args.config,
            listen: None,
            data: args.data,
        }
    }
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
        let help = Cli::try_parse_from(["jury", "review", "--help"])
            .unwrap_err()
            .to_string();
        assert!(
            help.contains("Nothing is stored") && help.contains("Exit codes"),
            "{help}"
        );
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
