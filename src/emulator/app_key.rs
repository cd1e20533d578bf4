//! The key pair of an App. GitHub makes it when an App is registered and hands
//! the private half out once; so does the emulator.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der},
    rsa::{KeyPair, KeySize},
    signature::KeyPair as _,
};
use base64::Engine;

/// A fresh RSA key pair of 2048 bits, in PEM.
#[derive(Clone)]
pub struct AppKey {
    /// For the App: PKCS#8.
    pub private_pem: String,
    /// For the forge: SubjectPublicKeyInfo.
    pub public_pem: String,
}

impl AppKey {
    /// Makes one.
    ///
    /// # Panics
    /// When the system has no randomness.
    #[must_use]
    pub fn generate() -> Self {
        let pair = KeyPair::generate(KeySize::Rsa2048).expect("the system has randomness");
        let private: Pkcs8V1Der<'_> = pair.as_der().expect("a key of ours encodes");
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().expect("a key of ours encodes");
        Self {
            private_pem: pem("PRIVATE KEY", private.as_ref()),
            public_pem: pem("PUBLIC KEY", public.as_ref()),
        }
    }
}

impl std::fmt::Debug for AppKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AppKey")
    }
}

fn pem(kind: &str, der: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let mut lines = vec![format!("-----BEGIN {kind}-----")];
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        lines.push(line.to_owned());
        rest = more;
    }
    lines.push(format!("-----END {kind}-----\n"));
    lines.join("\n")
}
