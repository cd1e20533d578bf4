use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::domain::{
    ids::{AccountId, PullNumber},
    principal::{Principal, PrincipalKind},
    space::{PullSnapshot, PullState},
};

use super::*;

fn us() -> AppIdentity {
    AppIdentity {
        id: Some(1234),
        bot_login: Some("jury[bot]".to_owned()),
    }
}

fn fixture(name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/github/webhooks")
        .join(format!("{name}.json"));
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn read(event: &str, body: &Value) -> ForgeEvent {
    parse(event, body.to_string().as_bytes(), &us()).unwrap()
}

/// Reads a fixture; its name begins with the event.
fn read_fixture(name: &str) -> ForgeEvent {
    read(name.split('.').next().unwrap(), &fixture(name))
}

#[track_caller]
fn moved(event: ForgeEvent) -> PullSnapshot {
    match event {
        ForgeEvent::PullRequestMoved { snapshot, .. } => *snapshot,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn why(event: ForgeEvent) -> String {
    match event {
        ForgeEvent::Ignored { reason } => reason,
        other => panic!("{other:?}"),
    }
}

fn sha_of(digit: char) -> Sha {
    std::iter::repeat_n(digit, 40)
        .collect::<String>()
        .parse()
        .unwrap()
}

fn octo() -> Account {
    Account {
        id: AccountId(42),
        login: "octo".to_owned(),
    }
}

fn demo() -> Repo {
    Repo {
        id: RepoId(99),
        owner: octo(),
        name: "demo".to_owned(),
    }
}

#[test]
fn every_fixture_is_the_event_that_it_should_be() {
    let installation = InstallationId(7);
    let opened = ForgeEvent::InstallationOpened {
        installation,
        account: octo(),
    };
    let closed = ForgeEvent::InstallationClosed {
        installation,
        account: octo(),
    };
    let again = ForgeEvent::ReviewRerequested {
        installation,
        repo: demo(),
        head: sha_of('a'),
    };
    let elsewhere = ForgeEvent::RepositoryMoved {
        installation,
        repo: demo(),
    };
    for (name, expected) in [
        ("ping", ForgeEvent::Pinged),
        ("check_run.rerequested", again.clone()),
        // L16: a fork's check names no branch and no pull request.
        ("check_run.rerequested.fork", again.clone()),
        ("check_suite.rerequested", again),
        (
            "merge_group.checks_requested",
            ForgeEvent::MergeGroupRequested {
                installation,
                repo: demo(),
                head: sha_of('c'),
            },
        ),
        ("installation.created", opened.clone()),
        ("installation.unsuspend", opened.clone()),
        ("installation.new_permissions_accepted", opened.clone()),
        ("installation_repositories.added", opened),
        ("installation.deleted", closed.clone()),
        ("installation.suspend", closed),
        (
            "installation_repositories.removed",
            ForgeEvent::RepositoriesRemoved {
                installation,
                repos: vec![RepoId(99), RepoId(101)],
            },
        ),
        ("repository.renamed", elsewhere.clone()),
        ("repository.transferred", elsewhere),
    ] {
        assert_eq!(read_fixture(name), expected, "{name}");
    }
}

#[test]
fn a_pull_request_is_read_whole() {
    for name in [
        "opened",
        "reopened",
        "synchronize",
        "ready_for_review",
        "edited.base",
    ] {
        let event = read_fixture(&format!("pull_request.{name}"));
        let ForgeEvent::PullRequestMoved {
            installation,
            repo,
            number,
            snapshot,
        } = event
        else {
            panic!("{name}: {event:?}");
        };
        assert_eq!(installation, InstallationId(7));
        assert_eq!(repo, demo());
        assert_eq!(number, PullNumber(3));
        assert_eq!(
            *snapshot,
            PullSnapshot {
                title: "Add a sum".to_owned(),
                state: PullState::Open,
                draft: false,
                head: sha_of('a'),
                base_ref: "main".to_owned(),
                base: sha_of('b'),
                // L39: ids have passed 32 bits.
                author: Some(Principal::new(PrincipalKind::Human, "5000000000")),
                by_app: false,
                html_url: "https://forge.test/octo/demo/pull/3".to_owned(),
                updated_at: crate::domain::time::Timestamp(1_767_261_600_000),
            },
            "{name}"
        );
    }
    assert!(moved(read_fixture("pull_request.converted_to_draft")).draft);
}

#[test]
fn l25_a_closed_draft_is_closed() {
    let snapshot = moved(read_fixture("pull_request.closed"));
    assert_eq!((snapshot.state, snapshot.draft), (PullState::Closed, true));
}

#[test]
fn l27_only_a_new_base_makes_an_edit_move_the_pull_request() {
    assert_eq!(
        why(read_fixture("pull_request.edited.title")),
        "pull_request.edited: the base is the same"
    );
    for changes in [
        json!(null),
        json!({}),
        json!({ "base": null }),
        json!({ "base": 1 }),
        json!([]),
    ] {
        let mut body = fixture("pull_request.edited.base");
        body["changes"] = changes;
        why(read("pull_request", &body));
    }
}

#[test]
fn l13_the_forges_time_orders_deliveries() {
    for (text, ms) in [
        ("2026-01-01T10:02:00Z", Some(1_767_261_720_000)),
        ("2026-01-01T10:02:00.250Z", Some(1_767_261_720_250)),
        ("2026-01-01T12:02:00+02:00", Some(1_767_261_720_000)),
        ("yesterday", None),
        ("", None),
        ("99999-01-01T00:00:00Z", None),
    ] {
        let mut body = fixture("pull_request.opened");
        body["pull_request"]["updated_at"] = json!(text);
        let event = read("pull_request", &body);
        match ms {
            Some(ms) => assert_eq!(moved(event).updated_at.0, ms, "{text}"),
            None => assert_eq!(why(event), "pull_request.opened: no usable updated_at", "{text}"),
        }
    }
}

#[test]
fn l39_ids_beyond_32_bits_are_read_whole() {
    let mut body = fixture("pull_request.opened");
    body["installation"]["id"] = json!(5_000_000_001_i64);
    body["repository"]["id"] = json!(5_000_000_002_i64);
    body["pull_request"]["user"]["id"] = json!(5_000_000_003_i64);
    body["comment"] = json!({ "id": 5_000_000_004_i64 });
    let ForgeEvent::PullRequestMoved {
        installation,
        repo,
        snapshot,
        ..
    } = read("pull_request", &body)
    else {
        panic!("a pull request moved")
    };
    assert_eq!((installation.0, repo.id.0), (5_000_000_001, 5_000_000_002));
    assert_eq!(snapshot.author.unwrap().name, "5000000003");
}

#[test]
fn l38_an_unknown_action_or_event_is_ignored_by_its_name() {
    for (event, action, expected) in [
        ("pull_request", json!("stacked"), "pull_request.stacked"),
        ("pull_request", json!("labeled"), "pull_request.labeled"),
        ("pull_request", json!(null), "pull_request"),
        ("pull_request", json!(7), "pull_request"),
        ("no_such_event", json!("opened"), "no_such_event.opened"),
        (
            "installation_target",
            json!("renamed"),
            "installation_target.renamed",
        ),
        ("repository", json!("deleted"), "repository.deleted"),
        ("merge_group", json!("destroyed"), "merge_group.destroyed"),
        ("check_run", json!("completed"), "check_run.completed"),
        ("x\n\u{1b}[31m", json!("<b>\u{202e}"), "x31m.b"),
    ] {
        let mut body = fixture("pull_request.opened");
        body["action"] = action;
        assert_eq!(why(read(event, &body)), expected);
    }
}

#[test]
fn l41_l42_nothing_that_may_be_null_is_needed() {
    let snapshot = moved(read_fixture("pull_request.opened.bare"));
    assert_eq!(snapshot.author, None);
    assert_eq!(snapshot.head, sha_of('a'));
    assert_eq!(
        why(read_fixture("pull_request_review.submitted")),
        "pull_request_review.submitted"
    );
}

#[test]
fn w06_a_comment_that_is_pinned_says_nothing_new() {
    assert_eq!(why(read_fixture("issue_comment.pinned")), "issue_comment.pinned");
}

#[test]
fn l16_a_check_of_a_fork_is_found_by_its_head() {
    for event in ["check_run", "check_suite"] {
        let mut body = fixture(&format!("{event}.rerequested"));
        body["check_run"]["pull_requests"] = json!([]);
        body["check_run"]["check_suite"]["head_branch"] = json!(null);
        body["check_run"]["check_suite"]["pull_requests"] = json!([]);
        body["check_suite"]["pull_requests"] = json!([]);
        body["check_suite"]["head_branch"] = json!(null);
        assert!(
            matches!(read(event, &body), ForgeEvent::ReviewRerequested { .. }),
            "{event}"
        );
    }
}

#[test]
fn l18_a_suite_that_was_only_requested_needs_nothing() {
    assert_eq!(
        why(read_fixture("check_suite.requested")),
        "check_suite.requested"
    );
}

#[test]
fn a_check_of_another_name_or_another_app_is_not_ours() {
    let mut body = fixture("check_run.rerequested");
    body["check_run"]["name"] = json!("lint");
    assert_eq!(
        why(read("check_run", &body)),
        "check_run.rerequested: another check"
    );
    let mut body = fixture("check_run.rerequested");
    body["check_run"]["app"]["id"] = json!(666);
    assert_eq!(
        why(read("check_run", &body)),
        "check_run.rerequested: another App's check"
    );
    let mut body = fixture("check_suite.rerequested");
    body["check_suite"]["app"]["id"] = json!(666);
    assert_eq!(
        why(read("check_suite", &body)),
        "check_suite.rerequested: another App's check"
    );
}

#[test]
fn a_pull_request_that_the_app_opened_itself_is_known() {
    let mut body = fixture("pull_request.opened");
    body["pull_request"]["user"]["login"] = json!("jury[bot]");
    assert!(moved(read("pull_request", &body)).by_app);
    let stranger = parse(
        "pull_request",
        body.to_string().as_bytes(),
        &AppIdentity::default(),
    )
    .unwrap();
    assert!(!moved(stranger).by_app);
}

/// Every event that needs something, without each thing that it needs.
#[test]
fn what_is_missing_null_or_of_another_type_is_ignored_with_the_reason() {
    let needed: &[(&str, &[&str])] = &[
        (
            "pull_request.opened",
            &[
                "/installation",
                "/installation/id",
                "/repository",
                "/repository/id",
                "/repository/name",
                "/repository/owner",
                "/repository/owner/id",
                "/repository/owner/login",
                "/pull_request",
                "/pull_request/state",
                "/pull_request/head",
                "/pull_request/head/sha",
                "/pull_request/base",
                "/pull_request/base/ref",
                "/pull_request/base/sha",
                "/pull_request/updated_at",
            ],
        ),
        (
            "check_run.rerequested",
            &["/installation", "/repository", "/check_run", "/check_run/name"],
        ),
        (
            "check_suite.rerequested",
            &["/installation", "/check_suite", "/check_suite/head_sha"],
        ),
        (
            "merge_group.checks_requested",
            &["/installation", "/merge_group", "/merge_group/head_sha"],
        ),
        (
            "installation.created",
            &["/installation", "/installation/id", "/installation/account"],
        ),
        (
            "installation.deleted",
            &["/installation", "/installation/account/id"],
        ),
        ("installation_repositories.added", &["/installation"]),
        (
            "installation_repositories.removed",
            &["/installation", "/repositories_removed"],
        ),
        ("repository.renamed", &["/installation", "/repository"]),
    ];
    let others = [
        json!(null),
        json!([]),
        json!({}),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(true),
        json!(""),
    ];
    for (name, pointers) in needed {
        for pointer in *pointers {
            for other in &others {
                let mut body = fixture(name);
                *body.pointer_mut(pointer).unwrap() = other.clone();
                let is_text = pointer.ends_with("login") || pointer.ends_with("name");
                if is_text && *other == json!("") {
                    continue;
                }
                let event = read(name.split('.').next().unwrap(), &body);
                let reason = why(event);
                assert!(reason.contains(": "), "{name} {pointer} = {other}: {reason}");
            }
            let mut body = fixture(name);
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            body.pointer_mut(parent)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(key);
            why(read(name.split('.').next().unwrap(), &body));
        }
    }
}

#[test]
fn what_is_not_needed_may_be_anything() {
    let others = [
        json!(null),
        json!([]),
        json!({}),
        json!(0),
        json!(1e300),
        json!(true),
        json!("x"),
        json!([[{}]]),
    ];
    for pointer in [
        "title",
        "body",
        "user",
        "draft",
        "html_url",
        "mergeable",
        "merged",
        "labels",
        "_links",
    ] {
        for other in &others {
            let mut body = fixture("pull_request.opened");
            body["pull_request"][pointer] = other.clone();
            moved(read("pull_request", &body));
        }
    }
    for pointer in [
        "sender",
        "organization",
        "enterprise",
        "before",
        "assignee",
        "changes",
        "check_run",
    ] {
        for other in &others {
            let mut body = fixture("pull_request.opened");
            body[pointer] = other.clone();
            moved(read("pull_request", &body));
        }
    }
}

#[test]
fn a_zero_object_name_is_no_commit() {
    let mut body = fixture("pull_request.opened");
    body["pull_request"]["head"]["sha"] = json!("0".repeat(40));
    assert_eq!(
        why(read("pull_request", &body)),
        "pull_request.opened: no usable head.sha"
    );
}

#[test]
fn only_text_that_is_no_json_is_an_error_and_the_error_shows_none_of_it() {
    for body in [
        "",
        "hunter2",
        "{",
        "{\"action\":\"hunter2",
        "[1,]",
        "{} hunter2",
        "\u{0}",
        "{\"action\":\"a\" \"b\"}",
    ] {
        let error = parse("pull_request", body.as_bytes(), &us()).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    for body in ["null", "[]", "1", "\"x\"", "true", "{}", " {} "] {
        why(parse("pull_request", body.as_bytes(), &us()).unwrap());
    }
}

/// The grammar of JSON takes them all, a field of ours takes none.
#[test]
fn json_that_no_field_can_hold_is_ignored_and_not_an_error() {
    for body in [
        r#"{"action":"opened","action":"closed"}"#,
        r#"{"action":"\ud800"}"#,
        r#"{"\udfff":1}"#,
        r#"{"pull_request":{"title":"\ud83d"}}"#,
        r#"{"number":1e999}"#,
        r#"{"pull_request":{"head":{},"head":{}}}"#,
        r#"{"repositories_removed":[{"id":-1e999}]}"#,
    ] {
        let reason = why(parse("pull_request", body.as_bytes(), &us()).unwrap());
        assert_eq!(reason, "pull_request: a field that cannot be read", "{body}");
    }
}

#[test]
fn json_nested_deeply_does_not_overflow_the_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let (open, close) = (open.repeat(500_000), close.repeat(500_000));
        for place in [
            "unknown",
            "action",
            "pull_request",
            "repository",
            "repositories_removed",
        ] {
            let text = format!("{{\"{place}\":{open}1{close}}}");
            // Whether it is taken for JSON or not: it ends.
            let _ = parse("pull_request", text.as_bytes(), &us());
            let cut = format!("{{\"{place}\":{open}");
            parse("pull_request", cut.as_bytes(), &us()).unwrap_err();
        }
    }
    let mut text = fixture("pull_request.opened").to_string();
    text.pop();
    text.push_str(&format!(
        ",\"unknown\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    ));
    moved(parse("pull_request", text.as_bytes(), &us()).unwrap());
}
