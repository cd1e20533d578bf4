//! Work that keeps a processor busy must keep nobody waiting.

use std::sync::{Arc, Mutex, mpsc};

use async_trait::async_trait;
use jury::{
    domain::review::{
        finding::{Axis, Finding},
        reviewer::ContributionState,
    },
    emulator::Edit,
    ports::{
        analyzer::{Analyzer, Report},
        change::{Change, ChangeError},
    },
    services::work,
};

use crate::room::Room;

/// A reviewer that computes, without ever waiting, until it is told to stop.
struct Computing {
    until: Mutex<mpsc::Receiver<()>>,
    begun: Mutex<mpsc::Sender<()>>,
}

#[async_trait]
impl Analyzer for Computing {
    fn name(&self) -> &'static str {
        "computing"
    }

    fn axis(&self) -> Axis {
        Axis::Security
    }

    async fn analyze(&self, _: &dyn Change) -> Result<Report, ChangeError> {
        self.begun.lock().unwrap().send(()).unwrap();
        let _ = self.until.lock().unwrap().recv();
        Ok(Report {
            state: ContributionState::Complete,
            note: None,
            drafts: Vec::new(),
        })
    }

    fn holds_in_blob(&self, _: &Finding, _: &[u8], _: &[&[u8]]) -> Option<bool> {
        None
    }
}

/// Everything here shares one thread with the server: whatever held it would hold all.
#[tokio::test]
async fn a_reviewer_that_computes_for_ever_delays_no_delivery_and_its_pass_times_out() {
    let room = Room::open().await;
    let (stop, until) = mpsc::channel();
    let (begun, began) = mpsc::channel();
    let mut context = room.server.context.clone();
    context.analyzers = Arc::from(vec![Box::new(Computing {
        until: Mutex::new(until),
        begun: Mutex::new(begun),
    }) as Box<dyn Analyzer>]);
    let head = room.push("feature", &[Edit::write("a.txt", "a\n")]);
    room.open_pull("feature");
    room.emulator.hooks().wait_quiet().await;
    let working = tokio::spawn(async move { Box::pin(work::run_until_idle(&context)).await });
    while began.try_recv().is_err() {
        tokio::task::yield_now().await;
    }
    // Deliveries are taken meanwhile: the stage fails on any that is not.
    room.push("other", &[Edit::write("b.txt", "b\n")]);
    room.emulator.hooks().wait_quiet().await;
    // Its time is up: the pass says so, whatever the thread does.
    room.tick_by(24 * 60 * 60);
    working.await.unwrap().unwrap();
    assert_eq!(room.shown(&head).await, ["completed/timed_out"]);
    stop.send(()).unwrap();
    room.leave().await;
}
