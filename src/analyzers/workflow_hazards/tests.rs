use proptest::prelude::*;

use super::WorkflowHazards;
use crate::{
    analyzers::doubles::{TextChange, found, holds, report},
    domain::review::reviewer::ContributionState,
};

const PATH: &str = ".github/workflows/ci.yml";
const NONE: [&str; 0] = [];
const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

fn shown(change: &TextChange) -> Vec<String> {
    found(&WorkflowHazards, change)
        .into_iter()
        .map(|f| {
            f.replace("workflow_hazards/", "")
                .replace(&format!(" {PATH}"), "")
        })
        .collect()
}

fn rules(text: impl AsRef<[u8]>) -> Vec<String> {
    shown(&TextChange::new().adding(PATH, text))
}

/// A workflow of one job with these steps; the first step is on line 7.
fn workflow(on: &str, steps: &str) -> String {
    format!("on: {on}\npermissions: {{}}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n{steps}")
}

#[track_caller]
fn steps(on: &str, steps: &str, expected: &[&str]) {
    assert_eq!(rules(workflow(on, steps)), expected, "{on}: {steps}");
}

#[test]
fn text_from_outside_in_a_script_weighs_what_its_trigger_may_do() {
    let title = "      - run: echo \"${{ github.event.issue.title }}\"\n";
    steps("issues", title, &["p0 script-injection:7"]);
    steps("[push, issue_comment]", title, &["p0 script-injection:7"]);
    // It never has a value there.
    steps("push", title, &NONE);
    let head = "      - run: |\n          echo a\n          git checkout ${{ github.head_ref }}\n";
    steps("pull_request", head, &["p2 script-injection:9"]);
    let message = "      - run: ./log '${{ github.event.head_commit.message }}'\n";
    steps("push", message, &["p1 script-injection:7"]);
    steps("{workflow_call: }", title, &["p1 script-injection:7"]);
    let gated = "      - if: github.event.comment.author_association == 'OWNER'\n        run: ${{ github.event.comment.body }}\n";
    steps("issue_comment", gated, &["p1 script-injection:8"]);
}

#[test]
fn scripts_are_more_than_run_and_detours_are_followed() {
    let script = format!(
        "      - uses: actions/github-script@{SHA}\n        with:\n          script: |\n            f(`${{{{ github.event.comment.body }}}}`)\n"
    );
    steps("issue_comment", &script, &["p0 script-injection:10"]);
    steps(
        "issues",
        "      - env:\n          T: ${{ github.event.issue.body }}\n        run: echo ${{ env.T }}\n",
        &["p0 script-injection:9"],
    );
    // An escape in quotes, and an expression over two lines.
    steps(
        "issues",
        "      - run: \"echo \\u0024{{ github.event.issue.body }}\"\n",
        &["p0 script-injection:7"],
    );
    steps(
        "issues",
        "      - run: |\n          echo ${{\n            github.event.issue.body }}\n",
        &["p0 script-injection:8"],
    );
    let action =
        "runs:\n  using: composite\n  steps:\n    - run: echo ${{ github.head_ref }}\n      shell: bash\n";
    let change = TextChange::new().adding("a/action.yml", action);
    assert_eq!(
        found(&WorkflowHazards, &change),
        ["p1 workflow_hazards/script-injection a/action.yml:4"]
    );
}

#[test]
fn what_is_safe_in_a_script_is_left_alone() {
    for step in [
        "      - env:\n          T: ${{ github.event.issue.title }}\n        run: echo \"$T\"\n",
        "      - run: echo ${{ github.event.issue.number }} ${{ github.sha }} ${{ matrix.os }}\n",
        "      - run: echo ${{ contains(github.event.issue.title, 'x') }}\n",
        "      - if: github.event.issue.title == 'x'\n        run: echo\n",
        "      - name: ${{ github.event.issue.title }}\n        run: echo\n",
        "      - run: echo # no expression: $ {{ github.event.issue.title }}\n",
    ] {
        steps("issues", step, &NONE);
    }
}

