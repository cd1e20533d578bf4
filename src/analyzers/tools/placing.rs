//! A tool's results, placed in the change.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        report::{
            ToolReport, ToolResult,
            draft::{File, Standing, place, summary},
            paths::{Found, Roots, find},
        },
        review::{
            finding::{Axis, Draft, Side},
            reviewer::ContributionState,
        },
    },
    ports::{
        analyzer::Report,
        change::{Change, ChangeError},
    },
};

/// Findings that one tool hands in for one change.
const MOST: usize = 500;
/// And of these, on no line: a tool that finds fault with everything says it once.
const MOST_SUMMARIES: usize = 20;

/// How many results went which way.
#[derive(Debug, Default)]
struct Counts {
    outside: usize,
    not_there: usize,
    repeated: usize,
    over: usize,
}

/// What `said` comes to on `change`.
pub(super) async fn report(
    change: &dyn Change,
    said: &ToolReport,
    roots: &Roots,
    axis: Option<Axis>,
) -> Result<Report, ChangeError> {
    let mut counts = Counts::default();
    let mut drafts = Vec::new();
    let files: HashMap<&str, &ChangedFile> = change
        .files()
        .iter()
        .filter(|file| file.status != FileStatus::Removed)
        .map(|file| (file.path.as_str(), file))
        .collect();
    let mut by_file: BTreeMap<String, Vec<&ToolResult>> = BTreeMap::new();
    let mut known: HashMap<&[String], Option<String>> = HashMap::new();
    for result in &said.results {
        let Some(at) = &result.place else {
            drafts.push(summary(result, axis, None));
            continue;
        };
        let path = match known.get(&at.paths[..]) {
            Some(path) => path.clone(),
            None => {
                let found = find(&at.paths, roots, |path| files.contains_key(path));
                let path = settled(change, found).await?;
                known.insert(&at.paths, path.clone());
                path
            }
        };
        match path {
            Some(path) => by_file.entry(path).or_default().push(result),
            None => counts.outside += 1,
        }
    }
    for (path, results) in by_file {
        let Some(file) = files.get(path.as_str()) else {
            continue;
        };
        let mut blob = change.read(Side::Right, &path).await?;
        let whole = blob.is_some();
        if !whole {
            blob = change.shown(Side::Right, &path).await?;
        }
        let added: Vec<u32> = file.added_lines().map(|(number, _)| number).collect();
        let file = File {
            path: &path,
            added: &added,
            blob: blob.as_deref(),
            whole,
        };
        for result in results {
            match place(result, axis, file) {
                Standing::Here(draft) => drafts.push(*draft),
                Standing::Outside => counts.outside += 1,
                Standing::NotThere => counts.not_there += 1,
            }
        }
    }
    let drafts = heaviest_once(drafts, &mut counts);
    Ok(told(said, &counts, drafts))
}

/// The path of a file of the change, unless the repository has another one that is meant.
async fn settled(change: &dyn Change, found: Option<Found>) -> Result<Option<String>, ChangeError> {
    let Some(Found { path, unless }) = found else {
        return Ok(None);
    };
    for other in &unless {
        if change.read(Side::Right, other).await?.is_some() {
            return Ok(None);
        }
    }
    Ok(Some(path))
}

/// One draft for one rule and place, the heaviest first; at most [`MOST`].
fn heaviest_once(mut drafts: Vec<Draft>, counts: &mut Counts) -> Vec<Draft> {
    drafts.sort_by_key(|draft| draft.priority);
    let mut seen = BTreeSet::new();
    let mut summaries = 0;
    let all = drafts.len();
    drafts.retain(|draft| {
        let place = match &draft.anchor {
            Some(anchor) => format!("{} {} {}", anchor.start_line, anchor.end_line, anchor.path),
            None => draft.title.clone(),
        };
        seen.insert((draft.provenance.to_string(), place))
    });
    counts.repeated = all - drafts.len();
    let single = drafts.len();
    drafts.retain(|draft| {
        summaries += usize::from(draft.anchor.is_none());
        draft.anchor.is_some() || summaries <= MOST_SUMMARIES
    });
    drafts.truncate(MOST);
    counts.over = single - drafts.len();
    drafts
}

/// The state and everything that was left out, in words.
fn told(said: &ToolReport, counts: &Counts, drafts: Vec<Draft>) -> Report {
    let left = &said.left_out;
    let mut state = ContributionState::Complete;
    let mut notes = Vec::new();
    let results = |count: usize| format!("{count} result{}", if count == 1 { "" } else { "s" });
    if let Some(failed) = &said.failed {
        state = ContributionState::Failed;
        notes.push(failed.clone());
    }
    let mut lacking: Vec<String> = said.incomplete.clone();
    if counts.not_there > 0 {
        let count = results(counts.not_there);
        lacking.push(format!("{count} on lines that cannot be read on this head"));
    }
    if left.unreadable > 0 {
        lacking.push(format!("{} not readable", results(left.unreadable)));
    }
    let over = counts.over + left.over;
    if over > 0 {
        lacking.push(format!("{over} more results are not listed"));
    }
    if !lacking.is_empty() {
        state = state.max(ContributionState::Partial);
        notes.extend(lacking);
    }
    let silent = [
        (counts.outside, "outside the change"),
        (left.suppressed, "suppressed at the tool"),
        (left.weightless, "of level none"),
        (left.gone, "no longer present"),
        (counts.repeated, "of the same rule and place"),
    ];
    let silent: Vec<String> = silent
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    if !silent.is_empty() {
        notes.push(format!("left out: {}", silent.join(", ")));
    }
    Report {
        state,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        drafts,
    }
}
