//! Webhooks: signed, sent in the background in the order of what happened, and
//! never tried again by themselves (as GitHub).
//!
//! A test may hold deliveries to reorder, repeat or drop them: [`Hooks::pause`],
//! [`Hooks::take`], [`Hooks::send`].

mod tell;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aws_lc_rs::{digest, hmac};
use axum::body::Bytes;
use serde_json::Value;
use tokio::sync::Notify;

/// One delivery to one App.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// `X-GitHub-Delivery`; a redelivery keeps it.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The payload's `action`, when it has one.
    pub action: Option<String>,
    /// The App it is for.
    pub app: u64,
    /// The exact bytes that are signed and sent.
    pub body: Bytes,
    /// Whether somebody asked for it again.
    pub redelivery: bool,
}

/// What became of a delivery.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The delivery.
    pub delivery: Delivery,
    /// The receiver's answer; `None` when there was none.
    pub status: Option<u16>,
}

#[derive(Clone, Debug)]
struct Target {
    url: Option<String>,
    secret: Option<String>,
    hook: u64,
}

#[derive(Default)]
struct Desk {
    targets: BTreeMap<u64, Target>,
    queue: VecDeque<Delivery>,
    held: Vec<Delivery>,
    paused: bool,
    sending: bool,
    stopped: bool,
    made: u64,
    log: Vec<Delivered>,
}

struct Inner {
    desk: Mutex<Desk>,
    /// A delivery came, or the emulator stops.
    work: Notify,
    /// A delivery was answered.
    done: Notify,
    seed: u64,
    client: reqwest::Client,
}

/// The webhook sender. Clones share it.
#[derive(Clone)]
pub struct Hooks {
    inner: Arc<Inner>,
}

impl Hooks {
    pub(crate) fn new(seed: u64, timeout: Duration) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .user_agent("GitHub-Hookshot/emulator")
            .build()?;
        let inner = Arc::new(Inner {
            desk: Mutex::new(Desk::default()),
            work: Notify::new(),
            done: Notify::new(),
            seed,
            client,
        });
        Ok(Self { inner })
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.inner.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_target(&self, app: u64, url: Option<String>, secret: Option<String>) {
        let hook = 400_000_000 + app;
        self.desk().targets.insert(app, Target { url, secret, hook });
    }

    pub(crate) fn set_url(&self, app: u64, url: Option<String>) {
        if let Some(target) = self.desk().targets.get_mut(&app) {
            target.url = url;
        }
    }

    /// Puts a payload on its way to an App.
    pub(crate) fn queue(&self, app: u64, event: &str, guid: &str, payload: &Value) {
        let delivery = Delivery {
            guid: guid.to_owned(),
            event: event.to_owned(),
            action: payload["action"].as_str().map(str::to_owned),
            app,
            body: Bytes::from(payload.to_string()),
            redelivery: false,
        };
        self.put(delivery);
    }

    fn put(&self, delivery: Delivery) {
        let mut desk = self.desk();
        if desk.paused {
            desk.held.push(delivery);
            return;
        }
        desk.queue.push_back(delivery);
        drop(desk);
        self.inner.work.notify_one();
    }

    /// A new delivery id in the form of a UUID. Deterministic; another seed makes
    /// others.
    pub(crate) fn new_guid(&self) -> String {
        let mut desk = self.desk();
        desk.made += 1;
        let text = format!("{}/{}", self.inner.seed, desk.made);
        drop(desk);
        let hash = digest::digest(&digest::SHA256, text.as_bytes());
        let hex = hex(&hash.as_ref()[..16]);
        format!(
            "{}-{}-4{}-8{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..]
        )
    }

    /// Holds every later delivery back.
    pub fn pause(&self) {
        self.desk().paused = true;
    }

    /// Sends what was held, in order, and holds no more.
    pub fn resume(&self) {
        let mut desk = self.desk();
        desk.paused = false;
        let held = std::mem::take(&mut desk.held);
        desk.queue.extend(held);
        drop(desk);
        self.inner.work.notify_one();
    }

    /// Takes what was held out, to be sent otherwise or not at all.
    #[must_use]
    pub fn take(&self) -> Vec<Delivery> {
        std::mem::take(&mut self.desk().held)
    }

    /// Everything that was sent, oldest first.
    #[must_use]
    pub fn log(&self) -> Vec<Delivered> {
        self.desk().log.clone()
    }

    /// Sends a delivery again with the same id; false when there is none.
    pub fn redeliver(&self, guid: &str) -> bool {
        let found = self
            .desk()
            .log
            .iter()
            .rev()
            .find(|d| d.delivery.guid == guid)
            .map(|d| d.delivery.clone());
        let Some(mut delivery) = found else {
            return false;
        };
        delivery.redelivery = true;
        self.put(delivery);
        true
    }

    /// Returns once every delivery that is not held was answered.
    pub async fn wait_quiet(&self) {
        loop {
            let done = self.inner.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            {
                let desk = self.desk();
                if desk.stopped || (desk.queue.is_empty() && !desk.sending) {
                    return;
                }
            }
            done.await;
        }
    }

    /// Sends a delivery now and gives the receiver's answer.
    pub async fn send(&self, delivery: &Delivery) -> Option<u16> {
        let target = self.desk().targets.get(&delivery.app).cloned();
        let status = match target {
            Some(target) => self.post(&target, delivery).await,
            None => None,
        };
        self.desk().log.push(Delivered {
            delivery: delivery.clone(),
            status,
        });
        status
    }

    async fn post(&self, target: &Target, delivery: &Delivery) -> Option<u16> {
        let mut request = self
            .inner
            .client
            .post(target.url.as_deref()?)
            .header("content-type", "application/json")
            .header("accept", "*/*")
            .header("x-github-event", &delivery.event)
            .header("x-github-delivery", &delivery.guid)
            .header("x-github-hook-id", target.hook.to_string())
            .header("x-github-hook-installation-target-type", "integration")
            .header("x-github-hook-installation-target-id", delivery.app.to_string());
        if let Some(secret) = &target.secret {
            let sign = |algorithm| {
                let key = hmac::Key::new(algorithm, secret.as_bytes());
                hex(hmac::sign(&key, &delivery.body).as_ref())
            };
            request = request
                .header(
                    "x-hub-signature-256",
                    format!("sha256={}", sign(hmac::HMAC_SHA256)),
                )
                .header(
                    "x-hub-signature",
                    format!("sha1={}", sign(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY)),
                );
        }
        let answer = request.body(delivery.body.clone()).send().await.ok()?;
        Some(answer.status().as_u16())
    }

    /// Sends what comes, one after the other, until the emulator stops.
    pub(crate) async fn work(self) {
        loop {
            let next = {
                let mut desk = self.desk();
                if desk.stopped {
                    return;
                }
                let next = desk.queue.pop_front();
                desk.sending = next.is_some();
                next
            };
            match next {
                Some(delivery) => {
                    self.send(&delivery).await;
                    self.desk().sending = false;
                    self.inner.done.notify_waiters();
                }
                None => self.inner.work.notified().await,
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.desk().stopped = true;
        self.inner.work.notify_one();
        self.inner.done.notify_waiters();
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
