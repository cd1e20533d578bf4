use proptest::prelude::*;

use super::{ApiContract, document};
use crate::{
    analyzers::doubles::{TextChange, found, report},
    domain::review::reviewer::ContributionState,
};

const PATH: &str = "openapi.yaml";

fn rules(change: &TextChange) -> Vec<String> {
    found(&ApiContract, change)
        .into_iter()
        .map(|f| f.replace("api_contract/", "").replace(&format!(" {PATH}"), ""))
        .collect()
}

fn changed(before: &str, after: &str) -> Vec<String> {
    rules(&TextChange::new().changing(PATH, before, after))
}

/// A document with one operation: `POST /users`, with what stands in it.
fn operation(inside: &str) -> String {
    format!("openapi: 3.0.3\npaths:\n  /users:\n    post:\n{inside}")
}

/// The same with the schema of its request's body.
fn request(schema: &str) -> String {
    operation(&format!(
        "      requestBody:\n        content:\n          application/json:\n            schema:\n{}      responses: {{}}\n",
        indented(schema)
    ))
}

/// The same with the schema of its response.
fn response(schema: &str) -> String {
    operation(&format!(
        "      responses:\n        '200':\n          content:\n            application/json:\n             schema:\n{}",
        indented(schema)
    ))
}

fn indented(text: &str) -> String {
    text.lines().map(|l| format!("              {l}\n")).collect()
}

/// What a change of the schema says in requests and in responses, without places.
fn both(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
    let bare = |hits: Vec<String>| {
        hits.into_iter()
            .map(|h| h.split(':').next().unwrap().to_owned())
            .collect()
    };
    (
        bare(changed(&request(before), &request(after))),
        bare(changed(&response(before), &response(after))),
    )
}

#[track_caller]
fn breaks(before: &str, after: &str, in_request: &[&str], in_response: &[&str]) {
    let (request, response) = both(before, after);
    assert_eq!(
        (request.as_slice(), response.as_slice()),
        (
            &in_request.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..],
            &in_response.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..]
        ),
        "{before} -> {after}"
    );
}

#[test]
fn a_path_or_an_operation_that_is_gone_is_told_on_the_deleted_line() {
    let two = "openapi: 3.0.3\npaths:\n  /a:\n    get: {}\n  /b:\n    get: {}\n    post: {}\n";
    assert_eq!(
        changed(two, "openapi: 3.0.3\npaths:\n  /a:\n    get: {}\n"),
        ["p1 path-removed:5"]
    );
    assert_eq!(
        changed(
            two,
            "openapi: 3.0.3\npaths:\n  /a:\n    get: {}\n  /b:\n    get: {}\n"
        ),
        ["p1 operation-removed:7"]
    );
    let draft = report(
        &ApiContract,
        &TextChange::new().changing(PATH, two, "openapi: 3.0.3\npaths: {}\n"),
    )
    .drafts
    .remove(0);
    assert_eq!(draft.anchor.unwrap().side.as_str(), "LEFT");
    assert_eq!(draft.title, "/a: the path is gone");
    let deprecated = two.replace("post: {}", "post: {deprecated: true}");
    assert_eq!(
        changed(
            &deprecated,
            "openapi: 3.0.3\npaths:\n  /a:\n    get: {}\n  /b:\n    get: {}\n"
        ),
        ["p2 operation-removed:7"]
    );
    assert_eq!(changed("openapi: 3.0.3\npaths: {}\n", two), [""; 0]);
    let named = "openapi: 3.0.3\npaths:\n  /a/{id}:\n    get: {}\n";
    assert_eq!(changed(named, &named.replace("{id}", "{user}")), [""; 0]);
}

#[test]
fn parameters_that_go_or_are_required_now_are_told() {
    let with = |list: &str| operation(&format!("      parameters:\n{list}      responses: {{}}\n"));
    let old = with("      - {in: query, name: a}\n");
    assert_eq!(
        changed(&old, &with("      - {in: query, name: b}\n")),
        ["p1 parameter-removed:6"]
    );
    assert_eq!(
        changed(
            &old,
            &with("      - {in: query, name: a}\n      - {in: query, name: b, required: true}\n")
        ),
        ["p1 parameter-required:7"]
    );
    assert_eq!(
        changed(&old, &with("      - {in: query, name: a, required: true}\n")),
        ["p1 parameter-required:6"]
    );
    assert_eq!(
        changed(
            &old,
            &with("      - {in: query, name: a}\n      - {in: query, name: b}\n")
        ),
        [""; 0]
    );
    assert_eq!(
        changed(
            &with("      - {in: header, name: X-A}\n"),
            &with("      - {in: header, name: x-a}\n")
        ),
        [""; 0]
    );
    assert_eq!(
        changed(
            &with("      - {in: query, name: a, schema: {type: string}}\n"),
            &with("      - {in: query, name: a, schema: {type: integer}}\n")
        ),
        ["p1 request-type:6"]
    );
    // One that moves up to its path is still there.
    let above = "openapi: 3.0.3\npaths:\n  /users:\n    parameters:\n    - {in: query, name: a}\n    post:\n      responses: {}\n";
    assert_eq!(changed(&old, above), [""; 0]);
}

