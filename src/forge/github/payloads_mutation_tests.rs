//! The real payloads, changed at random: JSON stays readable, and nothing else is.
//!
//! Coverage guides nothing here; the fixtures do. In exchange it runs with every
//! `cargo test`; `PROPTEST_CASES` makes it run longer.

use std::{fs, path::Path, sync::LazyLock};

use proptest::{prelude::*, sample::Index};
use serde_json::{Map, Value, json};

use super::*;

/// The event and the body of every fixture.
static FIXTURES: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/github/webhooks");
    let mut all: Vec<(String, Value)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let body = serde_json::from_slice(&fs::read(entry.path()).unwrap()).unwrap();
            (name.split('.').next().unwrap().to_owned(), body)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.to_string().cmp(&b.1.to_string())));
    assert!(all.len() > 20, "the fixtures are there");
    all
});

/// JSON tokens that `Value` cannot hold are written into the text instead of these.
const TOKENS: [(&str, &str); 9] = [
    ("token-0", r#""\ud800""#),
    ("token-1", r#""\udc00x""#),
    ("token-2", "1e999"),
    ("token-3", "-1e-999"),
    ("token-4", "340282366920938463463374607431768211456"),
    ("token-5", "-0"),
    ("token-6", r#""\u0000\n\u202e""#),
    ("token-7", r#"{"a":1,"a":2}"#),
    ("token-8", "[[[[[[[[{}]]]]]]]]"),
];

#[derive(Debug, Clone)]
enum Edit {
    /// Puts a value in the place of another.
    Replace(Index, Value),
    /// Takes an entry out of its object or list.
    Remove(Index),
    /// Puts a copy of one value in the place of another: the right name, the wrong thing.
    Copy(Index, Index),
    /// Gives an object a second entry of the same name.
    Repeat(Index, Value),
}

/// Where every value is, as JSON pointers; the whole body is the first.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                pointers(value, &format!("{at}/{name}"), all);
            }
        }
        Value::Array(entries) => {
            for (i, value) in entries.iter().enumerate() {
                pointers(value, &format!("{at}/{i}"), all);
            }
        }
        _ => {}
    }
}

fn pick(body: &Value, index: &Index) -> String {
    let mut all = Vec::new();
    pointers(body, "", &mut all);
    index.get(&all).clone()
}

/// The names that the parser reads stand near the top; the copies of repositories and
/// users below would otherwise take nearly every edit.
fn pick_read(body: &Value, index: &Index) -> String {
    const READ: [&str; 20] = [
        "action",
        "number",
        "id",
        "account",
        "login",
        "owner",
        "name",
        "state",
        "draft",
        "sha",
        "ref",
        "base",
        "head",
        "title",
        "updated_at",
        "head_sha",
        "app",
        "changes",
        "installation",
        "from",
    ];
    let mut all = Vec::new();
    pointers(body, "", &mut all);
    all.retain(|pointer| READ.contains(&pointer.rsplit('/').next().unwrap_or_default()));
    if all.is_empty() {
        return String::new();
    }
    index.get(&all).clone()
}

fn apply(body: &mut Value, edit: &Edit, read: bool, token: usize) {
    let choose = if read { pick_read } else { pick };
    match edit {
        Edit::Replace(at, value) => {
            let at = choose(body, at);
            if let Some(place) = body.pointer_mut(&at) {
                *place = value.clone();
            }
        }
        Edit::Copy(from, to) => {
            let (from, to) = (pick(body, from), choose(body, to));
            let copy = body.pointer(&from).cloned().unwrap_or_default();
            if let Some(place) = body.pointer_mut(&to) {
                *place = copy;
            }
        }
        Edit::Remove(at) => {
            let at = choose(body, at);
            let Some((parent, name)) = at.rsplit_once('/') else {
                return;
            };
            match body.pointer_mut(parent) {
                Some(Value::Object(fields)) => drop(fields.remove(name)),
                Some(Value::Array(entries)) => drop(entries.pop()),
                _ => {}
            }
        }
        Edit::Repeat(at, value) => {
            let at = choose(body, at);
            let Some((parent, name)) = at.rsplit_once('/') else {
                return;
            };
            if let Some(Value::Object(fields)) = body.pointer_mut(parent) {
                fields.insert(format!("again-{token}-{name}"), value.clone());
            }
        }
    }
}

