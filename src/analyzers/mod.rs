//! Deterministic reviewers, one file each. They judge only what a change adds or alters.
//!
//! Every rule has an id (`secrets/github-token`), which is its findings'
//! provenance, a priority and a confidence. A rule that a change can silence
//! (by a comment, say) would be no gate, so there is no such thing here.

mod added;
mod api_contract;
mod conflict_markers;
mod container_hazards;
mod debug_leftovers;
mod hazard;
mod json;
mod lockfiles;
mod migrations;
mod risky_files;
mod secrets;
mod test_gap;
pub mod tools;
mod trojan_source;
mod workflow_hazards;
mod yaml;

#[cfg(test)]
mod doubles;

use crate::ports::analyzer::Analyzer;

pub use api_contract::ApiContract;
pub use conflict_markers::ConflictMarkers;
pub use container_hazards::ContainerHazards;
pub use debug_leftovers::DebugLeftovers;
pub use lockfiles::Lockfiles;
pub use migrations::Migrations;
pub use risky_files::RiskyFiles;
pub use secrets::Secrets;
pub use test_gap::TestGap;
pub use trojan_source::TrojanSource;
pub use workflow_hazards::WorkflowHazards;

/// Every built-in analyzer, in the order in which their findings are shown.
pub fn all() -> Vec<Box<dyn Analyzer>> {
    vec![
        Box::new(Secrets),
        Box::new(TrojanSource),
        Box::new(ConflictMarkers),
        Box::new(WorkflowHazards),
        Box::new(ContainerHazards),
        Box::new(RiskyFiles),
        Box::new(Lockfiles),
        Box::new(Migrations),
        Box::new(ApiContract),
        Box::new(TestGap),
        Box::new(DebugLeftovers),
    ]
}
