//! Jobs say *which*, never *what*.
//!
//! At most one ready and one running row per (kind, key): what happens while a job
//! runs coalesces into one follow-up. A claim is a lease; every claim has a fresh
//! text, every write of its holder carries it ([`Tx::fence`]), and a claim whose lease
//! ran out may be taken over, after which the old holder's writes are refused. A
//! finished job leaves no row, so claiming stays as quick as the queue is short.
//!
//! Races considered: two claims at once (SQLite has one writer; Postgres skips locked
//! rows, and the primary key refuses a second running row); enqueueing while the job
//! runs, fails or finishes (the ready row is a row of its own, merged on retry);
//! a takeover while the holder commits (the fence holds the row, and it is skipped).

use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use crate::domain::{time::Timestamp, words::words};

use super::{
    StoreError, Task, Tx,
    columns::{from_row, storable, text_column},
    db::on,
};

words! {
    /// What is to be done. The key says with which; [`Task`] has both.
    pub enum JobKind {
        /// [`Task::ReviewSpace`].
        ReviewSpace = "review_space",
        /// [`Task::SyncCheck`].
        SyncCheck = "sync_check",
        /// [`Task::SyncReview`].
        SyncReview = "sync_review",
        /// [`Task::ReadPull`].
        ReadPull = "read_pull",
        /// [`Task::ReadInstallation`].
        ReadInstallation = "read_installation",
        /// [`Task::ListPulls`].
        ListPulls = "list_pulls",
        /// [`Task::ListRepositories`].
        ListRepositories = "list_repositories",
        /// [`Task::ListInstallations`].
        ListInstallations = "list_installations",
    }
}

words! {
    /// Where a job stands.
    pub enum JobState {
        /// Waits for its time and a worker.
        Ready = "ready",
        /// A worker holds its lease.
        Running = "running",
        /// Given up; kept until the same job succeeds.
        Dead = "dead",
    }
}
text_column!(JobKind, JobState);

/// A claimed job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What is to be done.
    pub kind: JobKind,
    /// With which.
    pub key: String,
    /// How many times it was claimed since it last succeeded, this time included.
    pub attempts: i64,
    /// This claim: proves that we hold the lease.
    pub claim: String,
}

/// How many jobs of a kind are in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    /// The kind.
    pub kind: JobKind,
    /// The state.
    pub state: JobState,
    /// How many; at least 1.
    pub count: i64,
}

impl Job {
    /// What is to be done, and with which; `None` when the stored key is none of its kind.
    pub fn task(&self) -> Option<Task> {
        Task::read(self.kind, &self.key)
    }
}

from_row!(Job, row => Job {
    kind: row.try_get("kind")?,
    key: row.try_get("key")?,
    attempts: row.try_get("attempts")?,
    claim: row.try_get("claim")?,
});
from_row!(JobCount, row => JobCount {
    kind: row.try_get("kind")?,
    state: row.try_get("state")?,
    count: row.try_get("count")?,
});

/// Appended on Postgres to a sub-select that picks rows to claim.
pub(super) const PG_SKIP: &str = " FOR UPDATE SKIP LOCKED";

/// The job of the given kinds that has been due longest: `$1` = now. A ready one waits
/// for its running twin.
fn longest_due(kinds: &[JobKind]) -> String {
    let kinds: Vec<String> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
    format!(
        "SELECT j.kind, j.key, j.state FROM job j WHERE j.due_at <= $1 AND j.kind IN ({}) AND (j.state = 'running' \
         OR NOT EXISTS (SELECT 1 FROM job r WHERE r.kind = j.kind AND r.key = j.key AND r.state = 'running')) \
         ORDER BY j.due_at, j.kind, j.key LIMIT 1",
        kinds.join(", ")
    )
}

impl Tx {
    /// Asks for a job at or after `not_before`. When one is ready already it stays the
    /// only one and takes the earlier time.
    pub async fn enqueue(&mut self, task: &Task, not_before: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO job (kind, key, state, due_at, attempts) VALUES ($1, $2, 'ready', $3, 0) \
            ON CONFLICT (kind, key, state) DO UPDATE SET due_at = excluded.due_at WHERE job.due_at > excluded.due_at";
        let key = task.key();
        let key = storable(&key);
        on!(self, c => sqlx::query(SQL).bind(task.kind()).bind(&*key).bind(not_before).execute(c).await.map(drop)?);
        Ok(())
    }

