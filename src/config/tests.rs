//! Configuration from maps: no process environment, no disk.

use secrecy::ExposeSecret;

use super::*;
use crate::domain::{
    policy::{Gate, Publish},
    review::finding::{Axis, Priority},
};

/// A text that looks like a key; put together so that no scanner takes it for one.
fn pem() -> String {
    let line = |word: &str| ["-----", word, " PRIVATE", " KEY", "-----"].concat();
    [line("BEGIN"), "AAAA".into(), line("END"), String::new()].join("\n")
}

/// What configuration is made from, for a test.
#[derive(Default)]
struct World {
    env: BTreeMap<String, String>,
    files: BTreeMap<PathBuf, (Vec<u8>, bool)>,
    flags: Flags,
}

impl World {
    /// A world in which the server starts.
    fn complete() -> Self {
        Self::default()
            .env("HOME", "/home/jury")
            .env("JURY_GITHUB_APP_ID", "7")
            .env("JURY_GITHUB_PRIVATE_KEY", &pem())
            .env("JURY_GITHUB_WEBHOOK_SECRET", "hush")
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.env.remove(name).expect("it was there");
        self
    }

    fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.into(), (text.as_bytes().to_vec(), false));
        self
    }

    fn read(&self, path: &Path) -> io::Result<FileContent> {
        match self.files.get(path) {
            Some((bytes, world_readable)) => Ok(FileContent {
                bytes: bytes.clone(),
                world_readable: *world_readable,
            }),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn with<T>(&self, load: impl Fn(&Inputs<'_>) -> T) -> T {
        load(&Inputs {
            env: &self.env,
            flags: self.flags.clone(),
            read: &|path| self.read(path),
        })
    }

    fn config(&self) -> Config {
        self.with(load).expect("a complete configuration").value
    }

    fn warnings(&self) -> Vec<String> {
        self.with(load).expect("a complete configuration").warnings
    }

    fn faults(&self) -> Vec<String> {
        self.with(load).expect_err("a fault").0
    }
}

#[test]
fn variables_alone_are_enough() {
    let config = World::complete().config();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.public_url, None);
    assert_eq!(config.storage.data, Path::new("/home/jury/.local/state/jury"));
    assert!(matches!(config.storage.database, Database::Sqlite));
    assert_eq!(config.github.app_id, 7);
    assert_eq!(config.github.webhook_secret.expose_secret(), "hush");
    assert_eq!(config.github.api_url.as_str(), "https://api.github.com/");
    assert_eq!(config.github.read, ReadBy::Git);
    assert_eq!(config.limits.pass, Duration::from_secs(600));
    assert_eq!(config.limits.body_bytes_in_flight, 256 << 20);
    assert_eq!(config.policy, Policy::default());
    assert_eq!(config.policy_locked, Locked::default());
    assert_eq!(World::complete().warnings(), Vec::<String>::new());
}

#[test]
fn a_file_says_it_all_and_its_paths_are_beside_it() {
    let text = r#"
policy_locked = ["gate", "axes.security.gated"]

[server]
listen = "0.0.0.0:9000"
public_url = "https://jury.example/"
data = "state"

[github]
app_id = 0x2a
private_key_file = "keys/app.pem"
webhook_secret_file = "/run/secrets/hook"
api_url = "https://ghe.example/api/v3/"
read = "api"

[limits]
pass_seconds = 1_200
passes = 2
connections = 10
body_mib_in_flight = 128
body_seconds = 5
drain_seconds = 0
"#;
    let mut world = World::default()
        .env("HOME", "/home/jury")
        .file("/etc/jury/jury.toml", text)
        .file("/etc/jury/keys/app.pem", &pem())
        .file("/run/secrets/hook", "hush \r\n\n");
    world.flags.config = Some("/etc/jury/jury.toml".into());
    let config = world.config();
    assert_eq!(config.listen.to_string(), "0.0.0.0:9000");
    assert_eq!(config.public_url.unwrap().as_str(), "https://jury.example/");
    assert_eq!(config.storage.data, Path::new("/etc/jury/state"));
    assert_eq!(config.github.app_id, 42);
    assert_eq!(config.github.private_key.expose_secret(), pem().trim_end());
    assert_eq!(
        config.github.webhook_secret.expose_secret(),
        "hush ",
        "only line ends are trimmed"
    );
    assert_eq!(config.github.api_url.as_str(), "https://ghe.example/api/v3");
    assert_eq!(config.github.read, ReadBy::Api);
    assert!(config.policy_locked.locks("gate") && !config.policy_locked.locks("publish"));
    let limits = Limits {
        pass: Duration::from_secs(1200),
        passes: 2,
        connections: 10,
        body_bytes_in_flight: 128 << 20,
        body: Duration::from_secs(5),
        drain: Duration::ZERO,
        lease: Duration::from_secs(60),
    };
    assert_eq!(config.limits, limits);
}

#[test]
fn flags_win_over_variables_and_variables_over_the_file() {
    let mut world = World::complete().file("jury.toml", "[server]\nlisten = \"127.0.0.1:1\"\ndata = \"one\"");
    assert_eq!(world.config().listen.port(), 1);
    assert_eq!(world.config().storage.data, Path::new("one"));
    world = world
        .env("JURY_SERVER_LISTEN", "127.0.0.1:2")
        .env("JURY_SERVER_DATA", "two");
    assert_eq!(world.config().listen.port(), 2);
    world.flags.listen = Some("localhost:3".into());
    world.flags.data = Some("three".into());
    assert_eq!(world.config().listen.port(), 3);
    assert_eq!(world.config().storage.data, Path::new("three"));
}

#[test]
fn every_key_has_its_variable_and_an_empty_one_is_not_set() {
    for (name, value) in [
        ("JURY_SERVER_LISTEN", "here"),
        ("JURY_SERVER_PUBLIC_URL", "ftp://x"),
        ("JURY_GITHUB_APP_ID", "abc"),
        ("JURY_GITHUB_API_URL", "api"),
        ("JURY_GITHUB_READ", "telepathy"),
        ("JURY_LIMITS_PASS_SECONDS", "0"),
        ("JURY_LIMITS_PASSES", "-1"),
        ("JURY_LIMITS_CONNECTIONS", "1.5"),
        ("JURY_LIMITS_BODY_MIB_IN_FLIGHT", "1"),
        ("JURY_LIMITS_BODY_SECONDS", "x"),
        ("JURY_LIMITS_DRAIN_SECONDS", "99999"),
    ] {
        let faults = World::complete().env(name, value).faults();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with(&format!("{name}: `")), "{faults:?}");
    }
    let world = World::complete()
        .env("JURY_SERVER_LISTEN", " ")
        .env("JURY_LIMITS_PASSES", "")
        .env("JURY_POLICY_LOCKED", "gate, publish,");
    let locked = world.config().policy_locked;
    assert!(locked.locks("gate") && locked.locks("publish") && !locked.locks("approve"));
    let variables = keys::KEYS.iter().map(keys::Key::variable);
    assert_eq!(
        variables.filter(|name| name.starts_with("JURY_SERVER_")).count(),
        3
    );
}

