//! The rules but for the checkout of foreign code ([`super::checkout`]).

use crate::{
    analyzers::{hazard::Hazard, yaml::Node},
    domain::{
        review::finding::Priority,
        text::{code_span, truncate_chars},
    },
};

use super::{
    expression::{Carried, all_carried, brought_by, carried, expressions},
    model::{File, Place},
};

const SCRIPT_INJECTION: &str = "workflow_hazards/script-injection";
const ENVIRONMENT_INJECTION: &str = "workflow_hazards/environment-injection";
const UNPINNED: &str = "workflow_hazards/unpinned-action";
const PERMISSIONS: &str = "workflow_hazards/broad-permissions";
const DEFAULT_PERMISSIONS: &str = "workflow_hazards/default-permissions";
const SECRET_IN_LOG: &str = "workflow_hazards/secret-in-log";
const ALL_SECRETS: &str = "workflow_hazards/all-secrets";
const INHERITED: &str = "workflow_hazards/secrets-inherit";
const RUNNER: &str = "workflow_hazards/self-hosted-runner";
const UNSECURE: &str = "workflow_hazards/unsecure-commands";

/// Events that outsiders cause and that run with the repository's rights and secrets.
const PRIVILEGED: &[&str] = &[
    "pull_request_target",
    "issues",
    "issue_comment",
    "discussion",
    "discussion_comment",
    "workflow_run",
    "gollum",
];

/// The weight of text from outside in a script, and the lines of what brings it; `None`
/// where nothing does.
fn weight(file: &File<'_>, carried: &Carried, gated: bool) -> Option<(Priority, f64, Vec<u32>)> {
    let events = brought_by(carried);
    if events.is_empty() {
        return None;
    }
    let privileged: Vec<&str> = events
        .iter()
        .copied()
        .filter(|e| PRIVILEGED.contains(e))
        .collect();
    let lines = file.started_by(&privileged);
    if !lines.is_empty() {
        let (priority, confidence) = if gated {
            (Priority::P1, 0.7)
        } else {
            (Priority::P0, 0.9)
        };
        return Some((priority, confidence, lines));
    }
    let lines = file.started_by(&events);
    match (lines.is_empty(), file.is_entry()) {
        // A commit's message reaches the default branch with somebody else's merge.
        (false, _) if events.contains(&"push") => Some((Priority::P1, 0.7, lines)),
        // A fork's pull request has neither secrets nor rights to lose.
        (false, _) => Some((Priority::P2, 0.8, lines)),
        // Whoever calls it brings the event.
        (true, false) => Some((Priority::P1, 0.7, Vec::new())),
        (true, true) => None,
    }
}

/// The scripts of a step: `run`, and the inputs that actions run.
fn scripts_of(step: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let inputs = step.get("with").into_iter().flat_map(Node::entries).filter(|e| {
        matches!(
            e.key.to_ascii_lowercase().as_str(),
            "script" | "run" | "inlinescript" | "command" | "cmd"
        )
    });
    step.get("run").into_iter().chain(inputs.map(|e| e.value))
}

/// Text from outside in scripts and in the runner's files; secrets that are printed.
pub(super) fn scripts(file: &mut File<'_>, step: Place<'_>) {
    for script in scripts_of(step.node) {
        let Some(text) = script.text() else {
            continue;
        };
        let (first, last) = (script.line(), script.last_line());
        let size = (first..=last)
            .filter_map(|n| file.lines.get(n as usize - 1))
            .map(|l| l.len() + 16)
            .sum::<usize>();
        if !file.spend(text.len() + size) {
            return;
        }
        let mut told = false;
        let groups = text
            .lines()
            .any(|l| l.trim_start().starts_with('}') && l.contains('>'));
        for number in first..=last {
            let line = file.lines.get(number as usize - 1).copied().unwrap_or_default();
            let line = String::from_utf8_lossy(line).into_owned();
            told |= injection(file, step, number, &line);
            environment(file, step, number, &line);
            if !groups {
                printed(file, step, number, &line);
            }
        }
        // Escapes, and expressions that go over several lines.
        if !told {
            injection(file, step, first, text);
        }
    }
}