#[test]
fn foreign_code_with_the_repositorys_rights_is_told_at_the_checkout() {
    let checkout = |reference: &str| {
        format!("      - uses: actions/checkout@{SHA}\n        with:\n          ref: {reference}\n")
    };
    let head = checkout("${{ github.event.pull_request.head.sha }}");
    let test = "      - run: npm test\n";
    steps(
        "pull_request_target",
        &format!("{head}{test}"),
        &["p0 untrusted-checkout:9"],
    );
    steps("pull_request_target", &head, &["p1 untrusted-checkout:9"]);
    steps(
        "[workflow_run]",
        &format!("{}{test}", checkout("${{ github.event.workflow_run.head_sha }}")),
        &["p0 untrusted-checkout:9"],
    );
    steps(
        "pull_request_target",
        &format!("{}{test}", checkout("refs/pull/${{ github.event.number }}/merge")),
        &["p0 untrusted-checkout:9"],
    );
    steps(
        "issue_comment",
        "      - run: |\n          gh pr checkout 1\n      - run: make\n",
        &["p0 untrusted-checkout:8"],
    );
    steps(
        "pull_request_target",
        "      - env:\n          S: ${{ github.event.pull_request.head.sha }}\n        run: git fetch origin \"$S\"\n",
        &["p1 untrusted-checkout:9"],
    );
    let gated =
        format!("{head}        if: contains(github.event.pull_request.labels.*.name, 'safe')\n{test}");
    steps("pull_request_target", &gated, &["p1 untrusted-checkout:9"]);
    let asked = format!("      - run: gh api repos/x/collaborators/$WHO\n{head}{test}");
    steps("pull_request_target", &asked, &["p1 untrusted-checkout:10"]);
    // Near misses: no rights, or the base's own code.
    steps("pull_request", &format!("{head}{test}"), &NONE);
    steps(
        "pull_request_target",
        &format!("      - uses: actions/checkout@{SHA}\n{test}"),
        &NONE,
    );
    steps(
        "pull_request_target",
        &format!("{}{test}", checkout("main")),
        &NONE,
    );
}

#[test]
fn a_line_that_changes_the_meaning_of_others_is_where_they_are_told() {
    let job = format!(
        "permissions: {{}}\njobs:\n  a:\n    runs-on: self-hosted\n    steps:\n      - uses: actions/checkout@{SHA}\n        with:\n          \
         ref: ${{{{ github.event.pull_request.head.sha }}}}\n      - run: make ${{{{ github.head_ref }}}}\n"
    );
    let change = TextChange::new().changing(
        PATH,
        format!("on: pull_request\n{job}"),
        format!("on: pull_request_target\n{job}"),
    );
    assert_eq!(
        shown(&change),
        ["p0 untrusted-checkout:1", "p0 script-injection:1"]
    );
    let body = &report(&WorkflowHazards, &change).drafts[0].body;
    assert!(body.contains("It is about line 9"), "{body}");
    // An unrelated change says nothing of what was there.
    let text = format!("on: pull_request_target\n{job}");
    let change = TextChange::new().changing(PATH, &text, format!("{text}      - run: echo\n"));
    assert_eq!(shown(&change), NONE);
    // Neither does moving or indenting it.
    let change = TextChange::new().changing(PATH, &text, format!("name: a\n\n{text}"));
    assert_eq!(shown(&change), NONE);
}

#[test]
fn actions_are_pinned_by_commit() {
    steps("push", "      - uses: a/b@v1\n", &["p3 unpinned-action:7"]);
    steps(
        "push",
        "      - uses: actions/checkout@v4\n",
        &["p3 unpinned-action:7"],
    );
    steps(
        "push",
        "      - uses: docker://alpine:3\n",
        &["p2 unpinned-action:7"],
    );
    assert_eq!(
        rules("on: push\npermissions: {}\njobs:\n  a:\n    uses: a/b/.github/workflows/c.yml@main\n"),
        ["p2 unpinned-action:5"]
    );
    let digest = "a".repeat(64);
    for uses in [
        &format!("a/b@{SHA} # v1"),
        "./.github/actions/x",
        &format!("docker://alpine@sha256:{digest}"),
    ] {
        steps("push", &format!("      - uses: {uses}\n"), &NONE);
    }
    let change = TextChange::new().adding(
        PATH,
        workflow(
            "push",
            "      - uses: a/b@main\n      - uses: a/c@stable\n      - uses: a/d@master\n",
        ),
    );
    assert_eq!(shown(&change), ["p2 unpinned-action:7"]);
    assert!(
        report(&WorkflowHazards, &change).drafts[0]
            .body
            .ends_with("Also on lines 8, 9.")
    );
}

