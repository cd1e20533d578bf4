//! What is remembered: SQLite or Postgres behind one transaction type.
//!
//! [`Tx`] is the only handle and the unit of work: facts, and the jobs that
//! follow from them, are committed together or not at all. One SQL text serves
//! both databases; the [`on!`](db::on) macro repeats one expression per arm.
//!
//! Rules for callers:
//! - No work (git, network, waiting for people) inside an open write transaction:
//!   SQLite has one writer.
//! - After an error drop the transaction; Postgres has aborted it already.
//! - [`StoreError::is_transient`] says whether the same work may be tried again.
//!
//! Rules for the SQL, both measured: `BIGINT` for every number and time, text that
//! may hold NUL passes [`columns::storable`], what must stay byte for byte is
//! `BYTEA`, and every list has a bound and an index (see `conformance`).

pub mod checks;
mod columns;
pub mod db;
pub mod deliveries;
mod error;
pub mod findings;
pub mod inbox;
pub mod jobs;
pub mod keys;
pub mod passes;
mod probe;
pub mod replay;
pub mod reviews;
pub mod spaces;
pub mod tasks;
pub mod tenants;

pub use checks::{CheckKey, CheckRow};
pub use db::{Db, Schema, Tx};
pub use deliveries::{Delivery, DeliveryCounts};
pub use error::StoreError;
pub use findings::{Filed, StoredFindings};
pub use inbox::{Accepted, Inbox, InboxWriter, NewDelivery};
pub use jobs::{Job, JobCount, JobKind, JobState};
pub use replay::Requeued;
pub use reviews::{ReviewRow, ReviewState};
pub use tasks::Task;
pub use tenants::InstallationState;
