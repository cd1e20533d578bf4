//! Wires `jury review`: a local checkout or a diff, the built-in analyzers, and what
//! other tools reported.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    analyzers::{self, tools::Given},
    cli::{self, Fault, Progress, ReviewArgs},
    domain::report::{self, Format, paths::Roots},
    forge::{
        local,
        patch::{self, PatchChange},
    },
    ports::{analyzer::Analyzer, change::Change},
};

use super::system;

/// Runs the command: 0 below the threshold, 1 at or over it, 2 for a fault.
pub(super) fn run(args: &ReviewArgs) -> Result<ExitCode, Fault> {
    let inputs = reports(args);
    let of_stdin = inputs.iter().filter(|(_, path)| is_stdin(path)).count()
        + usize::from(args.patch.as_deref().is_some_and(is_stdin));
    if of_stdin > 1 {
        return Err(Fault::new(
            "stdin (-) can be read once: give the other inputs as files",
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Fault::new(format!("cannot start: {e}")))?;
    let reviewed = runtime.block_on(async {
        let progress = Progress::start("reading the change");
        let change: Box<dyn Change> = match &args.patch {
            Some(path) => {
                let text = read(path, patch::MAX_BYTES).map_err(|error| {
                    Fault::new(format!("{}: the patch cannot be read: {error}", path.display()))
                })?;
                Box::new(PatchChange::read_from(&text)?)
            }
            None => Box::new(local::open(&args.repo, args.base.as_deref(), &args.head).await?),
        };
        let mut reviewers = analyzers::all();
        if !inputs.is_empty() {
            let roots = roots(&args.repo).await;
            reviewers.extend(
                inputs
                    .into_iter()
                    .map(|(format, path)| given(format, path, &roots)),
            );
        }
        cli::review(change.as_ref(), &reviewers, system::random(), &progress).await
    })?;
    cli::show(&reviewed, args.format)?;
    Ok(if reviewed.fails(args.fail_on) {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

fn reports(args: &ReviewArgs) -> Vec<(Format, &Path)> {
    let lists: [(Format, &[PathBuf]); 4] = [
        (Format::Sarif, &args.sarif),
        (Format::Rdjson, &args.rdjson),
        (Format::Rdjsonl, &args.rdjsonl),
        (Format::Checkstyle, &args.checkstyle),
    ];
    lists
        .into_iter()
        .flat_map(|(format, paths)| paths.iter().map(move |path| (format, path.as_path())))
        .collect()
}

/// A report that cannot be read is a reviewer that did not do its work.
fn given(format: Format, path: &Path, roots: &Roots) -> Box<dyn Analyzer> {
    let source = if is_stdin(path) {
        "stdin".into()
    } else {
        path.to_string_lossy()
    };
    let content = read(path, report::MAX_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => "its file cannot be read".to_owned(),
    });
    Box::new(Given::new(format, &source, content, roots.clone()))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a file or stdin, at most one byte more than `max`: enough to be refused.
fn read(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let max = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    if is_stdin(path) {
        io::stdin().lock().take(max).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(path)?.take(max).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// From where the paths of a report may count: the top of the working tree, as it is
/// named and as it is; and the folder that the tool most likely ran in, which is ours.
async fn roots(repo: &Path) -> Roots {
    let Some(top) = local::top(repo).await else {
        return Roots::default();
    };
    let here = std::env::current_dir().and_then(std::fs::canonicalize).ok();
    let asked = std::fs::canonicalize(repo).ok();
    let below = |folder: Option<PathBuf>| folder?.strip_prefix(&top).ok().map(Path::to_owned);
    let prefix = below(here).or_else(|| below(asked)).unwrap_or_default();
    Roots {
        roots: vec![top.to_string_lossy().into_owned()],
        prefix: prefix.to_string_lossy().into_owned(),
    }
}
