//! The one review of a pass: its event, its body, its inline comments.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use crate::domain::{
    diff::ChangedFile,
    ids::{FindingId, PassId, Sha},
    secret::conceal,
    text,
};

use super::{
    super::{
        anchor::{CommentPosition, changed_file, comment_position},
        consensus::disagreements,
        finding::{Finding, Status},
        publication::{ReviewComment, ReviewEvent, ReviewView},
        snapshot::{FindingSnapshot, PassSnapshot, Verdict},
    },
    Fitting, MAX_BODY, MAX_INLINE, backing, bounded_markdown, by_priority, counted, cut_note, entry,
    headline, marker_text, place, quoted, ranked, shown_priority, units, unproved,
};

/// Units kept free in a body for comments that the forge turns out to refuse.
const DEMOTE_RESERVE: usize = 14_000;

/// Units of a finding's own words in an inline comment.
const INLINE_BODY: usize = 8_000;

/// Everything a review is made of.
#[derive(Debug, Clone, Copy)]
pub struct ReviewInput<'a> {
    /// The pass; its marker goes into the body.
    pub pass: &'a PassId,
    /// The head it speaks of.
    pub commit: &'a Sha,
    /// What the pass proved.
    pub snapshot: &'a PassSnapshot,
    /// The findings behind the snapshot; what is not live is not said.
    pub findings: &'a [Finding],
    /// The change, to place comments.
    pub files: &'a [ChangedFile],
    /// Findings that an earlier review of this space said already: counted, not
    /// repeated.
    pub earlier: &'a BTreeSet<FindingId>,
    /// Whether a request for changes of ours still stands on the pull request.
    pub request_stands: bool,
    /// Whether the App itself opened the pull request: the forge then takes
    /// comments only.
    pub by_app: bool,
    /// Whether the owner lets a `ship` be an approval.
    pub approve: bool,
}

/// The marker that tells a pass's review from any other.
pub fn marker(pass: &PassId) -> String {
    marker_text(pass)
}

/// Whether `body` is that of the pass's review: our marker is its last line. A
/// marker anywhere else is somebody's text.
pub fn carries_marker(body: &str, pass: &PassId) -> bool {
    body.trim_end().rsplit(['\n', '\r']).next().map(str::trim) == Some(marker(pass).as_str())
}

fn event(input: &ReviewInput<'_>) -> ReviewEvent {
    match input.snapshot.verdict {
        _ if input.by_app => ReviewEvent::Comment,
        Verdict::Block => ReviewEvent::RequestChanges,
        Verdict::Ship if input.approve => ReviewEvent::Approve,
        Verdict::Ship | Verdict::Hold => ReviewEvent::Comment,
    }
}

/// The review of a pass, or `None` when there is nothing to say that was not said
/// already (A13): no live finding that is new, and no event that would change
/// anything on the forge.
///
/// Confirmed findings stand inline where their lines are in the diff (at most
/// 30), the rest in the body; unconfirmed ones are folded under their own heading.
pub fn review(input: &ReviewInput<'_>) -> Option<ReviewView> {
    let event = event(input);
    let by_id: BTreeMap<&FindingId, &Finding> = input.findings.iter().map(|f| (&f.id, f)).collect();
    let live = ranked(input.snapshot.findings.iter().filter(|f| f.status.is_live()));
    let (earlier, new): (Vec<_>, Vec<_>) = live.into_iter().partition(|f| input.earlier.contains(&f.id));
    let changes_something = match event {
        ReviewEvent::Comment => false,
        ReviewEvent::RequestChanges => !input.request_stands,
        ReviewEvent::Approve => true,
    };
    if new.is_empty() && !changes_something {
        return None;
    }
    let mut comments = Vec::new();
    let mut rest = Vec::new();
    let mut unconfirmed = Vec::new();
    for finding in new {
        if finding.status != Status::ConsensusReady {
            unconfirmed.push(finding);
            continue;
        }
        if comments.len() >= MAX_INLINE {
            rest.push(finding);
            continue;
        }
        let position = by_id.get(&finding.id).and_then(|whole| {
            // A comment would have to name the true path.
            let nameable = |path: &str| matches!(conceal(path), Cow::Borrowed(_));
            let anchor = whole.anchor.as_ref().filter(|a| nameable(&a.path))?;
            let position = comment_position(anchor, changed_file(anchor, input.files)).ok()?;
            Some((position, whole.suggestion.as_deref()))
        });
        match position {
            Some((position, suggestion)) => {
                comments.push(inline_comment(finding, suggestion, &position));
            }
            None => rest.push(finding),
        }
    }
    let body = body(input, comments.len(), &rest, &unconfirmed, &earlier);
    Some(ReviewView {
        commit: input.commit.clone(),
        event,
        body,
        comments,
    })
}

