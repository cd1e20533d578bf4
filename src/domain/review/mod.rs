//! The algebra of a review: findings, consensus, axes and one verdict (DESIGN §5).

pub mod anchor;
pub mod axis;
pub mod boundary;
pub mod check;
pub mod consensus;
pub mod coverage;
pub mod finding;
pub mod fingerprint;
pub mod grounding;
pub mod next;
pub mod pass;
pub mod publication;
pub mod render;
pub mod resolution;
pub mod reviewer;
pub mod snapshot;
pub mod verdict;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod samples;
