//! The cases R* (public bug reports against other readers of SARIF), whole kinds of them.

use serde_json::{Value, json};

use super::{
    draft::{File, Standing, axis, place},
    paths::{Roots, find, from_uri, plain_readings, uri_readings},
    region::{ColumnUnit, Edit, Region, Replacement, column_to_byte, lines_of, replace},
    *,
};
use crate::domain::review::finding::{Axis, Draft};

fn log(results: &Value, more: &[(&str, Value)]) -> ToolReport {
    let mut run = json!({ "tool": { "driver": { "name": "t", "rules": [] } }, "results": results });
    for (key, value) in more {
        run[key] = value.clone();
    }
    read_sarif(&json!({ "version": "2.1.0", "runs": [run] }))
}

fn read_sarif(value: &Value) -> ToolReport {
    parse(Format::Sarif, value.to_string().as_bytes()).unwrap()
}

fn at(uri: &str, region: &Value) -> Value {
    json!([{ "ruleId": "R", "message": { "text": "m" }, "locations": [{
        "physicalLocation": { "artifactLocation": { "uri": uri }, "region": region } }] }])
}

fn only(report: &ToolReport) -> &ToolResult {
    assert_eq!(report.results.len(), 1, "{report:?}");
    &report.results[0]
}

fn found(readings: &[String], roots: &Roots, changed: &[&str]) -> Option<String> {
    find(readings, roots, |path| changed.contains(&path)).map(|found| found.path)
}

fn drafted(result: &ToolResult, blob: &str, added: &[u32]) -> Standing {
    let file = File {
        path: "a.js",
        added,
        blob: Some(blob.as_bytes()),
        whole: true,
    };
    place(result, None, file)
}

#[track_caller]
fn here(standing: Standing) -> Draft {
    match standing {
        Standing::Here(draft) => *draft,
        other => panic!("{other:?}"),
    }
}

#[test]
fn r01_a_result_without_locations_is_a_remark_on_the_whole() {
    let report = log(&json!([{ "ruleId": "R", "message": { "text": "m" } }]), &[]);
    let result = only(&report);
    assert_eq!((&result.place, report.failed.as_ref()), (&None, None));
    let draft = here(place(
        result,
        None,
        File {
            path: "",
            added: &[],
            blob: None,
            whole: false,
        },
    ));
    assert_eq!((draft.title.as_str(), draft.anchor), ("m", None));
    for locations in [
        json!([]),
        json!(null),
        json!([{}]),
        json!([{ "physicalLocation": {} }]),
        json!("x"),
    ] {
        let report = log(
            &json!([{ "ruleId": "R", "message": { "text": "m" }, "locations": locations }]),
            &[],
        );
        assert_eq!(only(&report).place, None);
    }
}

#[test]
fn r02_a_result_with_logical_locations_only_names_them() {
    let result = json!([{ "ruleId": "R", "message": { "text": "m" },
        "locations": [{ "logicalLocations": [{ "fullyQualifiedName": "A.b" }] }] }]);
    let report = log(&result, &[]);
    assert_eq!(draft::summary(only(&report), None, None).title, "A.b: m");
}

#[test]
fn r04_a_uri_counts_from_its_base() {
    let result = |base: &str| {
        json!([{ "ruleId": "R", "message": { "text": "m" }, "locations": [{ "physicalLocation": {
        "artifactLocation": { "uri": "src/Foo.kt", "uriBaseId": base }, "region": { "startLine": 3 } } }] }])
    };
    let bases = json!({
        "%SRCROOT%": { "uri": "file:///src/repo/app/" },
        "TOP": { "uri": "file:///src/repo" },
        "APP": { "uri": "app/", "uriBaseId": "TOP" },
        "LOOP": { "uri": "x/", "uriBaseId": "LOOP" },
    });
    let readings = |base: &str| {
        let report = log(&result(base), &[("originalUriBaseIds", bases.clone())]);
        only(&report).place.clone().unwrap().paths
    };
    let roots = Roots {
        roots: vec!["/src/repo".into()],
        prefix: String::new(),
    };
    let changed = ["app/src/Foo.kt", "src/Foo.kt"];
    assert_eq!(
        found(&readings("%SRCROOT%"), &roots, &changed).unwrap(),
        "app/src/Foo.kt"
    );
    assert_eq!(
        found(&readings("APP"), &roots, &changed).unwrap(),
        "app/src/Foo.kt"
    );
    // Under a root that is not known the longest part that is a file of the change counts.
    let unknown = Roots::default();
    assert_eq!(
        found(&readings("%SRCROOT%"), &unknown, &changed).unwrap(),
        "app/src/Foo.kt"
    );
    // A base that nobody declared is the root; one that names itself ends.
    assert_eq!(found(&readings("NOPE"), &roots, &changed).unwrap(), "src/Foo.kt");
    assert!(found(&readings("LOOP"), &roots, &["x/src/Foo.kt"]).is_none());
    // The base may say `..`.
    let up = log(
        &result("UP"),
        &[(
            "originalUriBaseIds",
            json!({ "UP": { "uri": "file:///src/repo/build/../app/" } }),
        )],
    );
    assert_eq!(
        found(&only(&up).place.clone().unwrap().paths, &roots, &changed).unwrap(),
        "app/src/Foo.kt"
    );
}

