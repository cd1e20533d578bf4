//! What could not be seen of a change. Absence of evidence never greens a gate.

use serde::{Deserialize, Serialize};

/// Everything a pass knows it did not see.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Paths whose text could not be read, each with the reason.
    pub unseen: Vec<Unseen>,
    /// Why the list of files itself is not complete, when it is not.
    pub truncated: Option<String>,
    /// What this way of reading a change can never show, as a sentence: said beside
    /// what was proved, but no reason to doubt it.
    #[serde(default)]
    pub proviso: Option<String>,
}

/// A file that was changed and not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// Its path on the head.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl Coverage {
    /// Whether everything was seen.
    pub fn is_complete(&self) -> bool {
        self.unseen.is_empty() && self.truncated.is_none()
    }
}
