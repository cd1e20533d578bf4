//! Stories: what a person does and what he then sees, through the real program
//! and over the emulator on real HTTP.
#![allow(missing_docs, reason = "a test binary")]
#![allow(clippy::unwrap_used, reason = "a test binary")]

mod busy;
mod commands;
mod deliveries;
mod examples;
mod failing_forge;
mod faults;
mod full_disk;
mod hostile;
mod joints;
mod lifecycle;
mod names;
#[path = "../support/postgres.rs"]
mod postgres;
mod publishing;
mod pull_requests;
mod recovery;
mod requests;
mod review_local;
mod review_tools;
mod room;
mod second_look;
mod storage;
mod storm;
mod tools;
