//! Files that became executable and are no scripts.

use crate::{
    domain::{
        diff::ChangedFile,
        review::finding::{Priority, Side},
    },
    ports::change::{Change, ChangeError},
};

use super::{Found, advice, binaries, bullets, new_or_altered, remark, short, span};

/// Names whose files are run by something that needs no first line to tell it how.
const SCRIPTS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "ksh", "csh", "py", "pl", "pm", "rb", "php", "js", "mjs", "cjs", "ts",
    "lua", "tcl", "awk", "sed", "bat", "cmd", "ps1", "exe", "com", "run", "appimage", "command", "expect",
    "exs", "groovy", "r", "jl", "t", "cgi", "raku", "nu", "scm", "el",
];

/// Files whose first line is read because the change does not show it.
const OPENED: usize = 200;

fn executable(mode: Option<u32>) -> bool {
    mode.is_some_and(|mode| mode & 0o170_000 == 0o100_000 && mode & 0o111 != 0)
}

fn named_script(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.rsplit_once('.').is_some_and(|(_, e)| SCRIPTS.contains(&e))
}

/// The first bytes of the file on the head, when the change shows its first line.
fn shown_start(file: &ChangedFile) -> Option<&[u8]> {
    let hunk = file.hunks().first()?;
    file.lines(hunk).find(|l| l.new == Some(1)).map(|l| l.text)
}

pub(super) async fn judge<'a>(change: &'a dyn Change, found: &mut Found<'a>) -> Result<(), ChangeError> {
    let mut opened = 0;
    let mut odd: Vec<&ChangedFile> = Vec::new();
    for file in new_or_altered(change) {
        if !executable(file.new_mode) || executable(file.old_mode) || named_script(&file.path) {
            continue;
        }
        let script = match shown_start(file) {
            Some(start) => start.starts_with(b"#!"),
            None if opened < OPENED => {
                opened += 1;
                match change.read(Side::Right, &file.path).await? {
                    // A compiled program has a remark of its own, and a bit that is right.
                    Some(blob) => {
                        blob.is_empty() || blob.starts_with(b"#!") || binaries::program(&blob).is_some()
                    }
                    None => true,
                }
            }
            None => false,
        };
        if !script {
            odd.push(file);
        }
    }
    if odd.is_empty() {
        return Ok(());
    }
    let title = match odd.as_slice() {
        [one] => format!("{} became executable and is no script", short(&one.path)),
        many => format!("{} files became executable and are no scripts", many.len()),
    };
    let body = format!(
        "Nothing says how to run:\n{}\n\nTake the bit back (`git update-index --chmod=-x FILE`), or give the file a first \
         line `#!…`.",
        bullets(&odd, |file| span(&file.path))
    );
    let draft = remark("executable-bit", Priority::P3, 0.7, title, body).unanchored();
    found.drafts.push(advice(draft));
    Ok(())
}
