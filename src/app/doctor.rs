//! `jury doctor`: looks at everything that `jury serve` needs, and changes nothing.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use secrecy::ExposeSecret;

use crate::{
    cli::{Diagnosis, DoctorArgs, Fault},
    config::{self, Config, Database, Flags, Inputs, ReadBy, Storage},
    forge::github::{
        GitHub, GitHubConfig, SetupError,
        examine::{EVENTS, Examination, PERMISSIONS, SeenApp, lacking},
    },
    isolation,
    ports::{clock::Clock, forge::ForgeError},
    store::{Db, Schema},
};

use super::{
    serve,
    system::{self, SystemClock},
};

/// Clocks that differ by more are worth a word, milliseconds; an answer may take a while.
const CLOCK_WARNING_MS: i64 = 20_000;

/// The forge refuses a JWT that was made a minute ahead of its clock (GitHub's page on
/// App JWTs).
const CLOCK_FAULT_MS: i64 = 60_000;

/// A shorter secret can be guessed from one delivery.
const SHORT_SECRET: usize = 20;

/// The oldest git with everything that Jury asks of it (`GIT_CONFIG_GLOBAL`: 2.32).
const OLDEST_GIT: (u32, u32) = (2, 32);

/// Runs the command: 0 when nothing keeps Jury from working, 1 otherwise.
pub(super) fn run(args: DoctorArgs) -> Result<ExitCode, Fault> {
    let json = args.json;
    let env = system::environment()?;
    let inputs = |flags| Inputs {
        env: &env,
        flags,
        read: &config::read_file,
    };
    let flags = Flags::from(args);
    let named = flags.config.clone();
    let mut found = Diagnosis::default();
    let config = match config::load(&inputs(flags.clone())) {
        Ok(loaded) => {
            for warning in loaded.warnings {
                found.warning("configuration", warning.clone(), mend_of(&warning));
            }
            let from = named.map_or_else(
                || "complete".to_owned(),
                |file| format!("{}: complete", file.display()),
            );
            found.ok("configuration", from);
            Some(loaded.value)
        }
        Err(error) => {
            for line in error.0 {
                found.fault(
                    "configuration",
                    line,
                    "change it as the line says, and start again",
                );
            }
            None
        }
    };
    // The store can be looked at without an App.
    let storage = match config::load_storage(&inputs(flags)) {
        Ok(loaded) => Some(loaded.value),
        Err(_) => None,
    };
    serve::runtime()?.block_on(async {
        match &config {
            Some(config) => secret(&mut found, config),
            None => found.skipped("webhook secret", "the configuration is not complete"),
        }
        let github = key(&mut found, config.as_ref());
        match &storage {
            Some(storage) => database(&mut found, storage).await,
            None => found.skipped("database", "the configuration does not say where it is"),
        }
        let needs_git = config
            .as_ref()
            .is_none_or(|config| config.github.read == ReadBy::Git);
        git(&mut found, needs_git).await;
        match (&github, &config) {
            (Some(github), Some(config)) => forge(&mut found, github, config).await,
            _ => {
                for what in ["forge", "clock", "permissions", "events", "installations"] {
                    found.skipped(what, "the forge cannot be asked without an App and its key");
                }
            }
        }
        bounds(&mut found, config.as_ref().map_or(0, |config| config.tools.len())).await;
    });
    found.show(json)?;
    Ok(if found.is_well() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// A warning of the configuration ends with how to mend it, where there is a way.
fn mend_of(warning: &str) -> String {
    match warning.rsplit_once(": ") {
        Some((_, mend)) if mend.starts_with("chmod") => mend.to_owned(),
        _ => "see the configuration's page in the README".to_owned(),
    }
}

fn secret(found: &mut Diagnosis, config: &Config) {
    let length = config.github.webhook_secret.expose_secret().trim().len();
    if length < SHORT_SECRET {
        found.warning(
            "webhook secret",
            format!("it has {length} characters and may be guessed from one delivery"),
            "make one with `openssl rand -hex 32`, and enter the same on the App's settings page",
        );
    } else {
        found.ok("webhook secret", "there is one");
    }
}

/// Tries the App's key. The client is handed on when it can be used.
fn key(found: &mut Diagnosis, config: Option<&Config>) -> Option<GitHub> {
    let Some(config) = config else {
        found.skipped("private key", "the configuration is not complete");
        return None;
    };
    let made = GitHub::new(
        &GitHubConfig {
            api_url: config.github.api_url.to_string(),
            app_id: i64::try_from(config.github.app_id).unwrap_or(i64::MAX),
            private_key: config.github.private_key.clone(),
            mirrors: None,
            timeout: GitHubConfig::TIMEOUT,
        },
        Arc::new(SystemClock),
    );
    match made {
        Ok(github) => {
            found.ok("private key", "it signs");
            return Some(github);
        }
        Err(SetupError::PrivateKey(why)) => found.fault(
            "private key",
            why,
            "generate a new one under \"Private keys\" on the App's settings page",
        ),
        Err(SetupError::ApiUrl(why)) => found.fault(
            "forge",
            format!("github.api_url: {why}"),
            "https://api.github.com, or https://HOST/api/v3 for Enterprise Server",
        ),
        Err(other) => found.fault(
            "forge",
            other.to_string(),
            "install the system's root certificates (ca-certificates)",
        ),
    }
    None
}

async fn database(found: &mut Diagnosis, storage: &Storage) {
    let (place, file) = match &storage.database {
        Database::Sqlite => {
            let file = storage.data.join("jury.db");
            (file.to_string_lossy().into_owned(), Some(file))
        }
        Database::Postgres(url) => (url.expose_secret().to_owned(), None),
    };
    let shown = file
        .as_deref()
        .map_or("Postgres".to_owned(), |file| file.display().to_string());
    if let Some(file) = file.filter(|file| !file.exists()) {
        let folder = existing_ancestor(&file);
        match tempfile::tempfile_in(&folder) {
            Ok(_) => found.ok("database", format!("{shown} will be made at the first start")),
            Err(error) => found.fault(
                "database",
                format!("{shown} cannot be made: {}: {error}", folder.display()),
                "give Jury's user the right to write there, or choose another folder with --data or [server] data",
            ),
        }
        return;
    }
    let looked = async {
        let db = Db::open(&place, Schema::Keep).await?;
        let version = db.version().await?;
        let written = if version == Some(Db::newest()) {
            db.try_store(SystemClock.now()).await
        } else {
            Ok(())
        };
        db.close().await;
        written.map(|()| version)
    };
    match looked.await {
        Ok(version) if version == Some(Db::newest()) => found.ok("database", format!("{shown} takes deliveries")),
        Ok(version) if version < Some(Db::newest()) => found.warning(
            "database",
            format!("{shown} is of an older version"),
            "`jury migrate` brings it up to date; `jury serve` does so too",
        ),
        Ok(_) => found.fault(
            "database",
            format!("{shown} was made by a newer Jury"),
            "run that version or a later one",
        ),
        Err(error) => found.fault(
            "database",
            error.to_string(),
            "see that it runs, has room, and lets Jury's user write; DATABASE_URL or [server] data says where it is",
        ),
    }
}

fn existing_ancestor(path: &Path) -> PathBuf {
    let found = path.ancestors().skip(1).find(|folder| folder.is_dir());
    match found {
        Some(folder) => folder.to_owned(),
        None => PathBuf::from("."),
    }
}

/// The first line that a program writes about itself; `None` when it is not there or fails.
async fn version_of(program: &str) -> Option<String> {
    let output = tokio::process::Command::new(program)
        .arg("--version")
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(std::time::Duration::from_secs(5), output)
        .await
        .ok()?
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

async fn git(found: &mut Diagnosis, needed: bool) {
    let install = "install git 2.32 or newer and have it in Jury's PATH, or set [github] read = \"api\"";
    let Some(said) = version_of("git").await else {
        if needed {
            found.fault("git", "there is no git to be run", install);
        } else {
            found.skipped("git", "there is none, and the API is read instead");
        }
        return;
    };
    match git_version(&said) {
        Some(version) if version < OLDEST_GIT => found.fault("git", format!("{said} is too old"), install),
        _ => found.ok("git", said),
    }
}

/// `git version 2.39.5 (…)` as its first two numbers.
fn git_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_whitespace().nth(2)?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

async fn forge(found: &mut Diagnosis, github: &GitHub, config: &Config) {
    let api = &config.github.api_url;
    let Examination { date, app } = github.examine().await;
    let ours = SystemClock.now();
    let app = match app {
        Ok(app) => {
            found.ok("forge", format!("{api} knows the App {}", app.slug));
            Some(app)
        }
        Err(error) => {
            found.fault("forge", format!("{api}: {error}"), mend_forge(&error));
            None
        }
    };
    match date {
        None => found.skipped("clock", "the forge did not say what time it is"),
        Some(theirs) => clock(found, ours.0 - theirs.0),
    }
    match app {
        Some(app) => rights(found, &app),
        None => {
            for what in ["permissions", "events", "installations"] {
                found.skipped(what, "the forge does not show the App");
            }
        }
    }
}

fn mend_forge(error: &ForgeError) -> &'static str {
    match error {
        ForgeError::Later { .. } | ForgeError::Unknown(_) => {
            "check [github] api_url, name resolution, firewall and certificates between here and the forge"
        }
        ForgeError::Closed(_) => {
            "unsuspend or reinstall the App in the account's settings, under \"GitHub Apps\""
        }
        ForgeError::Forbidden(_) => {
            "check that [github] app_id and the private key belong to the same App, and that the key was not deleted there"
        }
        ForgeError::NotFound(_) => {
            "check [github] api_url (for Enterprise Server it ends with /api/v3) and that the App still exists"
        }
        ForgeError::Refused(_) | ForgeError::Internal(_) => {
            "check that [github] api_url is the address of a GitHub API"
        }
    }
}

fn clock(found: &mut Diagnosis, ahead_ms: i64) {
    let seconds = ahead_ms.abs() / 1000;
    let way = if ahead_ms > 0 { "ahead of" } else { "behind" };
    let said = format!("{seconds} s {way} the forge's");
    let mend = "have the machine's clock set by NTP (systemd-timesyncd, chrony)";
    if ahead_ms.abs() >= CLOCK_FAULT_MS {
        found.fault("clock", said, mend);
    } else if ahead_ms.abs() >= CLOCK_WARNING_MS {
        found.warning("clock", said, mend);
    } else {
        found.ok("clock", "as the forge's");
    }
}

fn rights(found: &mut Diagnosis, app: &SeenApp) {
    let lacks = lacking(&app.permissions);
    if lacks.is_empty() {
        let all: Vec<String> = PERMISSIONS
            .iter()
            .map(|(name, least, _)| format!("{name}: {least}"))
            .collect();
        found.ok("permissions", all.join(", "));
    } else {
        let why = PERMISSIONS
            .iter()
            .filter(|(name, ..)| lacks.iter().any(|lack| lack.starts_with(name)))
            .map(|(name, _, why)| format!("{name} for {why}"));
        found.fault(
            "permissions",
            format!("missing: {}", lacks.join(", ")),
            format!(
                "grant them on the App's settings page ({}), and accept them where it is installed",
                why.collect::<Vec<_>>().join(", ")
            ),
        );
    }
    let missing: Vec<&(&str, &str)> = EVENTS
        .iter()
        .filter(|(event, _)| !app.events.iter().any(|told| told == event))
        .collect();
    if missing.is_empty() {
        found.ok("events", app.events.join(", "));
    }
    for (event, why) in missing {
        found.fault(
            "events",
            format!("not subscribed: {event} ({why})"),
            "subscribe to it under \"Permissions & events\" on the App's settings page",
        );
    }
    match &app.installations {
        Err(error) => found.fault("installations", error.to_string(), mend_forge(error)),
        Ok(none) if none.is_empty() => found.warning(
            "installations",
            "the App is installed nowhere",
            "install it on an account under \"Install App\" on its settings page",
        ),
        Ok(all) => {
            for one in all {
                let lacks = lacking(&one.permissions);
                if one.suspended {
                    found.warning(
                        "installations",
                        format!("{}: suspended", one.account),
                        "unsuspend it in the account's settings, under \"GitHub Apps\"",
                    );
                } else if !lacks.is_empty() {
                    found.fault(
                        "installations",
                        format!("{}: not granted: {}", one.account, lacks.join(", ")),
                        "an owner of the account accepts the App's new permissions in its settings, under \"GitHub Apps\"",
                    );
                } else {
                    found.ok("installations", one.account.clone());
                }
            }
        }
    }
}

/// What bounds a process that Jury starts. Only configured tools are ever started on a
/// change, so that a lack is a fault where there are some.
async fn bounds(found: &mut Diagnosis, tools: usize) {
    let install = "install the package bubblewrap, and let Jury's user make user namespaces";
    match (isolation::detect().await, tools) {
        (Ok(isolation), _) => found.ok("isolation", isolation.name()),
        (Err(why), 0) => found.warning(
            "isolation",
            format!("{why}; it is needed once tools are configured"),
            install,
        ),
        (Err(why), tools) => found.fault(
            "isolation",
            format!(
                "{why}, and tools are configured ({tools}): they are not run, and their axes stay unproved"
            ),
            install,
        ),
    }
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned());
    match read("/sys/kernel/security/lsm") {
        Ok(all) if all.split(',').any(|one| one == "landlock") => found.ok("landlock", "the kernel has it"),
        Ok(_) => found.warning(
            "landlock",
            "the kernel runs without it",
            "boot a kernel 5.13 or newer with landlock among its `lsm=`",
        ),
        Err(_) => found.skipped("landlock", "/sys/kernel/security is not visible here"),
    }
    match read("/proc/sys/kernel/seccomp/actions_avail") {
        Ok(actions) if actions.contains("errno") => found.ok("seccomp", "the kernel has it"),
        _ => found.warning(
            "seccomp",
            "the kernel does not show it",
            "use a kernel with CONFIG_SECCOMP_FILTER",
        ),
    }
    let none = read("/proc/sys/user/max_user_namespaces").is_ok_and(|most| most == "0");
    let kept = read("/proc/sys/kernel/unprivileged_userns_clone").is_ok_and(|may| may == "0")
        || read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").is_ok_and(|kept| kept == "1");
    if none || kept {
        found.warning(
            "user namespaces",
            "the system does not let every user make them",
            "sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone and \
             kernel.apparmor_restrict_unprivileged_userns say so",
        );
    } else {
        found.ok("user namespaces", "users may make them");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_version_is_read_as_every_vendor_writes_it() {
        assert_eq!(git_version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(git_version("git version 2.47.1.windows.1"), Some((2, 47)));
        assert_eq!(git_version("git version unknown"), None);
        assert!(git_version("git version 2.9.0").unwrap() < OLDEST_GIT);
    }
}
