//! `jury review` on real repositories.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A repository in a folder of its own, with a home of its own.
pub(crate) struct Repo {
    pub(crate) home: TempDir,
    pub(crate) folder: PathBuf,
}

/// What the program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Repo {
    /// On `main` with one commit.
    pub(crate) fn new() -> Self {
        let repo = Self::unborn();
        repo.write("README.md", "# hello\n");
        repo.commit("Begin");
        repo
    }

    pub(crate) fn unborn() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("repo");
        fs::create_dir(&folder).unwrap();
        let repo = Self { home, folder };
        repo.git("init -q -b main");
        repo
    }

    /// With `main`, and a branch `work` that adds `content` at `path`.
    pub(crate) fn with_work(path: &str, content: impl AsRef<[u8]>) -> Self {
        let repo = Self::new();
        repo.git("switch -q -c work");
        repo.write(path, content);
        repo.commit("Work");
        repo
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(&self.folder);
        command
    }

    #[track_caller]
    pub(crate) fn git(&self, args: &str) {
        let done = self
            .command("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(args.split(' '))
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "git {args}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[track_caller]
    pub(crate) fn commit(&self, words: &str) {
        self.git("add -A");
        self.git(&format!("commit -q -m {words}"));
    }

    pub(crate) fn jury(&self, args: &str) -> Ran {
        ran(self
            .command(env!("CARGO_BIN_EXE_jury"))
            .args(args.split_whitespace()))
    }

    /// The PASS of `jury review --format json` with these further arguments.
    #[track_caller]
    pub(crate) fn pass(&self, args: &str) -> Value {
        let done = self.jury(&format!("review --format json --fail-on never {args}"));
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
        serde_json::from_str(&done.out).unwrap()
    }
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `<rule> <path>:<line> <status>` of every finding.
pub(crate) fn findings(pass: &Value) -> Vec<String> {
    let list = pass["findings"].as_array().unwrap();
    list.iter()
        .map(|f| {
            let text = |key: &str| f[key].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {}:{} {}",
                text("provenance"),
                text("path"),
                f["start_line"],
                text("status")
            )
        })
        .collect()
}

fn token() -> String {
    format!("{}_{}", "ghp", "R4nd0mT0kenThatNobodyEverIssued12345")
}

fn conflict() -> String {
    format!(
        "{} HEAD\nours\n{}\ntheirs\n{} work\n",
        "<".repeat(7),
        "=".repeat(7),
        ">".repeat(7)
    )
}

#[track_caller]
fn is_fault(done: &Ran, says: &[&str]) {
    assert_eq!(done.code, 2, "{done:?}");
    assert_eq!(done.out, "", "{done:?}");
    assert_eq!(done.err.lines().count(), 1, "{done:?}");
    assert!(done.err.starts_with("jury: "), "{done:?}");
    for words in says {
        assert!(done.err.contains(words), "{words:?} is missing: {done:?}");
    }
}

#[test]
fn nothing_bad_ships_and_the_exit_code_is_zero() {
    let repo = Repo::with_work("notes.md", "words\n");
    let done = repo.jury("review --base main");
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    assert!(done.out.starts_with("Ship"), "{}", done.out);
    let none = repo.jury("review --base work");
    assert_eq!(none.code, 0, "an empty range ships: {none:?}");
}

#[test]
fn every_bad_input_is_one_clear_line_and_exit_code_two() {
    let repo = Repo::new();
    is_fault(&repo.jury("review --repo ./nowhere"), &["nowhere"]);
    is_fault(&repo.jury("review --base nosuch"), &["nosuch"]);
    is_fault(&repo.jury("review --base main --head nosuch"), &["nosuch"]);
    is_fault(
        &repo.jury("review --fail-on maybe"),
        &["maybe", "block, hold, never"],
    );
    is_fault(&repo.jury("review --format yaml"), &["yaml"]);
    is_fault(&repo.jury("revew"), &["review"]);
    is_fault(&repo.jury("review --base=--output=x"), &["--output=x"]);

    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().to_str().unwrap();
    is_fault(
        &repo.jury(&format!("review --repo {path}")),
        &["not in a git repository"],
    );
    is_fault(&Repo::unborn().jury("review"), &["no commit"]);

    let lonely = Repo::new();
    lonely.git("branch -m main trunk");
    is_fault(&lonely.jury("review"), &["--base"]);
    lonely.git("switch -q --orphan other");
    lonely.write("a", "a\n");
    lonely.commit("Other");
    is_fault(&lonely.jury("review --base trunk"), &["share no commit"]);
}

#[test]
fn a_shallow_clone_that_lacks_the_base_says_how_to_mend_it() {
    let repo = Repo::with_work("a.md", "a\n");
    repo.write("b.md", "b\n");
    repo.commit("More");
    let clone = repo.home.path().join("clone");
    let from = format!("file://{}", repo.folder.display());
    repo.git(&format!(
        "clone -q --depth 1 --no-single-branch --branch work {from} {}",
        clone.display()
    ));
    let asked = format!("review --base origin/main --repo {}", clone.display());
    is_fault(&repo.jury(&asked), &["shallow", "git fetch --unshallow"]);
}

#[test]
fn a_detached_head_is_reviewed_like_any_other() {
    let repo = Repo::with_work("a.md", conflict());
    repo.git("switch -q --detach");
    let done = repo.jury("review");
    assert_eq!((done.code, done.err.as_str()), (1, ""), "{done:?}");
}

#[test]
fn the_default_base_is_the_remotes_default_branch() {
    let origin = Repo::new();
    origin.git("branch -m main trunk");
    origin.git("config receive.denyCurrentBranch ignore");
    let clone = origin.home.path().join("clone");
    origin.git(&format!(
        "clone -q {} {}",
        origin.folder.display(),
        clone.display()
    ));
    let repo = Repo {
        folder: clone,
        ..origin
    };
    repo.write("old.c", conflict());
    repo.commit("Before");
    repo.git("push -q origin HEAD:trunk");
    repo.git("switch -q -c work");
    repo.write("new.c", conflict());
    repo.commit("Work");
    let pass = repo.pass("");
    assert_eq!(
        findings(&pass)[0],
        "rule:conflict_markers/unresolved new.c:1 consensus_ready"
    );
    assert!(!pass.to_string().contains("old.c"));
}

#[test]
fn the_working_tree_is_staged_unstaged_and_untracked_files_but_not_ignored_ones() {
    let repo = Repo::new();
    repo.write(".gitignore", "ignored.c\n");
    repo.write("unstaged.c", "int a;\n");
    repo.write("gone.c", "int a;\n");
    repo.commit("More");
    repo.write("staged.c", conflict());
    repo.git("add staged.c");
    repo.write("unstaged.c", format!("int a;\n{}", conflict()));
    repo.write("sub/untracked.c", conflict());
    repo.write("ignored.c", conflict());
    fs::remove_file(repo.folder.join("gone.c")).unwrap();
    let pass = repo.pass("--base main --head WORKTREE");
    assert_eq!(pass["head_sha"], Value::Null);
    assert_eq!(pass["verdict"], "block");
    let mut found = findings(&pass);
    found.retain(|f| f.contains("unresolved"));
    found.sort();
    assert_eq!(
        found,
        [
            "rule:conflict_markers/unresolved staged.c:1 consensus_ready",
            "rule:conflict_markers/unresolved sub/untracked.c:1 consensus_ready",
            "rule:conflict_markers/unresolved unstaged.c:2 consensus_ready",
        ]
    );
    assert_eq!(
        findings(&repo.pass("--base main")),
        [""; 0],
        "HEAD has none of it"
    );
}

#[test]
fn the_threshold_decides_between_exit_codes_zero_and_one() {
    let block = Repo::with_work("a.c", conflict());
    let hold = Repo::with_work("a.c", format!("{} work\n", ">".repeat(7)));
    let ship = Repo::with_work("a.c", "int a;\n");
    for (repo, verdict, codes) in [
        (&block, "Block", [1, 1, 0]),
        (&hold, "Hold", [1, 0, 0]),
        (&ship, "Ship", [0, 0, 0]),
    ] {
        for (fail_on, code) in ["", " --fail-on block", " --fail-on never"].iter().zip(codes) {
            let done = repo.jury(&format!("review --base main{fail_on}"));
            assert!(done.out.starts_with(verdict), "{done:?}");
            assert_eq!((done.code, done.err.as_str()), (code, ""), "{verdict}{fail_on}");
        }
    }
    assert_eq!(hold.jury("review --base main --fail-on hold").code, 1);
}

#[test]
fn the_document_for_programs_has_every_key_and_is_the_same_each_time() {
    let repo = Repo::with_work("src/a.py", format!("{}x = 1\n", conflict()));
    let pass = repo.pass("--base main");
    for key in ["head_sha", "verdict", "confidence", "axes", "findings"] {
        assert!(pass.get(key).is_some(), "{key}");
    }
    assert_eq!(pass["head_sha"].as_str().unwrap().len(), 40);
    for axis in pass["axes"].as_array().unwrap() {
        for key in ["axis", "state", "gated", "note"] {
            assert!(axis.get(key).is_some(), "{key} in {axis}");
        }
    }
    let list = pass["findings"].as_array().unwrap();
    assert_eq!(list.len(), 2, "{pass}");
    for finding in list {
        for key in [
            "id",
            "kind",
            "priority",
            "confidence",
            "axis",
            "path",
            "side",
            "start_line",
            "end_line",
            "status",
            "author",
            "confirmed_by",
            "provenance",
            "title",
        ] {
            assert!(finding.get(key).is_some(), "{key} in {finding}");
        }
    }
    assert_eq!(list[0]["confirmed_by"][0], "verifier:jury");
    assert_eq!(list[0]["author"], "analyzer:conflict_markers");
    assert_eq!(list[0]["side"], "RIGHT");
    assert_eq!(list[1]["provenance"], "rule:test_gap/untouched");
    assert_eq!(list[1]["path"], Value::Null);
    assert_eq!(pass, repo.pass("--base main"));
}

#[test]
fn only_a_terminal_gets_colours_unless_they_are_forced() {
    let repo = Repo::with_work("a.c", conflict());
    for format in ["text", "markdown", "json"] {
        let done = repo.jury(&format!("review --base main --format {format}"));
        assert!(!done.out.contains('\u{1b}'), "{format}");
    }
    let forced = |format: &str, more: &[(&str, &str)]| {
        let mut command = repo.command(env!("CARGO_BIN_EXE_jury"));
        command
            .args(["review", "--base", "main", "--format", format])
            .env("CLICOLOR_FORCE", "1")
            .envs(more.iter().copied());
        ran(&mut command).out.contains('\u{1b}')
    };
    assert!(forced("text", &[]));
    assert!(!forced("json", &[]));
    assert!(!forced("text", &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "0")]));
}

