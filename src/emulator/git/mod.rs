//! The bare repositories on disk, read and written by the git program.
//!
//! One folder for each repository, named by its id, so a rename moves nothing.
//! Every command runs without the user's and the system's configuration.

mod http;

pub(crate) use http::{GitRequest, serve};

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Git could not do what was asked; the text is git's own.
#[derive(Debug, thiserror::Error)]
#[error("git: {0}")]
pub struct GitFault(pub(crate) String);

/// One thing that a commit changes.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Writes a file.
    Write {
        /// Its path, with `/`.
        path: String,
        /// What it holds.
        content: Vec<u8>,
        /// `100644`, `100755`, or `120000` for a symbolic link.
        mode: &'static str,
    },
    /// Removes a file.
    Remove {
        /// Its path.
        path: String,
    },
    /// Moves a file without changing it.
    Rename {
        /// Where it is.
        from: String,
        /// Where it goes.
        to: String,
    },
}

impl Edit {
    /// Writes an ordinary file.
    pub fn write(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self::Write {
            path: path.into(),
            content: content.into(),
            mode: "100644",
        }
    }

    /// Removes a file.
    pub fn remove(path: impl Into<String>) -> Self {
        Self::Remove { path: path.into() }
    }

    /// Moves a file.
    pub fn rename(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::Rename {
            from: from.into(),
            to: to.into(),
        }
    }
}

/// Who commits, and when (seconds since the epoch).
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) at: i64,
}

/// A file in a commit.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) mode: String,
    pub(crate) kind: String,
    pub(crate) sha: String,
    /// Bytes of a file; 0 for the rest.
    pub(crate) size: usize,
    pub(crate) path: String,
}

/// What is said about a commit.
#[derive(Clone, Debug)]
pub(crate) struct CommitFacts {
    pub(crate) sha: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    pub(crate) author: (String, String, i64),
    pub(crate) committer: (String, String, i64),
    pub(crate) message: String,
}

/// The folder that holds the repositories.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    root: PathBuf,
}

type Done<T> = Result<T, GitFault>;

/// The empty tree as the source of attributes.
const EMPTY_ATTRIBUTES: &str = "attr.tree=4b825dc642cb6eb9a060e54bf8d69288fbee4904";

impl Store {
    /// Opens the folder, making it when it is missing. It must be empty: the rest
    /// of the state lives in memory, so repositories of an earlier run mean nothing.
    pub(crate) fn open(root: PathBuf) -> std::io::Result<Self> {
        std::fs::create_dir_all(&root)?;
        if std::fs::read_dir(&root)?.next().is_some() {
            let text = format!("{} is not empty", root.display());
            return Err(std::io::Error::other(text));
        }
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn folder(&self, repo: u64) -> PathBuf {
        self.root.join(format!("{repo}.git"))
    }

    fn run(&self, repo: u64, args: &[&str]) -> Done<Vec<u8>> {
        self.run_with(repo, args, &[], None)
    }

    fn run_with(
        &self,
        repo: u64,
        args: &[&str],
        env: &[(&str, String)],
        input: Option<&[u8]>,
    ) -> Done<Vec<u8>> {
        let mut command = Command::new("git");
        clean(&mut command);
        // Some versions read attributes from HEAD's tree in a bare repository.
        command.args(["-c", EMPTY_ATTRIBUTES]);
        command.arg("--git-dir").arg(self.folder(repo)).args(args);
        command.envs(env.iter().map(|(k, v)| (*k, v.as_str())));
        command.stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| GitFault(e.to_string()))?;
        if let (Some(bytes), Some(mut stdin)) = (input, child.stdin.take()) {
            // A child that ends early closes the pipe; its exit code tells why.
            let _ = stdin.write_all(bytes);
        }
        let output = child.wait_with_output().map_err(|e| GitFault(e.to_string()))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(GitFault(format!("{}: {said}", args.first().unwrap_or(&""))))
    }

