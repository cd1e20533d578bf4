//! Planned faults: the next request that matches meets the first of them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::http::Method;

/// Whether the forge did what it was asked for before the fault shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Nothing happens.
    Before,
    /// The effect happens and only its answer is lost.
    After,
}

/// What goes wrong.
#[derive(Clone, Debug)]
pub enum Fault {
    /// An answer of this status, with headers such as `retry-after`.
    Status {
        /// The status.
        status: u16,
        /// More headers.
        headers: Vec<(String, String)>,
        /// GitHub's `message`.
        message: String,
        /// Before or after the effect.
        when: When,
    },
    /// The connection is cut without an answer.
    Cut(When),
    /// The answer comes this much later.
    Slow(Duration),
    /// A gateway answers 504 at once, and the request takes effect only when
    /// [`Emulator::let_late_arrive`](crate::emulator::Emulator::let_late_arrive) is called.
    Late,
}

impl Fault {
    /// A plain answer of this status.
    #[must_use]
    pub fn status(status: u16, when: When) -> Self {
        Self::Status {
            status,
            headers: Vec::new(),
            message: "Server Error".to_owned(),
            when,
        }
    }

    pub(crate) fn prevents(&self) -> bool {
        match self {
            Self::Status { when, .. } | Self::Cut(when) => *when == When::Before,
            Self::Slow(_) | Self::Late => false,
        }
    }
}

struct Planned {
    method: Method,
    prefix: String,
    fault: Fault,
}

/// The faults that wait. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Faults {
    planned: Arc<Mutex<VecDeque<Planned>>>,
}

impl Faults {
    pub(crate) fn plan(&self, method: Method, prefix: &str, fault: Fault) {
        let prefix = prefix.to_owned();
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        planned.push_back(Planned {
            method,
            prefix,
            fault,
        });
    }

    /// Takes the first fault that waits for this request.
    pub(crate) fn meet(&self, method: &Method, path: &str) -> Option<Fault> {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let at = planned
            .iter()
            .position(|p| p.method == *method && path.starts_with(&p.prefix))?;
        planned.remove(at).map(|p| p.fault)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
