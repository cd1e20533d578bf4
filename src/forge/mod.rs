//! Forges behind [`crate::ports::forge`] and [`crate::ports::change`].

pub mod github;
pub mod local;
