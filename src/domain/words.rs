//! Closed vocabularies: enums whose text form is the same in the database, in
//! JSON and on the screen, declared once.

/// Declares a field-less enum with one text form per variant.
macro_rules! words {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        $vis enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every word, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as stored and shown.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::domain::words::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|w| w.as_str() == text).ok_or_else(|| {
                    $crate::domain::words::UnknownWord {
                        word: text.chars().take(64).collect(),
                        known: Self::ALL.iter().map(|w| w.as_str()).collect(),
                    }
                })
            }
        }
    };
}
pub(crate) use words;

/// A word outside a closed vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown word {word:?}, expected one of: {}", known.join(", "))]
pub struct UnknownWord {
    /// The word as given, cut to 64 characters.
    pub word: String,
    /// The words that would have been understood.
    pub known: Vec<&'static str>,
}

/// The candidate that `word` is most likely a slip of, for "did you mean": at
/// most a third of its letters (at least one) may differ, case aside.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(64).flat_map(char::to_lowercase).collect();
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&word, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, candidate)| (*distance, *candidate))
        .map(|(_, candidate)| candidate)
}
