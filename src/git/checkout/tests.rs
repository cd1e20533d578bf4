use std::{fs, os::unix::fs::PermissionsExt};

use super::*;
use crate::git::{repository::ObjectFormat, scratch::Scratch};

async fn out(scratch: &Scratch) -> tempfile::TempDir {
    let head = scratch.sha("HEAD");
    let repository = Repository::view(&scratch.at(".git/objects"), None, ObjectFormat::Sha1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    check_out(&repository, &head, folder.path()).await.unwrap();
    folder
}

#[tokio::test]
async fn the_files_are_the_blobs_whatever_attributes_say() {
    let scratch = Scratch::new();
    let content = "$Id$\nline\n";
    scratch
        .write("a.txt", content)
        .write("sub/[id]/b.sh", "#!/bin/sh\n");
    scratch.git(["add", "-A"]);
    scratch.git(["update-index", "--chmod=+x", "sub/[id]/b.sh"]);
    scratch.git(["config", "filter.evil.smudge", "touch pwned; cat"]);
    let attributes =
        "* text eol=crlf ident filter=evil working-tree-encoding=UTF-16 export-ignore export-subst\n";
    scratch.write(".gitattributes", attributes);
    // As it is: it would convert itself.
    let blob = scratch.git(["hash-object", "-w", "--no-filters", ".gitattributes"]);
    scratch.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("100644,{blob},.gitattributes"),
    ]);
    scratch.git(["commit", "-q", "-m", "x"]);
    let folder = out(&scratch).await;
    let at = |path: &str| folder.path().join(path);
    assert_eq!(fs::read_to_string(at("a.txt")).unwrap(), content);
    assert!(fs::metadata(at("sub/[id]/b.sh")).unwrap().permissions().mode() & 0o100 != 0);
    assert!(at(".gitattributes").exists() && !at(".git").exists() && !at("pwned").exists());
}

#[tokio::test]
async fn a_link_is_a_link_and_a_submodule_an_empty_folder() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "a\n");
    std::os::unix::fs::symlink("/etc/passwd", scratch.at("link")).unwrap();
    scratch.git(["add", "-A"]);
    scratch.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},module", "1".repeat(40)),
    ]);
    scratch.git(["commit", "-q", "-m", "x"]);
    let folder = out(&scratch).await;
    assert_eq!(
        fs::read_link(folder.path().join("link")).unwrap(),
        Path::new("/etc/passwd")
    );
    let module = folder.path().join("module");
    assert!(!module.exists() || fs::read_dir(module).unwrap().next().is_none());
}
