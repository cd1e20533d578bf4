//! The one hardened way to run git, and what is read with it.
//!
//! Git is the reader of everything that comes from a repository: [`mod@run`] keeps it
//! from being told anything by what it reads, [`mirror`] keeps a bare copy of a forge's
//! repository, [`diff`] says what changed and [`change`] puts it behind the port.

pub mod blobs;
pub mod change;
mod checkout;
pub mod diff;
pub mod mirror;
pub mod repository;
pub mod run;
mod sections;

#[cfg(test)]
pub(crate) mod scratch;