fn injection(file: &mut File<'_>, step: Place<'_>, line: u32, text: &str) -> bool {
    if !text.contains("${{") {
        return false;
    }
    let worst = all_carried(text, step.env)
        .into_iter()
        .filter_map(|c| Some((weight(file, &c, step.gated)?, c)))
        .min_by_key(|((priority, ..), _)| *priority);
    let Some(((priority, confidence, causes), carried)) = worst else {
        return false;
    };
    file.hazards.push(Hazard {
        rule: SCRIPT_INJECTION,
        priority,
        confidence,
        title: format!("Text from outside becomes part of a script: {}", code_span(&truncate_chars(&carried.path, 80))),
        body: "The expression is pasted into the script before it runs, so whoever writes that text writes commands. \
               Put it into `env:` and use it as a quoted variable, `\"$NAME\"`."
            .to_owned(),
        line,
        causes,
        secret: false,
    });
    true
}

/// Whether `text` uses the shell variable `name`.
fn uses(text: &str, name: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches(['{', 'e', 'n', 'v', ':'].as_slice());
        let plain = text[at + 1..].trim_start_matches('{');
        [rest, plain].iter().any(|rest| {
            rest.get(..name.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(name))
                && !rest[name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        })
    })
}

/// A variable with text from outside, written to the file that sets the next steps' environment.
fn environment(file: &mut File<'_>, step: Place<'_>, line: u32, text: &str) {
    let target = ["GITHUB_ENV", "GITHUB_PATH"].iter().find(|t| text.contains(*t));
    let Some(target) = target.filter(|_| text.contains(">>") || text.contains("tee")) else {
        return;
    };
    if !file.spend(step.env.len() * text.len()) {
        return;
    }
    let worst = step
        .env
        .iter()
        .filter(|(name, _)| uses(text, name))
        .flat_map(|(_, carried)| carried)
        .filter_map(|c| weight(file, c, true))
        .min_by_key(|(priority, ..)| *priority);
    if let Some((priority, _, causes)) = worst {
        file.hazards.push(Hazard {
            rule: ENVIRONMENT_INJECTION,
            priority,
            confidence: 0.8,
            title: format!("Text from outside is written to {}", code_span(target)),
            body: "A line break in it sets any variable of the steps that follow, `LD_PRELOAD` among them. Pass it on as \
                   a step's output, or refuse what is not a plain word."
                .to_owned(),
            line,
            causes,
            secret: false,
        });
    }
}

/// A secret that a line prints.
fn printed(file: &mut File<'_>, step: Place<'_>, line: u32, text: &str) {
    const PRINTS: &[&str] = &["echo", "printf", "write-host", "write-output"];
    let text = text.trim();
    if text.starts_with('#') || text.ends_with('\\') || text.contains("add-mask") {
        return;
    }
    let spoken = text
        .split([';', '&'])
        .map(|part| {
            let part = part.trim_start();
            let part = part.strip_prefix("- ").unwrap_or(part);
            let part = part.strip_prefix("run:").unwrap_or(part);
            part.trim_start_matches([' ', '{', '(', '\'', '"'].as_slice())
        })
        .find(|part| {
            let word = part
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase();
            PRINTS.contains(&word.as_str())
        });
    let Some(spoken) = spoken.filter(|_| !text.contains(['>', '|'])) else {
        return;
    };
    if !file.spend(step.secrets.len() * spoken.len()) {
        return;
    }
    let direct = expressions(spoken)
        .into_iter()
        .flat_map(carried)
        .any(|c| c.path.starts_with("secrets."));
    if direct || step.secrets.iter().any(|name| uses(spoken, name)) {
        file.hazards.push(Hazard {
            rule: SECRET_IN_LOG,
            priority: Priority::P2,
            confidence: 0.6,
            title: "A secret is printed to the log".to_owned(),
            body: "The runner masks only the exact value; a part of it, an encoding or a line of it stays readable. Do \
                   not print it."
                .to_owned(),
            line,
            causes: Vec::new(),
            secret: false,
        });
    }
}

