//! Paths as tools write them, made relative to the repository.
//!
//! The paths of a change are literal: nothing here is a pattern, so `app/[id]/page.tsx`
//! is that file and no other (D39). A tool may have run elsewhere, in a folder of the
//! repository or in a checkout under another root, so a path is read in several ways and
//! the one that exists in the change is taken.

/// Levels of `uriBaseId` that are followed.
const MAX_BASES: usize = 16;
/// Ways to read one path that are kept.
const MAX_READINGS: usize = 12;
/// Characters of a path.
const MAX_PATH: usize = 4_096;
/// Folders of an absolute path that may stand above the repository.
const MAX_ABOVE: usize = 32;

/// From where a tool's paths may count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roots {
    /// Absolute folders that are the repository's root, with `/`, without a final one.
    pub roots: Vec<String>,
    /// The folder that the tool ran in, relative to the root; empty for the root itself.
    pub prefix: String,
}

/// A file of the change that a path may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The path in the change.
    pub path: String,
    /// It is another file when one of these is in the repository: the path was
    /// absolute under a root that is not known, and these are longer parts of it.
    pub unless: Vec<String>,
}

/// The path of a URI, or of what a tool writes in its place: percent escapes decoded,
/// a `file` scheme and its authority cut off. A malformed escape is literal.
pub fn from_uri(uri: &str) -> Option<String> {
    let text = match uri.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file:") => {
            let rest = &uri[5..];
            match rest.strip_prefix("//") {
                // `file:///path`, the lenient `file://C:/path`, `file://host/path`.
                Some(after) => match after.find('/') {
                    Some(0) => after,
                    Some(_) if is_drive(after) => after,
                    Some(slash) => &after[slash..],
                    None if is_drive(after) => after,
                    None => return None,
                },
                None => rest,
            }
        }
        _ if has_scheme(uri) => return None,
        _ => uri,
    };
    let decoded = decode(text);
    // `/C:/w` is `C:/w`.
    let path = decoded
        .strip_prefix('/')
        .filter(|rest| is_drive(rest))
        .unwrap_or(&decoded);
    Some(path.to_owned())
}

/// `C:/`, `c:\`.
fn is_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic())
}

/// Whether it begins like an address that is no file. One letter is a drive.
fn has_scheme(uri: &str) -> bool {
    uri.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || is_drive(path)
}

/// Decodes percent escapes; the whole text stays as it is when one of them is malformed
/// or the result is no UTF-8.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|d| char::from(d).to_digit(16));
        match (digit(), digit()) {
            (Some(high), Some(low)) => bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?')),
            _ => return text.to_owned(),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The ways to read a URI whose bases are `bases`, innermost first. Empty when it names
/// no file: an empty URI stands for a folder (R05), another scheme for something else.
pub fn uri_readings(uri: &str, bases: &[String]) -> Vec<String> {
    let mut readings = Vec::new();
    if uri.is_empty() || uri.ends_with('/') || uri.chars().count() > MAX_PATH {
        return readings;
    }
    let cut = uri.find(['?', '#']).map(|at| &uri[..at]);
    for text in [Some(uri), cut] {
        let Some(path) = text.and_then(from_uri) else {
            continue;
        };
        if !is_absolute(&path)
            && let Some(joined) = join_bases(&path, bases)
        {
            push(&mut readings, joined);
        }
        push(&mut readings, path);
    }
    // What looks like an escape may be part of the name.
    if !has_scheme(uri) && !uri.starts_with("file:") {
        push(&mut readings, uri.to_owned());
    }
    readings
}

/// The ways to read a plain path.
pub fn plain_readings(path: &str) -> Vec<String> {
    let mut readings = Vec::new();
    if path.is_empty() || path.ends_with('/') || path.chars().count() > MAX_PATH {
        return readings;
    }
    push(&mut readings, path.to_owned());
    if path.starts_with("file:")
        && let Some(path) = from_uri(path)
    {
        push(&mut readings, path);
    }
    readings
}

fn push(readings: &mut Vec<String>, path: String) {
    let backslashed = path.contains('\\').then(|| path.replace('\\', "/"));
    for path in std::iter::once(path).chain(backslashed) {
        if readings.len() < MAX_READINGS && !path.is_empty() && !readings.contains(&path) {
            readings.push(path);
        }
    }
}

fn join_bases(path: &str, bases: &[String]) -> Option<String> {
    let mut path = path.to_owned();
    let mut joined = false;
    for base in bases.iter().take(MAX_BASES) {
        let base = from_uri(base)?;
        if base.is_empty() {
            continue;
        }
        joined = true;
        path = format!("{}/{path}", base.trim_end_matches('/'));
        if is_absolute(&path) {
            break;
        }
    }
    joined.then_some(path)
}

/// The parts without `.` and `..`; `None` when it leads out.
fn parts(path: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then_some(parts)
}

/// Finds which file of the change `readings` mean. `in_change` says whether a path is one.
pub fn find(readings: &[String], roots: &Roots, in_change: impl Fn(&str) -> bool) -> Option<Found> {
    let sure = |path: String| {
        Some(Found {
            path,
            unless: Vec::new(),
        })
    };
    for reading in readings {
        if in_change(reading) {
            return sure(reading.clone());
        }
        if !is_absolute(reading) {
            let in_prefix = (!roots.prefix.is_empty()).then(|| format!("{}/{reading}", roots.prefix));
            for path in std::iter::once(reading.clone()).chain(in_prefix) {
                if let Some(path) = parts(&path).map(|parts| parts.join("/"))
                    && in_change(&path)
                {
                    return sure(path);
                }
            }
            continue;
        }
        let Some(parts) = parts(reading) else { continue };
        let whole = parts.join("/");
        let under = roots.roots.iter().find_map(|root| {
            let root = self::parts(root)?.join("/");
            whole.strip_prefix(&root)?.strip_prefix('/').map(str::to_owned)
        });
        if let Some(path) = under {
            // Under a known root there is nothing to guess.
            if in_change(&path) {
                return sure(path);
            }
            continue;
        }
        let mut unless = Vec::new();
        for above in 0..parts.len().min(MAX_ABOVE) {
            let path = parts[above..].join("/");
            if in_change(&path) {
                return Some(Found { path, unless });
            }
            unless.push(path);
        }
    }
    None
}
