//! Kubernetes manifests: every pod's description, wherever it stands.
//!
//! A pod is known by its `containers`, so that the kinds of operators and of tools which
//! wrap a pod are read like Kubernetes' own.

use std::collections::BTreeSet;

use crate::{
    analyzers::{
        hazard::Hazard,
        yaml::{Entry, Node},
    },
    domain::review::finding::Priority,
};

use super::words::{
    ESCALATION, HOST_NAMESPACE, PRIVILEGED, ROOT_USER, UNCONFINED, capability_added, hazard, host_folder,
    name, secret_literal, unpinned_image,
};

/// Kinds that describe what others may hold.
const SCHEMAS: &[&str] = &[
    "CustomResourceDefinition",
    "PodSecurityPolicy",
    "SecurityContextConstraints",
    "ClusterPolicy",
    "Policy",
    "ConstraintTemplate",
    "ValidatingAdmissionPolicy",
];

/// Judges one document.
pub(super) fn judge(top: Node<'_>, hazards: &mut Vec<Hazard>) {
    let kind = top.get("kind").and_then(Node::text).unwrap_or_default();
    if top.get("apiVersion").is_none() || SCHEMAS.contains(&kind) {
        return;
    }
    let mut seen = BTreeSet::new();
    let mut left = vec![top];
    while let Some(node) = left.pop() {
        if !seen.insert(node.id()) {
            continue;
        }
        let is_pod = ["containers", "initContainers"]
            .iter()
            .any(|key| node.get(key).is_some_and(|list| list.items().any(Node::is_map)));
        if is_pod {
            pod(node, &mut seen, hazards);
        }
        left.extend(node.items());
        left.extend(node.entries().map(|e| e.value));
    }
}

fn pod(pod: Node<'_>, seen: &mut BTreeSet<usize>, hazards: &mut Vec<Hazard>) {
    for entry in pod.entries() {
        match entry.key {
            "hostNetwork" | "hostPID" | "hostIPC" if entry.value.is_true() => hazards.push(hazard(
                HOST_NAMESPACE,
                (Priority::P2, 0.8),
                entry.line,
                format!("The pod shares the host's namespace: {}", name(entry.key)),
                "It sees the node's network, processes or memory as if it were no pod. Use a service or a port of the pod \
                 instead.",
            )),
            "securityContext" => security(entry.value, seen, hazards),
            "volumes" if seen.insert(entry.value.id()) => {
                for volume in entry.value.items() {
                    if let Some(path) = volume.get("hostPath").and_then(|h| h.get("path")) {
                        let text = path.text().unwrap_or_default();
                        hazards.extend(host_folder(text, path.line(), Priority::P1));
                    }
                }
            }
            "containers" | "initContainers" | "ephemeralContainers" => {
                for one in entry.value.items() {
                    if seen.insert(one.id()) {
                        container(one, seen, hazards);
                    }
                }
            }
            _ => {}
        }
    }
}

/// What several places name by aliases is judged once (`seen`).
fn container(container: Node<'_>, seen: &mut BTreeSet<usize>, hazards: &mut Vec<Hazard>) {
    for entry in container.entries() {
        match entry.key {
            "image" => hazards.extend(unpinned_image(
                entry.value.text().unwrap_or_default(),
                entry.value.line(),
                (Priority::P3, 0.6),
            )),
            "securityContext" => security(entry.value, seen, hazards),
            "env" if seen.insert(entry.value.id()) => {
                for variable in entry.value.items() {
                    let (Some(key), Some(value)) = (variable.get("name"), variable.get("value")) else {
                        continue;
                    };
                    let (key, given) = (key.text().unwrap_or_default(), value.text().unwrap_or_default());
                    hazards.extend(secret_literal(key, given, value.line()));
                }
            }
            _ => {}
        }
    }
}

fn security(context: Node<'_>, seen: &mut BTreeSet<usize>, hazards: &mut Vec<Hazard>) {
    if !seen.insert(context.id()) {
        return;
    }
    for entry in context.entries() {
        hazards.extend(setting(entry));
        if entry.key == "capabilities" && seen.insert(entry.value.id()) {
            for added in entry.value.get("add").into_iter().flat_map(Node::items) {
                hazards.extend(capability_added(added.text().unwrap_or_default(), added.line()));
            }
        }
    }
}

fn setting(entry: Entry<'_>) -> Option<Hazard> {
    let text = entry.value.text().unwrap_or_default();
    let found = match entry.key {
        "privileged" if entry.value.is_true() => hazard(
            PRIVILEGED,
            (Priority::P1, 0.8),
            entry.line,
            "The container is privileged",
            "It has every right and every device of the node. Give it the one capability or device that it needs.",
        ),
        "allowPrivilegeEscalation" if entry.value.is_true() => hazard(
            ESCALATION,
            (Priority::P2, 0.8),
            entry.line,
            "A process may gain rights: `allowPrivilegeEscalation`",
            "A program that is set-uid in the image then makes anybody root. Set it to `false`.",
        ),
        "runAsUser" if text == "0" => hazard(
            ROOT_USER,
            (Priority::P2, 0.8),
            entry.line,
            "The container runs as root: `runAsUser: 0`",
            "A flaw in the program is then a flaw with root's rights. Name a user other than 0.",
        ),
        "runAsNonRoot" if text == "false" => hazard(
            ROOT_USER,
            (Priority::P3, 0.6),
            entry.line,
            "The container may run as root: `runAsNonRoot: false`",
            "Set it to `true`, and the node refuses an image that would run as root.",
        ),
        "seccompProfile" | "appArmorProfile"
            if entry.value.get("type").and_then(Node::text) == Some("Unconfined") =>
        {
            hazard(
                UNCONFINED,
                (Priority::P2, 0.8),
                entry.line,
                format!("The kernel's guard is off: {}", name(entry.key)),
                "The container may then make any system call, or touch any object. Use `RuntimeDefault`.",
            )
        }
        _ => return None,
    };
    Some(found)
}
