//! Trojan source: text that a compiler reads otherwise than a person sees it
//! (CVE-2021-42574, CVE-2021-42694): direction controls, invisible characters,
//! letters of another alphabet, in lines and in file names.
//!
//! Right-to-left languages need some of these characters. In prose and
//! translations only what hides something is mentioned.

mod characters;
mod scripts;

#[cfg(test)]
mod tests;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        review::finding::{Axis, Draft, Finding, Priority, Provenance},
        text::code_span,
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

use self::characters::{Fault, Grade, Sighting, look};
use super::{
    added::{Remark, is_prose, readable, report},
    secrets,
};

/// Finds direction controls, invisible characters and look-alike letters.
#[derive(Debug, Clone, Copy)]
pub struct TrojanSource;

const FILE_NAME: &str = "trojan_source/file-name";

fn rule(fault: Fault) -> &'static str {
    match fault {
        Fault::Bidi => "trojan_source/bidi-control",
        Fault::Invisible => "trojan_source/invisible-character",
        Fault::Homoglyph => "trojan_source/homoglyph",
    }
}

/// Priority and confidence of a sighting in a file; `None` where it is lawful.
fn weight(prose: bool, sighting: &Sighting) -> Option<(Priority, f64)> {
    match (sighting.fault, sighting.grade, prose) {
        (_, Grade::Lawful, _) => (!prose).then_some((Priority::P2, 0.5)),
        (Fault::Homoglyph, _, true) => None,
        (Fault::Homoglyph, _, false) => Some((Priority::P1, 0.7)),
        (_, Grade::Odd, true) => None,
        (_, Grade::Odd, false) => Some((Priority::P2, 0.6)),
        (Fault::Bidi, Grade::Suspicious, true) => Some((Priority::P2, 0.5)),
        (Fault::Invisible, Grade::Suspicious, true) => None,
        (_, Grade::Suspicious, false) => Some((Priority::P1, 0.7)),
        // A document may quote a name from right to left and forget to close it.
        (Fault::Bidi, Grade::Hostile, true) => Some((Priority::P2, 0.5)),
        (_, Grade::Hostile, true) => Some((Priority::P1, 0.7)),
        (_, Grade::Hostile, false) => Some((Priority::P0, 0.95)),
    }
}

fn listed(characters: &[(usize, char)]) -> String {
    const SHOWN: usize = 8;
    let mut names: Vec<String> = characters
        .iter()
        .take(SHOWN)
        .map(|(column, c)| format!("U+{:04X} at column {column}", *c as u32))
        .collect();
    if characters.len() > SHOWN {
        names.push(format!("{} more", characters.len() - SHOWN));
    }
    names.join(", ")
}

fn remark(sighting: &Sighting, priority: Priority, confidence: f64) -> Remark {
    let (title, why) = match sighting.fault {
        Fault::Bidi => (
            "Direction control characters: the line is not what it looks like",
            "They change the order in which the line is shown, not the order in which it is read by a compiler, so that \
             code can look like a comment or a string and the other way round.",
        ),
        Fault::Invisible => (
            "Invisible characters in the added line",
            "They have no shape, so that two names that look the same differ, or text is carried along that nobody sees.",
        ),
        Fault::Homoglyph => (
            "A word mixes letters of two alphabets that look alike",
            "The word looks like one that is known and is another.",
        ),
    };
    Remark {
        rule: rule(sighting.fault).to_owned(),
        axis: Axis::Security,
        priority,
        confidence,
        title: title.to_owned(),
        body: format!(
            "{why}\n\nSeen here: {}. If they are meant, write them as escapes, so that a reader sees them.",
            listed(&sighting.characters)
        ),
        secret: false,
    }
}

fn in_lines(file: &ChangedFile, drafts: &mut Vec<Draft>) {
    let prose = is_prose(&file.path) || characters_of_rtl_locale(&file.path);
    for (number, text) in file.added_lines() {
        for sighting in look(&String::from_utf8_lossy(text), number == 1) {
            if let Some((priority, confidence)) = weight(prose, &sighting) {
                let mut remark = remark(&sighting, priority, confidence);
                remark.secret = secrets::shows_one(&file.path, text);
                drafts.push(remark.on_line(file, number, text));
            }
        }
    }
}

/// Whether the file is named after a right-to-left language: `ar.json`, `fa_IR.ts`.
fn characters_of_rtl_locale(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.split(['.', '-', '_']).any(|part| {
        matches!(
            part,
            "ar" | "he" | "iw" | "fa" | "ur" | "ckb" | "yi" | "ug" | "sd" | "dv"
        )
    }) && (name.ends_with(".json")
        || name.ends_with(".ts")
        || name.ends_with(".js")
        || name.ends_with(".yml")
        || name.ends_with(".yaml")
        || name.ends_with(".xml")
        || name.ends_with(".toml")
        || name.ends_with(".properties"))
}

/// What a path hides, and whether that is grave.
fn in_name(path: &str) -> Option<(Priority, f64)> {
    look(path, false)
        .iter()
        .filter(|s| s.fault != Fault::Homoglyph)
        .filter_map(|s| match s.grade {
            Grade::Lawful => None,
            Grade::Odd => Some((Priority::P2, 0.6)),
            Grade::Suspicious => Some((Priority::P1, 0.7)),
            Grade::Hostile => Some((Priority::P0, 0.9)),
        })
        .min_by_key(|(priority, _)| *priority)
}

fn name_draft(file: &ChangedFile) -> Option<Draft> {
    let is_new = matches!(
        file.status,
        FileStatus::Added | FileStatus::Renamed | FileStatus::Copied
    );
    let (priority, confidence) = in_name(&file.path).filter(|_| is_new)?;
    let remark = Remark {
        rule: FILE_NAME.to_owned(),
        axis: Axis::Security,
        priority,
        confidence,
        title: "File name with characters that are not seen".to_owned(),
        body: format!(
            "Spelled out, the path is {}. Such a name can pass for another file, or another type of file.",
            code_span(&file.path)
        ),
        secret: false,
    };
    // A quote may not be blank.
    let first = file
        .added_lines()
        .find(|(_, text)| !String::from_utf8_lossy(text).trim().is_empty());
    Some(match first {
        Some((number, text)) => {
            let secret = secrets::shows_one(&file.path, text);
            Remark { secret, ..remark }.on_line(file, number, text)
        }
        None => remark.unanchored(),
    })
}

#[async_trait]
impl Analyzer for TrojanSource {
    fn name(&self) -> &'static str {
        "trojan_source"
    }

    fn axis(&self) -> Axis {
        Axis::Security
    }

    async fn analyze(&self, change: &dyn Change) -> Result<Report, ChangeError> {
        let mut drafts: Vec<Draft> = change.files().iter().filter_map(name_draft).collect();
        for file in readable(change) {
            in_lines(file, &mut drafts);
        }
        Ok(report(change, drafts))
    }

    fn holds_in_blob(&self, finding: &Finding, _: &[u8], lines: &[&[u8]]) -> Option<bool> {
        let Provenance::Rule(id) = &finding.provenance else {
            return None;
        };
        let anchor = finding.anchor.as_ref()?;
        if id == FILE_NAME {
            return Some(in_name(&anchor.path).is_some());
        }
        id.strip_prefix("trojan_source/")?;
        Some(lines.iter().enumerate().any(|(i, line)| {
            look(
                &String::from_utf8_lossy(line),
                anchor.start_line as usize + i == 1,
            )
            .iter()
            .any(|s| rule(s.fault) == id)
        }))
    }
}
