//! The server's configuration: `jury.toml` and `JURY_…` variables.