#[test]
fn r05_an_empty_uri_is_a_folder_and_no_file() {
    let result = json!([{ "ruleId": "R", "message": { "text": "m" }, "locations": [{ "physicalLocation": {
        "artifactLocation": { "uri": "", "uriBaseId": "ROOTPATH" }, "region": { "startLine": 1 } } }] }]);
    assert_eq!(only(&log(&result, &[])).place, None);
    assert_eq!(
        only(&log(&at("src/", &json!({ "startLine": 1 })), &[])).place,
        None
    );
}

#[test]
fn r07_r08_uris_are_read_leniently() {
    let one = |uri: &str| from_uri(uri).unwrap();
    assert_eq!(one("file:///w/a%23b.txt"), "/w/a#b.txt");
    assert_eq!(one("file:///w/100%25.txt"), "/w/100%.txt");
    assert_eq!(one("file:///C:/w/x.cs"), "C:/w/x.cs");
    assert_eq!(one("file://C:/w/x.cs"), "C:/w/x.cs");
    assert_eq!(one("file:/w/x.cs"), "/w/x.cs");
    assert_eq!(one("FILE://localhost/w/x.cs"), "/w/x.cs");
    assert_eq!(one("100% done.txt"), "100% done.txt");
    assert_eq!(one("a%zz%20b"), "a%zz%20b");
    assert_eq!(one("%ff%fe"), "%ff%fe");
    assert_eq!(one("%C3%A9.py"), "é.py");
    assert_eq!(from_uri("https://example.com/a.py"), None);
    let roots = Roots {
        roots: vec!["/w".into()],
        prefix: String::new(),
    };
    for (uri, path) in [
        ("Access Tokens/main.tf", "Access Tokens/main.tf"),
        ("Access%20Tokens/main.tf", "Access Tokens/main.tf"),
        ("file:///w/a%23b.txt", "a#b.txt"),
        ("file:///w/100%25.txt", "100%.txt"),
        ("a#b.txt", "a#b.txt"),
        ("a.txt#L3", "a.txt"),
        ("a.txt?x=1#y", "a.txt"),
        ("100% done.txt", "100% done.txt"),
        ("100%20done.txt", "100%20done.txt"),
        ("./src/../src/a.rs", "src/a.rs"),
        ("src\\a.rs", "src/a.rs"),
        ("file:///C:/build/x/src/a.rs", "src/a.rs"),
    ] {
        assert_eq!(
            found(&uri_readings(uri, &[]), &roots, &[path]).as_deref(),
            Some(path),
            "{uri}"
        );
    }
    // What the escape stands for comes before what it looks like.
    let both = ["a b.txt", "a%20b.txt"];
    assert_eq!(
        found(&uri_readings("a%20b.txt", &[]), &roots, &both).unwrap(),
        "a b.txt"
    );
    // Nothing leads out of the repository or to the repository itself.
    for uri in [
        "../a.rs",
        "../../etc/passwd",
        ".",
        "..",
        "/",
        "file:",
        "file://",
        "file:///",
        "C:",
        "\\",
    ] {
        assert_eq!(
            found(&uri_readings(uri, &[]), &roots, &["a.rs", "passwd"]),
            None,
            "{uri}"
        );
    }
}

#[test]
fn d39_a_path_is_never_a_pattern() {
    let roots = Roots::default();
    let pages = [
        "app/[id]/page.tsx",
        "app/[[...slug]]/page.tsx",
        "a*b?.js",
        "{x,y}.css",
    ];
    for path in pages {
        let encoded: String = path.bytes().map(|b| format!("%{b:02X}")).collect();
        for readings in [
            uri_readings(path, &[]),
            uri_readings(&encoded, &[]),
            plain_readings(path),
        ] {
            assert_eq!(found(&readings, &roots, &[path]).as_deref(), Some(path));
        }
        for other in [
            "app/i/page.tsx",
            "app/d/page.tsx",
            "app/s/page.tsx",
            "aXbY.js",
            "x.css",
        ] {
            assert_eq!(found(&uri_readings(path, &[]), &roots, &[other]), None);
        }
    }
}

#[test]
fn r14_a_path_is_not_doubled_when_the_tool_ran_in_a_folder() {
    let in_foo = Roots {
        roots: vec!["/w".into()],
        prefix: "foo".into(),
    };
    for readings in [uri_readings("foo/main.tf", &[]), plain_readings("foo/main.tf")] {
        assert_eq!(
            found(&readings, &in_foo, &["foo/main.tf", "foo/foo/main.tf"]).unwrap(),
            "foo/main.tf"
        );
        assert_eq!(
            found(&readings, &in_foo, &["foo/foo/main.tf"]).unwrap(),
            "foo/foo/main.tf"
        );
    }
    assert_eq!(
        found(&plain_readings("main.tf"), &in_foo, &["foo/main.tf"]).unwrap(),
        "foo/main.tf"
    );
    assert_eq!(
        found(&plain_readings("../bar/x.tf"), &in_foo, &["bar/x.tf"]).unwrap(),
        "bar/x.tf"
    );
    assert_eq!(
        found(&plain_readings("/w/foo/main.tf"), &in_foo, &["foo/main.tf"]).unwrap(),
        "foo/main.tf"
    );
    assert_eq!(
        found(&plain_readings("/w/main.tf"), &in_foo, &["foo/main.tf"]),
        None
    );
}

