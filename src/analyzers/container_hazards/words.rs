//! What the three kinds of container files have in common: the rules' words, image
//! names, names and values of secrets.

use crate::{
    analyzers::hazard::Hazard,
    domain::{
        review::finding::Priority,
        text::{code_span, truncate_chars},
    },
};

pub(super) const ROOT_USER: &str = "container_hazards/root-user";
pub(super) const UNPINNED_IMAGE: &str = "container_hazards/unpinned-image";
pub(super) const REMOTE_ADD: &str = "container_hazards/remote-add";
pub(super) const PIPE_TO_SHELL: &str = "container_hazards/pipe-to-shell";
pub(super) const SECRET: &str = "container_hazards/secret-in-environment";
pub(super) const WORLD_WRITABLE: &str = "container_hazards/world-writable";
pub(super) const PRIVILEGED: &str = "container_hazards/privileged";
pub(super) const ESCALATION: &str = "container_hazards/privilege-escalation";
pub(super) const CAPABILITY: &str = "container_hazards/capability";
pub(super) const HOST_NAMESPACE: &str = "container_hazards/host-namespace";
pub(super) const HOST_PATH: &str = "container_hazards/host-path";
pub(super) const RUNTIME_SOCKET: &str = "container_hazards/runtime-socket";
pub(super) const UNCONFINED: &str = "container_hazards/unconfined";

/// A hazard on `line`.
pub(super) fn hazard(
    rule: &'static str,
    (priority, confidence): (Priority, f64),
    line: u32,
    title: impl Into<String>,
    body: &str,
) -> Hazard {
    Hazard {
        rule,
        priority,
        confidence,
        title: title.into(),
        body: body.to_owned(),
        line,
        causes: Vec::new(),
        secret: false,
    }
}

/// A name for a title.
pub(super) fn name(text: &str) -> String {
    code_span(&truncate_chars(text, 100))
}

/// Why an image's name does not say which image it is: no tag, or `latest`.
pub(super) fn unpinned(image: &str) -> Option<&'static str> {
    let image = image.trim();
    let unknown = image.is_empty()
        || image.eq_ignore_ascii_case("scratch")
        || image.contains(['@', '$', '{', '<', ' ', '%'])
        || image.len() > 300;
    if unknown {
        return None;
    }
    let last = image.rsplit('/').next().unwrap_or(image);
    match last.split_once(':') {
        None => Some("has no tag"),
        Some((_, "latest")) => Some("is `latest`"),
        Some(_) => None,
    }
}

/// An image that may be another one tomorrow.
pub(super) fn unpinned_image(image: &str, line: u32, weight: (Priority, f64)) -> Option<Hazard> {
    let why = unpinned(image)?;
    Some(hazard(
        UNPINNED_IMAGE,
        weight,
        line,
        format!("Image {} {why}", name(image)),
        "What it is changes without a change here, so a build or a rollout cannot be repeated. Name a version, or better a \
         digest.",
    ))
}

/// Whether a variable of that name holds a secret, rather than speaks of one.
pub(super) fn names_a_secret(variable: &str) -> bool {
    const SECRET: &[&str] = &[
        "password",
        "passwd",
        "secret",
        "token",
        "apikey",
        "api_key",
        "access_key",
        "secret_key",
        "private_key",
        "credential",
        "credentials",
        "passphrase",
    ];
    let lower = variable.to_ascii_lowercase();
    SECRET
        .iter()
        .any(|s| lower == *s || lower.ends_with(&format!("_{s}")) || lower.ends_with(&format!("-{s}")))
        || (lower.ends_with("password") && !lower.starts_with("allow"))
}

/// What a value given to a secret's name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// Empty, or taken from elsewhere.
    Reference,
    /// A word that stands in for one, or that everybody uses while developing.
    Common,
    /// It may well be one.
    Literal,
}

