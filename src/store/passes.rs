//! Passes and what each reviewer contributed to them.
//!
//! A pass ends once. Ending it as `finalized` takes the space's row first, so that a
//! move of the space comes wholly before (and the end is refused) or wholly after.

use serde::{Serialize, de::DeserializeOwned};

use crate::domain::{
    ids::{PassId, Sha, SpaceId},
    policy::Gate,
    review::{
        coverage::Coverage,
        pass::{Outcome, Pass},
        reviewer::Contribution,
        snapshot::PassSnapshot,
    },
    time::Timestamp,
};

use super::{
    StoreError, Tx,
    columns::{from_row, storable},
    db::on,
};

macro_rules! passes_where {
    ($condition:literal) => {
        concat!(
            "SELECT id, space, rev, origin, head, merge_base, gate, started_at, deadline_at, outcome, note, coverage, \
             snapshot, finished_at FROM pass WHERE ",
            $condition
        )
    };
}

from_row!(Pass, row => Pass {
    id: row.try_get("id")?,
    space: row.try_get("space")?,
    rev: row.try_get("rev")?,
    origin: row.try_get("origin")?,
    head: row.try_get("head")?,
    merge_base: row.try_get("merge_base")?,
    gate: row.try_get("gate")?,
    started_at: row.try_get("started_at")?,
    deadline_at: row.try_get("deadline_at")?,
    outcome: row.try_get("outcome")?,
    note: row.try_get("note")?,
    coverage: from_json("coverage", row.try_get("coverage")?)?,
    snapshot: from_json("snapshot", row.try_get("snapshot")?)?,
    finished_at: row.try_get("finished_at")?,
});

from_row!(Contribution, row => Contribution {
    reviewer: row.try_get("reviewer")?,
    axis: row.try_get("axis")?,
    state: row.try_get("state")?,
    note: row.try_get("note")?,
});

/// JSON of ours is stored byte for byte: `JSONB` would reorder keys and refuse NUL.
fn to_json<T: Serialize>(value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| StoreError::Internal(error.to_string()))
}

fn from_json<T: DeserializeOwned>(column: &str, bytes: Option<Vec<u8>>) -> sqlx::Result<Option<T>> {
    let Some(bytes) = bytes else { return Ok(None) };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| sqlx::Error::ColumnDecode {
            index: column.to_owned(),
            source: Box::new(error),
        })
}

impl Tx {
    /// Opens a pass. `false`, and nothing done, when the space has one of this revision.
    pub async fn open_pass(&mut self, pass: &Pass) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO pass (id, space, rev, origin, head, merge_base, started_at, deadline_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (space, rev) DO NOTHING";
        let done = on!(self, c => sqlx::query(SQL).bind(&pass.id).bind(&pass.space).bind(pass.rev)
            .bind(pass.origin).bind(&pass.head).bind(pass.merge_base.as_ref()).bind(pass.started_at)
            .bind(pass.deadline_at).execute(c).await?.rows_affected());
        Ok(done == 1)
    }

