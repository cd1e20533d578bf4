//! The inbox: durable before acknowledged, once per id, in order.

use std::collections::HashMap;

use bytes::Bytes;
use jury::{
    domain::{ids::DeliveryId, time::Timestamp},
    store::{Accepted, Db, Delivery, DeliveryCounts, Inbox, NewDelivery, Tx},
};

use crate::stories;

fn delivery(id: &str, body: impl Into<Bytes>) -> NewDelivery {
    NewDelivery {
        id: DeliveryId::new(id),
        event: "pull_request".into(),
        body: body.into(),
        received_at: Timestamp(1_700_000_000_000),
    }
}

async fn claim(db: &Db, now: i64, claim: &str, limit: i64) -> Vec<Delivery> {
    let mut tx = db.write().await.unwrap();
    let claimed = tx
        .claim_deliveries(Timestamp(now), 100, claim, limit)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    claimed
}

fn ids(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|d| d.id.as_str()).collect()
}

/// After every delivery came in.
const NOW: i64 = 1_800_000_000_000;

/// When the disk is full or a read fails, SQLite ends the transaction by itself, and the
/// driver, which still believes in it, fails to. The same is done here by hand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_full_disk_deliveries_are_stored_again() {
    let home = crate::home::Home::sqlite().await;
    let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
    let mut tx = home.db.write().await.unwrap();
    let Tx::Lite(lite) = &mut tx else {
        unreachable!("it is SQLite")
    };
    sqlx::query("ROLLBACK").execute(&mut **lite).await.unwrap();
    assert!(tx.commit().await.is_err());
    assert_eq!(
        inbox.accept(delivery("d1", "{}")).await.unwrap(),
        Accepted::Stored
    );
    assert_eq!(ids(&claim(&home.db, NOW, "c", 10).await), ["d1"]);
    writer.drain().await;
}

