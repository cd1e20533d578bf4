//! What a pass does next, from the facts alone.
//!
//! There is no stage column: rows say what happened, and this function says what
//! to do. Resuming after a crash is calling it again. A contribution that was only
//! asked for is asked for again: reviewers are pure functions of the change.

use crate::domain::time::Timestamp;

use super::{
    pass::{Outcome, Pass},
    reviewer::{Contribution, ContributionState},
};

/// What is known of a running pass.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The pass.
    pub pass: &'a Pass,
    /// The revision its space has now.
    pub rev: i64,
    /// Whether the pull request is open.
    pub open: bool,
    /// The time now.
    pub now: Timestamp,
    /// The reviewers that owe a contribution, in the order they are asked.
    pub roster: &'a [&'a str],
    /// What they handed in.
    pub contributions: &'a [Contribution],
    /// How many live findings there are that the verifier can judge on this head and has not.
    pub unverified: usize,
}

/// The next step of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Read the change.
    Gather,
    /// Ask a reviewer.
    Ask(String),
    /// Let the verifier judge the findings that it has not judged.
    Confirm,
    /// Come to a verdict.
    Finalize,
    /// End without a verdict.
    End(Outcome),
    /// Nothing: the pass has ended.
    Done,
}

/// Says what comes next. Every answer but [`Next::Done`], carried out, changes a
/// fact, so a pass ends after at most `3 + roster` steps.
pub fn next(facts: &Facts<'_>) -> Next {
    let pass = facts.pass;
    if pass.outcome.is_some() {
        return Next::Done;
    }
    // Being closed moves the revision as well; say the more telling word.
    if !facts.open {
        return Next::End(Outcome::Closed);
    }
    if facts.rev != pass.rev {
        return Next::End(Outcome::Superseded);
    }
    if facts.now >= pass.deadline_at {
        return Next::End(Outcome::TimedOut);
    }
    if pass.merge_base.is_none() {
        return Next::Gather;
    }
    let finished = |name: &str| {
        facts
            .contributions
            .iter()
            .any(|c| c.reviewer == name && c.state != ContributionState::Asked)
    };
    if let Some(reviewer) = facts.roster.iter().find(|name| !finished(name)) {
        return Next::Ask((*reviewer).to_owned());
    }
    if facts.unverified > 0 {
        Next::Confirm
    } else {
        Next::Finalize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        ids::{PassId, SpaceId},
        review::{finding::Axis, pass::Origin},
    };

    fn pass() -> Pass {
        Pass {
            id: PassId::new("p"),
            space: SpaceId::new("s"),
            rev: 3,
            origin: Origin::Review,
            head: "a".repeat(40).parse().unwrap(),
            merge_base: Some("b".repeat(40).parse().unwrap()),
            gate: None,
            started_at: Timestamp(0),
            deadline_at: Timestamp(100),
            outcome: None,
            note: None,
            coverage: None,
            snapshot: None,
            finished_at: None,
        }
    }

    fn contribution(reviewer: &str, state: ContributionState) -> Contribution {
        Contribution {
            reviewer: reviewer.into(),
            axis: Axis::Security,
            state,
            note: None,
        }
    }

    fn facts<'a>(pass: &'a Pass, contributions: &'a [Contribution], unverified: usize) -> Facts<'a> {
        let roster = &["secrets", "test_gap"];
        Facts {
            pass,
            rev: 3,
            open: true,
            now: Timestamp(1),
            roster,
            contributions,
            unverified,
        }
    }

    #[test]
    fn a_pass_gathers_asks_everyone_confirms_and_finalizes() {
        let mut pass = pass();
        pass.merge_base = None;
        assert_eq!(next(&facts(&pass, &[], 0)), Next::Gather);
        pass.merge_base = self::pass().merge_base;
        assert_eq!(next(&facts(&pass, &[], 0)), Next::Ask("secrets".into()));
        let half = [contribution("secrets", ContributionState::Complete)];
        assert_eq!(next(&facts(&pass, &half, 0)), Next::Ask("test_gap".into()));
        let all = [
            half[0].clone(),
            contribution("test_gap", ContributionState::Failed),
        ];
        assert_eq!(next(&facts(&pass, &all, 2)), Next::Confirm, "all of them at once");
        assert_eq!(next(&facts(&pass, &all, 0)), Next::Finalize);
    }

    #[test]
    fn what_a_crash_left_asked_is_asked_again() {
        let pass = pass();
        let asked = [contribution("secrets", ContributionState::Asked)];
        assert_eq!(next(&facts(&pass, &asked, 0)), Next::Ask("secrets".into()));
    }

    #[test]
    fn a_moved_closed_or_late_pass_ends_whatever_else_is_known() {
        let running = pass();
        let base = facts(&running, &[], 0);
        assert_eq!(next(&Facts { rev: 4, ..base }), Next::End(Outcome::Superseded));
        assert_eq!(
            next(&Facts {
                open: false,
                rev: 4,
                ..base
            }),
            Next::End(Outcome::Closed)
        );
        assert_eq!(
            next(&Facts {
                now: Timestamp(100),
                ..base
            }),
            Next::End(Outcome::TimedOut)
        );
        let ended = Pass {
            outcome: Some(Outcome::Finalized),
            ..pass()
        };
        assert_eq!(
            next(&Facts {
                pass: &ended,
                rev: 9,
                open: false,
                ..base
            }),
            Next::Done
        );
    }
}
