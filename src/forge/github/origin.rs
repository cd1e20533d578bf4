//! Which server is the forge: its API, its host for people, its git.
//!
//! Invariant: every path that a credential is sent to comes from here, and lies
//! below the API's base on the API's own origin.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::{Host, Url};

use super::SetupError;

/// What stays as it is within one segment of a path (RFC 3986, unreserved).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A forge's addresses, derived from the base of its API.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    /// The API's base; its path has no slash at the end.
    api: Url,
    prefix: String,
}

impl Origin {
    /// Takes `https://api.github.com`, `https://HOST/api/v3` or, on loopback, `http://…`.
    pub(super) fn new(api_url: &str) -> Result<Self, SetupError> {
        let wrong = |text: &str| SetupError::ApiUrl(text.to_owned());
        let mut api = Url::parse(api_url.trim()).map_err(|e| SetupError::ApiUrl(e.to_string()))?;
        if !api.username().is_empty() || api.password().is_some() {
            return Err(wrong("it must not hold a user or a password"));
        }
        if api.query().is_some() || api.fragment().is_some() {
            return Err(wrong("it must end with its path"));
        }
        let loopback = match api.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => return Err(wrong("it has no host")),
        };
        match api.scheme() {
            "https" => {}
            "http" if loopback => {}
            "http" => return Err(wrong("tokens are sent over https only, except on loopback")),
            _ => return Err(wrong("it must start with https://")),
        }
        let prefix = api.path().trim_end_matches('/').to_owned();
        api.set_path(&prefix);
        Ok(Self { api, prefix })
    }

    pub(super) fn is_tls(&self) -> bool {
        self.api.scheme() == "https"
    }

    /// The API's base without a slash at the end.
    pub(super) fn base(&self) -> &str {
        self.api.as_str().trim_end_matches('/')
    }

    /// The whole path (and query) for one below the API's base. octocrab joins the
    /// base only to a path that does not begin with it, which is wrong for a base
    /// like `/a` and a path like `/app`; a whole path is left alone.
    pub(super) fn absolute_path(&self, below: &str) -> String {
        format!("{}{below}", self.prefix)
    }

    /// The path and query below the API's base that `target` (absolute or relative
    /// to `from`) names; `None` when it is not below it, or on another origin.
    pub(super) fn relative(&self, from: &str, target: &str) -> Option<String> {
        let here = self.api.join(&self.absolute_path(from)).ok()?;
        let there = here.join(target).ok()?;
        if there.origin() != self.api.origin() || !there.username().is_empty() || there.password().is_some() {
            return None;
        }
        let below = there.path().strip_prefix(&self.prefix)?;
        if !below.starts_with('/') {
            return None;
        }
        Some(match there.query() {
            Some(query) => format!("{below}?{query}"),
            None => below.to_owned(),
        })
    }

    /// The origin that people and git use: `https://github.com` for
    /// `https://api.github.com`, the same origin otherwise.
    pub(super) fn web(&self) -> Url {
        let mut web = self.api.clone();
        web.set_path("");
        let bare = self.api.host_str().and_then(|h| h.strip_prefix("api."));
        if let Some(host) = bare.filter(|_| self.prefix.is_empty()) {
            let host = host.to_owned();
            let kept = web.set_host(Some(&host));
            debug_assert!(kept.is_ok(), "a host without its first label is a host");
        }
        web
    }

    /// The host that names workspaces, with the port when it is not the usual one.
    pub(super) fn host(&self) -> String {
        let web = self.web();
        let host = web.host_str().unwrap_or_default();
        match web.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Where git finds a repository.
    pub(super) fn clone_url(&self, owner: &str, name: &str) -> String {
        let mut web = self.web().to_string();
        web.truncate(web.trim_end_matches('/').len());
        format!("{web}/{}/{}.git", encoded(owner), encoded(name))
    }
}

/// `segment` as one segment of a path. A segment that would climb is made one that
/// does not exist.
pub(super) fn encoded(segment: &str) -> String {
    match segment {
        "." | ".." | "" => "%00".to_owned(),
        _ => utf8_percent_encode(segment, SEGMENT).to_string(),
    }
}

/// `/repos/{owner}/{name}` and what follows.
pub(super) fn repo_path(repo: &crate::domain::space::RepoRef, rest: &str) -> String {
    format!("/repos/{}/{}{rest}", encoded(&repo.owner), encoded(&repo.name))
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
