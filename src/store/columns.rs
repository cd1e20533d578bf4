//! Domain newtypes as columns, and rows as domain types, on both databases.

use std::borrow::Cow;

use crate::domain::{
    ids::{
        AccountId, CheckRunId, DeliveryId, FindingId, InstallationId, PassId, PullNumber, RepoId, ReviewId,
        Sha, SpaceId, WorkspaceId,
    },
    policy::Gate,
    principal::Principal,
    review::{
        finding::{Axis, Kind, Priority, Side, Status},
        pass::{Origin, Outcome},
        reviewer::ContributionState,
    },
    space::{Mode, PullState},
    time::Timestamp,
};

/// Text that both databases hold: Postgres refuses NUL in TEXT, so it becomes
/// U+FFFD here, whatever was forgotten on the way.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A type with a text form ([`std::fmt::Display`], [`std::str::FromStr`]) as a TEXT column.
macro_rules! text_column { ($($t:ty),* $(,)?) => { $(
    impl<DB: sqlx::Database> sqlx::Type<DB> for $t where str: sqlx::Type<DB> {
        fn type_info() -> DB::TypeInfo { <str as sqlx::Type<DB>>::type_info() }
        fn compatible(info: &DB::TypeInfo) -> bool { <str as sqlx::Type<DB>>::compatible(info) }
    }
    impl<'q, DB: sqlx::Database> sqlx::Encode<'q, DB> for $t where String: sqlx::Encode<'q, DB> {
        fn encode_by_ref(&self, buffer: &mut DB::ArgumentBuffer) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
            let text = $crate::store::columns::storable(&self.to_string()).into_owned();
            <String as sqlx::Encode<'q, DB>>::encode(text, buffer)
        }
    }
    impl<'r, DB: sqlx::Database> sqlx::Decode<'r, DB> for $t where &'r str: sqlx::Decode<'r, DB> {
        fn decode(value: DB::ValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
            Ok(<&str as sqlx::Decode<DB>>::decode(value)?.parse()?)
        }
    }
)* } }
pub(super) use text_column;

/// A newtype over a 64-bit number as a BIGINT column.
macro_rules! number_column { ($($t:ident),* $(,)?) => { $(
    impl<DB: sqlx::Database> sqlx::Type<DB> for $t where i64: sqlx::Type<DB> {
        fn type_info() -> DB::TypeInfo { <i64 as sqlx::Type<DB>>::type_info() }
        fn compatible(info: &DB::TypeInfo) -> bool { <i64 as sqlx::Type<DB>>::compatible(info) }
    }
    impl<'q, DB: sqlx::Database> sqlx::Encode<'q, DB> for $t where i64: sqlx::Encode<'q, DB> {
        fn encode_by_ref(&self, buffer: &mut DB::ArgumentBuffer) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
            <i64 as sqlx::Encode<'q, DB>>::encode_by_ref(&self.0, buffer)
        }
    }
    impl<'r, DB: sqlx::Database> sqlx::Decode<'r, DB> for $t where i64: sqlx::Decode<'r, DB> {
        fn decode(value: DB::ValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
            Ok($t(<i64 as sqlx::Decode<DB>>::decode(value)?))
        }
    }
)* } }

/// How a row becomes a value: one expression, one impl per database.
macro_rules! from_row {
    ($t:ty, $row:ident => $made:expr) => {
        impl<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> for $t {
            fn from_row($row: &'r sqlx::sqlite::SqliteRow) -> sqlx::Result<Self> {
                use sqlx::Row as _;
                Ok($made)
            }
        }
        impl<'r> sqlx::FromRow<'r, sqlx::postgres::PgRow> for $t {
            fn from_row($row: &'r sqlx::postgres::PgRow) -> sqlx::Result<Self> {
                use sqlx::Row as _;
                Ok($made)
            }
        }
    };
}
pub(super) use from_row;

text_column!(
    WorkspaceId,
    SpaceId,
    PassId,
    FindingId,
    DeliveryId,
    Sha,
    Principal,
    Mode,
    PullState,
    Origin,
    Outcome,
    Kind,
    Priority,
    Axis,
    Status,
    Side,
    ContributionState,
    Gate,
);
number_column!(
    AccountId,
    InstallationId,
    RepoId,
    PullNumber,
    CheckRunId,
    ReviewId,
    Timestamp
);
