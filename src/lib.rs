//! Jury reviews pull requests: see `docs/ARCHITECTURE.md` for the way of one
//! webhook through the code.

pub mod domain;

#[cfg(feature = "app")]
pub mod ports;