    fn line(&self, repo: u64, args: &[&str]) -> Done<String> {
        let out = self.run(repo, args)?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// An empty repository that serves any object, as GitHub does, and takes no
    /// push below `refs/pull`.
    pub(crate) fn create(&self, repo: u64, default_branch: &str) -> Done<()> {
        let folder = self.folder(repo);
        std::fs::create_dir_all(&folder).map_err(|e| GitFault(e.to_string()))?;
        let branch = format!("--initial-branch={default_branch}");
        self.run(repo, &["init", "--quiet", "--bare", "--template=", &branch])?;
        for (key, value) in [
            ("receive.hideRefs", "refs/pull"),
            ("http.receivepack", "true"),
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("uploadpack.allowFilter", "true"),
            ("core.logAllRefUpdates", "false"),
            ("gc.auto", "0"),
        ] {
            self.run(repo, &["config", key, value])?;
        }
        Ok(())
    }

    /// Removes a repository for good.
    pub(crate) fn remove(&self, repo: u64) {
        // What is left of a folder is not served: the state does not know it.
        let _ = std::fs::remove_dir_all(self.folder(repo));
    }

    /// Copies every branch of `from`.
    pub(crate) fn copy_branches(&self, from: u64, to: u64) -> Done<()> {
        let source = self.folder(from).to_string_lossy().into_owned();
        self.run(
            to,
            &[
                "fetch",
                "--quiet",
                "--no-tags",
                &source,
                "+refs/heads/*:refs/heads/*",
            ],
        )?;
        Ok(())
    }

    /// Brings a commit of another repository in, under a ref of this one.
    pub(crate) fn bring(&self, from: u64, source: &str, to: u64, target: &str) -> Done<()> {
        if from == to {
            let sha = self
                .tip(from, source)
                .ok_or_else(|| GitFault(format!("{source} is missing")))?;
            return self.set(to, target, &sha);
        }
        let folder = self.folder(from).to_string_lossy().into_owned();
        self.run(
            to,
            &[
                "fetch",
                "--quiet",
                "--no-tags",
                &folder,
                &format!("+{source}:{target}"),
            ],
        )?;
        Ok(())
    }

    /// The commit that a ref or a name stands for.
    pub(crate) fn tip(&self, repo: u64, name: &str) -> Option<String> {
        let commit = format!("{name}^{{commit}}");
        self.line(
            repo,
            &["rev-parse", "--quiet", "--verify", "--end-of-options", &commit],
        )
        .ok()
    }

    /// The tip of a branch.
    pub(crate) fn branch(&self, repo: u64, branch: &str) -> Option<String> {
        self.tip(repo, &format!("refs/heads/{branch}"))
    }

    /// A commit by branch, tag, ref or its id, as REST's `ref` takes it.
    pub(crate) fn resolve(&self, repo: u64, name: &str) -> Option<String> {
        if name.is_empty() || name.starts_with('-') || name.contains(['^', '~', ':', '@', ' ']) {
            return None;
        }
        let known = ["refs/heads/", "refs/tags/", "refs/"];
        let by_ref = known.iter().find_map(|p| self.tip(repo, &format!("{p}{name}")));
        let is_id = name.len() >= 7 && name.bytes().all(|b| b.is_ascii_hexdigit());
        by_ref
            .or_else(|| self.tip(repo, name).filter(|_| name.starts_with("refs/")))
            .or_else(|| is_id.then(|| self.tip(repo, name)).flatten())
    }

    pub(crate) fn set(&self, repo: u64, name: &str, sha: &str) -> Done<()> {
        self.run(repo, &["update-ref", name, sha]).map(drop)
    }

    pub(crate) fn delete(&self, repo: u64, name: &str) -> Done<()> {
        self.run(repo, &["update-ref", "-d", name]).map(drop)
    }

    pub(crate) fn set_head(&self, repo: u64, branch: &str) -> Done<()> {
        self.run(repo, &["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")])
            .map(drop)
    }

