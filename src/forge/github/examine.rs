//! What an operator asks of the App: does the forge know it, whose clock is right, and
//! is it allowed what it needs?

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{domain::time::Timestamp, ports::forge::ForgeError};

use super::{GitHub, pager};

/// Permissions that the App needs, the least access, and what for. `write` includes `read`.
pub const PERMISSIONS: &[(&str, &str, &str)] = &[
    ("checks", "write", "the check run"),
    ("pull_requests", "write", "the review"),
    ("contents", "read", "the files under review"),
    ("metadata", "read", "GitHub requires it"),
];

/// Events that the App needs, and what for. Installation events come by themselves.
pub const EVENTS: &[(&str, &str)] = &[
    (
        "pull_request",
        "nothing is reviewed without it until the next start",
    ),
    ("check_run", "\"Re-run\" on the check does nothing without it"),
    ("check_suite", "\"Re-run all checks\" does nothing without it"),
    (
        "repository",
        "a renamed or transferred repository is not found without it",
    ),
];

/// What the forge said.
#[derive(Debug)]
pub struct Examination {
    /// The forge's time, to the second, when it said one.
    pub date: Option<Timestamp>,
    /// The App, or why the forge does not show it.
    pub app: Result<SeenApp, ForgeError>,
}

/// The App as the forge knows it.
#[derive(Debug)]
pub struct SeenApp {
    /// Its short name.
    pub slug: String,
    /// What it asks for: name to `read`, `write` or `admin`.
    pub permissions: BTreeMap<String, String>,
    /// The events that it is told.
    pub events: Vec<String>,
    /// Where it is installed, or why that cannot be listed.
    pub installations: Result<Vec<SeenInstallation>, ForgeError>,
}

/// One installation.
#[derive(Debug)]
pub struct SeenInstallation {
    /// The account's name.
    pub account: String,
    /// Whether it is suspended.
    pub suspended: bool,
    /// What the account's owner granted, which may be less than the App asks for now.
    pub permissions: BTreeMap<String, String>,
}

impl GitHub {
    /// Asks the forge about the App. Nothing is changed.
    pub async fn examine(&self) -> Examination {
        let (date, answered) = self.session.introduce().await;
        let app = match answered.and_then(|answer| answer.json::<Value>()) {
            Ok(app) => Ok(SeenApp {
                slug: text(&app["slug"]),
                permissions: granted(&app["permissions"]),
                events: app["events"].as_array().into_iter().flatten().map(text).collect(),
                installations: self.seen_installations().await,
            }),
            Err(error) => Err(error),
        };
        Examination { date, app }
    }

    async fn seen_installations(&self) -> Result<Vec<SeenInstallation>, ForgeError> {
        let send = |call| async move { self.session.as_app(&call).await };
        let path = "/app/installations?per_page=100".to_owned();
        let found: Vec<Value> =
            pager::pages(self.session.origin(), path, send, |page: Vec<Value>| page).await?;
        Ok(found
            .iter()
            .map(|one| SeenInstallation {
                account: text(&one["account"]["login"]),
                suspended: !one["suspended_at"].is_null(),
                permissions: granted(&one["permissions"]),
            })
            .collect())
    }
}

/// What `have` lacks of what the App needs, as `checks: write`.
pub fn lacking(have: &BTreeMap<String, String>) -> Vec<String> {
    let enough = |name: &str, least: &str| match have.get(name).map(String::as_str) {
        Some("write" | "admin") => true,
        Some(access) => access == least,
        None => false,
    };
    PERMISSIONS
        .iter()
        .filter(|(name, least, _)| !enough(name, least))
        .map(|(name, least, _)| format!("{name}: {least}"))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("?").to_owned()
}

fn granted(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .map(|(name, access)| (name.clone(), text(access)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_includes_read_and_what_is_missing_is_named() {
        let have = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let all = [
            ("checks", "write"),
            ("pull_requests", "write"),
            ("contents", "write"),
            ("metadata", "read"),
        ];
        assert!(lacking(&have(&all)).is_empty());
        let less = [("checks", "read"), ("contents", "read"), ("metadata", "read")];
        assert_eq!(lacking(&have(&less)), ["checks: write", "pull_requests: write"]);
    }
}
