//! Findings and votes.

use jury::{
    domain::{
        ids::FindingId,
        principal::Principal,
        review::finding::{Anchor, Confidence, Finding, Priority, Side, Status},
        time::Timestamp,
    },
    store::{Filed, StoredFindings},
};

use crate::{
    home::{finding, pass, person, snapshot, vote},
    stories,
};

fn ids(stored: &StoredFindings) -> Vec<&str> {
    stored.findings.iter().map(|f| f.id.as_str()).collect()
}

stories! {
    async fn a_finding_comes_back_as_it_was_filed(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        let first = finding("a", "p1");
        let bare = Finding {
            anchor: None,
            quote: None,
            suggestion: Some("x\r\ny".into()),
            advisory: true,
            filed_at: Timestamp(101),
            confidence: Confidence::new(0.1 + 0.2).unwrap(),
            ..finding("b", "p2")
        };
        let far = Finding {
            anchor: Some(Anchor { path: "ä b\t\"c".into(), side: Side::Left, start_line: 1, end_line: u32::MAX }),
            filed_at: Timestamp(102),
            ..finding("c", "p3")
        };
        for f in [&first, &bare, &far] {
            assert_eq!(tx.file_finding(&space.id, &pass.id, f).await.unwrap(), Filed::New);
        }
        let stored = tx.findings(&space.id).await.unwrap();
        assert_eq!(stored, StoredFindings { findings: vec![first, bare, far], dropped: 0 });
    }

    async fn the_same_remark_is_live_once_in_a_space(home) {
        let (space, other) = (home.room(1, 2, 3).await, home.room(1, 2, 4).await);
        let (pass, elsewhere) = (home.pass(&space).await, home.pass(&other).await);
        let mut tx = home.db.write().await.unwrap();
        let known = Filed::Known(FindingId::new("a"));
        assert_eq!(tx.file_finding(&space.id, &pass.id, &finding("a", "p")).await.unwrap(), Filed::New);
        let mut louder = finding("b", "p");
        louder.priority = Priority::P0;
        assert_eq!(tx.file_finding(&space.id, &pass.id, &louder).await.unwrap(), known);
        // It is kept as it is.
        assert_eq!(tx.findings(&space.id).await.unwrap().findings, [finding("a", "p")]);
        // Another space has its own.
        assert_eq!(tx.file_finding(&other.id, &elsewhere.id, &finding("c", "p")).await.unwrap(), Filed::New);
        // Each live status counts, each ended one makes room.
        for (status, filed) in [(Status::Disputed, known.clone()), (Status::ConsensusReady, known.clone())] {
            assert!(tx.set_status(&FindingId::new("a"), status, None, Timestamp(1)).await.unwrap());
            assert_eq!(tx.file_finding(&space.id, &pass.id, &finding("d", "p")).await.unwrap(), filed);
        }
        assert!(tx.set_status(&FindingId::new("a"), Status::Resolved, None, Timestamp(2)).await.unwrap());
        assert_eq!(tx.file_finding(&space.id, &pass.id, &finding("e", "p")).await.unwrap(), Filed::New);
        assert_eq!(ids(&tx.live_findings(&space.id).await.unwrap()), ["e"]);
        assert_eq!(ids(&tx.findings(&space.id).await.unwrap()), ["a", "e"]);
        // The old one cannot come back beside it.
        assert!(!tx.set_status(&FindingId::new("a"), Status::Open, None, Timestamp(3)).await.unwrap());
        assert!(tx.set_status(&FindingId::new("e"), Status::Waived, None, Timestamp(4)).await.unwrap());
        assert!(tx.set_status(&FindingId::new("a"), Status::Open, None, Timestamp(5)).await.unwrap());
    }

    async fn workers_that_file_the_same_remark_at_once_file_one(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut filing = Vec::new();
        for n in 0..8 {
            let (db, space, pass) = (home.db.clone(), space.id.clone(), pass.id.clone());
            filing.push(tokio::spawn(async move {
                let mut tx = db.write().await.unwrap();
                let filed = tx.file_finding(&space, &pass, &finding(&format!("f{n}"), "p")).await.unwrap();
                tx.commit().await.unwrap();
                filed
            }));
        }
        let mut new = 0;
        for f in filing {
            new += usize::from(f.await.unwrap() == Filed::New);
        }
        assert_eq!(new, 1);
        assert_eq!(home.number("SELECT COUNT(*) FROM finding").await, 1);
    }

    /// The read boundary: what has no valid weight reaches no verdict, and is counted.
    async fn a_row_without_a_valid_weight_is_dropped_and_counted(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        for n in 0..12 {
            let filed = tx.file_finding(&space.id, &pass.id, &finding(&format!("f{n:02}"), &format!("p{n}"))).await;
            assert_eq!(filed.unwrap(), Filed::New);
        }
        tx.commit().await.unwrap();
        let mut faults = vec![
            "priority = NULL", "priority = 'p4'", "priority = ''", "priority = 'P0'", "confidence = NULL",
            "confidence = 1.0000001", "confidence = -0.1", "confidence = 1e300", "priority = NULL, confidence = NULL",
        ];
        if home.is_sqlite() {
            faults.extend(["confidence = 'high'", "confidence = x'00'", "priority = x'ff'"]);
        } else {
            faults.extend(["confidence = 'NaN'", "confidence = 'Infinity'"]);
        }
        for (n, fault) in faults.iter().enumerate() {
            home.sql(&format!("UPDATE finding SET {fault} WHERE id = 'f{n:02}'")).await;
        }
        let mut tx = home.db.write().await.unwrap();
        for stored in [
            tx.findings(&space.id).await.unwrap(),
            tx.live_findings(&space.id).await.unwrap(),
            tx.unpublished(&space.id).await.unwrap(),
        ] {
            assert_eq!(stored.dropped, faults.len());
            assert_eq!(stored.findings.len(), 12 - faults.len());
        }
        // Such a row does not swallow the remark when it is made again.
        for n in 0..faults.len() {
            let filed = tx.file_finding(&space.id, &pass.id, &finding("again", &format!("p{n}"))).await.unwrap();
            assert_eq!(filed, Filed::Known(FindingId::new(format!("f{n:02}"))));
        }
        let stored = tx.findings(&space.id).await.unwrap();
        assert_eq!((stored.dropped, stored.findings.len()), (0, 12), "after it was made again");
        assert!(stored.findings.iter().all(|f| f.priority == Priority::P1 && f.confidence.get() == 0.85));
    }

    async fn the_last_vote_of_a_principal_counts_and_the_oldest_come_first(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        let id = FindingId::new("a");
        tx.file_finding(&space.id, &pass.id, &finding("a", "p")).await.unwrap();
        tx.file_finding(&space.id, &pass.id, &finding("b", "q")).await.unwrap();
        let mut detailed = vote(Principal::verifier(), true);
        detailed.model = Some("m-1".into());
        detailed.evidence = "line 3 \u{0} \u{1f600}".into();
        tx.put_vote(&id, &vote(person(1), false), Timestamp(1)).await.unwrap();
        tx.put_vote(&id, &detailed, Timestamp(2)).await.unwrap();
        tx.put_vote(&id, &vote(person(1), true), Timestamp(3)).await.unwrap();
        detailed.evidence = "line 3 \u{fffd} \u{1f600}".into();
        let stored = tx.live_findings(&space.id).await.unwrap();
        assert_eq!(stored.findings[0].votes, [detailed, vote(person(1), true)]);
        assert_eq!(stored.findings[1].votes, []);
    }

    async fn a_pass_knows_whose_status_it_changed(home) {
        let mut space = home.room(1, 2, 3).await;
        let first = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        tx.file_finding(&space.id, &first.id, &finding("a", "p")).await.unwrap();
        tx.file_finding(&space.id, &first.id, &finding("b", "q")).await.unwrap();
        assert!(tx.move_space(&space.id, 1, &snapshot('b')).await.unwrap());
        space.rev = 2;
        let second = pass(&space);
        assert!(tx.open_pass(&second).await.unwrap());
        let a = FindingId::new("a");
        assert!(tx.set_status(&a, Status::Resolved, Some(&second.id), Timestamp(9)).await.unwrap());
        assert!(!tx.set_status(&a, Status::Resolved, Some(&first.id), Timestamp(10)).await.unwrap(), "it stands so");
        assert!(!tx.set_status(&FindingId::new("z"), Status::Resolved, None, Timestamp(10)).await.unwrap());
        assert_eq!(ids(&tx.live_findings(&space.id).await.unwrap()), ["b"]);
        tx.commit().await.unwrap();
        let changed = format!("SELECT COUNT(*) FROM finding WHERE id = 'a' AND status_pass = '{}'", second.id);
        assert_eq!(home.number(&changed).await, 1);
        assert_eq!(home.number("SELECT COUNT(*) FROM finding WHERE status_pass IS NOT NULL").await, 1);
    }

    async fn what_a_review_carried_is_not_carried_again(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        for (id, fingerprint) in [("a", "p"), ("b", "q"), ("c", "r")] {
            tx.file_finding(&space.id, &pass.id, &finding(id, fingerprint)).await.unwrap();
        }
        tx.set_status(&FindingId::new("c"), Status::Dismissed, None, Timestamp(1)).await.unwrap();
        assert_eq!(ids(&tx.unpublished(&space.id).await.unwrap()), ["a", "b"]);
        tx.mark_published(&[FindingId::new("a")], &pass.id).await.unwrap();
        assert_eq!(ids(&tx.unpublished(&space.id).await.unwrap()), ["b"]);
        // Its review was not sent after all.
        tx.unpublish(&pass.id).await.unwrap();
        assert_eq!(ids(&tx.unpublished(&space.id).await.unwrap()), ["a", "b"]);
    }

    async fn a_finding_moves_with_its_lines(home) {
        let space = home.room(1, 2, 3).await;
        let pass = home.pass(&space).await;
        let mut tx = home.db.write().await.unwrap();
        tx.file_finding(&space.id, &pass.id, &finding("a", "p")).await.unwrap();
        let there = Anchor { path: "lib.rs".into(), side: Side::Right, start_line: 90, end_line: 91 };
        tx.set_anchor(&FindingId::new("a"), Some(&there)).await.unwrap();
        assert_eq!(tx.findings(&space.id).await.unwrap().findings[0].anchor, Some(there));
        tx.set_anchor(&FindingId::new("a"), None).await.unwrap();
        assert_eq!(tx.findings(&space.id).await.unwrap().findings[0].anchor, None);
    }

    async fn findings_of_another_workspace_are_never_listed(home) {
        let (ours, theirs) = (home.room(1, 2, 3).await, home.room(4, 2, 3).await);
        let (pass, stranger) = (home.pass(&ours).await, home.pass(&theirs).await);
        let mut tx = home.db.write().await.unwrap();
        tx.file_finding(&ours.id, &pass.id, &finding("a", "p")).await.unwrap();
        tx.file_finding(&theirs.id, &stranger.id, &finding("b", "p")).await.unwrap();
        assert_eq!(ids(&tx.findings(&ours.id).await.unwrap()), ["a"]);
        tx.commit().await.unwrap();
        let filed = "SELECT COUNT(*) FROM finding f JOIN space s ON s.id = f.space AND s.workspace = f.workspace";
        assert_eq!(home.number(filed).await, 2);
    }
}
