//! Text that was made to break a database.

use jury::{
    domain::{
        event::Account,
        ids::{AccountId, InstallationId, WorkspaceId},
        review::{finding::Status, reviewer::ContributionState},
        time::Timestamp,
    },
    store::JobKind,
};

use crate::{
    home::{finding, person, repo_ref, snapshot, vote},
    stories,
};

/// Each with what it is stored as when that differs: only NUL does.
const HOSTILE: &[(&str, &str)] = &[
    ("", ""),
    ("\u{0}", "\u{fffd}"),
    ("a\u{0}b\u{0}", "a\u{fffd}b\u{fffd}"),
    ("'; DROP TABLE space; --", "'; DROP TABLE space; --"),
    ("$1 ? :x @y %s {} \\ \\u0000", "$1 ? :x @y %s {} \\ \\u0000"),
    ("5", "5"),
    ("null", "null"),
    ("1e400", "1e400"),
    ("18446744073709551615", "18446744073709551615"),
    ("\"\\ud800\"", "\"\\ud800\""),
    (
        "\u{feff}\u{202e}\u{2066}\u{200b}\u{e0041}",
        "\u{feff}\u{202e}\u{2066}\u{200b}\u{e0041}",
    ),
    (
        "\u{fffe}\u{ffff}\u{10ffff}\u{1f468}\u{200d}\u{1f469}",
        "\u{fffe}\u{ffff}\u{10ffff}\u{1f468}\u{200d}\u{1f469}",
    ),
    (
        "\r\n\t\u{1}\u{7f}\u{85}\u{2028}",
        "\r\n\t\u{1}\u{7f}\u{85}\u{2028}",
    ),
    (" trailing ", " trailing "),
];

