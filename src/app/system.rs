//! What the process gets from its system: clock, randomness, environment, signals. The
//! one place that asks for them.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    cli::Fault,
    domain::time::Timestamp,
    ports::{clock::Clock, ids::Ids},
};

/// The system's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// UUIDs of version 7: 48 bits of milliseconds, 74 random bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    fn next(&self) -> String {
        let ms = u64::try_from(SystemClock.now().0).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(ms, &random())
            .into_uuid()
            .to_string()
    }
}

/// Bytes from the operating system.
#[expect(clippy::disallowed_methods, reason = "the one place that asks for randomness")]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::Rng::fill(&mut rand::rng(), &mut bytes[..]);
    bytes
}

/// The environment. A variable that is not UTF-8 is left out, unless it is meant for us:
/// then it is a fault rather than a setting that is silently not there.
pub fn environment() -> Result<BTreeMap<String, String>, Fault> {
    texts(std::env::vars_os())
}

fn texts(env: impl Iterator<Item = (OsString, OsString)>) -> Result<BTreeMap<String, String>, Fault> {
    let mut texts = BTreeMap::new();
    for (name, value) in env {
        let Ok(name) = name.into_string() else { continue };
        match value.into_string() {
            Ok(value) => drop(texts.insert(name, value)),
            Err(_) if name.starts_with("JURY_") || name == "DATABASE_URL" => {
                return Err(Fault::new(format!("{name}: not UTF-8 text")));
            }
            Err(_) => {}
        }
    }
    Ok(texts)
}

/// Makes a write beyond a limit on the size of files (`ulimit -f`, `LimitFSIZE=`) fail
/// with `EFBIG`, as on a full disk, instead of ending the process: SIGXFSZ does so only
/// where nobody handles it. To be called within a runtime; holds for the process's life.
pub fn outlive_file_limits() {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler stays when the receiver, which nobody needs, is dropped.
    if let Err(error) = signal(SignalKind::from_raw(libc::SIGXFSZ)) {
        tracing::warn!(%error, "a limit on the size of files would end this process");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn a_variable_of_ours_that_is_no_text_is_a_fault_and_of_others_is_nothing() {
        let env = |name: &str| {
            let pair = |n: &str, v: &[u8]| (OsString::from(n), OsString::from_vec(v.to_vec()));
            texts([pair("HOME", b"/h"), pair(name, b"caf\xe9")].into_iter())
        };
        assert_eq!(env("LESSCHARSET").unwrap().len(), 1);
        for ours in ["JURY_SERVER_DATA", "DATABASE_URL"] {
            assert_eq!(
                env(ours).unwrap_err().to_string(),
                format!("{ours}: not UTF-8 text")
            );
        }
    }
}
