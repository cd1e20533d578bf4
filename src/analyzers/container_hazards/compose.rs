//! Compose files.

use std::collections::BTreeSet;

use crate::{
    analyzers::{hazard::Hazard, yaml::Node},
    domain::review::finding::Priority,
};

use super::words::{
    ESCALATION, HOST_NAMESPACE, PRIVILEGED, ROOT_USER, UNCONFINED, capability_added, hazard, host_folder,
    name, secret_literal, unpinned_image,
};

/// Judges one document.
pub(super) fn judge(top: Node<'_>, hazards: &mut Vec<Hazard>) {
    let mut seen = BTreeSet::new();
    // Parts of services stand under keys of one's own (`x-…`), to be merged into several.
    let shared = top.entries().filter(|e| e.key.starts_with("x-")).map(|e| e.value);
    let services = top
        .get("services")
        .into_iter()
        .flat_map(Node::entries)
        .map(|e| e.value);
    for service in services.chain(shared) {
        if seen.insert(service.id()) {
            self::service(service, &mut seen, hazards);
        }
    }
}

fn service(service: Node<'_>, seen: &mut BTreeSet<usize>, hazards: &mut Vec<Hazard>) {
    let built = service.get("build").is_some();
    for entry in service.entries() {
        let (value, line) = (entry.value, entry.line);
        let text = value.text().unwrap_or_default();
        match entry.key {
            "privileged" if value.is_true() => hazards.push(hazard(
                PRIVILEGED,
                (Priority::P1, 0.8),
                line,
                "The container is privileged",
                "It has every right and every device of the host. Give it the one capability or device that it needs.",
            )),
            "network_mode" | "pid" | "ipc" | "userns_mode" if text == "host" => hazards.push(hazard(
                HOST_NAMESPACE,
                (Priority::P2, 0.8),
                line,
                format!("The container shares the host's {}", name(entry.key)),
                "It reaches what listens or runs on the host as if it were no container. Publish the ports that are needed.",
            )),
            "user" if matches!(text.split(':').next(), Some("root" | "0")) => hazards.push(hazard(
                ROOT_USER,
                (Priority::P3, 0.6),
                line,
                "The container runs as root",
                "A flaw in the program is then a flaw with root's rights. Name a user without them.",
            )),
            "image" if !built => hazards.extend(unpinned_image(text, value.line(), (Priority::P3, 0.6))),
            // Once for all services that share it.
            "cap_add" | "volumes" | "environment" | "security_opt" if seen.insert(value.id()) => {
                part(entry.key, value, hazards);
            }
            _ => {}
        }
    }
}

fn part(key: &str, value: Node<'_>, hazards: &mut Vec<Hazard>) {
    if key == "environment" {
        for entry in value.entries() {
            let given = entry.value.text().unwrap_or_default();
            hazards.extend(secret_literal(entry.key, given, entry.line));
        }
    }
    for item in value.items() {
        let text = item.text().unwrap_or_default();
        match key {
            "cap_add" => hazards.extend(capability_added(text, item.line())),
            "volumes" => {
                let source = item.get("source");
                let path = source.and_then(Node::text).unwrap_or_else(|| host_part(text));
                let line = source.map_or(item.line(), Node::line);
                hazards.extend(host_folder(path, line, Priority::P2));
            }
            "environment" => {
                if let Some((variable, given)) = text.split_once('=') {
                    hazards.extend(secret_literal(variable, given, item.line()));
                }
            }
            _ => hazards.extend(security_option(text, item.line())),
        }
    }
}

/// The host's side of `/host:/container:ro`.
fn host_part(volume: &str) -> &str {
    volume.split_once(':').map_or("", |(host, _)| host)
}

fn security_option(text: &str, line: u32) -> Option<Hazard> {
    let (option, value) = text.split_once([':', '=']).unwrap_or((text, ""));
    match (option.trim(), value.trim()) {
        ("seccomp" | "apparmor" | "label", "unconfined" | "disable") => Some(hazard(
            UNCONFINED,
            (Priority::P2, 0.8),
            line,
            format!("The kernel's guard is off: {}", name(text)),
            "The container may then make any system call, or touch any object. Keep the default, or write a profile.",
        )),
        ("no-new-privileges", "false") => Some(hazard(
            ESCALATION,
            (Priority::P2, 0.8),
            line,
            "A process may gain rights",
            "A program that is set-uid in the image then makes anybody root. Take the option out.",
        )),
        _ => None,
    }
}
