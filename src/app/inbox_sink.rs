//! The store's inbox behind the webhook face.

use async_trait::async_trait;
use tokio::sync::Mutex;

use crate::{
    domain::time::Timestamp,
    services::{
        Context,
        accept_delivery::{AcceptError, Accepted, DeliverySink, NewDelivery},
    },
    store::{self, Inbox},
};

/// How long an answer to "could a delivery be stored?" is good for. The question costs
/// two commits and anybody who reaches `/readyz` may ask it.
const FRESH_MS: i64 = 3_000;

/// The inbox as the face sees it.
pub(super) struct InboxSink {
    inbox: Inbox,
    context: Context,
    /// When it was last found out, and what; locked while it is being found out, so that
    /// those who ask at once share one answer.
    ready: Mutex<Option<(Timestamp, bool)>>,
}

impl InboxSink {
    pub(super) fn new(inbox: Inbox, context: Context) -> Self {
        Self {
            inbox,
            context,
            ready: Mutex::new(None),
        }
    }
}

#[async_trait]
impl DeliverySink for InboxSink {
    async fn accept(&self, delivery: NewDelivery) -> Result<Accepted, AcceptError> {
        let accepted = self
            .inbox
            .accept(store::NewDelivery {
                id: delivery.id,
                event: delivery.event,
                body: delivery.body,
                received_at: self.context.now(),
            })
            .await
            .map_err(|error| AcceptError(error.to_string()))?;
        Ok(match accepted {
            store::Accepted::Stored => Accepted::Stored,
            store::Accepted::Repeat => Accepted::Repeated,
            store::Accepted::Requeued => Accepted::Requeued,
        })
    }

    async fn is_ready(&self) -> bool {
        let mut ready = self.ready.lock().await;
        let now = self.context.now();
        let before = *ready;
        if let Some((at, answer)) = before
            // A clock that was set back makes an answer old, not good for hours.
            && (0..FRESH_MS).contains(&(now.0 - at.0))
        {
            return answer;
        }
        let stored = self.context.db.try_store(now).await;
        match (&stored, before) {
            // Said once, not at every question.
            (Err(error), None | Some((_, true))) => {
                tracing::error!(%error, "not ready: deliveries cannot be stored");
            }
            (Ok(()), Some((_, false))) => tracing::info!("ready again: deliveries can be stored"),
            _ => {}
        }
        *ready = Some((now, stored.is_ok()));
        stored.is_ok()
    }
}
