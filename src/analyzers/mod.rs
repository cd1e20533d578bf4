//! Deterministic reviewers, one file each. They judge only what a change adds or alters.
