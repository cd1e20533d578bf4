//! Workspaces, the installations that open them, and their repositories.
//!
//! A workspace is an account and survives reinstalling; a reinstalled App is a new
//! installation. A transferred repository becomes another row, in the workspace of
//! the account that has it now: no row ever moves between workspaces.

use sqlx::{Postgres, QueryBuilder, Sqlite};

use crate::domain::{
    event::Account,
    ids::{InstallationId, RepoId, WorkspaceId},
    space::RepoRef,
    words::words,
};

use super::{
    StoreError, Tx,
    columns::{from_row, storable, text_column},
    db::on,
};

words! {
    /// What an installation lets us do.
    pub enum InstallationState {
        /// Its token opens its repositories.
        Active = "active",
        /// The account's owner suspended it.
        Suspended = "suspended",
        /// It is gone for good; a reinstalled App gets a new one.
        Deleted = "deleted",
    }
}
text_column!(InstallationState);

from_row!(RepoRef, row => RepoRef {
    workspace: row.try_get("workspace")?,
    installation: row.try_get("installation")?,
    id: row.try_get("id")?,
    owner: row.try_get("owner")?,
    name: row.try_get("name")?,
});

/// A repository and what it hangs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRepo {
    /// Where it is.
    pub place: RepoRef,
    /// What its account is called.
    pub login: String,
    /// What its installation lets us do.
    pub state: InstallationState,
}

from_row!(KnownRepo, row => KnownRepo {
    place: <RepoRef as sqlx::FromRow<_>>::from_row(row)?,
    login: row.try_get("login")?,
    state: row.try_get("state")?,
});

/// How many values are bound in one statement at most; SQLite allows 32,766.
const CHUNK: usize = 1000;

impl Tx {
    /// Makes the workspace known, and the account's present login.
    pub async fn upsert_workspace(
        &mut self,
        id: &WorkspaceId,
        host: &str,
        account: &Account,
    ) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO workspace (id, host, account, login) VALUES ($1, $2, $3, $4) \
            ON CONFLICT (id) DO UPDATE SET login = excluded.login WHERE workspace.login <> excluded.login";
        let (host, login) = (storable(host), storable(&account.login));
        on!(self, c => sqlx::query(SQL).bind(id).bind(&*host).bind(account.id).bind(&*login).execute(c).await.map(drop)?);
        Ok(())
    }

    /// Records an installation of a known workspace. `false`, and nothing done, when it
    /// is already deleted (a late delivery must not bring it back) or belongs to
    /// another workspace.
    pub async fn put_installation(
        &mut self,
        id: InstallationId,
        workspace: &WorkspaceId,
        state: InstallationState,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO installation (id, workspace, state) VALUES ($1, $2, $3) \
            ON CONFLICT (id) DO UPDATE SET state = excluded.state \
            WHERE installation.workspace = excluded.workspace AND installation.state <> 'deleted'";
        let done = on!(self, c => sqlx::query(SQL).bind(id).bind(workspace).bind(state).execute(c).await?.rows_affected());
        Ok(done == 1)
    }

    /// The workspace and state of an installation.
    pub async fn installation(
        &mut self,
        id: InstallationId,
    ) -> Result<Option<(WorkspaceId, InstallationState)>, StoreError> {
        const SQL: &str = "SELECT workspace, state FROM installation WHERE id = $1";
        Ok(on!(self, c => sqlx::query_as(SQL).bind(id).fetch_optional(c).await?))
    }

    /// Makes a repository of a known installation known, or its present owner, name
    /// and installation.
    pub async fn upsert_repo(&mut self, repo: &RepoRef) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO repo (workspace, id, installation, owner, name, reachable) \
            VALUES ($1, $2, $3, $4, $5, TRUE) \
            ON CONFLICT (workspace, id) DO UPDATE SET installation = excluded.installation, \
            owner = excluded.owner, name = excluded.name, reachable = TRUE";
        let (owner, name) = (storable(&repo.owner), storable(&repo.name));
        on!(self, c => sqlx::query(SQL).bind(&repo.workspace).bind(repo.id).bind(repo.installation)
            .bind(&*owner).bind(&*name).execute(c).await.map(drop)?);
        Ok(())
    }

    /// A reachable repository with its account's login and its installation's state, so
    /// that nothing need be written when all of it is known already.
    pub async fn known_repo(
        &mut self,
        workspace: &WorkspaceId,
        id: RepoId,
    ) -> Result<Option<KnownRepo>, StoreError> {
        const SQL: &str = "SELECT r.workspace, r.installation, r.id, r.owner, r.name, w.login, i.state FROM repo r \
            JOIN workspace w ON w.id = r.workspace JOIN installation i ON i.id = r.installation \
            WHERE r.workspace = $1 AND r.id = $2 AND r.reachable = TRUE";
        Ok(on!(self, c => sqlx::query_as(SQL).bind(workspace).bind(id).fetch_optional(c).await?))
    }

    /// A reachable repository as it is called now.
    pub async fn repo(&mut self, workspace: &WorkspaceId, id: RepoId) -> Result<Option<RepoRef>, StoreError> {
        const SQL: &str = "SELECT workspace, id, installation, owner, name FROM repo \
            WHERE workspace = $1 AND id = $2 AND reachable = TRUE";
        Ok(on!(self, c => sqlx::query_as(SQL).bind(workspace).bind(id).fetch_optional(c).await?))
    }

    /// Every repository that the installation reaches, by id.
    pub async fn repos_of(&mut self, installation: InstallationId) -> Result<Vec<RepoRef>, StoreError> {
        const SQL: &str = "SELECT workspace, id, installation, owner, name FROM repo \
            WHERE installation = $1 AND reachable = TRUE ORDER BY id";
        Ok(on!(self, c => sqlx::query_as(SQL).bind(installation).fetch_all(c).await?))
    }

    /// Marks repositories that the installation lost as unreachable and returns how
    /// many there were. One that another installation has taken over stays.
    pub async fn forget_repos(
        &mut self,
        installation: InstallationId,
        repos: &[RepoId],
    ) -> Result<u64, StoreError> {
        let mut forgotten = 0;
        for some in repos.chunks(CHUNK) {
            forgotten += match self {
                Self::Lite(tx) => {
                    let mut sql = forget_sql::<Sqlite>(installation, some);
                    sql.build()
                        .persistent(false)
                        .execute(&mut **tx)
                        .await?
                        .rows_affected()
                }
                Self::Pg(tx) => {
                    let mut sql = forget_sql::<Postgres>(installation, some);
                    sql.build()
                        .persistent(false)
                        .execute(&mut **tx)
                        .await?
                        .rows_affected()
                }
            };
        }
        Ok(forgotten)
    }
}

/// The statement behind [`Tx::forget_repos`].
fn forget_sql<DB: sqlx::Database>(installation: InstallationId, repos: &[RepoId]) -> QueryBuilder<DB>
where
    i64: sqlx::Type<DB> + for<'q> sqlx::Encode<'q, DB>,
{
    let mut sql =
        QueryBuilder::new("UPDATE repo SET reachable = FALSE WHERE reachable = TRUE AND installation = ");
    sql.push_bind(installation.0).push(" AND id IN (");
    let mut list = sql.separated(", ");
    for repo in repos {
        list.push_bind(repo.0);
    }
    sql.push(")");
    sql
}
