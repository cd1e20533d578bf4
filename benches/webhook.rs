//! How fast webhooks are acknowledged, beside probot on the same machine in the same run.
//!
//! ```sh
//! npm install --prefix /tmp/probot probot@14
//! PROBOT=/tmp/probot cargo bench --profile ci-release --bench webhook
//! ```
//!
//! Without `PROBOT` only Jury is measured. `PROGRAM` names another build
//! of the program. The load is made here, by blocking connections that are kept open: each
//! sends the next delivery when the last one was answered. The body is one signed
//! `pull_request` of 24 kB; every request has an id of its own. Jury verifies, stores and
//! takes every one of them in; probot verifies and forgets it.
#![allow(missing_docs, reason = "a benchmark")]
#![allow(clippy::unwrap_used, reason = "a benchmark")]
#![allow(clippy::print_stdout, reason = "a benchmark")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;

const CONNECTIONS: usize = 16;
const ROUNDS: usize = 3;
const WARM_UP: Duration = Duration::from_secs(1);
const MEASURED: Duration = Duration::from_secs(5);
const BODY: usize = 24_000;
const SECRET: &str = "a webhook secret for benchmarks";

/// A server that is measured; ended when dropped.
struct Server {
    child: Child,
    port: u16,
    path: &'static str,
    ready: Duration,
    idle: u64,
    _folder: Option<tempfile::TempDir>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What one round came to.
struct Figures {
    rate: f64,
    p50: Duration,
    p99: Duration,
    cpu: Duration,
    ready: Duration,
    idle: u64,
    resident: u64,
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn private_key(folder: &Path) -> PathBuf {
    let place = folder.join("app.pem");
    std::fs::write(&place, jury::emulator::AppKey::generate().private_pem).unwrap();
    place
}

fn start(
    mut command: Command,
    port: u16,
    path: &'static str,
    ready: &str,
    folder: tempfile::TempDir,
) -> Server {
    let begun = Instant::now();
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut server = Server {
        child,
        port,
        path,
        ready: Duration::ZERO,
        idle: 0,
        _folder: Some(folder),
    };
    let ask = format!("GET {ready} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n");
    loop {
        if let Ok(mut connection) = TcpStream::connect(("127.0.0.1", port)) {
            let mut answer = String::new();
            if connection.write_all(ask.as_bytes()).is_ok()
                && connection.read_to_string(&mut answer).is_ok()
                && answer.starts_with("HTTP/1.1 200")
            {
                break;
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "it never came up");
        std::thread::sleep(Duration::from_millis(1));
    }
    server.ready = begun.elapsed();
    std::thread::sleep(Duration::from_millis(500));
    server.idle = resident(server.child.id());
    server
}

fn jury() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let key = private_key(folder.path());
    let port = free_port();
    let program = std::env::var_os("PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_jury").into());
    let mut command = Command::new(program);
    command
        .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data"])
        .arg(folder.path().join("data"))
        .current_dir(folder.path())
        .env_remove("DATABASE_URL")
        .env("JURY_LOG", "warn")
        .env("JURY_GITHUB_APP_ID", "1")
        .env("JURY_GITHUB_PRIVATE_KEY_FILE", key)
        .env("JURY_GITHUB_WEBHOOK_SECRET", SECRET)
        // Nobody listens there: the forge is not part of what is measured.
        .env("JURY_GITHUB_API_URL", "http://127.0.0.1:9");
    start(command, port, "/webhooks/github", "/readyz", folder)
}

fn probot(installed: &Path) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let key = private_key(folder.path());
    let port = free_port();
    let program = installed.join("jury-bench-server.mjs");
    std::fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/benches/probot/server.mjs"),
        &program,
    )
    .unwrap();
    let mut command = Command::new("node");
    command
        .arg(program)
        .current_dir(folder.path())
        .env("NODE_ENV", "production")
        .env("LOG_LEVEL", "warn")
        .env("APP_ID", "1")
        .env("PRIVATE_KEY_PATH", key)
        .env("WEBHOOK_SECRET", SECRET)
        .env("HOST", "127.0.0.1")
        .env("PORT", port.to_string());
    start(command, port, "/api/github/webhooks", "/ping", folder)
}

/// A pull request that was closed before anybody knew it: taken in whole, and nothing follows.
fn body() -> Vec<u8> {
    let account = json!({ "login": "acme", "id": 1, "type": "Organization" });
    let repo =
        json!({ "id": 2, "name": "shop", "full_name": "acme/shop", "private": false, "owner": account });
    let branch = |sha: &str| json!({ "ref": "main", "sha": sha.repeat(40), "repo": repo, "user": account });
    let mut payload = json!({
        "action": "closed",
        "number": 3,
        "pull_request": {
            "id": 4, "number": 3, "state": "closed", "title": "Change something", "draft": false, "merged": false,
            "user": { "login": "mona", "id": 5, "type": "User" }, "body": "",
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:01Z",
            "html_url": "https://forge.example/acme/shop/pull/3",
            "head": branch("a"), "base": branch("b"),
        },
        "repository": repo,
        "sender": { "login": "mona", "id": 5, "type": "User" },
        "installation": { "id": 6 },
    });
    // As varied as text of people: what compresses to nothing would flatter whoever stores it.
    let mut seed: u32 = 7;
    let mut text = String::new();
    while payload.to_string().len() + text.len() < BODY {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let word = [
            "review",
            "branch",
            "https://forge.example/",
            "commit",
            "merge",
            "the",
            "of",
            "state",
        ];
        text.push_str(word[(seed >> 24) as usize % word.len()]);
        text.push_str(&format!(" {:04x} ", seed >> 16));
    }
    text.truncate(BODY.saturating_sub(payload.to_string().len()));
    payload["pull_request"]["body"] = text.into();
    payload.to_string().into_bytes()
}

