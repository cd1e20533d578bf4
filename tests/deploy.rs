//! What `deploy/` hands to the forge is what the program needs, no more and no less.

use jury::emulator::AppRegistration;
use serde_json::Value;

fn manifest() -> Value {
    serde_json::from_str(include_str!("../deploy/app-manifest.json")).expect("the manifest is JSON")
}

/// The stories run with these permissions and events, and the emulator refuses what
/// an App was not given.
#[test]
fn the_manifest_asks_for_what_the_stories_run_with() {
    let tried = AppRegistration::reviewer("jury", "acme", "");
    let asked = manifest();
    assert_eq!(asked["default_permissions"], serde_json::json!(tried.permissions));
    let mut events = tried.events;
    events.sort();
    assert_eq!(asked["default_events"], serde_json::json!(events));
}

#[test]
fn the_manifest_sends_webhooks_where_the_server_takes_them() {
    let asked = manifest();
    let url = asked["hook_attributes"]["url"].as_str().unwrap();
    assert!(
        url.starts_with("https://") && url.ends_with("/webhooks/github"),
        "{url}"
    );
    assert_eq!(asked["public"], false);
}

/// The README's table and the manifest are read by the same person.
#[test]
fn the_readme_names_every_permission_and_event_of_the_manifest() {
    let readme = include_str!("../README.md").to_lowercase();
    let asked = manifest();
    let permissions = asked["default_permissions"].as_object().unwrap().keys();
    let events = asked["default_events"].as_array().unwrap();
    for name in permissions
        .map(String::as_str)
        .chain(events.iter().map(|e| e.as_str().unwrap()))
    {
        let words = name.replace('_', " ");
        assert!(readme.contains(&words), "{words}");
    }
}