/// `toJSON(secrets)` in a step.
pub(super) fn whole_secrets(file: &mut File<'_>, step: Node<'_>) {
    let holders = [step.get("env"), step.get("with")];
    let values = holders
        .into_iter()
        .flatten()
        .flat_map(Node::entries)
        .map(|e| e.value);
    for value in values.chain(step.get("run")) {
        let Some(text) = value.text() else {
            continue;
        };
        if !file.spend(text.len()) {
            return;
        }
        let all = expressions(text)
            .into_iter()
            .flat_map(carried)
            .any(|c| c.whole && c.path == "secrets");
        if all {
            file.hazards.push(Hazard {
                rule: ALL_SECRETS,
                priority: Priority::P1,
                confidence: 0.9,
                title: "Every secret is handed to one step".to_owned(),
                body: "`toJSON(secrets)` gives it all secrets of the repository and the organization, those it has no use \
                       for included, and the log does not mask the whole. Name the ones it needs."
                    .to_owned(),
                line: value.line(),
                causes: Vec::new(),
                secret: false,
            });
        }
    }
}

/// Actions, images and workflows that are not named by content.
pub(super) fn pinning(file: &mut File<'_>, step: Node<'_>) {
    let Some(uses) = step.get("uses") else {
        return;
    };
    let name = uses.text().unwrap_or_default().trim();
    // Longer ones name nothing.
    if name.len() > 300 || name.starts_with("./") || name.starts_with("../") || name.contains("${{") {
        return;
    }
    let fixed = |id: &str| matches!(id.len(), 40 | 64) && id.bytes().all(|b| b.is_ascii_hexdigit());
    let hazard = if let Some(image) = name.strip_prefix("docker://") {
        if image.contains("@sha256:") {
            return;
        }
        ("Image not pinned to a digest", image, Priority::P2)
    } else {
        let Some((action, version)) = name.rsplit_once('@') else {
            return;
        };
        if fixed(version) {
            return;
        }
        let owner = action.split('/').next().unwrap_or_default().to_ascii_lowercase();
        let first_party = matches!(owner.as_str(), "actions" | "github");
        // A tag moves seldom, and nearly everybody uses them; a branch moves with every push.
        let tag = version
            .trim_start_matches('v')
            .starts_with(|c: char| c.is_ascii_digit());
        let priority = if first_party || tag {
            Priority::P3
        } else {
            Priority::P2
        };
        ("Action not pinned to a commit", name, priority)
    };
    let (title, what, priority) = hazard;
    file.hazards.push(Hazard {
        rule: UNPINNED,
        priority,
        confidence: if priority == Priority::P2 { 0.8 } else { 0.6 },
        title: format!("{title}: {}", code_span(&truncate_chars(what, 120))),
        body: "Whoever controls it can move the tag or branch to other code, which then runs here with this workflow's \
               rights. Name the full commit id (or digest), and the version in a comment."
            .to_owned(),
        line: uses.line(),
        causes: Vec::new(),
        secret: false,
    });
}

