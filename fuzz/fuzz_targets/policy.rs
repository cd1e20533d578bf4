//! A policy file is read, or refused on one line.
#![no_main]

use jury::domain::policy::{Locked, Policy, parse, parse_table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    for read in [parse("jury.toml", content), parse_table("jury.toml", content, "policy")] {
        match read {
            Ok(patch) => {
                let mut policy = Policy::default();
                assert!(policy.apply(&patch, &Locked::default()).is_empty());
            }
            Err(error) => assert!(!error.to_string().contains(['\n', '\r', '\0'])),
        }
    }
});