#[test]
fn a_request_may_only_ask_for_less() {
    breaks(
        "type: object",
        "type: object\nrequired: [a]",
        &["p1 property-required"],
        &[],
    );
    breaks(
        "type: object\nproperties:\n  a: {type: string}",
        "type: object\nproperties:\n  a: {type: string}\n  b: {type: string}\nrequired:\n- b",
        &["p1 property-required"],
        &[],
    );
    breaks(
        "type: object",
        "type: object\nadditionalProperties: false",
        &["p1 request-closed"],
        &[],
    );
    breaks(
        "type: object\nproperties:\n  a: {type: string}\nadditionalProperties: false",
        "type: object\nproperties: {}\nadditionalProperties: false",
        &["p1 property-removed"],
        &["p1 property-removed"],
    );
    breaks(
        "type: string\nenum: [a, b]",
        "type: string\nenum: [a]",
        &["p1 enum-value-removed"],
        &[],
    );
    breaks(
        "type: string",
        "type: string\nmaxLength: 5",
        &["p1 request-bounds"],
        &[],
    );
    breaks(
        "type: string\nmaxLength: 5",
        "type: string\nmaxLength: 4",
        &["p1 request-bounds"],
        &[],
    );
    breaks(
        "type: integer\nminimum: 1",
        "type: integer\nminimum: 2",
        &["p1 request-bounds"],
        &[],
    );
    breaks(
        "type: integer\nminimum: 1",
        "type: integer\nminimum: 1\nexclusiveMinimum: true",
        &["p1 request-bounds"],
        &[],
    );
    breaks(
        "type: integer",
        "type: integer\nexclusiveMaximum: 7",
        &["p1 request-bounds"],
        &[],
    );
    breaks(
        "type: string",
        "type: string\npattern: ^a",
        &["p1 request-bounds"],
        &[],
    );
    for (before, after) in [
        ("type: object\nrequired: [a]", "type: object\nrequired: []"),
        ("type: string\nmaxLength: 5", "type: string\nmaxLength: 6"),
        ("type: string\nmaxLength: 5", "type: string"),
        ("type: string", "type: string\nminLength: 0"),
        ("type: string\nenum: [a]", "type: string\nenum: [b, a]"),
        ("type: integer", "type: number"),
        ("type: string", "type: string\nnullable: true"),
        ("type: string", "type: [string, 'null']"),
        (
            "type: object\nproperties:\n  a: {type: string}",
            "type: object\nproperties: {}",
        ),
    ] {
        assert_eq!(both(before, after).0, [""; 0], "{before} -> {after}");
    }
}

#[test]
fn a_response_may_only_get_surer() {
    breaks(
        "type: object\nproperties:\n  a: {type: string}",
        "type: object\nproperties: {}",
        &[],
        &["p1 property-removed"],
    );
    breaks(
        "type: object\nrequired: [a]\nproperties:\n  a: {type: string}",
        "type: object\nproperties:\n  a: {type: string}",
        &[],
        &["p1 property-optional"],
    );
    breaks(
        "type: string\nenum: [a]",
        "type: string\nenum: [a, b]",
        &[],
        &["p1 enum-value-added"],
    );
    breaks(
        "type: string\nenum: [a]",
        "type: string",
        &[],
        &["p1 enum-value-added"],
    );
    breaks("type: integer", "type: number", &[], &["p1 response-type"]);
    breaks(
        "type: string",
        "type: string\nnullable: true",
        &[],
        &["p1 response-type"],
    );
    breaks(
        "type: string",
        "type: [string, 'null']",
        &[],
        &["p1 response-type"],
    );
    breaks(
        "type: string",
        "type: integer",
        &["p1 request-type"],
        &["p1 response-type"],
    );
    breaks(
        "type: array\nitems: {type: string}",
        "type: array\nitems: {type: object}",
        &["p1 request-type"],
        &["p1 response-type"],
    );
    breaks(
        "type: integer\nformat: int64",
        "type: integer\nformat: int32",
        &["p2 format-changed"],
        &[],
    );
    breaks(
        "type: integer\nformat: int32",
        "type: integer\nformat: int64",
        &[],
        &["p2 format-changed"],
    );
    for (before, after) in [
        ("type: number", "type: integer"),
        (
            "type: object",
            "type: object\nproperties:\n  a: {type: string}\nrequired: [a]",
        ),
        ("type: string\nenum: [a, b]", "type: string\nenum: [a]"),
        ("type: string\nnullable: true", "type: string"),
        (
            "type: string\ndescription: x",
            "type: string\ndescription: y\nexample: z",
        ),
    ] {
        assert_eq!(both(before, after).1, [""; 0], "{before} -> {after}");
    }
}

