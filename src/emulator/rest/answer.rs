//! Answers and paging.

use serde_json::Value;

use super::Call;
use crate::emulator::{refusal::Refusal, state::World};

/// What an answer carries.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Json(Value),
    Raw(&'static str, Vec<u8>),
}

/// A "yes".
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content: Content,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// What a route gives back.
pub(crate) type Outcome = Result<Answer, Refusal>;

impl Answer {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        Self {
            status,
            content: Content::Json(body),
            headers: Vec::new(),
        }
    }

    pub(crate) fn ok(body: Value) -> Self {
        Self::json(200, body)
    }

    pub(crate) fn raw(kind: &'static str, bytes: Vec<u8>) -> Self {
        Self {
            status: 200,
            content: Content::Raw(kind, bytes),
            headers: Vec::new(),
        }
    }
}

/// One page of a list.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) link: Option<String>,
    pub(crate) number: usize,
}

impl<T> Page<T> {
    /// The page as an answer; `wrap` puts the items into their object.
    pub(crate) fn answer(self, wrap: impl FnOnce(Vec<T>) -> Value) -> Answer {
        let mut answer = Answer::ok(wrap(self.items));
        answer.headers.extend(self.link.map(|l| ("link", l)));
        answer
    }
}

/// Cuts the asked page out (30 by default, 100 at most) and writes the `Link`
/// header as GitHub does: absolute, and by the repository's id.
pub(crate) fn page<T>(world: &World, call: &Call, repo: Option<u64>, items: Vec<T>) -> Page<T> {
    let number = |name| call.asks(name).and_then(|v| v.parse::<usize>().ok());
    let size = number("per_page").filter(|n| *n > 0).unwrap_or(30).min(100);
    let at = number("page").filter(|n| *n > 0).unwrap_or(1);
    let last = items.len().div_ceil(size).max(1);
    let items = items
        .into_iter()
        .skip((at - 1).saturating_mul(size))
        .take(size)
        .collect();
    let path = match repo {
        Some(id) if call.path.starts_with("/repos/") => {
            let rest: Vec<&str> = call.path.split('/').skip(4).collect();
            format!("/repositories/{id}/{}", rest.join("/"))
        }
        _ => call.path.clone(),
    };
    let url = |to: usize| {
        let mut query: Vec<String> = call
            .query
            .iter()
            .filter(|(n, _)| n != "page")
            .map(|(n, v)| {
                format!(
                    "{n}={}",
                    percent_encoding::utf8_percent_encode(v, percent_encoding::NON_ALPHANUMERIC)
                )
            })
            .collect();
        query.push(format!("page={to}"));
        world.api(&format!("{path}?{}", query.join("&")))
    };
    let mut links = Vec::new();
    if at > 1 {
        links.push(format!("<{}>; rel=\"prev\"", url((at - 1).min(last))));
    }
    if at < last {
        links.push(format!("<{}>; rel=\"next\"", url(at + 1)));
        links.push(format!("<{}>; rel=\"last\"", url(last)));
    }
    if at > 1 {
        links.push(format!("<{}>; rel=\"first\"", url(1)));
    }
    Page {
        items,
        link: (!links.is_empty()).then(|| links.join(", ")),
        number: at,
    }
}

/// The page as a plain array.
pub(crate) fn list(world: &World, call: &Call, repo: Option<u64>, items: Vec<Value>) -> Answer {
    page(world, call, repo, items).answer(Value::Array)
}
