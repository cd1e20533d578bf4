use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

use proptest::prelude::*;

use super::*;
use crate::{
    domain::{ids::Sha, review::finding::Side},
    git::{
        change::{GitChange, Head},
        repository::{ObjectFormat, Repository},
        scratch::Scratch,
    },
    ports::change::Change,
};

fn blobs(repo: &Scratch) -> Blobs {
    Blobs::new(Repository::bare(repo.at(".git"), ObjectFormat::Sha1))
}

async fn between(repo: &Scratch, old: &Sha, new: &Sha) -> (Vec<ChangedFile>, Coverage) {
    changed_files(&blobs(repo), old.as_str(), new.as_str())
        .await
        .unwrap()
}

fn told(files: &[ChangedFile]) -> Vec<String> {
    let line = |f: &ChangedFile| {
        let modes = |m: Option<u32>| m.map_or("-".to_owned(), |m| format!("{m:o}"));
        format!(
            "{} {} {}>{} +{} -{}{}{}",
            f.status,
            f.path,
            modes(f.old_mode),
            modes(f.new_mode),
            f.added_lines().count(),
            f.removed_lines().count(),
            if f.binary { " binary" } else { "" },
            f.unseen
                .as_ref()
                .map(|r| format!(" unseen: {r}"))
                .unwrap_or_default()
        )
    };
    files.iter().map(line).collect()
}

#[tokio::test]
async fn every_kind_of_change_is_listed_with_its_modes_and_lines() {
    let repo = Scratch::new();
    let long: String = (0..40).map(|i| format!("line {i}\n")).collect();
    repo.write("mode.sh", "1\n")
        .write("gone", "1\n")
        .write("old name.rs", &long)
        .write("pure.rs", format!("{long}pure\n"))
        .write("becomes-link", "hello\n")
        .write("emptied", "1\n")
        .write("logo", [1, 0, 2]);
    let one = repo.commit();
    repo.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{one},sub"),
    ]);
    repo.git(["commit", "-q", "-m", "x"]);
    let old = repo.sha("HEAD");

    repo.git(["mv", "old name.rs", "new.rs"]);
    repo.git(["mv", "pure.rs", "pure b.rs"]);
    repo.write("new.rs", format!("{long}more\n"))
        .write("logo", [1, 0, 3])
        .write("emptied", "");
    repo.write("new-empty", "")
        .write("new-logo", [0; 9])
        .write("late-nul", format!("{}\0\n", "x".repeat(8000)));
    repo.write("utf16", b"\xff\xfea\0b\0\n\0");
    fs::remove_file(repo.at("gone")).unwrap();
    fs::remove_file(repo.at("becomes-link")).unwrap();
    std::os::unix::fs::symlink("target", repo.at("becomes-link")).unwrap();
    repo.git(["add", "-A"]);
    repo.git(["update-index", "--chmod=+x", "mode.sh"]);
    repo.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{old},sub"),
    ]);
    repo.git(["commit", "-q", "-m", "x"]);
    let (files, coverage) = between(&repo, &old, &repo.sha("HEAD")).await;
    assert_eq!(
        told(&files),
        [
            "changed becomes-link 100644>120000 +1 -1",
            "modified emptied 100644>100644 +0 -1",
            "removed gone 100644>- +0 -1",
            "added late-nul ->100644 +1 -0",
            "modified logo 100644>100644 +0 -0 binary",
            "modified mode.sh 100644>100755 +0 -0",
            "added new-empty ->100644 +0 -0",
            "added new-logo ->100644 +0 -0 binary",
            "renamed new.rs 100644>100644 +1 -0",
            "renamed pure b.rs 100644>100644 +0 -0",
            "modified sub 160000>160000 +1 -1",
            "added utf16 ->100644 +0 -0 binary",
        ]
    );
    assert!(coverage.is_complete());
    let find = |path: &str| files.iter().find(|f| f.path == path).unwrap();
    assert_eq!(find("new.rs").old_path.as_deref(), Some("old name.rs"));
    assert_eq!(
        find("becomes-link").line_text(Side::Right, 1),
        Some(b"target".as_slice())
    );
    assert_eq!(
        find("gone").old_oid.as_deref(),
        Some(repo.git(["rev-parse", &format!("{old}:gone")]).as_str())
    );
    assert_eq!(find("gone").new_oid, None);
}

