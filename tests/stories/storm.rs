//! Thousands of deliveries, shuffled, some twice, while the forge fails and the server
//! is killed and started again: every head ends with exactly one right conclusion.
//!
//! `cargo test` leaves it out; `.ci/run` runs a small one. The full one, by hand:
//!
//! ```sh
//! STORM=full cargo test --test stories storm -- --ignored --nocapture
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::http::Method;
use futures::{StreamExt, stream};
use jury::{
    emulator::{Delivery, Edit, Fault, OpenPull, Push, When},
    store::{Db, Schema},
};

use tokio::time::Instant;

use crate::{
    faults,
    recovery::{REPO, SHORT, World},
};

/// How long the calm after the storm may take.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// How many deliveries are on their way at once.
const SENDERS: usize = 8;

struct Size {
    pulls: u64,
    deliveries: usize,
    kills: usize,
    faults: usize,
}

const SMALL: Size = Size {
    pulls: 10,
    deliveries: 500,
    kills: 3,
    faults: 12,
};
const FULL: Size = Size {
    pulls: 200,
    deliveries: 10_000,
    kills: 10,
    faults: 400,
};

/// The same numbers every time (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for n in (1..all.len()).rev() {
            all.swap(n, self.below(n + 1));
        }
    }
}

/// A pull request, every head it had, and whether the last one is faulty.
struct Pull {
    number: u64,
    heads: Vec<String>,
    faulty: bool,
}

/// What people do while nobody listens: they open, push, edit, close and open again.
fn live(world: &World, size: &Size, dice: &mut Dice) -> (Vec<Pull>, Vec<Delivery>) {
    let content = |faulty: bool, round: usize| {
        let token = if faulty {
            faults::with_token()
        } else {
            String::new()
        };
        [
            Edit::write("src/net.rs", format!("{token}// Round {round}.\n")),
            Edit::write("tests/net.rs", format!("// Round {round}.\n")),
        ]
    };
    let push = |branch: &str, faulty: bool, round: usize| {
        let edits = content(faulty, round);
        let push = Push {
            repo: REPO,
            branch,
            by: "mona",
            message: branch,
            edits: &edits,
            onto: None,
        };
        world.people.push(push).unwrap()
    };
    let mut pulls = Vec::new();
    let mut told: Vec<Delivery> = Vec::new();
    for n in 0..size.pulls {
        let branch = format!("feature-{n}");
        let faulty = dice.below(2) == 0;
        let head = push(&branch, faulty, 0);
        let open = OpenPull {
            repo: REPO,
            by: "mona",
            title: &branch,
            body: None,
            head_repo: None,
            head: &branch,
            base: "main",
            draft: false,
        };
        let number = world.people.open_pull(open).unwrap();
        pulls.push(Pull {
            number,
            heads: vec![head],
            faulty,
        });
    }
    let keep = |told: &mut Vec<Delivery>| {
        let all = world.emulator.hooks().take();
        told.extend(all.into_iter().filter(|d| d.event == "pull_request"));
    };
    keep(&mut told);
    // A tenth of them come twice.
    let single = size.deliveries * 10 / 11;
    for round in 1.. {
        for (n, pull) in pulls.iter_mut().enumerate() {
            let branch = format!("feature-{n}");
            match dice.below(25) {
                0 => {
                    pull.faulty = dice.below(2) == 0;
                    pull.heads.push(push(&branch, pull.faulty, round));
                }
                1 | 2 => {
                    world.people.close(REPO, pull.number, "mona").unwrap();
                    world.people.reopen(REPO, pull.number, "mona").unwrap();
                }
                _ => {
                    let title = format!("{branch}, take {round}");
                    world
                        .people
                        .edit(REPO, pull.number, Some(&title), None, "mona")
                        .unwrap();
                }
            }
        }
        keep(&mut told);
        if told.len() >= single {
            break;
        }
    }
    (pulls, told)
}

/// What the forge will do wrong, one after the other, in an order of its own.
fn plan_faults(world: &World, size: &Size, dice: &mut Dice) {
    let checks = format!("/repos/{REPO}/check-runs");
    let pulls = format!("/repos/{REPO}/pulls/");
    for _ in 0..size.faults {
        let when = if dice.below(2) == 0 {
            When::Before
        } else {
            When::After
        };
        let fault = match dice.below(3) {
            0 => Fault::status(502, when),
            1 => Fault::Cut(when),
            _ => Fault::status(500, When::Before),
        };
        let (method, path) = match dice.below(4) {
            0 => (Method::POST, &checks),
            1 => (Method::PATCH, &checks),
            2 => (Method::POST, &pulls),
            _ => (Method::GET, &pulls),
        };
        world.emulator.fail_next(method, path, fault);
    }
}