#[test]
fn a_part_of_a_foreign_absolute_path_counts_unless_the_repository_has_a_longer_one() {
    let readings = plain_readings("/home/runner/x/docs/README.md");
    let hit = find(&readings, &Roots::default(), |path| path == "README.md").unwrap();
    assert_eq!(hit.path, "README.md");
    assert!(hit.unless.contains(&"docs/README.md".to_owned()), "{hit:?}");
    assert!(hit.unless.iter().all(|path| path != "README.md"));
}

#[test]
fn r10_a_level_comes_from_the_result_the_rule_or_is_warning() {
    let rules = json!({ "driver": { "name": "t", "rules": [
        { "id": "E", "defaultConfiguration": { "level": "error" } },
        { "id": "X" },
        { "id": "N", "defaultConfiguration": { "level": "none" } },
        { "id": "OFF", "defaultConfiguration": { "enabled": false, "level": "error" } },
    ] }, "extensions": [{ "name": "ext", "rules": [{ "id": "Z", "guid": "g", "defaultConfiguration": { "level": "note" } }] }] });
    let level = |result: Value| {
        let mut result = result;
        result["message"] = json!({ "text": "m" });
        let report = log(&json!([result]), &[("tool", rules.clone())]);
        report.results.first().map(|r| r.level)
    };
    use Level::{Error, Note, Warning};
    for (result, expected) in [
        (json!({ "ruleId": "E", "ruleIndex": 0 }), Some(Error)),
        (json!({ "ruleId": "X" }), Some(Warning)),
        (json!({ "ruleId": "E" }), Some(Error)),
        (json!({ "ruleIndex": 0 }), Some(Error)),
        (json!({ "rule": { "index": 0 } }), Some(Error)),
        (json!({ "rule": { "id": "E" } }), Some(Error)),
        (json!({ "ruleId": "E/sub/part" }), Some(Error)),
        (json!({ "ruleId": "EX" }), Some(Warning)),
        // An index that contradicts the id is wrong.
        (json!({ "ruleId": "X", "ruleIndex": 0 }), Some(Warning)),
        (json!({ "ruleId": "E", "ruleIndex": 99 }), Some(Error)),
        (json!({ "ruleId": "E", "ruleIndex": -1 }), Some(Error)),
        (
            json!({ "ruleId": "Z", "rule": { "index": 0, "toolComponent": { "index": 0 } } }),
            Some(Note),
        ),
        (
            json!({ "ruleId": "Z", "rule": { "index": 0, "toolComponent": { "name": "ext" } } }),
            Some(Note),
        ),
        (json!({ "rule": { "guid": "g" } }), Some(Note)),
        (json!({ "ruleId": "Z" }), Some(Note)),
        (json!({ "ruleId": "E", "level": "note" }), Some(Note)),
        (json!({ "ruleId": "E", "level": "none" }), None),
        (json!({ "ruleId": "N" }), None),
        (json!({ "ruleId": "OFF" }), Some(Warning)),
        (json!({ "ruleId": "X", "level": "fatal" }), Some(Warning)),
        (json!({ "ruleId": "X", "level": "Error" }), Some(Error)),
        (json!({ "ruleId": "X", "level": 3 }), Some(Warning)),
        (json!({}), Some(Warning)),
        (json!({ "ruleId": "E", "kind": "pass" }), None),
        (
            json!({ "ruleId": "E", "kind": "notApplicable", "level": "error" }),
            None,
        ),
        (json!({ "ruleId": "E", "kind": "informational" }), None),
        (
            json!({ "ruleId": "E", "kind": "review", "level": "error" }),
            Some(Error),
        ),
        (json!({ "ruleId": "E", "kind": "fail" }), Some(Error)),
    ] {
        assert_eq!(level(result.clone()), expected, "{result}");
    }
    let report = log(
        &json!([{ "level": "none", "message": {} }, { "kind": "pass" }]),
        &[],
    );
    assert_eq!((report.results.len(), report.left_out.weightless), (0, 2));
}

#[test]
fn an_invocation_may_override_a_rules_level() {
    let invocations = json!([{ "executionSuccessful": true, "ruleConfigurationOverrides": [
        { "descriptor": { "id": "X" }, "configuration": { "level": "error" } }] }]);
    let tool = json!({ "driver": { "name": "t", "rules": [{ "id": "X", "defaultConfiguration": { "level": "note" } }] } });
    let results = json!([
        { "ruleId": "X", "message": { "text": "m" }, "provenance": { "invocationIndex": 0 } },
        { "ruleId": "X", "message": { "text": "m" } },
    ]);
    let report = log(&results, &[("invocations", invocations), ("tool", tool)]);
    let levels: Vec<Level> = report.results.iter().map(|r| r.level).collect();
    assert_eq!(levels, [Level::Error, Level::Note]);
}