    /// Writes a commit on top of `parent` by plumbing alone: blobs, a temporary
    /// index, a tree, a commit. No branch is moved.
    pub(crate) fn commit(
        &self,
        repo: u64,
        parent: Option<&str>,
        edits: &[Edit],
        message: &str,
        by: &Signature,
    ) -> Done<String> {
        let scratch = tempfile::tempdir().map_err(|e| GitFault(e.to_string()))?;
        let index = scratch.path().join("index").to_string_lossy().into_owned();
        let env = [("GIT_INDEX_FILE", index)];
        if let Some(parent) = parent {
            self.run_with(repo, &["read-tree", parent], &env, None)?;
        }
        let mut info = Vec::new();
        let mut put = |mode: &str, sha: &str, path: &str| {
            info.extend_from_slice(format!("{mode} {sha}\t{path}\0").as_bytes());
        };
        let gone = "0".repeat(40);
        for edit in edits {
            match edit {
                Edit::Write { path, content, mode } => {
                    let args = ["hash-object", "-w", "--stdin"];
                    let out = self.run_with(repo, &args, &[], Some(content))?;
                    put(mode, String::from_utf8_lossy(&out).trim(), path);
                }
                Edit::Remove { path } => put("0", &gone, path),
                Edit::Rename { from, to } => {
                    let entry = parent
                        .and_then(|p| self.entry(repo, p, from))
                        .ok_or_else(|| GitFault(format!("{from} is not there to be renamed")))?;
                    put("0", &gone, from);
                    put(&entry.mode, &entry.sha, to);
                }
            }
        }
        self.run_with(repo, &["update-index", "-z", "--index-info"], &env, Some(&info))?;
        let tree = self.run_with(repo, &["write-tree"], &env, None)?;
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        let parents: Vec<&str> = parent.into_iter().collect();
        self.commit_tree(repo, &tree, &parents, message, by)
    }

