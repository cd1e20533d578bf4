//! Whether a delivery could be stored now, found out by storing one.
//!
//! A read tells nothing of it: a full disk, a read-only one and a standby all answer
//! reads. What is written is as large as an ordinary delivery and cannot be compressed,
//! so that it needs the room that one needs. It stays only until the next statement,
//! and no forge can send its id, which holds a space.

use crate::domain::time::Timestamp;

use super::{Db, StoreError, db::on};

const ID: &str = "readiness probe";

/// Bytes that are written.
const SIZE: usize = 32 << 10;

impl Db {
    /// Makes a delivery durable and takes it away again: two commits. It is `done` from
    /// the start, so that nobody works on it; one that a crash leaves behind is replaced
    /// by the next, or purged with the others.
    ///
    /// # Errors
    /// Whatever keeps a delivery from being stored.
    pub async fn try_store(&self, now: Timestamp) -> Result<(), StoreError> {
        const PUT: &str = "INSERT INTO delivery (id, seq, event, received_at, state, attempts, requeued) \
            VALUES ($1, 0, 'probe', $2, 'done', 0, 0) ON CONFLICT (id) DO UPDATE SET received_at = excluded.received_at";
        const BODY: &str = "INSERT INTO delivery_body (id, body) VALUES ($1, $2) \
            ON CONFLICT (id) DO UPDATE SET body = excluded.body";
        const TAKE: &str = "DELETE FROM delivery WHERE id = $1";
        let mut tx = self.write().await?;
        on!(&mut tx, c => {
            sqlx::query(PUT).bind(ID).bind(now).execute(&mut *c).await?;
            sqlx::query(BODY).bind(ID).bind(incompressible()).execute(c).await.map(drop)?;
        });
        tx.commit().await?;
        let mut tx = self.write().await?;
        on!(&mut tx, c => sqlx::query(TAKE).bind(ID).execute(c).await.map(drop)?);
        tx.commit().await
    }
}

/// Always the same bytes, from Marsaglia's xorshift.
fn incompressible() -> Vec<u8> {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    });
    words.take(SIZE / 8).flat_map(u64::to_le_bytes).collect()
}
