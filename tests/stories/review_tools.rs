//! `jury review` with what other tools reported, of a patch alone, and written for other programs.

use std::{fs, io::Write, process::Stdio};

use serde_json::{Value, json};

use super::review_local::{Ran, Repo, findings, ran};

/// A report of one result for each `(rule, level, uri, line)`.
fn sarif(results: &[(&str, &str, &str, u32)]) -> String {
    let results: Vec<Value> = results
        .iter()
        .map(|(rule, level, uri, line)| {
            json!({ "ruleId": rule, "level": level, "message": { "text": format!("{rule} is broken") },
                "locations": [{ "physicalLocation": {
                    "artifactLocation": { "uri": uri }, "region": { "startLine": line } } }] })
        })
        .collect();
    json!({ "version": "2.1.0", "runs": [{ "tool": { "driver": { "name": "lint" } }, "results": results }] })
        .to_string()
}

fn axis(pass: &Value, name: &str) -> (String, String) {
    let axis = pass["axes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|a| a["axis"] == name)
        .unwrap();
    (
        axis["state"].as_str().unwrap().into(),
        axis["note"].as_str().unwrap().into(),
    )
}

/// `main` has `src/a.js` of four lines; `work` changes the second and adds a test.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("src/a.js", "one();\ntwo();\nthree();\nfour();\n");
    repo.commit("A");
    repo.git("switch -q -c work");
    repo.write("src/a.js", "one();\nTWO();\nthree();\nfour();\n");
    repo.write("test/a.test.js", "it();\n");
    repo.commit("Work");
    repo
}

