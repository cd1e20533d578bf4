//! Who sent it: HMAC-SHA256 over the raw bytes, compared in constant time.
//!
//! Only `X-Hub-Signature-256` counts; the SHA-1 header that the forge still sends
//! beside it is never read. Source: "Validating webhook deliveries" in GitHub's docs.

use axum::http::{HeaderMap, HeaderName};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

const SIGNATURE: HeaderName = HeaderName::from_static("x-hub-signature-256");

/// The webhook secret, ready to hash with.
#[derive(Clone)]
pub struct WebhookKey(Hmac<Sha256>);

impl std::fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookKey")
    }
}

/// The secret is empty, so that anybody could sign.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the webhook secret is empty")]
pub struct EmptySecret;

impl WebhookKey {
    /// Takes the secret byte for byte; the caller has trimmed what a file adds.
    pub fn new(secret: &SecretString) -> Result<Self, EmptySecret> {
        let secret = secret.expose_secret();
        if secret.trim().is_empty() {
            return Err(EmptySecret);
        }
        Hmac::new_from_slice(secret.as_bytes())
            .map(Self)
            .map_err(|_| EmptySecret)
    }

    /// A check of one body against what its sender claims.
    pub(super) fn check(&self, claimed: Claimed) -> Check {
        Check {
            mac: self.0.clone(),
            claimed,
        }
    }
}

/// A signature as a header gives it: well-formed, not yet believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claimed([u8; 32]);

impl Claimed {
    /// `None` unless there is exactly one header and it is `sha256=` and 64
    /// hexadecimal digits.
    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(SIGNATURE).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return None;
        };
        let digits = value.as_bytes().strip_prefix(b"sha256=")?;
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (nibble(pair[0])? << 4) | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|n| u8::try_from(n).ok())
}

/// A signature under way: fed while the body arrives, so that no pass over the
/// whole body is needed at its end.
pub(super) struct Check {
    mac: Hmac<Sha256>,
    claimed: Claimed,
}

impl Check {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.mac.update(bytes);
    }

    /// Whether the body that was fed is what the holder of the secret signed.
    pub(super) fn holds(self) -> bool {
        self.mac.verify_slice(&self.claimed.0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(SIGNATURE, value.parse().unwrap());
        }
        headers
    }

    fn holds(secret: &str, body: &[u8], signature: &str) -> bool {
        let key = WebhookKey::new(&SecretString::from(secret)).unwrap();
        Claimed::from_headers(&headers(&[signature])).is_some_and(|claimed| {
            let mut check = key.check(claimed);
            for part in body.chunks(3) {
                check.update(part);
            }
            check.holds()
        })
    }

    #[test]
    fn w01_the_bytes_are_hashed_as_they_came() {
        let body = "{\"body\":\"caf\\u00e9 \u{1f600}\"}".as_bytes();
        let good = "sha256=88422fa4b1290f8d851d86a97cd6dabd8c055d449c028cc9f527d9e02f75f634";
        assert!(holds("s3cret", body, good));
    }

    #[test]
    fn w02_the_known_answer_holds_and_nothing_near_it_does() {
        let (secret, body) = ("It's a Secret to Everybody", b"Hello, World!");
        let hex = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert!(holds(secret, body, &format!("sha256={hex}")));
        assert!(holds(secret, body, &format!("sha256={}", hex.to_uppercase())));
        for wrong in [
            format!("sha256={}", hex.replacen('7', "8", 1)),
            format!("SHA256={hex}"),
            format!("Sha256={hex}"),
            format!("sha1={hex}"),
            format!("sha256:{hex}"),
            format!("sha256= {hex}"),
            format!("sha256={hex}0"),
            format!("sha256={hex}, sha256={hex}"),
            format!("sha256={}", &hex[..63]),
            format!("sha256={}", &hex[..62]),
            format!("sha256=+{}", &hex[1..]),
            format!("sha256={}g", &hex[..63]),
            hex.to_owned(),
            "sha256=".to_owned(),
            String::new(),
        ] {
            assert!(!holds(secret, body, &wrong), "{wrong}");
        }
        assert!(!holds(secret, b"Hello, World", &format!("sha256={hex}")));
        assert!(!holds("another", body, &format!("sha256={hex}")));
    }

    #[test]
    fn w02_two_signatures_are_none() {
        let one = format!("sha256={}", "0".repeat(64));
        assert!(Claimed::from_headers(&headers(&[&one])).is_some());
        assert!(Claimed::from_headers(&headers(&[&one, &one])).is_none());
        assert!(Claimed::from_headers(&headers(&[])).is_none());
    }

    #[test]
    fn w02_an_empty_secret_is_refused() {
        for empty in ["", " ", "\n"] {
            assert_eq!(
                WebhookKey::new(&SecretString::from(empty)).unwrap_err(),
                EmptySecret
            );
        }
    }
}
