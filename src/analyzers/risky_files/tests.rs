use proptest::prelude::*;

use super::{RiskyFiles, attributes, binaries, gates, submodules};
use crate::{
    analyzers::doubles::{TextChange, found, report},
    domain::{diff::FileStatus, review::reviewer::ContributionState},
};

fn change() -> TextChange {
    TextChange::new()
}

fn rules(change: &TextChange) -> Vec<String> {
    found(&RiskyFiles, change)
        .into_iter()
        .map(|f| f.replace("risky_files/", ""))
        .collect()
}

fn link(path: &str, target: &str) -> TextChange {
    change()
        .adding(path, target)
        .with(|f| f.new_mode = Some(0o120_000))
}

fn binary(path: &str, bytes: &[u8]) -> TextChange {
    change().adding(path, bytes).with(|f| {
        f.binary = true;
        f.new_mode = Some(0o100_644);
        let bare = std::mem::replace(f, crate::domain::diff::ChangedFile::new("", FileStatus::Added));
        *f = bare.with_patch(crate::domain::diff::Patch::default());
    })
}

#[test]
fn a_link_that_leaves_the_tree_is_told_however_it_is_written() {
    for (path, target) in [
        ("a", "/etc/passwd"),
        ("a", "../a"),
        ("a/b/c", "../../../x"),
        ("a/b", "./.././../x"),
        ("a", "x/../../y"),
        ("a", "C:\\Windows"),
        ("a", "c:/x"),
        ("a", "\\\\host\\share"),
        ("a/b", "..\\..\\x"),
        ("a", "//x"),
        ("a", "../\n"),
    ] {
        assert_eq!(
            rules(&link(path, target)),
            ["p1 symlink-escape"],
            "{path} -> {target}"
        );
    }
    for (path, target) in [
        ("a", "b"),
        ("a/b", "../c"),
        ("a/b/c", "../../d"),
        ("a", "b/../c"),
        ("a", "..."),
        ("a", "..x/y"),
        ("a", "x:y"),
        ("a", "."),
    ] {
        assert_eq!(rules(&link(path, target)), [""; 0], "{path} -> {target}");
    }
}

#[test]
fn a_link_that_leaves_through_another_link_is_told() {
    let both = link("d", ".")
        .adding("x", "d/../y")
        .with(|f| f.new_mode = Some(0o120_000));
    assert_eq!(rules(&both), ["p1 symlink-escape"]);
    let ring = link("a", "b")
        .adding("b", "a")
        .with(|f| f.new_mode = Some(0o120_000));
    assert_eq!(rules(&ring), [""; 0]);
    let itself = link("a", "a/a/a/a");
    assert_eq!(rules(&itself), [""; 0]);
}

#[test]
fn a_link_into_gits_folder_is_told_under_every_name_of_it() {
    for target in [
        ".git/hooks",
        ".GIT",
        "sub/.git/config",
        "git~1",
        ".git .",
        ".g\u{200c}it",
        ".git:stream",
    ] {
        assert_eq!(rules(&link("a", target)), ["p1 symlink-git"], "{target}");
    }
    for target in [".github", ".gitignore", "git", "x.git", ".gitx/y"] {
        assert_eq!(rules(&link("a", target)), [""; 0], "{target}");
    }
}

#[test]
fn a_file_that_would_be_written_through_a_link_where_case_folds_is_told() {
    let through = link("A", "inside").adding("a/post-checkout", "x\n");
    assert_eq!(rules(&through), ["p1 symlink-collision"]);
    let same = link("Readme", "inside").adding("README", "x\n");
    assert_eq!(rules(&same), ["p1 symlink-collision"]);
    let apart = link("A", "inside").adding("ab/c", "x\n").adding("a-b", "x\n");
    assert_eq!(rules(&apart), [""; 0]);
}

#[test]
fn a_link_that_was_there_before_and_did_not_change_is_not_judged() {
    let moved = change()
        .between("b", FileStatus::Renamed, b"/etc", b"/etc")
        .with(|f| {
            f.old_path = Some("a".into());
            (f.old_mode, f.new_mode) = (Some(0o120_000), Some(0o120_000));
            f.old_oid = Some("1".into());
            f.new_oid = Some("1".into());
        });
    assert_eq!(rules(&moved), [""; 0]);
    let gone = change()
        .removing("a", "/etc")
        .with(|f| f.old_mode = Some(0o120_000));
    assert_eq!(rules(&gone), [""; 0]);
}

