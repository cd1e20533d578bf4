use std::{fs, os::unix::fs::PermissionsExt};

use super::{open, *};
use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        review::finding::Side,
    },
    git::scratch::{Scratch, git_in},
    ports::change::Change,
};

/// `main` with some files, and a branch `pr` that is checked out.
fn repository() -> Scratch {
    let repo = Scratch::new();
    repo.write("f.txt", "1\n2\n3\n").write("g.txt", "1\n").commit();
    repo.git(["checkout", "-q", "-b", "pr"]);
    repo
}

async fn review(repo: &Scratch, head: &str) -> GitChange {
    open(repo.path(), None, head).await.unwrap()
}

/// `status path +added -removed` of every file.
fn told(change: &GitChange) -> Vec<String> {
    let line = |f: &ChangedFile| {
        let added = f.added_lines().count();
        let removed = f.removed_lines().count();
        let from = f
            .old_path
            .as_ref()
            .map(|p| format!(" from {p}"))
            .unwrap_or_default();
        let more = match (&f.unseen, f.binary) {
            (Some(reason), _) => format!(" unseen: {reason}"),
            (None, true) => " binary".to_owned(),
            (None, false) => String::new(),
        };
        format!("{} {}{from} +{added} -{removed}{more}", f.status, f.path)
    };
    change.files().iter().map(line).collect()
}

async fn refusal(folder: &Path, base: Option<&str>, head: &str) -> String {
    match open(folder, base, head).await {
        Err(ChangeError::User(text)) => {
            assert!(!text.contains('\n'), "{text}");
            text
        }
        other => panic!("{other:?}"),
    }
}

/// Everything in a folder, with content.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                found.push((path.clone(), fs::read(&path).unwrap_or_default()));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn d49_what_the_base_gained_meanwhile_is_not_part_of_the_change() {
    let repo = repository();
    repo.write("f.txt", "1\n2\nthree\n").commit();
    repo.git(["checkout", "-q", "main"]);
    let tip = repo.write("g.txt", "main moved\n").commit();
    let base = repo.sha("HEAD^");
    let change = open(repo.path(), None, "pr").await.unwrap();
    assert_eq!(told(&change), ["modified f.txt +1 -1"]);
    assert_eq!((change.merge_base(), change.base_tip()), (&base, &tip));
    assert_eq!(
        change.read_base_tip("g.txt").await.unwrap().unwrap(),
        b"main moved\n"
    );
    assert_eq!(change.read(Side::Left, "g.txt").await.unwrap().unwrap(), b"1\n");
    assert_eq!(
        change.read(Side::Right, "f.txt").await.unwrap().unwrap(),
        b"1\n2\nthree\n"
    );
    assert_eq!(
        change.read_at(&tip, "f.txt").await.unwrap().unwrap(),
        b"1\n2\n3\n"
    );
    assert_eq!(change.read(Side::Right, "none").await.unwrap(), None);
}

#[tokio::test]
async fn d46_attributes_hide_no_code() {
    let repo = repository();
    repo.write(".gitattributes", "*.js -diff\n*.ts binary\n*.rs diff=evil\n")
        .write("app.js", "evil()\n")
        .write("app.ts", "evil()\n")
        .write("app.rs", "evil()\n")
        .commit();
    repo.write("later.js", "evil()\n");
    fs::create_dir_all(repo.at(".git/info")).unwrap();
    fs::write(repo.at(".git/info/attributes"), "* -diff -text\n").unwrap();
    let all = ["added app.js +1 -0", "added app.rs +1 -0", "added app.ts +1 -0"];
    let mut expected = vec!["added .gitattributes +3 -0"];
    expected.extend(all);
    assert_eq!(told(&review(&repo, "HEAD").await), expected);
    expected.push("added later.js +1 -0");
    assert_eq!(told(&review(&repo, WORKTREE).await), expected);
}

#[tokio::test]
async fn d40_configured_prefixes_do_not_change_a_path() {
    let repo = repository();
    repo.write("a/f.txt", "1\n").write("b/f.txt", "1\n").commit();
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.srcPrefix", "x"),
        ("diff.dstPrefix", "y"),
        ("diff.relative", "true"),
    ] {
        repo.git(["config", key, value]);
        let change = review(&repo, "HEAD").await;
        assert_eq!(
            told(&change),
            ["added a/f.txt +1 -0", "added b/f.txt +1 -0"],
            "{key}"
        );
    }
}

