//! What every lockfile comes down to: packages, where they come from, and their hashes.

/// A package at one version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// Addresses, each with its line.
    pub(super) sources: Vec<(String, u32)>,
    /// Hashes: of what (an algorithm, a file), the value, and its line.
    pub(super) hashes: Vec<(String, String, u32)>,
    /// First and last line, one-based.
    pub(super) lines: (u32, u32),
    /// Whether the format gives such a package a hash at all.
    pub(super) hashable: bool,
}

impl Package {
    pub(super) fn new(name: impl Into<String>, line: u32) -> Self {
        Self {
            name: name.into(),
            lines: (line, line),
            hashable: true,
            ..Self::default()
        }
    }

    /// A hash in the form `algorithm-value algorithm-value`.
    pub(super) fn integrity(&mut self, text: &str, line: u32) {
        for one in text.split_whitespace() {
            if let Some((algorithm, value)) = one.split_once(['-', ':', '=']) {
                self.hashes.push((algorithm.to_owned(), value.to_owned(), line));
            }
        }
    }
}

/// Where an address leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// `https`, `http`, `git`, `ssh`, …
    pub(super) scheme: String,
    /// What is compared: the host, for an index in a repository the whole address.
    pub(super) place: String,
    /// Whether a repository is fetched and not an archive.
    pub(super) git: bool,
}

/// Reads an address; `None` for what lies in the repository itself.
pub(super) fn origin(source: &str) -> Option<Origin> {
    let lower = source.trim().to_ascii_lowercase();
    let registry = lower.starts_with("registry+") || lower.starts_with("sparse+");
    let git_prefix = lower.starts_with("git+");
    let bare = ["registry+", "sparse+", "git+", "direct+", "url+"]
        .iter()
        .fold(lower.as_str(), |text, prefix| {
            text.strip_prefix(prefix).unwrap_or(text)
        });
    if let Some((scheme, rest)) = bare.split_once("://") {
        if scheme == "file" {
            return None;
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        let path = rest[authority.len()..]
            .split(['?', '#'])
            .next()
            .unwrap_or_default();
        let git = git_prefix
            || matches!(scheme, "git" | "ssh")
            || (!registry && path.trim_end_matches('/').ends_with(".git"));
        let place = if registry || git {
            format!("{host}{}", path.trim_end_matches('/').trim_end_matches(".git"))
        } else {
            host.to_owned()
        };
        return (!host.is_empty()).then(|| Origin {
            scheme: scheme.to_owned(),
            place,
            git,
        });
    }
    // `git@host:owner/repository`, `github:owner/repository`.
    let (head, path) = bare.split_once(':')?;
    let path = path
        .split(['#', '?'])
        .next()
        .unwrap_or_default()
        .trim_end_matches(".git");
    let host = match head {
        "github" => "github.com",
        "gitlab" => "gitlab.com",
        "bitbucket" => "bitbucket.org",
        _ => head.split_once('@').filter(|(_, host)| host.contains('.'))?.1,
    };
    Some(Origin {
        scheme: "ssh".to_owned(),
        place: format!("{host}/{}", path.trim_start_matches('/')),
        git: true,
    })
}

/// Places from which a tool fetches when nobody told it otherwise, as groups that stand
/// for each other.
const USUAL: &[&[&str]] = &[
    &["registry.npmjs.org", "registry.yarnpkg.com"],
    &[
        "github.com/rust-lang/crates.io-index",
        "index.crates.io",
        "static.crates.io",
    ],
    &["pypi.org/simple", "pypi.org", "files.pythonhosted.org"],
    &["rubygems.org"],
    &[
        "api.github.com",
        "codeload.github.com",
        "packagist.org",
        "repo.packagist.org",
    ],
];

/// The group that a place stands in.
pub(super) fn usual(place: &str) -> Option<usize> {
    USUAL.iter().position(|group| group.contains(&place))
}
