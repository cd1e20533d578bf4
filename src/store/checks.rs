//! What check runs should show against what they show.
//!
//! A check belongs to (repository, head, name). `want` and `want_rev` are what it
//! should show; `sent_rev` is the last want that the forge took. A completed check
//! run is never reopened by the forge: a new one is another *generation* with its own
//! `external_id`, stored before the request that makes it, so that after an unknown
//! outcome it can be looked for.

use std::{fmt, str::FromStr};

use crate::domain::{
    ids::{CheckRunId, RepoId, Sha, WorkspaceId},
    time::Timestamp,
};

use super::{
    StoreError, Tx,
    columns::{from_row, storable},
    db::on,
};

/// Which check. Text form, also the key of its job: the four parts with spaces between.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CheckKey {
    /// The tenant; no spaces.
    pub workspace: WorkspaceId,
    /// The repository.
    pub repo: RepoId,
    /// The head.
    pub sha: Sha,
    /// The check's name, e.g. `jury`; may hold spaces.
    pub name: String,
}

impl fmt::Display for CheckKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.workspace, self.repo, self.sha, self.name)
    }
}

/// Text that is no check key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a check key: <workspace> <repository> <sha> <name>")]
pub struct NotACheckKey;

impl FromStr for CheckKey {
    type Err = NotACheckKey;

    fn from_str(text: &str) -> Result<Self, NotACheckKey> {
        let mut parts = text.splitn(4, ' ');
        let mut part = || parts.next().filter(|p| !p.is_empty()).ok_or(NotACheckKey);
        Ok(Self {
            workspace: WorkspaceId::new(part()?),
            repo: RepoId(part()?.parse().map_err(|_| NotACheckKey)?),
            sha: part()?.parse().map_err(|_| NotACheckKey)?,
            name: part()?.to_owned(),
        })
    }
}

/// A check as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRow {
    /// Which.
    pub key: CheckKey,
    /// What it should show: the caller's JSON, byte for byte.
    pub want: Vec<u8>,
    /// Whether that is a completed check.
    pub want_completed: bool,
    /// Raised by one whenever `want` changes; starts at 1.
    pub want_rev: i64,
    /// The `want_rev` that the forge took last; 0 = none.
    pub sent_rev: i64,
    /// How many check runs were made or about to be made for it.
    pub generation: i64,
    /// What the check run of this generation is called by us.
    pub external_id: Option<String>,
    /// The check run of this generation; `None` until the forge answered.
    pub forge_id: Option<CheckRunId>,
    /// Whether that check run was completed by the last thing sent.
    pub completed: bool,
    /// When the request was about to be sent whose outcome is not known yet.
    pub intent_at: Option<Timestamp>,
}

impl CheckRow {
    /// Whether the forge shows what it should.
    pub fn is_sent(&self) -> bool {
        self.sent_rev >= self.want_rev
    }
}

from_row!(CheckRow, row => CheckRow {
    key: CheckKey {
        workspace: row.try_get("workspace")?,
        repo: row.try_get("repo")?,
        sha: row.try_get("sha")?,
        name: row.try_get("name")?,
    },
    want: row.try_get("want")?,
    want_completed: row.try_get("want_completed")?,
    want_rev: row.try_get("want_rev")?,
    sent_rev: row.try_get("sent_rev")?,
    generation: row.try_get("generation")?,
    external_id: row.try_get("external_id")?,
    forge_id: row.try_get("forge_id")?,
    completed: row.try_get("completed")?,
    intent_at: row.try_get("intent_at")?,
});

macro_rules! checks_where {
    ($condition:literal) => {
        concat!(
            "SELECT c.workspace, c.repo, c.sha, c.name, c.want, c.want_completed, c.want_rev, c.sent_rev, \
             c.generation, c.external_id, c.forge_id, c.completed, c.intent_at FROM check_run c WHERE ",
            $condition
        )
    };
}

impl Tx {
    /// Keeps every other transaction that calls this for the same check waiting until this
    /// one ends, whether or not the check is stored yet. What is read after it includes all
    /// that those before it wrote; so who works out a want from several rows calls it first.
    /// On SQLite a transaction that writes is alone anyway.
    pub async fn lock_check(&mut self, key: &CheckKey) -> Result<(), StoreError> {
        const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
        match self {
            Self::Lite(_) => {}
            Self::Pg(tx) => {
                let key = key.to_string();
                sqlx::query(SQL)
                    .bind(&*storable(&key))
                    .execute(&mut **tx)
                    .await
                    .map(drop)?;
            }
        }
        Ok(())
    }

    /// Says what a check should show (`completed`: whether that is a completed check)
    /// and returns the want's revision. The same want again changes nothing.
    pub async fn want_check(
        &mut self,
        key: &CheckKey,
        want: &[u8],
        completed: bool,
    ) -> Result<i64, StoreError> {
        const PUT: &str = "INSERT INTO check_run (workspace, repo, sha, name, want, want_completed, want_rev) \
            VALUES ($1, $2, $3, $4, $5, $6, 1) ON CONFLICT (workspace, repo, sha, name) DO UPDATE SET \
            want_rev = CASE WHEN check_run.want = excluded.want AND check_run.want_completed = excluded.want_completed \
            THEN check_run.want_rev ELSE check_run.want_rev + 1 END, \
            want = excluded.want, want_completed = excluded.want_completed RETURNING want_rev";
        let name = storable(&key.name);
        Ok(
            on!(self, c => sqlx::query_scalar(PUT).bind(&key.workspace).bind(key.repo).bind(&key.sha)
            .bind(&*name).bind(want).bind(completed).fetch_one(c).await?),
        )
    }