/// Everything a repository's own files could run or hide when a plain git reads it.
#[tokio::test]
async fn a_hostile_checkout_runs_nothing_and_hides_nothing() {
    let repo = repository();
    let ran = repo
        .at("../")
        .join(format!("{}-ran", repo.path().file_name().unwrap().display()));
    let evil = repo.at("evil.sh");
    fs::write(
        &evil,
        format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", ran.display()),
    )
    .unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    repo.write(".gitattributes", "* filter=evil diff=evil\n*.js -diff\n")
        .write("app.js", "1\n")
        .write("f.txt", "1\n2\nthree\n")
        .write("hidden.js", "1\n")
        .commit();
    for i in 0..12 {
        repo.write(&format!("many/{i}"), "x\n");
    }
    let tip = repo.commit();
    repo.write("hidden.js", "two\n").write("skipped.js", "1\n");
    repo.git(["add", "-N", "skipped.js"]);
    repo.git(["update-index", "--assume-unchanged", "hidden.js"]);
    repo.git(["update-index", "--skip-worktree", "app.js"]);
    repo.write("app.js", "two\n");

    let command = evil.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.askPass",
        "core.editor",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "credential.helper",
        "pager.diff",
        "pager.ls-files",
        "uploadpack.packObjectsHook",
        "alias.diff-tree",
        "alias.ls-files",
    ] {
        let shell = if key.starts_with("alias") { "!" } else { "" };
        repo.git(["config", key, &format!("{shell}{command}")]);
    }
    for (key, value) in [
        ("filter.evil.required", "true"),
        ("diff.evil.binary", "true"),
        ("diff.evil.xfuncname", "(a+)+$"),
        ("diff.evil.algorithm", "patience"),
        ("core.attributesFile", command),
        ("core.bigFileThreshold", "1"),
        ("core.quotePath", "false"),
        ("core.untrackedCache", "true"),
        ("core.excludesFile", "/dev/stdin"),
        ("core.useReplaceRefs", "true"),
        ("color.ui", "always"),
        ("color.diff", "always"),
        ("diff.color", "always"),
        ("diff.colorMoved", "zebra"),
        ("diff.context", "0"),
        ("diff.interHunkContext", "100"),
        ("diff.ignoreSubmodules", "all"),
        ("diff.submodule", "log"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.wsErrorHighlight", "all"),
        ("diff.orderFile", ".gitattributes"),
        ("diff.renames", "false"),
        ("diff.algorithm", "minimal"),
        ("diff.indentHeuristic", "false"),
        ("diff.statGraphWidth", "1"),
        ("status.showUntrackedFiles", "no"),
        ("protocol.ext.allow", "always"),
        ("submodule.recurse", "true"),
        ("index.sparse", "true"),
    ] {
        repo.git([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "diff.external=",
            "config",
            key,
            value,
        ]);
    }
    fs::create_dir_all(repo.at(".git/hooks")).unwrap();
    for hook in [
        "post-index-change",
        "pre-commit",
        "reference-transaction",
        "fsmonitor-watchman",
    ] {
        fs::copy(&evil, repo.at(&format!(".git/hooks/{hook}"))).unwrap();
    }
    // History that is not there: a graft and a replacement hide the change.
    fs::create_dir_all(repo.at(".git/info")).unwrap();
    fs::write(repo.at(".git/info/grafts"), format!("{tip}\n")).unwrap();
    let replace = repo.at(&format!(".git/refs/replace/{tip}"));
    fs::create_dir_all(replace.parent().unwrap()).unwrap();
    fs::write(replace, format!("{}\n", repo.sha("main"))).unwrap();
    let before = everything(&repo.at(".git"));

    let committed = told(&review(&repo, "HEAD").await);
    assert!(
        committed.contains(&"added app.js +1 -0".to_owned()),
        "{committed:?}"
    );
    assert!(committed.contains(&"modified f.txt +1 -1".to_owned()));
    assert_eq!(committed.len(), 1 + 1 + 1 + 1 + 1 + 12, "{committed:?}");

    let change = review(&repo, WORKTREE).await;
    let read = |path: &'static str| change.read(Side::Right, path);
    assert_eq!(read("hidden.js").await.unwrap().unwrap(), b"two\n");
    assert_eq!(read("app.js").await.unwrap().unwrap(), b"two\n");
    assert_eq!(read("skipped.js").await.unwrap().unwrap(), b"1\n");
    assert!(told(&change).contains(&"added skipped.js +1 -0".to_owned()));
    assert!(change.coverage().is_complete());
    assert!(change.head().is_none());

    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap());
    assert_eq!(
        before,
        everything(&repo.at(".git")),
        "the repository was written to"
    );
    // The trap is armed: a plain git does run it.
    let _ = std::process::Command::new("git")
        .arg("status")
        .current_dir(repo.path())
        .output()
        .unwrap();
    assert!(ran.exists());
    fs::remove_file(ran).unwrap();
}

