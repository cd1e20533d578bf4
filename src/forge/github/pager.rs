//! Lists that come in pages.
//!
//! Invariants: `rel="next"` is followed until it is absent (page numbers are never
//! built, GitHub's best practices), as a path below the API so that it carries our
//! credential; a link to another origin, a link to a page that was read already and
//! more than [`PAGES_MAX`] pages are errors, never a shorter list: a list that is
//! silently cut would make us post twice.

use std::collections::HashSet;

use http::{HeaderMap, header};
use serde::{Deserialize, de::DeserializeOwned};

use crate::ports::forge::ForgeError;

use super::{
    client::{Answer, Call},
    origin::Origin,
};

/// The most pages of one list; at 100 entries a page.
const PAGES_MAX: usize = 400;

/// Reads every page of `path`; `send` sends one request; `entries` takes an answer's entries.
pub(super) async fn pages<T, P, F>(
    origin: &Origin,
    path: String,
    mut send: impl FnMut(Call) -> F,
    entries: impl Fn(P) -> Vec<T>,
) -> Result<Vec<T>, ForgeError>
where
    P: DeserializeOwned,
    F: Future<Output = Result<Answer, ForgeError>>,
{
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(path);
    while let Some(path) = next {
        if seen.len() >= PAGES_MAX {
            return Err(ForgeError::Internal(format!(
                "a list of more than {PAGES_MAX} pages"
            )));
        }
        if !seen.insert(path.clone()) {
            return Err(ForgeError::Internal(
                "a list whose next page was read before".to_owned(),
            ));
        }
        let answer = send(Call::get(path)).await?;
        all.extend(entries(answer.json()?));
        next = match next_link(&answer.headers) {
            Some(link) => Some(origin.relative(&answer.path, &link).ok_or_else(|| {
                ForgeError::Internal("a next page away from the API was not read".to_owned())
            })?),
            None => None,
        };
    }
    Ok(all)
}

/// The target of `rel="next"` among the `Link` headers (RFC 8288).
fn next_link(headers: &HeaderMap) -> Option<String> {
    headers
        .get_all(header::LINK)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .find_map(next_of)
}

fn next_of(value: &str) -> Option<String> {
    let mut rest = value;
    while let Some(start) = rest.find('<') {
        let (target, after) = rest.get(start + 1..)?.split_once('>')?;
        let (parameters, end) = parameters(after);
        if parameters.into_iter().any(is_rel_next) {
            return Some(target.to_owned());
        }
        rest = &after[end..];
    }
    None
}

/// A link's parameters and where they end: at the first comma outside quotes.
fn parameters(text: &str) -> (Vec<&str>, usize) {
    let mut all = Vec::new();
    let (mut begin, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ';' if !quoted => {
                all.push(&text[begin..at]);
                begin = at + 1;
            }
            ',' if !quoted => {
                all.push(&text[begin..at]);
                return (all, at);
            }
            _ => {}
        }
    }
    all.push(&text[begin..]);
    (all, text.len())
}

fn is_rel_next(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    name.trim().eq_ignore_ascii_case("rel")
        && value
            .trim()
            .trim_matches('"')
            .split_ascii_whitespace()
            .any(|rel| rel.eq_ignore_ascii_case("next"))
}

/// An object that holds a list.
#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
pub(super) struct Listed<T> {
    #[serde(alias = "installations", alias = "repositories", alias = "check_runs")]
    entries: Vec<T>,
}

impl<T> Listed<T> {
    pub(super) fn entries(self) -> Vec<T> {
        self.entries
    }
}

#[cfg(test)]
#[path = "pager_tests.rs"]
mod tests;