#[test]
fn r11_line_zero_is_the_file_and_column_zero_is_none() {
    let region = |region: Value| {
        only(&log(&at("a.js", &region), &[]))
            .place
            .clone()
            .unwrap()
            .region
    };
    assert_eq!(
        region(json!({ "startLine": 4, "startColumn": 0, "endColumn": 0 })),
        Region::Lines {
            start: 4,
            end: 4,
            start_column: None,
            end_column: None
        }
    );
    for odd in [
        json!({ "startLine": 0 }),
        json!({}),
        json!({ "startLine": -3 }),
        json!({ "startLine": 4.5 }),
        json!(7),
    ] {
        assert_eq!(region(odd), Region::File);
    }
    let report = log(&at("a.js", &json!({ "startLine": 0 })), &[]);
    let draft = here(drafted(only(&report), "x\n", &[1]));
    assert_eq!((draft.anchor, draft.title.as_str()), (None, "a.js: m"));
    // An end before the start, and one beyond what a line number can be.
    assert_eq!(
        region(json!({ "startLine": 4, "endLine": 2 })),
        Region::Lines {
            start: 4,
            end: 4,
            start_column: None,
            end_column: None
        }
    );
    let huge = log(
        &at("a.js", &json!({ "startLine": 4, "endLine": 4_294_967_295_u64 })),
        &[],
    );
    assert_eq!(drafted(only(&huge), "x\n", &[1]), Standing::NotThere);
}

#[test]
fn r13_what_is_suppressed_is_counted_and_a_refused_suppression_is_none() {
    let one = |suppressions: Value| json!({ "ruleId": "R", "message": { "text": "m" }, "suppressions": suppressions });
    let results = json!([
        one(json!([{ "kind": "inSource" }])),
        one(json!([{ "kind": "external", "status": "rejected" }])),
        one(json!([])),
        one(json!([{ "kind": "external", "status": "underReview" }])),
        one(json!([{ "kind": "inSource" }, { "kind": "external", "status": "rejected" }])),
        one(json!([{ "status": "accepted" }])),
        one(json!(null)),
        one(json!([7])),
    ]);
    let report = log(&results, &[]);
    assert_eq!((report.results.len(), report.left_out.suppressed), (6, 2));
}

#[test]
fn r16_a_run_that_failed_or_looked_at_nothing_is_not_clean() {
    let failed = |value: Value| read_sarif(&value).failed;
    let run = |run: Value| json!({ "version": "2.1.0", "runs": [run] });
    for value in [
        run(json!({ "results": [], "invocations": [{ "executionSuccessful": false }] })),
        run(
            json!({ "results": [], "invocations": [{ "executionSuccessful": true }, { "executionSuccessful": false }] }),
        ),
        run(json!({ "results": null })),
        run(json!({ "tool": { "driver": { "name": "t" } } })),
        run(json!({ "results": {} })),
        run(json!(null)),
        run(json!([])),
        json!({ "version": "2.1.0", "runs": [] }),
    ] {
        assert!(failed(value.clone()).is_some(), "{value}");
    }
    assert_eq!(failed(run(json!({ "results": [] }))), None);
    for (value, format) in [
        (json!({}), "SARIF 2.1.0"),
        (json!([]), "SARIF 2.1.0"),
        (json!({ "version": "2.1.0" }), "SARIF 2.1.0"),
        (json!({ "version": "1.0.0", "runs": [] }), "SARIF 2.1.0"),
        (json!({ "version": "2.1.0", "runs": null }), "SARIF 2.1.0"),
    ] {
        assert_eq!(
            parse(Format::Sarif, value.to_string().as_bytes()),
            Err(ReportError::OtherFormat(format)),
            "{value}"
        );
    }
    // The tool's own errors, and results in a file that is not here.
    for more in [
        (
            "invocations",
            json!([{ "executionSuccessful": true, "toolExecutionNotifications": [{ "level": "error" }] }]),
        ),
        (
            "invocations",
            json!([{ "toolConfigurationNotifications": [{ "level": "error" }, { "level": "note" }] }]),
        ),
        (
            "externalPropertyFileReferences",
            json!({ "results": [{ "location": { "uri": "r.sarif" } }] }),
        ),
    ] {
        let report = log(&json!([]), &[more]);
        assert_eq!(
            (report.failed.is_some(), report.incomplete.len()),
            (false, 1),
            "{report:?}"
        );
    }
    let fine = (
        "invocations",
        json!([{ "toolExecutionNotifications": [{ "level": "warning" }, {}] }]),
    );
    assert!(log(&json!([]), &[fine]).incomplete.is_empty());
}

