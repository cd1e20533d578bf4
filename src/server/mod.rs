//! HTTP in: webhooks, health, metrics. A thin face: it decides nothing about a
//! delivery but whether it is genuine and fits, and keeps nothing itself.
//!
//! Answers carry no internal text; what went wrong inside is in the log.

mod body;
mod form;
mod serve;
mod shutdown;
mod signature;
mod space_page;
mod status;
mod webhook;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    routing::{get, post},
};

use crate::{
    services::{Context, accept_delivery::DeliverySink},
    telemetry::metrics::Metrics,
};

pub use self::{
    serve::{Drained, ServeLimits, serve},
    shutdown::Shutdown,
    signature::{EmptySecret, WebhookKey},
};

/// The bounds of one delivery and of all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookLimits {
    /// Bytes of JSON, bare or decoded from a form. The forge sends no event over
    /// 25 MB (docs, "Webhook events and payloads").
    pub json: usize,
    /// Bytes of a form before decoding: three times the JSON, as percent-encoding
    /// makes at most three bytes of one.
    pub form: usize,
    /// Bytes of all bodies held at once; over it the answer is 503.
    pub in_flight: usize,
    /// In which a body must have arrived. The forge itself cuts a delivery that is
    /// not answered within 10 s (30 s on Enterprise Server).
    pub receive: Duration,
    /// In which the inbox must have made a delivery durable.
    pub store: Duration,
}

/// 25 MiB.
const JSON_BYTES: usize = 25 << 20;

impl Default for WebhookLimits {
    fn default() -> Self {
        Self {
            json: JSON_BYTES,
            form: 3 * JSON_BYTES,
            in_flight: 256 << 20,
            receive: Duration::from_secs(30),
            store: Duration::from_secs(10),
        }
    }
}

/// What the routes need.
pub struct Face {
    /// Where verified deliveries go.
    pub sink: Arc<dyn DeliverySink>,
    /// What their signatures are checked with.
    pub key: WebhookKey,
    /// Their bounds.
    pub limits: WebhookLimits,
    /// The page of `/metrics`.
    pub metrics: Metrics,
    /// Where the pages of spaces come from; `None` = there are none.
    pub spaces: Option<Context>,
    /// Makes `/readyz` say no as soon as it is thrown.
    pub shutdown: Shutdown,
}

/// The routes: `POST /webhooks/github`, `GET /healthz`, `/readyz`, `/metrics`, and
/// `/spaces/{id}` where there are spaces.
///
/// More (pages for people) are added with [`Router::merge`] on what this returns.
pub fn router(face: Face) -> Router {
    let webhook = Arc::new(webhook::Webhook::new(&face));
    let spaces = match &face.spaces {
        Some(context) => Router::new()
            .route("/spaces/{id}", get(space_page::show))
            .with_state(context.clone()),
        None => Router::new(),
    };
    let status = Router::new()
        .route("/healthz", get(status::health))
        .route("/readyz", get(status::ready))
        .route("/metrics", get(status::metrics))
        .with_state(Arc::new(face));
    Router::new()
        .route("/webhooks/github", post(webhook::take))
        .with_state(webhook)
        .merge(status)
        .merge(spaces)
}
