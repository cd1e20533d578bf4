//! What the forge should show: checks and reviews.

use jury::{
    domain::{
        ids::{CheckRunId, InstallationId, PassId, RepoId, ReviewId},
        review::pass::Outcome,
        time::Timestamp,
    },
    store::{CheckKey, InstallationState, ReviewState},
};

use crate::{
    home::{repo_ref, sha},
    stories,
};

fn key(workspace: i64, repo: i64) -> CheckKey {
    let repo = repo_ref(workspace, repo);
    CheckKey {
        workspace: repo.workspace,
        repo: repo.id,
        sha: sha('a'),
        name: "jury".into(),
    }
}

#[test]
fn a_check_key_is_its_text() {
    for name in ["jury", "jury / second look", " x"] {
        let key = CheckKey {
            name: name.into(),
            ..key(1, i64::MAX)
        };
        assert_eq!(key.to_string().parse(), Ok(key));
    }
    for text in [
        "",
        "a",
        "a 1",
        "a 1 b jury",
        "a x aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa jury",
        "a 1  jury",
    ] {
        assert!(text.parse::<CheckKey>().is_err(), "{text:?}");
    }
    assert!(
        format!("a 1 {} ", sha('a')).parse::<CheckKey>().is_err(),
        "no name"
    );
}

