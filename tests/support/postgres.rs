//! A private Postgres for tests, started from the machine's programs (`initdb`,
//! `pg_ctl`), on a Unix socket in a temporary folder.
//!
//! One server a test process, one database a test. The programs refuse to run as
//! root, so then they run as `postgres` or `nobody`. A small shell outlives us: when
//! the pipe to it closes, however this process ends, it stops the server and
//! removes the folder.

use std::{
    env,
    io::{BufRead as _, BufReader, Lines, Write as _},
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use sqlx::{Connection as _, PgConnection};

/// The running server.
struct Server {
    folder: PathBuf,
    made: AtomicU32,
    shell: Mutex<Shell>,
    _child: Child,
}

/// What the shell is told and says.
struct Shell {
    /// Closed by the end of this process.
    orders: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

static SERVER: OnceLock<Server> = OnceLock::new();

/// Makes an empty database and returns its address.
///
/// # Panics
/// When no Postgres can be started here: a test that needs one is ignored by default.
pub(crate) async fn database() -> String {
    let server = tokio::task::spawn_blocking(|| SERVER.get_or_init(start))
        .await
        .expect("the server starts");
    server.database().await
}

/// A server of one test alone, which may do with it what it likes.
pub(crate) struct Private(Server);

impl Private {
    /// Starts one.
    pub(crate) async fn start() -> Self {
        let started = tokio::task::spawn_blocking(start).await;
        Self(started.expect("the server starts"))
    }

    /// Makes an empty database and returns its address.
    pub(crate) async fn database(&self) -> String {
        self.0.database().await
    }

    /// Stops the server without asking anybody and starts it again; returns when it answers.
    pub(crate) fn restart(&self) {
        let mut shell = self.0.shell.lock().expect("nobody panicked");
        writeln!(shell.orders, "restart").expect("the shell listens");
        shell.orders.flush().expect("the shell listens");
        let said = shell.said.next();
        assert!(matches!(&said, Some(Ok(line)) if line == "ready"), "{said:?}");
    }
}

impl Server {
    async fn database(&self) -> String {
        let server = self;
        let name = format!("test_{}", server.made.fetch_add(1, Ordering::Relaxed));
        let address = |database: &str| {
            format!(
                "postgres:///{database}?host={}&user=jury",
                server.folder.display()
            )
        };
        let mut admin = PgConnection::connect(&address("postgres"))
            .await
            .expect("the server answers");
        sqlx::query(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}")))
            .execute(&mut admin)
            .await
            .expect("a database is made");
        admin.close().await.expect("the connection closes");
        address(&name)
    }
}

/// The folder that holds `initdb` and `pg_ctl`; the newest version wins.
fn programs() -> PathBuf {
    let holds = |folder: &Path| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file();
    let path = env::var_os("PATH").unwrap_or_default();
    if let Some(folder) = env::split_paths(&path).find(|folder| holds(folder)) {
        return folder;
    }
    let mut folders: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|versions| {
            versions
                .flatten()
                .map(|version| version.path().join("bin"))
                .collect()
        })
        .unwrap_or_default();
    folders.retain(|folder| holds(folder));
    folders.sort();
    folders
        .pop()
        .expect("no Postgres here: neither initdb and pg_ctl in PATH nor /usr/lib/postgresql/*/bin")
}

/// Another user's ids, when we are root.
fn somebody_else() -> Option<(u32, u32)> {
    let id = |args: &[&str]| -> Option<u32> {
        let answer = Command::new("id").args(args).output().ok()?;
        String::from_utf8(answer.stdout).ok()?.trim().parse().ok()
    };
    if id(&["-u"])? != 0 {
        return None;
    }
    ["postgres", "nobody"]
        .iter()
        .find_map(|user| Some((id(&["-u", user])?, id(&["-g", user])?)))
}

fn start() -> Server {
    let programs = programs();
    // Short: a socket's path has at most 107 bytes.
    let folder = tempfile::Builder::new()
        .prefix("jury-pg-")
        .tempdir_in("/tmp")
        .expect("a temporary folder")
        .keep();
    let user = somebody_else();
    if let Some((uid, gid)) = user {
        chown(&folder, Some(uid), Some(gid)).expect("the folder is handed over");
    }
    // Nothing here survives a test run, so nothing needs to reach the disk.
    let script = r#"
        cd "$FOLDER" || exit 1
        clean() { cd /; rm -rf "$FOLDER"; }
        "$PROGRAMS/initdb" -D data -U jury -A trust -E UTF8 --locale=C --no-sync >init.log 2>&1 \
            || { cat init.log; clean; exit 1; }
        "$PROGRAMS/pg_ctl" start -w -t 60 -D data -l server.log -o "-k $FOLDER -c listen_addresses='' \
            -c fsync=off -c full_page_writes=off -c max_connections=300 -c shared_buffers=64MB" >start.log 2>&1 \
            || { cat start.log server.log; clean; exit 1; }
        echo ready
        while read -r order; do
            [ "$order" = restart ] || continue
            "$PROGRAMS/pg_ctl" restart -w -t 60 -m immediate -D data -l server.log >restart.log 2>&1 \
                && echo ready || cat restart.log
        done
        "$PROGRAMS/pg_ctl" stop -m immediate -D data >/dev/null 2>&1
        clean
    "#;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script])
        .env("PROGRAMS", programs)
        .env("FOLDER", &folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // Ctrl-C is for us; the shell still has to clean up.
        .process_group(0);
    if let Some((uid, gid)) = user {
        shell.uid(uid).gid(gid);
    }
    let mut child = shell.spawn().expect("a shell");
    let mut alive = child.stdin.take().expect("piped");
    let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut log = Vec::new();
    loop {
        match said.next() {
            Some(Ok(line)) if line == "ready" => break,
            Some(Ok(line)) => log.push(line),
            _ => panic!("Postgres does not start:\n{}", log.join("\n")),
        }
    }
    alive.flush().expect("the shell listens");
    let shell = Mutex::new(Shell { orders: alive, said });
    Server {
        folder,
        made: AtomicU32::new(0),
        shell,
        _child: child,
    }
}
