//! What a pass asks of the forge, counted. The table in docs/PERFORMANCE.md says the same.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use jury::emulator::{Edit, Fault, Rule, When};

use crate::{
    faults,
    room::{REPO, Room},
};

const BEGIN: &str = "POST check-runs";
const TIP: &str = "GET git/ref/heads/main";
const CONCLUDE: &str = "PATCH check-runs/{id}";
const REVIEW: &str = "POST pulls/{n}/reviews";
const TAKE_BACK: &str = "PUT pulls/{n}/reviews/{id}/dismissals";

const TABLE: &str = include_str!("../../docs/PERFORMANCE.md");

/// A request with its numbers left out.
fn plain(method: &str, path: &str) -> String {
    let below = path.strip_prefix("/repos/acme/shop/").unwrap_or(path);
    let below = below.split('?').next().unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    for part in below.split('/') {
        let number = part.parse::<u64>().is_ok();
        let pull = parts.last().is_some_and(|before| before == "pulls");
        parts.push(match (number, pull) {
            (true, true) => "{n}".to_owned(),
            (true, false) => "{id}".to_owned(),
            (false, _) => part.to_owned(),
        });
    }
    format!("{method} {}", parts.join("/"))
}

/// A room that counts fetches.
struct Counting {
    room: Room,
    fetches: Arc<AtomicUsize>,
    seen: usize,
}

impl Counting {
    async fn open() -> Self {
        let room = Room::open().await;
        let fetches = Arc::new(AtomicUsize::new(0));
        let counted = fetches.clone();
        let fetch: Rule = "GET /acme/shop.git/info/refs".parse().unwrap();
        room.emulator.fail(
            fetch.always(),
            Fault::meanwhile(When::Before, move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
            }),
        );
        let seen = room.emulator.record().len();
        Self { room, fetches, seen }
    }

    /// What was asked since the last time: over REST, sorted, and how many fetches.
    fn asked(&mut self) -> (Vec<String>, usize) {
        let record = self.room.emulator.record();
        let mut asked: Vec<String> = record[self.seen..]
            .iter()
            .map(|e| plain(&e.method, &e.path))
            .collect();
        asked.sort_unstable();
        self.seen = record.len();
        (asked, self.fetches.swap(0, Ordering::SeqCst))
    }

    /// Expects these requests and one fetch, and that the documentation says so.
    fn expect(&mut self, pass: &str, requests: &[&str]) {
        let mut expected: Vec<String> = requests.iter().map(|r| (*r).to_owned()).collect();
        expected.sort_unstable();
        assert_eq!(self.asked(), (expected, 1), "{pass}");
        let row = format!("| {pass} | {} |", requests.len());
        assert!(TABLE.contains(&row), "docs/PERFORMANCE.md has no row {row:?}");
        for request in requests {
            let (method, path) = request.split_once(' ').unwrap();
            let named = format!("`{method} …/{path}`");
            assert!(
                TABLE.contains(&named),
                "docs/PERFORMANCE.md does not name {named}"
            );
        }
    }
}

#[tokio::test]
async fn the_requests_of_every_kind_of_pass_are_counted() {
    let mut counting = Counting::open().await;
    let faulty = [Edit::write("src/net.rs", faults::with_token())];
    let (number, _) = counting.room.reviewed("feature", &faulty).await;
    counting.expect("blocks", &[BEGIN, TIP, CONCLUDE, REVIEW]);

    let room = &counting.room;
    room.push("feature", &[Edit::write("README.md", "# more\n")]);
    room.settle().await;
    counting.expect("blocks still, with nothing new to say", &[BEGIN, TIP, CONCLUDE]);

    let room = &counting.room;
    let mended = [
        Edit::remove("src/net.rs"),
        Edit::write("tests/two.rs", "// two\n"),
    ];
    room.push("feature", &mended);
    room.settle().await;
    counting.expect("ships after a block", &[BEGIN, TIP, CONCLUDE, TAKE_BACK]);

    let room = &counting.room;
    room.push("feature", &[Edit::write("tests/two.rs", "// three\n")]);
    room.settle().await;
    counting.expect("ships", &[BEGIN, TIP, CONCLUDE]);

    let room = &counting.room;
    room.people.rerequest_check(REPO, number, "jury", "mona").unwrap();
    room.settle().await;
    let (asked, fetches) = counting.asked();
    assert_eq!(
        asked,
        [TIP, CONCLUDE, BEGIN].map(str::to_owned),
        "asked for again"
    );
    assert!(fetches <= 1, "what is known is not fetched again: {fetches}");
    counting.room.leave().await;
}
