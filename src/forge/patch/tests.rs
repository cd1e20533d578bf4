use super::*;

const PATCH: &str = "diff --git a/new.py b/new.py\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/new.py\n\
    @@ -0,0 +1,2 @@\n+a = 1\n+b = 2\ndiff --git a/old.py b/old.py\nindex 1111111..2222222 100644\n--- a/old.py\n+++ b/old.py\n\
    @@ -3,2 +3,2 @@\n x\n-y\n+z\n";

fn block<T>(future: impl Future<Output = T>) -> T {
    futures::executor::block_on(future)
}

fn user(text: &str) -> String {
    match PatchChange::read_from(text.as_bytes()) {
        Err(ChangeError::User(words)) => words,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_added_file_is_whole_and_of_a_changed_one_only_its_lines_are_known() {
    let change = PatchChange::read_from(PATCH.as_bytes()).unwrap();
    let read = |side, path| {
        block(change.read(side, path))
            .unwrap()
            .map(|b| String::from_utf8(b).unwrap())
    };
    let shown = |side, path| {
        block(change.shown(side, path))
            .unwrap()
            .map(|b| String::from_utf8(b).unwrap())
    };
    assert_eq!(read(Side::Right, "new.py").as_deref(), Some("a = 1\nb = 2\n"));
    assert_eq!(read(Side::Left, "new.py"), None);
    assert_eq!(read(Side::Right, "old.py"), None);
    assert_eq!(shown(Side::Right, "old.py").as_deref(), Some("\n\nx\nz\n"));
    assert_eq!(shown(Side::Left, "old.py").as_deref(), Some("\n\nx\ny\n"));
    assert_eq!(shown(Side::Right, "other.py"), None);
    assert!(change.coverage().proviso.is_some() && change.coverage().is_complete());
}

#[test]
fn what_is_no_diff_is_refused_and_nothing_is_no_change() {
    assert!(PatchChange::read_from(b"").unwrap().files().is_empty());
    assert!(PatchChange::read_from(b"\n").is_err());
    assert_eq!(user("hello\n"), "the patch: line 1: not a git diff");
    assert!(user(&PATCH[..PATCH.len() - 4]).starts_with("the patch: "));
    assert!(user(&format!("{PATCH}oops\n")).contains("not a git diff"));
}

#[test]
fn a_letter_and_a_shown_commit_are_read_and_nothing_after_them_is_passed_over() {
    let letter = |body: &str| {
        format!(
            "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\nFrom: M <m@example.com>\nSubject: x\n\n---\n old.py | 2 +-\n\n{body}"
        )
    };
    let paths = |text: &str| {
        let change = PatchChange::read_from(text.as_bytes()).unwrap();
        change.files().iter().map(|f| f.path.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        paths(&letter(&format!("{PATCH}-- \n2.47.3\n\n"))),
        ["new.py", "old.py"]
    );
    assert_eq!(
        paths(&format!("commit 1111111\nAuthor: M\n\n    x\n\n{PATCH}")),
        ["new.py", "old.py"]
    );
    // A second letter behind the first would be a second change.
    let two = letter(&format!("{PATCH}-- \n2.47.3\n\n{}", letter(PATCH)));
    assert!(user(&two).contains("not a git diff"));
    assert!(user("From nobody\n").contains("not a git diff"));
}

#[test]
fn a_line_number_is_not_believed_whatever_it_says() {
    let huge = "diff --git a/a.py b/a.py\nindex 1111111..2222222 100644\n--- a/a.py\n+++ b/a.py\n@@ -4000000000 +4000000000 @@\n-<<<<<<< x\n+<<<<<<< y\n";
    let change = PatchChange::read_from(huge.as_bytes()).unwrap();
    assert_eq!(change.coverage().unseen.len(), 1);
    assert!(change.files()[0].hunks().is_empty());
    assert_eq!(block(change.shown(Side::Right, "a.py")).unwrap(), None);
}