#[tokio::test]
async fn variables_of_the_environment_are_not_obeyed() {
    // What a child would see is what is written in `run.rs`: nothing of ours but PATH.
    let repo = repository();
    let printed = Git::new(repo.path(), "-c")
        .args(["alias.x=!env", "x"])
        .run()
        .await
        .unwrap();
    let printed = String::from_utf8(printed).unwrap();
    for line in printed.lines() {
        let name = line.split('=').next().unwrap();
        let known = [
            "PATH",
            "TMPDIR",
            "PWD",
            "OLDPWD",
            "SHLVL",
            "_",
            "HOME",
            "LC_ALL",
            "XDG_CONFIG_HOME",
        ];
        assert!(name.starts_with("GIT_") || known.contains(&name), "{name}");
    }
    assert!(printed.contains("GIT_TERMINAL_PROMPT=0"));
    assert!(printed.contains("GIT_ALLOW_PROTOCOL=\n"));
}

#[tokio::test]
async fn a_working_tree_is_what_is_on_the_disk() {
    let repo = repository();
    repo.write("gone.txt", "gone\n")
        .write("staged-gone.txt", "staged-gone\n")
        .write("sub/dir.txt", "sub\n")
        .write("crlf.txt", "1\n")
        .commit();
    repo.git(["checkout", "-q", "-B", "main"]);
    repo.write(".gitignore", "*.log\n")
        .write("f.txt", "1\n2\nthree\n");
    repo.write("new.txt", "new\n")
        .write("x.log", "ignored\n")
        .write("forced.log", "staged\n");
    repo.write("private.tmp", "ignored here\n");
    fs::create_dir_all(repo.at(".git/info")).unwrap();
    fs::write(repo.at(".git/info/exclude"), "*.tmp\n").unwrap();
    repo.git(["add", "-f", "forced.log"]);
    repo.git(["rm", "-q", "staged-gone.txt"]);
    fs::remove_file(repo.at("gone.txt")).unwrap();
    fs::remove_dir_all(repo.at("sub")).unwrap();
    std::os::unix::fs::symlink("/etc", repo.at("sub")).unwrap();
    repo.write("nested/inner.txt", "1\n");
    git_in(&repo.at("nested"), ["init", "-q"]);
    repo.write("bin", [0, 1, 2])
        .write("caf\u{e9} \"q\"\n.txt", "coffee\n");
    let before = everything(&repo.at(".git"));
    let change = review(&repo, WORKTREE).await;
    assert_eq!(
        told(&change),
        [
            "added .gitignore +1 -0",
            "added bin +0 -0 binary",
            "added caf\u{e9} \"q\"\n.txt +1 -0",
            "modified f.txt +1 -1",
            "added forced.log +1 -0",
            "removed gone.txt +0 -1",
            "added new.txt +1 -0",
            "removed staged-gone.txt +0 -1",
            "added sub +1 -0",
            "removed sub/dir.txt +0 -1",
        ]
    );
    assert_eq!(
        change.read(Side::Right, "new.txt").await.unwrap().unwrap(),
        b"new\n"
    );
    // A link is not followed: it reads as its own target.
    assert_eq!(change.read(Side::Right, "sub").await.unwrap().unwrap(), b"/etc");
    assert_eq!(before, everything(&repo.at(".git")));
}

