//! What the real program does where it cannot write any more.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use jury::emulator::AppKey;

use crate::room::{SECRET, signature};

/// How long anything may take before the story gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// `jury serve`, ended with its story.
struct Server {
    program: Child,
    base: String,
    http: reqwest::Client,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

impl Server {
    /// Starts the program as `shell` says, in which `"$@"` stands for its command line.
    /// Its forge never answers.
    async fn start(shell: &str, data: Option<&Path>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("app.pem"), AppKey::generate().private_pem).unwrap();
        std::fs::write(at("secret"), SECRET).unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let data = data.map_or_else(|| at("data"), Path::to_owned);
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:{port}\"\ndata = {data:?}\n[github]\napp_id = 7\n\
             private_key_file = \"app.pem\"\nwebhook_secret_file = \"secret\"\napi_url = \"http://127.0.0.1:9\"\n"
        );
        std::fs::write(at("jury.toml"), config).unwrap();
        let log = std::fs::File::create(at("log")).unwrap();
        let program = Command::new("sh")
            .args(["-c", shell, "sh", env!("CARGO_BIN_EXE_jury"), "serve", "--config"])
            .arg(at("jury.toml"))
            .env_remove("DATABASE_URL")
            .env("JURY_LOG", "warn")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self {
            program,
            base: format!("http://127.0.0.1:{port}"),
            http: reqwest::Client::new(),
            folder,
        };
        server.until("/readyz", 200).await;
        server
    }

    async fn status(&self, path: &str) -> Option<u16> {
        let sent = self.http.get(format!("{}{path}", self.base)).send().await;
        sent.ok().map(|answer| answer.status().as_u16())
    }

    /// Waits until `path` answers with `status`.
    async fn until(&self, path: &str, status: u16) {
        let answers = async {
            let mut pause = tokio::time::interval(Duration::from_millis(50));
            while self.status(path).await != Some(status) {
                pause.tick().await;
            }
        };
        if tokio::time::timeout(PATIENCE, answers).await.is_err() {
            panic!("{path} never answers {status}:\n{}", self.log());
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Posts a delivery of about 100 kB that compresses badly.
    async fn deliver(&self, number: u32) -> u16 {
        let mut state = u64::from(number) + 1;
        let noise: String = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            format!("{state:016x}")
        })
        .take(6_250)
        .collect();
        let body = serde_json::json!({ "noise": noise }).to_string();
        let sent = self
            .http
            .post(format!("{}/webhooks/github", self.base))
            .header("x-github-event", "unheard_of")
            .header("x-github-delivery", format!("delivery-{number}"))
            .header("x-hub-signature-256", signature(SECRET, body.as_bytes()))
            .header("content-type", "application/json")
            .body(body)
            .send();
        sent.await
            .unwrap_or_else(|error| panic!("no answer: {error}\n{}", self.log()))
            .status()
            .as_u16()
    }

    /// Posts deliveries until one is turned away while the server says that it is not
    /// ready, and gives its number. A first one turned away is not enough: SQLite may find
    /// room again by moving what is in its log into its file.
    async fn fill(&self) -> u32 {
        let filled = async {
            for number in 0.. {
                match self.deliver(number).await {
                    202 => {}
                    503 if self.status("/readyz").await == Some(503) => return number,
                    503 => {}
                    other => panic!("{other}\n{}", self.log()),
                }
            }
            unreachable!("the numbers do not end in a minute")
        };
        match tokio::time::timeout(PATIENCE, filled).await {
            Ok(number) => number,
            Err(_) => panic!("nothing was ever full:\n{}", self.log()),
        }
    }
}

#[tokio::test]
async fn a_limit_on_the_size_of_files_ends_no_server_and_is_said_to_senders_until_it_is_raised() {
    // Blocks of 512 bytes: 4 MiB; the soft limit, so that it can be raised again.
    let mut server = Server::start("ulimit -S -f 8192 && exec \"$@\"", None).await;
    let taken = server.fill().await;
    assert!(taken > 0, "{}", server.log());
    assert_eq!(server.status("/healthz").await, Some(200));
    assert!(server.program.try_wait().unwrap().is_none(), "{}", server.log());
    assert!(
        server.log().contains("deliveries cannot be stored"),
        "{}",
        server.log()
    );
    let pid = server.program.id().to_string();
    let raised = Command::new("prlimit")
        .args(["--pid", &pid, "--fsize=unlimited"])
        .status();
    assert!(raised.unwrap().success());
    server.until("/readyz", 200).await;
    assert_eq!(
        server.deliver(taken).await,
        202,
        "the one that was turned away comes again"
    );
}

/// A small file system of one's own; gone with its story.
struct Mount(tempfile::TempDir);

impl Mount {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mount = Self(folder);
        mount.run("mount", &["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs"]);
        mount
    }

    fn run(&self, program: &str, args: &[&str]) {
        let done = Command::new(program)
            .args(args)
            .arg(self.0.path())
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{program}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: whoever still has a file open there keeps it until he ends.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test]
#[ignore = "needs root, to mount a small file system"]
async fn a_full_disk_makes_it_not_ready_until_there_is_room_again() {
    let mount = Mount::new();
    let ballast = mount.0.path().join("ballast");
    let server = Server::start("exec \"$@\"", Some(mount.0.path())).await;
    assert_eq!(server.deliver(0).await, 202);
    // Written until the disk takes no more.
    std::fs::write(&ballast, vec![7; 16 << 20]).unwrap_err();
    let taken = server.fill().await;
    assert_eq!(server.status("/healthz").await, Some(200));
    std::fs::remove_file(&ballast).unwrap();
    server.until("/readyz", 200).await;
    assert_eq!(
        server.deliver(taken).await,
        202,
        "the one that was turned away comes again"
    );
}

#[test]
#[ignore = "needs root, to mount a small file system"]
fn a_read_only_disk_is_told_at_the_start() {
    let mount = Mount::new();
    mount.run("mount", &["-o", "remount,ro"]);
    let folder = tempfile::tempdir().unwrap();
    let denied = Command::new(env!("CARGO_BIN_EXE_jury"))
        .args(["migrate", "--data"])
        .arg(mount.0.path())
        .current_dir(folder.path())
        .env_remove("DATABASE_URL")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&denied.stderr);
    assert_eq!(denied.status.code(), Some(2), "{said}");
    assert!(
        said.contains("cannot be written to: Read-only file system"),
        "{said}"
    );
}
