//! What the store promises, on both databases: every story runs on SQLite and, as an
//! ignored twin, on a private Postgres.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test binary")]

#[expect(dead_code, reason = "a server of one test alone is for the stories")]
#[path = "../support/postgres.rs"]
mod postgres;

mod cost;
mod findings;
mod home;
mod hostile;
mod inbox;
mod jobs;
mod opening;
mod passes;
mod probe;
mod replay;
mod spaces;
mod wants;

/// Declares stories: each `async fn name(home: Home)` becomes one test per database.
macro_rules! stories {
    ($($(#[doc = $doc:literal])* async fn $name:ident($home:ident) $body:block)+) => { $(
        mod $name {
            #![allow(unused_imports, reason = "not every story needs something of its module")]

            use super::*;

            $(#[doc = $doc])*
            async fn story($home: crate::home::Home) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                story(crate::home::Home::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[ignore = "needs Postgres"]
            async fn on_postgres() {
                story(crate::home::Home::postgres().await).await;
            }
        }
    )+ };
}
pub(crate) use stories;