#[test]
fn permissions_are_told_when_they_are_all_or_unsaid() {
    let job = "jobs:\n  a:\n    runs-on: x\n    steps: []\n";
    assert_eq!(
        rules(format!("on: push\npermissions: write-all\n{job}")),
        ["p2 broad-permissions:2"]
    );
    assert_eq!(
        rules(format!("on: issues\npermissions: write-all\n{job}")),
        ["p1 broad-permissions:2"]
    );
    assert_eq!(
        rules("on: push\njobs:\n  a:\n    permissions: write-all\n    steps: []\n"),
        ["p2 broad-permissions:4"]
    );
    assert_eq!(rules(format!("on: push\n{job}")), ["p3 default-permissions:2"]);
    assert_eq!(rules(format!("on: push\npermissions: read-all\n{job}")), NONE);
    assert_eq!(
        rules("on: push\njobs:\n  a:\n    permissions:\n      contents: read\n    steps: []\n"),
        NONE
    );
}

#[test]
fn secrets_are_neither_printed_nor_handed_out_by_the_dozen() {
    for step in [
        "      - run: echo ${{ secrets.A }}\n",
        "      - run: make; echo \"a ${{ secrets['A'] }}\"\n",
        "      - run: printf '%s' $KEY\n        env:\n          KEY: ${{ secrets.A }}\n",
    ] {
        steps("push", step, &["p2 secret-in-log:7"]);
    }
    for step in [
        "      - run: echo ${{ secrets.A }} | docker login --password-stdin\n",
        "      - run: echo ${{ secrets.A }} > key\n",
        "      - run: echo \"::add-mask::${{ secrets.A }}\"\n",
        "      - run: echo $KEYS\n        env:\n          KEY: ${{ secrets.A }}\n",
        "      - run: deploy --token ${{ secrets.A }}\n",
        "      - run: |\n          {\n            echo ${{ secrets.A }}\n          } > key\n",
    ] {
        steps("push", step, &NONE);
    }
    steps(
        "push",
        "      - run: x\n        env:\n          A: ${{ toJSON(secrets) }}\n",
        &["p1 all-secrets:9"],
    );
    let called = |uses: &str| {
        rules(format!(
            "on: push\npermissions: {{}}\njobs:\n  a:\n    uses: {uses}\n    secrets: inherit\n"
        ))
    };
    assert_eq!(
        called(&format!("a/b/.github/workflows/c.yml@{SHA}")),
        ["p2 secrets-inherit:6"]
    );
    assert_eq!(called("./.github/workflows/c.yml"), ["p3 secrets-inherit:6"]);
    assert_eq!(
        rules(
            "on: push\npermissions: {}\njobs:\n  a:\n    uses: ./c.yml\n    secrets:\n      A: ${{ secrets.A }}\n"
        ),
        NONE
    );
}

#[test]
fn own_runners_and_old_commands_are_told() {
    let runner = |on: &str, runs_on: &str| {
        rules(format!(
            "on: {on}\npermissions: {{}}\njobs:\n  a:\n    runs-on: {runs_on}\n    steps: []\n"
        ))
    };
    for runs_on in ["self-hosted", "[self-hosted, linux]", "{labels: [self-hosted]}"] {
        assert_eq!(
            runner("pull_request", runs_on),
            ["p2 self-hosted-runner:5"],
            "{runs_on}"
        );
        assert_eq!(runner("push", runs_on), NONE, "{runs_on}");
    }
    assert_eq!(runner("pull_request", "ubuntu-latest"), NONE);
    let old = "        env:\n          ACTIONS_ALLOW_UNSECURE_COMMANDS: ";
    steps(
        "push",
        &format!("      - run: x\n{old}true\n"),
        &["p1 unsecure-commands:9"],
    );
    steps(
        "push",
        &format!("      - run: x\n{old}'true'\n"),
        &["p1 unsecure-commands:9"],
    );
    steps("push", &format!("      - run: x\n{old}false\n"), &NONE);
}