#[test]
fn the_bit_on_what_is_no_script_is_advice() {
    let with_bit =
        |path: &str, text: &str| change().adding(path, text).with(|f| f.new_mode = Some(0o100_755));
    assert_eq!(
        rules(&with_bit("src/a.rs", "fn main() {}\n")),
        ["p3 executable-bit"]
    );
    assert_eq!(rules(&with_bit("data.json", "{}\n")), ["p3 executable-bit"]);
    assert_eq!(rules(&with_bit("run", "#!/bin/sh\n")), [""; 0]);
    assert_eq!(rules(&with_bit("run.sh", "echo\n")), [""; 0]);
    assert_eq!(rules(&with_bit("empty", "")), [""; 0]);
    let two = with_bit("a.md", "x\n")
        .adding("b.md", "x\n")
        .with(|f| f.new_mode = Some(0o100_755));
    assert_eq!(rules(&two), ["p3 executable-bit"]);
    assert_eq!(
        report(&RiskyFiles, &two).drafts[0].title,
        "2 files became executable and are no scripts"
    );
}

#[test]
fn a_bit_that_comes_without_a_line_is_judged_by_the_file() {
    let only_mode = |text: &str, old: u32| {
        change().changing("tool", text, text).with(|f| {
            f.old_mode = Some(old);
            f.new_mode = Some(0o100_755);
            f.old_oid = Some("1".into());
            f.new_oid = Some("1".into());
        })
    };
    assert_eq!(rules(&only_mode("hello\n", 0o100_644)), ["p3 executable-bit"]);
    assert_eq!(rules(&only_mode("#!/bin/sh\n", 0o100_644)), [""; 0]);
    assert_eq!(rules(&only_mode("hello\n", 0o100_755)), [""; 0]);
}

#[test]
fn what_a_submodules_settings_make_git_do_is_told() {
    for (setting, rule) in [
        ("url = -u./payload", "p1 submodule-hazard"),
        ("url = ssh://-oProxyCommand=x/y", "p1 submodule-hazard"),
        ("url = ext::sh -c x", "p1 submodule-hazard"),
        ("URL=\"ext::sh\"", "p1 submodule-hazard"),
        ("url = fd::17", "p1 submodule-hazard"),
        ("url = file:///srv/x", "p1 submodule-hazard"),
        ("url = /srv/x", "p1 submodule-hazard"),
        ("url = c:/x", "p1 submodule-hazard"),
        ("url = https://x.invalid/%0ahost=y", "p1 submodule-hazard"),
        ("url = http://x.invalid/y", "p2 submodule-hazard"),
        ("url = git://x.invalid/y", "p2 submodule-hazard"),
        ("url = https://x.invalid/y", "p2 submodule-url"),
        ("url = git@x.invalid:y/z", "p2 submodule-url"),
        ("url = ../y.git", "p2 submodule-url"),
        ("path = -x", "p1 submodule-hazard"),
        ("path = ../x", "p1 submodule-hazard"),
        ("path = .GIT/x", "p1 submodule-hazard"),
        ("update = !touch x", "p1 submodule-hazard"),
    ] {
        let text = format!("[submodule \"a\"]\n\t{setting}\n");
        assert_eq!(
            rules(&change().adding(".gitmodules", &text)),
            [format!("{rule} .gitmodules:2")],
            "{setting}"
        );
    }
    for setting in [
        "path = lib/a",
        "update = rebase",
        "branch = main",
        "# url = ext::x",
        "shallow",
    ] {
        let text = format!("[submodule \"a\"]\n\t{setting}\n");
        assert_eq!(
            rules(&change().adding(".gitmodules", &text)),
            [""; 0],
            "{setting}"
        );
    }
}

#[test]
fn a_setting_cannot_hide_behind_its_section_or_a_broken_line() {
    assert_eq!(
        rules(&change().adding(".gitmodules", "[submodule \"a\"] url = ext::x\n")),
        ["p1 submodule-hazard .gitmodules:1"]
    );
    assert_eq!(
        rules(&change().adding(".gitmodules", "[submodule \"a\"]\nurl = ex\\\nt::sh\n")),
        ["p1 submodule-hazard .gitmodules:2"]
    );
    assert_eq!(
        rules(&change().adding(".gitmodules", "[submodule \"../../hooks\"]\npath = a\n")),
        ["p1 submodule-hazard .gitmodules:1"]
    );
}