    /// Claims the job of these kinds that has been due longest: a ready one that no
    /// worker runs, or one whose lease ran out. `claim` is fresh text; commit before
    /// the work starts.
    pub async fn claim_job(
        &mut self,
        now: Timestamp,
        lease_ms: i64,
        claim: &str,
        kinds: &[JobKind],
    ) -> Result<Option<Job>, StoreError> {
        if kinds.is_empty() {
            return Ok(None);
        }
        let skip = if matches!(self, Self::Pg(_)) { PG_SKIP } else { "" };
        let pick = longest_due(kinds);
        let sql = format!(
            "UPDATE job SET state = 'running', claim = $2, due_at = $3, attempts = attempts + 1 \
             WHERE (kind, key, state) = ({pick}{skip}) RETURNING kind, key, attempts, claim"
        );
        let sql = AssertSqlSafe(sql).into_sql_str();
        let claimed = on!(self, c => sqlx::query_as(sql).bind(now).bind(claim).bind(now.plus_ms(lease_ms))
            .fetch_optional(c).await);
        match claimed {
            // Another worker made the same key running in this moment.
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => Err(StoreError::Transient(
                "another worker claimed the same job".to_owned(),
            )),
            claimed => Ok(claimed?),
        }
    }

    /// Whether [`Tx::claim_job`] would find one of these kinds now.
    pub async fn is_job_due(&mut self, now: Timestamp, kinds: &[JobKind]) -> Result<bool, StoreError> {
        if kinds.is_empty() {
            return Ok(false);
        }
        let sql =
            AssertSqlSafe(format!("SELECT COUNT(*) FROM ({}) AS first", longest_due(kinds))).into_sql_str();
        let found: i64 = on!(self, c => sqlx::query_scalar(sql).bind(now).fetch_one(c).await?);
        Ok(found > 0)
    }

    /// Prolongs the lease to `lease_ms` from now. `false` when it was lost.
    pub async fn heartbeat(&mut self, job: &Job, now: Timestamp, lease_ms: i64) -> Result<bool, StoreError> {
        const SQL: &str =
            "UPDATE job SET due_at = $4 WHERE kind = $1 AND key = $2 AND state = 'running' AND claim = $3";
        Ok(
            on!(self, c => sqlx::query(SQL).bind(job.kind).bind(&job.key).bind(&job.claim)
            .bind(now.plus_ms(lease_ms)).execute(c).await?.rows_affected())
                == 1,
        )
    }

    /// Whether the claim still holds the job; nobody takes it over before this
    /// transaction ends. Every transaction in which a worker writes begins with it.
    pub async fn fence(&mut self, job: &Job) -> Result<bool, StoreError> {
        const SQL: &str =
            "UPDATE job SET claim = claim WHERE kind = $1 AND key = $2 AND state = 'running' AND claim = $3";
        Ok(
            on!(self, c => sqlx::query(SQL).bind(job.kind).bind(&job.key).bind(&job.claim).execute(c).await?
            .rows_affected())
                == 1,
        )
    }

    /// The job succeeded: its row and its dead letter go. `false`, and nothing done,
    /// when the lease was lost.
    pub async fn finish_job(&mut self, job: &Job) -> Result<bool, StoreError> {
        const DEAD: &str = "DELETE FROM job WHERE kind = $1 AND key = $2 AND state = 'dead'";
        if self.take_running(job).await?.is_none() {
            return Ok(false);
        }
        on!(self, c => sqlx::query(DEAD).bind(job.kind).bind(&job.key).execute(c).await.map(drop)?);
        Ok(true)
    }

    /// The job is to be tried again at or after `not_before`. A ready twin swallows it:
    /// the earlier time, the larger number of attempts. `false`, and nothing done, when
    /// the lease was lost.
    pub async fn retry_job(
        &mut self,
        job: &Job,
        not_before: Timestamp,
        error: &str,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO job (kind, key, state, due_at, attempts, error) VALUES ($1, $2, 'ready', $3, $4, $5) \
            ON CONFLICT (kind, key, state) DO UPDATE SET error = excluded.error, \
            due_at = CASE WHEN job.due_at > excluded.due_at THEN excluded.due_at ELSE job.due_at END, \
            attempts = CASE WHEN job.attempts > excluded.attempts THEN job.attempts ELSE excluded.attempts END";
        let Some(attempts) = self.take_running(job).await? else {
            return Ok(false);
        };
        let error = storable(error);
        on!(self, c => sqlx::query(SQL).bind(job.kind).bind(&job.key).bind(not_before).bind(attempts)
            .bind(&*error).execute(c).await.map(drop)?);
        Ok(true)
    }