#[test]
fn a_secret_blocks_and_its_value_is_in_no_output() {
    let key = format!(
        "-----BEGIN {}-----\n{}\n-----END-----\n",
        "PRIVATE KEY", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
    );
    let repo = Repo::with_work("deploy", format!("a={} b={}\n{key}", token(), token()));
    for head in ["work", "WORKTREE"] {
        for format in ["text", "markdown", "json"] {
            let done = repo.jury(&format!("review --base main --head {head} --format {format}"));
            assert_eq!(done.code, 1);
            for part in [&token()[4..], "R4nd0mT0ken", "MIIEvQIBADAN"] {
                assert!(
                    !done.out.contains(part) && !done.err.contains(part),
                    "{format}: {}",
                    done.out
                );
            }
        }
    }
    let pass = repo.pass("--base main");
    assert_eq!(pass["verdict"], "block");
    assert_eq!(
        findings(&pass),
        [
            "rule:secrets/github-token deploy:1 consensus_ready",
            "rule:secrets/private-key deploy:2 consensus_ready"
        ]
    );
}

#[test]
fn a_trojan_source_blocks() {
    let repo = Repo::with_work(
        "a.rs",
        "fn f() { /*\u{202E} } \u{2066}if admin\u{2069} \u{2066} begin */ }\n#[test]\nfn t() {}\n",
    );
    let pass = repo.pass("--base main");
    assert_eq!(pass["verdict"], "block");
    assert_eq!(
        findings(&pass),
        ["rule:trojan_source/bidi-control a.rs:1 consensus_ready"]
    );
    let text = repo.jury("review --base main").out;
    assert!(!text.contains('\u{202E}'), "what hides is spelled out: {text}");
}

