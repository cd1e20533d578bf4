//! Deliveries that came in once and are looked at, or taken in, again.

use crate::domain::{ids::DeliveryId, time::Timestamp};

use super::{
    Delivery, StoreError, Tx,
    db::on,
    deliveries::{Claimed, decompress},
};

/// What became of the wish to take a delivery in again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeued {
    /// It is queued.
    Yes,
    /// It waits or is being worked on already.
    Underway,
    /// There is none with this id.
    Unknown,
}

impl Tx {
    /// A stored delivery, as it came; `None` when there is none with this id.
    pub async fn delivery(&mut self, id: &DeliveryId) -> Result<Option<Delivery>, StoreError> {
        const SQL: &str = "SELECT id, event, attempts, received_at, seq FROM delivery WHERE id = $1";
        let row: Option<Claimed> = on!(self, c => sqlx::query_as(SQL).bind(id).fetch_optional(c).await?);
        let Some(row) = row else { return Ok(None) };
        let body = self.bodies(std::slice::from_ref(&row)).await?.remove(&row.0.id);
        let Claimed(mut delivery) = row;
        delivery.body = body
            .as_deref()
            .and_then(decompress)
            .ok_or_else(|| StoreError::Internal("the stored body is damaged".to_owned()))?;
        Ok(Some(delivery))
    }

    /// Queues a delivery that is done or dead once more, as a redelivery of a dead one
    /// does. The body that is stored is taken.
    pub async fn requeue_delivery(
        &mut self,
        id: &DeliveryId,
        now: Timestamp,
    ) -> Result<Requeued, StoreError> {
        const SQL: &str = "UPDATE delivery SET state = 'queued', due_at = $2, attempts = 0, claim = NULL, error = NULL, \
            requeued = requeued + 1 WHERE id = $1 AND state IN ('done', 'dead')";
        const KNOWN: &str = "SELECT COUNT(*) FROM delivery WHERE id = $1";
        let queued = on!(self, c => sqlx::query(SQL).bind(id).bind(now).execute(c).await?.rows_affected());
        if queued == 1 {
            return Ok(Requeued::Yes);
        }
        let known: i64 = on!(self, c => sqlx::query_scalar(KNOWN).bind(id).fetch_one(c).await?);
        Ok(if known == 0 {
            Requeued::Unknown
        } else {
            Requeued::Underway
        })
    }
}
