//! JSON Schemas (draft 2020-12) of what people and programs write and read: the policy,
//! the pass document of `jury review`, the document of `jury demo`.
//!
//! Words come from the closed vocabularies themselves, so that a schema cannot fall
//! behind them. The policy is closed, since its reader refuses unknown keys. The
//! documents are open: keys may be added to them, none renamed, and every required
//! key is always present.

use serde_json::{Map, Value, json};

use super::{
    policy::{Approvals, Gate, MAX_QUORUM, Publish},
    review::{
        axis::AxisState,
        check::Conclusion,
        finding::{Axis, Kind, Priority, Side, Status},
        publication::ReviewEvent,
        snapshot::Verdict,
    },
    space::Mode,
};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A repository's `.github/jury.toml`, and the server's `[policy]` table.
pub fn policy() -> Value {
    let axis = || {
        closed(
            "What one axis must prove.",
            [(
                "gated",
                said(
                    boolean(),
                    "Whether the axis must be proved before anything ships. Default: true for correctness and security.",
                ),
            )],
        )
    };
    let axes = Axis::ALL.iter().map(|word| (word.as_str(), axis()));
    let confirmations = || json!({ "type": "integer", "minimum": 1, "maximum": MAX_QUORUM });
    let each = Priority::ALL.iter().map(|word| (word.as_str(), confirmations()));
    let quorum = json!({
        "description": "Confirmations that a finding needs: a number, or one for each priority. Default: 1.",
        "oneOf": [confirmations(), closed("One for each priority.", each)],
    });
    let consensus = closed(
        "What makes a finding confirmed.",
        [
            ("quorum", quorum),
            (
                "distinct_models",
                said(
                    boolean(),
                    "Whether confirmations by agents must come from different models. Default: false.",
                ),
            ),
        ],
    );
    titled(
        "Jury's policy",
        closed(
            "Held by .github/jury.toml on the base branch, and by the [policy] table of the server's jury.toml.",
            [
                (
                    "gate",
                    said(
                        words(Gate::ALL),
                        "advisory: hold and \"could not run\" become neutral, block stays failure. Default: required.",
                    ),
                ),
                (
                    "publish",
                    said(
                        words(Publish::ALL),
                        "ask: the check waits until a person agrees. Default: auto.",
                    ),
                ),
                (
                    "approvals",
                    said(
                        words(Approvals::ALL),
                        "What a question gets that nobody is there to answer. Default: deny.",
                    ),
                ),
                (
                    "approve",
                    said(
                        boolean(),
                        "Whether ship may be published as an approval. Default: false.",
                    ),
                ),
                ("axes", closed("By axis.", axes)),
                ("consensus", consensus),
            ],
        ),
    )
}

/// The document of `jury review --format json`: one pass.
pub fn review() -> Value {
    titled("A pass of Jury", pass())
}

/// The document of `jury demo --json`.
pub fn demo() -> Value {
    let space = open([
        ("id", text()),
        ("mode", words(Mode::ALL)),
        ("pull_request", text()),
    ]);
    let comment = open([
        ("path", text()),
        ("line", nullable(line())),
        ("side", nullable(words(Side::ALL))),
        ("body", text()),
    ]);
    let state = json!({ "enum": ["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED", "PENDING"] });
    let review = open([
        ("event", nullable(words(ReviewEvent::ALL))),
        ("state", state),
        ("body", text()),
        ("comments", list(comment)),
    ]);
    let check = open([
        ("name", text()),
        ("head_sha", sha()),
        (
            "status",
            json!({ "enum": ["queued", "in_progress", "completed"] }),
        ),
        ("conclusion", nullable(words(Conclusion::ALL))),
        ("title", nullable(text())),
    ]);
    let published = open([("reviews", list(review)), ("check_runs", list(check))]);
    let document = open([
        ("space", space),
        ("passes", list(pass())),
        ("published", published),
    ]);
    titled("What jury demo did", document)
}