#[test]
fn a_slip_in_the_file_is_an_error_with_its_line_and_a_guess() {
    for (text, expected) in [
        (
            "[server]\n\nlisen = \"x\"",
            "jury.toml:3: [server]: unknown key `lisen`; did you mean `listen`?",
        ),
        (
            "[servr]\n",
            "jury.toml:1: unknown key `servr`; did you mean `server`?",
        ),
        (
            "polcy_locked = []",
            "jury.toml:1: unknown key `polcy_locked`; did you mean `policy_locked`?",
        ),
        (
            "[Policy]\ngate = \"advisory\"",
            "jury.toml:1: unknown key `Policy`; did you mean `policy`?",
        ),
        (
            "[github]\nxyzzy = 1",
            "jury.toml:2: [github]: unknown key `xyzzy`; known are api_url, app_id, private_key_file, read, webhook_secret_file",
        ),
        (
            "server.port = 1",
            "jury.toml:1: [server]: unknown key `port`; known are data, listen, public_url",
        ),
        (
            "[github]\napp_id = \"7\"",
            "jury.toml:2: `github.app_id` must be a whole number, not a string",
        ),
        (
            "[server]\nlisten = 8080",
            "jury.toml:2: `server.listen` must be a string, not an integer",
        ),
        (
            "server = 1",
            "jury.toml:1: `server` must be a table, not an integer",
        ),
        (
            "policy_locked = [\"gates\"]",
            "jury.toml:1: policy_locked names \"gates\", which is no policy key; did you mean \"gate\"?",
        ),
        (
            "policy_locked = [1]",
            "jury.toml:1: `policy_locked` must be a list of strings",
        ),
        (
            "policy_locked = \"gate\"",
            "jury.toml:1: `policy_locked` must be a list of strings, not a string",
        ),
        (
            "[limits]\npass_seconds = -1",
            "jury.toml:2: `limits.pass_seconds` must be a whole number from 10 to 86400",
        ),
        (
            "[limits]\npasses = 99999999999999999999999999999999999999999999",
            "jury.toml:2: `limits.passes` is too large",
        ),
        (
            "[github]\nread = \"GIT\"",
            "jury.toml:2: `github.read` must be \"git\" or \"api\"",
        ),
        (
            "[server]\nlisten = \"8080\"",
            "jury.toml:2: `server.listen` is \"8080\": expected an address and a port, such as 127.0.0.1:8080",
        ),
        (
            "[server]\npublic_url = \"https://user:pass@host\"",
            "jury.toml:2: `server.public_url` must be an http:// or https:// address without credentials, query or fragment",
        ),
    ] {
        assert_eq!(
            World::complete().file("jury.toml", text).faults(),
            [expected],
            "{text}"
        );
    }
}

