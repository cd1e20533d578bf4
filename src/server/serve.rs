//! The accept loop: connections in bounds, and an end that comes.
//!
//! `axum::serve` bounds neither the time in which a head must arrive nor the number
//! of connections, and its graceful shutdown waits for ever; hence a loop of our own
//! over the same hyper.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};

use super::Shutdown;

/// The bounds of the accept loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeLimits {
    /// Connections open at once; more wait in the kernel's queue.
    pub connections: usize,
    /// In which a request's head must have arrived.
    pub head: Duration,
    /// In which requests in flight may finish after a shutdown was asked for.
    pub drain: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            head: Duration::from_secs(15),
            drain: Duration::from_secs(20),
        }
    }
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every request in flight was answered.
    Clean,
    /// So many connections were cut at the end of the drain time.
    Cut(usize),
}

/// Serves `router` until a shutdown is asked for, then stops accepting, lets
/// requests in flight finish, and returns at the latest after `limits.drain`.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ServeLimits,
    shutdown: &Shutdown,
) -> Drained {
    let places = Arc::new(Semaphore::new(limits.connections));
    let open = metrics::gauge!("jury_http_connections");
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.requested() => break,
            // Takes finished tasks away, so that the set does not grow.
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else { continue };
        let (router, shutdown, open) = (router.clone(), shutdown.clone(), open.clone());
        connections.spawn(async move {
            open.increment(1);
            let connection = Connection {
                router,
                head: limits.head,
            };
            connection.run(stream, &shutdown).await;
            open.decrement(1);
            drop(place);
        });
    }
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain, finish).await.is_ok() {
        return Drained::Clean;
    }
    let cut = connections.len();
    connections.shutdown().await;
    Drained::Cut(cut)
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    // The semaphore is never closed.
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            // A connection that died in the queue says so here once; being out of
            // file descriptors says so at once and again until some are closed.
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

struct Connection {
    router: Router,
    head: Duration,
}

impl Connection {
    async fn run(self, stream: TcpStream, shutdown: &Shutdown) {
        // Answers are small; waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let mut connection = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.head)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(self.router))
        );
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = shutdown.requested() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}
