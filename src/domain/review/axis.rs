//! What each axis proved.

use serde::{Deserialize, Serialize};

use crate::domain::words::words;

use super::finding::Axis;

words! {
    /// How an axis came out; later is worse.
    pub enum AxisState {
        /// Everything configured looked and nothing stands.
        Pass = "pass",
        /// Something stands that does not fail the axis.
        Warn = "warn",
        /// Not everything that should have looked did, or not at everything.
        Partial = "partial",
        /// Nothing that should have looked did.
        Unavailable = "unavailable",
        /// A confirmed P0 stands.
        Fail = "fail",
    }
}

/// One axis of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AxisResult {
    /// Which.
    pub axis: Axis,
    /// How it came out.
    pub state: AxisState,
    /// Whether anything but `pass` and `warn` keeps the verdict from `ship`.
    pub gated: bool,
    /// What was proved and what was not, in one sentence for people.
    pub note: Option<String>,
}
