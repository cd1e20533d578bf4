use super::*;

fn origin(url: &str) -> Origin {
    Origin::new(url).unwrap()
}

#[test]
fn each_kind_of_github_has_its_host_and_its_git() {
    for (api, base, host, git) in [
        (
            "https://api.github.com",
            "https://api.github.com",
            "github.com",
            "https://github.com/o/r.git",
        ),
        (
            "https://api.github.com/",
            "https://api.github.com",
            "github.com",
            "https://github.com/o/r.git",
        ),
        (
            "https://api.corp.ghe.com",
            "https://api.corp.ghe.com",
            "corp.ghe.com",
            "https://corp.ghe.com/o/r.git",
        ),
        (
            "https://git.corp.example/api/v3/",
            "https://git.corp.example/api/v3",
            "git.corp.example",
            "https://git.corp.example/o/r.git",
        ),
        (
            "https://api.corp.example/api/v3",
            "https://api.corp.example/api/v3",
            "api.corp.example",
            "https://api.corp.example/o/r.git",
        ),
        (
            "https://git.corp.example:8443/api/v3",
            "https://git.corp.example:8443/api/v3",
            "git.corp.example:8443",
            "https://git.corp.example:8443/o/r.git",
        ),
        (
            "http://127.0.0.1:3000",
            "http://127.0.0.1:3000",
            "127.0.0.1:3000",
            "http://127.0.0.1:3000/o/r.git",
        ),
        (
            "http://[::1]:3000/api/v3",
            "http://[::1]:3000/api/v3",
            "[::1]:3000",
            "http://[::1]:3000/o/r.git",
        ),
        (
            "http://localhost:3000",
            "http://localhost:3000",
            "localhost:3000",
            "http://localhost:3000/o/r.git",
        ),
    ] {
        let origin = origin(api);
        assert_eq!(origin.base(), base, "{api}");
        assert_eq!(origin.host(), host, "{api}");
        assert_eq!(origin.clone_url("o", "r"), git, "{api}");
    }
}

#[test]
fn a_base_that_would_leak_or_mislead_is_refused() {
    for api in [
        "",
        "github.com",
        "ftp://github.com",
        "http://github.com",
        "http://10.0.0.1:3000",
        "http://localhost.example:3000",
        "https://user:pass@api.github.com",
        "https://user@api.github.com",
        "https://api.github.com?x=1",
        "https://api.github.com#x",
        "file:///etc/passwd",
    ] {
        assert!(Origin::new(api).is_err(), "{api}");
    }
}

#[test]
fn only_what_lies_below_the_base_is_relative_to_it() {
    let ghes = origin("https://git.corp.example/api/v3");
    for (target, expected) in [
        (
            "https://git.corp.example/api/v3/repositories/9/pulls?page=2",
            Some("/repositories/9/pulls?page=2"),
        ),
        ("https://git.corp.example:443/api/v3/x", Some("/x")),
        ("/api/v3/x", Some("/x")),
        ("?page=2", Some("/repos/o/r?page=2")),
        ("https://git.corp.example/api/v3", None),
        ("https://git.corp.example/api/v34/x", None),
        ("https://git.corp.example/login", None),
        ("https://git.corp.example/api/v3/../../login", None),
        ("https://git.corp.example.evil/api/v3/x", None),
        ("https://git.corp.example@evil/api/v3/x", None),
        ("https://u:p@git.corp.example/api/v3/x", None),
        ("http://git.corp.example/api/v3/x", None),
        ("https://git.corp.example:8443/api/v3/x", None),
        ("//evil/api/v3/x", None),
        ("\\\\evil\\api\\v3\\x", None),
        ("javascript:alert(1)", None),
        ("https://[", None),
    ] {
        assert_eq!(
            ghes.relative("/repos/o/r", target).as_deref(),
            expected,
            "{target}"
        );
    }
}
