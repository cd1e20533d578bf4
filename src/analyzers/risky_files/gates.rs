//! The files that decide who reviews and what runs: advice that says what changed hands.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        policy,
        review::{
            finding::{Priority, Side},
            grounding::blob_lines,
        },
    },
    ports::change::{Change, ChangeError},
};

use super::{Found, advice, bullets, remark, short, span};

/// Where a repository keeps its policy; `services::review_change` reads it there.
const POLICY: &str = ".github/jury.toml";
pub(super) const BROKEN_POLICY: &str = "policy-broken";

fn is_owners(path: &str) -> bool {
    matches!(
        path,
        "CODEOWNERS" | ".github/CODEOWNERS" | "docs/CODEOWNERS" | ".gitlab/CODEOWNERS"
    )
}

/// Whether the file says what a forge runs by itself.
fn is_pipeline(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let yaml = lower.ends_with(".yml") || lower.ends_with(".yaml");
    (yaml && lower.starts_with(".github/workflows/"))
        || lower.starts_with(".github/actions/")
        || (yaml
            && (lower.starts_with(".circleci/")
                || lower.starts_with(".buildkite/")
                || lower.starts_with(".woodpecker/")))
        || matches!(
            lower.as_str(),
            ".gitlab-ci.yml"
                | "jenkinsfile"
                | "azure-pipelines.yml"
                | ".travis.yml"
                | ".drone.yml"
                | "bitbucket-pipelines.yml"
                | "action.yml"
                | "action.yaml"
        )
}

/// Who owns what: the last line of a pattern counts.
fn owners(blob: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut rules = BTreeMap::new();
    for line in blob_lines(blob) {
        let text = String::from_utf8_lossy(line);
        let text = text.split(" #").next().unwrap_or_default().trim();
        if text.is_empty() || text.starts_with(['#', '[', '^']) {
            continue;
        }
        let mut words = text.split_whitespace().map(str::to_owned);
        if let Some(pattern) = words.next() {
            rules.insert(pattern, words.collect());
        }
    }
    rules
}

async fn sides(change: &dyn Change, file: &ChangedFile) -> Result<(Vec<u8>, Vec<u8>), ChangeError> {
    let before = match file.status {
        FileStatus::Added => None,
        _ => change.read(Side::Left, file.base_path()).await?,
    };
    let after = match file.status {
        FileStatus::Removed => None,
        _ => change.read(Side::Right, &file.path).await?,
    };
    Ok((before.unwrap_or_default(), after.unwrap_or_default()))
}

fn named(owners: Option<&Vec<String>>) -> String {
    match owners {
        Some(names) if !names.is_empty() => span(&names.join(" ")),
        _ => "nobody".to_owned(),
    }
}

async fn owners_changed(
    change: &dyn Change,
    file: &ChangedFile,
    found: &mut Found<'_>,
) -> Result<(), ChangeError> {
    let (before, after) = sides(change, file).await?;
    let (before, after) = (owners(&before), owners(&after));
    let patterns: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let moved: Vec<&String> = patterns
        .into_iter()
        .filter(|p| before.get(*p) != after.get(*p))
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    let list = bullets(&moved, |pattern| {
        format!(
            "{}: {} → {}",
            span(pattern),
            named(before.get(*pattern)),
            named(after.get(*pattern))
        )
    });
    let draft = remark(
        "owners-changed",
        Priority::P2,
        0.9,
        format!("{} changes who must review", short(&file.path)),
        format!("Who owns what, before and after:\n{list}\n\nThose who lose a path should agree."),
    )
    .unanchored();
    found.drafts.push(advice(draft));
    Ok(())
}

/// What a policy file that the next pull request could not be reviewed under says.
pub(super) fn policy_fault(blob: &[u8]) -> Option<(Option<usize>, String)> {
    policy::parse(POLICY, blob).err().map(|e| (e.line, e.message))
}

/// Dotted names and their values.
fn flat(blob: &[u8]) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let text = String::from_utf8_lossy(blob);
    if text.len() > policy::MAX_BYTES {
        return out;
    }
    let Ok(table) = text.parse::<toml::Table>() else {
        return out;
    };
    let mut open: Vec<(String, toml::Value)> = table.into_iter().collect();
    while let Some((name, value)) = open.pop() {
        match value {
            toml::Value::Table(table) => {
                open.extend(
                    table
                        .into_iter()
                        .map(|(key, value)| (format!("{name}.{key}"), value)),
                );
            }
            value => drop(out.insert(name, value.to_string())),
        }
    }
    out
}