/// Sends until the server has acknowledged it, whoever is dead meanwhile.
async fn insist(world: &World, delivery: &Delivery, sent: &AtomicUsize) {
    loop {
        sent.fetch_add(1, Ordering::Relaxed);
        if world.emulator.hooks().send(delivery).await == Some(202) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until nothing is left to be done.
async fn calm(world: &World) {
    let db = world.path().join("data").join("jury.db");
    let db = Db::open(db.to_str().unwrap(), Schema::Keep).await.unwrap();
    let begun = Instant::now();
    let mut calm = 0;
    while calm < 20 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut tx = db.read().await.unwrap();
        let jobs = tx.job_counts().await.unwrap();
        let deliveries = tx.delivery_counts().await.unwrap();
        let left = deliveries.queued + deliveries.running;
        calm = if jobs.is_empty() && left == 0 { calm + 1 } else { 0 };
        assert_eq!(deliveries.dead, 0, "a delivery was given up");
        assert!(
            begun.elapsed() < PATIENCE,
            "still to do: {jobs:?}, {deliveries:?}\n{}",
            std::fs::read_to_string(world.path().join("log")).unwrap_or_default()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a minute"]
async fn a_storm_of_deliveries_ends_in_one_right_conclusion_each() {
    let size = if std::env::var_os("STORM").is_some_and(|size| size == "full") {
        FULL
    } else {
        SMALL
    };
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let world = World::build(None, SHORT).await;
    world.emulator.hooks().wait_quiet().await;
    world.emulator.hooks().pause();
    let (pulls, mut deliveries) = live(&world, &size, &mut dice);
    let single = deliveries.len();
    for n in 0..single / 10 {
        deliveries.push(deliveries[n * 10].clone());
    }
    dice.shuffle(&mut deliveries);
    plan_faults(&world, &size, &mut dice);

    let begun = Instant::now();
    let (sent, acknowledged) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let sending = stream::iter(&deliveries).for_each_concurrent(SENDERS, async |delivery| {
        insist(&world, delivery, &sent).await;
        acknowledged.fetch_add(1, Ordering::Relaxed);
    });
    let killing = async {
        for kill in 1..=size.kills {
            let moment = deliveries.len() * kill / (size.kills + 1);
            while acknowledged.load(Ordering::Relaxed) < moment {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            world.kill();
            world.start().await;
        }
    };
    futures::join!(sending, killing);
    let taken = begun.elapsed();
    world.emulator.hooks().resume();
    calm(&world).await;
    let settled = begun.elapsed();

    let mut runs_on_last_heads = 0;
    for pull in &pulls {
        let number = pull.number;
        let (last, earlier) = pull.heads.split_last().unwrap();
        assert_eq!(&world.people.head_sha(REPO, number).unwrap(), last);
        let expected = if pull.faulty { "failure" } else { "success" };
        let runs = world.runs(last).await;
        runs_on_last_heads += runs.len();
        let newest = runs.iter().max_by_key(|run| run["id"].as_i64()).unwrap();
        assert_eq!(newest["conclusion"], expected, "#{number}: {runs:#?}");
        for head in pull.heads.iter() {
            for run in world.runs(head).await {
                assert_eq!(run["status"], "completed", "#{number}: {run:#?}");
            }
        }
        let reviews = world
            .read(&format!("/repos/{REPO}/pulls/{number}/reviews?per_page=100"))
            .await;
        let reviews = reviews.as_array().unwrap();
        let standing = reviews
            .iter()
            .filter(|r| r["state"] == "CHANGES_REQUESTED")
            .count();
        assert_eq!(
            standing,
            usize::from(pull.faulty),
            "#{number}, {} earlier heads: {reviews:#?}",
            earlier.len()
        );
        let marker = |body: &str| {
            let at = body.find("<!-- jury:pass:").unwrap();
            body[at..].split_once(" -->").unwrap().0.to_owned()
        };
        let passes: BTreeSet<String> = reviews
            .iter()
            .map(|r| marker(r["body"].as_str().unwrap()))
            .collect();
        assert_eq!(passes.len(), reviews.len(), "#{number}: a review was sent twice");
    }
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    let record = world.emulator.record();
    for exchange in record
        .iter()
        .filter(|e| e.method == "POST" && e.path.ends_with("/check-runs"))
    {
        // What was cut off after its effect has no answer here, but was made.
        let id = exchange.body.as_ref().and_then(|b| b["external_id"].as_str());
        if (200..300).contains(&exchange.status) {
            *made.entry(id.unwrap().to_owned()).or_default() += 1;
        }
    }
    let twice: Vec<_> = made.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "a check run was made twice: {twice:?}");
    let count = |method: &str, end: &str| {
        record
            .iter()
            .filter(|e| e.method == method && e.path.ends_with(end))
            .count()
    };
    println!(
        "{} deliveries of {} pull requests ({} twice), sent {} times while the server was killed {} times: acknowledged \
         within {:.1} s, everything said after {:.1} s. {} heads; {} requests to the forge, {} faults met; {} check \
         runs, {runs_on_last_heads} of them on the {} last heads; {} reviews.",
        deliveries.len(),
        pulls.len(),
        deliveries.len() - single,
        sent.load(Ordering::Relaxed),
        size.kills,
        taken.as_secs_f64(),
        settled.as_secs_f64(),
        pulls.iter().map(|p| p.heads.len()).sum::<usize>(),
        record.len(),
        size.faults - world.emulator.faults_waiting(),
        count("POST", "/check-runs"),
        pulls.len(),
        count("POST", "/reviews"),
    );
}
