//! What operators and their machines ask: alive, ready, how much.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};

use super::Face;

/// A database that takes longer than this is not ready.
const READY_TIME: Duration = Duration::from_secs(2);

/// `GET /healthz`: the process is alive and its runtime answers. Says nothing of
/// the database, so that an outage there does not get every replica restarted.
pub(super) async fn health() -> &'static str {
    "alive\n"
}

/// `GET /readyz`: deliveries can be taken, i.e. one can be stored now and we
/// are not stopping.
pub(super) async fn ready(State(face): State<Arc<Face>>) -> (StatusCode, &'static str) {
    if face.shutdown.is_requested() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    match tokio::time::timeout(READY_TIME, face.sink.is_ready()).await {
        Ok(true) => (StatusCode::OK, "ready\n"),
        Ok(false) => (StatusCode::SERVICE_UNAVAILABLE, "cannot store deliveries now\n"),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n"),
    }
}

/// `GET /metrics` in the text format of Prometheus.
pub(super) async fn metrics(State(face): State<Arc<Face>>) -> Response {
    let page = face.metrics.render();
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response()
}
