//! Time, injected.

use crate::domain::time::Timestamp;

/// A wall clock. It may step backwards; nobody may rely on it for order.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}
