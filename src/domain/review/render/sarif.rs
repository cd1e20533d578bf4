//! A pass as SARIF 2.1.0, within what GitHub's code scanning takes (docs.github.com,
//! "SARIF support for code scanning"): one run, at most 5,000 results (it shows no more),
//! a location for every result, descriptions of at most 1,024 characters, 20 tags.
//!
//! A pass that did not prove everything does not look clean: its invocation says that it
//! was not successful, and why.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

use crate::domain::{secret::conceal, text};

use super::super::{
    axis::AxisState,
    coverage::Coverage,
    finding::{Finding, Priority, Provenance, Side, Status},
    snapshot::{FindingSnapshot, PassSnapshot},
};

/// Results that are written.
const MAX_RESULTS: usize = 5_000;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 1_024;
/// Characters of a rule's id.
const MAX_RULE: usize = 255;
/// Characters of a message.
const MAX_MESSAGE: usize = 8_000;

/// What is written beside the pass.
#[derive(Debug, Clone, Copy)]
pub struct SarifInput<'a> {
    /// The pass.
    pub snapshot: &'a PassSnapshot,
    /// Its findings with their fingerprints and suggestions.
    pub findings: &'a [Finding],
    /// What could not be seen.
    pub coverage: &'a Coverage,
    /// A path of the change, where remarks on all of it are put.
    pub somewhere: Option<&'a str>,
    /// Jury's version.
    pub version: &'a str,
}

/// The pass as a SARIF document.
pub fn sarif(input: &SarifInput<'_>) -> Value {
    let by_id: BTreeMap<_, &Finding> = input.findings.iter().map(|f| (&f.id, f)).collect();
    let shown: Vec<(&FindingSnapshot, Option<&Finding>)> = input
        .snapshot
        .findings
        .iter()
        .filter(|f| f.status != Status::Resolved)
        .map(|f| (f, by_id.get(&f.id).copied()))
        .collect();
    let cut = shown.len().saturating_sub(MAX_RESULTS);
    let shown = &shown[..shown.len() - cut];

    let mut rules: Vec<Value> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    // The heaviest finding of a rule stands first.
    for (finding, _) in shown {
        let id = rule_id(finding);
        index.entry(id.clone()).or_insert_with(|| {
            rules.push(rule(&id, finding));
            rules.len() - 1
        });
    }
    let results: Vec<Value> = shown
        .iter()
        .map(|(finding, whole)| result(input, finding, *whole, &index))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Jury",
                "semanticVersion": input.version,
                "rules": rules,
            }},
            "automationDetails": { "id": "jury/" },
            "columnKind": "utf16CodeUnits",
            "invocations": [invocation(input, cut)],
            "results": results,
            "properties": {
                "verdict": input.snapshot.verdict,
                "confidence": input.snapshot.confidence,
            },
        }],
    })
}

fn rule_id(finding: &FindingSnapshot) -> String {
    let id = match &finding.provenance {
        Provenance::Rule(id) | Provenance::Tool(id) => text::one_line(id),
        Provenance::Model | Provenance::Human => format!("{}/{}", finding.provenance, finding.axis),
    };
    text::truncate_chars(&id, MAX_RULE).into_owned()
}

fn level(priority: Priority) -> &'static str {
    match priority {
        Priority::P0 | Priority::P1 => "error",
        Priority::P2 => "warning",
        Priority::P3 => "note",
    }
}

fn rule(id: &str, finding: &FindingSnapshot) -> Value {
    let axis = finding.axis;
    let whose = match &finding.provenance {
        Provenance::Rule(_) => format!("Jury's rule {id}"),
        Provenance::Tool(_) => format!("Another tool's rule {id}"),
        Provenance::Model => format!("A model's remark on {axis}"),
        Provenance::Human => format!("A person's remark on {axis}"),
    };
    let mut properties = json!({ "tags": [axis] });
    if axis == super::super::finding::Axis::Security {
        // GitHub's bands: over 9 critical, over 7 high, over 4 medium.
        properties["security-severity"] = json!(match finding.priority {
            Priority::P0 => "9.5",
            Priority::P1 => "8.0",
            Priority::P2 => "5.0",
            Priority::P3 => "2.0",
        });
    }
    json!({
        "id": id,
        "shortDescription": { "text": text::truncate_chars(&whose, MAX_DESCRIPTION) },
        "defaultConfiguration": { "level": level(finding.priority) },
        "properties": properties,
    })
}