#[test]
fn text_that_is_not_toml_is_an_error_with_its_line() {
    for (text, line) in [
        ("[server\n", 1),
        ("[server]\nlisten = \n", 2),
        ("a = 1\na = 2", 2),
        ("\n\n= 3", 3),
    ] {
        let faults = World::complete().file("jury.toml", text).faults();
        assert!(
            faults[0].starts_with(&format!("jury.toml:{line}: ")),
            "{text:?}: {faults:?}"
        );
    }
    let mut world = World::complete();
    world.files.insert("jury.toml".into(), (vec![0xff], false));
    assert_eq!(world.faults(), ["jury.toml:1: not UTF-8 text"]);
}

#[test]
fn a_file_that_was_asked_for_must_exist() {
    let mut world = World::complete().env("JURY_CONFIG", "/etc/a.toml");
    assert_eq!(
        world.faults(),
        ["/etc/a.toml: the configuration cannot be read: entity not found"]
    );
    world.flags.config = Some("b.toml".into());
    assert!(world.faults()[0].starts_with("b.toml: "));
}

#[test]
fn every_fault_is_told_at_once() {
    let faults = World::default()
        .file("jury.toml", "[server]\nlisten = 1\n[oops]\n")
        .faults();
    assert_eq!(faults.len(), 6, "{faults:#?}");
    assert!(
        faults[0].starts_with("jury.toml:"),
        "what is written wrong comes first: {faults:#?}"
    );
}

#[test]
fn what_is_only_the_consequence_of_a_fault_is_not_told() {
    let one = |world: World, what: &str| {
        let faults = world.faults();
        assert!(
            faults.len() == 1 && faults[0].contains(what),
            "{what}: {faults:#?}"
        );
    };
    let bare = World::default;
    // A file that is lost as a whole lacks every key, and it is the file that is to be mended.
    for (text, what) in [
        ("[server\nlisten = \n= 3", "jury.toml:1: "),
        (
            "[github]\napp_id = 1\nprivate_key_file = \"a\nwebhook_secret_file = \"b\"",
            "jury.toml:3: ",
        ),
    ] {
        one(bare().file("jury.toml", text), what);
    }
    let mut latin = bare();
    latin
        .files
        .insert("jury.toml".into(), (b"# a\n# caf\xe9".to_vec(), false));
    one(latin, "jury.toml:2: not UTF-8 text");
    let mut gone = bare();
    gone.flags.config = Some("gone.toml".into());
    one(gone, "gone.toml: the configuration cannot be read");
    // A key that was written wrong is not missing as well.
    let table =
        |name: &str| format!("[{name}]\napp_id = 7\nprivate_key_file = \"k\"\nwebhook_secret_file = \"s\"");
    one(
        bare().env("HOME", "/h").file("jury.toml", &table("githb")),
        "did you mean `github`?",
    );
    one(
        bare().env("HOME", "/h").file("jury.toml", &table("app")),
        "unknown key `app`",
    );
    let without = |name: &str| World::complete().without(name);
    let no_id = || without("JURY_GITHUB_APP_ID");
    one(
        no_id().file("jury.toml", "[github]\nap_id = 7"),
        "did you mean `app_id`?",
    );
    one(no_id().file("jury.toml", "app_id = 7"), "it belongs in [github]");
    one(
        no_id().file("jury.toml", "[server]\napp_id = 7"),
        "it belongs in [github]",
    );
    one(
        no_id().file("jury.toml", "github = 7"),
        "`github` must be a table",
    );
    one(
        no_id().env("JURY_GITHUB_APP_ID", "seven"),
        "must be a whole number",
    );
    one(
        no_id().env("JURY_GITHUB_APPID", "7"),
        "did you mean JURY_GITHUB_APP_ID?",
    );
    one(
        without("JURY_GITHUB_PRIVATE_KEY").file("jury.toml", "[github]\nprivate_key_file = 7"),
        "must be a string",
    );
    one(
        bare().env("HOME", "/h").env("JURY_CONFG", "a.toml"),
        "did you mean JURY_CONFIG?",
    );
    one(
        without("JURY_GITHUB_PRIVATE_KEY").env("JURY_GITHUB_PRIVAT_KEY", "x"),
        "did you mean JURY_GITHUB_PRIVATE_KEY?",
    );
    one(
        without("HOME").file("jury.toml", "[server]\ndate = \"d\""),
        "did you mean `data`?",
    );
    // What is missing for a reason of its own is.
    let two = no_id().file("jury.toml", "[server]\nlisten = 1").faults();
    assert_eq!(two.len(), 2, "{two:#?}");
}