#[test]
fn what_one_way_does_not_carry_is_not_judged_there() {
    breaks(
        "type: object\nproperties:\n  a: {type: string, readOnly: true}",
        "type: object\nproperties:\n  a: {type: integer, readOnly: true}",
        &[],
        &["p1 response-type"],
    );
    breaks(
        "type: object\nproperties:\n  a: {type: string, writeOnly: true}",
        "type: object\nproperties: {}",
        &[],
        &[],
    );
    breaks(
        "type: object",
        "type: object\nrequired: [a]\nproperties:\n  a: {type: string, readOnly: true}",
        &[],
        &[],
    );
}

#[test]
fn parts_and_alternatives_are_put_together() {
    breaks(
        "allOf:\n- type: object\n  properties:\n    a: {type: string}\n- required: [a]",
        "type: object\nrequired: [a]\nproperties:\n  a: {type: string}",
        &[],
        &[],
    );
    breaks(
        "allOf:\n- type: object\n  properties:\n    a: {type: string}",
        "allOf:\n- type: object\n  properties:\n    b: {type: string}\n- required: [b]",
        &["p1 property-required"],
        &["p1 property-removed"],
    );
    breaks(
        "oneOf:\n- type: string\n- type: integer",
        "oneOf:\n- type: string",
        &["p1 alternative-removed"],
        &[],
    );
    breaks(
        "oneOf:\n- type: string",
        "oneOf:\n- type: string\n- type: integer",
        &[],
        &["p1 alternative-added"],
    );
}

#[test]
fn bodies_media_types_responses_headers_and_ways_in_are_compared() {
    let body = |inside: &str| operation(&format!("      requestBody:\n{inside}      responses: {{}}\n"));
    let none = operation("      responses: {}\n");
    assert_eq!(
        changed(&none, &body("        required: true\n")),
        ["p1 body-required:6"]
    );
    assert_eq!(changed(&none, &body("        required: false\n")), [""; 0]);
    assert_eq!(
        changed(&body("        description: x\n"), &none),
        ["p1 body-removed:5"]
    );
    assert_eq!(
        changed(
            &body("        required: false\n"),
            &body("        required: true\n")
        ),
        ["p1 body-required:6"]
    );
    let media = |m: &str| body(&format!("        content:\n          {m}: {{}}\n"));
    assert_eq!(
        changed(&media("text/csv"), &media("text/plain")),
        ["p1 media-type-removed:7"]
    );
    let answers = |list: &str| operation(&format!("      responses:\n{list}"));
    let two = answers("        200: {description: x}\n        404: {description: y}\n");
    assert_eq!(
        changed(&two, &answers("        404: {description: y}\n")),
        ["p1 response-removed:6"]
    );
    assert_eq!(
        changed(&two, &answers("        200: {description: x}\n")),
        [""; 0]
    );
    assert_eq!(
        changed(
            &answers("        200:\n          headers:\n            X-A: {}\n"),
            &answers("        200:\n          headers: {}\n")
        ),
        ["p2 header-removed:8"]
    );
    let guarded = |by: &str| operation(&format!("      security: {by}\n      responses: {{}}\n"));
    assert_eq!(
        changed(&none, &guarded("[{key: []}]")),
        ["p1 security-required:5"]
    );
    assert_eq!(
        changed(&guarded("[{key: []}, {token: []}]"), &guarded("[{token: []}]")),
        ["p1 security-required:5"]
    );
    assert_eq!(
        changed(&guarded("[{token: [a]}]"), &guarded("[{token: [a, b]}]")),
        ["p1 security-required:5"]
    );
    assert_eq!(
        changed(&guarded("[{token: [a, b]}]"), &guarded("[{token: [a]}]")),
        [""; 0]
    );
    assert_eq!(changed(&guarded("[{key: []}]"), &none), [""; 0]);
    assert_eq!(changed(&none, &guarded("[{}, {key: []}]")), [""; 0]);
}

