//! What a secret of a known provider looks like, wherever it stands: in a changed line,
//! in the name of a file, in words that are about to be published.

pub mod placeholder;
pub mod shapes;

use std::borrow::Cow;

use self::shapes::{Hit, Hits};
use super::text::MASK;

/// The tokens in `text`, in the order in which they stand there.
pub fn tokens(text: &[u8]) -> Vec<Hit> {
    let mut hits = Hits::default();
    shapes::find(text, &mut hits);
    hits.in_order()
}

/// `text` with every token of a known provider replaced by [`MASK`]; [`tokens`] finds
/// none in what is handed back. Borrowed when there was none.
pub fn conceal(text: &str) -> Cow<'_, str> {
    /// What a mask is put in place of may have kept its neighbour from being seen.
    const ROUNDS: usize = 16;
    let mut shown = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let found = tokens(shown.as_bytes());
        if found.is_empty() {
            return shown;
        }
        let mut masked = String::with_capacity(shown.len());
        let mut rest = 0;
        for hit in found {
            // The alphabets of all tokens are ASCII, so these are the ends of characters.
            masked.push_str(shown.get(rest..hit.at.start).unwrap_or_default());
            masked.push_str(MASK);
            rest = hit.at.end;
        }
        masked.push_str(shown.get(rest..).unwrap_or_default());
        shown = Cow::Owned(masked);
    }
    if tokens(shown.as_bytes()).is_empty() {
        shown
    } else {
        Cow::Owned(MASK.to_owned())
    }
}

#[cfg(test)]
mod tests;
