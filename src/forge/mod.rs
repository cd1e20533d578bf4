//! Forges behind [`crate::ports::forge`] and [`crate::ports::change`].
