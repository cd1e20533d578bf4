use proptest::prelude::*;

use super::ContainerHazards;
use crate::{
    analyzers::doubles::{TextChange, found, holds, report},
    domain::review::reviewer::ContributionState,
};

const NONE: [&str; 0] = [];
const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn shown(path: &str, change: &TextChange) -> Vec<String> {
    found(&ContainerHazards, change)
        .into_iter()
        .map(|f| {
            f.replace("container_hazards/", "")
                .replace(&format!(" {path}"), "")
        })
        .collect()
}

fn rules(path: &str, text: impl AsRef<[u8]>) -> Vec<String> {
    shown(path, &TextChange::new().adding(path, text))
}

/// What these lines have after a good beginning and before a good end; they begin on line 2.
#[track_caller]
fn docker(lines: &str, expected: &[&str]) {
    let text = format!("FROM alpine:3.20\n{lines}\nUSER app\n");
    assert_eq!(rules("Dockerfile", text), expected, "{lines}");
}

#[test]
fn images_without_a_version_are_told() {
    docker("", &NONE);
    let image = |from: &str| rules("Dockerfile", format!("{from}\nUSER app\n"));
    for from in [
        "FROM alpine",
        "FROM alpine:latest",
        "from --platform=linux/arm64 alpine AS a",
        "FROM localhost:5000/a/b",
        "FROM ${BASE:-alpine}",
    ] {
        assert_eq!(image(from), ["p2 unpinned-image:1"], "{from}");
    }
    assert_eq!(image("ARG V=latest\nFROM alpine:$V"), ["p2 unpinned-image:2"]);
    assert_eq!(
        image("FROM alpine \\\n  # why\n\n  AS a"),
        ["p2 unpinned-image:1"]
    );
    for from in [
        "FROM scratch",
        "FROM alpine:3.20",
        &format!("FROM alpine@{DIGEST}"),
        "FROM localhost:5000/a/b:1",
        "FROM $BASE",
        "ARG V=3.20\nFROM alpine:${V}",
        "FROM alpine:3 AS a\nFROM a",
        "FROM alpine:3 AS Build\nFROM build AS b\nFROM B",
    ] {
        assert_eq!(image(from), NONE, "{from}");
    }
}

#[test]
fn the_last_stage_decides_who_the_image_runs_as() {
    let image = |text: &str| rules("a/Dockerfile.prod", text);
    assert_eq!(image("FROM a:1\nRUN x\n"), ["p3 root-user:1"]);
    assert_eq!(image("FROM a:1\nUSER app\nUSER root\n"), ["p2 root-user:3"]);
    assert_eq!(image("FROM a:1\nUSER 0:0\n"), ["p2 root-user:2"]);
    assert_eq!(
        image("FROM a:1 AS b\nUSER app\nFROM c:1\nRUN x\n"),
        ["p3 root-user:3"]
    );
    for text in [
        "FROM a:1\nUSER root\nRUN x\nUSER app\n",
        "FROM a:1 AS b\nUSER root\nFROM c:1\nUSER app\n",
        "FROM a:1 AS b\nUSER app\nFROM b\nRUN x\n",
        "FROM gcr.io/distroless/static:nonroot\n",
        "FROM $BASE\n",
    ] {
        assert_eq!(image(text), NONE, "{text}");
    }
}

#[test]
fn what_comes_from_the_network_is_checked_before_it_is_used() {
    docker("ADD https://example.org/a.tgz /a", &["p2 remote-add:2"]);
    docker("ADD --checksum=sha256:aa https://example.org/a.tgz /a", &NONE);
    docker("ADD a.tgz /a\nCOPY https:x /b", &NONE);
    docker(
        "RUN curl -fsSL https://example.org/i.sh | sh",
        &["p2 pipe-to-shell:2"],
    );
    docker(
        "RUN apk add x && \\\n    # why\n    wget -O- https://e.org | sudo -E bash -",
        &["p2 pipe-to-shell:4"],
    );
    docker("RUN bash <(curl -s https://e.org)", &["p2 pipe-to-shell:2"]);
    docker("RUN sh -c \"$(curl -s https://e.org)\"", &["p2 pipe-to-shell:2"]);
    docker("RUN <<EOF\ncurl https://e.org | sh\nEOF", &["p2 pipe-to-shell:3"]);
    docker(
        "RUN curl https://e.org | tar xz; curl https://e.org | gpg --dearmor -o k",
        &NONE,
    );
    docker(
        "RUN curl -o i.sh https://e.org && sha256sum -c i.sum && sh i.sh",
        &NONE,
    );
    docker("# RUN curl https://e.org | sh", &NONE);
    docker(
        "COPY <<EOF /x\nRUN curl https://e.org | sh\nUSER root\nEOF",
        &NONE,
    );
}

