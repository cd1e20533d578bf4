use http::{HeaderMap, HeaderName, StatusCode};

use super::*;

const NOW: Timestamp = Timestamp(1_767_261_600_000);

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
        .collect()
}

fn of(effect: Effect, status: u16, pairs: &[(&str, &str)], body: &str) -> ForgeError {
    let status = StatusCode::from_u16(status).unwrap();
    classify(effect, status, &headers(pairs), body.as_bytes(), NOW)
}

fn waits(error: &ForgeError) -> Option<i64> {
    match error {
        Later { after_ms, .. } => *after_ms,
        other => panic!("not later: {other:?}"),
    }
}

#[test]
fn what_each_status_means_for_a_read_and_for_a_write() {
    let name = |error: ForgeError| match error {
        Later { .. } => "later",
        Unknown(_) => "unknown",
        NotFound(_) => "not found",
        Forbidden(_) => "forbidden",
        Closed(_) => "closed",
        Refused(_) => "refused",
        Internal(_) => "internal",
    };
    for (status, read, write) in [
        (400, "internal", "refused"),
        (401, "forbidden", "forbidden"),
        (403, "forbidden", "forbidden"),
        (404, "not found", "not found"),
        (408, "later", "unknown"),
        (409, "not found", "refused"),
        (410, "not found", "not found"),
        (413, "internal", "refused"),
        (422, "refused", "refused"),
        (429, "later", "later"),
        (451, "forbidden", "forbidden"),
        (500, "later", "unknown"),
        (502, "later", "unknown"),
        (503, "later", "unknown"),
        (504, "later", "unknown"),
        (304, "internal", "internal"),
        (418, "internal", "internal"),
    ] {
        assert_eq!(name(of(Effect::Read, status, &[], "")), read, "read {status}");
        assert_eq!(name(of(Effect::Write, status, &[], "")), write, "write {status}");
    }
}

#[test]
fn silence_is_unknown_only_for_a_write_that_was_sent() {
    for (effect, silence, unknown) in [
        (Effect::Read, Silence::NotSent, false),
        (Effect::Read, Silence::Sent, false),
        (Effect::Write, Silence::NotSent, false),
        (Effect::Write, Silence::Sent, true),
    ] {
        assert_eq!(
            matches!(silent(effect, silence, "x"), Unknown(_)),
            unknown,
            "{effect:?} {silence:?}"
        );
    }
}

#[test]
fn the_wait_is_the_forges_own_and_bounded() {
    let reset = |seconds: i64| (NOW.0 / 1000 + seconds).to_string();
    let (soon, far) = (reset(90), reset(90_000));
    type Case<'a> = (u16, &'a [(&'a str, &'a str)], i64);
    let cases: &[Case<'_>] = &[
        (429, &[("retry-after", "30")], 30_000),
        (429, &[("retry-after", " 30 ")], 30_000),
        (429, &[("retry-after", "0")], 1_000),
        (429, &[("retry-after", "-5")], 1_000),
        (429, &[("retry-after", "999999999999999999")], 3_600_000),
        (429, &[("retry-after", "99999999999999999999999")], 60_000),
        (429, &[("retry-after", "Thu, 01 Jan 2026 10:02:00 GMT")], 120_000),
        (429, &[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT")], 1_000),
        (429, &[("retry-after", "soon")], 60_000),
        (429, &[], 60_000),
        (403, &[("retry-after", "7")], 7_000),
        (
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &soon)],
            90_000,
        ),
        (
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &far)],
            3_600_000,
        ),
        (
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "0")],
            1_000,
        ),
        (
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "x")],
            60_000,
        ),
        (
            429,
            &[("x-ratelimit-remaining", "10"), ("x-ratelimit-reset", &far)],
            60_000,
        ),
    ];
    for (status, pairs, expected) in cases {
        for effect in [Effect::Read, Effect::Write] {
            assert_eq!(
                waits(&of(effect, *status, pairs, "")),
                Some(*expected),
                "{status} {pairs:?}"
            );
        }
    }
    assert_eq!(
        waits(&of(Effect::Read, 503, &[("retry-after", "5")], "")),
        Some(5_000)
    );
    assert_eq!(waits(&of(Effect::Read, 503, &[], "")), None);
}

