//! At most one review a pass: what it should say and whether it was said.

use crate::domain::{
    ids::{PassId, ReviewId, SpaceId},
    time::Timestamp,
    words::words,
};

use super::{
    StoreError, Tx,
    columns::{from_row, storable, text_column},
    db::on,
};

words! {
    /// How far a review came.
    pub enum ReviewState {
        /// To be sent.
        Wanted = "wanted",
        /// A request was about to be sent; its outcome is not known yet.
        Sending = "sending",
        /// On the forge.
        Sent = "sent",
        /// Not to be sent any more; the reason says why.
        Dropped = "dropped",
    }
}
text_column!(ReviewState);

/// A review as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRow {
    /// The pass it speaks for.
    pub pass: PassId,
    /// The space of that pass.
    pub space: SpaceId,
    /// What it should say: the caller's JSON, byte for byte.
    pub want: Vec<u8>,
    /// How it is submitted, in the forge's word.
    pub event: String,
    /// How far it came.
    pub state: ReviewState,
    /// When the last request was about to be sent.
    pub intent_at: Option<Timestamp>,
    /// The review on the forge, once it is sent.
    pub forge_id: Option<ReviewId>,
    /// Why it was dropped; of a sent one, why it could not be taken back.
    pub reason: Option<String>,
    /// When it was taken back on the forge.
    pub dismissed_at: Option<Timestamp>,
}

from_row!(ReviewRow, row => ReviewRow {
    pass: row.try_get("pass")?,
    space: row.try_get("space")?,
    want: row.try_get("want")?,
    event: row.try_get("event")?,
    state: row.try_get("state")?,
    intent_at: row.try_get("intent_at")?,
    forge_id: row.try_get("forge_id")?,
    reason: row.try_get("reason")?,
    dismissed_at: row.try_get("dismissed_at")?,
});

macro_rules! reviews_where {
    ($condition:literal) => {
        concat!(
            "SELECT v.pass, v.space, v.want, v.event, v.state, v.intent_at, v.forge_id, v.reason, v.dismissed_at \
             FROM review v WHERE ",
            $condition
        )
    };
}

impl Tx {
    /// Says what the review of a pass should say. `false`, and nothing done, when that
    /// was said before.
    pub async fn want_review(
        &mut self,
        pass: &PassId,
        space: &SpaceId,
        event: &str,
        want: &[u8],
    ) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO review (pass, space, want, event, state) VALUES ($1, $2, $3, $4, 'wanted') \
            ON CONFLICT (pass) DO NOTHING";
        let done = on!(self, c => sqlx::query(SQL).bind(pass).bind(space).bind(want).bind(&*storable(event))
            .execute(c).await?.rows_affected());
        Ok(done == 1)
    }

    /// The review of a pass.
    pub async fn review(&mut self, pass: &PassId) -> Result<Option<ReviewRow>, StoreError> {
        const SQL: &str = reviews_where!("v.pass = $1");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(pass).fetch_optional(c).await?))
    }

    /// A request is about to be sent. `false` when it is sent or dropped already.
    pub async fn intend_review(&mut self, pass: &PassId, now: Timestamp) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE review SET state = 'sending', intent_at = $2 \
            WHERE pass = $1 AND state IN ('wanted', 'sending')";
        Ok(on!(self, c => sqlx::query(SQL).bind(pass).bind(now).execute(c).await?.rows_affected()) == 1)
    }

    /// The request that was intended was not carried out, for certain.
    pub async fn forget_review_intent(&mut self, pass: &PassId) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE review SET state = 'wanted', intent_at = NULL \
            WHERE pass = $1 AND state = 'sending'";
        on!(self, c => sqlx::query(SQL).bind(pass).execute(c).await.map(drop)?);
        Ok(())
    }

    /// The review is on the forge. `false` when it was recorded before.
    pub async fn sent_review(&mut self, pass: &PassId, forge_id: ReviewId) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE review SET state = 'sent', forge_id = $2, reason = NULL WHERE pass = $1 AND state <> 'sent'";
        Ok(on!(self, c => sqlx::query(SQL).bind(pass).bind(forge_id).execute(c).await?.rows_affected()) == 1)
    }

    /// The review is not to be sent any more. `false` when it is sent already.
    pub async fn drop_review(&mut self, pass: &PassId, reason: &str) -> Result<bool, StoreError> {
        const SQL: &str =
            "UPDATE review SET state = 'dropped', reason = $2 WHERE pass = $1 AND state <> 'sent'";
        let reason = storable(reason);
        Ok(on!(self, c => sqlx::query(SQL).bind(pass).bind(&*reason).execute(c).await?.rows_affected()) == 1)
    }

    /// The review was taken back on the forge.
    pub async fn dismissed_review(&mut self, pass: &PassId, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE review SET dismissed_at = $2 WHERE pass = $1 AND dismissed_at IS NULL";
        on!(self, c => sqlx::query(SQL).bind(pass).bind(now).execute(c).await.map(drop)?);
        Ok(())
    }

    /// The review stands on the forge and could not be taken back; `reason` says why.
    pub async fn stuck_review(&mut self, pass: &PassId, reason: &str) -> Result<(), StoreError> {
        const SQL: &str =
            "UPDATE review SET reason = $2 WHERE pass = $1 AND state = 'sent' AND dismissed_at IS NULL";
        let reason = storable(reason);
        on!(self, c => sqlx::query(SQL).bind(pass).bind(&*reason).execute(c).await.map(drop)?);
        Ok(())
    }

    /// Every review of a space, by the revision of its pass.
    pub async fn reviews_of(&mut self, space: &SpaceId) -> Result<Vec<ReviewRow>, StoreError> {
        const SQL: &str =
            reviews_where!("v.space = $1 ORDER BY (SELECT p.rev FROM pass p WHERE p.id = v.pass)");
        Ok(on!(self, c => sqlx::query_as(SQL).bind(space).fetch_all(c).await?))
    }

    /// Reviews that are still to be sent and whose repository is reachable now.
    pub async fn unsent_reviews(&mut self, limit: i64) -> Result<Vec<ReviewRow>, StoreError> {
        const SQL: &str = reviews_where!(
            "v.state IN ('wanted', 'sending') AND EXISTS (SELECT 1 FROM space s \
             JOIN repo r ON r.workspace = s.workspace AND r.id = s.repo JOIN installation i ON i.id = r.installation \
             WHERE s.id = v.space AND r.reachable = TRUE AND i.state = 'active') ORDER BY v.pass LIMIT $1"
        );
        Ok(on!(self, c => sqlx::query_as(SQL).bind(limit).fetch_all(c).await?))
    }
}