/// A finding as an inline comment at `position`.
pub fn inline_comment(
    finding: &FindingSnapshot,
    suggestion: Option<&str>,
    position: &CommentPosition,
) -> ReviewComment {
    let title = text::inline(&text::truncate_chars(&finding.title, 200));
    let mut body = format!(
        "**{} {}: {title}**",
        shown_priority(finding.priority),
        finding.kind
    );
    let words = bounded_markdown(&finding.body, INLINE_BODY);
    if !words.is_empty() {
        body.push_str(&format!("\n\n{words}"));
    }
    if position.clamped
        && let (Some(start), Some(end)) = (finding.start_line, finding.end_line)
    {
        let base = if finding.side == Some(super::super::finding::Side::Left) {
            " of the base"
        } else {
            ""
        };
        body.push_str(&format!("\n\nThis is about lines {start} to {end}{base}."));
    }
    if let Some(suggestion) = suggestion {
        body.push_str(&format!("\n\n{}", replacement(suggestion, position.suggestible)));
    }
    body.push_str(&format!(
        "\n\n<sub>{} · {} · confidence {:.2} · {}</sub>",
        finding.axis,
        backing(finding),
        finding.confidence,
        text::inline(&text::truncate_chars(&finding.provenance.to_string(), 100)),
    ));
    ReviewComment {
        path: position.path.clone(),
        line: position.line,
        side: position.side,
        start_line: position.start_line,
        body,
    }
}

/// A block that the forge can apply, byte for byte, or the same code to read.
fn replacement(suggestion: &str, suggestible: bool) -> String {
    // Whoever applies it must see all of it.
    let hidden =
        suggestion.chars().any(|c| c != '\r' && text::is_invisible(c)) || conceal(suggestion) != suggestion;
    let fits = units(suggestion) <= 30_000;
    if suggestible && !hidden && fits {
        return text::code_fence("suggestion", suggestion);
    }
    if !fits {
        return "A replacement was proposed that is too long to show here.".to_owned();
    }
    format!(
        "Proposed instead:\n\n{}",
        text::code_fence("", &text::visible_lines(&text::defuse_comments(suggestion)))
    )
}

fn body(
    input: &ReviewInput<'_>,
    inline: usize,
    rest: &[&FindingSnapshot],
    unconfirmed: &[&FindingSnapshot],
    earlier: &[&FindingSnapshot],
) -> String {
    let marker = marker(input.pass);
    let mut fitting = Fitting::new(MAX_BODY - DEMOTE_RESERVE - 2_000);
    fitting.add(&format!("### {}\n", headline(input.snapshot)));
    for axis in unproved(input.snapshot) {
        let note = text::inline(&text::truncate_chars(
            &axis.note.as_deref().unwrap_or("").replace('`', ""),
            1_000,
        ));
        fitting.add(&format!("\n{} is {}: {note}\n", axis.axis, axis.state));
    }
    if inline > 0 {
        fitting.add(&format!("\n{} on the lines below.\n", counted(inline, "finding")));
    }
    if !earlier.is_empty() {
        fitting.add(&format!(
            "\nStill open from earlier reviews: {}.\n",
            by_priority(earlier.iter().copied())
        ));
    }
    let mut cut = Vec::new();
    if !rest.is_empty() {
        fitting.add("\n#### Not on a line of this diff\n\n");
        for finding in rest {
            add_entry(&mut fitting, finding, 1_500, &mut cut);
        }
    }
    disagree(input, &mut fitting);
    if !unconfirmed.is_empty() {
        let heading = format!(
            "\n<details>\n<summary>Not confirmed by anybody yet ({})</summary>\n\n",
            unconfirmed.len()
        );
        let end = "\n</details>\n";
        // The end must fit whatever comes between.
        if fitting.left > units(&heading) + units(end) {
            fitting.left -= units(end);
            fitting.add(&heading);
            for finding in unconfirmed {
                add_entry(&mut fitting, finding, 600, &mut cut);
            }
            fitting.out.push_str(end);
        } else {
            cut.extend(unconfirmed);
        }
    }
    let mut out = fitting.out;
    if let Some(note) = cut_note(cut) {
        out.push_str(&format!("\n{note}\n"));
    }
    out.push_str(&format!("\n{marker}"));
    out
}

