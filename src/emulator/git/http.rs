//! Git over smart HTTP, by git's own `http-backend`.

use std::process::Stdio;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, Method, Response, StatusCode},
};
use futures::stream;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::{GitFault, Store, clean};

/// What a git client asks for, once it may.
pub(crate) struct GitRequest {
    pub(crate) repo: u64,
    /// Below the repository: `/info/refs`, `/git-upload-pack`, `/git-receive-pack`.
    pub(crate) path: String,
    /// Whether this request changes refs.
    pub(crate) pushes: bool,
    pub(crate) method: Method,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) user: String,
}

/// Answers by `git http-backend` (a CGI program).
///
/// # Errors
/// When git cannot be started or answers nonsense.
pub(crate) async fn serve(store: &Store, request: GitRequest) -> Result<Response<Body>, GitFault> {
    let io = |e: std::io::Error| GitFault(e.to_string());
    let header = |name: &str| {
        let value = request.headers.get(name).and_then(|v| v.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let mut command = std::process::Command::new("git");
    clean(&mut command);
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", store.root())
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", format!("/{}.git{}", request.repo, request.path))
        .env("REQUEST_METHOD", request.method.as_str())
        .env("QUERY_STRING", &request.query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("REMOTE_USER", &request.user)
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("GIT_PROTOCOL", header("git-protocol"));
    let encoding = header("content-encoding");
    if !encoding.is_empty() {
        command.env("HTTP_CONTENT_ENCODING", encoding);
    }
    let mut command = tokio::process::Command::from(command);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(io)?;
    let mut stdin = child.stdin.take().ok_or_else(|| GitFault("no pipe".to_owned()))?;
    let stdout = child
        .stdout
        .take()
        .ok_or_else(|| GitFault("no pipe".to_owned()))?;
    let body = request.body;
    // Written beside the reading: a large push would fill both pipes otherwise.
    tokio::spawn(async move {
        let _ = stdin.write_all(&body).await;
    });

    let mut out = BufReader::new(stdout);
    let mut answer = Response::builder().status(StatusCode::OK);
    loop {
        let mut line = String::new();
        if out.read_line(&mut line).await.map_err(io)? == 0 {
            return Err(GitFault("http-backend ended early".to_owned()));
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(':') {
            Some(("Status", value)) => {
                let code = value.split_whitespace().next().and_then(|c| c.parse().ok());
                answer = answer.status(code.unwrap_or(500_u16));
            }
            Some((name, value)) => answer = answer.header(name, value.trim()),
            None => return Err(GitFault("http-backend sent no header".to_owned())),
        }
    }
    if request.pushes {
        // A push is answered once it is done, so that its effects come before it.
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).await.map_err(io)?;
        child.wait().await.map_err(io)?;
        return answer.body(Body::from(rest)).map_err(|e| GitFault(e.to_string()));
    }
    let rest = stream::unfold((out, child), |(mut out, child)| async move {
        let mut chunk = vec![0; 64 * 1024];
        match out.read(&mut chunk).await {
            Ok(0) => None,
            Ok(n) => {
                chunk.truncate(n);
                Some((Ok::<_, std::io::Error>(Bytes::from(chunk)), (out, child)))
            }
            Err(e) => Some((Err(e), (out, child))),
        }
    });
    answer
        .body(Body::from_stream(rest))
        .map_err(|e| GitFault(e.to_string()))
}
