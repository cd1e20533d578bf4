//! A workflow as the rules see it: triggers, jobs, steps, and what the variables hold.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    analyzers::{
        hazard::Hazard,
        yaml::{self, Entry, Node},
    },
    domain::review::grounding::blob_lines,
};

use super::{
    Role, checkout,
    expression::{Carried, Env, all_carried},
    rules,
};

/// Bytes and entries that are looked at in one file; aliases could name the same text
/// without end.
const MOST_WORK: usize = 16 << 20;

/// The file being judged.
pub(super) struct File<'a> {
    pub(super) role: Role,
    pub(super) lines: Vec<&'a [u8]>,
    /// The events that start it, with their lines.
    pub(super) triggers: BTreeMap<String, u32>,
    pub(super) hazards: Vec<Hazard>,
    work: usize,
}

/// A step, or a job that calls a workflow, with what is known around it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) node: Node<'a>,
    pub(super) env: &'a Env,
    /// Names of variables that hold a secret.
    pub(super) secrets: &'a BTreeSet<String>,
    /// Whether a condition or an environment lets only some through.
    pub(super) gated: bool,
}

impl File<'_> {
    /// Counts work; `false` when there has been enough.
    pub(super) fn spend(&mut self, work: usize) -> bool {
        self.work = self.work.saturating_add(work.max(1));
        self.work <= MOST_WORK
    }

    /// The lines of those of `events` that start this workflow.
    pub(super) fn started_by(&self, events: &[&str]) -> Vec<u32> {
        events
            .iter()
            .filter_map(|e| self.triggers.get(*e).copied())
            .collect()
    }

    /// Whether what starts it is known: no composite action, no called workflow.
    pub(super) fn is_entry(&self) -> bool {
        self.role == Role::Workflow && !self.triggers.contains_key("workflow_call")
    }
}

/// Every hazard in `blob`; `None` when it cannot be read.
pub(super) fn hazards(role: Role, blob: &[u8]) -> Option<Vec<Hazard>> {
    let yaml = yaml::read(blob)?;
    let mut file = File {
        role,
        lines: blob_lines(blob),
        triggers: BTreeMap::new(),
        hazards: Vec::new(),
        work: 0,
    };
    for top in yaml.documents() {
        match role {
            Role::Workflow => workflow(&mut file, top),
            Role::Action => action(&mut file, top),
        }
    }
    if file.work > MOST_WORK {
        return None;
    }
    file.hazards.sort_by_key(|h| h.line);
    Some(file.hazards)
}

/// The events of `on`, in its three spellings.
fn triggers(on: Entry<'_>) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    if let Some(event) = on.value.text() {
        found.insert(event.to_owned(), on.value.line());
    }
    for item in on.value.items() {
        if let Some(event) = item.text() {
            found.insert(event.to_owned(), item.line());
        }
    }
    for entry in on.value.entries() {
        found.insert(entry.key.to_owned(), entry.line);
    }
    found
}

/// `outer` and what `node`'s `env` adds to it.
fn env_with(
    file: &mut File<'_>,
    outer: &Env,
    secrets: &BTreeSet<String>,
    node: Node<'_>,
) -> (Env, BTreeSet<String>) {
    let (mut env, mut held) = (outer.clone(), secrets.clone());
    let Some(entries) = node.get("env") else {
        return (env, held);
    };
    for entry in entries.entries() {
        let text = entry.value.text().unwrap_or_default();
        if !file.spend(text.len()) {
            break;
        }
        let carried: Vec<Carried> = all_carried(text, outer);
        let name = entry.key.to_ascii_lowercase();
        if carried.iter().any(|c| c.path.starts_with("secrets.")) {
            held.insert(entry.key.to_owned());
        } else {
            held.remove(entry.key);
        }
        env.insert(name, carried);
    }
    (env, held)
}

