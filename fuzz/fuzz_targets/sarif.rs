//! A SARIF report is read within bounds or refused; what is read is placed on changed lines only.
#![no_main]

use jury::domain::{
    report::{
        Format, MAX_RESULTS, ToolReport,
        draft::{File, Standing, place},
        parse,
        paths::{Roots, find},
    },
    review::{boundary::check_draft, grounding},
    text::is_invisible,
};
use libfuzzer_sys::fuzz_target;

const BLOB: &[u8] = "fn a() {\n\n  let 😀 = \"x\";\r\n}\n\n".as_bytes();
const ADDED: [u32; 2] = [2, 3];

fuzz_target!(|bytes: &[u8]| {
    if let Ok(report) = parse(Format::Sarif, bytes) {
        hold(&report);
    }
});

/// The laws of every report.
fn hold(report: &ToolReport) {
    assert!(report.results.len() <= MAX_RESULTS * 20);
    let roots = Roots {
        roots: vec!["/work".into()],
        prefix: "src".into(),
    };
    for result in &report.results {
        assert!(!result.tool.is_empty() && !result.rule.is_empty() && !result.message.is_empty());
        assert!(!result.tool.contains(['/', ' ', '\n']) && !result.rule.contains([' ', '\n']));
        assert!(!result.message.contains(is_invisible), "{:?}", result.message);
        if let Some(at) = &result.place {
            // A path of the change, or none; and never one that leads out of it.
            if let Some(found) = find(&at.paths, &roots, |path| !path.starts_with('/')) {
                assert!(!found.path.is_empty());
            }
            let exact = find(&at.paths, &roots, |path| path == "src/a.rs");
            assert!(exact.is_none_or(|found| found.path == "src/a.rs" && !found.unless.contains(&found.path)));
        }
        for whole in [true, false] {
            let file = File {
                path: "src/a.rs",
                added: &ADDED,
                blob: Some(BLOB),
                whole,
            };
            let Standing::Here(draft) = place(result, None, file) else { continue };
            check_draft(&draft).unwrap();
            if let Some(anchor) = draft.anchor.clone() {
                let touched = ADDED.iter().any(|line| (anchor.start_line..=anchor.end_line).contains(line));
                assert!(touched, "{anchor:?}");
                assert!(whole || draft.suggestion.is_none());
                // What it quotes stands where it says.
                let placed = grounding::ground(*draft, Some(BLOB)).unwrap();
                assert!(!placed.mended);
            }
        }
    }
}