#[test]
fn r17_columns_count_what_the_run_says_they_count() {
    let line = "😀x";
    assert_eq!(column_to_byte(line, 3, ColumnUnit::Utf16), Some(4));
    assert_eq!(column_to_byte(line, 2, ColumnUnit::Characters), Some(4));
    assert_eq!(column_to_byte(line, 5, ColumnUnit::Bytes), Some(4));
    assert_eq!(column_to_byte(line, 2, ColumnUnit::Utf16), None);
    assert_eq!(column_to_byte(line, 2, ColumnUnit::Unknown), None);
    assert_eq!(column_to_byte("äx", 2, ColumnUnit::Unknown), Some(2));
    assert_eq!(column_to_byte("ab", 3, ColumnUnit::Utf16), Some(2));
    assert_eq!(column_to_byte("ab", 4, ColumnUnit::Utf16), None);
    assert_eq!(column_to_byte("ab", 0, ColumnUnit::Utf16), None);
    let unit = |kind: Value| {
        let more = [("columnKind", kind)];
        only(&log(&at("a.js", &json!({ "startLine": 1 })), &more))
            .place
            .clone()
            .unwrap()
            .unit
    };
    assert_eq!(unit(json!("utf16CodeUnits")), ColumnUnit::Utf16);
    assert_eq!(unit(json!("unicodeCodePoints")), ColumnUnit::Characters);
    assert_eq!(unit(json!(null)), ColumnUnit::Unknown);
}

#[test]
fn a_region_without_lines_is_found_by_its_offset() {
    let blob = "ab\ncdé\n😀f\n".as_bytes();
    let chars = |offset, length| lines_of(Region::Characters { offset, length }, ColumnUnit::Utf16, blob);
    assert_eq!(chars(0, 2), Some((1, 1)));
    assert_eq!(chars(3, 3), Some((2, 2)));
    assert_eq!(chars(0, 3), Some((1, 1)), "the line end belongs to its line");
    assert_eq!(chars(1, 4), Some((1, 2)));
    assert_eq!(chars(9, 1), Some((3, 3)));
    assert_eq!(chars(8, 1), None, "half a character");
    assert_eq!(chars(500, 1), None);
    assert_eq!(chars(usize::MAX, usize::MAX), None);
    let bytes = |offset, length| lines_of(Region::Bytes { offset, length }, ColumnUnit::Unknown, blob);
    assert_eq!(bytes(8, 4), Some((3, 3)));
    assert_eq!(bytes(9, 1), None);
    let report = log(&at("a.js", &json!({ "charOffset": 3, "charLength": 2 })), &[]);
    assert_eq!(
        here(drafted(only(&report), "ab\ncd\n", &[2]))
            .anchor
            .unwrap()
            .start_line,
        2
    );
}

#[test]
fn only_lines_that_the_change_adds_are_judged() {
    let blob = "one\ntwo\nthree\nfour\n";
    let lines = |start: u32, end: u32| {
        let report = log(&at("a.js", &json!({ "startLine": start, "endLine": end })), &[]);
        drafted(only(&report), blob, &[3])
    };
    assert_eq!(lines(1, 2), Standing::Outside);
    assert_eq!(lines(4, 4), Standing::Outside);
    assert_eq!(lines(5, 5), Standing::NotThere);
    let draft = here(lines(2, 4));
    let anchor = draft.anchor.unwrap();
    assert_eq!(
        (anchor.start_line, anchor.end_line, draft.quote.as_deref()),
        (2, 4, Some("two\nthree\nfour"))
    );
    assert_eq!((draft.priority, draft.axis), (Priority::P2, Axis::Correctness));
    assert_eq!(draft.provenance.to_string(), "tool:t/R");
}

#[test]
fn a_region_that_ends_before_a_lines_first_character_ends_above() {
    let report = log(
        &at(
            "a.js",
            &json!({ "startLine": 2, "startColumn": 1, "endLine": 3, "endColumn": 1 }),
        ),
        &[],
    );
    let draft = here(drafted(only(&report), "one\ntwo\nthree\n", &[2, 3]));
    assert_eq!(draft.quote.as_deref(), Some("two"));
}

#[test]
fn a_blank_line_is_quoted_with_its_neighbour_and_a_huge_region_by_its_first_changed_line() {
    let report = log(&at("a.js", &json!({ "startLine": 2 })), &[]);
    let draft = here(drafted(only(&report), "one\n  \nthree\n", &[2]));
    assert_eq!(draft.quote.as_deref(), Some("one\n  "));
    let draft = here(drafted(only(&report), "\n\n\n", &[2]));
    assert_eq!((draft.anchor, draft.title.as_str()), (None, "a.js: m"));
    let blob = "line\n".repeat(2_000);
    let report = log(&at("a.js", &json!({ "startLine": 1, "endLine": 2_000 })), &[]);
    let anchor = here(drafted(only(&report), &blob, &[700, 701])).anchor.unwrap();
    assert_eq!((anchor.start_line, anchor.end_line), (700, 700));
}

