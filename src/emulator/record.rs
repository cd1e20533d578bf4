//! What was asked and answered over REST, kept for tests and for the check
//! against GitHub's published description. Tokens are never in it.

use std::{
    fs::File,
    io::Write,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Serialize;
use serde_json::{Value, json};

/// One request and its answer.
#[derive(Clone, Debug, Serialize)]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// The path below `/api/v3` with its query.
    pub path: String,
    /// The body sent, when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The status answered.
    pub status: u16,
    /// The JSON answered, when it was JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
}

#[derive(Default)]
struct Kept {
    exchanges: Vec<Exchange>,
    file: Option<File>,
}

/// The record. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Record {
    kept: Arc<Mutex<Kept>>,
}

impl Record {
    /// With a file, every exchange is appended to it as one line of JSON.
    pub(crate) fn new(file: Option<&Path>) -> std::io::Result<Self> {
        let open = |path| File::options().create(true).append(true).open(path);
        let file = file.map(open).transpose()?;
        let kept = Kept {
            exchanges: Vec::new(),
            file,
        };
        Ok(Self {
            kept: Arc::new(Mutex::new(kept)),
        })
    }

    pub(crate) fn add(&self, mut exchange: Exchange) {
        if let Some(Value::Object(response)) = &mut exchange.response
            && response.contains_key("token")
        {
            response.insert("token".to_owned(), json!("masked"));
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut kept.file
            && let Ok(mut line) = serde_json::to_string(&exchange)
        {
            line.push('\n');
            // One write: other emulators append to the same file. A record that cannot be
            // written must not change what is answered.
            let _ = file.write_all(line.as_bytes());
        }
        kept.exchanges.push(exchange);
    }

    pub(crate) fn all(&self) -> Vec<Exchange> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.exchanges.clone()
    }
}