fn result(
    input: &SarifInput<'_>,
    finding: &FindingSnapshot,
    whole: Option<&Finding>,
    index: &BTreeMap<String, usize>,
) -> Value {
    let id = rule_id(finding);
    let uri = finding.path.as_deref().or(input.somewhere);
    let title = text::one_line(&finding.title);
    let about = if finding.path.is_some() {
        ""
    } else {
        "On the change as a whole: "
    };
    let body = text::visible_lines(&finding.body);
    let message = format!("{about}{title}\n\n{body}");
    let mut result = json!({
        "ruleId": id,
        "level": level(finding.priority),
        "message": { "text": text::truncate_chars(message.trim(), MAX_MESSAGE) },
        "partialFingerprints": fingerprints(finding, whole),
        "properties": {
            "priority": finding.priority,
            "axis": finding.axis,
            "status": finding.status,
            "confidence": finding.confidence,
            "advisory": finding.advisory,
        },
    });
    if let Some(index) = index.get(&id) {
        result["ruleIndex"] = json!(index);
    }
    if let Some(uri) = uri {
        let start = finding.start_line.unwrap_or(1);
        result["locations"] = json!([{ "physicalLocation": {
            "artifactLocation": { "uri": encoded(uri) },
            "region": { "startLine": start, "endLine": finding.end_line.unwrap_or(start) },
        }}]);
    }
    if let Some(fix) = whole.and_then(fix) {
        result["fixes"] = json!([fix]);
    }
    if !finding.status.is_live() {
        result["suppressions"] = json!([{
            "kind": "external",
            "status": "accepted",
            "justification": format!("{} at Jury", finding.status),
        }]);
    }
    result
}

/// What recognises the result on another head. That of a secret speaks of its place
/// only, as everything else that is told of it does.
fn fingerprints(finding: &FindingSnapshot, whole: Option<&Finding>) -> Value {
    let own = whole
        .map(|f| f.fingerprint.as_str())
        .filter(|print| print.starts_with("f1-"))
        .unwrap_or(finding.id.as_str());
    let (hash, occurrence) = own
        .strip_prefix("f1-")
        .and_then(|print| print.rsplit_once('-'))
        .unwrap_or((own, "0"));
    let short: String = hash
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(16)
        .collect();
    let nth = occurrence.parse::<u64>().unwrap_or(0).saturating_add(1);
    json!({ "primaryLocationLineHash": format!("{short}:{nth}"), "jury/v1": own })
}

fn fix(finding: &Finding) -> Option<Value> {
    let suggestion = finding.suggestion.as_ref()?;
    let anchor = finding
        .anchor
        .as_ref()
        .filter(|anchor| anchor.side == Side::Right)?;
    // A path or a replacement with a secret in it can only be shown changed, and is no fix then.
    if conceal(&anchor.path) != anchor.path || conceal(suggestion) != *suggestion {
        return None;
    }
    let region = if suggestion.is_empty() {
        // The lines go, with the end of the last one.
        json!({
            "startLine": anchor.start_line, "startColumn": 1,
            "endLine": anchor.end_line.saturating_add(1), "endColumn": 1,
        })
    } else {
        json!({ "startLine": anchor.start_line, "endLine": anchor.end_line })
    };
    Some(json!({
        "description": { "text": "Replace these lines" },
        "artifactChanges": [{
            "artifactLocation": { "uri": encoded(&anchor.path) },
            "replacements": [{ "deletedRegion": region, "insertedContent": { "text": suggestion } }],
        }],
    }))
}

fn invocation(input: &SarifInput<'_>, cut: usize) -> Value {
    let unproved = |state: AxisState| matches!(state, AxisState::Partial | AxisState::Unavailable);
    let axes = &input.snapshot.axes;
    let mut notifications: Vec<Value> = axes
        .iter()
        .filter(|axis| unproved(axis.state))
        .map(|axis| {
            let note = text::one_line(axis.note.as_deref().unwrap_or_default());
            let words = format!("{} is {}: {note}", axis.axis, axis.state);
            let level = if axis.gated { "error" } else { "warning" };
            json!({ "level": level, "message": { "text": text::truncate_chars(&words, MAX_DESCRIPTION) } })
        })
        .collect();
    let mut tell = |words: String| {
        let words = text::truncate_chars(&words, MAX_DESCRIPTION);
        notifications.push(json!({ "level": "warning", "message": { "text": words } }));
    };
    for unseen in input.coverage.unseen.iter().take(50) {
        tell(format!(
            "not seen: {} ({})",
            text::visible_path(&unseen.path),
            text::one_line(&unseen.reason)
        ));
    }
    if let Some(proviso) = &input.coverage.proviso {
        tell(text::one_line(proviso));
    }
    if cut > 0 {
        tell(format!("{cut} more findings are not listed"));
    }
    json!({
        "executionSuccessful": !axes.iter().any(|axis| axis.gated && unproved(axis.state)),
        "toolExecutionNotifications": notifications,
    })
}

/// A path as a relative URI.
pub(super) fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
#[path = "sarif_tests.rs"]
mod tests;
