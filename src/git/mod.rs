//! The one hardened way to run git.
