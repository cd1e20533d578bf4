//! Passes and contributions.

use jury::domain::{
    ids::PassId,
    policy::Gate,
    review::{
        coverage::{Coverage, Unseen},
        finding::Axis,
        pass::{Origin, Outcome},
        reviewer::{Contribution, ContributionState},
    },
    time::Timestamp,
};

use crate::{
    home::{finding, pass_snapshot, sha, snapshot},
    stories,
};

stories! {
    async fn a_pass_comes_back_as_it_was_stored_at_every_step(home) {
        let space = home.room(1, 2, 3).await;
        let mut pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        assert_eq!(tx.pass(&pass.id).await.unwrap().as_ref(), Some(&pass));
        let coverage = Coverage {
            unseen: vec![Unseen { path: "a\u{0}b \u{202e}".into(), reason: "binary".into() }],
            truncated: Some("more than 3000 files".into()),
            proviso: Some("of a patch".into()),
        };
        assert!(tx.record_gathered(&pass.id, &sha('9'), Gate::Advisory, &coverage).await.unwrap());
        pass.merge_base = Some(sha('9'));
        pass.gate = Some(Gate::Advisory);
        pass.coverage = Some(coverage);
        assert_eq!(tx.pass_at(&space.id, 1).await.unwrap().as_ref(), Some(&pass));
        let snapshot = pass_snapshot(&[finding("f", "p")]);
        assert!(tx.end_pass(&pass, Outcome::Finalized, None, Some(&snapshot), Timestamp(50)).await.unwrap());
        pass.outcome = Some(Outcome::Finalized);
        pass.snapshot = Some(snapshot);
        pass.finished_at = Some(Timestamp(50));
        assert_eq!(tx.pass(&pass.id).await.unwrap().as_ref(), Some(&pass));
        assert_eq!(tx.passes(&space.id).await.unwrap(), [pass]);
        assert_eq!(tx.pass(&PassId::new("none")).await.unwrap(), None);
    }

    /// Key order and number forms are the caller's.
    async fn a_snapshot_is_kept_byte_for_byte(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let snapshot = pass_snapshot(&[finding("f", "p")]);
        let mut tx = home.db.write().await.unwrap();
        assert!(tx.end_pass(&pass, Outcome::Finalized, None, Some(&snapshot), Timestamp(50)).await.unwrap());
        tx.commit().await.unwrap();
        let sql = "SELECT snapshot FROM pass";
        let stored: Vec<u8> = match &home.db {
            jury::store::Db::Lite { read, .. } => sqlx::query_scalar(sql).fetch_one(read).await.unwrap(),
            jury::store::Db::Pg(pool) => sqlx::query_scalar(sql).fetch_one(pool).await.unwrap(),
        };
        assert_eq!(String::from_utf8(stored).unwrap(), serde_json::to_string(&snapshot).unwrap());
    }

    async fn a_revision_has_one_pass(home) {
        let space = home.room(1, 2, 3).await;
        let mut pass = home.pass(&space).await;
        pass.id = PassId::new("another");
        let mut tx = home.db.write().await.unwrap();
        assert!(!tx.open_pass(&pass).await.unwrap());
        pass.rev = 2;
        pass.origin = Origin::Carried;
        assert!(tx.open_pass(&pass).await.unwrap());
        assert_eq!(tx.passes(&space.id).await.unwrap().len(), 2);
    }

    async fn a_pass_ends_once(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        assert!(tx.end_pass(&pass, Outcome::Broken, Some("no\u{0}git"), None, Timestamp(50)).await.unwrap());
        let snapshot = pass_snapshot(&[]);
        assert!(!tx.end_pass(&pass, Outcome::Finalized, None, Some(&snapshot), Timestamp(60)).await.unwrap());
        assert!(!tx.end_pass(&pass, Outcome::Closed, None, None, Timestamp(60)).await.unwrap());
        assert!(!tx.record_gathered(&pass.id, &sha('9'), Gate::Required, &Coverage::default()).await.unwrap());
        let ended = tx.pass(&pass.id).await.unwrap().unwrap();
        assert_eq!((ended.outcome, ended.finished_at), (Some(Outcome::Broken), Some(Timestamp(50))));
        assert_eq!(ended.note.as_deref(), Some("no\u{fffd}git"));
        assert_eq!(ended.snapshot, None);
    }

    async fn a_pass_cannot_be_finalized_once_its_space_has_moved(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        assert!(tx.move_space(&space.id, 1, &snapshot('b')).await.unwrap());
        let verdict = pass_snapshot(&[]);
        assert!(!tx.end_pass(&pass, Outcome::Finalized, None, Some(&verdict), Timestamp(50)).await.unwrap());
        assert_eq!(tx.pass(&pass.id).await.unwrap().unwrap().outcome, None);
        assert!(tx.end_pass(&pass, Outcome::Superseded, None, None, Timestamp(50)).await.unwrap());
        assert_eq!(tx.latest_finalized(&space.id).await.unwrap(), None);
    }

    /// The move and the end race: exactly one order comes out, and a pass that was
    /// finalized was finalized before the move.
    async fn finalizing_and_moving_never_both_see_the_old_revision(home) {
        for number in 1..=20 {
            let space = home.room(1, 2, number).await;
            let pass = home.pass(&space).await;
            let (mover, ender) = (home.db.clone(), home.db.clone());
            let id = space.id.clone();
            let moving = tokio::spawn(async move {
                let mut tx = mover.write().await.unwrap();
                let moved = tx.move_space(&id, 1, &snapshot('b')).await.unwrap();
                // What intake does in the same transaction: supersede what still runs.
                let open = tx.pass_at(&id, 1).await.unwrap().unwrap().outcome.is_none();
                tx.commit().await.unwrap();
                (moved, open)
            });
            let ending = tokio::spawn(async move {
                let mut tx = ender.write().await.unwrap();
                let verdict = pass_snapshot(&[]);
                let ended = tx.end_pass(&pass, Outcome::Finalized, None, Some(&verdict), Timestamp(50)).await.unwrap();
                tx.commit().await.unwrap();
                ended
            });
            let ((moved, open), ended) = (moving.await.unwrap(), ending.await.unwrap());
            assert!(moved);
            assert_eq!(open, !ended, "number {number}");
        }
    }

    async fn the_latest_finalized_pass_is_the_one_of_the_highest_revision(home) {
        let mut space = home.room(1, 2, 3).await;
        let mut tx = home.db.write().await.unwrap();
        for (rev, outcome) in [(1, Outcome::Finalized), (2, Outcome::Finalized), (3, Outcome::TimedOut)] {
            space.rev = rev;
            let pass = crate::home::pass(&space);
            assert!(tx.open_pass(&pass).await.unwrap());
            let verdict = (outcome == Outcome::Finalized).then(|| pass_snapshot(&[]));
            assert!(tx.end_pass(&pass, outcome, None, verdict.as_ref(), Timestamp(50)).await.unwrap());
            assert_eq!(tx.bump_space(&space.id).await.unwrap(), rev + 1);
        }
        assert_eq!(tx.latest_finalized(&space.id).await.unwrap().unwrap().rev, 2);
    }

    /// What the reaper asks for: nothing that ends by itself, nothing out of reach.
    async fn a_space_that_nobody_works_on_is_found(home) {
        let (one, two, three) = (home.room(1, 2, 1).await, home.room(1, 2, 2).await, home.room(4, 2, 1).await);
        let mut tx = home.db.write().await.unwrap();
        let all = vec![one.id.clone(), two.id.clone(), three.id.clone()];
        assert_eq!(tx.spaces_to_tend(9).await.unwrap(), all, "none has a pass");
        assert_eq!(tx.spaces_to_tend(1).await.unwrap(), all[..1]);
        // A pass that runs needs tending too, and one that ended does not.
        let pass = crate::home::pass(&one);
        assert!(tx.open_pass(&pass).await.unwrap());
        assert_eq!(tx.running_pass(&one.id).await.unwrap().as_ref(), Some(&pass));
        assert_eq!(tx.spaces_to_tend(9).await.unwrap(), all);
        assert!(tx.end_pass(&pass, Outcome::Broken, None, None, Timestamp(5)).await.unwrap());
        assert_eq!(tx.running_pass(&one.id).await.unwrap(), None);
        assert_eq!(tx.spaces_to_tend(9).await.unwrap(), [two.id.clone(), three.id.clone()]);
        // A closed pull request needs none, but a pass that was left behind in it does.
        let mut closed = snapshot('b');
        closed.state = jury::domain::space::PullState::Closed;
        let left = crate::home::pass(&three);
        assert!(tx.open_pass(&left).await.unwrap());
        assert!(tx.move_space(&two.id, 1, &closed).await.unwrap());
        assert!(tx.move_space(&three.id, 1, &closed).await.unwrap());
        assert_eq!(tx.spaces_to_tend(9).await.unwrap(), all[2..]);
        // A job that waits or runs is enough; one that was given up is not.
        let tending = crate::home::task(three.id.as_str());
        tx.enqueue(&tending, Timestamp(0)).await.unwrap();
        assert_eq!(tx.spaces_to_tend(9).await.unwrap(), []);
        let job = tx.claim_job(Timestamp(0), 9, "c", &[tending.kind()]).await.unwrap().unwrap();
        assert_eq!(tx.spaces_to_tend(9).await.unwrap(), []);
        assert!(tx.bury_job(&job, "it panicked").await.unwrap());
        assert!(tx.is_dead(&tending).await.unwrap());
        assert_eq!(tx.spaces_to_tend(9).await.unwrap(), all[2..]);
        // Out of reach.
        let ws = &three.pull.repo.workspace;
        let state = jury::store::InstallationState::Suspended;
        assert!(tx.put_installation(three.pull.repo.installation, ws, state).await.unwrap());
        assert_eq!(tx.spaces_to_tend(9).await.unwrap(), []);
    }

    async fn a_snapshot_without_a_verdict_or_the_reverse_is_a_fault_of_ours(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let verdict = pass_snapshot(&[]);
        let mut tx = home.db.write().await.unwrap();
        assert!(tx.end_pass(&pass, Outcome::Finalized, None, None, Timestamp(50)).await.is_err());
        assert!(tx.end_pass(&pass, Outcome::Closed, None, Some(&verdict), Timestamp(50)).await.is_err());
        assert_eq!(tx.pass(&pass.id).await.unwrap().unwrap().outcome, None);
    }

    async fn the_last_word_of_a_reviewer_counts(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        let mut said = Contribution {
            reviewer: "secrets".into(),
            axis: Axis::Security,
            state: ContributionState::Asked,
            note: None,
        };
        tx.put_contribution(&pass.id, &said).await.unwrap();
        said.state = ContributionState::Partial;
        said.note = Some("one file is too large".into());
        tx.put_contribution(&pass.id, &said).await.unwrap();
        let other = Contribution { reviewer: "conflict_markers".into(), ..said.clone() };
        tx.put_contribution(&pass.id, &other).await.unwrap();
        assert_eq!(tx.contributions(&pass.id).await.unwrap(), [other, said]);
    }
}
