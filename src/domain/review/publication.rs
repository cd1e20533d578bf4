//! What is said on the forge, as data: reviews and their inline comments.

use serde::{Deserialize, Serialize};

use crate::domain::{ids::Sha, words::words};

use super::finding::Side;

words! {
    /// How a review is submitted. There is no pending one: the event is always sent.
    pub enum ReviewEvent {
        /// Says something.
        Comment = "COMMENT",
        /// Keeps the pull request from merging where reviews are required.
        RequestChanges = "REQUEST_CHANGES",
        /// Only where the owner opted in.
        Approve = "APPROVE",
    }
}

/// A review to submit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewView {
    /// The head it speaks of.
    pub commit: Sha,
    /// How.
    pub event: ReviewEvent,
    /// Markdown with our marker; never empty; at most 65,536 characters.
    pub body: String,
    /// At most 30.
    pub comments: Vec<ReviewComment>,
}

/// One inline comment of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    /// The path.
    pub path: String,
    /// The last line.
    pub line: u32,
    /// The side.
    pub side: Side,
    /// The first line, when there is more than one: below `line`, in the same hunk.
    pub start_line: Option<u32>,
    /// Markdown.
    pub body: String,
}
