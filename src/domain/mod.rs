//! The pure core: no clock, no randomness, no I/O. It compiles alone
//! (`--no-default-features`), so the compiler keeps it pure.

pub mod diff;
pub mod event;
pub mod ids;
pub mod policy;
pub mod principal;
pub mod report;
pub mod review;
pub mod schema;
pub mod secret;
pub mod space;
pub mod text;
pub mod time;
pub mod words;
