//! A change made of text, for the tests of the rules.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus, parse_file_patch},
        ids::{FindingId, Sha},
        principal::{Principal, PrincipalKind},
        review::{
            coverage::Coverage,
            finding::{Draft, Finding, Side, Status},
        },
        time::Timestamp,
    },
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
};

pub(super) struct TextChange {
    base: Sha,
    head: Sha,
    pub(super) files: Vec<ChangedFile>,
    pub(super) coverage: Coverage,
    bases: BTreeMap<String, Vec<u8>>,
    heads: BTreeMap<String, Vec<u8>>,
}

impl TextChange {
    pub(super) fn new() -> Self {
        Self {
            base: "b".repeat(40).parse().unwrap(),
            head: "a".repeat(40).parse().unwrap(),
            files: Vec::new(),
            coverage: Coverage::default(),
            bases: BTreeMap::new(),
            heads: BTreeMap::new(),
        }
    }

    /// A new file.
    pub(super) fn adding(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.between(path, FileStatus::Added, b"", text.as_ref())
    }

    /// A file whose middle changed; the equal lines around it are context.
    pub(super) fn changing(self, path: &str, before: impl AsRef<[u8]>, after: impl AsRef<[u8]>) -> Self {
        self.between(path, FileStatus::Modified, before.as_ref(), after.as_ref())
    }

    pub(super) fn between(mut self, path: &str, status: FileStatus, before: &[u8], after: &[u8]) -> Self {
        let mut file = ChangedFile::new(path, status);
        if before != after {
            file = file.with_patch(parse_file_patch(&whole_file_patch(before, after)).unwrap());
        }
        self.files.push(file);
        if status != FileStatus::Added {
            self.bases.insert(path.to_owned(), before.to_vec());
        }
        if status != FileStatus::Removed {
            self.heads.insert(path.to_owned(), after.to_vec());
        }
        self
    }

    /// A file that is gone.
    pub(super) fn removing(self, path: &str, before: impl AsRef<[u8]>) -> Self {
        self.between(path, FileStatus::Removed, before.as_ref(), b"")
    }

    /// A file that stands on both sides and did not change.
    pub(super) fn keeping(mut self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.bases.insert(path.to_owned(), text.as_ref().to_vec());
        self.heads.insert(path.to_owned(), text.as_ref().to_vec());
        self
    }

    /// Anything else about the last file: its modes, say.
    pub(super) fn with(mut self, set: impl FnOnce(&mut ChangedFile)) -> Self {
        set(self.files.last_mut().unwrap());
        self
    }
}

fn whole_file_patch(before: &[u8], after: &[u8]) -> Vec<u8> {
    let lines = |text: &[u8]| -> Vec<Vec<u8>> {
        text.split_inclusive(|b| *b == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    };
    let (old, new) = (lines(before), lines(after));
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let start = |n: usize| if n == 0 { 0 } else { 1 };
    let mut patch = format!(
        "@@ -{},{} +{},{} @@\n",
        start(old.len()),
        old.len(),
        start(new.len()),
        new.len()
    )
    .into_bytes();
    let mut put = |mark: u8, lines: &[Vec<u8>]| {
        for line in lines {
            patch.push(mark);
            patch.extend(line);
            if !line.ends_with(b"\n") {
                patch.extend(b"\n\\ No newline at end of file\n");
            }
        }
    };
    put(b' ', &old[..head]);
    put(b'-', &old[head..old.len() - tail]);
    put(b'+', &new[head..new.len() - tail]);
    put(b' ', &old[old.len() - tail..]);
    patch
}

#[async_trait]
impl Change for TextChange {
    fn merge_base(&self) -> &Sha {
        &self.base
    }

    fn head(&self) -> Option<&Sha> {
        Some(&self.head)
    }

    fn files(&self) -> &[ChangedFile] {
        &self.files
    }

    fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    async fn read(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        let side = match side {
            Side::Left => &self.bases,
            Side::Right => &self.heads,
        };
        Ok(side.get(path).cloned())
    }

    async fn read_base_tip(&self, _: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(None)
    }

    async fn read_at(&self, _: &Sha, _: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        Ok(None)
    }
}

pub(super) fn report(analyzer: &dyn Analyzer, change: &TextChange) -> Report {
    futures::executor::block_on(analyzer.analyze(change)).unwrap()
}

/// The report's findings, `<priority> <rule> <path>:<line>` each, after the verifier's
/// question was asked of every one: a rule must say of the blob what it said of the patch.
pub(super) fn found(analyzer: &dyn Analyzer, change: &TextChange) -> Vec<String> {
    let drafts = report(analyzer, change).drafts;
    for draft in &drafts {
        if draft.anchor.is_none() {
            assert_ne!(
                analyzer.stands_in_change(&finding(draft), change),
                Some(false),
                "{draft:?}"
            );
            continue;
        }
        assert_eq!(
            holds(analyzer, change, draft),
            Some(true),
            "not in the blob: {draft:?}"
        );
    }
    drafts
        .iter()
        .map(|d| {
            let rule = d.provenance.to_string().replace("rule:", "");
            let place = d
                .anchor
                .as_ref()
                .map_or(String::new(), |a| format!(" {}:{}", a.path, a.start_line));
            format!("{} {rule}{place}", d.priority)
        })
        .collect()
}

/// What the rule says of the blob of `change` to a finding made from `draft`.
pub(super) fn holds(analyzer: &dyn Analyzer, change: &TextChange, draft: &Draft) -> Option<bool> {
    let anchor = draft.anchor.as_ref()?;
    let side = match anchor.side {
        Side::Left => &change.bases,
        Side::Right => &change.heads,
    };
    let blob = side.get(&anchor.path).unwrap();
    let lines: Vec<&[u8]> = blob.split(|b| *b == b'\n').collect();
    let anchored = &lines[anchor.start_line as usize - 1..anchor.end_line as usize];
    futures::executor::block_on(analyzer.holds_in_change(&finding(draft), change, blob, anchored))
}

/// A finding made from `draft`, as if it were stored.
pub(super) fn finding(draft: &Draft) -> Finding {
    Finding {
        id: FindingId::new("f"),
        fingerprint: String::new(),
        kind: draft.kind,
        priority: draft.priority,
        confidence: draft.confidence,
        axis: draft.axis,
        title: draft.title.clone(),
        body: draft.body.clone(),
        suggestion: None,
        anchor: draft.anchor.clone(),
        quote: draft.quote.clone(),
        provenance: draft.provenance.clone(),
        author: Principal::new(PrincipalKind::Analyzer, "a"),
        status: Status::Open,
        votes: Vec::new(),
        advisory: false,
        filed_at: Timestamp(0),
    }
}
