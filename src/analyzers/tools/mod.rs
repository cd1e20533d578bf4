//! Other tools as reviewers: a report that is given by hand ([`Given`]), or a command
//! that the server's owner configured ([`Configured`]), run in isolation.
//!
//! What a tool says enters the same road as our own rules do. A tool that failed, took
//! too long, said nothing readable or is not there did not look, and its axes say so: a
//! result is never made of silence. It answers for the axis that its owner named, else
//! for correctness and security both, since its rules may speak of either.

mod configured;
mod given;
mod placing;

pub use configured::{Configured, Tool};
pub use given::Given;

use crate::domain::review::finding::Axis;

/// The axis that a tool answers for when none was named.
const MAIN: Axis = Axis::Correctness;
/// And the one that its rules may speak of as well.
const ALSO: &[Axis] = &[Axis::Security];

/// The axes that a tool answers for.
fn axes(configured: Option<Axis>) -> (Axis, &'static [Axis]) {
    configured.map_or((MAIN, ALSO), |axis| (axis, &[]))
}
