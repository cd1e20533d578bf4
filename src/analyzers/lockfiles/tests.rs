use proptest::prelude::*;

use super::{Lockfiles, package::origin};
use crate::{
    analyzers::doubles::{TextChange, found, report},
    domain::review::reviewer::ContributionState,
};

fn rules(change: &TextChange) -> Vec<String> {
    found(&Lockfiles, change)
        .into_iter()
        .map(|f| f.replace("lockfiles/", ""))
        .filter(|f| !f.contains("lock-only"))
        .collect()
}

fn changed(path: &str, before: &str, after: &str) -> Vec<String> {
    rules(&TextChange::new().changing(path, before, after))
        .into_iter()
        .map(|f| f.replace(&format!(" {path}"), ""))
        .collect()
}

/// One package in every format: its name, version, address and hash.
struct Sample {
    path: &'static str,
    write: fn(&str, &str, &str, &str) -> String,
    home: &'static str,
    other: &'static str,
}

const SAMPLES: &[Sample] = &[
    Sample {
        path: "Cargo.lock",
        write: |name, version, url, hash| {
            let hash = if hash.is_empty() {
                String::new()
            } else {
                format!("checksum = \"{hash}\"\n")
            };
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry+{url}\"\n{hash}\n"
            )
        },
        home: "https://github.com/rust-lang/crates.io-index",
        other: "https://github.com/someone/crates.io-index",
    },
    Sample {
        path: "package-lock.json",
        write: |name, version, url, hash| {
            let hash = if hash.is_empty() {
                String::new()
            } else {
                format!(",\n\"integrity\": \"sha512-{hash}\"")
            };
            format!(
                "{{\"lockfileVersion\": 3, \"packages\": {{\n\"\": {{}},\n\"node_modules/{name}\": {{\n\"version\": \"{version}\",\n\"resolved\": \"{url}/{name}.tgz\"{hash}\n}}\n}}}}\n"
            )
        },
        home: "https://registry.npmjs.org",
        other: "https://evil.invalid",
    },
    Sample {
        path: "web/yarn.lock",
        write: |name, version, url, hash| {
            let hash = if hash.is_empty() {
                String::new()
            } else {
                format!("  integrity sha512-{hash}\n")
            };
            format!(
                "\"{name}@^1\":\n  version \"{version}\"\n  resolved \"{url}/{name}.tgz\"\n{hash}  dependencies:\n    version \"9\"\n\n"
            )
        },
        home: "https://registry.yarnpkg.com",
        other: "https://evil.invalid",
    },
    Sample {
        path: "pnpm-lock.yaml",
        write: |name, version, url, hash| {
            let hash = if hash.is_empty() {
                String::new()
            } else {
                format!("integrity: sha512-{hash}, ")
            };
            format!(
                "lockfileVersion: '9.0'\n\npackages:\n\n  '{name}@{version}':\n    resolution: {{{hash}tarball: {url}/{name}.tgz}}\n    engines: {{node: '>=1'}}\n"
            )
        },
        home: "https://registry.npmjs.org",
        other: "https://evil.invalid",
    },
    Sample {
        path: "uv.lock",
        write: |name, version, url, hash| {
            let hash = if hash.is_empty() {
                String::new()
            } else {
                format!(
                    "wheels = [\n    {{ url = \"https://files.pythonhosted.org/{name}.whl\", hash = \"sha256:{hash}\", size = 1 }},\n]\n"
                )
            };
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = {{ registry = \"{url}\" }}\n{hash}\n"
            )
        },
        home: "https://pypi.org/simple",
        other: "https://evil.invalid/simple",
    },
    Sample {
        path: "poetry.lock",
        write: |name, version, url, hash| {
            let hash = if hash.is_empty() {
                String::new()
            } else {
                format!("files = [\n    {{file = \"{name}.whl\", hash = \"sha256:{hash}\"}},\n]\n")
            };
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{hash}\n[package.source]\ntype = \"legacy\"\nurl = \"{url}\"\n\n"
            )
        },
        home: "https://pypi.org/simple",
        other: "https://evil.invalid/simple",
    },
];