#[tokio::test]
async fn a_conflict_in_the_working_tree_is_read_with_its_markers() {
    let repo = repository();
    repo.write("f.txt", "1\npr\n3\n").commit();
    repo.git(["checkout", "-q", "main"]);
    repo.write("f.txt", "1\nmain\n3\n").commit();
    let merge = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "merge",
            "pr",
        ])
        .current_dir(repo.path())
        .output()
        .unwrap();
    assert!(!merge.status.success());
    let change = review(&repo, WORKTREE).await;
    let added: Vec<_> = change.files()[0]
        .added_lines()
        .map(|(_, l)| l.iter().take(3).copied().collect::<Vec<_>>())
        .collect();
    assert!(added.contains(&b"<<<".to_vec()) && added.contains(&b">>>".to_vec()));
}

#[tokio::test]
async fn line_ends_follow_the_checkout_and_a_sparse_checkout_deletes_nothing() {
    let repo = repository();
    repo.write("w.bat", "a\nb\n")
        .write("left/out.txt", "1\n")
        .write("kept/in.txt", "1\n")
        .commit();
    repo.git(["checkout", "-q", "-B", "main"]);
    repo.git(["config", "core.autocrlf", "true"]);
    repo.write("w.bat", "a\r\nb\r\n");
    assert_eq!(told(&review(&repo, WORKTREE).await), Vec::<String>::new());
    repo.git(["config", "core.autocrlf", "false"]);
    assert_eq!(told(&review(&repo, WORKTREE).await), ["modified w.bat +2 -2"]);
    repo.git(["checkout", "-q", "--", "w.bat"]);
    repo.git(["sparse-checkout", "set", "kept"]);
    assert!(!repo.at("left/out.txt").exists());
    assert_eq!(told(&review(&repo, WORKTREE).await), Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_read_is_named() {
    let repo = repository();
    let big = fs::File::create(repo.at("big.bin")).unwrap();
    big.set_len(17 << 20).unwrap();
    let change = review(&repo, WORKTREE).await;
    assert_eq!(
        told(&change),
        ["modified big.bin +0 -0 unseen: it is larger than 16 MiB"]
    );
    assert!(!change.coverage().is_complete());
}

#[tokio::test]
async fn the_base_is_the_default_branch_of_the_remote() {
    let repo = repository();
    repo.write("f.txt", "changed\n").commit();
    let clone = Scratch::new();
    let url = format!("file://{}", repo.path().display());
    clone.git(["remote", "add", "origin", &url]);
    clone.git(["fetch", "-q", "origin"]);
    clone.git(["checkout", "-q", "-b", "work", "origin/pr"]);
    assert_eq!(told(&review(&clone, "HEAD").await), ["modified f.txt +1 -3"]);
    // The remote says that `pr` is its default branch.
    clone.git([
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/pr",
    ]);
    assert_eq!(told(&review(&clone, "HEAD").await), Vec::<String>::new());
    // A detached head and names of all kinds are commits like any other.
    clone.git(["checkout", "-q", "--detach"]);
    let change = open(clone.path(), Some("origin/main"), "HEAD~0").await.unwrap();
    assert_eq!(told(&change), ["modified f.txt +1 -3"]);
    // From a folder inside, and from a linked working tree.
    fs::create_dir(clone.at("inner")).unwrap();
    assert!(open(&clone.at("inner"), None, WORKTREE).await.is_ok());
    let linked = tempfile::TempDir::new().unwrap();
    clone.git([
        "worktree",
        "add",
        "-q",
        linked.path().join("w").to_str().unwrap(),
        "origin/pr",
    ]);
    fs::write(linked.path().join("w/extra"), "x\n").unwrap();
    let change = open(&linked.path().join("w"), Some("origin/main"), WORKTREE)
        .await
        .unwrap();
    assert_eq!(told(&change), ["added extra +1 -0", "modified f.txt +1 -3"]);
}

#[tokio::test]
async fn what_is_missing_is_said_in_one_line_that_helps() {
    let empty = tempfile::TempDir::new().unwrap();
    let text = refusal(empty.path(), None, "HEAD").await;
    assert!(text.ends_with("is not in a git repository"), "{text}");
    let text = refusal(&empty.path().join("none"), None, "HEAD").await;
    assert!(text.starts_with("there is no folder "), "{text}");

    let unborn = Scratch::new();
    for head in ["HEAD", WORKTREE] {
        let text = refusal(unborn.path(), None, head).await;
        assert_eq!(
            text,
            "the current branch has no commit yet: commit something first"
        );
    }

    let repo = repository();
    assert_eq!(
        refusal(repo.path(), Some("nope"), "HEAD").await,
        "no commit is named \"nope\", the base"
    );
    assert_eq!(
        refusal(repo.path(), None, "nope").await,
        "no commit is named \"nope\""
    );
    for name in [
        "--help",
        "--output=/tmp/x",
        "-h",
        "",
        "main..pr",
        "a\nb",
        "HEAD:f.txt",
    ] {
        assert!(
            refusal(repo.path(), Some(name), "HEAD")
                .await
                .starts_with("no commit is named"),
            "{name}"
        );
    }
    repo.git(["checkout", "-q", "--orphan", "alone"]);
    repo.write("alone.txt", "1\n").commit();
    let text = refusal(repo.path(), Some("main"), "HEAD").await;
    assert_eq!(
        text,
        "main and HEAD share no commit: name another base with --base REF"
    );
    repo.git(["branch", "-D", "-q", "main"]);
    let text = refusal(repo.path(), None, "HEAD").await;
    assert!(text.contains("--base REF") && text.contains("set-head"), "{text}");
}

#[tokio::test]
async fn a_shallow_clone_says_how_to_mend_it_and_a_bare_one_has_no_working_tree() {
    let repo = repository();
    repo.write("f.txt", "2\n").commit();
    repo.git(["checkout", "-q", "main"]);
    repo.write("g.txt", "2\n").commit();
    let clone = Scratch::new();
    let url = format!("file://{}", repo.path().display());
    clone.git([
        "fetch",
        "-q",
        "--depth=1",
        &url,
        "pr:refs/heads/pr",
        "main:refs/remotes/origin/main",
    ]);
    let text = refusal(clone.path(), None, "pr").await;
    assert!(text.contains("git fetch --unshallow"), "{text}");

    let bare = tempfile::TempDir::new().unwrap();
    git_in(bare.path(), ["clone", "-q", "--bare", &url, "x"]);
    let folder = bare.path().join("x");
    let text = refusal(&folder, Some("main"), WORKTREE).await;
    assert!(text.contains("has no working tree"), "{text}");
    let change = open(&folder, Some("main"), "pr").await.unwrap();
    assert_eq!(told(&change), ["modified f.txt +0 -2"]);
    assert_eq!(change.files()[0].status, FileStatus::Modified);
}

#[tokio::test]
async fn a_partial_clone_fetches_nothing_by_itself_and_says_so() {
    let repo = repository();
    repo.git(["config", "uploadpack.allowFilter", "true"]);
    repo.write("f.txt", "2\n").commit();
    let outer = tempfile::TempDir::new().unwrap();
    let url = format!("file://{}", repo.path().display());
    git_in(
        outer.path(),
        ["clone", "-q", "--bare", "--filter=blob:none", &url, "x"],
    );
    let text = match open(&outer.path().join("x"), Some("main"), "pr").await {
        Err(ChangeError::User(text)) => text,
        Ok(change) => {
            assert!(!change.coverage().is_complete());
            return;
        }
        Err(other) => panic!("{other:?}"),
    };
    assert!(text.contains("partial clone"), "{text}");
}

#[tokio::test]
async fn names_of_sha256_are_read_too() {
    let outer = tempfile::TempDir::new().unwrap();
    git_in(
        outer.path(),
        ["init", "-q", "-b", "main", "--object-format=sha256", "x"],
    );
    let folder = outer.path().join("x");
    fs::write(folder.join("f"), "1\n").unwrap();
    git_in(&folder, ["add", "f"]);
    git_in(&folder, ["commit", "-q", "-m", "x"]);
    fs::write(folder.join("f"), "2\n").unwrap();
    let change = open(&folder, None, WORKTREE).await.unwrap();
    assert_eq!(change.merge_base().as_str().len(), 64);
    assert_eq!(told(&change), ["modified f +1 -1"]);
}

/// A repository whose `main` holds only what `write` puts there.
async fn base_file(write: impl Fn(&Scratch)) -> Result<Option<Vec<u8>>, ChangeError> {
    let repo = Scratch::new();
    repo.write("README", "1\n").commit();
    write(&repo);
    repo.git(["commit", "-q", "--allow-empty", "-m", "x"]);
    repo.git(["checkout", "-q", "-b", "pr"]);
    repo.git(["commit", "-q", "--allow-empty", "-m", "x"]);
    review(&repo, "HEAD")
        .await
        .read_base_tip(".github/jury.toml")
        .await
}

#[tokio::test]
async fn a_base_file_that_is_no_regular_file_is_never_taken_for_none() {
    let link = |repo: &Scratch, to: &str, at: &str| {
        fs::create_dir_all(repo.at(at).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, repo.at(at)).unwrap();
        repo.git(["add", "-A"]);
    };
    let submodule = |repo: &Scratch, at: &str| {
        let entry = format!("160000,{},{at}", repo.sha("HEAD"));
        repo.git(["update-index", "--add", "--cacheinfo", &entry]);
    };
    let told = |read: Result<Option<Vec<u8>>, ChangeError>| match read {
        Ok(content) => format!("{content:?}"),
        Err(ChangeError::User(words)) => words,
        Err(other) => panic!("{other:?}"),
    };
    // The target is there, is a policy, and is still not read.
    let linked = base_file(|repo| {
        repo.write("real.toml", "gate = \"advisory\"\n");
        link(repo, "../real.toml", ".github/jury.toml");
    });
    let said = told(linked.await);
    assert!(
        said.starts_with("`.github/jury.toml` on the base branch (at ")
            && said.contains("is a symbolic link"),
        "{said}"
    );
    let said = told(base_file(|repo| link(repo, "nowhere", ".github/jury.toml")).await);
    assert!(said.contains("is a symbolic link"), "{said}");
    let said = told(base_file(|repo| submodule(repo, ".github/jury.toml")).await);
    assert!(said.contains("is a submodule"), "{said}");
    let folder = base_file(|repo| {
        repo.write(".github/jury.toml/x", "1\n").git(["add", "-A"]);
    });
    assert!(told(folder.await).contains("is a folder"));
    let large = base_file(|repo| {
        repo.write(".github/jury.toml", vec![b'#'; (16 << 20) + 1])
            .git(["add", "-A"]);
    });
    assert!(told(large.await).contains("larger than 16 MiB"));
    // What stands above it.
    let above = base_file(|repo| {
        repo.write("real/jury.toml", "gate = \"advisory\"\n");
        link(repo, "real", ".github");
    });
    assert!(told(above.await).starts_with("`.github` on the base branch"));
    let said = told(base_file(|repo| submodule(repo, ".github")).await);
    assert!(said.contains("is a submodule"), "{said}");
    // And what is nothing at all.
    assert_eq!(told(base_file(|_| {}).await), "None");
    let other = base_file(|repo| {
        repo.write(".github", "a file\n").git(["add", "-A"]);
    });
    assert_eq!(told(other.await), "None");
}

#[tokio::test]
async fn a_base_file_whose_content_is_missing_is_an_error_and_not_nothing() {
    let repo = repository();
    repo.git(["checkout", "-q", "main"]);
    repo.write(".github/jury.toml", "gate = \"advisory\"\n").commit();
    repo.git(["checkout", "-q", "pr"]);
    let blob = repo.git(["rev-parse", "main:.github/jury.toml"]);
    fs::remove_file(repo.at(&format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).unwrap();
    let change = review(&repo, "HEAD").await;
    let error = change.read_base_tip(".github/jury.toml").await.unwrap_err();
    assert!(matches!(error, ChangeError::Internal(_)), "{error:?}");
}

#[tokio::test]
async fn a_link_is_read_as_the_text_that_its_diff_shows() {
    let repo = repository();
    std::os::unix::fs::symlink("some target", repo.at("link")).unwrap();
    for head in ["WORKTREE", "HEAD"] {
        let change = review(&repo, head).await;
        assert_eq!(told(&change), ["added link +1 -0"], "{head}");
        assert_eq!(
            change.read(Side::Right, "link").await.unwrap().unwrap(),
            b"some target"
        );
        repo.commit();
    }
}
