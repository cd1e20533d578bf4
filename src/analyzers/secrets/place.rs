//! What a file's path says of the secrets to expect in it.

/// What kind of file a line is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Full of hashes by trade: lock files, checksums, bundles. Only tokens of
    /// providers are looked for there.
    pub(super) hashes: bool,
    /// Assignments have no quotes there: `.env`, YAML, INI, shell.
    pub(super) bare: bool,
    /// Tests, examples and documents: values there are mostly made up.
    pub(super) example: bool,
}

impl Place {
    /// Judges by the path.
    pub(super) fn of(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let name = lower.rsplit('/').next().unwrap_or_default();
        let ends = |tails: &[&str]| tails.iter().any(|t| name.ends_with(t));
        let within = |folders: &[&str]| lower.split('/').any(|part| folders.contains(&part));
        Self {
            hashes: ends(&[
                ".lock",
                ".lockb",
                ".sum",
                "-lock.json",
                "-lock.yaml",
                "shrinkwrap.json",
                ".min.js",
                ".min.css",
                ".map",
                ".sha256",
                ".sha512",
                ".md5",
                ".sha1",
                ".svg",
                ".snap",
                ".pem",
                ".crt",
                ".cer",
                ".asc",
                ".sig",
                ".po",
                ".pot",
                ".csv",
                ".tsv",
                ".ipynb",
                ".lockfile",
                ".resolved",
                ".cassette",
                ".har",
            ]) || within(&["node_modules", "vendor"]),
            bare: ends(&[
                ".env",
                ".yml",
                ".yaml",
                ".ini",
                ".properties",
                ".toml",
                ".cfg",
                ".conf",
                ".config",
                ".sh",
                ".bash",
                ".zsh",
                ".fish",
                ".ps1",
                ".bat",
                ".tfvars",
                ".npmrc",
                ".netrc",
                ".pypirc",
                ".pgpass",
                "dockerfile",
                ".cnf",
                "credentials",
                ".desktop",
                ".service",
                ".plist",
                ".envrc",
            ]) || name.starts_with(".env")
                || name.starts_with("dockerfile")
                || !name.contains('.'),
            example: within(&[
                "test",
                "tests",
                "__tests__",
                "spec",
                "specs",
                "testdata",
                "test_data",
                "fixtures",
                "fixture",
                "examples",
                "example",
                "docs",
                "doc",
                "samples",
                "sample",
                "mock",
                "mocks",
                "demo",
                "e2e",
                "testing",
                "benches",
            ]) || ends(&[
                ".md",
                ".rst",
                ".adoc",
                ".txt",
                "_test.go",
                "_test.py",
                "_spec.rb",
                ".test.ts",
                ".test.js",
                ".spec.ts",
                ".spec.js",
                ".test.tsx",
                ".spec.tsx",
                ".test.jsx",
                "tests.rs",
                "test.rs",
                "_tests.rs",
                "_test.rs",
                "test.java",
                "tests.java",
                "test.kt",
                "tests.cs",
                ".example",
                ".sample",
                ".template",
                ".dist",
                "conftest.py",
            ]) || name.starts_with("test_"),
        }
    }
}
