//! Use cases, one verb a file.

pub mod accept_delivery;
