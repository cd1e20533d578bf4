use super::*;

#[test]
fn next_is_found_in_every_lawful_link_header() {
    for (header, expected) in [
        (
            r#"<https://h/a?page=2>; rel="next", <https://h/a?page=5>; rel="last""#,
            Some("https://h/a?page=2"),
        ),
        (
            r#"<https://h/a?page=1>; rel="prev", <https://h/a?page=3>; rel="next""#,
            Some("https://h/a?page=3"),
        ),
        (
            r"<https://h/a?after=x,y>; rel=next",
            Some("https://h/a?after=x,y"),
        ),
        (r#"<https://h/a>; title="a, b; rel=next"; rel="last""#, None),
        (r#"<https://h/a>; REL="NEXT""#, Some("https://h/a")),
        (r#"<https://h/a>; rel="last next""#, Some("https://h/a")),
        (r#"<https://h/a>;rel="next""#, Some("https://h/a")),
        (r#"<https://h/a>; rel="nextish""#, None),
        (r#"<https://h/a>; rel="prev", <https://h/b>; rel="first""#, None),
        ("<https://h/a", None),
        ("", None),
        ("rel=next", None),
        ("<>; rel=next", Some("")),
    ] {
        assert_eq!(next_of(header).as_deref(), expected, "{header}");
    }
}

#[test]
fn several_link_headers_are_one() {
    let mut headers = HeaderMap::new();
    headers.append(header::LINK, "<https://h/a>; rel=prev".parse().unwrap());
    headers.append(header::LINK, "<https://h/b>; rel=next".parse().unwrap());
    assert_eq!(next_link(&headers).as_deref(), Some("https://h/b"));
}
