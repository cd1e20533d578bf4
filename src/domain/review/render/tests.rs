use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{
    super::{
        axis::fold,
        coverage::{Coverage, Unseen},
        finding::{Axis, Finding, Kind, Provenance},
        publication::{ReviewEvent, ReviewView},
        reviewer::ContributionState,
        samples::*,
    },
    *,
};
use crate::domain::{
    diff::{ChangedFile, parse},
    ids::{FindingId, Sha},
    policy::{Gate, Policy},
    principal::Principal,
};

const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 58b8997..8ac9880 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
@@ -1,4 +1,5 @@\n a\n-b\n+B\n+let x = 1;\n c\n d\n";

fn files() -> Vec<ChangedFile> {
    parse(DIFF.as_bytes()).unwrap()
}

fn head() -> Sha {
    "0123456789abcdef0123456789abcdef01234567".parse().unwrap()
}

fn frozen(findings: &[Finding]) -> PassSnapshot {
    let contributions = [
        contribution("demo", Axis::Correctness, ContributionState::Complete),
        contribution("secrets", Axis::Security, ContributionState::Complete),
    ];
    let axes = fold(findings, &contributions, &Coverage::default(), &Policy::default());
    PassSnapshot::freeze(Some(head()), Gate::Required, axes, findings)
}

fn pass_id() -> PassId {
    PassId::new("0193abc")
}

struct Circumstances {
    earlier: BTreeSet<FindingId>,
    request_stands: bool,
    by_app: bool,
    approve: bool,
}

const PLAIN: Circumstances = Circumstances {
    earlier: BTreeSet::new(),
    request_stands: false,
    by_app: false,
    approve: false,
};

fn reviewed(findings: &[Finding], how: &Circumstances) -> Option<ReviewView> {
    review(&ReviewInput {
        pass: &pass_id(),
        commit: &head(),
        snapshot: &frozen(findings),
        findings,
        files: &files(),
        earlier: &how.earlier,
        request_stands: how.request_stands,
        by_app: how.by_app,
        approve: how.approve,
    })
}

fn confirmed(id: &str, priority: Priority) -> Finding {
    let mut finding = finding(id);
    finding.priority = priority;
    finding.status = Status::ConsensusReady;
    finding.votes = vec![vote(Principal::verifier(), true)];
    finding
}

fn a_few() -> Vec<Finding> {
    let mut far = confirmed("f2", Priority::P2);
    far.anchor.as_mut().unwrap().start_line = 90;
    far.anchor.as_mut().unwrap().end_line = 91;
    far.kind = Kind::Suggestion;
    let mut open = finding("f3");
    open.priority = Priority::P3;
    open.anchor = None;
    open.provenance = Provenance::Model;
    vec![confirmed("f1", Priority::P0), far, open]
}

