//! Tenants and spaces.

use jury::{
    domain::{
        ids::{InstallationId, RepoId, SpaceId},
        space::{PullState, RepoRef},
        time::Timestamp,
    },
    store::InstallationState,
};

use crate::{
    home::{repo, repo_ref, sha, snapshot},
    stories,
};

stories! {
    async fn a_space_comes_back_as_it_was_stored(home) {
        let mut space = home.room(1, 2, 3).await;
        let mut tx = home.db.write().await.unwrap();
        assert_eq!(tx.space(&space.id).await.unwrap().as_ref(), Some(&space));
        assert_eq!(tx.space_of(&space.pull).await.unwrap().as_ref(), Some(&space));
        // An account that is gone, a draft, numbers beyond 32 bits.
        space.snapshot.author = None;
        space.snapshot.draft = true;
        space.snapshot.updated_at = Timestamp(i64::MAX);
        assert!(tx.move_space(&space.id, 1, &space.snapshot).await.unwrap());
        space.rev = 2;
        assert_eq!(tx.space(&space.id).await.unwrap(), Some(space));
    }

    async fn a_pull_request_has_one_space_whoever_comes_first(home) {
        let space = home.room(1, 2, 3).await;
        let mut second = space.clone();
        second.id = SpaceId::new("another");
        let mut tx = home.db.write().await.unwrap();
        assert!(!tx.insert_space(&second, Timestamp(9)).await.unwrap());
        assert_eq!(tx.space_of(&space.pull).await.unwrap(), Some(space));
    }

    async fn a_move_is_conditional_and_raises_the_revision_by_one(home) {
        let space = home.room(1, 2, 3).await;
        let mut tx = home.db.write().await.unwrap();
        assert!(!tx.move_space(&space.id, 7, &snapshot('b')).await.unwrap());
        assert!(tx.move_space(&space.id, 1, &snapshot('b')).await.unwrap());
        assert!(!tx.move_space(&space.id, 1, &snapshot('c')).await.unwrap());
        let moved = tx.space(&space.id).await.unwrap().unwrap();
        assert_eq!((moved.rev, moved.snapshot.head), (2, sha('b')));
        assert_eq!(tx.bump_space(&space.id).await.unwrap(), 3);
        assert!(tx.bump_space(&SpaceId::new("nowhere")).await.is_err());
    }

    async fn a_refresh_takes_the_title_and_leaves_revision_head_and_state(home) {
        let space = home.room(1, 2, 3).await;
        let mut other = snapshot('b');
        other.title = "Better words".into();
        other.state = PullState::Closed;
        other.draft = true;
        other.updated_at = Timestamp(2_000);
        let mut tx = home.db.write().await.unwrap();
        assert!(!tx.refresh_space(&space.id, 2, &other).await.unwrap());
        assert!(tx.refresh_space(&space.id, 1, &other).await.unwrap());
        let now = tx.space(&space.id).await.unwrap().unwrap();
        let mut expected = space;
        expected.snapshot.title = "Better words".into();
        expected.snapshot.updated_at = Timestamp(2_000);
        assert_eq!(now, expected);
    }

    async fn only_open_pull_requests_on_the_head_share_its_check(home) {
        let (first, second) = (home.room(1, 2, 1).await, home.room(1, 2, 2).await);
        let elsewhere = home.room(1, 9, 1).await;
        let stranger = home.room(4, 2, 1).await;
        let mut tx = home.db.write().await.unwrap();
        let ids = |spaces: Vec<jury::domain::space::Space>| -> Vec<SpaceId> { spaces.into_iter().map(|s| s.id).collect() };
        let (ws, repo) = (&first.pull.repo.workspace, first.pull.repo.id);
        let both = vec![first.id.clone(), second.id.clone()];
        assert_eq!(ids(tx.open_spaces_on(ws, repo, &sha('a')).await.unwrap()), both);
        assert_eq!(ids(tx.open_spaces_of_repo(ws, repo).await.unwrap()), both);
        let mut closed = snapshot('a');
        closed.state = PullState::Closed;
        assert!(tx.move_space(&second.id, 1, &closed).await.unwrap());
        assert_eq!(ids(tx.open_spaces_on(ws, repo, &sha('a')).await.unwrap()), std::slice::from_ref(&first.id));
        assert_eq!(tx.open_spaces_on(ws, repo, &sha('b')).await.unwrap(), []);
        assert_eq!(ids(tx.open_spaces_of(first.pull.repo.installation).await.unwrap()), [first.id, elsewhere.id]);
        assert_eq!(ids(tx.open_spaces_of(stranger.pull.repo.installation).await.unwrap()), [stranger.id]);
    }

    /// The same repository number in two workspaces is two repositories.
    async fn no_query_crosses_workspaces(home) {
        let (ours, theirs) = (home.room(1, 2, 3).await, home.room(4, 2, 3).await);
        let mut tx = home.db.write().await.unwrap();
        assert_eq!(tx.space_of(&ours.pull).await.unwrap().unwrap().id, ours.id);
        assert_eq!(tx.space_of(&theirs.pull).await.unwrap().unwrap().id, theirs.id);
        assert_eq!(tx.repo(&ours.pull.repo.workspace, RepoId(2)).await.unwrap(), Some(repo_ref(1, 2)));
        assert_eq!(tx.repos_of(InstallationId(10)).await.unwrap(), [repo_ref(1, 2)]);
        // One workspace cannot take another's installation over.
        let taken = tx.put_installation(InstallationId(10), &theirs.pull.repo.workspace, InstallationState::Active);
        assert!(!taken.await.unwrap());
        let of = tx.installation(InstallationId(10)).await.unwrap();
        assert_eq!(of, Some((ours.pull.repo.workspace, InstallationState::Active)));
    }

    async fn a_renamed_repository_shows_its_new_name_in_every_space(home) {
        let space = home.room(1, 2, 3).await;
        let renamed = RepoRef { name: "renamed".into(), installation: InstallationId(11), ..repo_ref(1, 2) };
        let mut tx = home.db.write().await.unwrap();
        assert!(tx.put_installation(InstallationId(11), &renamed.workspace, InstallationState::Active).await.unwrap());
        tx.upsert_repo(&renamed).await.unwrap();
        assert_eq!(tx.space(&space.id).await.unwrap().unwrap().pull.repo, renamed);
        // The old installation's late removal does not touch what the new one reaches.
        assert_eq!(tx.forget_repos(InstallationId(10), &[RepoId(2)]).await.unwrap(), 0);
        assert!(tx.repo(&renamed.workspace, RepoId(2)).await.unwrap().is_some());
    }

    async fn a_forgotten_repository_keeps_its_spaces_and_can_come_back(home) {
        let space = home.room(1, 2, 3).await;
        let mut tx = home.db.write().await.unwrap();
        let many: Vec<RepoId> = (1..=2500).map(RepoId).collect();
        assert_eq!(tx.forget_repos(InstallationId(10), &many).await.unwrap(), 1);
        assert_eq!(tx.forget_repos(InstallationId(10), &[]).await.unwrap(), 0);
        assert_eq!(tx.repo(&space.pull.repo.workspace, RepoId(2)).await.unwrap(), None);
        assert_eq!(tx.repos_of(InstallationId(10)).await.unwrap(), []);
        assert_eq!(tx.space(&space.id).await.unwrap(), Some(space));
        repo(&mut tx, 1, 2).await;
        assert_eq!(tx.repos_of(InstallationId(10)).await.unwrap(), [repo_ref(1, 2)]);
    }

    async fn a_deleted_installation_stays_deleted(home) {
        let space = home.room(1, 2, 3).await;
        let ws = &space.pull.repo.workspace;
        let mut tx = home.db.write().await.unwrap();
        let id = InstallationId(10);
        assert!(tx.put_installation(id, ws, InstallationState::Suspended).await.unwrap());
        assert!(tx.put_installation(id, ws, InstallationState::Active).await.unwrap());
        assert!(tx.put_installation(id, ws, InstallationState::Deleted).await.unwrap());
        assert!(!tx.put_installation(id, ws, InstallationState::Active).await.unwrap());
        assert_eq!(tx.installation(id).await.unwrap(), Some((ws.clone(), InstallationState::Deleted)));
        assert_eq!(tx.installation(InstallationId(99)).await.unwrap(), None);
    }

    async fn nothing_stays_of_a_transaction_that_was_dropped(home) {
        let mut tx = home.db.write().await.unwrap();
        let space = crate::home::room(&mut tx, 1, 2, 3).await;
        drop(tx);
        assert_eq!(home.db.read().await.unwrap().space(&space.id).await.unwrap(), None);
        // And the next writer is not in its way.
        home.room(1, 2, 3).await;
    }

    async fn a_reader_sees_one_moment_and_cannot_write(home) {
        let space = home.room(1, 2, 3).await;
        let mut reader = home.db.read().await.unwrap();
        assert_eq!(reader.space(&space.id).await.unwrap().unwrap().rev, 1);
        let mut tx = home.db.write().await.unwrap();
        tx.bump_space(&space.id).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(reader.space(&space.id).await.unwrap().unwrap().rev, 1);
        assert!(reader.bump_space(&space.id).await.is_err());
        drop(reader);
        assert_eq!(home.db.read().await.unwrap().space(&space.id).await.unwrap().unwrap().rev, 2);
    }

    async fn the_server_key_is_made_once(home) {
        let (mut a, b) = (home.db.write().await.unwrap(), home.another().await);
        assert_eq!(a.server_key([1; 32]).await.unwrap(), [1; 32]);
        a.commit().await.unwrap();
        assert_eq!(b.write().await.unwrap().server_key([2; 32]).await.unwrap(), [1; 32]);
    }
}
