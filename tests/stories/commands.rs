//! The commands beside `review`, `serve` and `demo`, run as a person runs them.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
    sync::Arc,
};

use jury::app::system::SystemClock;
use jury::emulator::{AppKey, AppRegistration, Edit, Emulator, OpenPull, People, Push, Role};
use jury::ports::clock::Clock;
use serde_json::{Value, json};

use crate::{faults, room::SECRET};

const OWNER: &str = "acme";
const REPO: &str = "acme/shop";

/// The program with these arguments, in `folder`, without anything of our environment
/// that it reads.
fn jury(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jury"));
    command
        .args(args)
        .current_dir(folder)
        .env_remove("DATABASE_URL")
        .env_remove("JURY_CONFIG")
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdin(Stdio::null());
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs the program where nothing blocks the emulator's answers.
async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

/// What `jury` prints when it has to end well.
fn printed(args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = jury(folder.path(), args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

/// An emulator with one App, installed, and a folder with its configuration.
struct World {
    emulator: Emulator,
    people: People,
    app: u64,
    folder: tempfile::TempDir,
}

impl World {
    async fn build(register: impl FnOnce(&mut AppRegistration)) -> Self {
        let mut setup = jury::emulator::Config::new(Arc::new(|| SystemClock.now().0));
        setup.record = std::env::var_os("JURY_EMULATOR_RECORD").map(Into::into);
        let emulator = Emulator::start(setup).await.unwrap();
        let people = emulator.people();
        people.organization(OWNER);
        people.user("mona");
        people
            .create_repo(REPO, &[Edit::write("src/lib.rs", "//! A shop.\n")])
            .unwrap();
        people.add_collaborator(REPO, "mona", Role::Write).unwrap();
        let key = AppKey::generate();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("app.pem", &key.private_pem);
        write("secret", SECRET);
        for secret in ["app.pem", "secret"] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(folder.path().join(secret), mode).unwrap();
        }
        let mut registration = AppRegistration {
            webhook_secret: Some(SECRET.into()),
            ..AppRegistration::reviewer("jury", OWNER, &key.public_pem)
        };
        register(&mut registration);
        let app = people.register_app(registration).unwrap();
        let config = format!(
            "[server]\ndata = \"data\"\n[github]\napp_id = {app}\nprivate_key_file = \"app.pem\"\n\
             webhook_secret_file = \"secret\"\napi_url = \"{}\"\n",
            emulator.api_url()
        );
        write("jury.toml", &config);
        people.install(app, OWNER, None).unwrap();
        Self {
            emulator,
            people,
            app,
            folder,
        }
    }

    async fn jury(&self, args: &[&str]) -> Output {
        run(jury(self.folder.path(), args)).await
    }

    /// mona opens a pull request that adds a token; the delivery that says so.
    async fn open_with_a_token(&self) -> Value {
        self.emulator.hooks().pause();
        self.people
            .set_webhook_url(self.app, "http://127.0.0.1:9/webhooks/github");
        self.people
            .push(Push {
                repo: REPO,
                branch: "feature",
                by: "mona",
                message: "Add a client",
                edits: &[Edit::write("src/client.rs", faults::with_token())],
                onto: None,
            })
            .unwrap();
        self.people
            .open_pull(OpenPull {
                repo: REPO,
                head: "feature",
                base: "main",
                title: "Add a client",
                body: None,
                head_repo: None,
                by: "mona",
                draft: false,
            })
            .unwrap();
        let deliveries = self.emulator.hooks().take();
        let opened = deliveries.iter().find(|d| d.event == "pull_request").unwrap();
        serde_json::from_slice(&opened.body).unwrap()
    }

    /// What was written to the forge.
    fn writes(&self) -> Vec<String> {
        let record = self.emulator.record();
        let writes = record.into_iter().filter(|e| e.method != "GET");
        writes
            .map(|e| format!("{} {}", e.method, e.path))
            .filter(|line| !line.ends_with("/access_tokens"))
            .collect()
    }
}

/// Every health that `jury doctor --json` tells of `what`.
fn healths(document: &Value, what: &str) -> Vec<String> {
    let all = document["examined"].as_array().unwrap().iter();
    all.filter(|one| one["what"] == what)
        .map(|one| one["health"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_doctor_finds_a_sound_set_up_well_and_changes_nothing() {
    let world = World::build(|_| {}).await;
    let output = world.jury(&["doctor", "--json"]).await;
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{document:#}");
    assert_eq!(document["ok"], true);
    for what in [
        "configuration",
        "private key",
        "database",
        "git",
        "forge",
        "clock",
        "permissions",
        "events",
        "installations",
    ] {
        assert_eq!(healths(&document, what), ["ok"], "{what}: {document:#}");
    }
    assert!(!world.folder.path().join("data").exists(), "nothing was made");
    assert!(world.writes().is_empty(), "nothing was sent");
    let told = world.jury(&["doctor"]).await;
    assert!(stdout(&told).contains("ok       forge"), "{}", stdout(&told));
    assert!(
        !stdout(&told).contains('\u{1b}'),
        "no colour where there is no terminal"
    );
    // With a database, the same.
    assert!(world.jury(&["migrate"]).await.status.success());
    let output = world.jury(&["doctor"]).await;
    assert!(
        stdout(&output).contains("jury.db takes deliveries"),
        "{}",
        stdout(&output)
    );
}

#[tokio::test]
async fn the_doctor_tells_what_the_app_lacks_and_how_to_mend_it() {
    let world = World::build(|app| {
        app.permissions.insert("pull_requests".into(), "read".into());
        app.permissions.remove("checks");
        app.events.retain(|event| event != "check_run");
    })
    .await;
    let output = world.jury(&["doctor", "--json"]).await;
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(healths(&document, "permissions"), ["fault"]);
    assert_eq!(healths(&document, "events"), ["fault"]);
    let all = document["examined"].to_string();
    for said in [
        "missing: checks: write, pull_requests: write",
        "not subscribed: check_run",
        "settings page",
    ] {
        assert!(all.contains(said), "{said}: {document:#}");
    }
    for one in document["examined"].as_array().unwrap() {
        let told = matches!(one["health"].as_str(), Some("fault" | "warning"));
        assert_eq!(told, one["mend"].is_string(), "{one:#}");
    }
}

#[tokio::test]
async fn the_doctor_goes_on_where_something_is_broken() {
    let world = World::build(|_| {}).await;
    let file = |name: &str| world.folder.path().join(name);
    let examined = async |args: &[&str]| {
        let output = world.jury(&[&["doctor", "--json"], args].concat()).await;
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (output.status.code(), &document["ok"]),
            (Some(1), &json!(false)),
            "{document:#}"
        );
        document
    };
    // Another App's key: the forge does not know its signature.
    let right = std::fs::read(file("app.pem")).unwrap();
    std::fs::write(file("app.pem"), AppKey::generate().private_pem).unwrap();
    let document = examined(&[]).await;
    assert_eq!(
        (healths(&document, "private key"), healths(&document, "forge")),
        (vec!["ok".into()], vec!["fault".into()])
    );
    assert!(
        document.to_string().contains("belong to the same App"),
        "{document:#}"
    );
    std::fs::write(file("app.pem"), right).unwrap();
    // A slip in the configuration.
    let text = std::fs::read_to_string(file("jury.toml")).unwrap();
    std::fs::write(file("slip.toml"), text.replace("app_id", "ap_id")).unwrap();
    let document = examined(&["--config", "slip.toml"]).await;
    assert_eq!(
        healths(&document, "configuration"),
        ["fault"],
        "one, and not its consequences"
    );
    assert_eq!(
        (healths(&document, "git"), healths(&document, "forge")),
        (vec!["ok".into()], vec!["skipped".into()])
    );
    // Nobody there.
    let nobody = text.replace(&world.emulator.api_url(), "http://127.0.0.1:9");
    std::fs::write(file("nobody.toml"), nobody).unwrap();
    let document = examined(&["--config", "nobody.toml"]).await;
    assert_eq!(
        (healths(&document, "forge"), healths(&document, "clock")),
        (vec!["fault".into()], vec!["skipped".into()])
    );
    // A database that is none.
    std::fs::create_dir(file("data")).unwrap();
    std::fs::write(
        file("data/jury.db"),
        "this is no database, and it is long enough to be sure of it",
    )
    .unwrap();
    let document = examined(&[]).await;
    assert_eq!(healths(&document, "database"), ["fault"], "{document:#}");
    assert!(!document.to_string().contains(SECRET), "no secret is told");
}

#[tokio::test]
async fn a_dry_run_shows_what_would_be_published_and_sends_nothing() {
    let world = World::build(|_| {}).await;
    let payload = world.open_with_a_token().await;
    let file = world.folder.path().join("pull_request.opened.json");
    std::fs::write(&file, payload.to_string()).unwrap();
    let output = world.jury(&["replay", file.to_str().unwrap(), "--dry-run"]).await;
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    for part in [
        "Nothing was sent",
        "Check jury on acme/shop@",
        ": failure",
        "Review of acme/shop#1: REQUEST_CHANGES",
        "Comment at src/client.rs:2",
    ] {
        assert!(said.contains(part), "{part}:\n{said}");
    }
    assert!(!said.contains(&faults::token()), "no secret is repeated");
    assert!(world.writes().is_empty(), "{:?}", world.writes());
    assert!(!world.folder.path().join("data").exists(), "nothing was kept");

    // The same from GitHub's own record of a delivery, and for a press on "Re-run".
    let record = json!({ "id": 1, "guid": "g", "event": "pull_request", "request": { "headers": {}, "payload": payload } });
    let recorded = world.folder.path().join("record.json");
    std::fs::write(&recorded, record.to_string()).unwrap();
    let again = world
        .jury(&["replay", recorded.to_str().unwrap(), "--dry-run"])
        .await;
    // The marker names the pass, which is another one.
    let unmarked = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains("<!-- jury:pass:"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(
        unmarked(&stdout(&again)),
        unmarked(&said),
        "the same, run for run"
    );
    let ping = world.folder.path().join("some.json");
    std::fs::write(&ping, "{\"zen\": \"z\"}").unwrap();
    let unnamed = world.jury(&["replay", ping.to_str().unwrap(), "--dry-run"]).await;
    assert_eq!(unnamed.status.code(), Some(2));
    assert!(stderr(&unnamed).contains("--event"), "{}", stderr(&unnamed));
    let pinged = world
        .jury(&["replay", ping.to_str().unwrap(), "--dry-run", "--event", "ping"])
        .await;
    assert!(
        stdout(&pinged).contains("nothing to do (ping)"),
        "{}",
        stdout(&pinged)
    );
    assert!(stdout(&pinged).contains("Nothing would be published."));
}

#[tokio::test]
async fn a_replayed_file_is_queued_and_a_stored_delivery_can_be_replayed_by_its_id() {
    let world = World::build(|_| {}).await;
    let payload = world.open_with_a_token().await;
    let file = world.folder.path().join("pull_request.opened.json");
    std::fs::write(&file, payload.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let without = world.jury(&["replay", file]).await;
    assert_eq!(without.status.code(), Some(2));
    assert!(
        stderr(&without).contains("there is no database"),
        "{}",
        stderr(&without)
    );

    assert!(world.jury(&["migrate"]).await.status.success());
    let queued = world.jury(&["replay", file]).await;
    assert!(queued.status.success(), "{}", stderr(&queued));
    let said = stdout(&queued);
    let id = said.split_whitespace().nth(1).unwrap().to_owned();
    assert!(id.starts_with("replay-"), "{said}");
    // Nobody took it in yet.
    let twice = world.jury(&["replay", &id]).await;
    assert_eq!(twice.status.code(), Some(2));
    assert!(
        stderr(&twice).contains("waits or is being worked on"),
        "{}",
        stderr(&twice)
    );
    // What is stored can be rehearsed too.
    let rehearsed = world.jury(&["replay", &id, "--dry-run"]).await;
    assert!(
        stdout(&rehearsed).contains("Check jury on acme/shop@"),
        "{}",
        stdout(&rehearsed)
    );
    assert!(world.writes().is_empty());
    for (unknown, words) in [
        ("no-such-id", "no delivery no-such-id is stored"),
        ("./gone.json", "no such file"),
    ] {
        let output = world.jury(&["replay", unknown]).await;
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1);
    }
}

/// Whether `value` is as `schema` says, for the words of JSON Schema that ours use.
fn violations(schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    let mut refuse = |why: &str| out.push(format!("{at}: {why}: {value}"));
    let fits = |schema: &Value| {
        let mut found = Vec::new();
        violations(schema, value, at, &mut found);
        found.is_empty()
    };
    if let Some(kind) = schema["type"].as_str() {
        let is = match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            other => panic!("a type that is not looked at: {other}"),
        };
        if !is {
            refuse(kind);
        }
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        refuse("none of the words");
    }
    if let Some(any) = schema["anyOf"].as_array()
        && !any.iter().any(fits)
    {
        refuse("none of the alternatives");
    }
    let number = value.as_f64();
    if number
        .zip(schema["minimum"].as_f64())
        .is_some_and(|(n, least)| n < least)
        || number
            .zip(schema["maximum"].as_f64())
            .is_some_and(|(n, most)| n > most)
    {
        refuse("out of bounds");
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            refuse(&format!("lacks {name}"));
        }
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(name) {
            violations(inner, value, &format!("{at}.{name}"), out);
        }
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        for (n, value) in values.iter().enumerate() {
            violations(items, value, &format!("{at}[{n}]"), out);
        }
    }
}

#[test]
fn what_is_printed_is_as_its_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    for (what, args) in [
        (
            "review",
            &["review", "--format", "json", "--fail-on", "never"][..],
        ),
        ("demo", &["demo", "--once", "--json"]),
    ] {
        if what == "review" {
            let git = |args: &[&str]| {
                let name = ["-c", "user.name=m", "-c", "user.email=m@example.org"];
                let done = Command::new("git")
                    .args(name)
                    .args(args)
                    .current_dir(folder.path())
                    .output()
                    .unwrap();
                assert!(done.status.success(), "{}", stderr(&done));
            };
            git(&["init", "-q", "-b", "main"]);
            git(&["commit", "-q", "--allow-empty", "-m", "one"]);
            git(&["branch", "base"]);
            std::fs::write(folder.path().join("client.rs"), faults::with_token()).unwrap();
            git(&["add", "."]);
            git(&["commit", "-q", "-m", "two"]);
        }
        let args = if what == "review" {
            [args, &["--base", "base"]].concat()
        } else {
            args.to_vec()
        };
        let output = jury(folder.path(), &args).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let schema: Value = serde_json::from_str(&printed(&["schema", what])).unwrap();
        let mut found = Vec::new();
        violations(&schema, &document, what, &mut found);
        assert!(found.is_empty(), "{found:#?}");
        // And it can be otherwise.
        violations(
            &schema,
            &json!({ "verdict": "perhaps", "space": 1 }),
            what,
            &mut found,
        );
        assert!(found.len() >= 2, "{found:#?}");
    }
    assert_eq!(
        printed(&["schema"]),
        printed(&["schema", "policy"]),
        "the policy by default"
    );
}

#[test]
fn completions_and_the_manual_know_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let help = printed(&["--help"]);
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| *word != "help")
        .collect();
    assert!(
        commands.len() >= 9 && commands.contains(&"doctor"),
        "{commands:?}"
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(script.contains("dry-run"), "{shell}");
    }
    let page = printed(&["man"]);
    for command in &commands {
        assert!(
            page.contains(&format!(".SH \"JURY {}\"", command.to_uppercase())),
            "{command}:\n{page}"
        );
    }
    // What the shell itself says of its script.
    let script = folder.path().join("jury.bash");
    std::fs::write(&script, printed(&["completions", "bash"])).unwrap();
    let ask = format!(
        "source {} && COMP_WORDS=(jury rep) COMP_CWORD=1 && _jury jury rep jury && echo \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let answer = Command::new("bash").args(["-c", &ask]).output().unwrap();
    assert_eq!(stdout(&answer).trim(), "replay", "{}", stderr(&answer));
}
