//! Forges: where pull requests live and verdicts are shown.

pub mod github;
pub mod local;
pub mod patch;
