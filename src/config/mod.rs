//! The server's configuration: `jury.toml`, `JURY_…` variables, flags.
//!
//! Reading is pure: the environment, the flags and a way to read files come in, a
//! [`Config`] or the list of faults comes out. Every fault says where it is and how
//! to mend it; none repeats a secret. A key or a `JURY_…` variable nobody knows is a
//! fault, since a typo in a gate that is silently ignored opens the gate. What is only
//! the consequence of a fault is not told: a file that cannot be read lacks every key.

mod keys;
mod secrets;
#[cfg(test)]
mod tests;
mod tools;
mod values;

use std::{
    collections::BTreeMap,
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use secrecy::SecretString;
use url::Url;

use crate::domain::policy::{Locked, Policy};

pub use tools::ToolConfig;
use values::{Fault, Origin, Value, Values};

pub use secrets::read_file;

/// What `jury serve` runs with.
#[derive(Debug)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Under which address people reach the server; ends without a slash.
    pub public_url: Option<Url>,
    /// Where everything is kept.
    pub storage: Storage,
    /// The App.
    pub github: GitHub,
    /// Bounds.
    pub limits: Limits,
    /// The server's policy, every key filled in.
    pub policy: Policy,
    /// Keys of policy that a repository may not replace.
    pub policy_locked: Locked,
    /// Programs that review besides our own rules, in their order.
    pub tools: Vec<ToolConfig>,
}

/// Where everything is kept.
#[derive(Debug)]
pub struct Storage {
    /// The folder of mirrors and, with [`Database::Sqlite`], of the database.
    pub data: PathBuf,
    /// Which database.
    pub database: Database,
}

/// Which database.
#[derive(Debug)]
pub enum Database {
    /// One file in the data folder.
    Sqlite,
    /// The value of `DATABASE_URL`; it may hold a password.
    Postgres(SecretString),
}

/// The App on its forge.
#[derive(Debug)]
pub struct GitHub {
    /// The App's numeric id.
    pub app_id: u64,
    /// The App's private key: PEM.
    pub private_key: SecretString,
    /// What deliveries are signed with; never empty.
    pub webhook_secret: SecretString,
    /// The base of the REST API, without a slash at its end.
    pub api_url: Url,
    /// How a change is read.
    pub read: ReadBy,
}

/// How a change is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBy {
    /// Git over HTTPS into a bare mirror.
    Git,
    /// The files, compare and contents API, for a forge that serves no git.
    Api,
}

/// Bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After which a pass is ended as `timed_out`.
    pub pass: Duration,
    /// Passes that run at once.
    pub passes: usize,
    /// Connections open at once.
    pub connections: usize,
    /// Bytes of webhook bodies held at once.
    pub body_bytes_in_flight: usize,
    /// In which a webhook's body must arrive.
    pub body: Duration,
    /// In which requests and passes in flight may come to a stop at a shutdown.
    pub drain: Duration,
    /// After which the work of a process that fell silent is taken over by another. A
    /// request to the forge gives up in a third of it, at most 20 s.
    pub lease: Duration,
}

