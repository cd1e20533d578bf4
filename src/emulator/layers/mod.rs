//! What stands between the wire and the forge: faults that a test plans.

pub(crate) mod cut;
mod faults;

pub(crate) use faults::Faults;
pub use faults::{Fault, When};
