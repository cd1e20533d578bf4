//! Work that keeps a processor busy: analyzers, placing, judging.
//!
//! It runs on threads of its own, so that whoever else waits for the runtime (the webhook
//! face above all, and the heartbeats of the very job) never waits for it, and only so
//! many at once, so that it leaves the machine some breath.
//!
//! Invariants: a place is given back when the thread is free, not when nobody waits for
//! it any more, so there are never more threads at work than places. Work that nobody
//! waits for is let go at its next wait, and always does wait between two of its
//! steps, each of which takes time linear in what it looks at.

use std::{future::Future, sync::Arc};

use tokio::{
    runtime::Handle,
    sync::{Semaphore, oneshot},
};

/// Where heavy work is done; cheap to clone.
#[derive(Debug, Clone)]
pub struct Heavy {
    places: Arc<Semaphore>,
}

impl Default for Heavy {
    /// As many places as the machine has processors.
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

impl Heavy {
    /// At most `at_once` pieces of work at a time, and at least one.
    pub fn new(at_once: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(at_once.max(1))),
        }
    }

    /// Does `work` on a thread of its own once there is a place for it. Dropped, it lets
    /// the work go. A panic of the work is a panic here.
    pub async fn run<T, F, W>(&self, work: W) -> T
    where
        T: Send + 'static,
        F: Future<Output = T>,
        W: FnOnce() -> F + Send + 'static,
    {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let runtime = Handle::current();
        let span = tracing::Span::current();
        let (wanted, given_up) = oneshot::channel::<()>();
        let thread = tokio::task::spawn_blocking(move || {
            let _place = place;
            let _span = span.entered();
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    _ = given_up => None,
                    done = work() => Some(done),
                }
            })
        });
        let done = thread.await;
        drop(wanted);
        match done {
            Ok(Some(done)) => done,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is ending, or (which cannot be) it was given up while we waited.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        time::Duration,
    };

    use super::*;

    #[tokio::test]
    async fn work_that_blocks_its_thread_keeps_nobody_else_waiting() {
        let heavy = Heavy::new(1);
        let (free, blocked) = mpsc::channel::<()>();
        let busy = tokio::spawn(async move {
            heavy
                .run(move || async move {
                    blocked.recv().unwrap();
                    7
                })
                .await
        });
        // On the only worker of this runtime: it would never come here.
        tokio::time::timeout(Duration::from_secs(60), tokio::task::yield_now())
            .await
            .unwrap();
        free.send(()).unwrap();
        assert_eq!(busy.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn no_more_is_done_at_once_than_there_are_places_also_when_it_is_given_up() {
        let heavy = Heavy::new(1);
        let (free, blocked) = mpsc::channel::<()>();
        let (begun, began) = oneshot::channel();
        let first = {
            let heavy = heavy.clone();
            tokio::spawn(async move {
                let work = move || async move {
                    begun.send(()).unwrap();
                    blocked.recv().unwrap();
                };
                heavy.run(work).await;
            })
        };
        began.await.unwrap();
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        // Given up, but its thread is not free yet.
        let running = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&running);
        let second = tokio::spawn({
            let heavy = heavy.clone();
            async move {
                heavy
                    .run(move || async move { seen.fetch_add(1, Ordering::SeqCst) })
                    .await
            }
        });
        tokio::task::yield_now().await;
        assert_eq!(
            (heavy.places.available_permits(), running.load(Ordering::SeqCst)),
            (0, 0)
        );
        free.send(()).unwrap();
        second.await.unwrap();
        assert_eq!(running.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn work_that_is_given_up_ends_at_its_next_wait() {
        let heavy = Heavy::new(1);
        let (begun, began) = oneshot::channel();
        let work = {
            let heavy = heavy.clone();
            tokio::spawn(async move {
                let work = move || async move {
                    begun.send(()).unwrap();
                    std::future::pending::<()>().await;
                };
                heavy.run(work).await;
            })
        };
        began.await.unwrap();
        work.abort();
        assert_eq!(heavy.run(|| async { 1 }).await, 1, "its place is free again");
    }

    #[tokio::test]
    async fn a_panic_is_told_and_costs_no_place() {
        let heavy = Heavy::new(1);
        let broke = tokio::spawn({
            let heavy = heavy.clone();
            async move { heavy.run(|| async { panic!("broken") }).await }
        });
        assert!(broke.await.unwrap_err().is_panic());
        assert_eq!(heavy.run(|| async { 1 }).await, 1);
    }
}
