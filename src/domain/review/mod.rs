//! The algebra of a review: findings, consensus, axes and one verdict (DESIGN §5).

pub mod axis;
pub mod check;
pub mod coverage;
pub mod finding;
pub mod next;
pub mod pass;
pub mod reviewer;
pub mod snapshot;
