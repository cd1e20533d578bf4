//! Content with faults, put together at run time so that no source has any.

/// A token that was never issued.
pub(crate) fn token() -> String {
    format!("ghp_{}", "k3Jx9QmZr7Vt2LwYb8Nc4Hd6Sf1PgA0eUiOX")
}

/// A source file that holds a token on its second line.
pub(crate) fn with_token() -> String {
    format!(
        "//! Talks to the server.\npub const TOKEN: &str = \"{}\";\n",
        token()
    )
}

/// A source file with a merge left half done.
pub(crate) fn with_conflict() -> String {
    let mark = |c: &str| c.repeat(7);
    format!(
        "pub fn one() -> u32 {{\n{} HEAD\n    1\n{}\n    2\n{} main\n}}\n",
        mark("<"),
        mark("="),
        mark(">")
    )
}