fn text_of(body: &Value, edits: usize) -> String {
    let mut text = body.to_string();
    for (name, token) in TOKENS {
        text = text.replace(&format!("\"{name}\""), token);
    }
    for i in 0..edits {
        text = text.replace(&format!("\"again-{i}-"), "\"");
    }
    text
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![json!(0), json!(-1), json!(1), json!(""), json!([]), json!({}), json!([{}]), json!([null, 1])]),
        prop::sample::select(TOKENS.to_vec()).prop_map(|(name, _)| json!(name)),
        any::<String>().prop_map(Value::from),
        "[0-9a-fA-F]{38,42}".prop_map(Value::from),
        Just(json!("0".repeat(40))),
        prop::sample::select(vec!["opened", "closed", "edited", "rerequested", "jury", "jury[bot]", "open"]).prop_map(Value::from),
        "[-+]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{0,12})?(Z|[-+][0-9]{2}:[0-9]{2})?(\\[[A-Za-z/]{0,8}\\])?".prop_map(Value::from),
        prop::collection::vec(("[a-z_]{1,8}", any::<i32>()), 0..3)
            .prop_map(|fields| Value::Object(fields.into_iter().map(|(name, n)| (name, json!(n))).collect::<Map<_, _>>())),
    ]
}

fn edit() -> impl Strategy<Value = (bool, Edit)> {
    let edit = prop_oneof![
        4 => (any::<Index>(), value()).prop_map(|(at, value)| Edit::Replace(at, value)),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Edit::Copy(from, to)),
        1 => any::<Index>().prop_map(Edit::Remove),
        1 => (any::<Index>(), value()).prop_map(|(at, value)| Edit::Repeat(at, value)),
    ];
    (any::<bool>(), edit)
}

/// What must hold of every event, whatever was sent.
fn check(event: &ForgeEvent) -> Result<(), TestCaseError> {
    let repo_is_whole = |repo: &Repo| repo.id.0 > 0 && repo.owner.id.0 > 0;
    let whole = match event {
        ForgeEvent::Pinged => true,
        ForgeEvent::PullRequestMoved {
            installation,
            repo,
            number,
            snapshot,
        } => {
            installation.0 > 0
                && repo_is_whole(repo)
                && number.0 > 0
                && !snapshot.head.is_zero()
                && !snapshot.base.is_zero()
                && !snapshot.base_ref.is_empty()
        }
        ForgeEvent::ReviewRerequested {
            installation,
            repo,
            head,
        }
        | ForgeEvent::MergeGroupRequested {
            installation,
            repo,
            head,
        } => installation.0 > 0 && repo_is_whole(repo) && !head.is_zero(),
        ForgeEvent::InstallationOpened {
            installation,
            account,
        }
        | ForgeEvent::InstallationClosed {
            installation,
            account,
        } => installation.0 > 0 && account.id.0 > 0,
        ForgeEvent::RepositoriesRemoved { installation, repos } => {
            installation.0 > 0 && !repos.is_empty() && repos.iter().all(|repo| repo.0 > 0)
        }
        ForgeEvent::RepositoryMoved { installation, repo } => installation.0 > 0 && repo_is_whole(repo),
        ForgeEvent::Ignored { reason } => {
            reason.len() < 200 && reason.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        }
    };
    prop_assert!(whole, "{event:?}");
    Ok(())
}

fn us() -> AppIdentity {
    AppIdentity {
        id: Some(1234),
        bot_login: Some("jury[bot]".to_owned()),
    }
}

/// What the front door takes for JSON is read; what it does not take is refused.
fn read(event: &str, body: &[u8]) -> Result<(), TestCaseError> {
    let read = parse(event, body, &us());
    match read {
        Ok(event) => check(&event),
        Err(error) => {
            prop_assert!(!is_json(body), "{error}: {}", String::from_utf8_lossy(body));
            Ok(())
        }
    }
}

proptest! {
    #[test]
    fn a_payload_whose_values_are_changed_is_still_read(
        fixture in any::<Index>(),
        other_event in any::<Option<Index>>(),
        edits in prop::collection::vec(edit(), 1..5),
    ) {
        let (event, body) = fixture.get(&FIXTURES);
        let event = other_event.map_or(event, |other| &other.get(&FIXTURES).0);
        let mut body = body.clone();
        for (i, (read, edit)) in edits.iter().enumerate() {
            apply(&mut body, edit, *read, i);
        }
        let text = text_of(&body, edits.len());
        prop_assert!(is_json(text.as_bytes()), "the edits keep to the grammar: {text}");
        prop_assert!(parse(event, text.as_bytes(), &us()).is_ok(), "{text}");
        read(event, text.as_bytes())?;
    }

    #[test]
    fn a_payload_whose_bytes_are_changed_is_read_or_refused(
        fixture in any::<Index>(),
        edits in prop::collection::vec((any::<Index>(), 0..4_u8, any::<u8>()), 1..6),
    ) {
        let (event, body) = fixture.get(&FIXTURES);
        let mut bytes = body.to_string().into_bytes();
        for (at, kind, byte) in edits {
            let at = at.index(bytes.len().max(1));
            match kind {
                0 if at < bytes.len() => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 if at < bytes.len() => drop(bytes.remove(at)),
                _ if byte < 8 => bytes.truncate(at),
                _ if at < bytes.len() => bytes[at] = b"{}[]\",:\\0eE-+."[usize::from(byte) % 14],
                _ => {}
            }
        }
        read(event, &bytes)?;
    }
}