#[test]
fn a_conflict_in_a_crlf_latin_1_file_with_a_strange_name_blocks() {
    let text = [b"caf\xE9\r\n", conflict().replace('\n', "\r\n").as_bytes()].concat();
    let repo = Repo::with_work("a \"b\" é.txt", text);
    let pass = repo.pass("--base main");
    assert_eq!(
        findings(&pass),
        ["rule:conflict_markers/unresolved a \"b\" é.txt:2 consensus_ready"]
    );
}

#[test]
fn the_policy_is_read_from_the_base_and_never_from_the_head() {
    let repo = Repo::with_work("a.c", conflict());
    repo.write(".github/jury.toml", "[axes.correctness]\ngated = false\n");
    repo.commit("Lenient");
    assert_eq!(repo.pass("--base main")["axes"][0]["gated"], true);
    assert_eq!(repo.pass("--base main --head WORKTREE")["axes"][0]["gated"], true);
    repo.git("branch -f main work");
    repo.write("b.c", conflict());
    repo.commit("More");
    assert_eq!(repo.pass("--base main")["axes"][0]["gated"], false);
}

#[test]
fn a_policy_that_cannot_be_read_fails_closed_and_says_where() {
    let repo = Repo::new();
    repo.write(".github/jury.toml", "\ngatee = \"required\"\n");
    repo.commit("Policy");
    repo.git("switch -q -c work");
    repo.write("a.md", "a\n");
    repo.commit("Work");
    is_fault(
        &repo.jury("review --base main"),
        &[".github/jury.toml:2", "gatee", "gate"],
    );
}

