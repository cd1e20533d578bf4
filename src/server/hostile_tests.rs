//! Bodies and headers at random, against slow and simple readings of the same rules.
//! `PROPTEST_CASES` makes it run longer.

use axum::http::{HeaderMap, HeaderValue};
use bytes::{Bytes, BytesMut};
use hmac::{Hmac, KeyInit, Mac};
use proptest::{prelude::*, sample::Index};
use secrecy::SecretString;
use sha2::Sha256;

use super::{
    form::{self, FormFault},
    signature::{Claimed, WebhookKey},
    webhook::parse,
};

/// Decoded as slowly and simply as it can be said.
fn decoded(value: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = value.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
    percent_encoding::percent_decode(&spaced).collect()
}

fn expected(form: &[u8], limit: usize) -> Result<Vec<u8>, FormFault> {
    let values: Vec<&[u8]> = form
        .split(|b| *b == b'&')
        .filter_map(|field| field.strip_prefix(b"payload="))
        .collect();
    match values.as_slice() {
        [value] if decoded(value).len() <= limit => Ok(decoded(value)),
        [_] => Err(FormFault::TooLarge),
        _ => Err(FormFault::NoPayload),
    }
}

/// Bytes that are likely to mean something in a form.
fn form_bytes() -> impl Strategy<Value = Vec<u8>> {
    let bit = prop_oneof![
        4 => prop::sample::select(vec!["payload=", "&", "=", "%", "+", "%7B", "%7d", "%00", "%c3%28", "%2", "payload", "{}", "\"a\":1"])
            .prop_map(|bit| bit.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(bit, 0..12).prop_map(|bits| bits.concat())
}

fn signed(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    let digits: String = mac
        .finalize()
        .into_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256={digits}")
}

fn claimed(values: &[&[u8]]) -> Option<Claimed> {
    let mut headers = HeaderMap::new();
    for value in values {
        // What no header can hold never gets here.
        headers.append("x-hub-signature-256", HeaderValue::from_bytes(value).ok()?);
    }
    Claimed::from_headers(&headers)
}

proptest! {
    #[test]
    fn a_form_is_decoded_as_the_rules_say(form in form_bytes(), limit in 0..24_usize) {
        let read = form::payload(BytesMut::from(&form[..]), limit).map(|bytes| bytes.to_vec());
        prop_assert_eq!(read, expected(&form, limit));
    }

    #[test]
    fn whatever_is_encoded_comes_back(
        payload in prop::collection::vec((any::<u8>(), any::<bool>()), 0..40),
        before in "[a-z=%+]{0,8}",
    ) {
        let plain: Vec<u8> = payload.iter().map(|(byte, _)| *byte).collect();
        let encoded: String = payload
            .iter()
            .map(|(byte, lower)| match byte {
                b' ' => "+".to_owned(),
                b'a'..=b'z' if *lower => char::from(*byte).to_string(),
                _ if *lower => format!("%{byte:02x}"),
                _ => format!("%{byte:02X}"),
            })
            .collect();
        prop_assume!(!before.starts_with("payload="));
        let form = format!("{before}&payload={encoded}&after");
        let read = form::payload(BytesMut::from(form.as_bytes()), plain.len());
        prop_assert_eq!(read.map(|bytes| bytes.to_vec()), Ok(plain));
    }

    #[test]
    fn a_body_is_json_or_refused(body in form_bytes(), form in any::<bool>()) {
        let json = if form { expected(&body, 64).ok() } else { Some(body.clone()) };
        let wanted = json.filter(|json| {
            // Keeps all of it, unlike the reading under test; numbers without a range.
            std::str::from_utf8(json).is_ok_and(|text| serde_json::from_str::<serde_json::Value>(text).is_ok())
        });
        // Both owners of the bytes: alone, and together with another.
        let bytes = Bytes::from(body);
        let shared = bytes.clone();
        prop_assert_eq!(&parse(shared, form, 64).ok().map(|json| json.to_vec()), &wanted);
        prop_assert_eq!(parse(bytes, form, 64).ok().map(|json| json.to_vec()), wanted);
    }

    #[test]
    fn a_signature_is_sha256_and_64_digits_once(
        value in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..80),
            "(sha256=|SHA256=|sha1=|)[0-9a-fA-Fg]{62,66}[ ,]?".prop_map(String::into_bytes),
        ],
        twice in any::<bool>(),
    ) {
        let text = String::from_utf8_lossy(&value);
        let well_formed = text
            .strip_prefix("sha256=")
            .is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
        prop_assert_eq!(claimed(&[&value]).is_some(), well_formed, "{}", text);
        if twice {
            prop_assert!(claimed(&[&value, &value]).is_none());
        }
    }

    #[test]
    fn only_the_true_signature_of_the_true_body_holds(
        body in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec(any::<Index>(), 0..3),
        edit in any::<Option<(Index, u8)>>(),
        in_body in any::<bool>(),
    ) {
        let key = WebhookKey::new(&SecretString::from("a secret of this test")).unwrap();
        let mut value = signed("a secret of this test", &body).into_bytes();
        let mut sent = body;
        if let Some((at, byte)) = edit {
            let place = if in_body { &mut sent } else { &mut value };
            if !place.is_empty() {
                let at = at.index(place.len());
                place[at] = byte;
            }
        }
        let holds = claimed(&[&value]).is_some_and(|claimed| {
            let mut check = key.check(claimed);
            // In pieces, as a connection gives them.
            let mut rest = &sent[..];
            for cut in &cuts {
                let (piece, after) = rest.split_at(cut.index(rest.len() + 1));
                check.update(piece);
                rest = after;
            }
            check.update(rest);
            check.holds()
        });
        let truth = signed("a secret of this test", &sent);
        let told = String::from_utf8_lossy(&value).replace("sha256=", "").to_ascii_lowercase();
        prop_assert_eq!(holds, value.starts_with(b"sha256=") && truth["sha256=".len()..] == told);
    }
}
