//! The end: nothing in flight is dropped, and it comes.

use super::*;

fn gated() -> Inbox {
    Inbox {
        gate: Some((Notify::new(), Notify::new())),
        ..Inbox::default()
    }
}

#[tokio::test]
async fn a_delivery_in_flight_is_answered_before_the_end() {
    let jury = Running::with(gated(), WebhookLimits::default(), ServeLimits::default()).await;
    let inbox = jury.inbox.clone();
    let (begun, go) = inbox.gate.as_ref().unwrap();
    let payload = json!({});
    let delivering = jury.deliver("d", "ping", &payload);
    let ending = async {
        begun.notified().await;
        jury.shutdown.request();
        // No new connection is taken while the old one is still being served.
        while TcpStream::connect(jury.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert_eq!(inbox.ids(), Vec::<String>::new());
        go.notify_one();
    };
    let (answer, ()) = tokio::join!(delivering, ending);
    assert_eq!(answer.status, 202);
    assert_eq!(jury.inbox.ids(), ["d"]);
    assert_eq!(jury.stop().await, Drained::Clean);
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_up_the_end() {
    let jury = Running::start().await;
    let mut idle = TcpStream::connect(jury.address).await.unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: jury\r\n\r\n")
        .await
        .unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    assert_eq!(jury.stop().await, Drained::Clean);
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_cut() {
    let serving = ServeLimits {
        drain: Duration::from_millis(30),
        ..ServeLimits::default()
    };
    let jury = Running::with(gated(), WebhookLimits::default(), serving).await;
    let body = b"{}";
    let head = Delivery::signed("d", "ping", body).head("Content-Length: 2\r\n");
    let mut stuck = TcpStream::connect(jury.address).await.unwrap();
    stuck.write_all(head.as_bytes()).await.unwrap();
    stuck.write_all(body).await.unwrap();
    jury.inbox.gate.as_ref().unwrap().0.notified().await;
    assert_eq!(jury.stop().await, Drained::Cut(1));
}

#[tokio::test]
async fn a_head_that_does_not_come_in_time_ends_its_connection() {
    let serving = ServeLimits {
        head: Duration::from_millis(30),
        connections: 1,
        ..ServeLimits::default()
    };
    let jury = Running::with(Inbox::default(), WebhookLimits::default(), serving).await;
    let mut stuck = TcpStream::connect(jury.address).await.unwrap();
    stuck
        .write_all(b"POST /webhooks/github HTTP/1.1\r\nHos")
        .await
        .unwrap();
    // The only place is taken until the stuck head is given up.
    assert_eq!(jury.deliver("d", "ping", &json!({})).await.status, 202);
}

#[tokio::test]
async fn ready_turns_to_no_as_soon_as_the_end_is_asked_for() {
    let jury = Running::start().await;
    let mut open = TcpStream::connect(jury.address).await.unwrap();
    open.write_all(b"GET /readyz HTTP/1.1\r\n").await.unwrap();
    assert_eq!(jury.get("/readyz").await.text, "ready\n");
    // Asked on a connection whose request was under way: it is still answered.
    jury.shutdown.request();
    let asked = Arc::new(Face {
        sink: jury.inbox.clone(),
        key: WebhookKey::new(&SecretString::from(SECRET)).unwrap(),
        limits: WebhookLimits::default(),
        metrics: Metrics::detached(),
        spaces: None,
        shutdown: jury.shutdown.clone(),
    });
    let (status, text) = status::ready(axum::extract::State(asked)).await;
    assert_eq!((status.as_u16(), text), (503, "stopping\n"));
}
