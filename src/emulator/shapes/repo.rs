//! Repositories.

use serde_json::{Value, json};

use crate::emulator::{
    shapes::node_id,
    state::{Repo, World, iso},
};

const LINKS: [(&str, &str); 37] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
    ("url", ""),
];

impl World {
    /// A `full-repository`, which is a `repository` and a `minimal-repository`
    /// as well.
    pub(crate) fn repo_json(&self, repo: &Repo) -> Value {
        let full = self.full_name(repo);
        let page = format!("{}/{full}", self.base);
        let root = self.api(&format!("/repos/{full}"));
        let open = repo.pulls.values().filter(|p| p.open).count();
        let forks = self.repos.values().filter(|r| r.fork_of == Some(repo.id)).count();
        let visibility = if repo.private { "private" } else { "public" };
        let mut shown = json!({
            "id": repo.id,
            "node_id": node_id("Repository", repo.id),
            "name": repo.name,
            "full_name": full,
            "private": repo.private,
            "visibility": visibility,
            "owner": self.user_json(repo.owner),
            "html_url": page,
            "description": repo.description,
            "fork": repo.fork_of.is_some(),
            "git_url": format!("git{}.git", page.trim_start_matches("http")),
            "ssh_url": format!("git@127.0.0.1:{full}.git"),
            "clone_url": format!("{page}.git"),
            "svn_url": page,
            "homepage": null,
            "mirror_url": null,
            "language": null,
            "license": null,
            "archived": false,
            "disabled": false,
            "has_issues": true,
            "has_projects": false,
            "has_downloads": true,
            "has_wiki": false,
            "has_pages": false,
            "has_discussions": false,
            "is_template": false,
            "allow_forking": true,
            "web_commit_signoff_required": false,
            "topics": [],
            "size": 1,
            "created_at": iso(repo.created_at),
            "updated_at": iso(repo.pushed_at),
            "pushed_at": iso(repo.pushed_at),
            "default_branch": repo.default_branch,
            "open_issues": open,
            "open_issues_count": open,
            "stargazers_count": 0,
            "watchers": 0,
            "watchers_count": 0,
            "subscribers_count": 0,
        });
        shown["forks"] = json!(forks);
        shown["forks_count"] = json!(forks);
        shown["network_count"] = json!(forks);
        for (name, path) in LINKS {
            shown[name] = json!(format!("{root}{path}"));
        }
        shown
    }
}
