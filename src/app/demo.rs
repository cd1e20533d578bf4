//! Wires `jury demo`: the emulator and the server on free loopback ports, a small
//! repository, and people who open a pull request with faults and then mend it.
//! Everything is true but the forge: real HTTP, real git, real signatures.

mod story;

use std::{collections::BTreeMap, process::ExitCode, sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    cli::{self, DemoArgs, Fault},
    config::{self, Config, Flags, Inputs},
    domain::{
        ids::{InstallationId, Sha},
        review::snapshot::Verdict,
        space::Space,
    },
    emulator::{self, AppKey, AppRegistration, Emulator},
    ports::clock::Clock,
    server::Shutdown,
    services::CHECK_NAME,
    telemetry::metrics::Metrics,
};

use super::{
    serve::{self, Parts, Running},
    system::{self, SystemClock, SystemIds, random},
};
use story::{OWNER, REPO, Story};

/// How long a verdict may take before the demo gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the command: 0 when both verdicts were read back as they should be, else 1.
pub(super) fn run(args: &DemoArgs) -> Result<ExitCode, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Fault::new(format!("cannot start: {e}")))?;
    runtime.block_on(async {
        system::outlive_file_limits();
        demo(args).await
    })
}

/// One line of the story, unless only the document is wanted.
fn tell(args: &DemoArgs, line: &str) -> Result<(), Fault> {
    if args.json { Ok(()) } else { cli::print(line) }
}