#[test]
fn references_are_followed_and_a_shared_schema_is_told_once() {
    let document = |schema: &str| {
        format!(
            "openapi: 3.1.0\npaths:\n  /a:\n    get:\n      responses: {{'200': {{$ref: '#/components/responses/R'}}}}\n  /b~c:\n    get:\n      responses: {{'200': {{$ref: '#/components/responses/R'}}}}\ncomponents:\n  responses:\n    R:\n      content:\n        application/json:\n          schema: {{$ref: '#/components/schemas/S%20x'}}\n  schemas:\n    S x:\n{schema}"
        )
    };
    let before = document(
        "      type: object\n      properties:\n        a: {type: string}\n        self: {$ref: '#/components/schemas/S%20x'}\n",
    );
    let after = document(
        "      type: object\n      properties:\n        a: {type: integer}\n        self: {$ref: '#/components/schemas/S%20x'}\n",
    );
    assert_eq!(changed(&before, &after), ["p1 response-type:19"]);
    assert_eq!(
        report(&ApiContract, &TextChange::new().changing(PATH, &before, &after)).drafts[0].title,
        "GET /a: the `a` of the response `200` was string and may be integer now"
    );
    let ring = "openapi: 3.0.0\npaths:\n  /a: {$ref: '#/paths/~1b'}\n  /b: {$ref: '#/paths/~1a'}\n";
    assert_eq!(changed(ring, &format!("{ring}# x\n")), [""; 0]);
}

#[test]
fn other_documents_are_not_fetched_and_the_report_says_so() {
    let with = |to: &str| response(&format!("$ref: {to}"));
    let change = TextChange::new().changing(PATH, with("other.yaml#/A"), with("other.yaml#/B"));
    let report = report(&ApiContract, &change);
    assert_eq!(report.state, ContributionState::Partial);
    assert_eq!(
        report.note.as_deref(),
        Some("openapi.yaml refers to other documents, which are not fetched")
    );
    let nowhere = TextChange::new().changing(PATH, response("type: string"), with("'#/a'"));
    assert_eq!(
        crate::analyzers::doubles::report(&ApiContract, &nowhere).state,
        ContributionState::Partial
    );
}

#[test]
fn a_document_that_nobody_can_read_any_more_is_told() {
    let good = operation("      responses: {}\n");
    let change = TextChange::new().changing(PATH, &good, format!("{good}  - [\n"));
    assert_eq!(rules(&change), ["p1 unreadable:6"]);
    assert_eq!(report(&ApiContract, &change).state, ContributionState::Partial);
    let gone = TextChange::new().removing(PATH, &good);
    assert_eq!(rules(&gone), ["p1 document-removed"]);
    let new = TextChange::new().adding(PATH, "openapi: 3.0.0\npaths: [\n");
    assert_eq!(rules(&new), [""; 0]);
    assert_eq!(report(&ApiContract, &new).state, ContributionState::Partial);
    let other = TextChange::new().adding("values.yaml", "a: [\n");
    assert_eq!(report(&ApiContract, &other).state, ContributionState::Complete);
}

#[test]
fn json_and_swagger_2_are_read_too() {
    let json = |kind: &str| {
        format!(
            "{{\n  \"openapi\": \"3.0.0\",\n  \"paths\": {{\n    \"/a\": {{\n      \"get\": {{\n        \"responses\": {{\"200\": {{\"content\": {{\"a/b\": {{\"schema\": {{\n          \"type\": \"{kind}\"\n        }}}}}}}}}}\n      }}\n    }}\n  }}\n}}\n"
        )
    };
    let change = TextChange::new().changing("api/spec.json", json("string"), json("integer"));
    assert_eq!(rules(&change), ["p1 response-type api/spec.json:7"]);
    let two = |kind: &str, required: &str| {
        format!(
            "swagger: '2.0'\npaths:\n  /a:\n    post:\n      parameters:\n      - in: body\n        name: body\n        schema: {{$ref: '#/definitions/A'}}\n      - in: query\n        name: q\n        type: {kind}\n      responses:\n        200:\n          schema: {{$ref: '#/definitions/A'}}\ndefinitions:\n  A:\n    type: object\n    required: [{required}]\n"
        )
    };
    assert_eq!(
        changed(&two("string", "a"), &two("integer", "a, b")),
        ["p1 request-type:11", "p1 property-required:18"]
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
    );
}