#[test]
fn an_address_is_read_for_where_it_leads() {
    for (source, place, git) in [
        (
            "https://registry.npmjs.org/a/-/a.tgz",
            "registry.npmjs.org",
            false,
        ),
        ("https://user:pw@Host.invalid:8080/a", "host.invalid:8080", false),
        (
            "registry+https://github.com/rust-lang/crates.io-index",
            "github.com/rust-lang/crates.io-index",
            false,
        ),
        ("sparse+https://index.crates.io/", "index.crates.io", false),
        ("git+https://github.com/a/b?branch=x#0123", "github.com/a/b", true),
        ("git+ssh://git@github.com/a/b.git#0123", "github.com/a/b", true),
        ("git@github.com:a/b.git", "github.com/a/b", true),
        ("github:a/b#x", "github.com/a/b", true),
        (
            "https://codeload.github.com/a/b/tar.gz/0123",
            "codeload.github.com",
            false,
        ),
        ("http://a.invalid\\@b.invalid/", "b.invalid", false),
    ] {
        let read = origin(source).unwrap();
        assert_eq!((read.place.as_str(), read.git), (place, git), "{source}");
    }
    for source in [
        "file:../a",
        "file:///a",
        "link:a",
        "workspace:*",
        "",
        "1.0.0",
        "npm:a@1",
        "patch:a@npm",
    ] {
        assert_eq!(origin(source), None, "{source}");
    }
}

#[test]
fn another_host_for_the_same_name_is_told_in_every_format() {
    for s in SAMPLES {
        let before = (s.write)("a", "1.0.0", s.home, "aaa");
        let moved = (s.write)("a", "1.0.0", s.other, "aaa");
        assert_eq!(
            changed(s.path, &before, &moved)[..],
            [changed(s.path, &before, &moved)[0].as_str()],
            "{}",
            s.path
        );
        assert!(
            changed(s.path, &before, &moved)[0].starts_with("p1 registry-host:"),
            "{}",
            s.path
        );
        let updated = (s.write)("a", "1.0.1", s.home, "bbb");
        assert_eq!(changed(s.path, &before, &updated), [""; 0], "{}", s.path);
    }
}

#[test]
fn a_host_that_is_new_is_told_and_one_that_the_base_knows_is_not() {
    for s in SAMPLES
        .iter()
        .filter(|s| !s.path.ends_with(".json") && !s.path.contains("pnpm"))
    {
        let a = (s.write)("a", "1.0.0", s.home, "aaa");
        let new = format!("{a}{}", (s.write)("b", "1.0.0", s.other, "bbb"));
        let hits = changed(s.path, &a, &new);
        assert!(
            hits.len() == 1 && hits[0].starts_with("p1 registry-host:"),
            "{} {hits:?}",
            s.path
        );
        let more = format!("{new}{}", (s.write)("c", "1.0.0", s.other, "ccc"));
        assert_eq!(changed(s.path, &new, &more), [""; 0], "{}", s.path);
        let fresh = rules(&TextChange::new().adding(s.path, &new));
        assert!(
            fresh.len() == 1 && fresh[0].starts_with("p2 registry-host"),
            "{} {fresh:?}",
            s.path
        );
        assert_eq!(
            rules(&TextChange::new().adding(s.path, &a)),
            [""; 0],
            "{}",
            s.path
        );
    }
}

#[test]
fn a_private_name_that_the_public_registry_serves_now_is_told() {
    let s = &SAMPLES[1];
    let private = (s.write)("a", "1.0.0", "https://npm.corp.invalid", "aaa");
    let public = (s.write)("a", "1.0.0", s.home, "aaa");
    assert_eq!(changed(s.path, &private, &public), ["p1 registry-host:5"]);
    // The two names of the public registry are one.
    let yarn = (s.write)("a", "1.0.0", "https://registry.yarnpkg.com", "aaa");
    assert_eq!(changed(s.path, &public, &yarn), [""; 0]);
}

