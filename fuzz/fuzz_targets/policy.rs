//! A policy file is read, or refused on one line that names a line of the file.
#![no_main]

use jury::domain::policy::{Locked, Policy, parse, parse_table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let lines = content.iter().filter(|byte| **byte == b'\n').count() + 1;
    for read in [parse("jury.toml", content), parse_table("jury.toml", content, "policy")] {
        match read {
            Ok(patch) => {
                assert!(patch.quorum.values().all(|quorum| (1..=20).contains(quorum)));
                let mut policy = Policy::default();
                assert!(policy.apply(&patch, &Locked::default()).is_empty());
                let once = policy.clone();
                assert!(policy.apply(&patch, &Locked::default()).is_empty());
                assert_eq!(policy, once);
            }
            Err(error) => {
                let told = error.to_string();
                assert!(!told.contains(jury::domain::text::is_invisible) && !told.contains('\n'), "{told:?}");
                assert!(told.chars().count() < 600, "{told:?}");
                assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{told:?}");
            }
        }
    }
    if let Ok(names) = std::str::from_utf8(content)
        && let Err(error) = Locked::new(names.split('\n'))
    {
        assert!(!error.to_string().contains('\n'));
    }
});