#[tokio::test]
async fn paths_that_look_like_options_patterns_or_bytes_are_paths() {
    let repo = Scratch::new();
    let old = repo.write("base", "1\n").commit();
    let names: [&[u8]; 9] = [
        b"-x",
        b"--output=x",
        b":(exclude)*",
        b"[a-z]*?",
        b"*",
        b" lead and trail ",
        b"two\nlines\t\"q\"\\",
        b"raw\xff.js",
        b"raw\xfe.js",
    ];
    for (i, name) in names.iter().enumerate() {
        // Half of them binary, so that they are left out of the text by their name.
        let content = if i % 2 == 0 {
            format!("text {i}\n")
        } else {
            format!("\0{i}")
        };
        fs::write(repo.path().join(OsStr::from_bytes(name)), content).unwrap();
    }
    fs::write(repo.at("other.js"), "still here\n").unwrap();
    let new = repo.commit();
    let (files, coverage) = between(&repo, &old, &new).await;
    assert_eq!(files.len(), 10);
    assert!(coverage.is_complete());
    assert_eq!(files.iter().filter(|f| f.binary).count(), 4);
    for file in files.iter().filter(|f| !f.binary) {
        assert_eq!(file.added_lines().count(), 1, "{}", file.path);
    }
    assert!(files.iter().any(|f| f.path == "raw\\xFF.js" && f.binary));
    assert!(files.iter().any(|f| f.path == "raw\\xFE.js" && !f.binary));
    // Such a file is read by its object name.
    let change = GitChange::open(blobs(&repo).repository().clone(), old, Head::Commit(new));
    let change = change.await.unwrap().unwrap();
    let read = change.read(Side::Right, "raw\\xFE.js").await.unwrap();
    assert_eq!(read.as_deref(), Some(b"text 8\n".as_slice()));
    let read = change.read(Side::Right, ":(exclude)*").await.unwrap();
    assert_eq!(read.as_deref(), Some(b"text 2\n".as_slice()));
    assert_eq!(
        change.read(Side::Right, "base").await.unwrap().as_deref(),
        Some(b"1\n".as_slice())
    );
}

#[tokio::test]
async fn two_paths_that_are_written_alike_are_not_taken_for_one_another() {
    let repo = Scratch::new();
    let old = repo.write("base", "1\n").commit();
    repo.write("raw\\xFF", "seen\n");
    fs::write(repo.path().join(OsStr::from_bytes(b"raw\xff")), "hidden\n").unwrap();
    let new = repo.commit();
    let (files, coverage) = between(&repo, &old, &new).await;
    assert_eq!(files.len(), 2);
    assert_eq!(coverage.unseen.len(), 2);
    let change = GitChange::open(blobs(&repo).repository().clone(), old, Head::Commit(new));
    let change = change.await.unwrap().unwrap();
    assert_eq!(change.read(Side::Right, "raw\\xFF").await.unwrap(), None);
}

#[tokio::test]
async fn what_is_too_large_is_unseen_and_hides_nothing_else() {
    let repo = Scratch::new();
    let old = repo.write("base", "1\n").commit();
    repo.write("blob", "x".repeat((MAX_BLOB + 1) as usize))
        .write("lines", "x\n".repeat(diff::MAX_PATCH_LINES + 1))
        .write("long", format!("{}\n", "y".repeat(1 << 20)))
        .write("z", "1\n");
    let (files, coverage) = between(&repo, &old, &repo.commit()).await;
    let unseen: Vec<_> = coverage.unseen.iter().map(|u| u.path.as_str()).collect();
    assert_eq!(unseen, ["blob", "lines"]);
    assert_eq!(files[0].unseen.as_deref(), Some("it is larger than 16 MiB"));
    assert_eq!(files[1].unseen.as_deref(), Some(diff::TOO_LARGE));
    assert_eq!(files[2].line_text(Side::Right, 1).unwrap().len(), 1 << 20);
    assert_eq!(files[3].added_lines().count(), 1);
}

#[tokio::test]
async fn of_several_merge_bases_the_first_is_taken_as_git_does() {
    let repo = Scratch::new();
    repo.write("f", "1\n").commit();
    repo.git(["checkout", "-q", "-b", "pr"]);
    repo.write("p", "1\n").commit();
    repo.git(["checkout", "-q", "main"]);
    repo.write("m", "1\n").commit();
    let (main, pr) = (repo.sha("main"), repo.sha("pr"));
    repo.git(["merge", "-q", "--no-edit", pr.as_str()]);
    repo.git(["checkout", "-q", "pr"]);
    repo.git(["merge", "-q", "--no-edit", main.as_str()]);
    repo.write("p", "2\n").commit();
    let repository = blobs(&repo).repository().clone();
    let bases = repository
        .merge_bases(&repo.sha("main"), &repo.sha("pr"))
        .await
        .unwrap();
    assert_eq!(bases.len(), 2);
    let change = GitChange::open(repository, repo.sha("main"), Head::Commit(repo.sha("pr")));
    let change = change.await.unwrap().unwrap();
    let listed: Vec<_> = change.files().iter().map(|f| f.path.clone()).collect();
    assert_eq!(listed.join("\n"), repo.git(["diff", "--name-only", "main...pr"]));
}