#[test]
fn secrets_in_an_image_are_told_and_never_repeated() {
    let value = ["h7Gk2", "Qz9Lp"].concat();
    docker(&format!("ENV API_TOKEN={value}"), &["p1 secret-in-environment:2"]);
    docker(
        &format!("ENV A=1 \\\n  DB_PASSWORD=\"{value}\""),
        &["p1 secret-in-environment:3"],
    );
    docker(
        &format!("ENV DB_PASSWORD {value}"),
        &["p1 secret-in-environment:2"],
    );
    docker("ARG NPM_TOKEN", &["p2 secret-in-environment:2"]);
    docker("ENV NPM_TOKEN=$NPM", &["p2 secret-in-environment:2"]);
    docker("ENV DB_PASSWORD=changeme", &["p3 secret-in-environment:2"]);
    docker(
        "ENV DB_PASSWORD=\nENV TOKEN_URL=https://x DB_PASSWORD_FILE=/run/x ALLOW_EMPTY_PASSWORD=yes\nARG TOKENIZER=bpe12345",
        &NONE,
    );
    docker("RUN --mount=type=secret,id=npm npm ci", &NONE);
    let change = TextChange::new().adding("Dockerfile", format!("FROM a:1\nENV API_TOKEN={value}\nUSER a\n"));
    let draft = report(&ContainerHazards, &change).drafts.remove(0);
    assert!(draft.secret && !format!("{}{}", draft.title, draft.body).contains(&value));
}

#[test]
fn files_that_everybody_may_write_are_told() {
    for line in [
        "RUN chmod 777 /a",
        "RUN chmod -R 0777 /a",
        "RUN x && chmod a+rwx /a",
        "COPY --chmod=777 a /a",
    ] {
        docker(line, &["p2 world-writable:2"]);
    }
    docker(
        "RUN chmod 755 /a && chmod +x /b && chmod 1777 /tmp\nCOPY --chmod=755 a /a",
        &NONE,
    );
}

#[test]
fn dockerfiles_are_read_as_docker_reads_them() {
    let windows =
        "\u{FEFF}# escape=`\r\nFROM a:1\r\nRUN x ` \r\n  && curl https://e.org | sh\r\nUSER app\r\n";
    assert_eq!(rules("Dockerfile", windows), ["p2 pipe-to-shell:4"]);
    for path in [
        "build/Containerfile",
        "app.dockerfile",
        "Dockerfile.dev",
        "dockerfile",
    ] {
        assert_eq!(rules(path, "FROM a\nUSER b\n"), ["p2 unpinned-image:1"], "{path}");
    }
    for path in [
        "Dockerfile.md",
        "dockerfile.rs",
        "docs/Dockerfiles",
        "vendor/Dockerfile",
    ] {
        assert_eq!(rules(path, "FROM a\n"), NONE, "{path}");
    }
}

/// A service of these lines; they begin on line 3.
#[track_caller]
fn compose(lines: &[&str], expected: &[&str]) {
    let text = format!("services:\n  a:\n    {}\n", lines.join("\n    "));
    assert_eq!(rules("docker-compose.prod.yml", &text), expected, "{text}");
}