/// Found by fuzzing: the quote lost its last line, and a suggestion would have replaced
/// one line less than it stands for.
#[test]
fn a_region_that_ends_in_an_empty_line_keeps_it() {
    let blob = "one\n\nthree\n\n";
    for (start, end, added) in [(1, 2, 2), (1, 4, 4), (3, 4, 4), (2, 4, 2)] {
        let mut results = at("a.js", &json!({ "startLine": start, "endLine": end }));
        results[0]["fixes"] = json!([{ "artifactChanges": [{ "artifactLocation": { "uri": "a.js" }, "replacements": [{
            "deletedRegion": { "startLine": start, "endLine": end }, "insertedContent": { "text": "new" } }] }] }]);
        let report = log(&results, &[]);
        let draft = here(drafted(only(&report), blob, &[added]));
        assert_eq!(draft.suggestion.as_deref(), Some("new"));
        let placed = crate::domain::review::grounding::ground(draft, Some(blob.as_bytes())).unwrap();
        let anchor = placed.draft.anchor.unwrap();
        assert_eq!((anchor.start_line, anchor.end_line), (start, end));
    }
}

#[test]
fn the_axis_is_the_configured_one_else_what_the_rule_says() {
    let axis_of = |properties: Value, configured| {
        let tool = json!({ "driver": { "name": "t", "rules": [{ "id": "R", "properties": properties }] } });
        let report = log(
            &json!([{ "ruleId": "R", "message": { "text": "m" } }]),
            &[("tool", tool)],
        );
        axis(only(&report), configured)
    };
    assert_eq!(
        axis_of(json!({ "security-severity": "7.5" }), None),
        Axis::Security
    );
    assert_eq!(axis_of(json!({ "security-severity": 7.5 }), None), Axis::Security);
    assert_eq!(
        axis_of(json!({ "tags": ["x", "security"] }), None),
        Axis::Security
    );
    assert_eq!(
        axis_of(json!({ "tags": ["insecurity"] }), None),
        Axis::Correctness
    );
    assert_eq!(axis_of(json!({}), None), Axis::Correctness);
    assert_eq!(
        axis_of(json!({ "tags": ["security"] }), Some(Axis::Performance)),
        Axis::Performance
    );
}

#[test]
fn a_message_may_be_the_rules_with_arguments() {
    let tool = json!({ "driver": { "name": "My Tool!", "rules": [{ "id": "R",
        "shortDescription": { "text": "short" }, "messageStrings": { "a": { "text": "x {0} y {1} {0}" } } }] } });
    let said = |message: Value| {
        let report = log(
            &json!([{ "ruleId": "R", "message": message }]),
            &[("tool", tool.clone())],
        );
        let result = only(&report);
        assert_eq!(result.tool, "my-tool");
        result.message.clone()
    };
    assert_eq!(said(json!({ "id": "a", "arguments": ["1", "2"] })), "x 1 y 2 1");
    assert_eq!(said(json!({ "markdown": "*m*" })), "*m*");
    assert_eq!(said(json!({ "id": "nope" })), "short");
    assert_eq!(said(json!({ "text": "a\u{202e}b\u{0}" })), "a\\u{202e}b\\u{0}");
    // A short text that would grow large stays short.
    let bomb = said(json!({ "text": "{0}".repeat(5_000), "arguments": ["x".repeat(20_000)] }));
    assert!(bomb.chars().count() <= 4_001, "{}", bomb.len());
}

#[test]
fn a_fix_becomes_the_lines_it_leaves() {
    let edit = |start: (u32, u32), end: (u32, u32), text: &str| Edit {
        region: Region::Lines {
            start: start.0,
            end: end.0,
            start_column: Some(start.1),
            end_column: Some(end.1),
        },
        text: text.into(),
    };
    let blob = "let a = 1;\nlet 😀 = b;\nlast";
    let made = |edits: &[Edit]| replace(edits, ColumnUnit::Utf16, blob.as_bytes());
    let lines = |start_line, end_line, text: &str| {
        Some(Replacement {
            start_line,
            end_line,
            text: text.into(),
        })
    };
    assert_eq!(
        made(&[edit((1, 1), (1, 4), "const")]),
        lines(1, 1, "const a = 1;")
    );
    assert_eq!(made(&[edit((2, 10), (2, 11), "c")]), lines(2, 2, "let 😀 = c;"));
    assert_eq!(
        made(&[edit((1, 1), (2, 1), "")]),
        lines(1, 1, ""),
        "a line that goes whole"
    );
    assert_eq!(made(&[edit((1, 1), (1, 1), "x\n")]), lines(1, 1, "x\nlet a = 1;"));
    assert_eq!(
        made(&[edit((2, 1), (2, 4), "var"), edit((1, 1), (1, 4), "var")]),
        lines(1, 2, "var a = 1;\nvar 😀 = b;")
    );
    assert_eq!(made(&[]), None);
    assert_eq!(
        made(&[edit((1, 1), (1, 5), ""), edit((1, 3), (1, 6), "")]),
        None,
        "they overlap"
    );
    assert_eq!(made(&[edit((9, 1), (9, 2), "")]), None);
    assert_eq!(made(&[edit((1, 90), (1, 91), "")]), None);
    assert_eq!(made(&[edit((2, 6), (2, 7), "")]), None, "half a character");
}

