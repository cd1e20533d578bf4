//! Size, memory and time.

use super::*;

fn small() -> WebhookLimits {
    WebhookLimits {
        json: 1000,
        form: 3000,
        in_flight: 4000,
        ..WebhookLimits::default()
    }
}

async fn limited(limits: WebhookLimits) -> Running {
    Running::with(Inbox::default(), limits, ServeLimits::default()).await
}

/// A JSON string that is `length` bytes long.
fn json_of(length: usize) -> Vec<u8> {
    format!("\"{}\"", "x".repeat(length - 2)).into_bytes()
}

/// The same as chunks of at most `size` bytes.
fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in body.chunks(size) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";

#[tokio::test]
async fn w05_the_limit_holds_to_the_byte_announced_or_not() {
    let jury = limited(small()).await;
    for (length, status) in [(999, 202), (1000, 202), (1001, 413), (100_000, 413)] {
        let body = json_of(length);
        let announced = Delivery::signed(&format!("a-{length}"), "ping", &body);
        assert_eq!(jury.post(&announced, &body).await.status, status, "{length}");
        let streamed = Delivery::signed(&format!("s-{length}"), "ping", &body);
        let answer = jury
            .send(streamed.head(CHUNKED).as_bytes(), &chunked(&body, 300))
            .await;
        assert_eq!(answer.status, status, "{length} in chunks");
    }
    assert_eq!(jury.inbox.ids(), ["a-1000", "a-999", "s-1000", "s-999"]);
    assert_eq!(jury.inbox.body("s-1000"), json_of(1000));
}

#[tokio::test]
async fn w05_the_real_limit_is_25_mib_and_a_sender_who_writes_on_still_reads_413() {
    let jury = Running::start().await;
    let body = json_of(25 << 20);
    let fits = Delivery::signed("fits", "ping", &body);
    assert_eq!(jury.post(&fits, &body).await.status, 202);
    let body = json_of((25 << 20) + 1);
    let over = Delivery::signed("over", "ping", &body);
    assert_eq!(jury.post(&over, &body).await.status, 413);
    let answer = jury
        .send(over.head(CHUNKED).as_bytes(), &chunked(&body, 1 << 16))
        .await;
    assert_eq!(answer.status, 413);
    assert_eq!(jury.inbox.ids(), ["fits"]);
}

#[tokio::test]
async fn a_form_may_be_three_times_as_long_when_its_payload_is_not() {
    let jury = limited(small()).await;
    let encoded = |length: usize| format!("payload=%22{}%22", "%78".repeat(length - 2)).into_bytes();
    for (form, status) in [
        (encoded(900), 202),
        (format!("payload=%22{}%22", "x".repeat(998)).into_bytes(), 202),
        (format!("payload=%22{}%22", "x".repeat(999)).into_bytes(), 413),
        (encoded(1100), 413),
    ] {
        let mut delivery = Delivery::signed(&form.len().to_string(), "ping", &form);
        delivery.content_type = Some("application/x-www-form-urlencoded");
        assert_eq!(jury.post(&delivery, &form).await.status, status, "{}", form.len());
    }
}

#[tokio::test]
async fn too_large_is_said_from_the_head_alone() {
    let jury = limited(small()).await;
    let delivery = Delivery::signed("d", "ping", b"");
    let head = delivery.head("Content-Length: 1001\r\nExpect: 100-continue\r\n");
    let answer = jury.send(head.as_bytes(), b"").await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn beyond_the_bytes_in_flight_the_answer_is_503_until_some_are_free() {
    let limits = WebhookLimits {
        json: 4000,
        ..small()
    };
    let jury = limited(limits).await;
    // One sender holds 3000 bytes of 4000 and does not finish.
    let held = json_of(3500);
    let delivery = Delivery::signed("held", "ping", &held);
    let mut slow = TcpStream::connect(jury.address).await.unwrap();
    let head = delivery.head("Content-Length: 3500\r\nExpect: 100-continue\r\n");
    slow.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    slow.read_exact(&mut go_on).await.unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100"), "the body is being read");
    slow.write_all(&held[..3000]).await.unwrap();

    let other = json_of(2000);
    let busy = loop {
        // The held bytes are on their way: soon the other one no longer fits.
        let delivery = Delivery::signed("other", "ping", &other);
        let answer = jury.post(&delivery, &other).await;
        if answer.status != 202 {
            break answer;
        }
    };
    assert_eq!(busy.status, 503);
    assert!(busy.head.contains("retry-after"), "{busy:?}");
    let little = json_of(100);
    let fits = Delivery::signed("little", "ping", &little);
    assert_eq!(jury.post(&fits, &little).await.status, 202, "what fits is taken");

    slow.write_all(&held[3000..]).await.unwrap();
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).await.unwrap();
    assert_eq!(Answer::parse(&answer).status, 202);
    let delivery = Delivery::signed("after", "ping", &other);
    assert_eq!(
        jury.post(&delivery, &other).await.status,
        202,
        "the bytes are free again"
    );
}

#[tokio::test]
async fn every_way_out_gives_its_bytes_back() {
    let limits = WebhookLimits {
        in_flight: 1000,
        ..small()
    };
    let jury = limited(limits).await;
    let body = json_of(1000);
    for round in 0..3 {
        let mut forged = Delivery::signed("forged", "ping", &body);
        forged.signature = Some(sign(b"other"));
        assert_eq!(jury.post(&forged, &body).await.status, 401);
        let mut nameless = Delivery::signed("", "ping", &body);
        nameless.id = None;
        assert_eq!(jury.post(&nameless, &body).await.status, 400);
        let over = json_of(1001);
        let head = Delivery::signed("over", "ping", &over).head(CHUNKED);
        assert_eq!(jury.send(head.as_bytes(), &chunked(&over, 500)).await.status, 413);
        let whole = Delivery::signed(&format!("whole-{round}"), "ping", &body);
        assert_eq!(jury.post(&whole, &body).await.status, 202);
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_in_time_is_408() {
    let limits = WebhookLimits {
        receive: Duration::from_millis(30),
        ..small()
    };
    let jury = limited(limits).await;
    let delivery = Delivery::signed("d", "ping", b"{}");
    let answer = jury
        .send(delivery.head("Content-Length: 2\r\n").as_bytes(), b"{")
        .await;
    assert_eq!(answer.status, 408);
    assert_eq!(jury.inbox.ids(), Vec::<String>::new());
}

#[tokio::test]
async fn an_inbox_that_hangs_is_503() {
    let limits = WebhookLimits {
        store: Duration::from_millis(30),
        ..small()
    };
    let hanging = Inbox {
        gate: Some((Notify::new(), Notify::new())),
        ..Inbox::default()
    };
    let jury = Running::with(hanging, limits, ServeLimits::default()).await;
    assert_eq!(jury.deliver("d", "ping", &json!({})).await.status, 503);
}

#[tokio::test]
async fn a_broken_body_stores_nothing() {
    let jury = limited(small()).await;
    let delivery = Delivery::signed("d", "ping", b"{}");
    let answer = jury
        .send(delivery.head(CHUNKED).as_bytes(), b"zz\r\n{}\r\n")
        .await;
    assert_eq!(answer.status, 400);
    assert_eq!(jury.inbox.ids(), Vec::<String>::new());
}