#[test]
fn a_hash_that_changes_under_one_version_or_goes_is_told_in_every_format() {
    for s in SAMPLES {
        let before = (s.write)("a", "1.0.0", s.home, "aaa");
        let other = (s.write)("a", "1.0.0", s.home, "bbb");
        let hits = changed(s.path, &before, &other);
        assert!(
            hits.len() == 1 && hits[0].starts_with("p1 integrity-changed:"),
            "{} {hits:?}",
            s.path
        );
        let none = (s.write)("a", "1.0.0", s.home, "");
        let hits = rules(&TextChange::new().changing(s.path, &before, &none));
        assert!(
            hits.len() == 1 && hits[0].starts_with("p1 integrity-removed"),
            "{} {hits:?}",
            s.path
        );
        let updated = (s.write)("a", "1.0.1", s.home, "");
        let hits = rules(&TextChange::new().changing(s.path, &before, &updated));
        assert!(
            hits.len() == 1 && hits[0].starts_with("p2 integrity-missing"),
            "{} {hits:?}",
            s.path
        );
    }
}

#[test]
fn a_stronger_hash_beside_or_instead_of_a_weaker_one_is_no_change() {
    let lock = |integrity: &str| {
        format!(
            "a@^1:\n  version \"1.0.0\"\n  resolved \"https://registry.npmjs.org/a.tgz\"\n  integrity {integrity}\n"
        )
    };
    assert_eq!(
        changed("yarn.lock", &lock("sha1-aaa"), &lock("sha512-bbb")),
        [""; 0]
    );
    assert_eq!(
        changed("yarn.lock", &lock("sha1-aaa"), &lock("sha512-bbb sha1-aaa")),
        [""; 0]
    );
    assert_eq!(
        changed("yarn.lock", &lock("sha1-aaa"), &lock("sha512-bbb sha1-ccc")),
        ["p1 integrity-changed:4"]
    );
}

#[test]
fn the_other_formats_know_a_changed_hash() {
    let sum = |hash: &str| format!("example.com/a v1.0.0 h1:{hash}=\nexample.com/a v1.0.0/go.mod h1:x=\n");
    assert_eq!(
        changed("go.sum", &sum("a"), &sum("b")),
        ["p1 integrity-changed:1"]
    );
    let gems = |remote: &str, hash: &str| {
        format!(
            "GEM\n  remote: {remote}\n  specs:\n    a (1.0)\n      b (>= 1)\n\nCHECKSUMS\n  a (1.0) sha256={hash}\n"
        )
    };
    assert_eq!(
        changed(
            "Gemfile.lock",
            &gems("https://rubygems.org/", "a"),
            &gems("https://rubygems.org/", "b")
        ),
        ["p1 integrity-changed:8"]
    );
    assert_eq!(
        changed(
            "Gemfile.lock",
            &gems("https://rubygems.org/", "a"),
            &gems("https://evil.invalid/", "a")
        ),
        ["p1 registry-host:2"]
    );
    let composer = |version: &str, reference: &str| {
        format!(
            "{{\"packages\": [{{\n\"name\": \"a/b\",\n\"version\": \"{version}\",\n\"dist\": {{\n\"url\": \"https://api.github.com/repos/a/b\",\n\"reference\": \"{reference}\"\n}}}}]}}\n"
        )
    };
    assert_eq!(
        changed("composer.lock", &composer("1.0.0", "a"), &composer("1.0.0", "b")),
        ["p1 integrity-changed:6"]
    );
    assert_eq!(
        changed(
            "composer.lock",
            &composer("dev-main", "a"),
            &composer("dev-main", "b")
        ),
        [""; 0]
    );
    let berry = |sum: &str| {
        format!(
            "__metadata:\n  version: 8\n\n\"a@npm:^1\":\n  version: 1.0.0\n  resolution: \"a@npm:1.0.0\"\n  checksum: {sum}\n  languageName: node\n"
        )
    };
    assert_eq!(
        changed("yarn.lock", &berry("10c0/aa"), &berry("10c0/bb")),
        ["p1 integrity-changed:7"]
    );
    assert_eq!(changed("yarn.lock", &berry("9/aa"), &berry("10c0/bb")), [""; 0]);
    let old = |hash: &str| {
        format!(
            "{{\"dependencies\": {{\n\"a\": {{\"version\": \"1\", \"resolved\": \"https://registry.npmjs.org/a.tgz\",\n\"integrity\": \"sha512-{hash}\"}}}}}}\n"
        )
    };
    assert_eq!(
        changed("npm-shrinkwrap.json", &old("a"), &old("b")),
        ["p1 integrity-changed:3"]
    );
}