/// CPU time of a process so far, its threads and what it waited for included.
fn cpu(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // Linux counts 100 of them a second, on every machine that we know.
    Duration::from_millis(ticks * 10)
}

/// Resident memory in KiB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Sends until the time is over; how long each answer took.
fn send(
    server: (u16, &str),
    connection: usize,
    round: usize,
    body: &[u8],
    signature: &str,
    time: Duration,
) -> Vec<Duration> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.0)).unwrap();
    stream.set_nodelay(true).unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\nx-github-event: pull_request\r\n\
         x-hub-signature-256: {signature}\r\nuser-agent: GitHub-Hookshot/bench\r\ncontent-length: {}\r\n\
         x-github-delivery: ",
        server.1,
        body.len()
    );
    let (mut took, mut answer) = (Vec::new(), [0_u8; 4096]);
    let until = Instant::now() + time;
    while Instant::now() < until {
        let id = format!("{round:08x}-0000-4000-8000-{connection:04x}{:08x}", took.len());
        let mut request = Vec::with_capacity(head.len() + body.len() + 64);
        request.extend_from_slice(head.as_bytes());
        request.extend_from_slice(id.as_bytes());
        request.extend_from_slice(b"\r\n\r\n");
        request.extend_from_slice(body);
        let begun = Instant::now();
        stream.write_all(&request).unwrap();
        let mut read = 0;
        loop {
            read += match stream.read(&mut answer[read..]).unwrap() {
                0 => panic!("the server hung up"),
                some => some,
            };
            if is_whole(&answer[..read]) {
                break;
            }
        }
        took.push(begun.elapsed());
        assert!(
            answer.starts_with(b"HTTP/1.1 20"),
            "{}",
            String::from_utf8_lossy(&answer[..read])
        );
    }
    took
}

/// Whether an answer has come to its end.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    match head.split_once("content-length: ") {
        Some((_, length)) => {
            let length = length.split("\r\n").next().unwrap().trim();
            body.len() >= length.parse::<usize>().unwrap()
        }
        None if head.contains("transfer-encoding: chunked") => body.ends_with("0\r\n\r\n"),
        None => true,
    }
}

fn load(server: &Server, round: usize, time: Duration, body: &[u8], signature: &str) -> Vec<Duration> {
    let to = (server.port, server.path);
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..CONNECTIONS)
            .map(|n| scope.spawn(move || send(to, n, round, body, signature, time)))
            .collect();
        senders.into_iter().flat_map(|s| s.join().unwrap()).collect()
    })
}

fn measure(server: &Server, round: usize, body: &[u8], signature: &str) -> Figures {
    load(server, 2 * round, WARM_UP, body, signature);
    let (begun, before) = (Instant::now(), cpu(server.child.id()));
    let mut took = load(server, 2 * round + 1, MEASURED, body, signature);
    let elapsed = begun.elapsed();
    // What was acknowledged is worked off before the CPU is read.
    std::thread::sleep(Duration::from_secs(1));
    took.sort_unstable();
    let count = u32::try_from(took.len()).unwrap();
    Figures {
        rate: f64::from(count) / elapsed.as_secs_f64(),
        p50: took[took.len() / 2],
        p99: took[took.len() * 99 / 100],
        cpu: (cpu(server.child.id()) - before) / count,
        ready: server.ready,
        idle: server.idle,
        resident: resident(server.child.id()),
    }
}

fn median<T: PartialOrd + Copy>(rounds: &[Figures], of: impl Fn(&Figures) -> T) -> T {
    let mut all: Vec<T> = rounds.iter().map(of).collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    all[all.len() / 2]
}

fn print(name: &str, f: &[Figures]) {
    let ms = |d: Duration| d.as_secs_f64() * 1000.0;
    println!(
        "{name:<8} {:>8.0}/s  p50 {:>6.2} ms  p99 {:>6.2} ms  CPU {:>4} us each  ready {:>4.0} ms  idle {:>3} MB  \
         loaded {:>3} MB",
        median(f, |f| f.rate),
        ms(median(f, |f| f.p50)),
        ms(median(f, |f| f.p99)),
        median(f, |f| f.cpu).as_micros(),
        ms(median(f, |f| f.ready)),
        median(f, |f| f.idle) / 1024,
        median(f, |f| f.resident) / 1024,
    );
}

fn main() {
    let body = body();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&body);
    let digest = mac.finalize().into_bytes();
    let signature = format!(
        "sha256={}",
        digest.iter().map(|b| format!("{b:02x}")).collect::<String>()
    );
    let peer = std::env::var_os("PROBOT").map(PathBuf::from);
    println!(
        "{} bytes of pull_request, {CONNECTIONS} connections, {} s, medians of {ROUNDS} rounds",
        body.len(),
        MEASURED.as_secs()
    );
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // One after the other, so that whatever else the machine does falls on both.
        ours.push(measure(&jury(), round, &body, &signature));
        if let Some(installed) = &peer {
            theirs.push(measure(&probot(installed), round, &body, &signature));
        }
    }
    print("jury", &ours);
    if theirs.is_empty() {
        return;
    }
    print("probot", &theirs);
    let ratio = |of: fn(&Figures) -> f64| median(&ours, of) / median(&theirs, of);
    println!(
        "jury/probot: rate {:.2} (wanted: at least 1.5), CPU {:.2} (at most 0.6), p99 {:.2} (at most 1.2)",
        ratio(|f| f.rate),
        ratio(|f| f.cpu.as_secs_f64()),
        ratio(|f| f.p99.as_secs_f64()),
    );
}
