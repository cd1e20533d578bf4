//! What real tools write (trimmed), on the files that they wrote it about.

use super::{
    draft::{File, Standing, place},
    paths::{Roots, find},
    *,
};

const FILES: [(&str, &str); 3] = [
    ("app/run.py", include_str!("../../../fixtures/reports/run.py")),
    ("web/a.js", include_str!("../../../fixtures/reports/a.js")),
    (
        ".github/workflows/ci.yml",
        include_str!("../../../fixtures/reports/ci.yml"),
    ),
];

/// `<priority> <axis> <provenance> <path>:<lines> <suggestion>` of every result.
fn told(format: Format, report: &[u8], root: &str) -> Vec<String> {
    let report = parse(format, report).unwrap();
    assert_eq!(
        (report.failed, report.incomplete.len(), report.left_out),
        (None, 0, LeftOut::default())
    );
    let roots = Roots {
        roots: vec![root.into()],
        prefix: String::new(),
    };
    report
        .results
        .iter()
        .map(|result| {
            let paths = &result.place.as_ref().unwrap().paths;
            let path = find(paths, &roots, |path| FILES.iter().any(|(own, _)| *own == path))
                .unwrap()
                .path;
            let blob = FILES.iter().find(|(own, _)| *own == path).unwrap().1;
            let added: Vec<u32> = (1..=u32::try_from(blob.lines().count()).unwrap()).collect();
            let file = File {
                path: &path,
                added: &added,
                blob: Some(blob.as_bytes()),
                whole: true,
            };
            let Standing::Here(draft) = place(result, None, file) else {
                panic!("{result:?}")
            };
            let anchor = draft.anchor.unwrap();
            let suggestion = draft.suggestion.map(|s| format!(" => {s:?}")).unwrap_or_default();
            format!(
                "{} {} {} {}:{}-{}{suggestion}",
                draft.priority, draft.axis, draft.provenance, anchor.path, anchor.start_line, anchor.end_line
            )
        })
        .collect()
}

macro_rules! sample {
    ($format:ident, $name:literal) => {
        told(
            Format::$format,
            include_bytes!(concat!("../../../fixtures/reports/", $name)),
            "/home/dev/shop",
        )
    };
}

#[test]
fn ruff() {
    let expected = ["p1 correctness tool:ruff/F401 app/run.py:1-1 => \"\""];
    assert_eq!(sample!(Sarif, "ruff.sarif")[..1], expected);
    // In its rdjson the same rule is a warning.
    assert_eq!(
        sample!(Rdjson, "ruff.rdjson")[0],
        "p2 correctness tool:ruff/F401 app/run.py:1-1 => \"\""
    );
}

#[test]
fn bandit() {
    assert_eq!(
        sample!(Sarif, "bandit.sarif"),
        [
            "p3 security tool:bandit/B404 app/run.py:2-2",
            "p1 security tool:bandit/B602 app/run.py:6-6",
            "p2 security tool:bandit/B307 app/run.py:7-7",
        ]
    );
}

#[test]
fn zizmor() {
    assert_eq!(
        sample!(Sarif, "zizmor.sarif"),
        [
            "p2 security tool:zizmor/artipacked .github/workflows/ci.yml:7-7",
            "p2 security tool:zizmor/excessive-permissions .github/workflows/ci.yml:4-8",
            "p1 security tool:zizmor/dangerous-triggers .github/workflows/ci.yml:2-2",
            "p1 security tool:zizmor/template-injection .github/workflows/ci.yml:8-8",
        ]
    );
}

#[test]
fn semgrep() {
    assert_eq!(
        sample!(Sarif, "semgrep.sarif"),
        ["p1 security tool:semgrep-oss/no-shell-true app/run.py:6-6"]
    );
}

#[test]
fn eslint() {
    let expected = [
        "p2 correctness tool:eslint/no-unused-vars web/a.js:1-1",
        "p1 correctness tool:eslint/eqeqeq web/a.js:2-2",
    ];
    assert_eq!(sample!(Sarif, "eslint.sarif"), expected);
    assert_eq!(
        sample!(Checkstyle, "eslint.checkstyle.xml"),
        [
            "p2 correctness tool:checkstyle/eslint.rules.no-unused-vars web/a.js:1-1",
            "p1 correctness tool:checkstyle/eslint.rules.eqeqeq web/a.js:2-2",
        ]
    );
}