#[test]
fn a_policy_that_is_a_link_fails_closed_and_says_what_it_is() {
    let repo = Repo::new();
    repo.write("real.toml", "gate = \"required\"\n");
    fs::create_dir(repo.folder.join(".github")).unwrap();
    std::os::unix::fs::symlink("../real.toml", repo.folder.join(".github/jury.toml")).unwrap();
    repo.commit("Policy");
    repo.git("switch -q -c work");
    repo.write("a.md", "a\n");
    repo.commit("Work");
    is_fault(
        &repo.jury("review --base main"),
        &[
            ".github/jury.toml",
            "is a symbolic link; Jury reads only a regular file",
        ],
    );
}

#[test]
fn a_secret_that_is_a_links_target_blocks() {
    let repo = Repo::new();
    repo.git("switch -q -c work");
    std::os::unix::fs::symlink(token(), repo.folder.join("link")).unwrap();
    for head in ["WORKTREE", "HEAD"] {
        let pass = repo.pass(&format!("--base main --head {head}"));
        assert_eq!(pass["verdict"], "block");
        assert_eq!(
            findings(&pass),
            ["rule:secrets/github-token link:1 consensus_ready"]
        );
        if head == "WORKTREE" {
            repo.commit("Work");
        }
    }
}

#[test]
fn a_hostile_checkout_runs_nothing_and_hides_nothing() {
    let repo = Repo::with_work("a.c", conflict());
    let trap = repo.home.path().join("trapped");
    let bait = repo.home.path().join("bait.sh");
    fs::write(&bait, format!("#!/bin/sh\ntouch {}\ncat\n", trap.display())).unwrap();
    make_executable(&bait);
    let bait = bait.display();
    let hooks = repo.folder.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "post-index-change",
        "post-checkout",
        "pre-commit",
        "reference-transaction",
    ] {
        fs::write(hooks.join(hook), format!("#!/bin/sh\ntouch {}\n", trap.display())).unwrap();
        make_executable(&hooks.join(hook));
    }
    let config = fs::read_to_string(repo.folder.join(".git/config")).unwrap();
    fs::write(
        repo.folder.join(".git/config"),
        format!(
            "{config}\n[core]\n\tfsmonitor = {bait}\n\tpager = {bait}\n\tsshCommand = {bait}\n\tattributesFile = {bait}\n\
             [diff]\n\texternal = {bait}\n\tnoprefix = true\n\tmnemonicPrefix = true\n[color]\n\tui = always\n\
             [diff \"x\"]\n\tcommand = {bait}\n\ttextconv = {bait}\n\tbinary = true\n\
             [filter \"x\"]\n\tclean = {bait}\n\tsmudge = {bait}\n\tprocess = {bait}\n\trequired = true\n\
             [alias]\n\tdiff = !{bait}\n\tlog = !{bait}\n[gpg]\n\tprogram = {bait}\n[log]\n\tshowSignature = true\n"
        ),
    )
    .unwrap();
    fs::write(
        repo.folder.join(".git/info/attributes"),
        "* diff=x filter=x\n*.c -diff -text\n",
    )
    .unwrap();
    repo.write(".gitattributes", "* diff=x filter=x -diff\n");
    for head in ["work", "WORKTREE"] {
        let pass = repo.pass(&format!("--base main --head {head}"));
        assert_eq!(pass["verdict"], "block", "{pass}");
        assert!(!trap.exists(), "something of the checkout was run for {head}");
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let repo = Repo::with_work("a.c", conflict());
    for format in ["text", "json", "markdown"] {
        let mut command = repo.command(env!("CARGO_BIN_EXE_jury"));
        command.args(["review", "--base", "main", "--format", format]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(1), "the verdict still decides");
        assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    }
}