    /// A check.
    pub async fn check(&mut self, key: &CheckKey) -> Result<Option<CheckRow>, StoreError> {
        const SQL: &str = checks_where!("c.workspace = $1 AND c.repo = $2 AND c.sha = $3 AND c.name = $4");
        let name = storable(&key.name);
        Ok(
            on!(self, c => sqlx::query_as(SQL).bind(&key.workspace).bind(key.repo).bind(&key.sha)
            .bind(&*name).fetch_optional(c).await?),
        )
    }

    /// A request is about to be sent: to make a check run called `new_run` (the next
    /// generation), or to change the one there is.
    pub async fn intend_check(
        &mut self,
        key: &CheckKey,
        new_run: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const MAKE: &str = "UPDATE check_run SET intent_at = $5, external_id = $6, generation = generation + 1, \
            forge_id = NULL, completed = FALSE WHERE workspace = $1 AND repo = $2 AND sha = $3 AND name = $4";
        const CHANGE: &str = "UPDATE check_run SET intent_at = $5 \
            WHERE workspace = $1 AND repo = $2 AND sha = $3 AND name = $4";
        let name = storable(&key.name);
        on!(self, c => {
            let intend = sqlx::query(if new_run.is_some() { MAKE } else { CHANGE })
                .bind(&key.workspace).bind(key.repo).bind(&key.sha).bind(&*name).bind(now);
            match new_run {
                Some(id) => intend.bind(id).execute(c).await.map(drop)?,
                None => intend.execute(c).await.map(drop)?,
            }
        });
        Ok(())
    }

    /// The request that was intended was not carried out, for certain.
    pub async fn forget_check_intent(&mut self, key: &CheckKey) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE check_run SET intent_at = NULL \
            WHERE workspace = $1 AND repo = $2 AND sha = $3 AND name = $4";
        let name = storable(&key.name);
        on!(self, c => sqlx::query(SQL).bind(&key.workspace).bind(key.repo).bind(&key.sha).bind(&*name)
            .execute(c).await.map(drop)?);
        Ok(())
    }

    /// The forge took the want of `rev` into the check run `forge_id`, which is now
    /// `completed` or not. `settled`: no earlier request can still take effect.
    pub async fn sent_check(
        &mut self,
        key: &CheckKey,
        rev: i64,
        forge_id: CheckRunId,
        completed: bool,
        settled: bool,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE check_run SET sent_rev = $5, forge_id = $6, completed = $7, \
            intent_at = CASE WHEN $8 THEN NULL ELSE intent_at END \
            WHERE workspace = $1 AND repo = $2 AND sha = $3 AND name = $4 AND sent_rev <= $5";
        let name = storable(&key.name);
        on!(self, c => sqlx::query(SQL).bind(&key.workspace).bind(key.repo).bind(&key.sha).bind(&*name)
            .bind(rev).bind(forge_id).bind(completed).bind(settled).execute(c).await.map(drop)?);
        Ok(())
    }

    /// Checks that do not show what they should, in repositories that are reachable now.
    pub async fn unsent_checks(&mut self, limit: i64) -> Result<Vec<CheckRow>, StoreError> {
        const SQL: &str = checks_where!(
            "c.want_rev > c.sent_rev AND EXISTS (SELECT 1 FROM repo r JOIN installation i ON i.id = r.installation \
             WHERE r.workspace = c.workspace AND r.id = c.repo AND r.reachable = TRUE AND i.state = 'active') LIMIT $1"
        );
        Ok(on!(self, c => sqlx::query_as(SQL).bind(limit).fetch_all(c).await?))
    }

    /// Checks in reachable repositories that should show that something is going on:
    /// each needs a pass that will end.
    pub async fn checks_in_progress(&mut self, limit: i64) -> Result<Vec<CheckRow>, StoreError> {
        const SQL: &str = checks_where!(
            "c.want_completed = FALSE AND EXISTS (SELECT 1 FROM repo r JOIN installation i ON i.id = r.installation \
             WHERE r.workspace = c.workspace AND r.id = c.repo AND r.reachable = TRUE AND i.state = 'active') LIMIT $1"
        );
        Ok(on!(self, c => sqlx::query_as(SQL).bind(limit).fetch_all(c).await?))
    }

    /// Those of [`Tx::checks_in_progress`] for whose head no pass runs: one is about to
    /// begin, or what they should show was worked out from facts that have changed since.
    pub async fn stalled_checks(&mut self, limit: i64) -> Result<Vec<CheckRow>, StoreError> {
        const SQL: &str = checks_where!(
            "c.want_completed = FALSE AND EXISTS (SELECT 1 FROM repo r JOIN installation i ON i.id = r.installation \
             WHERE r.workspace = c.workspace AND r.id = c.repo AND r.reachable = TRUE AND i.state = 'active') \
             AND NOT EXISTS (SELECT 1 FROM space s JOIN pass p ON p.space = s.id WHERE s.workspace = c.workspace \
             AND s.repo = c.repo AND s.head = c.sha AND s.state = 'open' AND p.outcome IS NULL) LIMIT $1"
        );
        Ok(on!(self, c => sqlx::query_as(SQL).bind(limit).fetch_all(c).await?))
    }
}