stories! {
    async fn hostile_text_is_stored_everywhere_and_comes_back(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        for (n, (given, stored)) in HOSTILE.iter().enumerate() {
            let mut moved = snapshot('b');
            moved.title = (*given).into();
            moved.base_ref = (*given).into();
            moved.html_url = (*given).into();
            moved.author = Some(jury::domain::principal::Principal { name: (*given).into(), ..person(1) });
            let rev = 1 + i64::try_from(n).unwrap();
            assert!(tx.move_space(&space.id, rev, &moved).await.unwrap(), "{given:?}");
            let now = tx.space(&space.id).await.unwrap().unwrap().snapshot;
            assert_eq!((now.title.as_str(), now.base_ref.as_str(), now.html_url.as_str()), (*stored, *stored, *stored));
            assert_eq!(now.author.unwrap().name, *stored);

            let mut f = finding(&format!("f{n}"), given);
            (f.title, f.body) = ((*given).into(), (*given).into());
            (f.suggestion, f.quote) = (Some((*given).into()), Some((*given).into()));
            f.anchor.as_mut().unwrap().path = (*given).into();
            tx.file_finding(&space.id, &pass.id, &f).await.unwrap();
            let mut said = vote(person(1), true);
            said.evidence = (*given).into();
            tx.put_vote(&f.id, &said, Timestamp(1)).await.unwrap();
            let back = tx.live_findings(&space.id).await.unwrap().findings.pop().unwrap();
            for text in [&back.title, &back.body, &back.suggestion.unwrap(), &back.quote.unwrap(), &back.anchor.unwrap().path,
                &back.votes[0].evidence, &back.fingerprint]
            {
                assert_eq!(text, stored);
            }
            assert!(tx.set_status(&f.id, Status::Resolved, None, Timestamp(1)).await.unwrap());
            tx.set_anchor(&f.id, f.anchor.as_ref()).await.unwrap();

            let said = jury::domain::review::reviewer::Contribution {
                reviewer: (*given).into(),
                axis: f.axis,
                state: ContributionState::Failed,
                note: Some((*given).into()),
            };
            tx.put_contribution(&pass.id, &said).await.unwrap();
            let key = jury::store::CheckKey {
                workspace: space.pull.repo.workspace.clone(),
                repo: space.pull.repo.id,
                sha: crate::home::sha('a'),
                name: (*given).into(),
            };
            assert!(tx.want_check(&key, given.as_bytes(), false).await.is_ok());
            let row = tx.check(&key).await.unwrap().unwrap();
            assert_eq!((row.want.as_slice(), row.key.name.as_str()), (given.as_bytes(), *stored));

            tx.enqueue(&crate::home::task(given), Timestamp(0)).await.unwrap();
            let job = tx.claim_job(Timestamp(0), 9, "c", JobKind::ALL).await.unwrap().unwrap();
            assert_eq!(job.key, *stored);
            assert!(tx.retry_job(&job, Timestamp(0), given).await.unwrap());
            let job = tx.claim_job(Timestamp(0), 9, "d", JobKind::ALL).await.unwrap().unwrap();
            assert!(tx.finish_job(&job).await.unwrap());

            let mut renamed = repo_ref(1, 2);
            (renamed.owner, renamed.name) = ((*given).into(), (*given).into());
            tx.upsert_repo(&renamed).await.unwrap();
            let back = tx.repo(&renamed.workspace, renamed.id).await.unwrap().unwrap();
            assert_eq!((back.owner.as_str(), back.name.as_str()), (*stored, *stored));
            let account = Account { id: AccountId(1), login: (*given).into() };
            tx.upsert_workspace(&WorkspaceId::new("forge.example/1"), given, &account).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(home.number("SELECT COUNT(*) FROM space").await, 1);
    }

    async fn an_identifier_that_holds_nul_is_found_again(home) {
        let odd = WorkspaceId::new("forge\u{0}.example/1");
        let account = Account { id: AccountId(1), login: "x".into() };
        let mut tx = home.db.write().await.unwrap();
        tx.upsert_workspace(&odd, "forge", &account).await.unwrap();
        let state = jury::store::InstallationState::Active;
        assert!(tx.put_installation(InstallationId(1), &odd, state).await.unwrap());
        assert!(tx.put_installation(InstallationId(1), &odd, state).await.unwrap());
    }

    /// Bare scalars, numbers beyond i64 and escaped lone surrogates: bytes are bytes.
    async fn a_want_is_kept_byte_for_byte(home) {
        let space = home.room(1, 2, 3).await;
        let mut tx = home.db.write().await.unwrap();
        for (n, want) in [
            &b"5"[..], b"\"7\"", b"null", b"18446744073709551615", b"{\"b\":1,\"a\":1e300}", b"\"\\u0000\\ud800\"", b"", b"\x00\xff",
        ]
        .iter()
        .enumerate()
        {
            let mut pass = crate::home::pass(&space);
            pass.rev = i64::try_from(n).unwrap();
            pass.id = jury::domain::ids::PassId::new(format!("p{n}"));
            assert!(tx.open_pass(&pass).await.unwrap());
            assert!(tx.want_review(&pass.id, &space.id, "COMMENT", want).await.unwrap());
            assert_eq!(tx.review(&pass.id).await.unwrap().unwrap().want, *want);
        }
    }

    async fn a_principal_of_a_kind_that_is_not_ours_is_an_error_not_a_person(home) {
        let space = home.room(1, 2, 3).await;
        home.sql("UPDATE space SET author = 'robot:7'").await;
        let mut tx = home.db.read().await.unwrap();
        let error = tx.space(&space.id).await.unwrap_err();
        assert!(!error.is_transient(), "{error}");
    }

    async fn a_mode_outside_the_four_is_refused_by_the_database(home) {
        home.room(1, 2, 3).await;
        for mode in ["Review", "agent", "", "orchestrate "] {
            let sql = format!("UPDATE space SET mode = '{mode}'");
            let refused = match &home.db {
                jury::store::Db::Lite { write, .. } => sqlx::query(sqlx::AssertSqlSafe(sql)).execute(write).await.is_err(),
                jury::store::Db::Pg(pool) => sqlx::query(sqlx::AssertSqlSafe(sql)).execute(pool).await.is_err(),
            };
            assert!(refused, "{mode:?}");
        }
    }
}
