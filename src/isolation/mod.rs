//! What bounds a spawned process.

mod bubblewrap;
mod census;

use std::{path::Path, sync::Arc};

use async_trait::async_trait;

use crate::ports::isolation::{Isolation, IsolationError, Program, Ran};

pub use bubblewrap::Bubblewrap;

/// The back end of this machine, tried and found to work; else why there is none, in
/// words that say how to mend it.
pub async fn detect() -> Result<Arc<dyn Isolation>, String> {
    let found = Bubblewrap::find().await?;
    Ok(Arc::new(found))
}

/// No isolation: nothing is ever run.
#[derive(Debug, Clone, Copy)]
pub struct Absent;

#[async_trait]
impl Isolation for Absent {
    fn name(&self) -> &'static str {
        "none"
    }

    async fn run(&self, _: &Path, _: &Program) -> Result<Ran, IsolationError> {
        Err(IsolationError::Unavailable)
    }
}