#[test]
fn help_and_version_answer_on_stdout() {
    let repo = Repo::new();
    let version = repo.jury("--version");
    assert_eq!(
        (version.code, version.out.as_str()),
        (0, concat!("jury ", env!("CARGO_PKG_VERSION"), "\n"))
    );
    for command in ["review", "serve", "demo", "migrate"] {
        let help = repo.jury(&format!("{command} --help"));
        assert_eq!(help.code, 0);
        assert!(help.out.contains("Usage: jury"), "{}", help.out);
    }
}

#[test]
fn a_fault_that_cannot_be_told_still_is_the_exit_code_2() {
    let repo = Repo::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else {
        return;
    };
    let status = repo
        .command(env!("CARGO_BIN_EXE_jury"))
        .args(["review", "--base", "nothing-is-named-so"])
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_nul_byte_hides_nothing_in_a_file_without_an_extension() {
    let repo = Repo::new();
    repo.write("a.txt", "a\n");
    repo.commit("one");
    repo.git("branch base");
    repo.write("id_rsa", b"secret\n\0\n");
    repo.write("picture.png", b"\x89PNG\0\0");
    repo.commit("two");
    let pass = repo.pass("--base base");
    assert_eq!(pass["verdict"], "hold", "{pass}");
    let note = pass["axes"][1]["note"].as_str().unwrap();
    assert!(note.contains("not read: id_rsa;"), "{note}");
}

#[test]
fn a_token_in_a_files_name_blocks_and_is_printed_nowhere() {
    let name = format!("src/{}.rs", token());
    let repo = Repo::with_work(&name, conflict());
    let pass = repo.pass("--base main");
    assert!(
        findings(&pass).contains(&"rule:secrets/file-name-github-token -:null consensus_ready".to_owned()),
        "{:#?}",
        findings(&pass)
    );
    assert_eq!(pass["verdict"], "block");
    // Other rules speak of the file, and their place is shown as far as it may be.
    assert!(pass.to_string().contains("src/********.rs"), "{pass:#}");
    for format in ["json", "text", "markdown"] {
        let done = repo.jury(&format!("review --base main --format {format}"));
        assert_eq!(done.code, 1, "{done:?}");
        assert!(
            !done.out.contains(&token()) && !done.err.contains(&token()),
            "{done:?}"
        );
    }
    // Another name for the same content.
    repo.git(&format!("mv {name} src/key.rs"));
    repo.commit("Rename");
    assert!(!repo.pass("--base main").to_string().contains("file-name"));
    // A branch of such a name, and one that does not exist.
    repo.git(&format!("switch -q -c {}", token()));
    for args in [
        format!("--head {0}", token()),
        format!("--head no-{0}", token()),
        format!("--base {0}x", token()),
    ] {
        let done = repo.jury(&format!("review --base main {args}"));
        let done = if args.starts_with("--base") {
            repo.jury(&format!("review {args}"))
        } else {
            done
        };
        assert!(
            !done.out.contains(&token()) && !done.err.contains(&token()),
            "{done:?}"
        );
    }
}
