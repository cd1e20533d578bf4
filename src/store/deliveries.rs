//! The deliveries of the inbox on their way: claimed, done, tried again, given up, purged.
//!
//! Taking from the inbox is a lease, like a job's. A body lies apart from its row and is
//! read with the claim.

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, Postgres, QueryBuilder, SqlSafeStr as _, Sqlite};

use crate::domain::{ids::DeliveryId, time::Timestamp};

use super::{
    StoreError, Tx,
    columns::{from_row, storable},
    db::on,
    inbox::MAX_BODY,
    jobs::PG_SKIP,
};

/// A claimed delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The forge's id.
    pub id: DeliveryId,
    /// The event's name.
    pub event: String,
    /// The payload as it came.
    pub body: Vec<u8>,
    /// How many times it was claimed, this time included.
    pub attempts: i64,
    /// When it came in.
    pub received_at: Timestamp,
    /// The order of arrival.
    pub seq: i64,
}

/// How many deliveries are on their way. Those that are done are not counted: that
/// would take longer the more there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliveryCounts {
    /// Waiting.
    pub queued: i64,
    /// Claimed.
    pub running: i64,
    /// Given up.
    pub dead: i64,
}

/// `sql`, which ends with an open list, and the ids in it.
fn among<'i, DB: sqlx::Database>(
    sql: &'static str,
    ids: impl IntoIterator<Item = &'i DeliveryId>,
) -> QueryBuilder<DB>
where
    String: sqlx::Type<DB> + for<'q> sqlx::Encode<'q, DB>,
{
    let mut sql = QueryBuilder::new(sql);
    let mut list = sql.separated(", ");
    for id in ids {
        list.push_bind(storable(id.as_str()).into_owned());
    }
    sql.push(")");
    sql
}

/// A claimed row, without its body.
pub(super) struct Claimed(pub(super) Delivery);

from_row!(Claimed, row => Claimed(Delivery {
    id: row.try_get("id")?,
    event: row.try_get("event")?,
    body: Vec::new(),
    attempts: row.try_get("attempts")?,
    received_at: row.try_get("received_at")?,
    seq: row.try_get("seq")?,
}));

/// Undoes the compression; the stored length is bounded and must be met.
pub(super) fn decompress(stored: &[u8]) -> Option<Vec<u8>> {
    let (size, _) = lz4_flex::block::uncompressed_size(stored).ok()?;
    let body = (size <= MAX_BODY).then(|| lz4_flex::decompress_size_prepended(stored).ok())??;
    (body.len() == size).then_some(body)
}

impl Tx {
    /// Claims up to `limit` deliveries in the order of arrival: queued ones whose time has
    /// come, and those whose lease ran out. `claim` is fresh text; commit before the work
    /// starts. A delivery whose stored body is damaged is buried, not returned.
    pub async fn claim_deliveries(
        &mut self,
        now: Timestamp,
        lease_ms: i64,
        claim: &str,
        limit: i64,
    ) -> Result<Vec<Delivery>, StoreError> {
        let skip = if matches!(self, Self::Pg(_)) { PG_SKIP } else { "" };
        // Materialized: picked once, however the update is planned.
        let sql = format!(
            "WITH due AS MATERIALIZED (SELECT d.id FROM delivery d WHERE d.due_at <= $1 ORDER BY d.seq LIMIT $4{skip}) \
             UPDATE delivery SET state = 'running', claim = $2, due_at = $3, attempts = attempts + 1 \
             WHERE id IN (SELECT id FROM due) RETURNING id, event, attempts, received_at, seq"
        );
        let sql = AssertSqlSafe(sql).into_sql_str();
        let rows: Vec<Claimed> = on!(self, c => sqlx::query_as(sql).bind(now).bind(claim)
            .bind(now.plus_ms(lease_ms)).bind(limit).fetch_all(c).await?);
        let mut bodies = self.bodies(&rows).await?;
        let mut deliveries = Vec::with_capacity(rows.len());
        for Claimed(mut delivery) in rows {
            match bodies.remove(&delivery.id).as_deref().and_then(decompress) {
                Some(body) => {
                    delivery.body = body;
                    deliveries.push(delivery);
                }
                None => {
                    self.bury_delivery(&delivery.id, claim, "the stored body is damaged")
                        .await?;
                }
            }
        }
        deliveries.sort_by(|a, b| (a.seq, &a.id).cmp(&(b.seq, &b.id)));
        Ok(deliveries)
    }

