//! Fingerprints: the same remark on another head.
//!
//! Made of the path, the side, the rule (or the axis, where no rule spoke), the
//! normalised quoted code, and which of several equal places in the file it is
//! (0-based, in line order). Never of a line number or a commit id, so that
//! moved code keeps its fingerprint. Fields are length-prefixed and the purpose
//! is the first of them, so no two lists of fields are the same bytes. Where the
//! quote holds a secret the hash is keyed: a plain one could be searched for
//! short or guessable secrets.
//!
//! **Normalisation**: per line, every run of white space (CR included) is one
//! blank and the ends are trimmed, so re-indenting and changed line ends keep
//! the fingerprint; blank lines stay.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::{
    finding::{Axis, Finding, Provenance, Side},
    grounding::{Placed, blob_lines},
};

/// Makes fingerprints. Holds the server's key.
#[derive(Clone)]
pub struct Fingerprinter {
    key: Vec<u8>,
}

impl std::fmt::Debug for Fingerprinter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fingerprinter").finish_non_exhaustive()
    }
}

/// What goes into a fingerprint.
struct Parts<'a> {
    path: &'a str,
    side: Option<Side>,
    source: String,
    code: &'a str,
}

impl Fingerprinter {
    /// `key` is secret, random, at least 32 bytes, and the same on every replica
    /// and after every restart: another key recognises no old secret again.
    pub fn new(key: impl Into<Vec<u8>>) -> Self {
        Self { key: key.into() }
    }

    /// The fingerprint of a placed draft: `f1-` (`s1-` when keyed), 64 lowercase
    /// hexadecimal digits, and `-<n>` for which of the equal places it is.
    pub fn fingerprint(&self, placed: &Placed) -> String {
        let draft = &placed.draft;
        let title;
        let code = match &placed.verbatim {
            Some(code) => code,
            // A remark on the whole repository quotes nothing; its title stands in.
            None => {
                title = draft.title.to_lowercase();
                &title
            }
        };
        let hash = self.hash(
            draft.secret,
            &Parts {
                path: draft.anchor.as_ref().map_or("", |a| &a.path),
                side: draft.anchor.as_ref().map(|a| a.side),
                source: source(&draft.provenance, draft.axis),
                code,
            },
        );
        format!("{hash}-{}", placed.occurrence)
    }

    /// Whether the finding's quote held a secret: its fingerprint is keyed and its
    /// quote masked.
    pub fn is_keyed(&self, finding: &Finding) -> bool {
        finding.fingerprint.starts_with(KEYED)
    }

    /// Whether the code that `finding` quotes still occurs in `blob`, anywhere.
    /// Works for masked quotes too. `false` for a finding without an anchor.
    pub fn quote_occurs(&self, finding: &Finding, blob: &[u8]) -> bool {
        self.quotes_occur(&[finding], blob)[0]
    }

    /// [`Self::quote_occurs`] for many findings. The blob is read once, and hashed once
    /// for every rule that found a secret there, however many findings there are.
    pub fn quotes_occur(&self, findings: &[&Finding], blob: &[u8]) -> Vec<bool> {
        /// What recognises a place: the quote, or its keyed hash for a path, side and rule.
        #[derive(PartialEq, Eq, Hash)]
        enum By {
            Quote,
            Hash(String, Side, String),
        }
        let mut occurs = vec![false; findings.len()];
        // By how it is recognised and by length: what is wanted, and whose it is.
        let mut wanted: HashMap<(By, usize), HashMap<String, Vec<usize>>> = HashMap::new();
        for (index, finding) in findings.iter().enumerate() {
            let (Some(anchor), Some(quote)) = (&finding.anchor, &finding.quote) else {
                continue;
            };
            let count = quote.split('\n').count();
            let (by, what) = if self.is_keyed(finding) {
                // The value is not kept, so the place is recognised by its keyed hash.
                let Some((hash, _)) = finding.fingerprint.rsplit_once('-') else {
                    continue;
                };
                let source = source(&finding.provenance, finding.axis);
                (
                    By::Hash(anchor.path.clone(), anchor.side, source),
                    hash.to_owned(),
                )
            } else {
                (By::Quote, normalise(quote))
            };
            let whose = wanted.entry((by, count)).or_default();
            whose.entry(what).or_default().push(index);
        }
        if wanted.is_empty() {
            return occurs;
        }
        let lines: Vec<String> = blob_lines(blob)
            .into_iter()
            .map(|line| normalise_line(&String::from_utf8_lossy(line)))
            .collect();
        for ((by, count), mut whose) in wanted {
            let mut seen = HashSet::new();
            for window in lines.windows(count) {
                if whose.is_empty() {
                    break;
                }
                if !seen.insert(window) {
                    continue;
                }
                let code = window.join("\n");
                let what = match &by {
                    By::Quote => code,
                    By::Hash(path, side, source) => self.hash(
                        true,
                        &Parts {
                            path,
                            side: Some(*side),
                            source: source.clone(),
                            code: &code,
                        },
                    ),
                };
                for index in whose.remove(&what).unwrap_or_default() {
                    occurs[index] = true;
                }
            }
        }
        occurs
    }

    fn hash(&self, secret: bool, parts: &Parts<'_>) -> String {
        let code = normalise(parts.code);
        let side = parts.side.map_or("", Side::as_str);
        let fields: [&[u8]; 5] = [
            if secret {
                b"jury/fingerprint/secret/1"
            } else {
                b"jury/fingerprint/1"
            },
            parts.path.as_bytes(),
            side.as_bytes(),
            parts.source.as_bytes(),
            code.as_bytes(),
        ];
        let mut bytes = Vec::new();
        for field in fields {
            bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
            bytes.extend_from_slice(field);
        }
        if secret {
            let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes a key of any length");
            mac.update(&bytes);
            hex(KEYED, &mac.finalize().into_bytes())
        } else {
            hex(PLAIN, &Sha256::digest(&bytes))
        }
    }
}

const KEYED: &str = "s1-";
const PLAIN: &str = "f1-";

fn hex(prefix: &str, bytes: &[u8]) -> String {
    let mut out = String::with_capacity(prefix.len() + bytes.len() * 2);
    out.push_str(prefix);
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// The rule where one spoke, else the axis: a model's words vary, its question does not.
fn source(provenance: &Provenance, axis: Axis) -> String {
    match provenance {
        Provenance::Rule(_) | Provenance::Tool(_) => provenance.to_string(),
        Provenance::Model | Provenance::Human => format!("axis:{axis}"),
    }
}

/// A line without what re-indenting changes.
pub(super) fn normalise_line(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Code without what re-indenting or other line ends change.
pub fn normalise(code: &str) -> String {
    code.split('\n')
        .map(normalise_line)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
#[path = "fingerprint_tests.rs"]
mod tests;