/// What the command line says; it wins over everything else.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--config`; else `JURY_CONFIG`, else `jury.toml` in the working folder if
    /// there is one.
    pub config: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--data`.
    pub data: Option<PathBuf>,
}

/// A file's content and what guards it.
#[derive(Debug)]
pub struct FileContent {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether everybody on the machine may read it.
    pub world_readable: bool,
}

/// What configuration is made from.
pub struct Inputs<'a> {
    /// The environment; values that are not UTF-8 are left out.
    pub env: &'a BTreeMap<String, String>,
    /// The flags.
    pub flags: Flags,
    /// Reads a file; [`read_file`] outside tests.
    pub read: &'a dyn Fn(&Path) -> io::Result<FileContent>,
}

impl fmt::Debug for Inputs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment holds secrets.
        f.debug_struct("Inputs")
            .field("flags", &self.flags)
            .finish_non_exhaustive()
    }
}

/// Something that was configured, and what was odd about it.
#[derive(Debug)]
pub struct Loaded<T> {
    /// What was configured.
    pub value: T,
    /// For the log, one sentence each.
    pub warnings: Vec<String>,
}

/// Why there is no configuration: one line for each fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ConfigError(
    /// The lines.
    pub Vec<String>,
);

/// Reads what `jury serve` needs.
pub fn load(inputs: &Inputs<'_>) -> Result<Loaded<Config>, ConfigError> {
    let mut values = collect(inputs);
    let listen = listen(&mut values);
    let public_url = url(&mut values, "server.public_url");
    let storage = storage(&mut values, inputs);
    let github = github(&mut values, inputs);
    let limits = limits(&values);
    let policy_locked = policy_locked(&mut values);
    let mut policy = Policy::default();
    // The server locks out repositories, not itself.
    policy.apply(&values.policy, &Locked::default());
    let tools = std::mem::take(&mut values.tools);
    let made = listen
        .zip(storage)
        .zip(github)
        .map(|((listen, storage), github)| Config {
            listen,
            public_url,
            storage,
            github,
            limits,
            policy,
            policy_locked,
            tools,
        });
    finish(values, made)
}

/// Reads what `jury migrate` needs: the same sources, without an App.
pub fn load_storage(inputs: &Inputs<'_>) -> Result<Loaded<Storage>, ConfigError> {
    let mut values = collect(inputs);
    let storage = storage(&mut values, inputs);
    finish(values, storage)
}

fn finish<T>(values: Values, made: Option<T>) -> Result<Loaded<T>, ConfigError> {
    match made {
        Some(value) if values.faults.is_empty() => Ok(Loaded {
            value,
            warnings: values.warnings,
        }),
        _ => Err(ConfigError(values.told())),
    }
}

fn collect(inputs: &Inputs<'_>) -> Values {
    let mut values = Values::default();
    let named = inputs
        .flags
        .config
        .clone()
        .or_else(|| variable(inputs, "JURY_CONFIG").map(PathBuf::from));
    let path = named.clone().unwrap_or_else(|| PathBuf::from("jury.toml"));
    match (inputs.read)(&path) {
        Ok(content) => match String::from_utf8(content.bytes) {
            Ok(text) => values.add_file(&path, &text),
            Err(error) => {
                let sound = error.utf8_error().valid_up_to();
                let line = 1 + error.as_bytes()[..sound].iter().filter(|b| **b == b'\n').count();
                values.unread(Fault(format!("{}:{line}: not UTF-8 text", path.display())));
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {}
        Err(error) => {
            let what = format!("{}: the configuration cannot be read: {error}", path.display());
            values.unread(Fault(what));
        }
    }
    values.add_variables(inputs.env);
    values.add_flag("--listen", "server", "listen", inputs.flags.listen.clone());
    let data = inputs
        .flags
        .data
        .as_ref()
        .map(|data| data.to_string_lossy().into_owned());
    values.add_flag("--data", "server", "data", data);
    values
}

/// A variable that is set and not empty.
fn variable(inputs: &Inputs<'_>, name: &str) -> Option<String> {
    inputs
        .env
        .get(name)
        .filter(|value| !value.trim().is_empty())
        .cloned()
}

fn listen(values: &mut Values) -> Option<SocketAddr> {
    let Some(value) = values.get("server.listen").cloned() else {
        return Some(SocketAddr::from(([127, 0, 0, 1], 8080)));
    };
    // No name is looked up here but the one that everybody knows.
    let text = value.text().trim().replace("localhost:", "127.0.0.1:");
    let parsed = text.parse().ok();
    if parsed.is_none() {
        let what = format!(
            "`server.listen` is {:?}: expected an address and a port, such as 127.0.0.1:8080",
            value.text()
        );
        values.fault(&value.origin, what);
    }
    parsed
}

/// An `http` or `https` address without credentials, query or fragment, and without
/// the slash at its end.
fn url(values: &mut Values, path: &str) -> Option<Url> {
    let value = values.get(path)?.clone();
    let plain = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    };
    match Url::parse(value.text().trim().trim_end_matches('/')) {
        Ok(url) if plain(&url) => Some(url),
        // Not repeated: it may hold credentials.
        _ => {
            let what = format!(
                "`{path}` must be an http:// or https:// address without credentials, query or fragment"
            );
            values.fault(&value.origin, what);
            None
        }
    }
}

fn storage(values: &mut Values, inputs: &Inputs<'_>) -> Option<Storage> {
    let data = match values.get("server.data") {
        Some(value) => Some(beside(&value.origin, Path::new(value.text()))),
        None => default_data(inputs),
    };
    if data.is_none() {
        values.missing(
            "server.data",
            "there is no folder to keep data in: give --data DIR, or set XDG_STATE_HOME or HOME".to_owned(),
        );
    }
    let database = match variable(inputs, "DATABASE_URL") {
        None => Some(Database::Sqlite),
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Some(Database::Postgres(SecretString::from(url)))
        }
        // Not repeated: it may hold a password.
        Some(_) => {
            values.faults.push(Fault(
                "DATABASE_URL: expected postgres://…; unset it to use SQLite in the data folder".to_owned(),
            ));
            None
        }
    };
    data.zip(database)
        .map(|(data, database)| Storage { data, database })
}

/// `$XDG_STATE_HOME/jury`, else `~/.local/state/jury`. A relative `XDG_STATE_HOME`
/// is ignored, as its specification asks.
fn default_data(inputs: &Inputs<'_>) -> Option<PathBuf> {
    let absolute = |name| {
        variable(inputs, name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    state.map(|state| state.join("jury"))
}

/// A path as its writer meant it: one in a file is relative to the file.
fn beside(origin: &Origin, path: &Path) -> PathBuf {
    match origin {
        Origin::File { path: file, .. } => file.parent().unwrap_or(Path::new("")).join(path),
        Origin::Variable(_) | Origin::Flag(_) => path.to_owned(),
    }
}

fn github(values: &mut Values, inputs: &Inputs<'_>) -> Option<GitHub> {
    let app_id = values
        .get("github.app_id")
        .map(|_| values.number("github.app_id", 0));
    if app_id.is_none() {
        values.missing(
            "github.app_id",
            "the App's id is missing: set `app_id` in [github] or JURY_GITHUB_APP_ID (it is on the App's settings page)"
                .to_owned(),
        );
    }
    let private_key = secrets::private_key(values, inputs);
    let webhook_secret = secrets::webhook_secret(values, inputs);
    let api_url = match values.get("github.api_url") {
        None => Url::parse("https://api.github.com").ok(),
        Some(_) => url(values, "github.api_url"),
    };
    if let Some(api) = api_url
        .as_ref()
        .filter(|api| api.scheme() == "http" && !is_loopback(api))
    {
        let warning = format!("`github.api_url` is {api}: the App's tokens travel unencrypted");
        values.warnings.push(warning);
    }
    let read = read_by(values);
    Some(GitHub {
        app_id: app_id?,
        private_key: private_key?,
        webhook_secret: webhook_secret?,
        api_url: api_url?,
        read: read?,
    })
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn read_by(values: &mut Values) -> Option<ReadBy> {
    let Some(Value { entries, origin }) = values.get("github.read").cloned() else {
        return Some(ReadBy::Git);
    };
    match entries.first().map(String::as_str) {
        Some("git") => Some(ReadBy::Git),
        Some("api") => Some(ReadBy::Api),
        _ => {
            values.fault(&origin, "`github.read` must be \"git\" or \"api\"");
            None
        }
    }
}

fn policy_locked(values: &mut Values) -> Locked {
    let Some(value) = values.get("policy_locked").cloned() else {
        return Locked::default();
    };
    Locked::new(value.entries.iter().map(String::as_str)).unwrap_or_else(|error| {
        values.fault(&value.origin, error);
        Locked::default()
    })
}

fn limits(values: &Values) -> Limits {
    let count = |path, default| usize::try_from(values.number(path, default)).unwrap_or(usize::MAX);
    let seconds = |path, default| Duration::from_secs(values.number(path, default));
    Limits {
        pass: seconds("limits.pass_seconds", 600),
        passes: count("limits.passes", 4),
        connections: count("limits.connections", 1024),
        body_bytes_in_flight: count("limits.body_mib_in_flight", 256).saturating_mul(1 << 20),
        body: seconds("limits.body_seconds", 30),
        drain: seconds("limits.drain_seconds", 20),
        lease: seconds("limits.lease_seconds", 60),
    }
}