    /// The stored bodies of deliveries, still compressed.
    pub(super) async fn bodies(
        &mut self,
        claimed: &[Claimed],
    ) -> Result<HashMap<DeliveryId, Vec<u8>>, StoreError> {
        if claimed.is_empty() {
            return Ok(HashMap::new());
        }
        let ids = claimed.iter().map(|Claimed(delivery)| &delivery.id);
        let rows: Vec<(DeliveryId, Vec<u8>)> = match self {
            Self::Lite(tx) => {
                let mut sql = among::<Sqlite>("SELECT id, body FROM delivery_body WHERE id IN (", ids);
                sql.build_query_as()
                    .persistent(false)
                    .fetch_all(&mut **tx)
                    .await?
            }
            Self::Pg(tx) => {
                let mut sql = among::<Postgres>("SELECT id, body FROM delivery_body WHERE id IN (", ids);
                sql.build_query_as()
                    .persistent(false)
                    .fetch_all(&mut **tx)
                    .await?
            }
        };
        Ok(rows.into_iter().collect())
    }

    /// Whether [`Tx::claim_deliveries`] would find one now.
    pub async fn is_delivery_due(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM delivery WHERE due_at <= $1 LIMIT 1) AS first";
        let found: i64 = on!(self, c => sqlx::query_scalar(SQL).bind(now).fetch_one(c).await?);
        Ok(found > 0)
    }

    /// The delivery is done. `false`, and nothing done, when the lease was lost.
    pub async fn finish_delivery(&mut self, id: &DeliveryId, claim: &str) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE delivery SET state = 'done', due_at = NULL, claim = NULL, error = NULL \
            WHERE id = $1 AND state = 'running' AND claim = $2";
        Ok(on!(self, c => sqlx::query(SQL).bind(id).bind(claim).execute(c).await?.rows_affected()) == 1)
    }

    /// The deliveries of one claim are done. `false` when the lease of one of them was
    /// lost: then the caller drops the transaction, and none is.
    pub async fn finish_deliveries(&mut self, ids: &[DeliveryId], claim: &str) -> Result<bool, StoreError> {
        const FINISH: &str = "UPDATE delivery SET state = 'done', due_at = NULL, claim = NULL, error = NULL \
            WHERE state = 'running' AND id IN (";
        let finished = match self {
            Self::Lite(tx) => {
                let mut sql = among::<Sqlite>(FINISH, ids);
                sql.push(" AND claim = ").push_bind(claim);
                sql.build()
                    .persistent(false)
                    .execute(&mut **tx)
                    .await?
                    .rows_affected()
            }
            Self::Pg(tx) => {
                let mut sql = among::<Postgres>(FINISH, ids);
                sql.push(" AND claim = ").push_bind(claim);
                sql.build()
                    .persistent(false)
                    .execute(&mut **tx)
                    .await?
                    .rows_affected()
            }
        };
        Ok(usize::try_from(finished).is_ok_and(|n| n == ids.len()))
    }

    /// The delivery is to be tried again at or after `not_before`; it keeps its place in
    /// the order. `false`, and nothing done, when the lease was lost.
    pub async fn retry_delivery(
        &mut self,
        id: &DeliveryId,
        claim: &str,
        not_before: Timestamp,
        error: &str,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE delivery SET state = 'queued', due_at = $3, claim = NULL, error = $4 \
            WHERE id = $1 AND state = 'running' AND claim = $2";
        let error = storable(error);
        Ok(
            on!(self, c => sqlx::query(SQL).bind(id).bind(claim).bind(not_before).bind(&*error)
            .execute(c).await?.rows_affected())
                == 1,
        )
    }

    /// The delivery is given up and kept as a dead letter; a redelivery queues it again.
    /// `false`, and nothing done, when the lease was lost.
    pub async fn bury_delivery(
        &mut self,
        id: &DeliveryId,
        claim: &str,
        error: &str,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE delivery SET state = 'dead', due_at = NULL, claim = NULL, error = $3 \
            WHERE id = $1 AND state = 'running' AND claim = $2";
        let error = storable(error);
        Ok(
            on!(self, c => sqlx::query(SQL).bind(id).bind(claim).bind(&*error).execute(c).await?.rows_affected())
                == 1,
        )
    }

    /// How many deliveries are on their way or given up.
    pub async fn delivery_counts(&mut self) -> Result<DeliveryCounts, StoreError> {
        const SQL: &str = "SELECT \
            (SELECT COUNT(*) FROM delivery WHERE due_at IS NOT NULL AND state = 'queued') AS queued, \
            (SELECT COUNT(*) FROM delivery WHERE due_at IS NOT NULL AND state = 'running') AS running, \
            (SELECT COUNT(*) FROM delivery WHERE state = 'dead') AS dead";
        let (queued, running, dead) = on!(self, c => sqlx::query_as(SQL).fetch_one(c).await?);
        Ok(DeliveryCounts {
            queued,
            running,
            dead,
        })
    }

    /// Deletes deliveries that are done or dead and came in before `before`, at most
    /// 1000 of them, and returns how many; call again until it is 0.
    pub async fn purge_deliveries(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM delivery WHERE due_at IS NULL AND id IN (SELECT id FROM delivery \
            WHERE due_at IS NULL AND received_at < $1 ORDER BY received_at LIMIT 1000)";
        Ok(on!(self, c => sqlx::query(SQL).bind(before).execute(c).await?.rows_affected()))
    }
}
