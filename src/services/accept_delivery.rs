//! Taking a webhook delivery in: what the HTTP face needs of the inbox.
//!
//! The face hands over bytes whose signature it has verified and says `202` only
//! once the sink has answered: an `Ok` means that the delivery survives a power
//! cut. The store's inbox implements this; `app` wires the two.

use async_trait::async_trait;
use bytes::Bytes;

use crate::domain::ids::DeliveryId;

/// A delivery whose signature holds.
#[derive(Debug, Clone)]
pub struct NewDelivery {
    /// `X-GitHub-Delivery`: 1 to 128 visible ASCII characters.
    pub id: DeliveryId,
    /// `X-GitHub-Event`: 1 to 64 visible ASCII characters, e.g. `pull_request`; it may be one we do not know.
    pub event: String,
    /// The payload, at most 25 MiB: UTF-8 and well-formed JSON of any shape and any
    /// depth (a typed parser with a depth limit may still refuse it).
    pub body: Bytes,
}

/// What became of a delivery; each of them is a `202`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is new, durable and queued.
    Stored,
    /// One with this id is queued or done: nothing changed.
    Repeated,
    /// One with this id had ended as a dead letter: it is queued again.
    Requeued,
}

/// The delivery is not known to be durable; sending it again is safe.
#[derive(Debug, thiserror::Error)]
#[error("the inbox cannot take deliveries: {0}")]
pub struct AcceptError(
    /// Why, for the log; never shown to the sender.
    pub String,
);

/// Where verified deliveries go.
#[async_trait]
pub trait DeliverySink: Send + Sync {
    /// Makes the delivery durable, once per id. Dropping the returned future
    /// neither loses nor doubles a delivery: it is stored or it is not.
    async fn accept(&self, delivery: NewDelivery) -> Result<Accepted, AcceptError>;

    /// Whether a delivery could be stored now. Who answers may do so from what was found
    /// out a few seconds ago.
    async fn is_ready(&self) -> bool;
}