#[test]
fn many_hits_on_one_line_are_one_remark_and_thousands_are_counted() {
    let request = |names: &str| request(&format!("type: object\nrequired: [{names}]"));
    let change = TextChange::new().changing(PATH, request(""), request("a, b, c"));
    assert_eq!(rules(&change).len(), 1);
    let draft = report(&ApiContract, &change).drafts.remove(0);
    assert_eq!(
        draft.title,
        "POST /users: `a` of the request body is required now (and 2 more)"
    );
    let many: String = (0..100).map(|i| format!("  /p{i}:\n    get: {{}}\n")).collect();
    let gone = TextChange::new().changing(
        PATH,
        format!("openapi: 3.0.0\npaths:\n{many}"),
        "openapi: 3.0.0\npaths: {}\n",
    );
    let hits = rules(&gone);
    assert_eq!((hits.len(), hits[60].as_str()), (61, "p1 more"));
}

#[test]
fn hostile_documents_end_soon() {
    let deep = format!(
        "openapi: 3.0.0\npaths: {}{}\n",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    let wide: String = (0..2000)
        .map(|i| format!("      - {{$ref: '#/components/schemas/S{}'}}\n", i % 7))
        .collect();
    let bomb: String = (0..60)
        .map(|i| {
            let next = format!("'#/components/schemas/S{}'", i + 1);
            format!("    S{i}:\n      allOf: [{{$ref: {next}}}, {{$ref: {next}}}]\n      properties: {{a: {{$ref: {next}}}, b: {{$ref: {next}}}}}\n")
        })
        .collect();
    let bomb = format!(
        "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      responses: {{'200': {{content: {{a: {{schema: {{$ref: '#/components/schemas/S0'}}}}}}}}}}\ncomponents:\n  schemas:\n{bomb}    S60:\n      oneOf:\n{wide}"
    );
    let aliases: String = (1..40)
        .map(|i| format!("a{i}: &a{i} [*a{}, *a{}]\n", i - 1, i - 1))
        .collect();
    let aliases =
        format!("openapi: 3.0.0\na0: &a0 [x]\n{aliases}paths: {{/a: {{get: {{responses: *a39}}}}}}\n");
    for text in [deep, bomb, aliases] {
        let _ = rules(&TextChange::new().changing(PATH, &text, format!("{text}# x\n")));
    }
}

#[test]
fn what_looks_like_an_api_is_known_before_it_is_parsed() {
    for text in [
        "openapi: 3",
        "\"swagger\": \"2.0\"",
        "{\"openapi\":\"3\"}",
        "x: 1\n  openapi : 3",
    ] {
        assert!(document::looks_like_api(text.as_bytes()), "{text}");
    }
    for text in ["", "info: openapi", "openapi", "openapi-x: 1", "# openapi: 3"] {
        assert!(!document::looks_like_api(text.as_bytes()), "{text}");
    }
}

proptest! {
    #[test]
    fn anything_can_be_compared(
        bytes in proptest::collection::vec(any::<u8>(), 0..100),
        before in proptest::collection::vec(0usize..24, 0..40),
        after in proptest::collection::vec(0usize..24, 0..40),
    ) {
        const PIECES: [&str; 24] = [
            "\"openapi\":", "\"paths\":", "\"/a\":", "\"get\":", "\"responses\":", "\"200\":", "\"schema\":", "\"type\":", "\"string\"",
            "{", "}", "[", "]", ",", "\"$ref\":", "\"#/paths\"", "\"allOf\":", "\"enum\":", "\"required\":", "1", "\n",
            "\"content\":", "\"properties\":", "true",
        ];
        let text = |pieces: &[usize]| pieces.iter().map(|p| PIECES[*p]).collect::<String>();
        let (before, after) = (text(&before), text(&after));
        let open = |inside: &str| format!("{{\"openapi\":1,\"paths\":{{\"/a\":{{\"get\":{{{inside}}}}}}}}}\n");
        for path in [PATH, "a.json"] {
            let _ = found(&ApiContract, &TextChange::new().changing(path, &before, &after));
            let _ = found(&ApiContract, &TextChange::new().changing(path, open(&before), open(&after)));
            let _ = found(&ApiContract, &TextChange::new().changing(path, &bytes, open(&after)));
            let _ = found(&ApiContract, &TextChange::new().changing(path, open(&before), [b"openapi: 1\n".as_slice(), &bytes].concat()));
        }
    }
}