fn pass() -> Value {
    let axis = open([
        ("axis", words(Axis::ALL)),
        ("state", words(AxisState::ALL)),
        ("gated", boolean()),
        ("note", nullable(text())),
    ]);
    let finding = open([
        ("id", text()),
        ("kind", words(Kind::ALL)),
        ("priority", words(Priority::ALL)),
        (
            "confidence",
            json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        ),
        ("axis", words(Axis::ALL)),
        ("path", nullable(text())),
        ("side", nullable(words(Side::ALL))),
        ("start_line", nullable(line())),
        ("end_line", nullable(line())),
        ("status", words(Status::ALL)),
        (
            "author",
            said(
                text(),
                "<kind>:<name>, where the kind is human, agent, analyzer, verifier or system.",
            ),
        ),
        ("confirmed_by", list(text())),
        (
            "provenance",
            said(text(), "model, human, rule:<id> or tool:<name>/<id>."),
        ),
        ("title", text()),
        ("body", said(text(), "Markdown.")),
        ("advisory", boolean()),
    ]);
    open([
        ("head_sha", said(nullable(sha()), "null for a working tree.")),
        ("verdict", words(Verdict::ALL)),
        (
            "confidence",
            json!({ "type": "number", "minimum": 0.5, "maximum": 1 }),
        ),
        ("gate", words(Gate::ALL)),
        ("axes", list(axis)),
        ("findings", list(finding)),
    ])
}

/// A document of its own.
fn titled(title: &str, schema: Value) -> Value {
    let mut whole = Map::from_iter([
        ("$schema".to_owned(), json!(DRAFT)),
        ("title".to_owned(), json!(title)),
    ]);
    if let Value::Object(schema) = schema {
        whole.extend(schema);
    }
    Value::Object(whole)
}

/// An object that may have more keys than these, all of which it has.
fn open<'a>(properties: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let properties: Map<String, Value> = properties
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

/// An object that may have these keys and no others.
fn closed<'a>(description: &str, properties: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let properties: Map<String, Value> = properties
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({
        "description": description,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn said(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

fn words<W: serde::Serialize>(all: &[W]) -> Value {
    json!({ "enum": all })
}

fn nullable(schema: Value) -> Value {
    let choices = vec![schema, json!({ "type": "null" })];
    json!({ "anyOf": choices })
}

fn list(items: Value) -> Value {
    let mut list = json!({ "type": "array" });
    list["items"] = items;
    list
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn boolean() -> Value {
    json!({ "type": "boolean" })
}

fn line() -> Value {
    json!({ "type": "integer", "minimum": 1 })
}

fn sha() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{40}([0-9a-f]{24})?$" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::policy::{KNOWN_KEYS, Locked, parse};

    /// The dotted names of everything that the schema of the policy knows.
    fn names(schema: &Value, path: &str, out: &mut Vec<String>) {
        let branches = schema["oneOf"].as_array().into_iter().flatten().chain([schema]);
        for (name, inner) in branches.filter_map(|one| one["properties"].as_object()).flatten() {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            names(inner, &path, out);
            out.push(path);
        }
    }

    #[test]
    fn the_policys_schema_and_its_reader_know_the_same_keys() {
        let schema = policy();
        let mut top: Vec<&str> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let mut known = KNOWN_KEYS.to_vec();
        top.sort_unstable();
        known.sort_unstable();
        assert_eq!(top, known);
        let mut all = Vec::new();
        names(&schema, "", &mut all);
        assert!(all.len() > 20, "{all:?}");
        for name in &all {
            assert!(
                Locked::new([name.as_str()]).is_ok(),
                "{name} is no key of the policy"
            );
        }
    }

    #[test]
    fn what_the_schema_allows_is_what_the_reader_takes() {
        let schema = policy();
        for key in ["gate", "publish", "approvals"] {
            for word in schema["properties"][key]["enum"].as_array().unwrap() {
                parse("p", format!("{key} = {word}").as_bytes()).unwrap();
            }
        }
        let most = &schema["properties"]["consensus"]["properties"]["quorum"]["oneOf"][0]["maximum"];
        let most = most.as_i64().unwrap();
        assert!(parse("p", format!("consensus.quorum = {most}").as_bytes()).is_ok());
        assert!(parse("p", format!("consensus.quorum = {}", most + 1).as_bytes()).is_err());
    }
}
