//! Jury reviews pull requests: see `docs/ARCHITECTURE.md` for the way of one
//! webhook through the code.

pub mod domain;

#[cfg(feature = "app")]
pub mod analyzers;
#[cfg(feature = "app")]
pub mod app;
#[cfg(feature = "app")]
pub mod cli;
#[cfg(feature = "app")]
pub mod config;
#[cfg(feature = "app")]
pub mod emulator;
#[cfg(feature = "app")]
pub mod forge;
#[cfg(feature = "app")]
pub mod git;
#[cfg(feature = "app")]
pub mod isolation;
#[cfg(feature = "app")]
pub mod ports;
#[cfg(feature = "app")]
pub mod server;
#[cfg(feature = "app")]
pub mod services;
#[cfg(feature = "app")]
pub mod store;
#[cfg(feature = "app")]
pub mod telemetry;
