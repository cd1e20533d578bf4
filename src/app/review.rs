//! Wires `jury review`: a local checkout, the built-in analyzers.

use std::process::ExitCode;

use crate::{
    analyzers,
    cli::{self, Fault, Progress, ReviewArgs},
    forge::local,
};

use super::system;

/// Runs the command: 0 below the threshold, 1 at or over it, 2 for a fault.
pub(super) fn run(args: &ReviewArgs) -> Result<ExitCode, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Fault::new(format!("cannot start: {e}")))?;
    let reviewed = runtime.block_on(async {
        let progress = Progress::start("reading the change");
        let change = local::open(&args.repo, args.base.as_deref(), &args.head).await?;
        cli::review(&change, &analyzers::all(), system::random(), &progress).await
    })?;
    cli::show(&reviewed, args.format)?;
    Ok(if reviewed.fails(args.fail_on) {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}
