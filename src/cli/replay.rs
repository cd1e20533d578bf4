//! `jury replay`: a recorded delivery as a file holds it, and what would be published, as
//! text.

use std::path::Path;

use serde_json::Value;

use super::{Fault, output};
use crate::{
    domain::{review::publication::ReviewView, text},
    services::{
        intake::Taken,
        rehearse::{Rehearsed, Unsent},
    },
};

/// A delivery from a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The event's name, where the file tells it.
    pub event: Option<String>,
    /// The payload.
    pub body: Vec<u8>,
}

/// Reads a recorded delivery: a bare payload, whose event is in the file's name
/// (`pull_request.opened.json`), or GitHub's record of a delivery with `event` and
/// `request.payload`, as `GET /app/hook/deliveries/{id}` answers it.
pub fn recorded(path: &Path, bytes: Vec<u8>) -> Result<Recorded, Fault> {
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Fault::new(format!("{}: not JSON: {error}", path.display())))?;
    let payload = &value["request"]["payload"];
    if let (Some(event), true) = (value["event"].as_str(), payload.is_object()) {
        return Ok(Recorded {
            event: Some(event.to_owned()),
            body: payload.to_string().into_bytes(),
        });
    }
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let event = name.split('.').next().unwrap_or_default();
    let named = !event.is_empty() && event.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    // A name without an action is any file's.
    let told = named && name.matches('.').count() > 1;
    Ok(Recorded {
        event: told.then(|| event.to_owned()),
        body: bytes,
    })
}

/// Writes to stdout what a delivery would come to.
pub fn show_rehearsal(event: &str, rehearsed: &Rehearsed) -> Result<(), Fault> {
    output::print(&told(event, rehearsed))
}

fn told(event: &str, rehearsed: &Rehearsed) -> String {
    let event = text::one_line(event);
    let mut out = match &rehearsed.taken {
        Taken::Acted => {
            format!("{event}: taken in as on a server that had never seen it. Nothing was sent.\n")
        }
        Taken::Ignored(why) => format!(
            "{event}: nothing to do ({}). Nothing was sent.\n",
            text::one_line(why)
        ),
    };
    if rehearsed.unsent.is_empty() {
        out.push_str("\nNothing would be published.\n");
    }
    for unsent in &rehearsed.unsent {
        out.push('\n');
        match unsent {
            Unsent::Check {
                place,
                sha,
                name,
                view,
            } => {
                let conclusion = view
                    .conclusion
                    .map_or("in progress", |conclusion| conclusion.as_str());
                out.push_str(&format!(
                    "Check {name} on {place}@{}: {conclusion}\n{}\n{}",
                    sha.short(),
                    indented(&view.title),
                    indented(&view.summary)
                ));
            }
            Unsent::Review { place, view } => out.push_str(&review(place, view)),
            Unsent::Dismissal { place, message } => {
                out.push_str(&format!(
                    "A request for changes on {place} taken back:\n{}",
                    indented(message)
                ));
            }
        }
    }
    out
}

fn review(place: &str, view: &ReviewView) -> String {
    let mut out = format!("Review of {place}: {}\n{}", view.event, indented(&view.body));
    for comment in &view.comments {
        let path = text::visible_path(&comment.path);
        let first = comment
            .start_line
            .map_or(String::new(), |first| format!("{first}-"));
        out.push_str(&format!(
            "\nComment at {path}:{first}{} ({})\n{}",
            comment.line,
            comment.side,
            indented(&comment.body)
        ));
    }
    out
}

/// What a stranger wrote is among it: nothing of it reaches the terminal but text.
fn indented(text: &str) -> String {
    text::visible_lines(text)
        .trim_end()
        .lines()
        .map(|line| format!("  {line}").trim_end().to_owned() + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_is_in_the_record_or_in_the_files_name() {
        let read = |name: &str, text: &str| recorded(Path::new(name), text.into()).unwrap();
        let bare = read("a/pull_request.opened.json", "{\"action\": \"opened\"}");
        assert_eq!(bare.event.as_deref(), Some("pull_request"));
        assert_eq!(bare.body, b"{\"action\": \"opened\"}", "byte for byte");
        for unnamed in ["payload.json", "Saved.1.json", "-", ".a.json", "x y.z.json"] {
            assert_eq!(read(unnamed, "{}").event, None, "{unnamed}");
        }
        let record = read(
            "x",
            r#"{"id": 1, "guid": "g", "event": "ping", "request": {"headers": {}, "payload": {"zen": "z"}}}"#,
        );
        assert_eq!(
            (record.event.as_deref(), record.body),
            (Some("ping"), b"{\"zen\":\"z\"}".to_vec())
        );
        // A payload that has keys of that name itself.
        assert_eq!(read("x", r#"{"event": "ping", "request": {}}"#).event, None);
        assert!(recorded(Path::new("x"), b"{".to_vec()).is_err());
    }
}
