//! The routes over real HTTP on loopback, with an inbox in memory.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

use super::*;
use crate::services::accept_delivery::{AcceptError, Accepted, NewDelivery};

mod bounds;
mod deliveries;
mod examples;
mod stopping;

const SECRET: &str = "s3cret";

/// An inbox in memory, with the store's rules.
#[derive(Default)]
struct Inbox {
    stored: Mutex<BTreeMap<String, (String, Vec<u8>)>>,
    dead: Mutex<Vec<String>>,
    broken: Mutex<bool>,
    /// When set, `accept` says that it began and waits to be let go.
    gate: Option<(Notify, Notify)>,
}

impl Inbox {
    fn ids(&self) -> Vec<String> {
        self.stored.lock().unwrap().keys().cloned().collect()
    }

    fn body(&self, id: &str) -> Vec<u8> {
        self.stored.lock().unwrap()[id].1.clone()
    }
}

#[async_trait]
impl DeliverySink for Inbox {
    async fn accept(&self, delivery: NewDelivery) -> Result<Accepted, AcceptError> {
        if let Some((begun, go)) = &self.gate {
            begun.notify_one();
            go.notified().await;
        }
        if *self.broken.lock().unwrap() {
            return Err(AcceptError("disk full at /var/lib/jury".into()));
        }
        let id = delivery.id.as_str().to_owned();
        let mut dead = self.dead.lock().unwrap();
        if let Some(at) = dead.iter().position(|known| *known == id) {
            dead.remove(at);
            return Ok(Accepted::Requeued);
        }
        let mut stored = self.stored.lock().unwrap();
        if stored.contains_key(&id) {
            return Ok(Accepted::Repeated);
        }
        stored.insert(id, (delivery.event, delivery.body.to_vec()));
        Ok(Accepted::Stored)
    }

    async fn is_ready(&self) -> bool {
        !*self.broken.lock().unwrap()
    }
}

/// A running face.
struct Running {
    address: SocketAddr,
    inbox: Arc<Inbox>,
    shutdown: Shutdown,
    served: JoinHandle<Drained>,
}

impl Running {
    async fn start() -> Self {
        Self::with(Inbox::default(), WebhookLimits::default(), ServeLimits::default()).await
    }

    async fn with(inbox: Inbox, limits: WebhookLimits, serving: ServeLimits) -> Self {
        let inbox = Arc::new(inbox);
        let shutdown = Shutdown::new();
        let face = Face {
            sink: inbox.clone(),
            key: WebhookKey::new(&SecretString::from(SECRET)).unwrap(),
            limits,
            metrics: Metrics::detached(),
            spaces: None,
            shutdown: shutdown.clone(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let switch = shutdown.clone();
        let served = tokio::spawn(async move { serve(listener, router(face), serving, &switch).await });
        Self {
            address,
            inbox,
            shutdown,
            served,
        }
    }

    async fn get(&self, path: &str) -> Answer {
        let head = format!("GET {path} HTTP/1.1\r\nHost: jury\r\nConnection: close\r\n\r\n");
        self.send(head.as_bytes(), b"").await
    }

    /// Posts a delivery as the forge would.
    async fn deliver(&self, id: &str, event: &str, payload: &Value) -> Answer {
        let body = serde_json::to_vec(payload).unwrap();
        self.post(&Delivery::signed(id, event, &body), &body).await
    }

    async fn post(&self, delivery: &Delivery, body: &[u8]) -> Answer {
        let length = format!("Content-Length: {}\r\n", body.len());
        self.send(delivery.head(&length).as_bytes(), body).await
    }

    /// Writes a request and reads the answer to the end of the connection.
    async fn send(&self, head: &[u8], body: &[u8]) -> Answer {
        let (mut read, mut write) = TcpStream::connect(self.address).await.unwrap().into_split();
        let (head, body) = (head.to_vec(), body.to_vec());
        let writing = tokio::spawn(async move {
            write.write_all(&head).await?;
            write.write_all(&body).await?;
            // Kept open: a sender that waits for its answer does not hang up.
            std::io::Result::Ok(write)
        });
        let mut answer = Vec::new();
        read.read_to_end(&mut answer).await.unwrap();
        writing
            .await
            .unwrap()
            .expect("the whole request could be written");
        Answer::parse(&answer)
    }

    /// Asks for a shutdown and waits for the end.
    async fn stop(self) -> Drained {
        self.shutdown.request();
        self.served.await.unwrap()
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    text: String,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let all = String::from_utf8(bytes.to_vec()).unwrap();
        let (head, text) = all.split_once("\r\n\r\n").expect("a whole answer");
        Self {
            status: head[9..12].parse().unwrap(),
            head: head.to_ascii_lowercase(),
            text: text.to_owned(),
        }
    }
}

/// The headers of a delivery, each of which a test may leave out or change.
struct Delivery {
    id: Option<String>,
    event: Option<String>,
    signature: Option<String>,
    content_type: Option<&'static str>,
    more: &'static str,
}

impl Delivery {
    fn signed(id: &str, event: &str, body: &[u8]) -> Self {
        Self {
            id: Some(id.to_owned()),
            event: Some(event.to_owned()),
            signature: Some(sign(body)),
            content_type: Some("application/json"),
            more: "",
        }
    }

    /// The head of a request; `framing` says how long the body is.
    fn head(&self, framing: &str) -> String {
        let mut head =
            format!("POST /webhooks/github HTTP/1.1\r\nHost: jury\r\nConnection: close\r\n{framing}");
        let content_type = self.content_type.map(str::to_owned);
        for (name, value) in [
            ("X-GitHub-Delivery", &self.id),
            ("X-GitHub-Event", &self.event),
            ("X-Hub-Signature-256", &self.signature),
            ("Content-Type", &content_type),
        ] {
            if let Some(value) = value {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        head + self.more + "\r\n"
    }
}

fn sign(body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body);
    let digits: String = mac
        .finalize()
        .into_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256={digits}")
}
