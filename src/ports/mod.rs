//! What services need of the outside, as small traits with their contracts in words.

pub mod analyzer;
pub mod change;
pub mod clock;
pub mod forge;
pub mod ids;
pub mod isolation;
