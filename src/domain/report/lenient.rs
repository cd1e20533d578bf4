//! JSON read as far as it makes sense.
//!
//! A report comes from a program that we do not know. A value of another kind than
//! expected counts as absent, so that one odd field does not take the rest along;
//! a list is kept up to its bound and counted beyond it, so that a small text cannot
//! become a large structure. Only what is no JSON at all is an error. What is ignored
//! is skipped without recursion and without being kept.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

/// Characters of one text that are kept.
const MAX_TEXT: usize = 32 * 1024;

/// What a visitor does with the kinds of values that it does not want: they count as absent.
macro_rules! absent {
    ($($kind:ident)*) => { $(absent!(@ $kind);)* };
    (@ bool) => { fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> { Ok(Default::default()) } };
    (@ number) => {
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> { Ok(Default::default()) }
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> { Ok(Default::default()) }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> { Ok(Default::default()) }
    };
    (@ text) => { fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> { Ok(Default::default()) } };
    (@ null) => { fn visit_unit<E: Error>(self) -> Result<Self::Value, E> { Ok(Default::default()) } };
    (@ list) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
    (@ object) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
}

fn expecting(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("any JSON value")
}

/// A string; a number is taken in its digits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text(pub(super) Option<String>);

impl Text {
    pub(super) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                expecting(f)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(Some(
                    crate::domain::text::truncate_chars(text, MAX_TEXT).into_owned(),
                )))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Text, E> {
                Ok(Text(Some(number.to_string())))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Text, E> {
                Ok(Text(Some(number.to_string())))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Text, E> {
                Ok(Text(Some(number.to_string())))
            }
            absent!(bool null list object);
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A whole number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Int(pub(super) Option<i64>);

impl Int {
    /// As a line or column: from 1 on.
    pub(super) fn place(self) -> Option<u32> {
        self.0.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0)
    }

    /// As an index or offset: from 0 on.
    pub(super) fn index(self) -> Option<usize> {
        self.0.and_then(|n| usize::try_from(n).ok())
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Int;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                expecting(f)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Int, E> {
                Ok(Int(Some(number)))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Int, E> {
                Ok(Int(i64::try_from(number).ok()))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Int, E> {
                let whole = number.fract() == 0.0 && number.abs() < 9e15;
                #[expect(clippy::cast_possible_truncation, reason = "whole and well within 64 bits")]
                Ok(Int(whole.then_some(number as i64)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Int, E> {
                Ok(Int(text.trim().parse().ok()))
            }
            absent!(bool null list object);
        }
        deserializer.deserialize_any(Reader)
    }
}

/// `true` or `false`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flag(pub(super) Option<bool>);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Flag;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                expecting(f)
            }
            fn visit_bool<E: Error>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(Some(flag)))
            }
            absent!(number text null list object);
        }
        deserializer.deserialize_any(Reader)
    }
}

/// An object.
#[derive(Debug, Clone)]
pub(super) struct Object<T>(pub(super) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Object<T> {
    pub(super) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                expecting(f)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|value| Object(Some(value)))
            }
            absent!(bool number text null list);
        }
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

/// A list of which at most `N` entries are kept.
#[derive(Debug, Clone)]
pub(super) struct List<T, const N: usize> {
    pub(super) kept: Vec<T>,
    /// How many more there were.
    pub(super) over: usize,
    /// Whether there was a list at all.
    pub(super) given: bool,
}

impl<T, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            over: 0,
            given: false,
        }
    }
}

impl<T, const N: usize> List<Object<T>, N> {
    /// The entries that are objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = &T> {
        self.kept.iter().filter_map(Object::get)
    }

    pub(super) fn at(&self, index: usize) -> Option<&T> {
        self.kept.get(index).and_then(Object::get)
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for List<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T, const N: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for Reader<T, N> {
            type Value = List<T, N>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                expecting(f)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<List<T, N>, A::Error> {
                let mut list = List {
                    given: true,
                    ..List::default()
                };
                while list.kept.len() < N {
                    match entries.next_element()? {
                        Some(entry) => list.kept.push(entry),
                        None => return Ok(list),
                    }
                }
                while entries.next_element::<IgnoredAny>()?.is_some() {
                    list.over += 1;
                }
                Ok(list)
            }
            absent!(bool number text null object);
        }
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

/// An object whose keys are names, of which at most `N` are kept.
#[derive(Debug, Clone)]
pub(super) struct Named<T, const N: usize>(pub(super) BTreeMap<String, T>);

impl<T, const N: usize> Default for Named<T, N> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for Named<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T, const N: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for Reader<T, N> {
            type Value = Named<T, N>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                expecting(f)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T, N>, A::Error> {
                let mut kept = BTreeMap::new();
                while let Some(Name(name)) = map.next_key()? {
                    if kept.len() < N {
                        kept.insert(name, map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Named(kept))
            }
            absent!(bool number text null list);
        }
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

/// A key, cut.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|text| Self(text.0.unwrap_or_default()))
    }
}

/// Reads one JSON document. The error says where it is broken and repeats nothing of it.
pub(super) fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = PhantomData::<T>.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}
