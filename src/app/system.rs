//! The real clock and the real randomness: the one place that asks for them.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{
    domain::time::Timestamp,
    ports::{clock::Clock, ids::Ids},
};

/// The system's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// UUIDs of version 7: 48 bits of milliseconds, 74 random bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    fn next(&self) -> String {
        let ms = u64::try_from(SystemClock.now().0).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(ms, &random())
            .into_uuid()
            .to_string()
    }
}

/// Bytes from the operating system.
#[expect(clippy::disallowed_methods, reason = "the one place that asks for randomness")]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::Rng::fill(&mut rand::rng(), &mut bytes[..]);
    bytes
}
