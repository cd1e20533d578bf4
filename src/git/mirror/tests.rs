use std::{
    collections::HashMap,
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt, net::TcpListener, process::Command};

use super::*;
use crate::{git::scratch::Scratch, ports::change::Change};

const TOKEN: &str = "not-a-real-token";

/// A forge that serves one repository over smart HTTP to who has the token.
struct Forge {
    repo: Scratch,
    url: Url,
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    requests: AtomicUsize,
    /// Answers every request with this instead.
    instead: Mutex<Option<(StatusCode, String)>>,
}

impl Forge {
    async fn new() -> Self {
        let repo = Scratch::new();
        repo.write("f.txt", "1\n").write("g.txt", "1\n").commit();
        let shared = Arc::new(Shared {
            root: repo.path().to_owned(),
            requests: AtomicUsize::new(0),
            instead: Mutex::new(None),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/.git", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let app = Router::new().fallback(serve).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { repo, url, shared }
    }

    fn remote(&self) -> Remote {
        Remote {
            url: self.url.clone(),
            token: Some(TOKEN.into()),
        }
    }

    /// Commits to the branch of pull request 1.
    fn push(&self, content: &str) -> Sha {
        self.repo.git(["checkout", "-q", "-B", "topic", "main"]);
        let head = self.repo.write("f.txt", content).commit();
        self.repo.git(["update-ref", "refs/pull/1/head", "HEAD"]);
        self.repo.git(["checkout", "-q", "main"]);
        self.repo.git(["branch", "-q", "-D", "topic"]);
        head
    }

    fn wanted(&self, head: &Sha) -> Wanted {
        Wanted {
            pull: 1,
            head: head.clone(),
            base_ref: "main".to_owned(),
            base: self.repo.sha("refs/heads/main"),
        }
    }

    fn answer_instead(&self, status: StatusCode, text: &str) {
        *self.shared.instead.lock().unwrap() = Some((status, text.to_owned()));
    }

    fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }
}

/// `git http-backend` behind a token.
async fn serve(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    shared.requests.fetch_add(1, Ordering::SeqCst);
    if let Some((status, text)) = shared.instead.lock().unwrap().clone() {
        let sent = headers
            .get(header::AUTHORIZATION)
            .map_or("", |v| v.to_str().unwrap());
        return (
            status,
            [
                (
                    header::LOCATION,
                    text.clone() + uri.path_and_query().unwrap().as_str(),
                ),
                (header::CONTENT_TYPE, "text/plain".to_owned()),
            ],
            format!("{text} {sent}"),
        )
            .into_response();
    }
    let expected = format!(
        "Basic {}",
        BASE64_STANDARD.encode(format!("x-access-token:{TOKEN}"))
    );
    if headers
        .get(header::AUTHORIZATION)
        .is_none_or(|v| v != expected.as_str())
    {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let text = |name: &str| headers.get(name).map_or("", |v| v.to_str().unwrap()).to_owned();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &shared.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_PROTOCOL", text("git-protocol"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("PATH_INFO", uri.path())
        .env("QUERY_STRING", uri.query().unwrap_or_default())
        .env("REQUEST_METHOD", method.as_str())
        .env("CONTENT_TYPE", text("content-type"))
        .env("HTTP_CONTENT_ENCODING", text("content-encoding"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let write = async move {
        let _ = stdin.write_all(&body).await;
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), write);
    let output = output.unwrap().stdout;
    let end = output.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or(0);
    let mut response = Response::builder();
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let (name, value) = line.split_once(": ").unwrap();
        response = match name {
            "Status" => response.status(value[..3].parse::<u16>().unwrap()),
            _ => response.header(name, value),
        };
    }
    response.body(Body::from(output[end + 4..].to_vec())).unwrap()
}

fn mirrors() -> (TempDir, Mirrors) {
    let folder = TempDir::new().unwrap();
    let mirrors = Mirrors::new(folder.path().join("mirrors"));
    (folder, mirrors)
}

const KEY: &str = "github.example/7/42";

fn folder_of(data: &TempDir) -> PathBuf {
    let name = utf8_percent_encode(KEY, NON_ALPHANUMERIC).to_string();
    data.path().join("mirrors").join(format!("{name}.git"))
}

#[tokio::test]
async fn a_change_is_fetched_once_with_the_token_and_read_from_the_mirror() {
    let forge = Forge::new().await;
    let head = forge.push("2\n");
    let (data, mirrors) = mirrors();
    let change = mirrors
        .change(KEY, &forge.remote(), &forge.wanted(&head))
        .await
        .unwrap();
    assert_eq!(change.files().len(), 1);
    assert_eq!(change.files()[0].path, "f.txt");
    assert_eq!(change.head(), Some(&head));
    let asked = forge.requests();
    mirrors
        .change(KEY, &forge.remote(), &forge.wanted(&head))
        .await
        .unwrap();
    assert_eq!(forge.requests(), asked, "what is there is not fetched again");
    // The token is nowhere in the mirror.
    let mut open = vec![data.path().to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let content = fs::read(&path).unwrap();
                let encoded = BASE64_STANDARD.encode(format!("x-access-token:{TOKEN}"));
                for secret in [TOKEN.as_bytes(), encoded.as_bytes()] {
                    assert!(!content.windows(secret.len()).any(|w| w == secret), "{path:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_head_that_was_pushed_over_is_fetched_by_its_own_name() {
    let forge = Forge::new().await;
    let old = forge.push("2\n");
    let new = forge.push("3\n");
    let (_data, mirrors) = mirrors();
    for head in [&old, &new] {
        let change = mirrors
            .change(KEY, &forge.remote(), &forge.wanted(head))
            .await
            .unwrap();
        assert_eq!(change.head(), Some(head));
    }
    // And forced back again.
    let back = forge.push("4\n");
    let change = mirrors
        .change(KEY, &forge.remote(), &forge.wanted(&back))
        .await
        .unwrap();
    assert_eq!(change.head(), Some(&back));
}

#[tokio::test]
async fn a_commit_that_the_forge_does_not_have_is_gone() {
    let forge = Forge::new().await;
    forge.push("2\n");
    let (_data, mirrors) = mirrors();
    let nowhere: Sha = "1".repeat(40).parse().unwrap();
    let error = mirrors
        .change(KEY, &forge.remote(), &forge.wanted(&nowhere))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ChangeError::Gone(sha) if *sha == nowhere.to_string()),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_base_branch_may_be_deleted_or_become_a_folder() {
    let forge = Forge::new().await;
    let head = forge.push("2\n");
    let (_data, mirrors) = mirrors();
    let at = |base_ref: &str, head: &Sha| Wanted {
        base_ref: base_ref.to_owned(),
        ..forge.wanted(head)
    };
    let ask = async |wanted: Wanted| mirrors.change(KEY, &forge.remote(), &wanted).await.map(drop);
    forge.repo.git(["branch", "release", "main"]);
    ask(at("release", &head)).await.unwrap();
    forge.repo.git(["branch", "-D", "release"]);
    forge.repo.git(["branch", "release/1", "main"]);
    forge.repo.write("g.txt", "2\n").commit();
    ask(at("release/1", &forge.push("3\n"))).await.unwrap();
    forge.repo.write("g.txt", "3\n").commit();
    ask(at("never-there", &forge.push("4\n"))).await.unwrap();
}

#[tokio::test]
async fn an_error_of_the_forge_is_told_without_the_token() {
    let forge = Forge::new().await;
    let head = forge.push("2\n");
    let (_data, mirrors) = mirrors();
    for status in [500, 503, 403, 404, 401, 400] {
        forge.answer_instead(StatusCode::from_u16(status).unwrap(), "you sent");
        let error = mirrors
            .change(KEY, &forge.remote(), &forge.wanted(&head))
            .await
            .unwrap_err();
        let text = format!("{error:?}");
        assert!(matches!(error, ChangeError::Later { .. }), "{text}");
        let encoded = BASE64_STANDARD.encode(format!("x-access-token:{TOKEN}"));
        assert!(!text.contains(TOKEN) && !text.contains(&encoded), "{text}");
    }
    *forge.shared.instead.lock().unwrap() = None;
    let error = Remote {
        token: Some("wrong".into()),
        ..forge.remote()
    };
    let error = mirrors
        .change(KEY, &error, &forge.wanted(&head))
        .await
        .unwrap_err();
    assert!(matches!(error, ChangeError::Later { .. }), "{error:?}");
    mirrors
        .change(KEY, &forge.remote(), &forge.wanted(&head))
        .await
        .unwrap();
}

#[tokio::test]
async fn the_token_does_not_follow_a_redirect() {
    let forge = Forge::new().await;
    let other = Forge::new().await;
    let head = forge.push("2\n");
    let (_data, mirrors) = mirrors();
    let elsewhere = other.url.as_str().trim_end_matches("/.git").to_owned();
    for status in [301, 302, 307, 308] {
        forge.answer_instead(StatusCode::from_u16(status).unwrap(), &elsewhere);
        let error = mirrors
            .change(KEY, &forge.remote(), &forge.wanted(&head))
            .await
            .unwrap_err();
        assert!(matches!(error, ChangeError::Later { .. }), "{error:?}");
    }
    assert!(forge.requests() >= 4);
    assert_eq!(other.requests(), 0);
}

#[tokio::test]
async fn only_http_and_https_are_spoken() {
    let forge = Forge::new().await;
    let head = forge.push("2\n");
    let (data, mirrors) = mirrors();
    let ran = data.path().join("ran");
    let local = format!("file://{}", forge.repo.path().display());
    for url in [
        local,
        format!("ext::sh -c touch% {}", ran.display()),
        "ssh://127.0.0.1/x".to_owned(),
    ] {
        let remote = Remote {
            url: url.parse().unwrap(),
            token: None,
        };
        assert!(
            mirrors.change(KEY, &remote, &forge.wanted(&head)).await.is_err(),
            "{url}"
        );
    }
    assert!(!ran.exists());
}

#[tokio::test]
async fn what_a_killed_git_left_behind_is_swept_away() {
    let forge = Forge::new().await;
    let (data, mirrors) = mirrors();
    let head = forge.push("2\n");
    mirrors
        .change(KEY, &forge.remote(), &forge.wanted(&head))
        .await
        .unwrap();
    let folder = folder_of(&data);
    for left in [
        "refs/jury/pull/1.lock",
        "packed-refs.lock",
        "shallow.lock",
        "config.lock",
        "HEAD.lock",
        "objects/pack/tmp_pack_1",
    ] {
        fs::write(folder.join(left), "half").unwrap();
    }
    fs::create_dir_all(folder.with_extension("new")).unwrap();
    let head = forge.push("3\n");
    mirrors
        .change(KEY, &forge.remote(), &forge.wanted(&head))
        .await
        .unwrap();
    assert!(!folder.join("objects/pack/tmp_pack_1").exists());
    assert!(!folder.join("refs/jury/pull/1.lock").exists());
}

#[tokio::test]
async fn a_fetch_that_is_cut_off_anywhere_leaves_a_mirror_that_works() {
    let forge = Forge::new().await;
    for i in 0..40 {
        forge
            .repo
            .write(&format!("many/{i}"), format!("{i}\n").repeat(200));
    }
    forge.repo.commit();
    let (_data, mirrors) = mirrors();
    for i in 0..20u64 {
        let head = forge.push(&format!("round {i}\n"));
        let (remote, wanted) = (forge.remote(), forge.wanted(&head));
        // Dropping the future kills git wherever it is.
        let cut = tokio::time::timeout(
            Duration::from_millis(i * 4),
            mirrors.change(KEY, &remote, &wanted),
        );
        let _ = cut.await;
        let change = mirrors.change(KEY, &remote, &wanted).await.unwrap();
        assert_eq!(change.files().len(), 1, "round {i}");
        assert!(change.coverage().is_complete());
    }
}

#[tokio::test]
async fn a_damaged_mirror_is_made_anew() {
    let forge = Forge::new().await;
    let (data, mirrors) = mirrors();
    let head = forge.push("2\n");
    let ask = async |head: &Sha| {
        mirrors
            .change(KEY, &forge.remote(), &forge.wanted(head))
            .await
            .map(drop)
    };
    ask(&head).await.unwrap();
    // Its packs are gone, its names are not.
    for entry in fs::read_dir(folder_of(&data).join("objects/pack")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    ask(&head).await.unwrap();
    // A tree is gone although the commit is there.
    let pack = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder.join("objects/pack"))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect()
    };
    for path in pack(&folder_of(&data)) {
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        #[expect(
            clippy::permissions_set_readonly_false,
            reason = "a file in a temporary folder"
        )]
        permissions.set_readonly(false);
        fs::set_permissions(&path, permissions).unwrap();
        if path.extension().is_some_and(|e| e == "pack") {
            let mut content = fs::read(&path).unwrap();
            let middle = content.len() / 2;
            content[middle..middle + 40].fill(0xff);
            fs::write(&path, content).unwrap();
        }
    }
    ask(&head).await.unwrap();
    // Not a repository at all any more.
    fs::write(folder_of(&data).join("config"), "[core\n").unwrap();
    ask(&forge.push("3\n")).await.unwrap();
}

#[tokio::test]
async fn many_changes_of_one_repository_at_once_stand_in_line() {
    let forge = Forge::new().await;
    let heads: Vec<Sha> = (0..6).map(|i| forge.push(&format!("head {i}\n"))).collect();
    let (data, one) = mirrors();
    // Two processes with the same folder are two of these.
    let two = Mirrors::new(data.path().join("mirrors"));
    let (remote, asks): (Remote, HashMap<&Sha, Wanted>) = (
        forge.remote(),
        heads.iter().map(|h| (h, forge.wanted(h))).collect(),
    );
    let all = heads.iter().enumerate().map(|(i, head)| {
        let mirrors = if i % 2 == 0 { &one } else { &two };
        mirrors.change(KEY, &remote, &asks[head])
    });
    for change in futures::future::join_all(all).await {
        assert_eq!(change.unwrap().files().len(), 1);
    }
}

#[tokio::test]
async fn heads_without_common_history_are_refused_in_words() {
    let forge = Forge::new().await;
    forge.repo.git(["checkout", "-q", "--orphan", "alone"]);
    let head = forge.repo.write("alone", "1\n").commit();
    forge.repo.git(["update-ref", "refs/pull/1/head", "HEAD"]);
    let (_data, mirrors) = mirrors();
    let error = mirrors
        .change(KEY, &forge.remote(), &forge.wanted(&head))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ChangeError::User(text) if text.contains("shares no commit")),
        "{error:?}"
    );
}
