//! Whether a delivery could be stored is found out by storing one.

use jury::{
    domain::time::Timestamp,
    store::{Db, Schema, StoreError},
};

use crate::{home::Home, stories};

const NOW: Timestamp = Timestamp(1_000);
const COUNT: &str = "SELECT COUNT(*) FROM delivery";

stories! {
    async fn a_delivery_that_was_tried_is_gone_and_nobody_works_on_it(home) {
        home.db.try_store(NOW).await.unwrap();
        home.db.try_store(NOW).await.unwrap();
        assert_eq!(home.number(COUNT).await, 0);
        // One that a crash left behind is in nobody's way.
        home.sql("INSERT INTO delivery (id, seq, event, received_at, state, attempts, requeued) \
            VALUES ('readiness probe', 0, 'probe', 1, 'done', 0, 0)").await;
        let mut tx = home.db.write().await.unwrap();
        assert!(tx.claim_deliveries(Timestamp(i64::MAX), 1, "c", 9).await.unwrap().is_empty());
        drop(tx);
        home.db.try_store(NOW).await.unwrap();
        assert_eq!(home.number(COUNT).await, 0);
    }

    async fn replicas_that_try_at_once_do_not_mind_each_other(home) {
        let other = home.another().await;
        for _ in 0..20 {
            let (one, two) = tokio::join!(home.db.try_store(NOW), other.try_store(NOW));
            one.unwrap();
            two.unwrap();
        }
        assert_eq!(home.number(COUNT).await, 0);
    }
}

#[tokio::test]
async fn a_full_sqlite_answers_reads_and_takes_no_delivery_until_there_is_room() {
    let home = Home::sqlite().await;
    let pages = home.number("PRAGMA page_count").await;
    home.sql(&format!("PRAGMA max_page_count = {pages}")).await;
    home.db.ping().await.expect("it still reads");
    let error = home.db.try_store(NOW).await.unwrap_err();
    assert_eq!(error.to_string(), "the disk that holds the database is full");
    home.sql(&format!("PRAGMA max_page_count = {}", pages + 100))
        .await;
    home.db
        .try_store(NOW)
        .await
        .expect("the same connection, or a new one, goes on");
}

#[tokio::test]
async fn a_sqlite_that_may_not_be_written_takes_no_delivery() {
    let home = Home::sqlite().await;
    home.sql("PRAGMA query_only = ON").await;
    home.db.ping().await.expect("it still reads");
    home.db.try_store(NOW).await.unwrap_err();
}

#[tokio::test]
#[ignore = "needs Postgres"]
async fn a_standby_answers_reads_and_takes_no_delivery() {
    let home = Home::postgres().await;
    // As a server in recovery does, every transaction of a new session is read-only.
    home.sql(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', \
         current_database()); END $$",
    )
    .await;
    let standby = Db::open(&home.place, Schema::Keep).await.unwrap();
    standby.ping().await.expect("it still reads");
    let error = standby.try_store(NOW).await.unwrap_err();
    assert!(matches!(error, StoreError::Transient(_)), "{error}");
}