pub(super) fn value(text: &str) -> Value {
    const COMMON: &[&str] = &[
        "changeme",
        "change_me",
        "change-me",
        "example",
        "placeholder",
        "replace",
        "your",
        "xxx",
        "todo",
        "dummy",
        "fake",
        "insert",
        "<",
        "mysecret",
        "supersecret",
    ];
    let text = text.trim().trim_matches(['"', '\'']);
    let lower = text.to_ascii_lowercase();
    let plain = matches!(lower.as_str(), "true" | "false" | "yes" | "no" | "null" | "none");
    if text.is_empty() || text.contains(['$', '{']) || plain || text.starts_with('/') || text.contains("://")
    {
        Value::Reference
    } else if COMMON.iter().any(|c| lower.contains(c))
        || text.len() < 8
        || !text.bytes().any(|b| b.is_ascii_digit())
        || !text.bytes().any(|b| b.is_ascii_alphabetic())
    {
        Value::Common
    } else {
        Value::Literal
    }
}

/// A secret that a manifest's environment spells out.
pub(super) fn secret_literal(variable: &str, given: &str, line: u32) -> Option<Hazard> {
    if variable.len() > 200 || !names_a_secret(variable) {
        return None;
    }
    let weight = match value(given) {
        Value::Reference => return None,
        Value::Common => (Priority::P3, 0.5),
        Value::Literal => (Priority::P1, 0.7),
    };
    let found = hazard(
        SECRET,
        weight,
        line,
        format!("A secret is spelt out in the environment: {}", name(variable)),
        "Whoever can read the file, the image or the running process can read it. Take it from a secret of the platform, or \
         from a file that is mounted.",
    );
    Some(Hazard {
        secret: true,
        ..found
    })
}

/// How much a Linux capability gives away; `None` for those that do no harm.
pub(super) fn capability(name: &str) -> Option<Priority> {
    let upper = name.trim().to_ascii_uppercase();
    match upper.strip_prefix("CAP_").unwrap_or(&upper) {
        "ALL" | "SYS_ADMIN" | "SYS_MODULE" | "SYS_RAWIO" | "DAC_READ_SEARCH" | "BPF" => Some(Priority::P1),
        "SYS_PTRACE" | "NET_ADMIN" | "SYS_BOOT" | "SYS_TIME" | "DAC_OVERRIDE" | "MAC_ADMIN" => {
            Some(Priority::P2)
        }
        _ => None,
    }
}

/// A capability that is added.
pub(super) fn capability_added(which: &str, line: u32) -> Option<Hazard> {
    Some(hazard(
        CAPABILITY,
        (capability(which)?, 0.8),
        line,
        format!("The container gets the capability {}", name(which)),
        "It lets a process reach beyond its container. Drop all capabilities, and add only those that the program fails \
         without.",
    ))
}

/// What a folder of the host gives away.
pub(super) fn host_folder(path: &str, line: u32, socket: Priority) -> Option<Hazard> {
    let clean = path.trim().trim_end_matches('/');
    let sockets = ["docker.sock", "containerd.sock", "crio.sock", "podman.sock"];
    if sockets.iter().any(|s| clean.ends_with(s)) {
        return Some(hazard(
            RUNTIME_SOCKET,
            (socket, 0.8),
            line,
            format!("The container controls the host: {} is mounted", name(path)),
            "Whoever reaches that socket, read-only or not, can start a container with every right on the host. Take it out, \
             or put a proxy before it that allows the few calls that are needed.",
        ));
    }
    const GRAVE: &[&str] = &[
        "",
        "/etc",
        "/root",
        "/proc",
        "/sys",
        "/dev",
        "/boot",
        "/home",
        "/usr",
        "/var",
        "/var/run",
        "/run",
        "/var/lib/kubelet",
        "/var/lib/docker",
        "/etc/kubernetes",
    ];
    (path.trim().starts_with('/') && GRAVE.contains(&clean)).then(|| {
        hazard(
            HOST_PATH,
            (Priority::P2, 0.7),
            line,
            format!("A folder of the host is mounted: {}", name(path)),
            "A process in the container can read, and perhaps change, what belongs to the host. Mount only what is needed, \
             read-only, or use a volume.",
        )
    })
}