#[test]
fn without_its_secrets_the_server_does_not_start() {
    let no_key = World::complete().without("JURY_GITHUB_PRIVATE_KEY");
    assert_eq!(
        no_key.faults(),
        [
            "the App's private key is missing: set `private_key_file` in [github] or JURY_GITHUB_PRIVATE_KEY (generate one under \"Private keys\" on the App's settings page)"
        ]
    );
    let no_secret = World::complete().env("JURY_GITHUB_WEBHOOK_SECRET", "");
    assert_eq!(
        no_secret.faults(),
        [
            "the webhook secret is missing: set `webhook_secret_file` in [github] or JURY_GITHUB_WEBHOOK_SECRET (choose a long random text and enter the same one on the App's settings page)"
        ]
    );
    let no_id = World::complete().without("JURY_GITHUB_APP_ID");
    assert_eq!(
        no_id.faults(),
        [
            "the App's id is missing: set `app_id` in [github] or JURY_GITHUB_APP_ID (it is on the App's settings page)"
        ]
    );
}

#[test]
fn a_secret_file_that_is_missing_empty_or_no_text_is_said_so() {
    let secret_in = |bytes: &[u8]| {
        let mut world = World::complete()
            .without("JURY_GITHUB_WEBHOOK_SECRET")
            .env("JURY_GITHUB_WEBHOOK_SECRET_FILE", "hook");
        world.files.insert("hook".into(), (bytes.to_vec(), false));
        world
    };
    let mut gone = secret_in(b"");
    gone.files.clear();
    for (world, expected) in [
        (
            gone,
            "JURY_GITHUB_WEBHOOK_SECRET_FILE: `github.webhook_secret_file`: hook cannot be read: entity not found",
        ),
        (
            secret_in(b" \n"),
            "JURY_GITHUB_WEBHOOK_SECRET_FILE: `github.webhook_secret_file`: hook is empty; choose a long random text and enter the same one on the App's settings page",
        ),
        (
            secret_in(b"\xff"),
            "JURY_GITHUB_WEBHOOK_SECRET_FILE: `github.webhook_secret_file`: hook is not text",
        ),
    ] {
        assert_eq!(world.faults(), [expected]);
    }
    assert_eq!(
        secret_in(b"a\n").config().github.webhook_secret.expose_secret(),
        "a"
    );
}

#[test]
fn two_places_for_one_secret_are_one_too_many_but_a_variable_beats_the_file() {
    let both = World::complete().env("JURY_GITHUB_WEBHOOK_SECRET_FILE", "hook");
    assert_eq!(
        both.faults(),
        ["JURY_GITHUB_WEBHOOK_SECRET_FILE and JURY_GITHUB_WEBHOOK_SECRET are both set: unset one of them"]
    );
    let file = World::complete().file("jury.toml", "[github]\nwebhook_secret_file = \"gone\"");
    assert_eq!(file.config().github.webhook_secret.expose_secret(), "hush");
}

