//! Receiving a body within bounds of size, memory and time.
//!
//! The bytes in flight are counted as they arrive, not as they are announced: a
//! sender who announces much and sends nothing holds nothing. Nothing ever waits
//! for memory: whoever comes when there is none is told to come back.

use std::{sync::Arc, time::Duration};

use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use metrics::Gauge;
use tokio::sync::{Semaphore, TryAcquireError};

use super::signature::Check;

/// Why a body was not received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is, or says that it is, over the limit.
    TooLarge,
    /// The bytes in flight are at their bound.
    Busy,
    /// It did not arrive in time.
    Slow,
    /// The connection broke or the transfer encoding is wrong.
    Broken,
}

/// The bytes of all bodies that may be held at once.
pub(super) struct Budget {
    left: Semaphore,
    in_flight: Gauge,
}

impl Budget {
    /// A budget of `bytes`.
    pub(super) fn new(bytes: usize, in_flight: Gauge) -> Self {
        Self {
            left: Semaphore::new(bytes.min(Semaphore::MAX_PERMITS)),
            in_flight,
        }
    }

    /// An account that holds nothing yet.
    fn open(self: &Arc<Self>) -> Held {
        Held {
            budget: Arc::clone(self),
            bytes: 0,
        }
    }
}

/// Bytes taken from a budget; given back when dropped.
pub(super) struct Held {
    budget: Arc<Budget>,
    bytes: u32,
}

impl Held {
    fn take(&mut self, bytes: usize) -> Result<(), Refused> {
        let permits = u32::try_from(bytes).map_err(|_| Refused::TooLarge)?;
        match self.budget.left.try_acquire_many(permits) {
            Ok(permit) => permit.forget(),
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => return Err(Refused::Busy),
        }
        self.bytes += permits;
        self.budget.in_flight.increment(f64::from(permits));
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.left.add_permits(self.bytes as usize);
        self.budget.in_flight.decrement(f64::from(self.bytes));
    }
}

/// A whole body, and the memory that it is accounted for.
pub(super) struct Received {
    pub(super) bytes: Bytes,
    pub(super) held: Held,
}

/// Reads the whole of `body`, at most `limit` bytes in at most `time`, and feeds it
/// to `check` on the way.
pub(super) async fn receive(
    body: &mut Body,
    limit: usize,
    time: Duration,
    budget: &Arc<Budget>,
    check: &mut Check,
) -> Result<Received, Refused> {
    if !announces_at_most(body, limit) {
        return Err(Refused::TooLarge);
    }
    tokio::time::timeout(time, read(body, limit, budget, check))
        .await
        .unwrap_or(Err(Refused::Slow))
}

/// Whether the announced length, if there is one, is within `limit`.
pub(super) fn announces_at_most(body: &Body, limit: usize) -> bool {
    usize::try_from(body.size_hint().lower()).is_ok_and(|announced| announced <= limit)
}

async fn read(
    body: &mut Body,
    limit: usize,
    budget: &Arc<Budget>,
    check: &mut Check,
) -> Result<Received, Refused> {
    let announced = body.size_hint().exact().and_then(|n| usize::try_from(n).ok());
    let mut held = budget.open();
    let mut whole = Bytes::new();
    let mut parts = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refused::Broken)?.into_data() else {
            continue;
        };
        if data.is_empty() {
            continue;
        }
        let length = whole.len() + parts.len() + data.len();
        if length > limit {
            return Err(Refused::TooLarge);
        }
        held.take(data.len())?;
        check.update(&data);
        // Most bodies arrive in one piece, which is then used as it is.
        if announced == Some(data.len()) {
            whole = data;
        } else {
            if parts.capacity() == 0 {
                parts.reserve(announced.unwrap_or(data.len() * 2));
            }
            parts.extend_from_slice(&data);
        }
    }
    let bytes = if parts.is_empty() { whole } else { parts.freeze() };
    Ok(Received { bytes, held })
}

/// Reads and forgets the rest of a body whose answer is already given.
///
/// A sender that is still writing when its connection is closed often sees a reset
/// instead of the answer. So the rest is read for a while, without keeping any of
/// it, within a bound of bytes, of time and of how many do this at once.
pub(super) struct Lingering {
    places: Arc<Semaphore>,
    bytes: usize,
    time: Duration,
}

impl Lingering {
    pub(super) fn new(places: usize, bytes: usize, time: Duration) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            bytes,
            time,
        }
    }

    /// Starts forgetting, unless all places are taken: then the connection just ends.
    pub(super) fn forget(&self, mut body: Body) {
        if body.is_end_stream() {
            return;
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return;
        };
        let (mut left, time) = (self.bytes, self.time);
        let rest = async move {
            while let Some(Ok(frame)) = body.frame().await {
                let length = frame.data_ref().map_or(0, Bytes::len);
                match left.checked_sub(length) {
                    Some(less) => left = less,
                    None => break,
                }
            }
        };
        tokio::spawn(async move {
            // Out of time or done: the connection ends either way.
            let _ = tokio::time::timeout(time, rest).await;
            drop(place);
        });
    }
}
