//! JSON of others, read for the few fields that we need.
//!
//! Invariants: a field that is missing, null or of another type is `None` and never
//! an error; what is not declared is skipped without recursion, so that no nesting
//! overflows the stack. Only text that is no JSON at all is an error.

use std::{fmt, marker::PhantomData, ops::Deref};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// A value when it has the expected type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loose<T>(pub(crate) Option<T>);

impl<T> Default for Loose<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Deref for Loose<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

/// What a type makes of each kind of JSON value; nothing, unless it says otherwise.
pub(super) trait Wanted: Sized {
    fn text(_: &str) -> Option<Self> {
        None
    }

    fn integer(_: i64) -> Option<Self> {
        None
    }

    fn flag(_: bool) -> Option<Self> {
        None
    }

    fn map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

impl Wanted for String {
    fn text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl Wanted for i64 {
    fn integer(number: i64) -> Option<Self> {
        Some(number)
    }
}

impl Wanted for bool {
    fn flag(flag: bool) -> Option<Self> {
        Some(flag)
    }
}

/// A list of what its entries could be read as.
impl<T: Wanted> Wanted for Vec<T> {
    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        let mut all = Vec::new();
        while let Some(Loose(entry)) = list.next_element()? {
            all.extend(entry);
        }
        Ok(Some(all))
    }
}

/// Declares structs whose fields are all [`Loose`].
macro_rules! loose {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? })+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Default, serde::Deserialize)]
        #[serde(default)]
        pub(crate) struct $name {
            $($(#[$field_meta])* pub(crate) $field: $crate::forge::github::loose::Loose<$type>),*
        }

        impl $crate::forge::github::loose::Wanted for $name {
            fn map<'de, A: serde::de::MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
                serde::Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Some)
            }
        }
    )+ };
}
pub(super) use loose;

struct LooseVisitor<T>(PhantomData<T>);

impl<'de, T: Wanted> Visitor<'de> for LooseVisitor<T> {
    type Value = Loose<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Loose(T::text(text)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Loose(T::integer(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Loose(i64::try_from(number).ok().and_then(T::integer)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Loose(None))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Loose(T::flag(flag)))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Loose(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::map(map).map(Loose)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::list(list).map(Loose)
    }
}

impl<'de, T: Wanted> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor(PhantomData))
    }
}