#[test]
fn a_raw_list_that_is_cut_off_is_refused() {
    let (a, b) = ("1".repeat(40), "2".repeat(40));
    let whole = format!(":100644 100644 {a} {b} M\0f\0:100644 100644 {a} {b} R100\0f\0g\0");
    assert_eq!(raws(whole.as_bytes()).unwrap().len(), 2);
    assert_eq!(raws(b"").unwrap().len(), 0);
    for text in [
        whole.trim_end_matches("g\0"),
        &whole[1..],
        &format!(":100644 100644 {a} {b} X\0f\0"),
        &format!(":100644 100644 {a} M\0f\0"),
        "\0",
        "hello",
    ] {
        assert_eq!(raws(text.as_bytes()), None, "{text:?}");
    }
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"-- a/x".to_vec()),
        Just(b"++ b/x".to_vec()),
        Just(b"diff --git a/x b/x".to_vec()),
        Just(b"\\ No newline at end of file".to_vec()),
        Just(b"".to_vec()),
        Just(b"same\r".to_vec()),
        "[ab\u{2028}\u{85}\u{c}]{0,2}".prop_map(String::into_bytes),
        proptest::collection::vec(1u8..=255, 0..3)
            .prop_map(|v| v.into_iter().filter(|b| *b != b'\n').collect()),
    ]
}

/// A text of lines, with or without a final line end.
fn text() -> impl Strategy<Value = Vec<u8>> {
    (proptest::collection::vec(line(), 0..30), any::<bool>()).prop_map(|(lines, end)| {
        let mut text = lines.join(&b'\n');
        if end && !text.is_empty() {
            text.push(b'\n');
        }
        text
    })
}

fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|&b| b == b'\n').collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Git itself prints the diff of a dozen files of random text; what is read is what
    /// the blobs hold.
    #[test]
    fn what_git_prints_is_read_as_the_blobs_hold_it(
        pairs in proptest::collection::vec((text(), text()), 12),
    ) {
        let repo = Scratch::new();
        for (i, (old, _)) in pairs.iter().enumerate() {
            repo.write(&format!("f{i}"), old);
        }
        let old = repo.commit();
        for (i, (_, new)) in pairs.iter().enumerate() {
            repo.write(&format!("f{i}"), new);
        }
        let new = repo.commit();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (files, coverage) = runtime.block_on(between(&repo, &old, &new));
        prop_assert!(coverage.is_complete());
        let changed = pairs.iter().filter(|(old, new)| old != new).count();
        prop_assert_eq!(files.len(), changed);
        for file in &files {
            let (old, new) = &pairs[file.path[1..].parse::<usize>().unwrap()];
            let (old, new) = (lines_of(old), lines_of(new));
            for line in file.hunks().iter().flat_map(|h| file.lines(h)) {
                if let Some(n) = line.old {
                    prop_assert_eq!(line.text, old[n as usize - 1]);
                }
                if let Some(n) = line.new {
                    prop_assert_eq!(line.text, new[n as usize - 1]);
                }
            }
            // The other lines are the same, in order, on both sides.
            let rest = |lines: &[&[u8]], shown: &dyn Fn(u32) -> bool| -> Vec<Vec<u8>> {
                let numbered = (1..).zip(lines).filter(|(n, _)| !shown(*n));
                numbered.map(|(_, l)| l.to_vec()).collect()
            };
            let empty = |lines: &[&[u8]]| lines == [b"".as_slice()];
            if !empty(&old) && !empty(&new) {
                prop_assert_eq!(
                    rest(&old, &|n| file.line_text(Side::Left, n).is_some()),
                    rest(&new, &|n| file.line_text(Side::Right, n).is_some())
                );
            }
        }
    }
}

