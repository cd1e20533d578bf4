//! A line on stderr that says what takes so long: on a terminal only, after a second.

use std::{
    io::{IsTerminal, Write},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::Duration,
};

/// How long nothing is said, and how often the line is renewed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says what is being done. Silent when stderr is no terminal. The line is wiped
/// when this is dropped.
#[derive(Debug)]
pub struct Progress(Option<(Sender<String>, JoinHandle<()>)>);

impl Progress {
    /// Starts to watch; `what` is being done now.
    pub fn start(what: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (sender, receiver) = channel::<String>();
        let mut what = what.to_owned();
        let teller = std::thread::spawn(move || {
            let mut seconds = 0u32;
            loop {
                match receiver.recv_timeout(PATIENCE) {
                    Ok(next) => what = next,
                    Err(RecvTimeoutError::Timeout) => {
                        seconds += 1;
                        let mut out = std::io::stderr().lock();
                        // What cannot be told is not worth a fault.
                        let _ = write!(out, "\r\x1b[Kjury: {what} ({seconds} s)").and_then(|()| out.flush());
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            if seconds > 0 {
                let mut out = std::io::stderr().lock();
                let _ = write!(out, "\r\x1b[K").and_then(|()| out.flush());
            }
        });
        Self(Some((sender, teller)))
    }

    /// Something else is being done now.
    pub fn say(&self, what: &str) {
        if let Some((sender, _)) = &self.0 {
            // The teller ends only when the sender does.
            let _ = sender.send(what.to_owned());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, teller)) = self.0.take() {
            drop(sender);
            // Wait, so that the line is gone before anything else is written.
            let _ = teller.join();
        }
    }
}