    /// A pass by its id.
    pub async fn pass(&mut self, id: &PassId) -> Result<Option<Pass>, StoreError> {
        const SQL: &str = passes_where!("id = $1");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(id).fetch_optional(c).await?))
    }

    /// The pass of one revision of a space.
    pub async fn pass_at(&mut self, space: &SpaceId, rev: i64) -> Result<Option<Pass>, StoreError> {
        const SQL: &str = passes_where!("space = $1 AND rev = $2");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(space).bind(rev).fetch_optional(c).await?))
    }

    /// The pass of the space that has not ended.
    pub async fn running_pass(&mut self, space: &SpaceId) -> Result<Option<Pass>, StoreError> {
        const SQL: &str = passes_where!("space = $1 AND outcome IS NULL ORDER BY rev LIMIT 1");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(space).fetch_optional(c).await?))
    }

    /// Spaces with a pass that has not ended, and open ones whose revision should have
    /// one and has none: reachable ones only, and without those a job waits for or runs
    /// on. A job that was given up does not count: its pass still has to end.
    pub async fn spaces_to_tend(&mut self, limit: i64) -> Result<Vec<SpaceId>, StoreError> {
        // Two short lists by their own indexes; closed spaces are never looked at.
        const SQL: &str = "SELECT s.id FROM space s \
            JOIN repo r ON r.workspace = s.workspace AND r.id = s.repo JOIN installation i ON i.id = r.installation \
            WHERE s.id IN (SELECT p.space FROM pass p WHERE p.outcome IS NULL UNION SELECT o.id FROM space o \
            WHERE o.state = 'open' AND o.draft = FALSE AND o.kind = 'pull_request' \
            AND NOT EXISTS (SELECT 1 FROM pass q WHERE q.space = o.id AND q.rev = o.rev)) \
            AND r.reachable = TRUE AND i.state = 'active' AND NOT EXISTS (SELECT 1 FROM job j \
            WHERE j.kind = 'review_space' AND j.key = s.id AND j.state IN ('ready', 'running')) \
            ORDER BY s.id LIMIT $1";
        Ok(on!(self, c => sqlx::query_scalar(SQL).bind(limit).fetch_all(c).await?))
    }

    /// Every pass of a space, by revision.
    pub async fn passes(&mut self, space: &SpaceId) -> Result<Vec<Pass>, StoreError> {
        const SQL: &str = passes_where!("space = $1 ORDER BY rev");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(space).fetch_all(c).await?))
    }

    /// The finalized pass with the highest revision.
    pub async fn latest_finalized(&mut self, space: &SpaceId) -> Result<Option<Pass>, StoreError> {
        const SQL: &str = passes_where!("space = $1 AND outcome = 'finalized' ORDER BY rev DESC LIMIT 1");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(space).fetch_optional(c).await?))
    }

    /// The change was read. `false`, and nothing done, when the pass has ended.
    pub async fn record_gathered(
        &mut self,
        pass: &PassId,
        merge_base: &Sha,
        gate: Gate,
        coverage: &Coverage,
    ) -> Result<bool, StoreError> {
        const SQL: &str =
            "UPDATE pass SET merge_base = $2, coverage = $3, gate = $4 WHERE id = $1 AND outcome IS NULL";
        let coverage = to_json(coverage)?;
        let done = on!(self, c => sqlx::query(SQL).bind(pass).bind(merge_base).bind(coverage).bind(gate).execute(c).await?
            .rows_affected());
        Ok(done == 1)
    }

    /// Gives a pass that has not ended so many milliseconds more.
    pub async fn prolong_pass(&mut self, pass: &Pass, by_ms: i64) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE pass SET deadline_at = $2 WHERE id = $1 AND outcome IS NULL";
        let deadline = pass.deadline_at.plus_ms(by_ms);
        on!(self, c => sqlx::query(SQL).bind(&pass.id).bind(deadline).execute(c).await.map(drop)?);
        Ok(())
    }

    /// Ends a pass. `false`, and nothing done, when it has ended already, or when it
    /// should be `finalized` (only then is a snapshot stored) and its space has moved on.
    pub async fn end_pass(
        &mut self,
        pass: &Pass,
        outcome: Outcome,
        note: Option<&str>,
        snapshot: Option<&PassSnapshot>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        // Takes the row: on Postgres a concurrent move waits for us, or we for it.
        const HOLD: &str = "UPDATE space SET rev = rev WHERE id = $1 AND rev = $2";
        const END: &str = "UPDATE pass SET outcome = $2, note = $3, snapshot = $4, finished_at = $5 \
            WHERE id = $1 AND outcome IS NULL";
        let finalized = outcome == Outcome::Finalized;
        if finalized != snapshot.is_some() {
            return Err(StoreError::Internal(
                "a pass has a snapshot exactly when it is finalized".to_owned(),
            ));
        }
        let snapshot = snapshot.map(to_json).transpose()?;
        let note = note.map(storable);
        let done = on!(self, c => {
            if finalized {
                let held = sqlx::query(HOLD).bind(&pass.space).bind(pass.rev).execute(&mut *c).await?;
                if held.rows_affected() == 0 {
                    return Ok(false);
                }
            }
            sqlx::query(END).bind(&pass.id).bind(outcome).bind(note.as_deref()).bind(snapshot).bind(now)
                .execute(c).await?.rows_affected()
        });
        Ok(done == 1)
    }

    /// Records how far a reviewer came; the last word counts.
    pub async fn put_contribution(
        &mut self,
        pass: &PassId,
        contribution: &Contribution,
    ) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO contribution (pass, reviewer, axis, state, note) VALUES ($1, $2, $3, $4, $5) \
            ON CONFLICT (pass, reviewer) DO UPDATE SET axis = excluded.axis, state = excluded.state, note = excluded.note";
        let reviewer = storable(&contribution.reviewer);
        let note = contribution.note.as_deref().map(storable);
        on!(self, c => sqlx::query(SQL).bind(pass).bind(&*reviewer).bind(contribution.axis)
            .bind(contribution.state).bind(note.as_deref()).execute(c).await.map(drop)?);
        Ok(())
    }

    /// What every reviewer that was asked contributed, by name.
    pub async fn contributions(&mut self, pass: &PassId) -> Result<Vec<Contribution>, StoreError> {
        const SQL: &str =
            "SELECT reviewer, axis, state, note FROM contribution WHERE pass = $1 ORDER BY reviewer";
        Ok(on!(self, c => sqlx::query_as(SQL).bind(pass).fetch_all(c).await?))
    }
}
