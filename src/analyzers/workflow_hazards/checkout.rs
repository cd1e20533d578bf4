//! Code from outside, checked out where the repository's rights and secrets are.
//!
//! Source: GitHub Security Lab, "Preventing pwn requests".

use crate::{
    analyzers::{hazard::Hazard, yaml::Node},
    domain::review::finding::Priority,
};

use super::{
    expression::{Env, all_carried, names_foreign_code},
    model::{File, Place},
};

const RULE: &str = "workflow_hazards/untrusted-checkout";

/// Events with rights whose payload leads to foreign code.
const PRIVILEGED: &[&str] = &["pull_request_target", "workflow_run", "issue_comment"];

/// Judges a step; `after` are those that follow it in its job.
pub(super) fn judge(file: &mut File<'_>, step: Place<'_>, after: &[Node<'_>]) {
    let causes = file.started_by(PRIVILEGED);
    if causes.is_empty() {
        return;
    }
    let Some(line) = checks_out(file, step) else {
        return;
    };
    let runs = after.iter().any(|step| runs_code(file, *step));
    let (priority, confidence) = match (runs, step.gated) {
        (true, false) => (Priority::P0, 0.85),
        (true, true) | (false, false) => (Priority::P1, 0.75),
        (false, true) => (Priority::P2, 0.6),
    };
    let what = if runs {
        "and a later step runs it"
    } else {
        "and nothing keeps a later step from running it"
    };
    file.hazards.push(Hazard {
        rule: RULE,
        priority,
        confidence,
        title: "A pull request's code is checked out with the repository's rights".to_owned(),
        body: format!(
            "This trigger runs with a token that may write and with secrets, the code is anybody's, {what}: a build file, \
             a hook or a test in it is enough to take them. Do the work in a `pull_request` workflow, and hand only its \
             results to one with rights."
        ),
        line,
        causes,
        secret: false,
    });
}

/// The line on which a step fetches foreign code.
fn checks_out(file: &mut File<'_>, step: Place<'_>) -> Option<u32> {
    let uses = step.node.get("uses").and_then(Node::text).unwrap_or_default();
    if uses.to_ascii_lowercase().starts_with("actions/checkout@") {
        return ["ref", "repository"].iter().find_map(|input| {
            let value = step.node.get("with")?.get(input)?;
            let text = value.text()?;
            (file.spend(text.len() * (1 + step.env.len())) && foreign(text, step.env)).then_some(value.line())
        });
    }
    let script = step.node.get("run")?;
    if !file.spend(script.text()?.len() * (1 + step.env.len())) {
        return None;
    }
    (script.line()..=script.last_line()).find(|number| {
        let line = file.lines.get(*number as usize - 1).copied().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let git = [
            "checkout", "fetch", "pull", "clone", "switch", "merge", "reset", "worktree",
        ]
        .iter()
        .any(|verb| line.contains(&format!("git {verb}")));
        line.contains("gh pr checkout") || (git && foreign(&line, step.env))
    })
}

/// Whether a text names a pull request's code.
fn foreign(text: &str, env: &Env) -> bool {
    let pull = text.contains("refs/pull/") || (text.contains("pull/") && text.contains("/head"));
    let by_variable = env
        .iter()
        .filter(|(_, carried)| carried.iter().any(|c| names_foreign_code(&c.path)))
        .any(|(name, _)| {
            let lower = text.to_ascii_lowercase();
            lower.contains(&format!("${name}")) || lower.contains(&format!("${{{name}}}"))
        });
    pull || by_variable || all_carried(text, env).iter().any(|c| names_foreign_code(&c.path))
}

/// Whether a step runs what lies in the folder.
fn runs_code(file: &mut File<'_>, step: Node<'_>) -> bool {
    const TOOLS: &[&str] = &[
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "bun",
        "make",
        "cmake",
        "cargo",
        "pip",
        "pip3",
        "python",
        "python3",
        "pytest",
        "tox",
        "nox",
        "poetry",
        "uv",
        "go",
        "mvn",
        "gradle",
        "bundle",
        "rake",
        "ruby",
        "node",
        "deno",
        "sh",
        "bash",
        "source",
        "docker",
        "composer",
        "php",
        "dotnet",
        "bazel",
        "swift",
        "mix",
        "just",
        "pre-commit",
        "nix",
    ];
    if step
        .get("uses")
        .and_then(Node::text)
        .is_some_and(|u| u.starts_with("./"))
    {
        return true;
    }
    let script = step.get("run").and_then(Node::text).unwrap_or_default();
    file.spend(script.len())
        && script
            .split([' ', '\n', '\t', ';', '(', '&', '|', '"'])
            .any(|word| {
                TOOLS.contains(&word)
                    || word.starts_with("./")
                    || word.starts_with("bin/")
                    || word.starts_with("scripts/")
            })
}