#[test]
fn a_suggestion_stands_where_it_replaces_all_that_is_anchored() {
    let with = |fixes: Value| {
        let mut results = at("a.js", &json!({ "startLine": 2 }));
        results[0]["fixes"] = fixes;
        let report = log(&results, &[("columnKind", json!("utf16CodeUnits"))]);
        here(drafted(only(&report), "one\ntwo\nthree\n", &[2, 3]))
    };
    let change = |uri: &str, region: Value, text: &str| {
        json!({ "artifactLocation": { "uri": uri },
            "replacements": [{ "deletedRegion": region, "insertedContent": { "text": text } }] })
    };
    let line = json!({ "startLine": 2, "startColumn": 1, "endColumn": 4 });
    let draft = with(json!([{ "artifactChanges": [change("a.js", line.clone(), "TWO")] }]));
    assert_eq!(
        (draft.suggestion.as_deref(), draft.quote.as_deref()),
        (Some("TWO"), Some("two"))
    );
    // The fix reaches one line further than the remark.
    let two = json!({ "startLine": 2, "startColumn": 1, "endLine": 3, "endColumn": 6 });
    let draft = with(json!([{ "artifactChanges": [change("a.js", two, "both")] }]));
    assert_eq!(
        (draft.suggestion.as_deref(), draft.quote.as_deref()),
        (Some("both"), Some("two\nthree"))
    );
    // Not all in one file, nothing changed, or something that cannot be seen.
    for fixes in [
        json!([{ "artifactChanges": [change("a.js", line.clone(), "x"), change("b.js", line.clone(), "x")] }]),
        json!([{ "artifactChanges": [change("b.js", line.clone(), "x")] }]),
        json!([{ "artifactChanges": [change("a.js", line.clone(), "two")] }]),
        json!([{ "artifactChanges": [change("a.js", line, "a\u{202e}b")] }]),
        json!([{ "artifactChanges": [] }]),
        json!([7]),
    ] {
        let draft = with(fixes.clone());
        assert_eq!(
            (draft.suggestion, draft.quote.as_deref()),
            (None, Some("two")),
            "{fixes}"
        );
    }
}

