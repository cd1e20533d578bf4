//! reviewdog's and checkstyle's reports: the first byte says which. One that is read line by
//! line says the same as its lines do.
#![no_main]

use jury::domain::{
    report::{
        Format, MAX_RESULTS, ReportError,
        draft::{File, Standing, place},
        parse,
    },
    review::boundary::check_draft,
    text::is_invisible,
};
use libfuzzer_sys::fuzz_target;

const BLOB: &[u8] = b"one\ntwo\n\nfour\n";

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let format = [Format::Rdjson, Format::Rdjsonl, Format::Checkstyle][usize::from(which % 3)];
    let report = match parse(format, bytes) {
        Ok(report) => report,
        Err(error) => {
            // No text of the report is repeated.
            assert!(error.to_string().len() < 100 && error.to_string().is_ascii());
            if let ReportError::Json { line, .. } = error {
                assert!(line <= bytes.len() + 1);
            }
            return;
        }
    };
    assert!(report.results.len() <= MAX_RESULTS);
    for result in &report.results {
        assert!(!result.tool.is_empty() && !result.rule.is_empty() && !result.message.is_empty());
        assert!(!result.message.contains(is_invisible));
        let file = File {
            path: "a.js",
            added: &[2, 3],
            blob: Some(BLOB),
            whole: true,
        };
        if let Standing::Here(draft) = place(result, None, file) {
            check_draft(&draft).unwrap();
        }
    }
    if format == Format::Rdjsonl && report.incomplete.is_empty() && report.left_out.over == 0 {
        let text = String::from_utf8_lossy(bytes);
        let one_by_one: usize = text
            .split('\n')
            .filter_map(|line| parse(Format::Rdjsonl, line.as_bytes()).ok())
            .map(|report| report.results.len())
            .sum();
        assert!(bytes.starts_with(&[0xff]) || bytes.starts_with(&[0xfe]) || one_by_one == report.results.len());
    }
});
