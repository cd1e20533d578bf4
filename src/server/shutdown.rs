//! One switch that everything which must stop can watch.

use std::sync::Arc;

use tokio::sync::watch;

/// A switch from running to stopping; clones share it. It never goes back.
#[derive(Debug, Clone)]
pub struct Shutdown(Arc<watch::Sender<bool>>);

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

impl Shutdown {
    /// A switch that is not thrown.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Asks everybody to stop.
    pub fn request(&self) {
        self.0.send_replace(true);
    }

    /// Whether somebody asked.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// The switch as a receiver that turns true.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }

    /// Waits until somebody asks.
    pub async fn requested(&self) {
        let mut seen = self.0.subscribe();
        // The sender is ours, so that waiting cannot fail.
        let _ = seen.wait_for(|asked| *asked).await;
    }

    /// Throws the switch at SIGTERM (the way of service managers) or SIGINT (Ctrl-C).
    /// Fails when the process may not handle signals.
    pub fn on_signals(&self) -> std::io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let switch = self.clone();
        tokio::spawn(async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal = name, "stopping: finishing what is in flight");
            switch.request();
        });
        Ok(())
    }
}