/// Whether a job or a step asks who is there before it runs.
fn is_gated(node: Node<'_>) -> bool {
    const ASKS: &[&str] = &[
        "author_association",
        "github.actor",
        "sender.login",
        "user.login",
        "label",
        "permission",
        "authorize",
        "head.repo.full_name",
        "head.repo.fork",
        "head_repository.full_name",
        "workflow_run.event",
        "head_branch",
        "team",
    ];
    let condition = node.get("if").and_then(Node::text).unwrap_or_default();
    (condition.len() <= 4096 && ASKS.iter().any(|asked| condition.contains(asked)))
        || node.get("environment").is_some()
}

/// Whether a job waits for one that says in its name that it asks.
fn waits_for_leave(job: Node<'_>) -> bool {
    let needs = job.get("needs");
    needs
        .into_iter()
        .chain(needs.into_iter().flat_map(Node::items))
        .any(|n| {
            let name = n.text().unwrap_or_default();
            name.len() <= 100
                && ["auth", "permission", "gate", "approv", "allow"]
                    .iter()
                    .any(|w| name.contains(w))
        })
}

/// Whether a step asks who is there, so that what follows it runs for those who may.
fn asks(file: &mut File<'_>, step: Node<'_>) -> bool {
    const QUESTIONS: &[&str] = &[
        "checkCollaborator",
        "getCollaboratorPermissionLevel",
        "/collaborators/",
        "author_association",
        "getMembershipForUser",
        "/memberships/",
    ];
    let script = step.get("with").and_then(|with| with.get("script"));
    step.get("run")
        .into_iter()
        .chain(script)
        .filter_map(Node::text)
        .any(|text| file.spend(text.len()) && QUESTIONS.iter().any(|q| text.contains(q)))
}

fn workflow(file: &mut File<'_>, top: Node<'_>) {
    if let Some(on) = top.entry("on").or_else(|| top.entry("true")) {
        file.triggers.extend(triggers(on));
    }
    rules::permissions(file, top);
    rules::unsecure_commands(file, top);
    let (env, secrets) = env_with(file, &Env::new(), &BTreeSet::new(), top);
    let mut seen = BTreeSet::new();
    for job in top.get("jobs").into_iter().flat_map(Node::entries) {
        if !seen.insert(job.value.id()) || !file.spend(64 * env.len()) {
            continue;
        }
        let (env, secrets) = env_with(file, &env, &secrets, job.value);
        let place = Place {
            node: job.value,
            env: &env,
            secrets: &secrets,
            gated: is_gated(job.value) || waits_for_leave(job.value),
        };
        rules::unsecure_commands(file, job.value);
        rules::runner(file, job.value);
        rules::called_workflow(file, place);
        steps(file, place, &mut seen);
    }
}

fn action(file: &mut File<'_>, top: Node<'_>) {
    let Some(runs) = top.get("runs") else {
        return;
    };
    let place = Place {
        node: runs,
        env: &Env::new(),
        secrets: &BTreeSet::new(),
        gated: false,
    };
    steps(file, place, &mut BTreeSet::new());
}

fn steps(file: &mut File<'_>, job: Place<'_>, seen: &mut BTreeSet<usize>) {
    let steps: Vec<Node<'_>> = job.node.get("steps").into_iter().flat_map(Node::items).collect();
    let mut gated = job.gated;
    for (i, step) in steps.iter().enumerate() {
        if !seen.insert(step.id()) || !file.spend(64 * job.env.len()) {
            continue;
        }
        let (env, secrets) = env_with(file, job.env, job.secrets, *step);
        let place = Place {
            node: *step,
            env: &env,
            secrets: &secrets,
            gated: gated || is_gated(*step),
        };
        rules::unsecure_commands(file, *step);
        rules::pinning(file, *step);
        rules::scripts(file, place);
        rules::whole_secrets(file, *step);
        checkout::judge(file, place, &steps[i + 1..]);
        gated = gated || asks(file, *step);
    }
}
