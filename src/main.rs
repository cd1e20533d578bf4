//! The `jury` program.

fn main() {}