#[test]
fn what_is_no_report_is_an_error_and_never_clean() {
    let json = |text: &[u8]| parse(Format::Sarif, text).unwrap_err();
    assert_eq!(json(b""), ReportError::Empty);
    assert_eq!(json(b" \n"), ReportError::Empty);
    assert_eq!(json(b"\xff\xfe\xfd"), ReportError::NotText);
    assert!(matches!(
        json(b"Traceback (most recent call last):"),
        ReportError::Json { line: 1, .. }
    ));
    assert!(matches!(
        json(b"{\"runs\": [{\"results\": ["),
        ReportError::Json { .. }
    ));
    assert!(matches!(json(b"{\"runs\":[]} {"), ReportError::Json { .. }));
    let deep = format!("{{\"runs\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse(Format::Sarif, deep.as_bytes()).is_err() || read_deep_is_ignored(&deep));
    for format in [Format::Sarif, Format::Rdjson, Format::Rdjsonl, Format::Checkstyle] {
        assert_eq!(
            parse(format, &vec![b' '; MAX_BYTES + 1]),
            Err(ReportError::TooLarge)
        );
    }
}

/// A deep value where nothing is expected is skipped without recursion.
fn read_deep_is_ignored(deep: &str) -> bool {
    parse(Format::Sarif, deep.as_bytes()).is_ok_and(|report| report.failed.is_some())
}

#[test]
fn a_report_in_utf_16_or_with_a_mark_is_read() {
    let text = json!({ "version": "2.1.0", "runs": [{ "results": [] }] }).to_string();
    let little: Vec<u8> = "\u{feff}"
        .encode_utf16()
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let big: Vec<u8> = "\u{feff}"
        .encode_utf16()
        .chain(text.encode_utf16())
        .flat_map(u16::to_be_bytes)
        .collect();
    for bytes in [little, big, format!("\u{feff}{text}").into_bytes()] {
        assert_eq!(parse(Format::Sarif, &bytes).unwrap().failed, None);
    }
}

#[test]
fn too_many_results_are_counted_and_odd_ones_too() {
    let results: Vec<Value> = vec![json!({ "ruleId": "R", "message": { "text": "m" } }); MAX_RESULTS + 7];
    let report = log(&json!(results), &[]);
    assert_eq!((report.results.len(), report.left_out.over), (MAX_RESULTS, 7));
    let report = log(&json!([null, 3, "x", [], {}]), &[]);
    assert_eq!((report.results.len(), report.left_out.unreadable), (1, 4));
}

#[test]
fn rdjson_says_its_severity_once_for_all_or_for_each() {
    let document = json!({ "source": { "name": "lint" }, "severity": "ERROR", "diagnostics": [
        { "message": "a", "location": { "path": "a.js", "range": { "start": { "line": 2, "column": 3 } } } },
        { "message": "b", "location": { "path": "a.js" }, "severity": "INFO", "source": { "name": "Other" },
          "code": { "value": "X1", "url": "https://example.com/X1" } },
        { "message": "c", "severity": "UNKNOWN_SEVERITY", "location": {} },
        { "message": "d", "severity": 2, "location": { "path": "" } },
        {}, 7,
    ] });
    let report = parse(Format::Rdjson, document.to_string().as_bytes()).unwrap();
    let told: Vec<_> = report
        .results
        .iter()
        .map(|r| {
            (
                r.tool.as_str(),
                r.rule.as_str(),
                r.level,
                r.place.as_ref().map(|p| p.region),
            )
        })
        .collect();
    let two = Region::Lines {
        start: 2,
        end: 2,
        start_column: Some(3),
        end_column: None,
    };
    assert_eq!(
        told,
        [
            ("lint", "unnamed", Level::Error, Some(two)),
            ("other", "X1", Level::Note, Some(Region::File)),
            ("lint", "unnamed", Level::Error, None),
            ("lint", "unnamed", Level::Warning, None),
        ]
    );
    assert_eq!(report.results[1].help.as_deref(), Some("https://example.com/X1"));
    assert_eq!(report.left_out.unreadable, 2);
    for other in ["{}", "[]", "{\"diagnostics\": null}", "7"] {
        assert_eq!(
            parse(Format::Rdjson, other.as_bytes()),
            Err(ReportError::OtherFormat("rdjson"))
        );
    }
}

#[test]
fn rdjsonl_is_one_diagnostic_a_line_and_a_torn_line_is_said() {
    let one = json!({ "message": "m", "location": { "path": "a.js", "range": { "start": { "line": 1 } } } });
    let read = |text: &str| parse(Format::Rdjsonl, text.as_bytes());
    assert_eq!(read(&format!("{one}\n\n{one}\r\n")).unwrap().results.len(), 2);
    assert_eq!(read("").unwrap().results.len(), 0);
    let torn = read(&format!("{one}\n{{\"message\": \"x")).unwrap();
    assert_eq!(
        (torn.results.len(), torn.incomplete.as_slice()),
        (1, &["line 2 is no JSON".to_owned()][..])
    );
    assert!(matches!(
        read("command not found\n"),
        Err(ReportError::Json { line: 1, .. })
    ));
    let report = read(&one.to_string()).unwrap();
    assert_eq!(
        (only(&report).tool.as_str(), only(&report).level),
        ("rdjson", Level::Warning)
    );
}

#[test]
fn checkstyle_is_read_and_its_entities_never_grow() {
    let read = |text: &str| parse(Format::Checkstyle, text.as_bytes());
    let report = read(
        "<?xml version=\"1.0\"?><!DOCTYPE checkstyle><checkstyle><!-- x --><file name='a &amp; b/[id].js'>\
         <error line='2' column='1' severity='error' message='a &lt;b&gt; &#x26; c' source='x.Y'/>\
         <error line='0' severity='info' message='' source='x.Z'></error>\
         <error severity='ignore' message='n'/><error message='plain'/></file><file/><error line='1' message='lost'/></checkstyle>",
    )
    .unwrap();
    let told: Vec<_> = report
        .results
        .iter()
        .map(|r| {
            (
                r.rule.as_str(),
                r.level,
                r.message.as_str(),
                r.place.as_ref().map(|p| p.paths[0].as_str()),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("x.Y", Level::Error, "a <b> & c", Some("a & b/[id].js")),
            ("x.Z", Level::Note, "x.Z", Some("a & b/[id].js")),
            ("unnamed", Level::Warning, "plain", Some("a & b/[id].js")),
            ("unnamed", Level::Warning, "lost", None),
        ]
    );
    assert_eq!(report.left_out.weightless, 1);
    assert!(read("<checkstyle/>").unwrap().results.is_empty());
    // A bomb of entities, and a file that an entity names.
    let bomb = "<!DOCTYPE c [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;\"><!ENTITY f SYSTEM \"file:///etc/passwd\">]>\
        <checkstyle><file name=\"a.js\"><error line=\"1\" message=\"&b;&f;\"/></file></checkstyle>";
    if let Ok(report) = read(bomb) {
        assert_eq!(report.results[0].message, "&b;&f;");
    }
    for broken in [
        "<checkstyle>",
        "<checkstyle><file name='a'></checkstyle>",
        "oops",
        "<checkstyle",
        &"<checkstyle>".repeat(10_000),
    ] {
        assert!(read(broken).is_err(), "{}", &broken[..broken.len().min(40)]);
    }
    assert_eq!(read("<html/>"), Err(ReportError::OtherFormat("checkstyle XML")));
    assert_eq!(
        read("<html></html>"),
        Err(ReportError::OtherFormat("checkstyle XML"))
    );
}

#[test]
fn a_message_reads_the_same_as_markdown() {
    let results = json!([{ "ruleId": "R_1", "message": { "text": format!("use `a_b` not __init__ <b> {}", "x".repeat(300)) } }]);
    let report = log(&results, &[]);
    let body = draft::summary(only(&report), None, None).body;
    assert!(
        body.starts_with("use `a_b` not \\_\\_init\\_\\_ \\<b\\> xxx"),
        "{body}"
    );
    assert!(body.ends_with("Rule `R_1` of `t`"), "{body}");
}