#[test]
fn compose_services_keep_to_themselves() {
    let value = ["h7Gk2", "Qz9Lp"].concat();
    compose(&["privileged: true"], &["p1 privileged:3"]);
    compose(&["network_mode: host", "pid: \"host\""], &["p2 host-namespace:3"]);
    compose(&["cap_add: [SYS_ADMIN]"], &["p1 capability:3"]);
    compose(&["cap_add:", "  - CAP_NET_ADMIN"], &["p2 capability:4"]);
    compose(
        &["volumes:", "  - /var/run/docker.sock:/var/run/docker.sock:ro"],
        &["p2 runtime-socket:4"],
    );
    compose(
        &["volumes:", "  - type: bind", "    source: /etc", "    target: /x"],
        &["p2 host-path:5"],
    );
    compose(&["volumes: [\"/:/host\"]"], &["p2 host-path:3"]);
    compose(&["security_opt: [\"seccomp:unconfined\"]"], &["p2 unconfined:3"]);
    compose(&["user: root"], &["p3 root-user:3"]);
    compose(&["image: a"], &["p3 unpinned-image:3"]);
    compose(
        &["environment:", &format!("  API_TOKEN: {value}")],
        &["p1 secret-in-environment:4"],
    );
    compose(
        &["environment:", &format!("  - API_TOKEN={value}")],
        &["p1 secret-in-environment:4"],
    );
    compose(
        &["environment:", "  POSTGRES_PASSWORD: postgres"],
        &["p3 secret-in-environment:4"],
    );
    compose(
        &[
            "privileged: false",
            "network_mode: bridge",
            "cap_add: [NET_BIND_SERVICE]",
            "cap_drop: [ALL]",
            "volumes: [\"./a:/a\", \"data:/etc\", \"/srv/a:/a\", \"/etc/localtime:/etc/localtime:ro\"]",
            "security_opt: [\"no-new-privileges:true\"]",
            "user: \"1000\"",
            "build: .",
            "image: a",
            "environment: {API_TOKEN: \"${API_TOKEN}\", DB_PASSWORD_FILE: /run/x, B_TOKEN: }",
        ],
        &NONE,
    );
    // What is shared stands once.
    let shared = "x-a: &a\n  privileged: true\nservices:\n  b: *a\n  c: *a\n  d:\n    <<: *a\n";
    assert_eq!(rules("compose.yaml", shared), ["p1 privileged:2"]);
}

/// A deployment whose pod has these lines; they begin on line 6.
fn pod(lines: &[&str]) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      {}\n",
        lines.join("\n      ")
    )
}

#[test]
fn pods_keep_to_themselves_wherever_they_stand() {
    let value = ["h7Gk2", "Qz9Lp"].concat();
    let container = "containers: [{name: a, image: \"a:1\"}]";
    let secret = format!("  - {{name: a, env: [{{name: API_TOKEN, value: {value}}}]}}");
    for (lines, expected) in [
        (vec![container, "hostNetwork: true"], "p2 host-namespace:7"),
        (
            vec![
                container,
                "volumes:",
                "  - hostPath:",
                "      path: /run/containerd/containerd.sock",
            ],
            "p1 runtime-socket:9",
        ),
        (
            vec![container, "volumes: [{hostPath: {path: /etc/}}]"],
            "p2 host-path:7",
        ),
        (
            vec![container, "securityContext:", "  runAsUser: 0"],
            "p2 root-user:8",
        ),
        (
            vec![container, "securityContext: {runAsNonRoot: false}"],
            "p3 root-user:7",
        ),
        (
            vec![
                "containers:",
                "  - name: a",
                "    securityContext:",
                "      privileged: true",
            ],
            "p1 privileged:9",
        ),
        (
            vec![
                "containers:",
                "  - securityContext:",
                "      allowPrivilegeEscalation: true",
            ],
            "p2 privilege-escalation:8",
        ),
        (
            vec![
                "initContainers:",
                "  - securityContext:",
                "      capabilities:",
                "        add: [\"ALL\"]",
            ],
            "p1 capability:9",
        ),
        (
            vec![
                "containers:",
                "  - securityContext: {seccompProfile: {type: Unconfined}}",
            ],
            "p2 unconfined:7",
        ),
        (vec!["containers:", "  - image: a:latest"], "p3 unpinned-image:7"),
        (vec!["containers:", &secret], "p1 secret-in-environment:7"),
    ] {
        let text = pod(&lines);
        assert_eq!(rules("k8s/a.yaml", &text), [expected], "{text}");
        // The second document of a file, and a kind of somebody's own.
        let other = format!(
            "apiVersion: v1\nkind: List\n---\n{}",
            text.replace("Deployment", "Rollout")
        );
        assert_eq!(rules("k8s/a.yaml", &other).len(), 1, "{other}");
        // No manifest, or one that only speaks of pods.
        assert_eq!(rules("values.yaml", text.replace("apiVersion", "version")), NONE);
        assert_eq!(
            rules("crd.yaml", text.replace("Deployment", "CustomResourceDefinition")),
            NONE
        );
    }
    let good = pod(&[
        "hostNetwork: false",
        "volumes: [{emptyDir: {}}, {hostPath: {path: /var/lib/my-app}}]",
        "containers:",
        "  - image: a:1",
        "    securityContext: {privileged: false, allowPrivilegeEscalation: false, runAsUser: 1000, capabilities: {drop: [ALL], add: \
         [NET_BIND_SERVICE]}}",
        "    env: [{name: API_TOKEN, valueFrom: {secretKeyRef: {name: a, key: b}}}, {name: B_TOKEN, value: $(X)}]",
    ]);
    assert_eq!(rules("k8s/a.yaml", good), NONE);
}

