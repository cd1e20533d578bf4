//! New identifiers, injected.

/// A source of identifiers that do not repeat.
pub trait Ids: Send + Sync {
    /// A new time-ordered identifier: lowercase, URL-safe, at least 64 random bits,
    /// so that one that is not told cannot be guessed.
    fn next(&self) -> String;
}