#[test]
fn a_private_key_must_be_one() {
    let one_line = pem().trim_end().replace('\n', "\\n");
    let world = World::complete().env("JURY_GITHUB_PRIVATE_KEY", &one_line);
    assert_eq!(
        world.config().github.private_key.expose_secret(),
        pem().trim_end()
    );
    for (text, expected) in [
        (
            "hush-hush",
            "JURY_GITHUB_PRIVATE_KEY: the App's private key is no private key in PEM format",
        ),
        (
            &pem().replace("PRIVATE", "PUBLIC"),
            "JURY_GITHUB_PRIVATE_KEY: the App's private key is no private key in PEM format but a public key",
        ),
    ] {
        assert_eq!(
            World::complete().env("JURY_GITHUB_PRIVATE_KEY", text).faults(),
            [expected]
        );
    }
}

#[test]
fn a_key_that_everybody_may_read_is_warned_of() {
    let mut world = World::complete()
        .without("JURY_GITHUB_PRIVATE_KEY")
        .env("JURY_GITHUB_PRIVATE_KEY_FILE", "app.pem");
    world.files.insert("app.pem".into(), (pem().into_bytes(), true));
    assert_eq!(
        world.warnings(),
        ["app.pem holds the App's private key and everybody may read it: chmod 600 it"]
    );
}

#[test]
fn a_variable_nobody_knows_is_an_error_as_a_key_is() {
    for (name, expected) in [
        (
            "JURY_GITHUB_APPID",
            "JURY_GITHUB_APPID: Jury knows no such variable; did you mean JURY_GITHUB_APP_ID?",
        ),
        (
            "JURY_POLICY_GATES",
            "JURY_POLICY_GATES: Jury knows no such variable; did you mean JURY_POLICY_GATE?",
        ),
        (
            "JURY_GATE",
            "JURY_GATE: Jury knows no such variable; did you mean JURY_POLICY_GATE?",
        ),
        (
            "JURY_LISTEN",
            "JURY_LISTEN: Jury knows no such variable; did you mean JURY_SERVER_LISTEN?",
        ),
        (
            "JURY_XYZZY",
            "JURY_XYZZY: Jury knows no such variable; unset it (those that begin with JURY_ are Jury's)",
        ),
        (
            "jury_policy_gate",
            "jury_policy_gate: Jury knows no such variable; did you mean JURY_POLICY_GATE?",
        ),
        (
            "JURY_SERVER_PORT",
            "JURY_SERVER_PORT: Jury knows no such variable; unset it (those that begin with JURY_ are Jury's)",
        ),
        (
            "JURY_",
            "JURY_: Jury knows no such variable; unset it (those that begin with JURY_ are Jury's)",
        ),
    ] {
        assert_eq!(World::complete().env(name, "1").faults(), [expected]);
        assert!(
            World::complete().env(name, " ").with(load).is_ok(),
            "empty is not set"
        );
    }
    let migrating = World::default().env("HOME", "/h").env("JURY_SERVER_DATAS", "d");
    assert!(migrating.with(load_storage).is_err());
}