#[test]
fn an_address_that_did_not_change_is_not_told_again() {
    let before = "[submodule \"a\"]\n\tpath = a\n\turl = http://x.invalid/y\n";
    let after = "[submodule \"a\"]\n\tpath = b\n\turl = http://x.invalid/y\n";
    assert_eq!(rules(&change().changing(".gitmodules", before, after)), [""; 0]);
    assert_eq!(rules(&change().adding("docs/.gitmodules", before)), [""; 0]);
}

#[test]
fn a_submodule_that_moves_says_from_where_to_where() {
    let moved = change()
        .changing("lib/a", "Subproject commit 1\n", "Subproject commit 2\n")
        .with(|f| {
            (f.old_mode, f.new_mode) = (Some(0o160_000), Some(0o160_000));
            f.old_oid = Some("1".repeat(40));
            f.new_oid = Some("2".repeat(40));
        });
    assert_eq!(rules(&moved), ["p3 submodule-moved"]);
    let body = &report(&RiskyFiles, &moved).drafts[0].body;
    assert!(
        body.starts_with("It goes from `111111111111` to `222222222222`."),
        "{body}"
    );
    let new = change()
        .adding("lib/a", "Subproject commit 1\n")
        .with(|f| f.new_mode = Some(0o160_000));
    assert_eq!(rules(&new), ["p3 submodule-added"]);
}

fn pe() -> Vec<u8> {
    let mut bytes = vec![0; 0x90];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[0x3c] = 0x80;
    bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
    bytes
}

#[test]
fn programs_are_known_by_their_bytes_and_not_by_their_name() {
    for bytes in [
        b"\x7fELF\x02\x01\x01\0".to_vec(),
        pe(),
        b"\xcf\xfa\xed\xfe\x07\0\0\x01".to_vec(),
        b"\xfe\xed\xfa\xcf\x01\0\0\x07".to_vec(),
        b"\xca\xfe\xba\xbe\0\0\0\x02".to_vec(),
    ] {
        assert_eq!(rules(&binary("logo.png", &bytes)), ["p1 program"]);
        assert_eq!(rules(&binary("tests/fixtures/a", &bytes)), ["p3 program"]);
    }
    for bytes in [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        b"MZ\0\0".to_vec(),
        b"\xca\xfe\xba\xbe\0\0\0\x34".to_vec(),
        b"\x7fEL".to_vec(),
        b"".to_vec(),
    ] {
        assert_eq!(rules(&binary("a.bin", &bytes)), [""; 0], "{bytes:?}");
    }
}

#[test]
fn a_large_binary_is_advice() {
    let big = |len: usize| vec![0u8; len];
    assert_eq!(rules(&binary("a.bin", &big(5 << 20))), ["p3 large-binary"]);
    assert_eq!(rules(&binary("a.bin", &big((5 << 20) - 1))), [""; 0]);
    // The double has no such blob, as a change has none over 16 MiB.
    let mut huge = binary("a.bin", b"\0");
    huge.files[0].path = "b.bin".into();
    assert_eq!(rules(&huge), ["p2 large-binary"]);
}

#[test]
fn attributes_that_hide_code_are_told() {
    for (line, rule) in [
        ("*.rs -diff", "p2"),
        ("*.rs binary", "p2"),
        ("src/** linguist-generated", "p2"),
        ("src/*.ts linguist-generated=true", "p2"),
        ("* -diff", "p2"),
        ("**/*.py gitlab-generated", "p2"),
        (".github/** linguist-generated", "p2"),
        ("\"*.rs\" text -diff", "p2"),
        ("*.go merge=ours", "p3"),
        ("src/lib.rs -diff", "p3"),
    ] {
        assert_eq!(
            rules(&change().adding("sub/.gitattributes", format!("{line}\n"))),
            [format!("{rule} hidden-from-review sub/.gitattributes:1")],
            "{line}"
        );
    }
    for line in [
        "# *.rs -diff",
        "*.rs diff=rust",
        "*.rs text eol=lf",
        "*.png binary",
        "Cargo.lock -diff",
        "package-lock.json linguist-generated=true",
        "pnpm-lock.yaml -diff merge=ours",
        "dist/** linguist-generated",
        "src/generated/*.rs linguist-generated",
        "*.pb.go linguist-generated=true",
        "*.min.js -diff",
        "CHANGELOG.md merge=ours",
        "*.rs -linguist-generated",
        "*.rs linguist-generated=false",
        "*.snap linguist-generated",
    ] {
        assert_eq!(
            rules(&change().adding(".gitattributes", format!("{line}\n"))),
            [""; 0],
            "{line}"
        );
    }
    assert_eq!(
        rules(&change().adding(".gitattributes", "[attr]quiet -diff\n*.rs quiet\n")),
        ["p2 hidden-from-review .gitattributes:2"]
    );
    let old = change().changing(".gitattributes", "*.rs -diff\n", "*.rs -diff\n*.md text\n");
    assert_eq!(rules(&old), [""; 0]);
}