fn add_entry<'a>(
    fitting: &mut Fitting,
    finding: &'a FindingSnapshot,
    body: usize,
    cut: &mut Vec<&'a FindingSnapshot>,
) {
    if !fitting.add(&entry(finding, body)) && !fitting.add(&entry(finding, 0)) {
        cut.push(finding);
    }
}

fn disagree(input: &ReviewInput<'_>, fitting: &mut Fitting) {
    const SHOWN: usize = 10;
    let (shown, count) = disagreements(input.findings, SHOWN);
    if count == 0 {
        return;
    }
    let by_id: BTreeMap<&FindingId, FindingSnapshot> = input
        .findings
        .iter()
        .map(|f| (&f.id, FindingSnapshot::from(f)))
        .collect();
    fitting.add("\n#### Reviewers disagree\n\n");
    for pair in &shown {
        let (Some(a), Some(b)) = (by_id.get(&pair.first), by_id.get(&pair.second)) else {
            continue;
        };
        let title = |f: &FindingSnapshot| text::inline(&text::truncate_chars(&f.title, 100));
        fitting.add(&format!(
            "- {}: {} {} \"{}\" against {} {} \"{}\"\n",
            text::code_span(&place(a).unwrap_or_default()),
            shown_priority(a.priority),
            a.kind,
            title(a),
            shown_priority(b.priority),
            b.kind,
            title(b)
        ));
    }
    if count > shown.len() {
        fitting.add(&format!("- and {}\n", counted(count - shown.len(), "more pair")));
    }
}

/// `review` with the comments at the indices `offending` moved into its body: for
/// comments that the forge refused (A05). Indices that do not exist are passed
/// over. The caller posts the result once and not again.
#[must_use]
pub fn demote(review: &ReviewView, offending: &[usize]) -> ReviewView {
    let offending: BTreeSet<usize> = offending
        .iter()
        .copied()
        .filter(|i| *i < review.comments.len())
        .collect();
    if offending.is_empty() {
        return review.clone();
    }
    let (text, marker) = match review.body.rsplit_once('\n') {
        Some((text, marker)) => (text, marker),
        None => ("", review.body.as_str()),
    };
    let limit = MAX_BODY.saturating_sub(units(text) + units(marker) + 300);
    let mut fitting = Fitting::new(limit);
    let mut cut = 0;
    fitting.add("\n#### Could not be placed on the diff\n\n");
    for index in &offending {
        let comment = &review.comments[*index];
        let line = match comment.start_line {
            Some(start) => format!("{start}-{}", comment.line),
            None => comment.line.to_string(),
        };
        let path = text::truncate_chars(&text::visible_path(&comment.path), 300).into_owned();
        let place = text::code_span(&format!("{path}:{line}"));
        let whole = format!("{place}\n\n{}\n\n", quoted(&unsuggested(&comment.body)));
        let first = comment.body.lines().next().unwrap_or_default();
        let short = format!("{place}\n\n{}\n\n", quoted(first));
        // A long one must not cost the others their line.
        let fair = limit / offending.len();
        let placed = (units(&whole) <= fair && fitting.add(&whole)) || fitting.add(&short);
        if !placed {
            cut += 1;
        }
    }
    let mut body = format!("{text}{}", fitting.out);
    if cut > 0 {
        body.push_str(&format!("{} did not fit here.\n", counted(cut, "more finding")));
    }
    body.push_str(&format!("\n{marker}"));
    ReviewView {
        commit: review.commit.clone(),
        event: review.event,
        body,
        comments: review
            .comments
            .iter()
            .enumerate()
            .filter(|(index, _)| !offending.contains(index))
            .map(|(_, comment)| comment.clone())
            .collect(),
    }
}

/// A comment's text without the mark that makes a block applicable, and without
/// anything that a machine could take for one of our markers.
fn unsuggested(body: &str) -> String {
    text::visible_lines(&text::defuse_comments(body))
        .split('\n')
        .map(|line| match line.strip_suffix("suggestion") {
            Some(fence) if fence.len() >= 3 && fence.bytes().all(|b| b == b'`') => fence,
            _ => line,
        })
        .collect::<Vec<_>>()
        .join("\n")
}