/// The shapes of a hostile change, under bounds that make them hostile while they are
/// small: what is over a bound is named and unseen, everything beside it is read.
#[tokio::test]
async fn every_shape_over_a_bound_is_unseen_and_the_rest_is_read() {
    let bounds = Bounds {
        file_bytes: 4000,
        file_lines: 300,
        bytes: 20_000,
        lines: 1000,
        batch: 1000,
    };
    let repo = Scratch::new();
    let context: String = (0..1000).map(|n| format!("{n}\n")).collect();
    repo.write("hunks", &context).write("kind", "x\n".repeat(600));
    let old = repo.commit();
    // One-line hunks, each far enough from the next.
    let hunks: String = (0..1000)
        .map(|n| {
            if n % 8 == 0 {
                "new\n".to_owned()
            } else {
                format!("{n}\n")
            }
        })
        .collect();
    fs::remove_file(repo.at("kind")).unwrap();
    repo.write("blank", "\n".repeat(400))
        .write("hunks", hunks)
        .write("line", "x".repeat(5000))
        .write("kind", [b'a', 0])
        .write("a", "1\n")
        .write("z", "diff --git a/b b/b\n");
    let new = repo.commit();
    let (files, coverage) = within(&blobs(&repo), old.as_str(), new.as_str(), bounds)
        .await
        .unwrap();
    let too_large = format!(" unseen: {TOO_LARGE}");
    assert_eq!(
        told(&files),
        [
            "added a ->100644 +1 -0".to_owned(),
            format!("added blank ->100644 +0 -0{too_large}"),
            format!("modified hunks 100644>100644 +0 -0{too_large}"),
            "modified kind 100644>100644 +0 -0 binary".to_owned(),
            format!("added line ->100644 +0 -0{too_large}"),
            "added z ->100644 +1 -0".to_owned(),
        ]
    );
    assert_eq!(coverage.unseen.len(), 3);
}

#[tokio::test]
async fn files_behind_the_bound_of_a_change_are_named_and_unseen() {
    let repo = Scratch::new();
    let old = repo.write("base", "1\n").commit();
    for n in 0..60 {
        repo.write(&format!("f{n:02}"), "1\n".repeat(20));
    }
    let new = repo.commit();
    let bounds = Bounds {
        lines: 1000,
        batch: 500,
        ..Bounds::default()
    };
    let (files, coverage) = within(&blobs(&repo), old.as_str(), new.as_str(), bounds)
        .await
        .unwrap();
    assert_eq!(files.len(), 60);
    let (seen, unseen): (Vec<_>, Vec<_>) = files.iter().partition(|f| f.unseen.is_none());
    assert!(seen.iter().all(|f| f.added_lines().count() == 20));
    assert!((35..45).contains(&seen.len()), "{}", seen.len());
    assert!(unseen.iter().all(|f| f.unseen.as_deref() == Some(ALL_TOO_LARGE)));
    assert_eq!(coverage.unseen.len(), unseen.len());
}

/// A file that becomes a link is printed as two files of one name, whichever half is cut.
#[tokio::test]
async fn a_changed_type_is_one_file_also_when_half_of_it_is_cut() {
    let repo = Scratch::new();
    let old = repo.write("a", "1\n").write("kind", "x\n".repeat(600)).commit();
    fs::remove_file(repo.at("kind")).unwrap();
    std::os::unix::fs::symlink("target", repo.at("kind")).unwrap();
    let new = repo.write("z", "1\n").commit();
    let bounds = Bounds {
        file_lines: 300,
        batch: 0,
        ..Bounds::default()
    };
    let (files, _) = within(&blobs(&repo), old.as_str(), new.as_str(), bounds)
        .await
        .unwrap();
    assert_eq!(
        files
            .iter()
            .map(|f| (&*f.path, f.unseen.is_some()))
            .collect::<Vec<_>>(),
        [("kind", true), ("z", false)]
    );
}

#[tokio::test]
async fn what_git_did_not_get_to_in_time_is_unseen_and_says_so() {
    let repo = Scratch::new();
    let old = repo.write("base", "1\n").commit();
    let new = repo.write("f", "1\n").write("g", "1\n").commit();
    let raw = blobs(&repo)
        .repository()
        .git("diff-tree")
        .args(OPTIONS)
        .args(["--raw", "-z", "--no-abbrev"]);
    let printed = raw.args([old.as_str(), new.as_str()]).run().await.unwrap();
    let raws = raws(&printed).unwrap();
    let contents = vec![Content::Text, Content::Text];
    let mut read =
        diff::parse(b"diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+1\n")
            .unwrap();
    read[0].new_oid = Some(raws[0].new_oid.clone());
    let (files, coverage) = join(raws, contents, read, SLOW);
    assert_eq!(
        (files[0].unseen.as_deref(), files[1].unseen.as_deref()),
        (None, Some(SLOW))
    );
    assert_eq!(coverage.unseen[0].path, "g");
}
