//! Spaces: one row a pull request, whose `rev` says when it moved.
//!
//! Two intakes may see the same pull request at once: `insert_space` and
//! `move_space` are conditional, and the one that lost reads again.

use crate::domain::{
    ids::{InstallationId, RepoId, Sha, SpaceId, WorkspaceId},
    space::{PullRef, PullSnapshot, RepoRef, Space},
    time::Timestamp,
};

use super::{
    StoreError, Tx,
    columns::{from_row, storable},
    db::on,
};

/// A query for whole spaces with the given condition on `s` (space) and `r` (repo).
macro_rules! spaces_where {
    ($condition:literal) => {
        concat!(
            "SELECT s.id AS space, s.mode, s.rev, s.number, s.title, s.state, s.draft, s.head, s.base_ref, s.base, \
             s.author, s.by_app, s.html_url, s.updated_at, r.workspace, r.installation, r.id, r.owner, r.name \
             FROM space s JOIN repo r ON r.workspace = s.workspace AND r.id = s.repo \
             WHERE s.kind = 'pull_request' AND ",
            $condition
        )
    };
}

from_row!(Space, row => Space {
    id: row.try_get("space")?,
    mode: row.try_get("mode")?,
    pull: PullRef { repo: <RepoRef as sqlx::FromRow<_>>::from_row(row)?, number: row.try_get("number")? },
    rev: row.try_get("rev")?,
    snapshot: PullSnapshot {
        title: row.try_get("title")?,
        state: row.try_get("state")?,
        draft: row.try_get("draft")?,
        head: row.try_get("head")?,
        base_ref: row.try_get("base_ref")?,
        base: row.try_get("base")?,
        author: row.try_get("author")?,
        by_app: row.try_get("by_app")?,
        html_url: row.try_get("html_url")?,
        updated_at: row.try_get("updated_at")?,
    },
});

impl Tx {
    /// The space of a pull request. Only the workspace, the repository's id and the
    /// number are looked at.
    pub async fn space_of(&mut self, pull: &PullRef) -> Result<Option<Space>, StoreError> {
        const SQL: &str = spaces_where!("s.workspace = $1 AND s.repo = $2 AND s.number = $3");
        Ok(
            on!(self, c => sqlx::query_as(SQL).bind(&pull.repo.workspace).bind(pull.repo.id).bind(pull.number)
            .fetch_optional(c).await?),
        )
    }

    /// A space by its id.
    pub async fn space(&mut self, id: &SpaceId) -> Result<Option<Space>, StoreError> {
        const SQL: &str = spaces_where!("s.id = $1");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(id).fetch_optional(c).await?))
    }

    /// Opens a space; its repository is known. `false`, and nothing done, when the
    /// pull request has one.
    pub async fn insert_space(&mut self, space: &Space, now: Timestamp) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO space (id, workspace, kind, mode, rev, created_at, repo, number, title, state, \
            draft, head, base_ref, base, author, by_app, html_url, updated_at) \
            VALUES ($1, $2, 'pull_request', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) \
            ON CONFLICT (workspace, repo, number) DO NOTHING";
        let (repo, s) = (&space.pull.repo, &space.snapshot);
        let (title, base_ref, url) = (storable(&s.title), storable(&s.base_ref), storable(&s.html_url));
        let done = on!(self, c => sqlx::query(SQL)
            .bind(&space.id).bind(&repo.workspace).bind(space.mode).bind(space.rev).bind(now)
            .bind(repo.id).bind(space.pull.number).bind(&*title).bind(s.state).bind(s.draft)
            .bind(&s.head).bind(&*base_ref).bind(&s.base).bind(s.author.as_ref()).bind(s.by_app)
            .bind(&*url).bind(s.updated_at).execute(c).await?.rows_affected());
        Ok(done == 1)
    }

    /// The pull request moved: takes the snapshot and raises the revision by one.
    /// `false`, and nothing done, when the revision is not `expected`.
    pub async fn move_space(
        &mut self,
        id: &SpaceId,
        expected: i64,
        snapshot: &PullSnapshot,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE space SET rev = rev + 1, title = $3, state = $4, draft = $5, head = $6, base_ref = $7, \
            base = $8, author = $9, by_app = $10, html_url = $11, updated_at = $12 WHERE id = $1 AND rev = $2";
        let s = snapshot;
        let (title, base_ref, url) = (storable(&s.title), storable(&s.base_ref), storable(&s.html_url));
        let done = on!(self, c => sqlx::query(SQL).bind(id).bind(expected)
            .bind(&*title).bind(s.state).bind(s.draft).bind(&s.head).bind(&*base_ref).bind(&s.base)
            .bind(s.author.as_ref()).bind(s.by_app).bind(&*url).bind(s.updated_at)
            .execute(c).await?.rows_affected());
        Ok(done == 1)
    }

    /// Takes what may change without a new review (title, page, author, the forge's
    /// time) from the snapshot; the rest of it is not looked at. `false`, and nothing
    /// done, when the revision is not `expected`.
    pub async fn refresh_space(
        &mut self,
        id: &SpaceId,
        expected: i64,
        snapshot: &PullSnapshot,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE space SET title = $3, author = $4, by_app = $5, html_url = $6, updated_at = $7 \
            WHERE id = $1 AND rev = $2";
        let s = snapshot;
        let (title, url) = (storable(&s.title), storable(&s.html_url));
        let done = on!(self, c => sqlx::query(SQL).bind(id).bind(expected).bind(&*title).bind(s.author.as_ref())
            .bind(s.by_app).bind(&*url).bind(s.updated_at).execute(c).await?.rows_affected());
        Ok(done == 1)
    }

    /// A new review was asked for: raises the revision by one and returns it.
    ///
    /// # Errors
    /// [`StoreError::Internal`] when there is no such space.
    pub async fn bump_space(&mut self, id: &SpaceId) -> Result<i64, StoreError> {
        const SQL: &str = "UPDATE space SET rev = rev + 1 WHERE id = $1 RETURNING rev";
        Ok(on!(self, c => sqlx::query_scalar(SQL).bind(id).fetch_one(c).await?))
    }

    /// The open pull requests whose head is `head`, by number: they share its check.
    pub async fn open_spaces_on(
        &mut self,
        workspace: &WorkspaceId,
        repo: RepoId,
        head: &Sha,
    ) -> Result<Vec<Space>, StoreError> {
        const SQL: &str = spaces_where!(
            "s.workspace = $1 AND s.repo = $2 AND s.head = $3 AND s.state = 'open' ORDER BY s.number"
        );
        Ok(on!(self, c => sqlx::query_as(SQL).bind(workspace).bind(repo).bind(head).fetch_all(c).await?))
    }

    /// The open pull requests of a repository, by number.
    pub async fn open_spaces_of_repo(
        &mut self,
        workspace: &WorkspaceId,
        repo: RepoId,
    ) -> Result<Vec<Space>, StoreError> {
        const SQL: &str =
            spaces_where!("s.workspace = $1 AND s.repo = $2 AND s.state = 'open' ORDER BY s.number");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(workspace).bind(repo).fetch_all(c).await?))
    }

    /// The open pull requests of every repository that the installation reaches or last
    /// reached, by repository and number.
    pub async fn open_spaces_of(&mut self, installation: InstallationId) -> Result<Vec<Space>, StoreError> {
        const SQL: &str = spaces_where!("r.installation = $1 AND s.state = 'open' ORDER BY s.repo, s.number");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(installation).fetch_all(c).await?))
    }
}