stories! {
    async fn a_delivery_comes_back_byte_for_byte(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let bodies: [&[u8]; 4] = [b"", b"{\"a\":\"\\u0000\\ud800\"}", b"\x00\xff\xfe", &large];
        for (n, body) in bodies.iter().enumerate() {
            let new = delivery(&format!("d{n}"), body.to_vec());
            assert_eq!(inbox.accept(new).await.unwrap(), Accepted::Stored);
        }
        let claimed = claim(&home.db, NOW, "c", 10).await;
        assert_eq!(ids(&claimed), ["d0", "d1", "d2", "d3"]);
        for (delivery, body) in claimed.iter().zip(bodies) {
            assert!(delivery.body == body, "{} differs", delivery.id);
            assert_eq!((delivery.attempts, delivery.event.as_str()), (1, "pull_request"));
            assert_eq!(delivery.received_at, Timestamp(1_700_000_000_000));
        }
        writer.drain().await;
    }

    async fn deliveries_are_claimed_in_the_order_they_came_whatever_the_clock_says(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        for (n, at) in [900, 500, 501, 100, 900].iter().enumerate() {
            let new = NewDelivery { received_at: Timestamp(*at), ..delivery(&format!("d{n}"), "{}") };
            inbox.accept(new).await.unwrap();
        }
        writer.drain().await;
        // A new process whose clock went back.
        let (inbox, writer) = Inbox::start(&home.another().await).await.unwrap();
        inbox.accept(NewDelivery { received_at: Timestamp(1), ..delivery("d5", "{}") }).await.unwrap();
        assert_eq!(ids(&claim(&home.db, NOW, "c1", 2).await), ["d0", "d1"]);
        assert_eq!(ids(&claim(&home.db, NOW, "c2", 9).await), ["d2", "d3", "d4", "d5"]);
        assert_eq!(ids(&claim(&home.db, NOW, "c3", 9).await), [""; 0]);
        writer.drain().await;
    }

    async fn a_hundred_copies_of_one_delivery_are_one(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        let (second, other_writer) = Inbox::start(&home.another().await).await.unwrap();
        let mut copies = Vec::new();
        for n in 0..100 {
            let inbox = if n % 2 == 0 { inbox.clone() } else { second.clone() };
            copies.push(tokio::spawn(async move { inbox.accept(delivery("same", "{}")).await.unwrap() }));
        }
        let mut stored = 0;
        for copy in copies {
            stored += usize::from(copy.await.unwrap() == Accepted::Stored);
        }
        assert_eq!(stored, 1);
        assert_eq!(claim(&home.db, NOW, "c", 9).await.len(), 1);
        // Running, then done: still nothing.
        assert_eq!(inbox.accept(delivery("same", "{}")).await.unwrap(), Accepted::Repeat);
        let mut tx = home.db.write().await.unwrap();
        assert!(tx.finish_delivery(&DeliveryId::new("same"), "c").await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(inbox.accept(delivery("same", "{}")).await.unwrap(), Accepted::Repeat);
        assert_eq!(claim(&home.db, NOW, "c2", 9).await, []);
        writer.drain().await;
        other_writer.drain().await;
    }

    async fn a_dead_letter_that_comes_again_is_queued_as_if_new(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        inbox.accept(delivery("d", "{}")).await.unwrap();
        let id = DeliveryId::new("d");
        for round in 0..3 {
            let at = NOW + round * 1000;
            assert_eq!(claim(&home.db, at, "c1", 9).await[0].attempts, 1);
            let mut tx = home.db.write().await.unwrap();
            assert!(tx.retry_delivery(&id, "c1", Timestamp(at + 50), "first").await.unwrap());
            tx.commit().await.unwrap();
            assert_eq!(claim(&home.db, at + 49, "c2", 9).await, []);
            assert_eq!(claim(&home.db, at + 50, "c2", 9).await[0].attempts, 2);
            let mut tx = home.db.write().await.unwrap();
            assert!(tx.bury_delivery(&id, "c2", "no\u{0}pe").await.unwrap());
            tx.commit().await.unwrap();
            assert_eq!(claim(&home.db, i64::MAX, "c3", 9).await, []);
            let counts = home.db.read().await.unwrap().delivery_counts().await.unwrap();
            assert_eq!(counts, DeliveryCounts { queued: 0, running: 0, dead: 1 });
            let again = inbox.accept(delivery("d", "{}")).await.unwrap();
            assert_eq!(again, Accepted::Requeued);
            assert_eq!(inbox.accept(delivery("d", "{}")).await.unwrap(), Accepted::Repeat);
        }
        writer.drain().await;
    }

    async fn a_lost_lease_is_taken_over_and_its_holder_refused(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        inbox.accept(delivery("d", "{}")).await.unwrap();
        let id = DeliveryId::new("d");
        assert_eq!(claim(&home.db, NOW, "old", 9).await.len(), 1);
        assert_eq!(claim(&home.db, NOW + 99, "thief", 9).await, []);
        assert_eq!(claim(&home.db, NOW + 100, "new", 9).await[0].attempts, 2);
        let mut tx = home.db.write().await.unwrap();
        assert!(!tx.finish_delivery(&id, "old").await.unwrap());
        assert!(!tx.retry_delivery(&id, "old", Timestamp(0), "x").await.unwrap());
        assert!(!tx.bury_delivery(&id, "old", "x").await.unwrap());
        assert!(tx.finish_delivery(&id, "new").await.unwrap());
        assert!(!tx.finish_delivery(&id, "new").await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(claim(&home.db, i64::MAX, "none", 9).await, []);
        writer.drain().await;
    }

    async fn a_batch_is_finished_whole_or_not_at_all(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        let many: Vec<DeliveryId> = (0..70).map(|n| DeliveryId::new(format!("d{n:02}"))).collect();
        for id in &many {
            inbox.accept(delivery(id.as_str(), "{}")).await.unwrap();
        }
        writer.drain().await;
        assert_eq!(claim(&home.db, NOW, "old", 99).await.len(), 70);
        // One of them is another worker's by now.
        home.sql("UPDATE delivery SET claim = 'thief' WHERE id = 'd07'").await;
        let mut tx = home.db.write().await.unwrap();
        assert!(!tx.finish_deliveries(&many, "old").await.unwrap());
        drop(tx);
        assert_eq!(home.number("SELECT COUNT(*) FROM delivery WHERE state = 'running'").await, 70);
        let own: Vec<DeliveryId> = many.iter().filter(|id| id.as_str() != "d07").cloned().collect();
        let mut tx = home.db.write().await.unwrap();
        assert!(!tx.finish_deliveries(&own, "other").await.unwrap(), "another claim");
        assert!(tx.finish_deliveries(&own, "old").await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(home.number("SELECT COUNT(*) FROM delivery WHERE state = 'done'").await, 69);
        assert_eq!(home.number("SELECT COUNT(*) FROM delivery WHERE state = 'running' AND claim = 'thief'").await, 1);
    }

    async fn looking_says_what_claiming_would_find(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        let due = async |now| home.db.read().await.unwrap().is_delivery_due(Timestamp(now)).await.unwrap();
        assert!(!due(i64::MAX).await);
        inbox.accept(delivery("d", "{}")).await.unwrap();
        writer.drain().await;
        assert!(due(NOW).await);
        assert!(!due(1).await, "it has not come yet");
        assert_eq!(claim(&home.db, NOW, "c", 9).await.len(), 1);
        assert!(!due(NOW + 99).await, "it is claimed");
        assert!(due(NOW + 100).await, "the lease ran out");
    }

    /// Many senders at once: each is answered, each delivery is there once, and the
    /// order of each sender is kept.
    async fn group_commit_answers_everybody(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        let mut senders = Vec::new();
        for sender in 0..32 {
            let inbox = inbox.clone();
            senders.push(tokio::spawn(async move {
                for n in 0..25 {
                    let new = delivery(&format!("{sender:02}-{n:02}"), format!("{{\"n\":{n}}}"));
                    assert_eq!(inbox.accept(new).await.unwrap(), Accepted::Stored);
                }
            }));
        }
        for sender in senders {
            sender.await.unwrap();
        }
        let claimed = claim(&home.db, NOW, "c", 10_000).await;
        assert_eq!(claimed.len(), 32 * 25);
        let mut last: HashMap<String, String> = HashMap::new();
        for d in &claimed {
            let (sender, n) = d.id.as_str().split_once('-').unwrap();
            if let Some(before) = last.insert(sender.to_owned(), n.to_owned()) {
                assert!(before.as_str() < n, "sender {sender}: {before} before {n}");
            }
        }
        writer.drain().await;
    }

    /// The database refuses one delivery of a batch for a reason of its own.
    async fn a_bad_delivery_takes_no_other_with_it(home) {
        if home.is_sqlite() {
            home.sql("CREATE TRIGGER refuse BEFORE INSERT ON delivery WHEN NEW.event = 'bad' \
                BEGIN SELECT RAISE(ABORT, 'refused'); END").await;
        } else {
            home.sql("ALTER TABLE delivery ADD CONSTRAINT refuse CHECK (event <> 'bad')").await;
        }
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        // The writer is kept busy, so that the next ones wait together.
        let hold = home.db.write().await.unwrap();
        let mut sending = Vec::new();
        for n in 0..40 {
            let (inbox, mut new) = (inbox.clone(), delivery(&format!("d{}", n % 30), "{}"));
            if n % 10 == 3 {
                new.event = "bad".into();
            }
            sending.push(tokio::spawn(async move { (new.event == "bad", inbox.accept(new).await) }));
        }
        tokio::task::yield_now().await;
        drop(hold);
        let mut stored = 0;
        for sent in sending {
            let (bad, answer) = sent.await.unwrap();
            assert_eq!(answer.is_err(), bad, "{answer:?}");
            stored += usize::from(matches!(answer, Ok(Accepted::Stored)));
        }
        assert_eq!(stored, 27);
        assert_eq!(claim(&home.db, NOW, "c", 99).await.len(), 27);
        writer.drain().await;
    }

    async fn whatever_was_acknowledged_is_there_after_a_crash(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        let mut acknowledged = Vec::new();
        for n in 0..20 {
            let id = format!("d{n:02}");
            if inbox.accept(delivery(&id, "{}")).await.is_ok() {
                acknowledged.push(id);
            }
        }
        // Somebody waits who is never answered, and nothing is closed properly.
        let waiting = tokio::spawn({
            let inbox = inbox.clone();
            async move { inbox.accept(delivery("last", "{}")).await }
        });
        waiting.abort();
        std::mem::forget(writer);
        let claimed = claim(&home.another().await, NOW, "c", 99).await;
        let there: Vec<String> = claimed.iter().map(|d| d.id.to_string()).filter(|id| id != "last").collect();
        assert_eq!(there, acknowledged);
    }

    async fn draining_stores_what_waits_and_refuses_what_comes_later(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        let hold = home.db.write().await.unwrap();
        let mut sending = Vec::new();
        for n in 0..50 {
            let inbox = inbox.clone();
            sending.push(tokio::spawn(async move { (n, inbox.accept(delivery(&format!("d{n}"), "{}")).await) }));
        }
        let draining = tokio::spawn(writer.drain());
        tokio::task::yield_now().await;
        drop(hold);
        draining.await.unwrap();
        let mut stored = 0;
        for sent in sending {
            match sent.await.unwrap().1 {
                Ok(accepted) => {
                    assert_eq!(accepted, Accepted::Stored);
                    stored += 1;
                }
                Err(error) => assert!(error.is_transient(), "{error}"),
            }
        }
        assert_eq!(claim(&home.db, NOW, "c", 99).await.len(), stored);
        assert!(inbox.accept(delivery("late", "{}")).await.unwrap_err().is_transient());
    }

    async fn a_damaged_body_is_buried_and_the_rest_is_claimed(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        for n in 0..4 {
            inbox.accept(delivery(&format!("d{n}"), "{\"a\": 1}")).await.unwrap();
        }
        let hex = |bytes: &str| if home.is_sqlite() { format!("x'{bytes}'") } else { format!("'\\x{bytes}'::bytea") };
        // Nothing, a length of 4 GiB, and a length that is not met.
        for (id, bytes) in [("d0", ""), ("d1", "ffffffff00"), ("d2", "0a00000000")] {
            home.sql(&format!("UPDATE delivery_body SET body = {} WHERE id = '{id}'", hex(bytes))).await;
        }
        assert_eq!(ids(&claim(&home.db, NOW, "c", 9).await), ["d3"]);
        let counts = home.db.read().await.unwrap().delivery_counts().await.unwrap();
        assert_eq!(counts, DeliveryCounts { queued: 0, running: 1, dead: 3 });
        // A redelivery mends it.
        assert_eq!(inbox.accept(delivery("d0", "{}")).await.unwrap(), Accepted::Requeued);
        assert_eq!(ids(&claim(&home.db, NOW, "c2", 9).await), ["d0"]);
        writer.drain().await;
    }

    async fn old_deliveries_go_and_those_on_their_way_stay(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        for (n, at) in [10, 20, 30, 40].iter().enumerate() {
            let new = NewDelivery { received_at: Timestamp(*at), ..delivery(&format!("d{n}"), "{}") };
            inbox.accept(new).await.unwrap();
        }
        assert_eq!(claim(&home.db, NOW, "c", 3).await.len(), 3);
        let mut tx = home.db.write().await.unwrap();
        assert!(tx.finish_delivery(&DeliveryId::new("d0"), "c").await.unwrap());
        assert!(tx.bury_delivery(&DeliveryId::new("d2"), "c", "x").await.unwrap());
        assert_eq!(tx.purge_deliveries(Timestamp(30)).await.unwrap(), 1);
        assert_eq!(tx.purge_deliveries(Timestamp(i64::MAX)).await.unwrap(), 1);
        assert_eq!(tx.purge_deliveries(Timestamp(i64::MAX)).await.unwrap(), 0);
        let counts = tx.delivery_counts().await.unwrap();
        assert_eq!(counts, DeliveryCounts { queued: 1, running: 1, dead: 0 });
        drop(tx);
        writer.drain().await;
    }

    async fn eight_workers_never_hold_the_same_delivery(home) {
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        let mut sending = Vec::new();
        for n in 0..300 {
            let inbox = inbox.clone();
            sending.push(tokio::spawn(async move { inbox.accept(delivery(&format!("d{n}"), "{}")).await.unwrap() }));
        }
        for sent in sending {
            sent.await.unwrap();
        }
        let mut workers = Vec::new();
        for worker in 0..8 {
            let db = if worker % 2 == 0 { home.db.clone() } else { home.another().await };
            workers.push(tokio::spawn(async move {
                let mut mine = Vec::new();
                loop {
                    let name = format!("{worker}-{}", mine.len());
                    let claimed = claim(&db, NOW, &name, 7).await;
                    assert!(claimed.len() <= 7);
                    if claimed.is_empty() {
                        return mine;
                    }
                    for d in claimed {
                        let mut tx = db.write().await.unwrap();
                        assert!(tx.finish_delivery(&d.id, &name).await.unwrap());
                        tx.commit().await.unwrap();
                        mine.push(d.id);
                    }
                }
            }));
        }
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.await.unwrap());
        }
        assert_eq!(all.len(), 300);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 300);
        writer.drain().await;
    }
}
