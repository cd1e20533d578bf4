//! The HTTP server: finds out what is asked for (REST, git, a page), lets planned
//! faults happen, and dresses the answer as GitHub does.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use aws_lc_rs::digest;
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, Method, Response},
};
use futures::StreamExt;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::net::TcpListener;

use super::{
    git::{self, GitRequest},
    hooks::{Hooks, hex},
    layers::{
        Fault, Faults, Met, When,
        cut::{Cuttable, Line},
    },
    pages,
    people::People,
    record::{Exchange, Record},
    refusal::Refusal,
    rest::{self, Answer, Call, Caller, Content, Level},
    state::World,
};

/// Largest request taken; a push may be large.
const BODY: usize = 256 * 1024 * 1024;

/// What every part of a running emulator shares.
pub(crate) struct Shared {
    world: Mutex<World>,
    pub(crate) hooks: Hooks,
    pub(crate) record: Record,
    pub(crate) faults: Faults,
    /// Requests whose effect is still to come.
    late: Mutex<Vec<Asked>>,
    /// Requests that met a fault and have not ended.
    failing: AtomicUsize,
    requests: AtomicU64,
    stopped: AtomicBool,
}

impl Shared {
    pub(crate) fn new(world: World, hooks: Hooks, record: Record) -> Self {
        Self {
            world: Mutex::new(world),
            hooks,
            record,
            faults: Faults::default(),
            late: Mutex::default(),
            failing: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Answers nothing more, on connections that are already open either.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.hooks.stop();
    }

    pub(crate) fn failing(&self) -> usize {
        self.failing.load(Ordering::Acquire)
    }

    /// The state, for as long as it is held. A panic of another holder does not
    /// make the emulator useless: a test that fails should say why itself.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves until the task is aborted.
pub(crate) async fn run(listener: TcpListener, shared: Arc<Shared>) {
    let app = Router::new().fallback(handle).with_state(shared);
    let service = app.into_make_service_with_connect_info::<Line>();
    // `serve` on a bound listener ends only with the task.
    let _ = axum::serve(Cuttable(listener), service).await;
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: Request,
) -> Response<Body> {
    if shared.stopped.load(Ordering::Acquire) {
        line.cut();
        return Response::new(Body::empty());
    }
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let below = path.strip_prefix("/api/v3").map(str::to_owned);
    let Ok(body) = axum::body::to_bytes(body, BODY).await else {
        return plain(413, "Payload too large");
    };
    let asked = Asked {
        is_rest: below.is_some(),
        path: below.unwrap_or(path),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        method: parts.method,
        headers: parts.headers,
        body,
    };
    match shared.faults.meet(&asked.method, &asked.path) {
        None => answer(&shared, asked).await,
        // A task of its own: it goes on when the client hangs up.
        Some(met) => tokio::spawn(async move {
            shared.failing.fetch_add(1, Ordering::AcqRel);
            let answer = fail(shared.clone(), line, asked, met).await;
            shared.failing.fetch_sub(1, Ordering::AcqRel);
            answer
        })
        .await
        .unwrap_or_else(|_| plain(500, "the emulator is broken")),
    }
}

/// Does what was asked for.
async fn answer(shared: &Arc<Shared>, asked: Asked) -> Response<Body> {
    if asked.is_rest {
        rest(shared, asked, None).await
    } else if asked.path.contains(".git/") {
        git(shared, asked).await
    } else {
        page(shared, asked).await
    }
}

/// Carries out what a gateway gave up on, in the order it came.
pub(crate) async fn let_late_arrive(shared: &Arc<Shared>) {
    let late = std::mem::take(&mut *shared.late.lock().unwrap_or_else(PoisonError::into_inner));
    for asked in late {
        answer(shared, asked).await;
    }
}

/// What comes of a request that meets a fault.
async fn fail(shared: Arc<Shared>, line: Line, asked: Asked, met: Met) -> Response<Body> {
    match met.fault {
        Fault::Status { when, .. } => {
            if when == When::After {
                answer(&shared, asked).await;
            }
            refused(&met.fault)
        }
        Fault::Cut(when) => {
            if when == When::After {
                answer(&shared, asked).await;
            }
            line.cut();
            Response::new(Body::empty())
        }
        Fault::CutBody => {
            let (head, body) = answer(&shared, asked).await.into_parts();
            let whole = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
            let half = whole.slice(..whole.len() / 2);
            let broken = std::io::Error::from(std::io::ErrorKind::ConnectionAborted);
            // The first half is on its way before the break: what is pending is flushed.
            let parts = futures::stream::once(async { Ok(half) }).chain(futures::stream::once(async {
                tokio::task::yield_now().await;
                Err(broken)
            }));
            Response::from_parts(head, Body::from_stream(parts))
        }
        Fault::Slow { time, when } => {
            if when == When::Before {
                tokio::time::sleep(time).await;
            }
            let answer = answer(&shared, asked).await;
            if when == When::After {
                tokio::time::sleep(time).await;
            }
            answer
        }
        Fault::Late => {
            let mut late = shared.late.lock().unwrap_or_else(PoisonError::into_inner);
            late.push(asked);
            refused(&Fault::status(504, When::Before))
        }
        Fault::Stale if asked.is_rest => rest(&shared, asked, met.then).await,
        Fault::Stale => answer(&shared, asked).await,
        Fault::TokenDies => {
            rest::revoke(&mut shared.world(), &asked.headers);
            answer(&shared, asked).await
        }
        Fault::Meanwhile(deed, when) => {
            let act = || {
                let (deed, people) = (deed.clone(), People::new(shared.clone()));
                async move {
                    let done = tokio::task::spawn_blocking(move || deed.happen(&people)).await;
                    done.is_ok()
                }
            };
            if when == When::Before && !act().await {
                return plain(500, "what people do meanwhile failed");
            }
            let answer = answer(&shared, asked).await;
            if when == When::After && !act().await {
                return plain(500, "what people do meanwhile failed");
            }
            answer
        }
    }
}

/// One request.
pub(crate) struct Asked {
    /// Whether it is for the API, else for git or a page.
    is_rest: bool,
    method: Method,
    /// Below `/api/v3` when it is for the API.
    path: String,
    query: String,
    headers: HeaderMap,
    body: Bytes,
}

/// The answer of a planned status.
fn refused(fault: &Fault) -> Response<Body> {
    let Fault::Status {
        status,
        headers,
        message,
        errors,
        ..
    } = fault
    else {
        return plain(500, "not a status");
    };
    let mut answer = Response::builder()
        .status(*status)
        .header("content-type", "application/json; charset=utf-8");
    for (name, value) in headers {
        answer = answer.header(name, value);
    }
    let refusal = Refusal {
        errors: errors.clone(),
        ..Refusal::new(*status, message.clone())
    };
    answer
        .body(Body::from(refusal.body().to_string()))
        .unwrap_or_else(|_| plain(500, "a planned fault has an impossible header"))
}

fn plain(status: u16, text: &str) -> Response<Body> {
    let mut answer = Response::new(Body::from(text.to_owned()));
    *answer.status_mut() = axum::http::StatusCode::from_u16(status).unwrap_or_default();
    answer
}

fn pairs(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes())
        .map(|(n, v)| (n.into_owned(), v.into_owned()))
        .collect()
}

/// A REST request, to the state as it is or to an older one.
async fn rest(shared: &Arc<Shared>, asked: Asked, then: Option<Arc<Mutex<World>>>) -> Response<Body> {
    let shared = shared.clone();
    let work = tokio::task::spawn_blocking(move || match then {
        None => rest_now(&shared, &mut shared.world(), &asked),
        Some(then) => {
            let mut then = then.lock().unwrap_or_else(PoisonError::into_inner);
            then.tokens.clone_from(&shared.world().tokens);
            rest_now(&shared, &mut then, &asked)
        }
    });
    work.await
        .unwrap_or_else(|_| plain(500, "the emulator is broken"))
}

/// One REST request, under the lock from its start to its end.
fn rest_now(shared: &Shared, world: &mut World, asked: &Asked) -> Response<Body> {
    let caller = rest::authenticate(world, &asked.headers);
    let who = caller.clone().unwrap_or(Caller::Anonymous);
    let left = world.count(&who, 0).0;
    let body = match asked.body.is_empty() {
        true => Ok(Value::Null),
        false => serde_json::from_slice::<Value>(&asked.body),
    };
    let sent = body.as_ref().ok().filter(|b| !b.is_null()).cloned();
    let accept = asked.headers.get("accept").and_then(|v| v.to_str().ok());
    let outcome = caller.and_then(|caller| {
        if left == 0 && asked.path != "/rate_limit" {
            return Err(Refusal::new(403, "API rate limit exceeded."));
        }
        let body = body.map_err(|_| Refusal::new(400, "Problems parsing JSON"))?;
        if !body.is_null() && !body.is_object() {
            return Err(Refusal::new(400, "Body should be a JSON object"));
        }
        let call = Call {
            method: asked.method.clone(),
            path: asked.path.clone(),
            query: pairs(&asked.query),
            body,
            accept: accept.unwrap_or_default().to_owned(),
            caller,
        };
        rest::answer(world, &call)
    });
    let answer = outcome.unwrap_or_else(|refusal| {
        let mut answer = Answer::json(refusal.status, refusal.body());
        answer.headers = refusal.headers;
        answer
    });
    let path = named(world, &asked.path);
    let head = Response::builder()
        .header("x-github-media-type", "github.v3; format=json")
        .header(
            "x-github-request-id",
            format!("EMUL:{:08X}", shared.requests.fetch_add(1, Ordering::Relaxed)),
        );
    let mut response = dress(head, &answer, &asked.method, &asked.headers);
    // An answer that says "as before" is free, and so is asking for the limit.
    let free = response.status() == 304 || asked.path == "/rate_limit";
    let (remaining, reset) = world.count(&who, u32::from(!free));
    for (name, value) in [
        ("x-ratelimit-limit", i64::from(rest::HOURLY)),
        ("x-ratelimit-remaining", i64::from(remaining)),
        (
            "x-ratelimit-used",
            i64::from(rest::HOURLY.saturating_sub(remaining)),
        ),
        ("x-ratelimit-reset", reset),
    ] {
        response.headers_mut().insert(name, value.into());
    }
    let core = axum::http::HeaderValue::from_static("core");
    response.headers_mut().insert("x-ratelimit-resource", core);

    let query = if asked.query.is_empty() {
        String::new()
    } else {
        format!("?{}", asked.query)
    };
    let json = match answer.content {
        Content::Json(body) => Some(body),
        Content::Raw(..) => None,
    };
    shared.record.add(Exchange {
        method: asked.method.to_string(),
        path: format!("{path}{query}"),
        body: sent,
        status: answer.status,
        response: json,
    });
    response
}

/// The path with the repository's name in place of its id, as GitHub documents it.
fn named(world: &World, path: &str) -> String {
    let rest = path.strip_prefix("/repositories/");
    let Some((id, rest)) = rest.map(|r| r.split_once('/').unwrap_or((r, ""))) else {
        return path.to_owned();
    };
    let found = id.parse().ok().and_then(|id: u64| world.repos.get(&id));
    match found {
        Some(repo) if rest.is_empty() => format!("/repos/{}", world.full_name(repo)),
        Some(repo) => format!("/repos/{}/{rest}", world.full_name(repo)),
        None => path.to_owned(),
    }
}

fn dress(
    head: axum::http::response::Builder,
    answer: &Answer,
    method: &Method,
    headers: &HeaderMap,
) -> Response<Body> {
    let (kind, bytes) = match &answer.content {
        Content::Json(body) => ("application/json; charset=utf-8", body.to_string().into_bytes()),
        Content::Raw(kind, bytes) => (*kind, bytes.clone()),
    };
    let mut head = head.status(answer.status);
    for (name, value) in &answer.headers {
        head = head.header(*name, value);
    }
    if answer.status == 200 && method == Method::GET {
        let hash = digest::digest(&digest::SHA256, &bytes);
        let tag = format!("W/\"{}\"", hex(hash.as_ref()));
        head = head
            .header("etag", &tag)
            .header("cache-control", "private, max-age=60, s-maxage=60");
        let known = headers.get("if-none-match").and_then(|v| v.to_str().ok());
        let bare = |t: &str| t.trim().trim_start_matches("W/").to_owned();
        if known.is_some_and(|k| k.split(',').any(|k| bare(k) == bare(&tag))) {
            let head = head.status(304);
            return head.body(Body::empty()).unwrap_or_else(|_| plain(500, "header"));
        }
    }
    head.header("content-type", kind)
        .body(Body::from(bytes))
        .unwrap_or_else(|_| plain(500, "an impossible header"))
}

async fn git(shared: &Arc<Shared>, asked: Asked) -> Response<Body> {
    let Some((name, path)) = asked.path.split_once(".git/") else {
        return plain(404, "Not Found");
    };
    let name = percent_decode_str(name).decode_utf8_lossy().into_owned();
    let parts: Vec<&str> = name.trim_matches('/').split('/').collect();
    let [owner, repo] = parts[..] else {
        return plain(404, "Not Found");
    };
    let service = match path {
        "info/refs" => pairs(&asked.query)
            .into_iter()
            .find(|(n, _)| n == "service")
            .map(|(_, v)| v)
            .unwrap_or_default(),
        other => other.to_owned(),
    };
    let pushing = match service.as_str() {
        "git-upload-pack" => false,
        "git-receive-pack" => true,
        // The dumb protocol is not spoken.
        _ => return plain(403, "Please upgrade your git client."),
    };
    let (store, id, actor) = {
        let world = shared.world();
        let found = world
            .repo_named(owner, repo)
            .or_else(|| world.repo_moved_from(owner, repo));
        let caller = rest::authenticate(&world, &asked.headers);
        let level = if pushing { Level::Write } else { Level::Read };
        let allowed = caller.and_then(|caller| {
            let id = found.ok_or_else(Refusal::not_found)?;
            world.may(&caller, id, "contents", level, !pushing)?;
            let actor = world.actor(&caller).map(|a| a.0).ok();
            Ok((id, actor))
        });
        match allowed {
            Ok((id, actor)) => (world.git.clone(), id, actor),
            Err(refusal) => return git_refusal(&refusal, asked.headers.contains_key("authorization")),
        }
    };
    let request = GitRequest {
        repo: id,
        path: format!("/{path}"),
        pushes: pushing && path == "git-receive-pack",
        method: asked.method,
        query: asked.query,
        headers: asked.headers,
        body: asked.body,
        user: actor.map_or_else(String::new, |a| a.to_string()),
    };
    let pushed = request.pushes;
    let answer = git::serve(&store, request).await;
    if pushed && let Some(actor) = actor {
        let shared = shared.clone();
        let settled = tokio::task::spawn_blocking(move || shared.world().settle_heads(id, actor));
        if !matches!(settled.await, Ok(Ok(()))) {
            return plain(500, "the push could not be followed up");
        }
    }
    answer.unwrap_or_else(|fault| plain(500, &fault.to_string()))
}

/// Git asks for a password only after a 401, so what needs one says so.
fn git_refusal(refusal: &Refusal, authenticated: bool) -> Response<Body> {
    let status = match refusal.status {
        404 if !authenticated => 401,
        status => status,
    };
    let text = if status == 404 {
        "Repository not found."
    } else {
        &refusal.message
    };
    let mut answer = plain(status, text);
    if status == 401 {
        let ask = axum::http::HeaderValue::from_static("Basic realm=\"GitHub\"");
        answer.headers_mut().insert("www-authenticate", ask);
    }
    answer
}

async fn page(shared: &Arc<Shared>, asked: Asked) -> Response<Body> {
    if asked.method != Method::GET {
        return plain(405, "Method not allowed");
    }
    let shared = shared.clone();
    let work = tokio::task::spawn_blocking(move || pages::show(&shared.world(), &asked.path));
    let (status, html) = match work.await {
        Ok(Some(html)) => (200, html),
        Ok(None) => (404, "Not found".to_owned()),
        Err(_) => (500, "The emulator is broken".to_owned()),
    };
    // Nothing on a page may run or be loaded: what it shows is untrusted.
    Response::builder()
        .status(status)
        .header("content-type", "text/html; charset=utf-8")
        .header(
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        )
        .header("x-content-type-options", "nosniff")
        .header("referrer-policy", "no-referrer")
        .body(Body::from(html))
        .unwrap_or_else(|_| plain(500, "an impossible header"))
}