#[test]
fn what_is_fetched_in_the_clear_or_from_a_repository_is_told_once() {
    let npm = &SAMPLES[2];
    let home = (npm.write)("a", "1.0.0", npm.home, "aaa");
    let plain = format!(
        "{home}{}",
        (npm.write)("b", "1.0.0", "http://registry.npmjs.org", "bbb")
    );
    let hits = changed(npm.path, &home, &plain);
    assert!(hits[0].starts_with("p1 insecure-source:"), "{hits:?}");
    assert_eq!(hits.len(), 1, "{hits:?}");
    let updated = format!(
        "{home}{}",
        (npm.write)("b", "1.0.1", "http://registry.npmjs.org", "ccc")
    );
    assert_eq!(changed(npm.path, &plain, &updated), [""; 0]);
    let git = |rev: &str| {
        format!(
            "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"git+https://github.com/a/b{rev}\"\n"
        )
    };
    let pinned = git("?branch=x#0123456789012345678901234567890123456789");
    assert_eq!(changed("Cargo.lock", "", &pinned), ["p3 git-source:4"]);
    assert_eq!(changed("Cargo.lock", "", &git("")), ["p2 git-source:4"]);
    let moved = git("?branch=x#9999999999999999999999999999999999999999");
    assert_eq!(changed("Cargo.lock", &pinned, &moved), [""; 0]);
    let gemfile = |url: &str| format!("GIT\n  remote: {url}\n  specs:\n    a (1.0)\n");
    assert_eq!(
        changed("Gemfile.lock", "", &gemfile("git://github.com/a/b.git")),
        ["p1 insecure-source:2", "p2 git-source:2"]
    );
}

#[test]
fn many_packages_of_one_kind_are_one_remark() {
    let s = &SAMPLES[0];
    let many = |host: &str| {
        (0..30)
            .map(|i| (s.write)(&format!("a{i}"), "1.0.0", host, "aaa"))
            .collect::<String>()
    };
    let change = TextChange::new().changing(s.path, many(s.home), many(s.other));
    assert_eq!(rules(&change).len(), 1);
    let body = report(&Lockfiles, &change).drafts[0].body.clone();
    assert!(
        body.contains("`a0 1.0.0`, `a1 1.0.0`") && body.contains("and 22 more"),
        "{body}"
    );
}

#[test]
fn a_manifest_that_asks_for_more_than_is_locked_is_told() {
    let package = |deps: &str| format!("{{\n  \"dependencies\": {{\n    \"x\": \"^1.0.0\"{deps}\n  }}\n}}\n");
    let npm = |dir: &str, lock: &str| {
        TextChange::new()
            .changing(
                &format!("{dir}package.json"),
                package(""),
                package(",\n    \"left-pad\": \"^1.0.0\""),
            )
            .keeping(lock, "{}")
    };
    assert_eq!(
        rules(&npm("", "package-lock.json")),
        ["p2 manifest-only package.json:4"]
    );
    assert_eq!(
        rules(&npm("a/b/", "pnpm-lock.yaml")),
        ["p2 manifest-only a/b/package.json:4"]
    );
    assert_eq!(rules(&npm("", "other/package-lock.json")), [""; 0]);
    assert_eq!(
        rules(&npm("", "package-lock.json").changing("package-lock.json", "{}", "{ }")),
        [""; 0]
    );
    let script = TextChange::new()
        .changing(
            "package.json",
            "{\"scripts\": {}}\n",
            "{\"scripts\": {\"a\": \"b\"}}\n",
        )
        .keeping("package-lock.json", "{}");
    assert_eq!(rules(&script), [""; 0]);
}