#[test]
fn a_403_is_a_limit_only_when_it_says_so() {
    let limited = [
        r#"{"message":"You have exceeded a secondary rate limit. Please wait"}"#,
        r#"{"message":"API rate limit exceeded for installation ID 7."}"#,
        r#"{"message":"You have triggered an abuse detection mechanism."}"#,
    ];
    for body in limited {
        assert_eq!(waits(&of(Effect::Write, 403, &[], body)), Some(60_000), "{body}");
    }
    let left = [("x-ratelimit-remaining", "4999")];
    let forbidden = of(
        Effect::Write,
        403,
        &left,
        r#"{"message":"Resource not accessible by integration"}"#,
    );
    assert!(matches!(forbidden, Forbidden(_)), "{forbidden:?}");
    let suspended = of(
        Effect::Write,
        403,
        &left,
        r#"{"message":"This installation has been suspended"}"#,
    );
    assert!(matches!(suspended, Closed(_)), "{suspended:?}");
}

#[test]
fn a23_abuse_as_a_422_is_a_limit() {
    for body in [
        r#"{"message":"Validation Failed","errors":[{"resource":"PullRequestReviewComment","code":"abuse","field":"body","message":"was submitted too quickly"}]}"#,
        r#"{"message":"Validation Failed","errors":[{"code":"abuse"}]}"#,
        r#"{"message":"Validation Failed","errors":["Body was submitted too quickly after another comment"]}"#,
        r#"{"message":"was submitted too quickly"}"#,
    ] {
        assert_eq!(waits(&of(Effect::Write, 422, &[], body)), Some(60_000), "{body}");
    }
}

#[test]
fn a_refusal_keeps_the_forges_words_in_every_shape() {
    let cases: &[(&str, &[&str])] = &[
        (r#"{"message":"M","errors":["one","two"]}"#, &["M", "one", "two"]),
        (
            r#"{"message":"M","errors":[{"field":"body","message":"is too long"}]}"#,
            &["M", "body is too long"],
        ),
        (
            r#"{"message":"M","errors":[{"resource":"Review","field":"event","code":"invalid"}]}"#,
            &["M", "Review event invalid"],
        ),
        (r#"{"message":"M","errors":"one text"}"#, &["M", "one text"]),
        (
            r#"{"message":"M","errors":{"message":"one object"}}"#,
            &["M", "one object"],
        ),
        (r#"{"message":"M","errors":[1,null,{},[]]}"#, &["M"]),
        (r#"{"message":"M","errors":null}"#, &["M"]),
        (r#"{"message":["M"]}"#, &["no message"]),
        ("<html>", &["no message"]),
        ("", &["no message"]),
        ("[]", &["no message"]),
        ("{\"message\":\"a\\nb\\u001b[31mc\"}", &["a b [31mc"]),
    ];
    for (body, expected) in cases {
        let Refused(messages) = of(Effect::Write, 422, &[], body) else {
            panic!("not refused: {body}");
        };
        assert_eq!(messages, *expected, "{body}");
    }
}

#[test]
fn hostile_bodies_are_bounded() {
    let long = format!(
        r#"{{"message":"{}","errors":[{}]}}"#,
        "é".repeat(5000),
        vec!["\"x\""; 5000].join(",")
    );
    let Refused(messages) = of(Effect::Write, 422, &[], &long) else {
        panic!()
    };
    assert!(messages.len() <= 41);
    assert!(messages[0].chars().count() <= 301);
    let deep = format!(r#"{{"message":"M","errors":{}"#, "[".repeat(1_000_000));
    assert!(matches!(of(Effect::Write, 422, &[], &deep), Refused(_)));
}