#[test]
fn text_from_outside_in_the_runners_files_is_told() {
    let env = "        env:\n          T: ${{ github.event.issue.title }}\n";
    steps(
        "issues",
        &format!("      - run: echo \"T=$T\" >> $GITHUB_ENV\n{env}"),
        &["p1 environment-injection:7"],
    );
    steps(
        "issues",
        &format!("      - run: echo \"${{T}}\" >> \"$GITHUB_PATH\"\n{env}"),
        &["p1 environment-injection:7"],
    );
    steps(
        "issues",
        &format!("      - run: echo \"T=$T\" >> $GITHUB_OUTPUT\n{env}"),
        &NONE,
    );
    steps(
        "issues",
        &format!("      - run: echo \"T=$TITLE\" >> $GITHUB_ENV\n{env}"),
        &NONE,
    );
    steps(
        "push",
        &format!("      - run: echo \"T=$T\" >> $GITHUB_ENV\n{env}"),
        &NONE,
    );
}

#[test]
fn only_workflows_and_actions_are_read_and_what_cannot_be_read_is_said() {
    let text = workflow("issues", "      - run: ${{ github.event.issue.title }}\n");
    for path in [
        "ci.yml",
        "docs/workflows/ci.yml",
        ".github/workflows/README.md",
        ".github/dependabot.yml",
    ] {
        assert_eq!(
            found(&WorkflowHazards, &TextChange::new().adding(path, &text)),
            NONE,
            "{path}"
        );
    }
    assert_eq!(shown(&TextChange::new().removing(PATH, &text)), NONE);
    for broken in ["on: [\n", "a: \0\n", "a: b\n\tc: d\n", "a: &a [*a]\n"] {
        let report = report(&WorkflowHazards, &TextChange::new().adding(PATH, broken));
        assert_eq!(report.state, ContributionState::Partial, "{broken}");
        assert_eq!(report.note.as_deref(), Some("not read: .github/workflows/ci.yml"));
    }
    let windows = text.replace('\n', "\r\n");
    assert_eq!(rules(format!("\u{FEFF}{windows}")), ["p0 script-injection:7"]);
}

#[test]
fn the_blob_decides() {
    let change = TextChange::new().adding(
        PATH,
        workflow("issues", "      - run: ${{ github.event.issue.title }}\n"),
    );
    let draft = report(&WorkflowHazards, &change).drafts.remove(0);
    let clean = TextChange::new().adding(PATH, workflow("issues", "      - run: echo\n"));
    assert_eq!(holds(&WorkflowHazards, &clean, &draft), Some(false));
}

#[test]
fn aliases_without_end_are_bounded() {
    let script = "echo ${{ github.event.issue.title }}\\n".repeat(2_000);
    let mut text = format!("on: issues\nx: &run \"{script}\"\ny: &env\n");
    for i in 0..5_000 {
        text.push_str(&format!("  A{i}: ${{{{ secrets.A }}}}\n"));
    }
    text.push_str("jobs:\n  a:\n    steps:\n");
    for _ in 0..5_000 {
        text.push_str("      - {run: *run, env: *env}\n");
    }
    let report = report(&WorkflowHazards, &TextChange::new().adding(PATH, text));
    assert_eq!(report.state, ContributionState::Partial);
}

proptest! {
    #[test]
    fn any_workflow_is_judged_or_refused(parts in prop::collection::vec(prop_oneof![
        prop::collection::vec(any::<u8>(), 0..6),
        prop::sample::select(vec![
            "on: issues\n", "jobs:\n  a:\n    steps:\n", "      - run: ", "${{ github.head_ref }}", "${{", "}}", "'",
            "github.event.issue.title", "|\n          ", "\n", "\r\n", "      - uses: actions/checkout@v4\n",
            "        with:\n          ref: ", "        env:\n          A: ", "echo $A >> $GITHUB_ENV\n", "[", "]", "(", ")",
            "permissions: write-all\n", "secrets.A", "&a ", "*a", "\t", "\0", "on: {workflow_call: }\n",
        ]).prop_map(|s| s.as_bytes().to_vec()),
    ], 0..30)) {
        // `rules` asks the verifier's question of everything that was found.
        rules([parts.concat(), b"\n".to_vec()].concat());
    }
}