    /// The job is given up and kept as a dead letter. `false`, and nothing done, when
    /// the lease was lost.
    pub async fn bury_job(&mut self, job: &Job, error: &str) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO job (kind, key, state, attempts, error) VALUES ($1, $2, 'dead', $3, $4) \
            ON CONFLICT (kind, key, state) DO UPDATE SET attempts = excluded.attempts, error = excluded.error";
        let Some(attempts) = self.take_running(job).await? else {
            return Ok(false);
        };
        let error = storable(error);
        on!(self, c => sqlx::query(SQL).bind(job.kind).bind(&job.key).bind(attempts).bind(&*error)
            .execute(c).await.map(drop)?);
        Ok(true)
    }

    /// Removes the running row of the claim; its attempts, or `None` when the lease was lost.
    async fn take_running(&mut self, job: &Job) -> Result<Option<i64>, StoreError> {
        const SQL: &str = "DELETE FROM job WHERE kind = $1 AND key = $2 AND state = 'running' AND claim = $3 \
            RETURNING attempts";
        Ok(
            on!(self, c => sqlx::query_scalar(SQL).bind(job.kind).bind(&job.key).bind(&job.claim)
            .fetch_optional(c).await?),
        )
    }

    /// Whether the job was given up and did not succeed since.
    pub async fn is_dead(&mut self, task: &Task) -> Result<bool, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM job WHERE kind = $1 AND key = $2 AND state = 'dead'";
        let key = task.key();
        let key = storable(&key);
        let count: i64 =
            on!(self, c => sqlx::query_scalar(SQL).bind(task.kind()).bind(&*key).fetch_one(c).await?);
        Ok(count > 0)
    }

    /// Ends every lease, on jobs and deliveries alike. Only for a process that knows
    /// that it is the only one: at the start of a server whose database is its own.
    pub async fn release_leases(&mut self, now: Timestamp) -> Result<(), StoreError> {
        const JOBS: &str = "UPDATE job SET due_at = $1 WHERE state = 'running' AND due_at > $1";
        const DELIVERIES: &str = "UPDATE delivery SET due_at = $1 WHERE state = 'running' AND due_at > $1";
        on!(self, c => {
            sqlx::query(JOBS).bind(now).execute(&mut *c).await?;
            sqlx::query(DELIVERIES).bind(now).execute(c).await?;
        });
        Ok(())
    }

    /// Makes due at `now` what is due at times that no clock of ours gives: leases of jobs
    /// and deliveries that end after `leased`, and what waits until after `ahead`.
    /// Returns how many there were. A holder that is alive and loses its lease so is
    /// fenced like any other.
    pub async fn bring_forward(
        &mut self,
        now: Timestamp,
        leased: Timestamp,
        ahead: Timestamp,
    ) -> Result<u64, StoreError> {
        const JOBS: &str = "UPDATE job SET due_at = $1 WHERE (state = 'running' AND due_at > $2) \
            OR (state = 'ready' AND due_at > $3)";
        const DELIVERIES: &str = "UPDATE delivery SET due_at = $1 WHERE due_at IS NOT NULL \
            AND ((state = 'running' AND due_at > $2) OR (state = 'queued' AND due_at > $3))";
        let mut brought = 0;
        for sql in [JOBS, DELIVERIES] {
            brought += on!(self, c => sqlx::query(sql).bind(now).bind(leased).bind(ahead).execute(c).await?
                .rows_affected());
        }
        Ok(brought)
    }

    /// How many jobs there are, by kind and state.
    pub async fn job_counts(&mut self) -> Result<Vec<JobCount>, StoreError> {
        const SQL: &str =
            "SELECT kind, state, COUNT(*) AS count FROM job GROUP BY kind, state ORDER BY kind, state";
        Ok(on!(self, c => sqlx::query_as(SQL).fetch_all(c).await?))
    }
}