/// What a workflow or job may do with its token.
pub(super) fn permissions(file: &mut File<'_>, top: Node<'_>) {
    let jobs: Vec<_> = top.get("jobs").into_iter().flat_map(Node::entries).collect();
    let own = top.entry("permissions");
    let all = own
        .into_iter()
        .chain(jobs.iter().filter_map(|j| j.value.entry("permissions")));
    for entry in all {
        if entry.value.text() == Some("write-all") {
            let causes = file.started_by(PRIVILEGED);
            file.hazards.push(Hazard {
                rule: PERMISSIONS,
                priority: if causes.is_empty() { Priority::P2 } else { Priority::P1 },
                confidence: 0.9,
                title: "The token may write everything: `write-all`".to_owned(),
                body: "Any step, and any action that it uses, can then push code, change releases and approve pull \
                       requests. Grant the few permissions that the jobs need."
                    .to_owned(),
                line: entry.line,
                causes,
                secret: false,
            });
        }
    }
    let silent = jobs.iter().any(|j| j.value.get("permissions").is_none());
    if let (None, true, Some(jobs)) = (own, silent, top.entry("jobs")) {
        file.hazards.push(Hazard {
            rule: DEFAULT_PERMISSIONS,
            priority: Priority::P3,
            confidence: 0.5,
            title: "The workflow does not say what its token may do".to_owned(),
            body: "It then has the repository's default, which may be to write everything. Add `permissions:` with what \
                   the jobs need, `contents: read` to begin with."
                .to_owned(),
            line: jobs.line,
            causes: Vec::new(),
            secret: false,
        });
    }
}

/// A job that calls a workflow: who gets the secrets, and whether it can change.
pub(super) fn called_workflow(file: &mut File<'_>, job: Place<'_>) {
    pinning(file, job.node);
    let (Some(called), Some(secrets)) = (job.node.get("uses"), job.node.entry("secrets")) else {
        return;
    };
    if secrets.value.text() != Some("inherit") {
        return;
    }
    let own = called.text().is_some_and(|t| t.starts_with("./"));
    file.hazards.push(Hazard {
        rule: INHERITED,
        priority: if own { Priority::P3 } else { Priority::P2 },
        confidence: if own { 0.5 } else { 0.8 },
        title: "The called workflow gets every secret".to_owned(),
        body: "`secrets: inherit` hands on all of them, those it has no use for included. Name the ones it needs.".to_owned(),
        line: secrets.line,
        causes: Vec::new(),
        secret: false,
    });
}

/// A machine of one's own that runs what outsiders propose.
pub(super) fn runner(file: &mut File<'_>, job: Node<'_>) {
    let Some(on) = job.entry("runs-on") else {
        return;
    };
    let labels = on.value.get("labels").unwrap_or(on.value);
    let own = std::iter::once(labels)
        .chain(labels.items())
        .any(|l| l.text().is_some_and(|t| t.eq_ignore_ascii_case("self-hosted")));
    let causes = file.started_by(&[
        "pull_request",
        "pull_request_target",
        "issue_comment",
        "pull_request_review",
        "pull_request_review_comment",
    ]);
    if own && !causes.is_empty() {
        file.hazards.push(Hazard {
            rule: RUNNER,
            priority: Priority::P2,
            confidence: 0.6,
            title: "Pull requests run on a machine of your own".to_owned(),
            body: "In a public repository anybody's code then runs on it, and may stay there for the next job. Use a \
                   hosted or a throw-away runner for what outsiders can start."
                .to_owned(),
            line: on.line,
            causes,
            secret: false,
        });
    }
}

/// The switch that brings back commands which text in the log can give.
pub(super) fn unsecure_commands(file: &mut File<'_>, node: Node<'_>) {
    for entry in node.get("env").into_iter().flat_map(Node::entries) {
        if !file.spend(1) {
            return;
        }
        let on = entry.value.is_true() || entry.value.text() == Some("1");
        if entry.key.eq_ignore_ascii_case("ACTIONS_ALLOW_UNSECURE_COMMANDS") && on {
            file.hazards.push(Hazard {
                rule: UNSECURE,
                priority: Priority::P1,
                confidence: 0.95,
                title: "Commands in the log are obeyed again".to_owned(),
                body: "With `ACTIONS_ALLOW_UNSECURE_COMMANDS` any text that a step prints can set variables and the path \
                       of the steps after it. Write to `$GITHUB_ENV` and `$GITHUB_PATH` instead."
                    .to_owned(),
                line: entry.line,
                causes: Vec::new(),
                secret: false,
            });
        }
    }
}
