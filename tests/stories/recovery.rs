//! The real program is killed in the middle of its work, over and over.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use jury::app::system::SystemClock;
use jury::emulator::{AppKey, AppRegistration, Edit, Emulator, OpenPull, People, Push, Role};
use jury::ports::clock::Clock;
use serde_json::Value;

use crate::{faults, postgres, room::SECRET};

const OWNER: &str = "acme";
pub(crate) const REPO: &str = "acme/shop";

/// How long anything may take before the story gives up.
const PATIENCE: Duration = Duration::from_secs(90);

/// Seconds of a lease: short where the dead must be succeeded soon; long where nobody
/// dies, since a request gives up in a third of it and the machine may be busy.
pub(crate) const SHORT: u32 = 3;
const PATIENT: u32 = 15;

/// How often the server is killed.
const KILLS: u32 = 20;

/// The program, an emulator, and a repository.
pub(crate) struct World {
    pub(crate) emulator: Emulator,
    pub(crate) people: People,
    token: String,
    http: reqwest::Client,
    folder: tempfile::TempDir,
    database: Option<String>,
    server: Mutex<Option<Child>>,
    port: u16,
}

impl World {
    pub(crate) async fn build(database: Option<String>, lease: u32) -> Self {
        let now = Arc::new(|| SystemClock.now().0);
        let emulator = Emulator::start(jury::emulator::Config::new(now)).await.unwrap();
        let people = emulator.people();
        people.organization(OWNER);
        people.user("mona");
        people
            .create_repo(REPO, &[Edit::write("src/lib.rs", "//! A shop.\n")])
            .unwrap();
        people.add_collaborator(REPO, "mona", Role::Write).unwrap();
        let key = AppKey::generate();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("app.pem"), &key.private_pem).unwrap();
        std::fs::write(folder.path().join("secret"), SECRET).unwrap();
        let app = people
            .register_app(AppRegistration {
                webhook_secret: Some(SECRET.into()),
                ..AppRegistration::reviewer("jury", OWNER, &key.public_pem)
            })
            .unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let token = people.token("mona").unwrap();
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:{port}\"\ndata = \"data\"\n[github]\napp_id = {app}\n\
             private_key_file = \"app.pem\"\nwebhook_secret_file = \"secret\"\napi_url = \"{}\"\n\
             [limits]\nlease_seconds = {lease}\n",
            emulator.api_url()
        );
        std::fs::write(folder.path().join("jury.toml"), config).unwrap();
        let world = Self {
            emulator,
            people,
            token,
            http: reqwest::Client::new(),
            folder,
            database,
            server: Mutex::new(None),
            port,
        };
        world.start().await;
        world
            .people
            .set_webhook_url(app, &format!("http://127.0.0.1:{port}/webhooks/github"));
        world.people.install(app, OWNER, None).unwrap();
        world
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) async fn start(&self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jury"));
        command
            .args(["serve", "--config"])
            .arg(self.path().join("jury.toml"));
        command
            .env_remove("DATABASE_URL")
            .env("JURY_LOG", "warn")
            .stdout(Stdio::null());
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.path().join("log"))
            .unwrap();
        command.stderr(log);
        if let Some(url) = &self.database {
            command.env("DATABASE_URL", url);
        }
        *self.server.lock().unwrap() = Some(command.spawn().unwrap());
        let ready = format!("http://127.0.0.1:{}/readyz", self.port);
        self.until("the server is ready", async || {
            self.http
                .get(&ready)
                .send()
                .await
                .is_ok_and(|answer| answer.status() == 200)
        })
        .await;
    }

    pub(crate) fn kill(&self) {
        let mut server = self.server.lock().unwrap().take().unwrap();
        server.kill().unwrap(); // SIGKILL
        server.wait().unwrap();
    }

    async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let held = async {
            let mut pause = tokio::time::interval(Duration::from_millis(3));
            while !holds().await {
                pause.tick().await;
            }
        };
        if tokio::time::timeout(PATIENCE, held).await.is_err() {
            panic!(
                "never: {what}\n{}",
                std::fs::read_to_string(self.path().join("log")).unwrap_or_default()
            );
        }
    }

    pub(crate) async fn read(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.emulator.api_url());
        self.http
            .get(url)
            .bearer_auth(&self.token)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    }

    /// Pushes a fault to a branch and opens a pull request for it.
    fn open_faulty(&self, branch: &str) -> (u64, String) {
        let edits = [Edit::write("src/net.rs", faults::with_token())];
        let push = Push {
            repo: REPO,
            branch,
            by: "mona",
            message: branch,
            edits: &edits,
            onto: None,
        };
        let head = self.people.push(push).unwrap();
        let number = self
            .people
            .open_pull(OpenPull {
                repo: REPO,
                by: "mona",
                title: branch,
                body: None,
                head_repo: None,
                head: branch,
                base: "main",
                draft: false,
            })
            .unwrap();
        (number, head)
    }

    /// Waits for every verdict, then expects one check run, one review, one comment each.
    async fn each_is_said_once(&self, heads: &[(u64, String)]) {
        for (number, head) in heads {
            self.until(&format!("#{number} is concluded and reviewed"), async || {
                let runs = self.runs(head).await;
                let reviews = self.read(&format!("/repos/{REPO}/pulls/{number}/reviews")).await;
                runs.iter().any(|run| run["conclusion"] == "failure")
                    && !reviews.as_array().unwrap().is_empty()
            })
            .await;
        }
        // Anything said twice would be said by now: every lease of the dead has run out.
        tokio::time::sleep(Duration::from_secs(5)).await;
        for (number, head) in heads {
            let runs = self.runs(head).await;
            assert_eq!(runs.len(), 1, "#{number}: one check run: {runs:#?}");
            assert_eq!(runs[0]["conclusion"], "failure", "#{number}");
            let reviews = self.read(&format!("/repos/{REPO}/pulls/{number}/reviews")).await;
            assert_eq!(reviews.as_array().unwrap().len(), 1, "#{number}: one review");
            let comments = self.read(&format!("/repos/{REPO}/pulls/{number}/comments")).await;
            assert_eq!(comments.as_array().unwrap().len(), 1, "#{number}: one comment");
        }
    }

    async fn is_concluded(&self, head: &str) -> bool {
        self.runs(head)
            .await
            .iter()
            .any(|run| run["status"] == "completed")
    }

    pub(crate) async fn runs(&self, head: &str) -> Vec<Value> {
        let listed = self
            .read(&format!("/repos/{REPO}/commits/{head}/check-runs?filter=all"))
            .await;
        listed["check_runs"].as_array().cloned().unwrap_or_default()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Ok(Some(server)) = self.server.get_mut().map(Option::as_mut) {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Starts another replica on the same database, with a data folder of its own.
fn replica(world: &World) -> Replica {
    let url = world.database.as_ref().expect("replicas share Postgres");
    let log = std::fs::File::create(world.path().join("replica.log")).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_jury"))
        .args(["serve", "--listen", "127.0.0.1:0", "--config"])
        .arg(world.path().join("jury.toml"))
        .arg("--data")
        .arg(world.path().join("replica"))
        .env("DATABASE_URL", url)
        .env("JURY_LOG", "warn")
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    Replica(child)
}

/// Ended when dropped.
struct Replica(Child);

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Postgres"]
async fn three_replicas_on_one_database_say_everything_once() {
    let world = World::build(Some(postgres::database().await), PATIENT).await;
    let _replicas = [replica(&world), replica(&world)];
    let heads: Vec<(u64, String)> = (0..12)
        .map(|round| world.open_faulty(&format!("feature-{round}")))
        .collect();
    world.each_is_said_once(&heads).await;
}

/// Twenty pull requests; during each the server is killed at another point of its
/// work and started again. Every head ends with one right check and one review.
async fn killed_over_and_over(database: Option<String>) {
    let world = World::build(database, SHORT).await;
    let (mut heads, mut unfinished) = (Vec::new(), 0);
    for round in 0..KILLS {
        let (number, head) = world.open_faulty(&format!("feature-{round}"));
        // Another point of the pass each time: before, between and after its requests.
        let (requests, moment) = (round % 8, round / 8);
        let so_far = world.emulator.record().len();
        world
            .until("the server got so far", async || {
                world.emulator.record().len() >= so_far + requests as usize || world.is_concluded(&head).await
            })
            .await;
        tokio::time::sleep(Duration::from_millis(u64::from(moment) * 7)).await;
        world.kill();
        unfinished += u32::from(!world.is_concluded(&head).await);
        heads.push((number, head));
        world.start().await;
    }
    assert!(
        unfinished >= KILLS / 2,
        "only {unfinished} of {KILLS} kills hit a pass"
    );
    world.each_is_said_once(&heads).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_twenty_times_on_sqlite_nothing_is_lost_and_nothing_said_twice() {
    killed_over_and_over(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Postgres"]
async fn killed_twenty_times_on_postgres_nothing_is_lost_and_nothing_said_twice() {
    killed_over_and_over(Some(postgres::database().await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn told_to_stop_it_finishes_and_the_next_start_goes_on() {
    let world = World::build(None, SHORT).await;
    let heads: Vec<(u64, String)> = (0..6)
        .map(|round| world.open_faulty(&format!("feature-{round}")))
        .collect();
    world.emulator.hooks().wait_quiet().await;
    let mut server = world.server.lock().unwrap().take().unwrap();
    let stopped = Command::new("kill")
        .args(["-TERM", &server.id().to_string()])
        .status()
        .unwrap();
    assert!(stopped.success());
    let ended = tokio::task::spawn_blocking(move || server.wait().unwrap())
        .await
        .unwrap();
    assert!(ended.success(), "it ended by itself: {ended}");
    world.start().await;
    world.each_is_said_once(&heads).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_has_one_server() {
    let world = World::build(None, SHORT).await;
    let refused = |asked: &[&str]| {
        let second = Command::new(env!("CARGO_BIN_EXE_jury"))
            .args(asked)
            .arg("--config")
            .arg(world.path().join("jury.toml"))
            .env_remove("DATABASE_URL")
            .output()
            .unwrap();
        assert_eq!(second.status.code(), Some(2), "{asked:?}");
        let said = String::from_utf8_lossy(&second.stderr);
        assert!(
            said.contains("another jury serve is using the data folder"),
            "{asked:?}: {said}"
        );
    };
    let asked = [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate"]];
    asked.into_iter().for_each(refused);
    // The database is not so much as opened by who is refused.
    world.kill();
    let data = world.path().join("data");
    for file in ["jury.db", "jury.db-wal", "jury.db-shm"] {
        std::fs::remove_file(data.join(file)).unwrap();
    }
    let held = std::fs::File::create(data.join("jury.lock")).unwrap();
    held.try_lock().unwrap();
    asked.into_iter().for_each(refused);
    assert!(!data.join("jury.db").exists());
}
