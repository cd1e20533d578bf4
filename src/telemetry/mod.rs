//! Logs and metrics: set up once, by the program, before anything else runs.

pub mod logs;
pub mod metrics;
