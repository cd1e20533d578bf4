//! What stands between the wire and the forge: faults that a test plans.

pub(crate) mod cut;
mod faults;

pub use faults::{Deed, Fault, NotARule, Rule, UnreadableFaults, When, read_faults};
pub(crate) use faults::{Faults, Met};