async fn demo(args: &DemoArgs) -> Result<ExitCode, Fault> {
    let folder = tempfile::tempdir().map_err(|e| Fault::new(format!("no temporary folder: {e}")))?;
    let stage = Stage::build(folder.path()).await?;
    let page = stage.page();
    tell(
        args,
        &format!("The forge (emulated):   {}", stage.emulator.base_url()),
    )?;
    tell(
        args,
        &format!("Jury's server:          http://{}", stage.server.address),
    )?;

    let story = Story::new(stage.emulator.people());
    let faulty = story.open_with_faults().map_err(|refusal| fault(&refusal))?;
    tell(args, &format!("\nmona opens a pull request with faults: {page}"))?;
    let first = stage.concluded(&faulty).await?;
    tell(args, &told(&first))?;

    let fixed = story.push_the_fix().map_err(|refusal| fault(&refusal))?;
    tell(args, "\nmona pushes the fix.")?;
    let second = stage.concluded(&fixed).await?;
    tell(args, &told(&second))?;

    let document = stage.document(&[&faulty, &fixed]).await?;
    if args.json {
        let text = serde_json::to_string_pretty(&document)
            .map_err(|e| Fault::new(format!("the document cannot be written: {e}")))?;
        cli::print(&text)?;
    }
    let verdicts: Vec<&str> = document["passes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|p| p["verdict"].as_str())
        .collect();
    let concluded = [&first, &second].map(|check| check["conclusion"].as_str().unwrap_or_default());
    let right =
        verdicts == [Verdict::Block.as_str(), Verdict::Ship.as_str()] && concluded == ["failure", "success"];
    if !args.once {
        tell(
            args,
            &format!("\nLook at {page} as long as you like; Ctrl-C ends the demo."),
        )?;
        let ended = Shutdown::new();
        ended
            .on_signals()
            .map_err(|e| Fault::new(format!("cannot wait for Ctrl-C: {e}")))?;
        ended.requested().await;
    }
    stage.server.stop().await;
    if right {
        Ok(ExitCode::SUCCESS)
    } else {
        let line = format!("expected block and then ship, read back {verdicts:?} with {concluded:?}");
        cli::complain(&line);
        Ok(ExitCode::from(1))
    }
}

/// What a person reads off a concluded check.
fn told(check: &Value) -> String {
    format!(
        "  check {CHECK_NAME}: {} ({})",
        check["conclusion"].as_str().unwrap_or("?"),
        check["output"]["title"].as_str().unwrap_or("?")
    )
}

fn fault(error: &dyn std::fmt::Display) -> Fault {
    Fault::new(format!("the demo could not go on: {error}"))
}

/// The faults of the file that `JURY_EMULATOR_FAULTS` names: how Jury behaves on a forge
/// that fails can be watched by hand.
fn planned_faults() -> Result<Vec<(emulator::Rule, emulator::Fault)>, Fault> {
    let Some(file) = std::env::var_os("JURY_EMULATOR_FAULTS") else {
        return Ok(Vec::new());
    };
    let said = |error: &dyn std::fmt::Display| Fault::new(format!("JURY_EMULATOR_FAULTS: {error}"));
    let text = std::fs::read_to_string(file).map_err(|e| said(&e))?;
    emulator::read_faults(&text).map_err(|e| said(&e))
}

/// The emulator and the server, pointed at each other.
struct Stage {
    emulator: Emulator,
    server: Running,
    http: reqwest::Client,
    installation: InstallationId,
    /// A person's token, with which everything is read back.
    token: String,
    bot: String,
}

impl Stage {
    async fn build(folder: &std::path::Path) -> Result<Self, Fault> {
        let now = Arc::new(|| SystemClock.now().0);
        let mut setup = crate::emulator::Config::new(now);
        setup.record = std::env::var_os("JURY_EMULATOR_RECORD").map(Into::into);
        let emulator = Emulator::start(setup).await.map_err(|e| fault(&e))?;
        for (rule, failing) in planned_faults()? {
            emulator.fail(rule, failing);
        }
        let people = emulator.people();
        Story::set_the_scene(&people).map_err(|refusal| fault(&refusal))?;
        let key = AppKey::generate();
        let secret = random::<24>()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>();
        let app = people
            .register_app(AppRegistration {
                webhook_secret: Some(secret.clone()),
                ..AppRegistration::reviewer("jury", OWNER, &key.public_pem)
            })
            .map_err(|refusal| fault(&refusal))?;
        Story::require_the_check(&people, CHECK_NAME, app).map_err(|refusal| fault(&refusal))?;

        let config = configuration(folder, &emulator, app, &key, &secret)?;
        let parts = Parts {
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            metrics: Metrics::detached(),
            shutdown: Shutdown::new(),
            workers: true,
        };
        let server = serve::start(&config, parts).await.map_err(|e| fault(&e))?;
        people.set_webhook_url(app, &format!("http://{}/webhooks/github", server.address));
        let installation = people
            .install(app, OWNER, None)
            .map_err(|refusal| fault(&refusal))?;
        let installation = InstallationId(i64::try_from(installation).map_err(|e| fault(&e))?);
        let http = reqwest::Client::builder()
            .timeout(Duration::from_secs(10))
            .user_agent("jury-demo")
            .build()
            .map_err(|e| fault(&e))?;
        let token = people.token(story::AUTHOR).map_err(|refusal| fault(&refusal))?;
        let bot = people.bot_login(app).map_err(|refusal| fault(&refusal))?;
        Ok(Self {
            emulator,
            server,
            installation,
            http,
            token,
            bot,
        })
    }

    fn page(&self) -> String {
        format!("{}/{OWNER}/{REPO}/pull/1", self.emulator.base_url())
    }

    /// Reads from the emulator as a person with a token would.
    async fn read(&self, path: &str) -> Result<Value, Fault> {
        let url = format!("{}/repos/{OWNER}/{REPO}{path}", self.emulator.api_url());
        let answer = self
            .http
            .get(url)
            .bearer_auth(&self.token)
            .send()
            .await
            .map_err(|e| fault(&e))?;
        answer
            .error_for_status()
            .map_err(|e| fault(&e))?
            .json()
            .await
            .map_err(|e| fault(&e))
    }

    async fn checks(&self, head: &str) -> Result<Vec<Value>, Fault> {
        let path = format!("/commits/{head}/check-runs?check_name={CHECK_NAME}&filter=all&per_page=100");
        let listed = self.read(&path).await?;
        let mut runs = listed["check_runs"].as_array().cloned().unwrap_or_default();
        runs.sort_by_key(|run| run["id"].as_i64());
        Ok(runs)
    }

    /// Waits until the check of `head` is concluded and its review, if any, is sent.
    async fn concluded(&self, head: &str) -> Result<Value, Fault> {
        let mut pause = tokio::time::interval(Duration::from_millis(50));
        let wait = async {
            loop {
                pause.tick().await;
                let last = self.checks(head).await?.pop();
                if let Some(check) = last.filter(|c| c["status"] == "completed") {
                    self.settled().await?;
                    return Ok(check);
                }
            }
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(check) => check,
            Err(_) => Err(Fault::new(format!(
                "no verdict of {head} within {} s",
                PATIENCE.as_secs()
            ))),
        }
    }

    /// Waits until nothing is left to be sent.
    async fn settled(&self) -> Result<(), Fault> {
        let mut pause = tokio::time::interval(Duration::from_millis(20));
        loop {
            pause.tick().await;
            let mut tx = self.server.context.db.read().await.map_err(|e| fault(&e))?;
            if tx.job_counts().await.map_err(|e| fault(&e))?.is_empty() {
                return Ok(());
            }
        }
    }

    async fn space(&self, head: &str) -> Result<Space, Fault> {
        let head: Sha = head.parse().map_err(|e| fault(&e))?;
        let mut tx = self.server.context.db.read().await.map_err(|e| fault(&e))?;
        tx.open_spaces_of(self.installation)
            .await
            .map_err(|e| fault(&e))?
            .into_iter()
            .find(|space| space.snapshot.head == head)
            .ok_or_else(|| Fault::new("no space opened for the pull request"))
    }

    /// The document of `--json`.
    async fn document(&self, heads: &[&str]) -> Result<Value, Fault> {
        let space = self.space(heads.last().copied().unwrap_or_default()).await?;
        let passes = {
            let mut tx = self.server.context.db.read().await.map_err(|e| fault(&e))?;
            tx.passes(&space.id).await.map_err(|e| fault(&e))?
        };
        let snapshots: Vec<_> = passes.into_iter().filter_map(|pass| pass.snapshot).collect();
        let mut checks = Vec::new();
        for head in heads {
            for run in self.checks(head).await? {
                checks.push(json!({
                    "name": run["name"],
                    "head_sha": run["head_sha"],
                    "status": run["status"],
                    "conclusion": run["conclusion"],
                    "title": run["output"]["title"],
                }));
            }
        }
        Ok(json!({
            "space": { "id": space.id, "mode": space.mode, "pull_request": space.snapshot.html_url },
            "passes": snapshots,
            "published": { "reviews": self.reviews().await?, "check_runs": checks },
        }))
    }

    /// The App's reviews: what was sent from the record, what is there from REST.
    async fn reviews(&self) -> Result<Vec<Value>, Fault> {
        let sent: BTreeMap<i64, Value> = self
            .emulator
            .record()
            .into_iter()
            .filter(|e| e.method == "POST" && e.path.ends_with("/pulls/1/reviews") && e.status == 200)
            .filter_map(|e| Some((e.response?["id"].as_i64()?, e.body?["event"].clone())))
            .collect();
        let comments = self.read("/pulls/1/comments?per_page=100").await?;
        let listed = self.read("/pulls/1/reviews?per_page=100").await?;
        let ours = |review: &&Value| review["user"]["login"] == self.bot.as_str();
        let with_comments = |review: &Value| {
            let own = comments
                .as_array()
                .into_iter()
                .flatten()
                .filter(|c| c["pull_request_review_id"] == review["id"]);
            let own: Vec<Value> = own
                .map(|c| json!({ "path": c["path"], "line": line_of(c), "side": c["side"], "body": c["body"] }))
                .collect();
            let event = review["id"].as_i64().and_then(|id| sent.get(&id)).cloned();
            json!({ "event": event, "state": review["state"], "body": review["body"], "comments": own })
        };
        Ok(listed
            .as_array()
            .into_iter()
            .flatten()
            .filter(ours)
            .map(with_comments)
            .collect())
    }
}

/// Where a comment stands. One on code that changed since has no line any more, only
/// the one it had.
fn line_of(comment: &Value) -> &Value {
    if comment["line"].is_null() {
        &comment["original_line"]
    } else {
        &comment["line"]
    }
}

/// The server's configuration, read the way an operator's is.
fn configuration(
    folder: &std::path::Path,
    emulator: &Emulator,
    app: u64,
    key: &AppKey,
    secret: &str,
) -> Result<Config, Fault> {
    let env = BTreeMap::from([
        ("JURY_SERVER_LISTEN".to_owned(), "127.0.0.1:0".to_owned()),
        (
            "JURY_SERVER_DATA".to_owned(),
            folder.join("jury").to_string_lossy().into_owned(),
        ),
        ("JURY_GITHUB_APP_ID".to_owned(), app.to_string()),
        ("JURY_GITHUB_API_URL".to_owned(), emulator.api_url()),
        ("JURY_GITHUB_PRIVATE_KEY".to_owned(), key.private_pem.clone()),
        ("JURY_GITHUB_WEBHOOK_SECRET".to_owned(), secret.to_owned()),
    ]);
    let none = |_: &std::path::Path| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let inputs = Inputs {
        env: &env,
        flags: Flags::default(),
        read: &none,
    };
    config::load(&inputs)
        .map(|loaded| loaded.value)
        .map_err(|e| fault(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_on_code_that_changed_since_keeps_the_line_it_had() {
        assert_eq!(line_of(&json!({ "line": 7, "original_line": 3 })), 7);
        assert_eq!(line_of(&json!({ "line": null, "original_line": 3 })), 3);
        assert_eq!(line_of(&json!({ "original_line": 3 })), 3);
        assert!(line_of(&json!({ "line": null })).is_null());
    }
}