#[test]
fn owners_that_change_hands_are_listed() {
    let moved = change().changing(
        ".github/CODEOWNERS",
        "* @a\n/src/ @a @b\n",
        "* @a\n/src/ @c # more\n/new @a\n",
    );
    assert_eq!(rules(&moved), ["p2 owners-changed"]);
    let body = &report(&RiskyFiles, &moved).drafts[0].body;
    assert!(
        body.contains("- `/new`: nobody → `@a`\n- `/src/`: `@a @b` → `@c`"),
        "{body}"
    );
    let words = change().changing("CODEOWNERS", "* @a\n", "# all\n* @a\n");
    assert_eq!(rules(&words), [""; 0]);
    assert_eq!(
        rules(&change().removing("CODEOWNERS", "* @a\n")),
        ["p2 owners-changed"]
    );
    assert_eq!(rules(&change().adding("src/CODEOWNERS", "* @a\n")), [""; 0]);
}

#[test]
fn a_policy_that_changes_says_how_and_one_that_breaks_says_that() {
    let weaker = change().changing(
        ".github/jury.toml",
        "gate = \"required\"\n",
        "gate = \"advisory\"\n[axes.security]\ngated = false\n",
    );
    assert_eq!(rules(&weaker), ["p2 policy-changed"]);
    let body = &report(&RiskyFiles, &weaker).drafts[0].body;
    assert!(
        body.contains("- `axes.security.gated`: default → `false`"),
        "{body}"
    );
    assert!(body.contains("`gate`: `\"required\"` → `\"advisory\"`"), "{body}");
    let same = change().changing(
        ".github/jury.toml",
        "gate = \"required\"\n",
        "# x\ngate = \"required\"\n",
    );
    assert_eq!(rules(&same), [""; 0]);
    let broken = change().adding(".github/jury.toml", "gate = \"required\"\ngaet = 1\n");
    assert_eq!(
        rules(&broken),
        ["p1 policy-broken .github/jury.toml:2", "p2 policy-changed"]
    );
}

#[test]
fn a_workflow_that_changes_says_what_it_can_reach_now() {
    let before = "on: push\njobs:\n  a:\n    steps:\n      - uses: x/y@v1\n      - run: a\n";
    let after = "on:\n  pull_request_target:\npermissions:\n  contents: write\njobs:\n  a:\n    steps:\n      - uses: x/y@v1\n      - uses: z/w@v1\n      - run: ${{ secrets.KEY }}\n";
    let edited = change().changing(".github/workflows/ci.yml", before, after);
    assert_eq!(rules(&edited), ["p3 pipeline-changed"]);
    let body = &report(&RiskyFiles, &edited).drafts[0].body;
    assert!(
        body.contains("now with the action `z/w`, the permission `contents: write`, the secret `KEY`, the trigger `pull_request_target`"),
        "{body}"
    );
    assert_eq!(rules(&change().adding("docs/workflows/ci.yml", after)), [""; 0]);
}

#[test]
fn what_cannot_be_read_makes_it_partial_and_what_is_not_ours_does_not() {
    let hidden = change()
        .adding(".gitattributes", "")
        .with(|f| f.unseen = Some("too large".into()));
    assert_eq!(report(&RiskyFiles, &hidden).state, ContributionState::Partial);
    let other = change()
        .adding("a.rs", "")
        .with(|f| f.unseen = Some("too large".into()));
    assert_eq!(report(&RiskyFiles, &other).state, ContributionState::Complete);
}

proptest! {
    #[test]
    fn anything_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..400), text in "[\\[\\]\"\\\\=#;!:./ a-u\n*-]{0,200}") {
        for blob in [bytes.as_slice(), text.as_bytes()] {
            let _ = submodules::settings(blob).iter().filter(|s| s.fault().is_some()).count();
            let _ = attributes::hiding(blob).len();
            let _ = binaries::program(blob);
            let _ = gates::policy_fault(blob);
            for path in [".gitmodules", ".gitattributes", "CODEOWNERS", ".github/jury.toml", ".github/workflows/a.yml"] {
                let _ = found(&RiskyFiles, &change().adding(path, blob));
            }
            let _ = found(&RiskyFiles, &change().adding("a/b", blob).with(|f| f.new_mode = Some(0o120_000)));
        }
    }
}
