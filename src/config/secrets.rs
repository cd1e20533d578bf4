//! Secrets: from a file or straight from a variable, never both, never shown.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use secrecy::{ExposeSecret, SecretString};

use super::{FileContent, Inputs, beside, values::Fault, values::Origin, values::Values, variable};

/// No configuration and no key is longer; a device that never ends is.
const LONGEST_FILE: u64 = 1 << 20;

/// Reads a file of at most 1 MiB.
pub fn read_file(path: &Path) -> io::Result<FileContent> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 1 MiB"));
    }
    Ok(FileContent {
        bytes,
        world_readable: about.permissions().mode() & 0o004 != 0,
    })
}

/// What differs between the two secrets.
struct Secret {
    /// What a person calls it.
    name: &'static str,
    /// The key of its file.
    key: &'static str,
    /// The variable that holds it itself.
    variable: &'static str,
    /// Where to get one.
    from: &'static str,
}

const PRIVATE_KEY: Secret = Secret {
    name: "the App's private key",
    key: "github.private_key_file",
    variable: "JURY_GITHUB_PRIVATE_KEY",
    from: "generate one under \"Private keys\" on the App's settings page",
};

const WEBHOOK_SECRET: Secret = Secret {
    name: "the webhook secret",
    key: "github.webhook_secret_file",
    variable: "JURY_GITHUB_WEBHOOK_SECRET",
    from: "choose a long random text and enter the same one on the App's settings page",
};

/// The App's private key: PEM text.
pub(super) fn private_key(values: &mut Values, inputs: &Inputs<'_>) -> Option<SecretString> {
    let (secret, origin) = secret(&PRIVATE_KEY, values, inputs)?;
    let text = secret.expose_secret();
    // Variables cannot hold line breaks everywhere, so that "\n" is a common spelling.
    let secret = if text.contains('\n') {
        secret
    } else {
        SecretString::from(text.replace("\\n", "\n"))
    };
    let text = secret.expose_secret();
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return Some(secret);
    }
    let hint = if text.contains("PUBLIC KEY-----") {
        " but a public key"
    } else {
        ""
    };
    let what = format!("{} is no private key in PEM format{hint}", PRIVATE_KEY.name);
    values.fault(&origin, what);
    None
}

/// What deliveries are signed with.
pub(super) fn webhook_secret(values: &mut Values, inputs: &Inputs<'_>) -> Option<SecretString> {
    secret(&WEBHOOK_SECRET, values, inputs).map(|(secret, _)| secret)
}

fn secret(which: &Secret, values: &mut Values, inputs: &Inputs<'_>) -> Option<(SecretString, Origin)> {
    let Secret {
        name,
        key,
        variable: direct,
        from,
    } = which;
    let file = values.get(key).cloned();
    if let Some(text) = variable(inputs, direct) {
        if let Some(Origin::Variable(other)) = file.map(|file| file.origin) {
            values.faults.push(Fault(format!(
                "{other} and {direct} are both set: unset one of them"
            )));
            return None;
        }
        let text = text.trim_end_matches(['\r', '\n']).to_owned();
        return Some((SecretString::from(text), Origin::Variable((*direct).to_owned())));
    }
    let Some(file) = file else {
        let file_key = key.trim_start_matches("github.");
        let what = format!("{name} is missing: set `{file_key}` in [github] or {direct} ({from})");
        values.missing(key, what);
        return None;
    };
    let path = beside(&file.origin, Path::new(file.text()));
    let shown = path.display();
    let content = match (inputs.read)(&path) {
        Ok(content) => content,
        Err(error) => {
            values.fault(&file.origin, format!("`{key}`: {shown} cannot be read: {error}"));
            return None;
        }
    };
    if content.world_readable {
        values.warnings.push(format!(
            "{shown} holds {name} and everybody may read it: chmod 600 it"
        ));
    }
    let Ok(text) = String::from_utf8(content.bytes) else {
        values.fault(&file.origin, format!("`{key}`: {shown} is not text"));
        return None;
    };
    // Editors end a file with a line break that is not part of the secret.
    let text = text.trim_end_matches(['\r', '\n']);
    if text.trim().is_empty() {
        values.fault(&file.origin, format!("`{key}`: {shown} is empty; {from}"));
        return None;
    }
    Some((SecretString::from(text), file.origin))
}