async fn policy_changed(
    change: &dyn Change,
    file: &ChangedFile,
    found: &mut Found<'_>,
) -> Result<(), ChangeError> {
    let (before, after) = sides(change, file).await?;
    if file.status != FileStatus::Removed
        && let Some((line, message)) = policy_fault(&after)
    {
        let remark = remark(
            BROKEN_POLICY,
            Priority::P1,
            0.95,
            "Jury cannot read this policy".to_owned(),
            format!(
                "{}. Once it is merged, no pull request can be reviewed.",
                span(&message)
            ),
        );
        let added: Vec<(u32, &[u8])> = file
            .added_lines()
            .filter(|(_, t)| !t.trim_ascii().is_empty())
            .collect();
        let at = added
            .iter()
            .find(|(n, _)| Some(*n as usize) == line)
            .or(added.first());
        found.drafts.push(match at {
            Some((number, text)) => remark.on_line(file, *number, text),
            None => remark.unanchored(),
        });
    }
    let (before, after) = (flat(&before), flat(&after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let moved: Vec<&String> = names
        .into_iter()
        .filter(|n| before.get(*n) != after.get(*n))
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    let value = |value: Option<&String>| value.map_or_else(|| "default".to_owned(), |v| span(v));
    let list = bullets(&moved, |name| {
        format!(
            "{}: {} → {}",
            span(name),
            value(before.get(*name)),
            value(after.get(*name))
        )
    });
    let draft = remark(
        "policy-changed",
        Priority::P2,
        0.9,
        "This changes the rules by which Jury reviews".to_owned(),
        format!(
            "From the merge on:\n{list}\n\nThis pull request is still reviewed under the rules of its base."
        ),
    )
    .unanchored();
    found.drafts.push(advice(draft));
    Ok(())
}

/// What a workflow can reach that it could not before, as far as its lines tell.
fn reach(file: &ChangedFile) -> BTreeSet<String> {
    let collect = |lines: &mut dyn Iterator<Item = (u32, &[u8])>| {
        let mut out = BTreeSet::new();
        for (_, line) in lines {
            if line.len() <= 2000 {
                powers(&String::from_utf8_lossy(line), &mut out);
            }
        }
        out
    };
    let before = collect(&mut file.removed_lines());
    let after = collect(&mut file.added_lines());
    after.difference(&before).cloned().collect()
}

fn powers(line: &str, out: &mut BTreeSet<String>) {
    let text = line.trim().trim_start_matches("- ").trim();
    if text.starts_with('#') {
        return;
    }
    for part in text.split("secrets.").skip(1) {
        let name: String = part
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        if !name.is_empty() {
            out.insert(format!("the secret {}", span(&name)));
        }
    }
    let key = text.split(':').next().unwrap_or_default().trim();
    let value = text
        .split_once(':')
        .map_or("", |(_, v)| v.split('#').next().unwrap_or_default().trim());
    if value == "write" || value == "write-all" {
        out.insert(format!("the permission {}", span(&format!("{key}: {value}"))));
    }
    if matches!(key, "pull_request_target" | "workflow_run" | "issue_comment") {
        out.insert(format!("the trigger {}", span(key)));
    }
    if key == "runs-on" && value.contains("self-hosted") {
        out.insert("a self-hosted runner".to_owned());
    }
    if key == "uses" && !value.starts_with("./") {
        let action = value
            .trim_matches(['"', '\''])
            .split('@')
            .next()
            .unwrap_or_default();
        if !action.is_empty() && !action.starts_with("actions/") {
            out.insert(format!("the action {}", span(action)));
        }
    }
}

pub(super) async fn judge<'a>(change: &'a dyn Change, found: &mut Found<'a>) -> Result<(), ChangeError> {
    let mut pipelines: Vec<&ChangedFile> = Vec::new();
    for file in change.files() {
        let touched = [file.path.as_str(), file.base_path()];
        let same = file.old_oid.is_some() && file.old_oid == file.new_oid && file.path == file.base_path();
        if same {
            continue;
        }
        if touched.iter().any(|p| is_owners(p)) {
            owners_changed(change, file, found).await?;
        } else if touched.contains(&POLICY) {
            policy_changed(change, file, found).await?;
        } else if touched.iter().any(|p| is_pipeline(p)) {
            pipelines.push(file);
        }
    }
    if pipelines.is_empty() {
        return Ok(());
    }
    let title = match pipelines.as_slice() {
        [one] => format!("{} changes what the forge runs", short(&one.path)),
        many => format!("{} files change what the forge runs", many.len()),
    };
    let list = bullets(&pipelines, |file| {
        let new: Vec<String> = reach(file).into_iter().take(8).collect();
        if new.is_empty() {
            span(&file.path)
        } else {
            format!("{}: now with {}", span(&file.path), new.join(", "))
        }
    });
    let body = format!(
        "It runs with the repository's own rights:\n{list}\n\nRead it as you would read a deployment."
    );
    let draft = remark("pipeline-changed", Priority::P3, 0.9, title, body).unanchored();
    found.drafts.push(advice(draft));
    Ok(())
}