#[test]
fn a_block_is_one_review_that_says_everything_once() {
    let review = reviewed(&a_few(), &PLAIN).unwrap();
    assert_eq!(review.event, ReviewEvent::RequestChanges);
    assert_eq!(review.commit, head());
    let [comment] = review.comments.as_slice() else {
        panic!("{review:?}")
    };
    assert_eq!(
        (comment.path.as_str(), comment.line, comment.start_line),
        ("src/a.rs", 3, None)
    );
    insta::assert_snapshot!(comment.body, @r"
    **P0 bug: Finding f1**

    Body of f1.

    <sub>correctness · verified · confidence 0.90 · rule:demo</sub>
    ");
    insta::assert_snapshot!(review.body, @r"
    ### Block: 1 P0 confirmed

    1 finding on the lines below.

    #### Not on a line of this diff

    - **P2 suggestion** `src/a.rs:90-91` · Finding f2 (correctness, verified)

      > Body of f2.

    <details>
    <summary>Not confirmed by anybody yet (1)</summary>

    - **P3 bug** · Finding f3 (correctness, not confirmed)

      > Body of f3.

    </details>

    <!-- jury:pass:0193abc -->
    ");
    assert!(carries_marker(&review.body, &pass_id()));
    assert!(!carries_marker(&review.body, &PassId::new("other")));
}

#[test]
fn the_summary_and_the_text_of_the_same_pass() {
    let snapshot = frozen(&a_few());
    assert_eq!(title(&snapshot), "Block: 1 P0 confirmed");
    insta::assert_snapshot!(summary(&snapshot, None), @r"
    **Block: 1 P0 confirmed** (confidence 0.90)

    | axis | state | gated | |
    |---|---|---|---|
    | correctness | **fail** | yes | Checked by rules only (demo). |
    | security | pass | yes | Checked by rules only (secrets). |

    ### Confirmed (2)

    - **P0 bug** `src/a.rs:3` · Finding f1 (correctness, verified)

      > Body of f1.
    - **P2 suggestion** `src/a.rs:90-91` · Finding f2 (correctness, verified)

      > Body of f2.

    ### Not confirmed (1)

    - **P3 bug** · Finding f3 (correctness, not confirmed)

      > Body of f3.
    ");
    insta::assert_snapshot!(plain(&text_lines(&snapshot)), @r"
    Block: 1 P0 confirmed  (confidence 0.90)

    P0  src/a.rs:3      bug         correctness  Finding f1
        rule:demo, verified, confidence 0.90
        Body of f1.
    P2  src/a.rs:90-91  suggestion  correctness  Finding f2
        rule:demo, verified, confidence 0.90
        Body of f2.
    P3  -               bug         correctness  Finding f3
        model, not confirmed, confidence 0.90

    correctness  fail  gated      Checked by rules only (demo).
    security     pass  gated      Checked by rules only (secrets).
    ");
    assert!(markdown(&snapshot, None).starts_with("## Jury's review of `0123456789`\n\n**Block"));
}

#[test]
fn the_headline_says_why() {
    let title_of = |findings: &[Finding], contributions: &[super::super::reviewer::Contribution]| {
        let axes = fold(findings, contributions, &Coverage::default(), &Policy::default());
        title(&PassSnapshot::freeze(None, Gate::Required, axes, findings))
    };
    let complete = [
        contribution("demo", Axis::Correctness, ContributionState::Complete),
        contribution("secrets", Axis::Security, ContributionState::Complete),
    ];
    let mut advisory = finding("f1");
    advisory.advisory = true;
    let mut open_p0 = finding("f2");
    open_p0.priority = Priority::P0;
    for (findings, contributions, expected) in [
        (vec![], &complete[..], "Ship: nothing found"),
        (
            vec![advisory],
            &complete[..],
            "Ship: 1 P1 noted, nothing to settle",
        ),
        (
            vec![finding("f1"), open_p0],
            &complete[..],
            "Hold: 1 P0, 1 P1 to settle",
        ),
        (vec![], &[], "Hold: correctness and security not checked"),
        (vec![], &complete[..1], "Hold: security not checked"),
        (
            vec![finding("f1")],
            &complete[..1],
            "Hold: 1 P1 to settle; security not checked",
        ),
        (
            vec![confirmed("f1", Priority::P0), confirmed("f2", Priority::P0)],
            &[],
            "Block: 2 P0 confirmed",
        ),
    ] {
        assert_eq!(title_of(&findings, contributions), expected);
    }
}

#[test]
fn an_advisory_gate_names_what_was_not_proved() {
    let axes = fold(&[], &[], &Coverage::default(), &Policy::default());
    let snapshot = PassSnapshot::freeze(None, Gate::Advisory, axes, &[]);
    assert_eq!(
        title(&snapshot),
        "Hold: correctness and security not checked (advisory gate)"
    );
}

#[test]
fn a13_nothing_to_say_is_not_said() {
    assert_eq!(reviewed(&[], &PLAIN), None);
    let mut cleared = finding("f1");
    cleared.status = Status::Resolved;
    assert_eq!(reviewed(&[cleared], &PLAIN), None);
    let approved = reviewed(
        &[],
        &Circumstances {
            approve: true,
            ..PLAIN
        },
    )
    .unwrap();
    assert_eq!(approved.event, ReviewEvent::Approve);
    assert!(approved.body.starts_with("### Ship: nothing found"));
}

#[test]
fn a11_the_event_is_always_sent_and_fits_who_opened_it() {
    let block = [confirmed("f1", Priority::P0)];
    let hold = [confirmed("f1", Priority::P1)];
    for (findings, by_app, approve, expected) in [
        (&block[..], false, false, ReviewEvent::RequestChanges),
        (&block[..], true, false, ReviewEvent::Comment),
        (&hold[..], false, true, ReviewEvent::Comment),
    ] {
        let how = Circumstances {
            by_app,
            approve,
            ..PLAIN
        };
        assert_eq!(reviewed(findings, &how).unwrap().event, expected);
    }
    // What the App itself opened is never approved by it.
    assert_eq!(
        reviewed(
            &[],
            &Circumstances {
                by_app: true,
                approve: true,
                ..PLAIN
            }
        ),
        None
    );
}

#[test]
fn l07_what_an_earlier_review_said_is_counted_and_not_repeated() {
    let findings = [confirmed("f1", Priority::P1), confirmed("f2", Priority::P1)];
    let mut how = Circumstances {
        earlier: [FindingId::new("f1")].into(),
        ..PLAIN
    };
    let review = reviewed(&findings, &how).unwrap();
    assert_eq!(review.comments.len(), 1);
    assert!(review.comments[0].body.contains("Finding f2"));
    assert!(
        review.body.contains("Still open from earlier reviews: 1 P1."),
        "{}",
        review.body
    );
    how.earlier.insert(FindingId::new("f2"));
    assert_eq!(reviewed(&findings, &how), None);
    // A request for changes is renewed only when none stands.
    let block = [confirmed("f1", Priority::P0)];
    assert!(reviewed(&block, &how).is_some());
    assert_eq!(
        reviewed(
            &block,
            &Circumstances {
                request_stands: true,
                ..how
            }
        ),
        None
    );
}

#[test]
fn a21_the_thirty_first_finding_goes_into_the_body() {
    let findings: Vec<Finding> = (0..33)
        .map(|n| confirmed(&format!("f{n:02}"), Priority::P2))
        .collect();
    let review = reviewed(&findings, &PLAIN).unwrap();
    assert_eq!(review.comments.len(), 30);
    assert!(review.body.contains("30 findings on the lines below."));
    assert_eq!(review.body.matches("- **P2 bug**").count(), 3);
}

#[test]
fn a06_a_suggestion_block_stands_only_where_it_replaces_the_anchored_lines() {
    let body = |start, end, side, suggestion: &str| {
        let mut finding = confirmed("f1", Priority::P1);
        finding.anchor = Some(anchor("src/a.rs", side, start, end));
        finding.suggestion = Some(suggestion.into());
        reviewed(&[finding], &PLAIN).unwrap().comments.remove(0).body
    };
    assert!(body(2, 3, Side::Right, "x\r\ny\r").contains("```suggestion\nx\r\ny\r\n```"));
    assert!(body(3, 3, Side::Right, "").contains("```suggestion\n```"));
    assert!(body(3, 3, Side::Right, "```\nx").contains("````suggestion\n```\nx\n````"));
    for (start, end, side, suggestion) in [
        (2, 2, Side::Left, "x"),
        (3, 40, Side::Right, "x"),
        (3, 3, Side::Right, "a\u{202e}b"),
        (3, 3, Side::Right, "a\u{200b}b"),
    ] {
        let body = body(start, end, side, suggestion);
        assert!(!body.contains("suggestion\n"), "{body}");
        assert!(body.contains("Proposed instead:\n\n```\n"), "{body}");
    }
}

#[test]
fn a16_code_in_a_block_is_byte_for_byte() {
    for code in [
        "<Tooltip title=\"We'll do it\" placement='top'>",
        "<a onclick=\"f('x')\" style=color:red>&amp; &nbsp; &#64;</a>",
        "let _ = a && b < c || \"\\u{41}\"; // @org/team #12 GH-3 `x` **y** <b>",
        "\t  trailing  \n\n<script>alert(1)</script>",
        "a: [x](y) ![z](w) ~~s~~ :tada: \\* \\_",
    ] {
        let mut finding = confirmed("f1", Priority::P1);
        finding.anchor = Some(anchor("src/a.rs", Side::Right, 3, 3));
        finding.suggestion = Some(code.into());
        finding.body = format!("Write\n\n```jsx\n{code}\n```");
        let body = reviewed(&[finding], &PLAIN).unwrap().comments.remove(0).body;
        assert!(body.contains(&format!("\n```suggestion\n{code}\n```")), "{body}");
        assert!(body.contains(&format!("```jsx\n{code}\n```\n")), "{body}");
    }
}

#[test]
fn c22_a_mention_in_what_is_repeated_calls_nobody() {
    let said = "cc @alice, @org/team; fixes #12";
    let mut one = confirmed("f1", Priority::P1);
    one.anchor = Some(anchor("src/a.rs", Side::Right, 3, 3));
    let mut far = confirmed("f2", Priority::P1);
    far.anchor = None;
    let mut findings = [one, far, finding("f3")];
    for finding in &mut findings {
        (finding.title, finding.body) = (said.into(), said.into());
    }
    let review = reviewed(&findings, &PLAIN).unwrap();
    let summary = check_text(&super::super::check::Standing::Finished(&frozen(&findings)), None).summary;
    let texts = review.comments.iter().map(|c| &c.body);
    for text in texts.chain([&review.body, &summary]) {
        assert!(text.contains("cc @&#8203;alice"), "{text}");
        for live in ["@alice", "@org", "#12"] {
            assert!(!text.contains(live), "{text}");
        }
    }
}

#[test]
fn a02_a_clamped_comment_names_the_real_range() {
    let mut finding = confirmed("f1", Priority::P1);
    finding.anchor = Some(anchor("src/a.rs", Side::Right, 3, 40));
    let comment = reviewed(&[finding], &PLAIN).unwrap().comments.remove(0);
    assert_eq!((comment.start_line, comment.line), (Some(3), 5));
    assert!(
        comment.body.contains("This is about lines 3 to 40."),
        "{}",
        comment.body
    );
}

#[test]
fn a05_refused_comments_move_into_the_body_and_the_rest_stays() {
    let mut with_suggestion = confirmed("f2", Priority::P1);
    with_suggestion.suggestion = Some("let x = 2;".into());
    let review = reviewed(&[confirmed("f1", Priority::P1), with_suggestion], &PLAIN).unwrap();
    assert_eq!(review.comments.len(), 2);
    let demoted = demote(&review, &[1, 7]);
    assert_eq!(demoted.comments, review.comments[..1]);
    assert!(carries_marker(&demoted.body, &pass_id()));
    assert!(
        demoted
            .body
            .contains("#### Could not be placed on the diff\n\n`src/a.rs:3`\n\n> **P1 bug: Finding f2**")
    );
    assert!(
        demoted.body.contains("> ```\n> let x = 2;\n> ```"),
        "{}",
        demoted.body
    );
    assert_eq!(demote(&review, &[]), review);
    let all = demote(&review, &[0, 1]);
    assert!(all.comments.is_empty());
    assert!(all.body.contains("Finding f1") && all.body.contains("Finding f2"));
}

#[test]
fn thirty_long_comments_can_all_be_demoted() {
    let findings: Vec<Finding> = (0..80)
        .map(|n| {
            let mut finding = confirmed(&format!("f{n:02}"), Priority::P2);
            finding.body = "long words ".repeat(1_500);
            finding.title = "t".repeat(190);
            finding
        })
        .collect();
    let review = reviewed(&findings, &PLAIN).unwrap();
    let demoted = demote(&review, &(0..30).collect::<Vec<_>>());
    assert!(units(&demoted.body) <= MAX_BODY);
    assert_eq!(
        demoted.body.matches("`src/a.rs:3`\n\n>").count(),
        30,
        "each keeps its line"
    );
    assert!(carries_marker(&demoted.body, &pass_id()));
}

#[test]
fn reviewers_that_disagree_are_shown() {
    let mut mild = confirmed("f2", Priority::P3);
    mild.axis = Axis::Security;
    let review = reviewed(&[confirmed("f1", Priority::P1), mild], &PLAIN).unwrap();
    assert!(
        review.body.contains(
            "#### Reviewers disagree\n\n- `src/a.rs:3`: P1 bug \"Finding f1\" against P3 bug \"Finding f2\"\n"
        ),
        "{}",
        review.body
    );
}

#[test]
fn what_was_not_seen_is_named_and_counted() {
    let coverage = Coverage {
        unseen: (0..25)
            .map(|n| Unseen {
                path: format!("a{n:02}\n.bin"),
                reason: "too large".into(),
            })
            .collect(),
        truncated: Some("the forge lists 3,000 files".into()),
        proviso: None,
    };
    let text = summary(&frozen(&[]), Some(&coverage));
    assert!(text.contains("- The list of changed files is not complete: the forge lists 3,000 files\n"));
    assert!(text.contains("- `a00\\n.bin` (too large)\n"));
    assert!(text.contains("- and 5 more files\n"));
}

#[test]
fn what_does_not_fit_is_counted() {
    let findings: Vec<Finding> = (0..1_000)
        .map(|n| {
            let mut finding = finding(&format!("f{n:04}"));
            finding.title = "t".repeat(200);
            finding.priority = Priority::P3;
            finding
        })
        .collect();
    let review = reviewed(&findings, &PLAIN).unwrap();
    assert!(units(&review.body) <= MAX_BODY);
    assert_eq!(said(&review.body), 1_000);
    let text = summary(&frozen(&findings), None);
    assert!(units(&text) <= MAX_SUMMARY);
    assert_eq!(said(&text), 1_000);
}

/// How many findings a body or summary tells of: entries and the rest's count.
fn said(text: &str) -> usize {
    let entries = text.lines().filter(|line| line.starts_with("- **P")).count();
    let cut: usize = text
        .lines()
        .filter_map(|line| line.split_once(" more finding"))
        .filter_map(|(count, _)| count.parse::<usize>().ok())
        .sum();
    entries + cut
}

#[test]
fn the_check_has_words_for_every_standing() {
    let pass = frozen(&[]);
    let text = |standing| check_text(&standing, None);
    use super::super::check::Standing;
    assert_eq!(text(Standing::Running).title, "Reviewing");
    let waiting = |why| {
        let CheckText { title, summary } = text(Standing::Waiting(why));
        (title, summary)
    };
    assert_eq!(
        waiting("It is a draft. Mark it\nready, @mona."),
        (
            "It is a draft".to_owned(),
            "Mark it ready, @&#8203;mona.".to_owned()
        )
    );
    assert_eq!(
        waiting("paused"),
        (
            "paused".to_owned(),
            "Until then nothing is proved about this head.".to_owned()
        )
    );
    assert_eq!(
        text(Standing::TimedOut(Gate::Required)).title,
        "The review took too long"
    );
    assert!(
        text(Standing::Broken("git\nfailed @x", Gate::Required))
            .summary
            .contains("git failed @&#8203;x")
    );
    assert_eq!(text(Standing::Finished(&pass)).title, "Ship: nothing found");
}

#[test]
fn no_secret_is_in_anything_that_is_said() {
    use super::super::{finding::Draft, fingerprint::Fingerprinter, grounding::ground};
    let value = ["sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"].concat();
    let line = format!("let key = \"{value}\";");
    let mut draft: Draft = draft(&line);
    draft.secret = true;
    draft.title = format!("Key {value}");
    draft.body = format!("The line `{line}` holds {value}");
    draft.suggestion = Some(line.clone());
    let placed = ground(draft, Some(format!("a\n{line}\n").as_bytes())).unwrap();
    let mut finding = confirmed("f1", Priority::P0);
    finding.fingerprint = Fingerprinter::new(vec![1; 32]).fingerprint(&placed);
    let draft = placed.draft;
    (finding.title, finding.body, finding.quote) = (draft.title, draft.body, draft.quote);
    (finding.suggestion, finding.anchor) = (draft.suggestion, draft.anchor);
    let snapshot = frozen(&[finding.clone()]);
    let said = format!(
        "{:?} {} {} {} {:?} {:?}",
        reviewed(&[finding.clone()], &PLAIN),
        summary(&snapshot, None),
        markdown(&snapshot, None),
        plain(&text_lines(&snapshot)),
        serde_json::to_string(&snapshot),
        finding,
    );
    assert!(said.contains(text::MASK));
    assert!(!said.contains(&value) && !said.contains("4eC39Hq"), "{said}");
}

/// Nothing hostile is live in a text of ours.
fn harmless(text: &str) -> Result<(), TestCaseError> {
    use pulldown_cmark::{Event, Options, Parser, Tag};
    let mut details = 0;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                for tag in html.lines().map(str::trim).filter(|line| !line.is_empty()) {
                    let ours = tag.starts_with("<summary>Not confirmed by anybody yet (")
                        || [
                            "<details>",
                            "</details>",
                            "<sub>",
                            "</sub>",
                            "<!-- jury:pass:0193abc -->",
                        ]
                        .contains(&tag);
                    prop_assert!(ours, "{tag:?}");
                    details += i32::from(tag == "<details>") - i32::from(tag == "</details>");
                }
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => prop_assert!(false, "a link in {text:?}"),
            _ => {}
        }
    }
    prop_assert_eq!(details, 0);
    prop_assert!(text.matches("<!-- jury:").count() <= 1);
    prop_assert!(
        !text
            .chars()
            .any(|c| text::is_invisible(c) && !matches!(c, '\r' | '\u{200b}')),
        "{text:?}"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_forged_or_too_long(findings in any_findings(45)) {
        let snapshot = frozen(&findings);
        let all = snapshot.findings.len();
        let live = snapshot.findings.iter().filter(|f| f.status.is_live()).count();
        let summary = summary(&snapshot, None);
        prop_assert!(units(&summary) <= MAX_SUMMARY);
        prop_assert_eq!(said(&summary), all);
        harmless(&summary)?;
        let text = plain(&text_lines(&snapshot));
        prop_assert_eq!(text.lines().filter(|l| ["P0 ", "P1 ", "P2 ", "P3 "].iter().any(|p| l.starts_with(p))).count(), all);
        prop_assert!(!text.chars().any(|c| c != '\n' && text::is_invisible(c)));
        prop_assert!(title(&snapshot).chars().count() <= 200);
        let Some(review) = reviewed(&findings, &PLAIN) else {
            prop_assert_eq!(live, 0);
            return Ok(());
        };
        prop_assert!(review.comments.len() <= MAX_INLINE);
        prop_assert_eq!(said(&review.body) + review.comments.len(), live);
        let demoted = demote(&review, &(0..review.comments.len()).collect::<Vec<_>>());
        for body in [&review.body, &demoted.body] {
            prop_assert!(units(body) <= MAX_BODY);
            prop_assert!(carries_marker(body, &pass_id()));
            harmless(body)?;
        }
        prop_assert!(super::super::anchor::offenders(&review, &files()).is_empty());
        for comment in &review.comments {
            prop_assert!(units(&comment.body) <= MAX_BODY);
            // A suggestion is byte for byte; everything around it is ours.
            let without = comment.body.split("suggestion\n").next().unwrap();
            if without.len() == comment.body.len() { harmless(&comment.body)?; }
        }
    }

    #[test]
    fn order_changes_no_word(mut findings in any_findings(12)) {
        let (summary_before, review_before) = (summary(&frozen(&findings), None), reviewed(&findings, &PLAIN));
        findings.reverse();
        prop_assert_eq!(summary(&frozen(&findings), None), summary_before);
        prop_assert_eq!(reviewed(&findings, &PLAIN), review_before);
    }
}