fn with_input(repo: &Repo, args: &str, input: &[u8]) -> Ran {
    let mut child = repo
        .command(env!("CARGO_BIN_EXE_jury"))
        .args(args.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_report_is_filtered_to_the_change_confirmed_and_judged() {
    let repo = repo();
    let report = sarif(&[
        ("on", "error", "src/a.js", 2),
        ("on", "warning", "./src/a.js", 2),
        ("near", "error", "src/a.js", 3),
        ("elsewhere", "error", "README.md", 1),
        ("nothing", "none", "src/a.js", 2),
    ]);
    fs::write(repo.home.path().join("r.sarif"), report).unwrap();
    let pass = repo.pass("--sarif ../r.sarif");
    assert_eq!(findings(&pass), ["tool:lint/on src/a.js:2 consensus_ready"]);
    assert_eq!(
        (&pass["verdict"], &pass["findings"][0]["priority"]),
        (&json!("hold"), &json!("p1"))
    );
    let (state, note) = axis(&pass, "correctness");
    assert_eq!(state, "warn");
    assert!(
        note.contains("`sarif:../r.sarif`: left out: 2 outside the change, 1 of level none, 1 of the same rule and place"),
        "{note}"
    );
    // The other axis that its rules may speak of was looked at as well.
    assert!(axis(&pass, "security").1.contains("sarif:../r.sarif (security)"));
}

#[test]
fn r14_a_report_of_a_folder_names_files_of_that_folder() {
    let repo = repo();
    fs::write(
        repo.home.path().join("r.sarif"),
        sarif(&[("on", "error", "a.js", 2)]),
    )
    .unwrap();
    let mut command = repo.command(env!("CARGO_BIN_EXE_jury"));
    command.current_dir(repo.folder.join("src")).args([
        "review",
        "--format",
        "json",
        "--sarif",
        "../../r.sarif",
    ]);
    let done = ran(&mut command);
    let pass: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(findings(&pass), ["tool:lint/on src/a.js:2 consensus_ready"]);
    // From the top, and absolute under a root that is not here.
    for uri in ["src/a.js", "file:///home/runner/work/x/src/a.js"] {
        fs::write(
            repo.home.path().join("r.sarif"),
            sarif(&[("on", "error", uri, 2)]),
        )
        .unwrap();
        assert_eq!(findings(&repo.pass("--sarif ../r.sarif")).len(), 1, "{uri}");
    }
}

#[test]
fn a_report_that_is_missing_broken_or_of_a_failed_tool_is_never_clean() {
    let repo = repo();
    let failed = json!({ "version": "2.1.0", "runs": [{ "results": [], "invocations": [{ "executionSuccessful": false }] }] });
    for (content, words) in [
        (None, "there is no such file"),
        (Some(String::new()), "the report is empty"),
        (Some("Traceback".to_owned()), "the report is no JSON"),
        (Some("{}".to_owned()), "the report is no SARIF"),
        (Some(failed.to_string()), "did not succeed"),
        (
            Some(sarif(&[("far", "error", "src/a.js", 99)])),
            "1 result on lines that cannot be read on this head",
        ),
    ] {
        let file = repo.home.path().join("r.sarif");
        let _ = fs::remove_file(&file);
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let pass = repo.pass("--sarif ../r.sarif");
        assert_eq!(pass["verdict"], "hold", "{words}");
        for name in ["correctness", "security"] {
            let (state, note) = axis(&pass, name);
            assert_eq!(state, "partial");
            assert!(note.contains(words), "{words}: {note}");
        }
    }
}

#[test]
fn every_format_is_taken_also_from_stdin_and_one_result_is_said_once() {
    let repo = repo();
    let rdjson = json!({ "source": { "name": "lint" }, "diagnostics": [{ "message": "on is broken", "code": { "value": "on" },
        "severity": "ERROR", "location": { "path": "src/a.js", "range": { "start": { "line": 2 } } } }] });
    let xml = "<checkstyle><file name=\"src/a.js\"><error line=\"2\" severity=\"info\" message=\"m\" source=\"x\"/></file></checkstyle>";
    fs::write(
        repo.home.path().join("r.sarif"),
        sarif(&[("on", "error", "src/a.js", 2)]),
    )
    .unwrap();
    fs::write(repo.home.path().join("r.json"), rdjson.to_string()).unwrap();
    fs::write(
        repo.home.path().join("r.jsonl"),
        rdjson["diagnostics"][0].to_string(),
    )
    .unwrap();
    let done = with_input(
        &repo,
        "review --format json --sarif ../r.sarif --rdjson ../r.json --rdjsonl ../r.jsonl --checkstyle -",
        xml.as_bytes(),
    );
    let pass: Value = serde_json::from_str(&done.out).unwrap();
    let mut told = findings(&pass);
    told.sort();
    assert_eq!(
        told,
        [
            "tool:checkstyle/x src/a.js:2 consensus_ready",
            "tool:lint/on src/a.js:2 consensus_ready",
            "tool:rdjson/on src/a.js:2 consensus_ready",
        ]
    );
    let twice = with_input(&repo, "review --sarif - --rdjson -", b"");
    assert_eq!((twice.code, twice.out.as_str()), (2, ""));
    assert!(twice.err.contains("stdin (-) can be read once"), "{}", twice.err);
}

#[test]
fn a_secret_in_a_patch_blocks_where_the_file_is_whole_and_holds_where_it_is_not() {
    let repo = Repo::new();
    repo.write("old.env", "A=1\nB=2\n");
    repo.commit("A");
    repo.git("switch -q -c work");
    let secret = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    repo.write("new.env", format!("TOKEN={secret}\n"));
    repo.commit("New");
    let diff = |repo: &Repo| {
        let mut command = repo.command("git");
        ran(command.args(["diff", "main...work"])).out
    };
    let review = |patch: &str| {
        let done = with_input(&repo, "review --format json --patch -", patch.as_bytes());
        assert!(!done.out.contains(&secret));
        serde_json::from_str::<Value>(&done.out).unwrap_or_else(|_| panic!("{done:?}"))
    };
    let pass = review(&diff(&repo));
    assert_eq!(
        (&pass["verdict"], &pass["head_sha"]),
        (&json!("block"), &Value::Null)
    );
    assert!(axis(&pass, "security").1.contains("Only the patch was read"));
    repo.git("rm -q new.env");
    repo.write("old.env", format!("A=1\nB=2\nTOKEN={secret}\n"));
    repo.commit("Old");
    let pass = review(&diff(&repo));
    assert_eq!(pass["verdict"], "hold");
    assert!(
        findings(&pass)[0].ends_with("old.env:3 open"),
        "{:?}",
        findings(&pass)
    );
    // Outside any repository, and clean.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("p.diff"), "diff --git a/a.md b/a.md\nindex 1111111..2222222 100644\n--- a/a.md\n+++ b/a.md\n@@ -9 +9 @@\n-a\n+b\n").unwrap();
    let mut command = repo.command(env!("CARGO_BIN_EXE_jury"));
    command
        .current_dir(elsewhere.path())
        .args(["review", "--patch", "p.diff"]);
    let done = ran(&mut command);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
    fs::write(elsewhere.path().join("p.diff"), "oops\n").unwrap();
    let done = ran(&mut command);
    assert_eq!(
        (done.code, done.err.as_str()),
        (2, "jury: the patch: line 1: not a git diff\n")
    );
}

#[test]
fn a_report_is_placed_in_a_patch_as_far_as_it_shows_the_lines() {
    let repo = repo();
    let mut command = repo.command("git");
    let diff = ran(command.args(["diff", "main...work"])).out;
    let report = sarif(&[
        ("on", "error", "src/a.js", 2),
        ("far", "error", "src/a.js", 900),
        ("test", "note", "test/a.test.js", 1),
    ]);
    fs::write(repo.home.path().join("r.sarif"), report).unwrap();
    let done = with_input(
        &repo,
        "review --format json --patch - --sarif ../r.sarif",
        diff.as_bytes(),
    );
    let pass: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        findings(&pass),
        [
            "tool:lint/on src/a.js:2 open",
            "tool:lint/test test/a.test.js:1 consensus_ready"
        ]
    );
    assert!(
        axis(&pass, "correctness")
            .1
            .contains("left out: 1 outside the change")
    );
}

#[test]
fn a_review_is_written_as_sarif_that_a_review_can_take_in() {
    let repo = repo();
    let suggestion = json!({ "source": { "name": "lint" }, "diagnostics": [{ "message": "on is broken", "severity": "ERROR",
        "location": { "path": "src/a.js", "range": { "start": { "line": 2, "column": 1 }, "end": { "line": 2, "column": 4 } } },
        "suggestions": [{ "range": { "start": { "line": 2, "column": 1 }, "end": { "line": 2, "column": 4 } }, "text": "two" }] }] });
    fs::write(repo.home.path().join("r.json"), suggestion.to_string()).unwrap();
    let done = repo.jury("review --format sarif --rdjson ../r.json");
    assert_eq!((done.code, done.err.as_str()), (1, ""));
    let log: Value = serde_json::from_str(&done.out).unwrap();
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "rdjson/unnamed".replace("rdjson", "lint"));
    assert_eq!(
        result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"],
        "two();"
    );
    // The same change gives the same fingerprints.
    let again: Value =
        serde_json::from_str(&repo.jury("review --format sarif --rdjson ../r.json").out).unwrap();
    assert_eq!(log, again);
    let taken = with_input(&repo, "review --format json --sarif -", done.out.as_bytes());
    let pass: Value = serde_json::from_str(&taken.out).unwrap();
    assert_eq!(
        findings(&pass),
        ["tool:jury/lint/unnamed src/a.js:2 consensus_ready"]
    );
}

#[test]
fn a_review_is_written_as_workflow_commands() {
    let repo = repo();
    fs::write(
        repo.home.path().join("r.sarif"),
        sarif(&[("on", "error", "src/a.js", 2)]),
    )
    .unwrap();
    let done = repo.jury("review --format github --sarif ../r.sarif");
    assert_eq!(done.code, 1);
    let first = done.out.lines().next().unwrap();
    assert!(
        first.starts_with("::error file=src/a.js,line=2,endLine=2,title=tool%3Alint/on%3A on is broken::on is broken (correctness"),
        "{first}"
    );
    assert!(
        done.out.lines().all(|line| line.starts_with("::")),
        "{}",
        done.out
    );
}
