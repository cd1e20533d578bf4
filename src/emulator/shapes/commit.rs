//! Commits and changed files.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::emulator::{
    git::GitFault,
    shapes::node_id,
    state::{FileChange, Repo, World, iso},
};

/// What stays as it is in the path of a URL.
pub(crate) const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

impl World {
    /// A `commit`.
    pub(crate) fn commit_json(&self, repo: &Repo, sha: &str) -> Result<Value, GitFault> {
        let facts = self.git.commit_facts(repo.id, sha)?;
        let full = self.full_name(repo);
        let root = self.api(&format!("/repos/{full}"));
        let url = format!("{root}/commits/{sha}");
        let page = format!("{}/{full}/commit", self.base);
        let signed = |(name, email, at): &(String, String, i64)| json!({"name": name, "email": email, "date": iso(*at)});
        let user = |name: &str| self.account_by_login(name).map(|a| self.user_json(a.id));
        let parents: Vec<Value> = facts
            .parents
            .iter()
            .map(|p| json!({"sha": p, "url": format!("{root}/commits/{p}"), "html_url": format!("{page}/{p}")}))
            .collect();
        Ok(json!({
            "sha": facts.sha,
            "node_id": node_id("Commit", repo.id),
            "url": url,
            "html_url": format!("{page}/{sha}"),
            "comments_url": format!("{url}/comments"),
            "commit": {
                "url": format!("{root}/git/commits/{sha}"),
                "author": signed(&facts.author),
                "committer": signed(&facts.committer),
                "message": facts.message,
                "tree": {"sha": facts.tree, "url": format!("{root}/git/trees/{}", facts.tree)},
                "comment_count": 0,
                "verification": {
                    "verified": false,
                    "reason": "unsigned",
                    "signature": null,
                    "payload": null,
                    "verified_at": null,
                },
            },
            "author": user(&facts.author.0),
            "committer": user(&facts.committer.0),
            "parents": parents,
        }))
    }

    /// A `simple-commit`; `null` when git does not know it.
    pub(crate) fn simple_commit_json(&self, repo: u64, sha: &str) -> Value {
        let Ok(facts) = self.git.commit_facts(repo, sha) else {
            return Value::Null;
        };
        let by = |(name, email, _): &(String, String, i64)| json!({"name": name, "email": email});
        json!({
            "id": facts.sha,
            "tree_id": facts.tree,
            "message": facts.message,
            "timestamp": iso(facts.committer.2),
            "author": by(&facts.author),
            "committer": by(&facts.committer),
        })
    }

    /// A `diff-entry`. `patch` is missing for binary and too large files.
    pub(crate) fn file_json(&self, repo: &Repo, head: &str, file: &FileChange) -> Value {
        let full = self.full_name(repo);
        let path = utf8_percent_encode(&file.path, PATH);
        let mut shown = json!({
            "sha": file.blob,
            "filename": file.path,
            "status": file.status,
            "additions": file.additions,
            "deletions": file.deletions,
            "changes": file.additions + file.deletions,
            "blob_url": format!("{}/{full}/blob/{head}/{path}", self.base),
            "raw_url": format!("{}/{full}/raw/{head}/{path}", self.base),
            "contents_url": self.api(&format!("/repos/{full}/contents/{path}?ref={head}")),
        });
        if let Some(patch) = file.patch() {
            shown["patch"] = json!(patch);
        }
        if let Some(previous) = &file.previous {
            shown["previous_filename"] = json!(previous);
        }
        shown
    }
}