stories! {
    async fn the_same_want_again_changes_nothing(home) {
        home.room(1, 2, 3).await;
        let mut tx = home.db.write().await.unwrap();
        assert_eq!(tx.check(&key(1, 2)).await.unwrap(), None);
        assert_eq!(tx.want_check(&key(1, 2), b"one", false).await.unwrap(), 1);
        assert_eq!(tx.want_check(&key(1, 2), b"one", false).await.unwrap(), 1);
        assert_eq!(tx.want_check(&key(1, 2), b"one", true).await.unwrap(), 2);
        assert_eq!(tx.want_check(&key(1, 2), b"two", true).await.unwrap(), 3);
        let row = tx.check(&key(1, 2)).await.unwrap().unwrap();
        assert_eq!((row.want, row.want_rev, row.want_completed, row.sent_rev), (b"two".to_vec(), 3, true, 0));
    }

    /// Made, changed, completed, then asked for again: a completed run is not reopened,
    /// so a new generation is made.
    async fn a_check_goes_through_its_generations(home) {
        home.room(1, 2, 3).await;
        let key = key(1, 2);
        let mut tx = home.db.write().await.unwrap();
        let rev = tx.want_check(&key, b"running", false).await.unwrap();
        tx.intend_check(&key, Some("jury-1"), Timestamp(10)).await.unwrap();
        let row = tx.check(&key).await.unwrap().unwrap();
        assert_eq!((row.generation, row.external_id.as_deref(), row.forge_id), (1, Some("jury-1"), None));
        assert_eq!((row.intent_at, row.is_sent()), (Some(Timestamp(10)), false));
        tx.sent_check(&key, rev, CheckRunId(i64::MAX), false, true).await.unwrap();
        let row = tx.check(&key).await.unwrap().unwrap();
        assert_eq!((row.forge_id, row.intent_at, row.completed), (Some(CheckRunId(i64::MAX)), None, false));
        assert!(row.is_sent());

        let rev = tx.want_check(&key, b"done", true).await.unwrap();
        tx.intend_check(&key, None, Timestamp(20)).await.unwrap();
        // Wanted anew while the request was on its way: not sent yet.
        tx.want_check(&key, b"running again", false).await.unwrap();
        tx.sent_check(&key, rev, CheckRunId(i64::MAX), true, true).await.unwrap();
        let row = tx.check(&key).await.unwrap().unwrap();
        assert_eq!((row.generation, row.completed, row.is_sent()), (1, true, false));

        tx.intend_check(&key, Some("jury-2"), Timestamp(30)).await.unwrap();
        let row = tx.check(&key).await.unwrap().unwrap();
        assert_eq!((row.generation, row.external_id.as_deref()), (2, Some("jury-2")));
        assert_eq!((row.forge_id, row.completed), (None, false));
        tx.forget_check_intent(&key).await.unwrap();
        assert_eq!(tx.check(&key).await.unwrap().unwrap().intent_at, None);
        tx.intend_check(&key, None, Timestamp(40)).await.unwrap();
        // Sent, and an earlier request may still take effect: the intent stays.
        tx.sent_check(&key, 3, CheckRunId(2), false, false).await.unwrap();
        let row = tx.check(&key).await.unwrap().unwrap();
        assert_eq!((row.intent_at, row.is_sent()), (Some(Timestamp(40)), true));
        // A late answer to an older want does not turn the row back.
        tx.sent_check(&key, 3, CheckRunId(2), false, true).await.unwrap();
        tx.sent_check(&key, 2, CheckRunId(1), true, true).await.unwrap();
        let row = tx.check(&key).await.unwrap().unwrap();
        assert_eq!((row.forge_id, row.completed, row.sent_rev), (Some(CheckRunId(2)), false, 3));
    }

    async fn the_reaper_finds_what_is_unsent_and_what_is_in_progress(home) {
        home.room(1, 2, 3).await;
        home.room(4, 2, 3).await;
        let mut tx = home.db.write().await.unwrap();
        let rev = tx.want_check(&key(1, 2), b"running", false).await.unwrap();
        tx.want_check(&key(4, 2), b"done", true).await.unwrap();
        let keys = |rows: Vec<jury::store::CheckRow>| -> Vec<CheckKey> { rows.into_iter().map(|r| r.key).collect() };
        assert_eq!(keys(tx.unsent_checks(10).await.unwrap()).len(), 2);
        assert_eq!(tx.unsent_checks(1).await.unwrap().len(), 1);
        assert_eq!(keys(tx.checks_in_progress(10).await.unwrap()), [key(1, 2)]);
        tx.sent_check(&key(1, 2), rev, CheckRunId(1), false, true).await.unwrap();
        assert_eq!(keys(tx.unsent_checks(10).await.unwrap()), [key(4, 2)]);
        assert_eq!(keys(tx.checks_in_progress(10).await.unwrap()), [key(1, 2)]);
        // What cannot be reached is not in the way of what can.
        tx.forget_repos(InstallationId(10), &[RepoId(2)]).await.unwrap();
        let ws = repo_ref(4, 2).workspace;
        tx.put_installation(InstallationId(40), &ws, InstallationState::Suspended).await.unwrap();
        assert_eq!(tx.unsent_checks(10).await.unwrap(), []);
        assert_eq!(tx.checks_in_progress(10).await.unwrap(), []);
        tx.put_installation(InstallationId(40), &ws, InstallationState::Active).await.unwrap();
        assert_eq!(keys(tx.unsent_checks(10).await.unwrap()), [key(4, 2)]);
    }

    async fn a_check_in_progress_whose_head_no_pass_runs_on_is_stalled(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        tx.want_check(&key(1, 2), b"running", false).await.unwrap();
        assert_eq!(tx.stalled_checks(10).await.unwrap(), [], "its pass will end");
        assert!(tx.end_pass(&pass, Outcome::Broken, None, None, Timestamp(20)).await.unwrap());
        assert_eq!(tx.stalled_checks(10).await.unwrap(), tx.checks_in_progress(10).await.unwrap());
        assert_eq!(tx.stalled_checks(10).await.unwrap().len(), 1);
        tx.want_check(&key(1, 2), b"done", true).await.unwrap();
        assert_eq!(tx.stalled_checks(10).await.unwrap(), []);
    }

    /// Two pull requests share a head, and both passes end at once. Whoever works out the
    /// check second sees that the other pass has ended.
    async fn who_locks_a_check_second_sees_what_the_first_wrote(home) {
        let one = home.room(1, 2, 3).await;
        let (pass_one, two) = (home.pass(&one).await, home.room(1, 2, 4).await);
        let pass_two = home.pass(&two).await;
        let key = key(1, 2);
        let mut first = home.db.write().await.unwrap();
        assert!(first.end_pass(&pass_one, Outcome::Broken, None, None, Timestamp(20)).await.unwrap());
        let other = home.another().await;
        let mut second = Box::pin(async {
            let mut tx = other.write().await.unwrap();
            assert!(tx.end_pass(&pass_two, Outcome::Broken, None, None, Timestamp(20)).await.unwrap());
            tx.lock_check(&key).await.unwrap();
            let seen = tx.running_pass(&one.id).await.unwrap();
            tx.commit().await.unwrap();
            seen
        });
        first.lock_check(&key).await.unwrap();
        assert!(first.running_pass(&two.id).await.unwrap().is_some(), "not ended for the first");
        if !home.is_sqlite() {
            // On SQLite it waits for its beginning, which cannot be seen from outside.
            const WAITING: &str = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
            let waits = async { while home.number(WAITING).await == 0 {} };
            tokio::select! {
                _ = &mut second => panic!("the second did not wait"),
                () = waits => {}
            }
        }
        first.commit().await.unwrap();
        assert_eq!(second.await, None, "the first has ended its pass");
    }

    async fn a_pass_has_at_most_one_review(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        assert!(tx.want_review(&pass.id, &space.id, "COMMENT", b"{\"z\":1,\"a\":2}").await.unwrap());
        assert!(!tx.want_review(&pass.id, &space.id, "APPROVE", b"other").await.unwrap());
        let row = tx.review(&pass.id).await.unwrap().unwrap();
        assert_eq!((row.want, row.event.as_str(), row.state), (b"{\"z\":1,\"a\":2}".to_vec(), "COMMENT", ReviewState::Wanted));
        assert_eq!(tx.review(&PassId::new("none")).await.unwrap(), None);
    }

    async fn a_review_is_sent_once_and_a_sent_one_is_not_dropped(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        tx.want_review(&pass.id, &space.id, "REQUEST_CHANGES", b"{}").await.unwrap();
        assert_eq!(tx.unsent_reviews(9).await.unwrap().len(), 1);
        assert!(tx.intend_review(&pass.id, Timestamp(5)).await.unwrap());
        let row = tx.review(&pass.id).await.unwrap().unwrap();
        assert_eq!((row.state, row.intent_at), (ReviewState::Sending, Some(Timestamp(5))));
        // After a crash the outcome is not known: still to be sent, or found.
        assert_eq!(tx.unsent_reviews(9).await.unwrap(), [row]);
        tx.forget_review_intent(&pass.id).await.unwrap();
        let row = tx.review(&pass.id).await.unwrap().unwrap();
        assert_eq!((row.state, row.intent_at), (ReviewState::Wanted, None));
        assert!(tx.intend_review(&pass.id, Timestamp(6)).await.unwrap());
        assert!(tx.sent_review(&pass.id, ReviewId(5_000_000_000)).await.unwrap());
        assert!(!tx.sent_review(&pass.id, ReviewId(1)).await.unwrap());
        assert!(!tx.intend_review(&pass.id, Timestamp(7)).await.unwrap());
        tx.forget_review_intent(&pass.id).await.unwrap();
        assert!(!tx.drop_review(&pass.id, "superseded").await.unwrap());
        assert_eq!(tx.unsent_reviews(9).await.unwrap(), []);
        tx.dismissed_review(&pass.id, Timestamp(8)).await.unwrap();
        tx.dismissed_review(&pass.id, Timestamp(9)).await.unwrap();
        let row = tx.reviews_of(&space.id).await.unwrap().remove(0);
        assert_eq!((row.state, row.forge_id, row.dismissed_at), (ReviewState::Sent, Some(ReviewId(5_000_000_000)), Some(Timestamp(8))));
    }

    async fn a_dropped_review_is_not_sent_unless_it_is_found_on_the_forge(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        tx.want_review(&pass.id, &space.id, "COMMENT", b"{}").await.unwrap();
        assert!(tx.drop_review(&pass.id, "superseded").await.unwrap());
        assert!(!tx.intend_review(&pass.id, Timestamp(7)).await.unwrap());
        assert_eq!(tx.unsent_reviews(9).await.unwrap(), []);
        assert_eq!(tx.review(&pass.id).await.unwrap().unwrap().reason.as_deref(), Some("superseded"));
        assert!(tx.sent_review(&pass.id, ReviewId(1)).await.unwrap());
        assert_eq!(tx.review(&pass.id).await.unwrap().unwrap().state, ReviewState::Sent);
    }
}