#[test]
fn only_what_is_new_is_told() {
    let old = "FROM a\nRUN curl https://e.org | sh\n";
    let change = TextChange::new().changing("Dockerfile", old, format!("{old}RUN x\n"));
    assert_eq!(shown("Dockerfile", &change), NONE);
    let change = TextChange::new().changing("Dockerfile", old, format!("# why\n{old}"));
    assert_eq!(shown("Dockerfile", &change), NONE);
    // The user that was taken away.
    let change = TextChange::new().changing("Dockerfile", "FROM a:1\nUSER b\n", "FROM a:1\n");
    assert_eq!(shown("Dockerfile", &change), ["p3 root-user:1"]);
    let text = pod(&["containers: [{image: a}]"]);
    let change = TextChange::new().changing("a.yml", &text, format!("{text}      hostPID: true\n"));
    assert_eq!(shown("a.yml", &change), ["p2 host-namespace:7"]);
    assert_eq!(
        shown("Dockerfile", &TextChange::new().removing("Dockerfile", old)),
        NONE
    );
}

#[test]
fn what_cannot_be_read_is_said_but_a_template_is_none_of_ours() {
    let state =
        |path: &str, text: &str| report(&ContainerHazards, &TextChange::new().adding(path, text)).state;
    assert_eq!(state("compose.yml", "services: [\n"), ContributionState::Partial);
    assert_eq!(
        state("a.yml", "apiVersion: v1\nkind: Pod\na: [\n"),
        ContributionState::Partial
    );
    assert_eq!(state("a.yml", "a: [\n"), ContributionState::Complete);
    assert_eq!(
        state(
            "templates/a.yaml",
            "apiVersion: v1\nkind: Pod\n{{- if .Values.x }}\na: b\n{{- end }}\n"
        ),
        ContributionState::Complete
    );
}

#[test]
fn the_blob_decides() {
    let change = TextChange::new().adding("Dockerfile", "FROM a\nUSER b\n");
    let draft = report(&ContainerHazards, &change).drafts.remove(0);
    let clean = TextChange::new().adding("Dockerfile", "FROM a:1\nUSER b\n");
    assert_eq!(holds(&ContainerHazards, &clean, &draft), Some(false));
}

#[test]
fn enormous_and_endless_files_are_bounded() {
    for text in [
        "RUN x \\\n".repeat(1 << 14),
        "FROM a\n".repeat(1 << 14),
        "RUN <<A\n".repeat(1 << 13),
        "curl ".repeat(1 << 16),
        format!("RUN {}", "curl <<A ".repeat(1 << 14)),
        format!("FROM {}", "${A".repeat(1 << 14)),
        format!("FROM {}", "$A".repeat(1 << 14)),
    ] {
        rules("Dockerfile", text);
    }
    let mut text = "apiVersion: v1\nkind: Pod\nx: &x {add: [".to_owned()
        + &"ALL, ".repeat(5_000)
        + "]}\nspec:\n  containers:\n";
    text.push_str(&"  - {securityContext: {capabilities: *x}}\n".repeat(5_000));
    assert_eq!(rules("a.yaml", text).len(), 21);
}

proptest! {
    #[test]
    fn any_bytes_are_judged(
        path in prop::sample::select(vec!["Dockerfile", "compose.yml", "a.yaml"]),
        parts in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..6),
            prop::sample::select(vec![
                "FROM a\n", "FROM $A", "ARG A=b\n", "ENV A_TOKEN=", "RUN curl | sh", "USER root\n", "\\\n", "<<EOF\n",
                "EOF\n", "# escape=`\n", "`\n", "\n", "\r\n", "'", "\"", "${", "}", "apiVersion: v1\nkind: Pod\n",
                "containers:\n- image: a\n", "  securityContext: {privileged: true}\n", "services:\n  a: ", "{", "&a ",
                "*a", "\t", "\0", "\u{FEFF}", "ADD https://a b\n", "chmod 777 a\n",
            ]).prop_map(|s| s.as_bytes().to_vec()),
        ], 0..30),
    ) {
        // `rules` asks the verifier's question of everything that was found.
        rules(path, [parts.concat(), b"\n".to_vec()].concat());
    }
}
