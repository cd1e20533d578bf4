//! Wires the parts together and decides nothing.

pub mod serve;
pub mod system;