#[test]
fn the_other_manifests_are_known() {
    for (path, lock, before, after) in [
        (
            "pyproject.toml",
            "uv.lock",
            "[project]\ndependencies = []\n",
            "[project]\ndependencies = [\"a>=1\"]\n",
        ),
        (
            "pyproject.toml",
            "poetry.lock",
            "[tool.poetry.dependencies]\na = \"1\"\n",
            "[tool.poetry.dependencies]\na = \"2\"\n",
        ),
        ("Gemfile", "Gemfile.lock", "gem \"a\"\n", "gem \"a\"\ngem \"b\"\n"),
        (
            "composer.json",
            "composer.lock",
            "{\"require\": {}}",
            "{\"require\": {\"a/b\": \"1\"}}",
        ),
        (
            "Pipfile",
            "Pipfile.lock",
            "[packages]\n",
            "[packages]\na = \"*\"\n",
        ),
        (
            "go.mod",
            "go.sum",
            "module m\n",
            "module m\nrequire (\n\texample.com/a v1.0.0 // indirect\n)\n",
        ),
    ] {
        let change = TextChange::new().changing(path, before, after).keeping(lock, "");
        assert_eq!(rules(&change).len(), 1, "{path} {lock}");
        let change = TextChange::new()
            .changing(path, before, format!("{before}\n"))
            .keeping(lock, "");
        assert_eq!(rules(&change), [""; 0], "{path} {lock}");
    }
    let known = TextChange::new()
        .changing("go.mod", "module m\n", "module m\nrequire example.com/a v1.0.0\n")
        .keeping("go.sum", "example.com/a v1.0.0 h1:x=\n");
    assert_eq!(rules(&known), [""; 0]);
}

#[test]
fn cargos_lockfile_is_asked_whether_it_fits_already() {
    let lock = "[[package]]\nname = \"a\"\nversion = \"1.4.2\"\n";
    let cargo = |wish: &str| {
        rules(
            &TextChange::new()
                .changing(
                    "Cargo.toml",
                    "[dependencies]\n",
                    format!("[dependencies]\n{wish}\n"),
                )
                .keeping("Cargo.lock", lock),
        )
    };
    for wish in [
        "a = \"1\"",
        "a = \"1.4\"",
        "a = \"^1.2.0\"",
        "a = \">=2\"",
        "b = { package = \"a\", version = \"1\" }",
        "a = { workspace = true }",
        "a = { version = \"1.4\", features = [\"x\"] }",
        "c = { path = \"c\" }",
    ] {
        assert_eq!(cargo(wish), [""; 0], "{wish}");
    }
    for wish in [
        "a = \"2\"",
        "a = \"1.5\"",
        "a = \"0.1\"",
        "b = \"1\"",
        "a = { version = \"1.4.3\" }",
    ] {
        assert_eq!(cargo(wish), ["p2 manifest-only Cargo.toml:2"], "{wish}");
    }
}

#[test]
fn a_lockfile_alone_is_advice() {
    let only = |change: &TextChange| found(&Lockfiles, change);
    let alone = TextChange::new().changing("a/yarn.lock", "x\n", "y\n");
    assert_eq!(only(&alone), ["p3 lockfiles/lock-only"]);
    let both = TextChange::new().changing("yarn.lock", "x\n", "y\n").changing(
        "packages/a/package.json",
        "{}\n",
        "{ }\n",
    );
    assert_eq!(only(&both), [""; 0]);
    assert_eq!(only(&TextChange::new().changing("go.sum", "x\n", "y\n")), [""; 0]);
}

#[test]
fn a_lockfile_that_cannot_be_read_makes_it_partial() {
    let change = TextChange::new().changing("package-lock.json", "{}", "{");
    assert_eq!(report(&Lockfiles, &change).state, ContributionState::Partial);
    let change = TextChange::new().changing("package-lock.json", "{", "{}");
    assert_eq!(report(&Lockfiles, &change).state, ContributionState::Complete);
}

proptest! {
    #[test]
    fn anything_can_be_read(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "[[package]]", "name = \"a\"", "version", "source = { registry = \"", "url", "hash", "=", ":", "\"", "'", "{", "}",
            "\n", "  ", "    ", "packages:", "resolution:", "a@1", "(", ")", "GEM", "remote: ", "CHECKSUMS", "https://", "git+",
            "@", "#", "/", ",", "[", "]", "integrity sha512-", "resolved", "checksum", "-",
        ]), 0..30),
    ) {
        let text = pieces.concat();
        for path in [
            "Cargo.lock", "poetry.lock", "uv.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "composer.lock",
            "Pipfile.lock", "Gemfile.lock", "go.sum", "Cargo.toml", "package.json", "go.mod", "Gemfile", "pyproject.toml",
        ] {
            let _ = found(&Lockfiles, &TextChange::new().changing(path, &bytes, &text).keeping("x", ""));
            let _ = found(&Lockfiles, &TextChange::new().changing(path, &text, &bytes));
        }
        let _ = origin(&text);
    }
}
