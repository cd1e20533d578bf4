//! What a check run says of a head.
//!
//! A check belongs to (repository, commit, name), not to a pull request: two pull
//! requests with one head share it, so it shows the worst of what they say. It
//! never says `success` while one of them is still being reviewed.

use crate::domain::{ids::PullNumber, policy::Gate, words::words};

use super::snapshot::{PassSnapshot, Verdict};

words! {
    /// A check run's conclusion. Branch protection takes `success`, `neutral` and
    /// `skipped` as passed (GitHub docs, "Troubleshooting required status checks").
    pub enum Conclusion {
        /// Lets a required check pass: a `ship`.
        Success = "success",
        /// Lets a required check pass: only where the owner said `gate = "advisory"`.
        Neutral = "neutral",
        /// The check no longer matters: superseded or closed.
        Cancelled = "cancelled",
        /// A person has to act: a `hold`, a draft.
        ActionRequired = "action_required",
        /// Jury hit its own time limit.
        TimedOut = "timed_out",
        /// A `block`, or a review that broke.
        Failure = "failure",
    }
}

/// Where the review of one open pull request on a head stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing<'a> {
    /// It is being reviewed, or about to be.
    Running,
    /// It waits for a person. The first sentence says for what (a draft, an approval) and
    /// becomes the title, the others say what happens next and become the summary.
    Waiting(&'a str),
    /// Its pass came to a verdict.
    Finished(&'a PassSnapshot),
    /// Its pass hit the time limit.
    TimedOut(Gate),
    /// Its pass broke; the words say why.
    Broken(&'a str, Gate),
}

impl Standing<'_> {
    /// The conclusion this standing alone comes to; `None` while it is running.
    pub fn conclusion(&self) -> Option<Conclusion> {
        Some(match self {
            Self::Running => return None,
            Self::Waiting(_) => Conclusion::ActionRequired,
            Self::TimedOut(Gate::Advisory) | Self::Broken(_, Gate::Advisory) => Conclusion::Neutral,
            Self::TimedOut(Gate::Required) => Conclusion::TimedOut,
            Self::Broken(_, Gate::Required) => Conclusion::Failure,
            Self::Finished(pass) => match (pass.verdict, pass.gate) {
                (Verdict::Ship, _) => Conclusion::Success,
                (Verdict::Hold, Gate::Required) => Conclusion::ActionRequired,
                (Verdict::Hold, Gate::Advisory) => Conclusion::Neutral,
                (Verdict::Block, _) => Conclusion::Failure,
            },
        })
    }
}

/// The one standing that a head's check shows: a running one before all, else the
/// worst. Ties go to the lowest pull request number. `None` without any.
pub fn decisive<'s, 'a>(
    standings: impl IntoIterator<Item = &'s (PullNumber, Standing<'a>)>,
) -> Option<&'s (PullNumber, Standing<'a>)>
where
    'a: 's,
{
    // `None` (running) must win over every conclusion.
    let rank = |s: &Standing<'_>| s.conclusion().map_or(u8::MAX, |c| c as u8);
    standings
        .into_iter()
        .max_by(|(n, s), (m, t)| rank(s).cmp(&rank(t)).then(m.cmp(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(verdict: Verdict, gate: Gate) -> PassSnapshot {
        PassSnapshot {
            head_sha: None,
            verdict,
            confidence: 1.0,
            gate,
            axes: vec![],
            findings: vec![],
        }
    }

    #[test]
    fn a_running_review_keeps_every_conclusion_back() {
        let block = pass(Verdict::Block, Gate::Required);
        let ship = pass(Verdict::Ship, Gate::Required);
        for finished in [&block, &ship] {
            let both = [
                (PullNumber(1), Standing::Finished(finished)),
                (PullNumber(2), Standing::Running),
            ];
            let (number, standing) = decisive(&both).unwrap();
            assert_eq!((*number, standing.conclusion()), (PullNumber(2), None));
        }
    }

    #[test]
    fn two_pull_requests_on_one_head_show_the_worst() {
        let ship = pass(Verdict::Ship, Gate::Required);
        let hold = pass(Verdict::Hold, Gate::Required);
        let standings = [
            (PullNumber(1), Standing::Finished(&ship)),
            (PullNumber(2), Standing::Finished(&hold)),
            (PullNumber(3), Standing::Waiting("draft")),
            (PullNumber(4), Standing::Broken("x", Gate::Required)),
        ];
        for upto in 1..=standings.len() {
            let worst = standings[..upto].iter().filter_map(|(_, s)| s.conclusion()).max();
            assert_eq!(decisive(&standings[..upto]).unwrap().1.conclusion(), worst);
        }
        assert_eq!(
            decisive(&standings[1..3]).unwrap().0,
            PullNumber(2),
            "a tie goes to the lower number"
        );
        assert_eq!(decisive(&[]), None);
    }

    #[test]
    fn only_a_ship_is_a_success_and_neutral_needs_the_owners_word() {
        for gate in [Gate::Required, Gate::Advisory] {
            for verdict in Verdict::ALL {
                let pass = pass(*verdict, gate);
                let said = Standing::Finished(&pass).conclusion().unwrap();
                assert_eq!(said == Conclusion::Success, *verdict == Verdict::Ship);
                assert_eq!(
                    said == Conclusion::Neutral,
                    *verdict == Verdict::Hold && gate == Gate::Advisory
                );
            }
        }
        for standing in [
            Standing::Waiting("draft"),
            Standing::TimedOut(Gate::Required),
            Standing::Broken("x", Gate::Required),
        ] {
            assert!(!matches!(
                standing.conclusion(),
                Some(Conclusion::Success | Conclusion::Neutral)
            ));
        }
    }

    #[test]
    fn l20_what_could_not_run_never_satisfies_a_required_check() {
        // GitHub takes `success`, `skipped` and `neutral` for a required check.
        let satisfied = ["success", "skipped", "neutral"];
        for standing in [
            Standing::Broken("it panicked", Gate::Required),
            Standing::TimedOut(Gate::Required),
            Standing::Waiting("draft"),
        ] {
            let said = standing.conclusion().unwrap().as_str();
            assert!(!satisfied.contains(&said), "{standing:?}: {said}");
        }
        // Fail-open is the owner's word, and no word lets a block through.
        let block = pass(Verdict::Block, Gate::Advisory);
        assert_eq!(Standing::Finished(&block).conclusion(), Some(Conclusion::Failure));
    }

    #[test]
    fn l45_only_the_forge_says_stale() {
        let forges_own = ["stale", "skipped", "startup_failure"];
        for conclusion in Conclusion::ALL {
            assert!(!forges_own.contains(&conclusion.as_str()));
        }
        for word in forges_own {
            assert!(serde_json::from_str::<Conclusion>(&format!("\"{word}\"")).is_err());
        }
    }

    #[test]
    fn what_could_not_run_is_neutral_only_where_the_owner_said_so() {
        for standing in [
            Standing::TimedOut(Gate::Advisory),
            Standing::Broken("x", Gate::Advisory),
        ] {
            assert_eq!(standing.conclusion(), Some(Conclusion::Neutral));
        }
    }
}
