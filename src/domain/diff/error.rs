//! Why a diff could not be understood. Nothing that is not understood is ever
//! read as "no changes".

/// What is wrong with a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HunkFault {
    /// The `@@` line is not of the form `@@ -a[,b] +c[,d] @@`.
    #[error("its header is malformed")]
    Header,
    /// A line number is 0 or does not fit into 32 bits.
    #[error("its header has impossible line numbers")]
    Numbers,
    /// It begins before the hunk above it ends.
    #[error("it overlaps the hunk above it")]
    OutOfOrder,
    /// The text ends, or something else begins, before all announced lines came.
    #[error("it has fewer lines than its header announces")]
    Short,
    /// A line begins with a byte that no hunk line begins with, or there are more
    /// lines of one side than announced.
    #[error("its lines do not fit its header")]
    Line,
    /// A "no newline" mark follows no line.
    #[error("a no-newline mark follows no line")]
    Marker,
}

/// Why a diff could not be understood. Line numbers are those of the diff's own
/// text, one-based. No text of the diff is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// A diff of a merge against several parents (`diff --cc`, `@@@`).
    #[error("line {line}: a combined diff of a merge cannot be reviewed; ask for the diff of base...head")]
    Combined {
        /// Where.
        line: usize,
    },
    /// A line that belongs to no file.
    #[error("line {line}: not a git diff")]
    NotADiff {
        /// Where.
        line: usize,
    },
    /// The header of a file makes no sense.
    #[error("line {line}: the header of a file is not understood: {reason}")]
    Header {
        /// Where the file begins.
        line: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A hunk is malformed or cut off.
    #[error("line {line}: a hunk is not understood: {fault}")]
    Hunk {
        /// Where.
        line: usize,
        /// What is wrong.
        fault: HunkFault,
    },
    /// The text ends in the middle of a line.
    #[error("the diff is cut off")]
    CutOff,
    /// The patch of a single file is over [`super::MAX_PATCH_BYTES`] or
    /// [`super::MAX_PATCH_LINES`]. Within a whole diff such a file is listed as unseen.
    #[error("{}", super::TOO_LARGE)]
    TooLarge,
    /// Two files have the same path.
    #[error("line {line}: a file appears twice")]
    Repeated {
        /// Where the second one begins.
        line: usize,
    },
}