    pub(crate) fn commit_tree(
        &self,
        repo: u64,
        tree: &str,
        parents: &[&str],
        message: &str,
        by: &Signature,
    ) -> Done<String> {
        let mut args = vec!["commit-tree", tree, "-F", "-"];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        let date = format!("{} +0000", by.at);
        let env = [
            ("GIT_AUTHOR_NAME", by.name.clone()),
            ("GIT_AUTHOR_EMAIL", by.email.clone()),
            ("GIT_AUTHOR_DATE", date.clone()),
            ("GIT_COMMITTER_NAME", by.name.clone()),
            ("GIT_COMMITTER_EMAIL", by.email.clone()),
            ("GIT_COMMITTER_DATE", date),
        ];
        let out = self.run_with(repo, &args, &env, Some(message.as_bytes()))?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    pub(crate) fn merge_base(&self, repo: u64, a: &str, b: &str) -> Done<String> {
        self.line(repo, &["merge-base", a, b])
            .map_err(|_| GitFault("no common ancestor".to_owned()))
    }

    /// Whether `older` is `newer` or one of its ancestors.
    pub(crate) fn is_ancestor(&self, repo: u64, older: &str, newer: &str) -> bool {
        self.run(repo, &["merge-base", "--is-ancestor", older, newer])
            .is_ok()
    }

    /// The tree of a merge, or `None` when it has conflicts.
    pub(crate) fn merged_tree(&self, repo: u64, base: &str, head: &str) -> Option<String> {
        let text = self
            .line(repo, &["merge-tree", "--write-tree", "--no-messages", base, head])
            .ok()?;
        text.lines().next().map(str::to_owned)
    }

    /// Commits in `head` and not in `base`, oldest first.
    pub(crate) fn commits(&self, repo: u64, base: &str, head: &str) -> Vec<String> {
        let range = format!("{base}..{head}");
        self.line(repo, &["rev-list", "--reverse", "--topo-order", &range])
            .map(|t| t.lines().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    pub(crate) fn commit_facts(&self, repo: u64, sha: &str) -> Done<CommitFacts> {
        let format = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B";
        let text = self.line(repo, &["show", "--no-patch", "--no-color", format, sha])?;
        let fields: Vec<&str> = text.split('\0').collect();
        let [sha, tree, parents, an, ae, at, cn, ce, ct, message] = fields[..] else {
            return Err(GitFault("an unreadable commit".to_owned()));
        };
        let time = |t: &str| t.parse().unwrap_or_default();
        Ok(CommitFacts {
            sha: sha.to_owned(),
            tree: tree.to_owned(),
            parents: parents.split_whitespace().map(str::to_owned).collect(),
            author: (an.to_owned(), ae.to_owned(), time(at)),
            committer: (cn.to_owned(), ce.to_owned(), time(ct)),
            message: message.trim_end().to_owned(),
        })
    }

    /// The entry at a path of a commit.
    pub(crate) fn entry(&self, repo: u64, commit: &str, path: &str) -> Option<Entry> {
        let found = self.entries(repo, commit, &["--", path]);
        found.into_iter().find(|e| e.path == path)
    }

    /// The entries directly in a folder of a commit.
    pub(crate) fn folder_entries(&self, repo: u64, commit: &str, path: &str) -> Vec<Entry> {
        if path.is_empty() {
            return self.entries(repo, commit, &[]);
        }
        self.entries(repo, commit, &["--", &format!("{path}/")])
    }

    fn entries(&self, repo: u64, commit: &str, rest: &[&str]) -> Vec<Entry> {
        // Paths are taken literally: no pattern in a path may match another file.
        let args = [&["--literal-pathspecs", "ls-tree", "-z", "-l", commit], rest].concat();
        let out = self.run(repo, &args).unwrap_or_default();
        String::from_utf8_lossy(&out)
            .split('\0')
            .filter_map(|line| {
                let (meta, path) = line.split_once('\t')?;
                let mut words = meta.split_whitespace();
                Some(Entry {
                    mode: words.next()?.to_owned(),
                    kind: words.next()?.to_owned(),
                    sha: words.next()?.to_owned(),
                    size: words.next()?.parse().unwrap_or_default(),
                    path: path.to_owned(),
                })
            })
            .collect()
    }

    /// The tree of a commit, or the tree of that id.
    pub(crate) fn tree(&self, repo: u64, id: &str) -> Option<String> {
        if id.len() < 40 || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let tree = format!("{id}^{{tree}}");
        self.line(
            repo,
            &["rev-parse", "--quiet", "--verify", "--end-of-options", &tree],
        )
        .ok()
    }

    /// Everything below a tree or commit, or only its first level.
    pub(crate) fn tree_entries(&self, repo: u64, name: &str, recursive: bool) -> Vec<Entry> {
        let deep: &[&str] = if recursive { &["-r", "-t"] } else { &[] };
        self.entries(repo, name, deep)
    }

    pub(crate) fn blob(&self, repo: u64, sha: &str) -> Option<Vec<u8>> {
        if sha.len() < 40 || !sha.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.run(repo, &["cat-file", "blob", sha]).ok()
    }

    pub(crate) fn raw_diff(&self, repo: u64, from: &str, to: &str) -> Done<Vec<u8>> {
        let args = ["diff-tree", "-r", "-M", "--raw", "--no-abbrev", "-z", from, to];
        self.run(repo, &args)
    }

    pub(crate) fn patch(&self, repo: u64, from: &str, to: &str) -> Done<Vec<u8>> {
        let args = [
            "diff-tree",
            "-r",
            "-M",
            "-p",
            "-U3",
            "--inter-hunk-context=0",
            "--diff-algorithm=myers",
            "--full-index",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--submodule=short",
            from,
            to,
        ];
        self.run(repo, &args)
    }
}

/// Takes everything of the user's and the system's away from a git command.
pub(crate) fn clean(command: &mut Command) {
    for (key, _) in std::env::vars_os() {
        if key.to_string_lossy().starts_with("GIT_") {
            command.env_remove(key);
        }
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C")
        .env("HOME", "/nonexistent")
        .env("XDG_CONFIG_HOME", "/nonexistent");
}
