//! A delivery that came in once is looked at, and taken in, again.

use jury::{
    domain::{ids::DeliveryId, time::Timestamp},
    store::{Accepted, Inbox, NewDelivery, Requeued},
};

use crate::stories;

stories! {
    async fn a_delivery_is_read_as_it_came_and_queued_again_once_it_has_ended(home) {
        let id = DeliveryId::new("d1");
        let (inbox, writer) = Inbox::start(&home.db).await.unwrap();
        let new = NewDelivery {
            id: id.clone(),
            event: "ping".into(),
            body: b"{\"zen\":\"\\u0000\"}"[..].into(),
            received_at: Timestamp(1_000),
        };
        assert_eq!(inbox.accept(new.clone()).await.unwrap(), Accepted::Stored);
        writer.drain().await;
        let now = Timestamp(2_000);
        let mut tx = home.db.write().await.unwrap();
        let stored = tx.delivery(&id).await.unwrap().unwrap();
        assert_eq!((stored.event, stored.body), (new.event, new.body.to_vec()));
        let unknown = DeliveryId::new("d2");
        assert_eq!(tx.delivery(&unknown).await.unwrap(), None);
        assert_eq!(tx.requeue_delivery(&unknown, now).await.unwrap(), Requeued::Unknown);
        assert_eq!(tx.requeue_delivery(&id, now).await.unwrap(), Requeued::Underway, "it is queued");
        assert_eq!(tx.claim_deliveries(now, 1_000, "c", 9).await.unwrap().len(), 1);
        assert_eq!(tx.requeue_delivery(&id, now).await.unwrap(), Requeued::Underway, "it is being worked on");
        assert!(tx.finish_delivery(&id, "c").await.unwrap());
        assert_eq!(tx.requeue_delivery(&id, now).await.unwrap(), Requeued::Yes);
        let again = tx.claim_deliveries(now, 1_000, "d", 9).await.unwrap();
        assert_eq!(again.len(), 1);
        assert_eq!((again[0].attempts, &again[0].body[..]), (1, &new.body[..]));
        assert!(tx.bury_delivery(&id, "d", "no").await.unwrap());
        assert_eq!(tx.requeue_delivery(&id, now).await.unwrap(), Requeued::Yes, "a dead letter too");
        tx.commit().await.unwrap();
        assert_eq!(home.db.version().await.unwrap(), Some(jury::store::Db::newest()));
    }
}