#[test]
fn variables_that_others_set_are_no_slips() {
    let world = [
        ("JURY_LOG", "debug"),
        ("JURY_CI_CACHE", "/tmp/c"),
        ("JURY_EMULATOR_RECORD", "r"),
        ("JURYRIG", "1"),
        ("MY_JURY_X", "1"),
        ("jury_duty", "yes"),
        // Kubernetes, for services named "jury" and "jury-server".
        ("JURY_SERVICE_HOST", "10.0.0.1"),
        ("JURY_SERVICE_PORT", "8080"),
        ("JURY_SERVICE_PORT_HTTP", "8080"),
        ("JURY_PORT", "tcp://10.0.0.1:8080"),
        ("JURY_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("JURY_PORT_8080_TCP_PROTO", "tcp"),
        ("JURY_PORT_8080_TCP_PORT", "8080"),
        ("JURY_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("JURY_SERVER_SERVICE_HOST", "10.0.0.1"),
        ("JURY_SERVER_PORT", "tcp://10.0.0.1:8080"),
        ("JURY_SERVER_PORT_8080_TCP_PORT", "8080"),
    ]
    .into_iter()
    .fold(World::complete(), |world, (name, value)| world.env(name, value));
    assert_eq!(world.warnings(), Vec::<String>::new());
}

#[test]
fn unencrypted_tokens_are_warned_of_unless_they_stay_on_this_machine() {
    let at = |url: &str| World::complete().env("JURY_GITHUB_API_URL", url).warnings().len();
    assert_eq!(at("http://127.0.0.1:9999"), 0);
    assert_eq!(at("http://localhost/api/v3"), 0);
    assert_eq!(at("https://ghe.example/api/v3"), 0);
    assert_eq!(at("http://ghe.example/api/v3"), 1);
}

#[test]
fn the_database_url_chooses_postgres_and_is_never_shown() {
    let world = World::complete().env("DATABASE_URL", "postgres://jury:pw@db/jury");
    let config = world.config();
    assert!(
        matches!(&config.storage.database, Database::Postgres(url) if url.expose_secret().contains("pw"))
    );
    let shown = format!("{config:?}");
    for secret in ["pw@", "hush", "AAAA"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let faults = World::complete()
        .env("DATABASE_URL", "mysql://jury:pw@db/jury")
        .faults();
    assert_eq!(
        faults,
        ["DATABASE_URL: expected postgres://…; unset it to use SQLite in the data folder"]
    );
}

#[test]
fn the_data_folder_follows_the_machine() {
    let data = |world: World| world.config().storage.data;
    let xdg = World::complete().env("XDG_STATE_HOME", "/state");
    assert_eq!(data(xdg), Path::new("/state/jury"));
    let relative = World::complete().env("XDG_STATE_HOME", "state");
    assert_eq!(data(relative), Path::new("/home/jury/.local/state/jury"));
    assert_eq!(
        World::complete().without("HOME").faults(),
        ["there is no folder to keep data in: give --data DIR, or set XDG_STATE_HOME or HOME"]
    );
}

#[test]
fn migrating_needs_no_app() {
    let world = World::default()
        .env("HOME", "/h")
        .file("jury.toml", "[server]\ndata = \"d\"");
    assert_eq!(world.with(load_storage).unwrap().value.data, Path::new("d"));
    let slip = World::default()
        .env("HOME", "/h")
        .file("jury.toml", "[server]\ndate = \"d\"");
    assert!(slip.with(load_storage).is_err());
}

#[test]
fn policy_comes_from_its_table_and_from_variables_that_win() {
    let text = "[server]\ndata = \"d\"\n[policy]\ngate = \"advisory\"\npublish = \"ask\"\n[policy.axes.security]\ngated = false\n";
    let world = World::complete()
        .file("jury.toml", text)
        .env("JURY_POLICY_PUBLISH", "auto")
        .env("JURY_POLICY_APPROVE", "true")
        .env("JURY_POLICY_AXES_TEST_GAP_GATED", "true")
        .env("JURY_POLICY_CONSENSUS_QUORUM", "2")
        .env("JURY_POLICY_CONSENSUS_QUORUM_P0", "3");
    let policy = world.config().policy;
    assert_eq!(
        (policy.gate, policy.publish, policy.approve),
        (Gate::Advisory, Publish::Auto, true)
    );
    assert!(!policy.is_gated(Axis::Security) && policy.is_gated(Axis::TestGap));
    assert_eq!((policy.quorum(Priority::P0), policy.quorum(Priority::P1)), (3, 2));
}

#[test]
fn a_fault_in_policy_is_told_with_its_place() {
    let fault = |world: World| {
        let [line] = <[String; 1]>::try_from(world.faults()).expect("one fault");
        line
    };
    let slip = fault(World::complete().file("jury.toml", "\n[policy]\n\ngat = \"advisory\""));
    assert!(
        slip.starts_with("jury.toml:4: ") && slip.contains("gate"),
        "{slip}"
    );
    let kind = fault(World::complete().file("jury.toml", "\npolicy = true"));
    assert!(kind.starts_with("jury.toml:2: "), "{kind}");
    for (name, value) in [
        ("JURY_POLICY_GATE", "off"),
        ("JURY_POLICY_GATE", "advisory\"\npublish = \"ask"),
        ("JURY_POLICY_APPROVE", "yes"),
        ("JURY_POLICY_AXES_SECURITY_GATED", "1"),
        ("JURY_POLICY_CONSENSUS_QUORUM_P0", "many"),
    ] {
        let line = fault(World::complete().env(name, value));
        assert!(line.starts_with(&format!("{name}: ")), "{line}");
    }
}

#[test]
fn a_file_that_never_ends_is_refused() {
    let error = read_file(Path::new("/dev/zero")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
}
