//! The GitHub client against the emulator: the whole of a pass's conversation, and
//! both ways of reading a change side by side.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use http::Method;
use tempfile::TempDir;

use crate::{
    domain::{
        diff::{ChangedFile, FileStatus},
        ids::{InstallationId, PullNumber, RepoId, WorkspaceId},
        review::finding::Side,
        space::{PullRef, PullSnapshot, PullState, RepoRef},
        time::Timestamp,
    },
    emulator::{AppKey, AppRegistration, Config, Edit, Emulator, Fault, OpenPull, Push, When},
    forge::github::{GitHub, GitHubConfig},
    ports::{
        change::{Change, ChangeError},
        clock::Clock,
        forge::{CheckView, Conclusion, Forge, ForgeError, ReviewComment, ReviewEvent, ReviewView},
    },
};

const NOW: i64 = 1_800_000_000_000;
const REPO: &str = "ada/sums";

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp(NOW)
    }
}

struct Stage {
    forge: Emulator,
    key: AppKey,
    app: u64,
    installation: u64,
    repo: u64,
    folder: TempDir,
}

fn numbered(lines: std::ops::RangeInclusive<u32>) -> String {
    lines.map(|n| format!("line {n}\n")).collect()
}

impl Stage {
    async fn open() -> Self {
        let forge = Emulator::start(Config::new(Arc::new(|| NOW))).await.unwrap();
        let people = forge.people();
        people.user("ada");
        people.user("bob");
        let files = [
            Edit::write("src/lib.rs", numbered(1..=40)),
            Edit::write("moved.txt", numbered(1..=20)),
            Edit::write("old.txt", "gone soon\n"),
            Edit::write("image.bin", b"\0\x01\x02".to_vec()),
            Edit::write(".github/jury.toml", "gate = \"required\"\n"),
        ];
        let repo = people.create_private_repo(REPO, &files).unwrap();
        let key = AppKey::generate();
        let app = people
            .register_app(AppRegistration::reviewer("jury", "ada", key.public_pem.clone()))
            .unwrap();
        let installation = people.install(app, "ada", None).unwrap();
        Self {
            forge,
            key,
            app,
            installation,
            repo,
            folder: TempDir::new().unwrap(),
        }
    }

    fn github(&self, mirrors: Option<&Path>) -> GitHub {
        let config = GitHubConfig {
            api_url: self.forge.api_url(),
            app_id: self.app as i64,
            private_key: self.key.private_pem.clone().into(),
            mirrors: mirrors.map(Path::to_owned),
            timeout: GitHubConfig::TIMEOUT,
        };
        GitHub::new(&config, Arc::new(Fixed)).unwrap()
    }

    fn over_git(&self) -> GitHub {
        self.github(Some(&self.folder.path().join("mirrors")))
    }

    fn push(&self, branch: &str, edits: &[Edit]) -> String {
        let push = Push {
            repo: REPO,
            branch,
            by: "ada",
            message: "Change\n",
            edits,
            onto: None,
        };
        self.forge.people().push(push).unwrap()
    }

    fn open_pull(&self) -> PullRef {
        let text = numbered(1..=40)
            .replace("line 3\n", "line three\n")
            .replace("line 20\n", "line 20\nline 20 and a half\n");
        self.push(
            "topic",
            &[
                Edit::write("src/lib.rs", text),
                Edit::rename("moved.txt", "new/place.txt"),
                Edit::remove("old.txt"),
                Edit::write("new file.txt", "a\r\nb\nno end"),
                Edit::write("empty.txt", ""),
                Edit::write("image.bin", b"\0\x03".to_vec()),
            ],
        );
        let number = self.forge.people().open_pull(OpenPull {
            repo: REPO,
            by: "ada",
            title: "Change sums",
            body: None,
            head_repo: None,
            head: "topic",
            base: "main",
            draft: false,
        });
        PullRef {
            repo: self.repo_ref(),
            number: PullNumber(number.unwrap() as i64),
        }
    }

    fn repo_ref(&self) -> RepoRef {
        RepoRef {
            workspace: WorkspaceId::new("127.0.0.1/1"),
            installation: InstallationId(self.installation as i64),
            id: RepoId(self.repo as i64),
            owner: "ada".to_owned(),
            name: "sums".to_owned(),
        }
    }

    /// Method and path of what was asked of the API since `from`.
    fn asked_since(&self, from: usize) -> Vec<String> {
        let record = self.forge.record();
        record[from..]
            .iter()
            .map(|e| format!("{} {}", e.method, e.path))
            .collect()
    }
}

/// What is the same whichever way a change is read.
fn shown(file: &ChangedFile) -> String {
    let lines: Vec<String> = file
        .hunks()
        .iter()
        .flat_map(|hunk| file.lines(hunk))
        .map(|l| {
            format!(
                "{:?}/{:?} {:?} {}",
                l.old,
                l.new,
                l.kind,
                String::from_utf8_lossy(l.text)
            )
        })
        .collect();
    format!(
        "{} {:?} {} binary={} unseen={:?}\n{}",
        file.path,
        file.old_path,
        file.status,
        file.binary,
        file.unseen,
        lines.join("\n")
    )
}

fn all(change: &dyn Change) -> BTreeSet<String> {
    change.files().iter().map(shown).collect()
}

async fn opened(github: &GitHub, pull: &PullRef) -> (PullSnapshot, Box<dyn Change>) {
    let snapshot = github.pull(pull).await.unwrap();
    let change = github.change(pull, &snapshot).await.unwrap();
    (snapshot, change)
}

#[tokio::test]
async fn git_and_the_api_show_the_same_change() {
    let stage = Stage::open().await;
    let pull = stage.open_pull();
    let (snapshot, by_git) = opened(&stage.over_git(), &pull).await;
    let (_, by_api) = opened(&stage.github(None), &pull).await;
    assert_eq!(snapshot.state, PullState::Open);
    assert!(by_git.coverage().is_complete(), "{:?}", by_git.coverage());
    assert!(by_api.coverage().is_complete(), "{:?}", by_api.coverage());
    assert_eq!(all(&*by_git), all(&*by_api));
    assert_eq!(by_git.merge_base(), by_api.merge_base());
    assert_eq!(by_git.head(), Some(&snapshot.head));
    assert_eq!(by_api.head(), Some(&snapshot.head));
    let renamed = by_api
        .files()
        .iter()
        .find(|f| f.status == FileStatus::Renamed)
        .unwrap();
    assert_eq!(renamed.old_path.as_deref(), Some("moved.txt"));
    for (side, path) in [
        (Side::Right, "src/lib.rs"),
        (Side::Left, "src/lib.rs"),
        (Side::Left, "old.txt"),
        (Side::Right, "old.txt"),
        (Side::Right, "new file.txt"),
        (Side::Right, "empty.txt"),
        (Side::Right, "image.bin"),
        (Side::Right, "new"),
        (Side::Right, "new/place.txt"),
        (Side::Right, "../etc/passwd"),
        (Side::Right, ""),
        (Side::Right, "/"),
        (Side::Right, "/etc/passwd"),
        (Side::Right, "src//lib.rs"),
        (Side::Right, "src/./lib.rs"),
        (Side::Right, "src/lib.rs/"),
        (Side::Right, ":!src/lib.rs"),
        (Side::Right, ":(top)src/lib.rs"),
        (Side::Right, "src/*.rs"),
        (Side::Right, "-r"),
    ] {
        let (git, api) = (
            by_git.read(side, path).await.unwrap(),
            by_api.read(side, path).await.unwrap(),
        );
        assert_eq!(git, api, "{side} {path}");
    }
    assert_eq!(
        by_api.read(Side::Right, "new file.txt").await.unwrap().unwrap(),
        b"a\r\nb\nno end"
    );
    assert_eq!(by_api.read(Side::Right, "old.txt").await.unwrap(), None);
}

#[tokio::test]
async fn policy_and_merge_base_are_of_the_base_branch_as_it_is_now() {
    let stage = Stage::open().await;
    let pull = stage.open_pull();
    stage.push(
        "main",
        &[Edit::write(".github/jury.toml", "gate = \"advisory\"\n")],
    );
    for github in [stage.over_git(), stage.github(None)] {
        let (_, change) = opened(&github, &pull).await;
        let policy = change.read_base_tip(".github/jury.toml").await.unwrap().unwrap();
        assert_eq!(policy, b"gate = \"advisory\"\n");
        assert!(change.files().iter().all(|f| f.path != ".github/jury.toml"));
        assert_eq!(change.read_base_tip("not/there").await.unwrap(), None);
        let earlier = change.merge_base().clone();
        let then = change
            .read_at(&earlier, ".github/jury.toml")
            .await
            .unwrap()
            .unwrap();
        assert_eq!(then, b"gate = \"required\"\n");
        let nowhere = "0123456789012345678901234567890123456789".parse().unwrap();
        assert_eq!(change.read_at(&nowhere, "src/lib.rs").await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_link_is_no_policy_and_reads_as_its_target() {
    let stage = Stage::open().await;
    let pull = stage.open_pull();
    let link = |path: &str, to: &str| Edit::Write {
        path: path.to_owned(),
        content: to.into(),
        mode: "120000",
    };
    stage.push(
        "main",
        &[
            Edit::write("real.toml", "gate = \"advisory\"\n"),
            link(".github/jury.toml", "../real.toml"),
        ],
    );
    for github in [stage.over_git(), stage.github(None)] {
        let (_, change) = opened(&github, &pull).await;
        let error = change.read_base_tip(".github/jury.toml").await.unwrap_err();
        assert!(
            matches!(&error, ChangeError::User(words) if words.contains("is a symbolic link")),
            "{error:?}"
        );
        let tip = change.read_base_tip("real.toml").await.unwrap();
        assert!(tip.is_some());
    }
}

#[tokio::test]
async fn a_forge_that_serves_no_git_is_read_over_the_api() {
    let stage = Stage::open().await;
    let pull = stage.open_pull();
    for status in [403, 404] {
        let github = stage.github(Some(&stage.folder.path().join(status.to_string())));
        let snapshot = github.pull(&pull).await.unwrap();
        stage
            .forge
            .fail_next(Method::GET, "/ada/sums.git", Fault::status(status, When::Before));
        let change = github.change(&pull, &snapshot).await.unwrap();
        assert!(change.coverage().is_complete());
        assert_eq!(change.files().len(), 6);
        assert_eq!(stage.forge.faults_waiting(), 0);
    }
}

#[tokio::test]
async fn a_forge_whose_git_is_down_for_now_is_asked_again_and_not_read_worse() {
    let stage = Stage::open().await;
    let pull = stage.open_pull();
    let github = stage.over_git();
    let snapshot = github.pull(&pull).await.unwrap();
    stage
        .forge
        .fail_next(Method::GET, "/ada/sums.git", Fault::status(503, When::Before));
    let error = github.change(&pull, &snapshot).await.err().expect("git is down");
    assert!(matches!(error, ChangeError::Later { .. }), "{error:?}");
    github.change(&pull, &snapshot).await.unwrap();
}

#[tokio::test]
async fn reading_a_pull_request_over_git_costs_two_requests_to_the_api() {
    let stage = Stage::open().await;
    let pull = stage.open_pull();
    let github = stage.over_git();
    github.identify().await.unwrap();
    github.pull(&pull).await.unwrap();
    let from = stage.forge.record().len();
    let (_, change) = opened(&github, &pull).await;
    change.read(Side::Right, "src/lib.rs").await.unwrap();
    change.read_base_tip(".github/jury.toml").await.unwrap();
    assert_eq!(
        stage.asked_since(from),
        [
            format!("GET /repos/ada/sums/pulls/{}", pull.number),
            "GET /repos/ada/sums/git/ref/heads/main".to_owned(),
        ]
    );
}

#[tokio::test]
async fn a_verdict_is_said_found_again_and_taken_back() {
    let stage = Stage::open().await;
    let pull = stage.open_pull();
    let github = stage.over_git();
    let snapshot = github.pull(&pull).await.unwrap();
    let view = |conclusion| CheckView {
        conclusion,
        title: "Jury".to_owned(),
        summary: "what was proved".to_owned(),
        details_url: "http://127.0.0.1/space".to_owned(),
    };
    let repo = &pull.repo;
    let check = github
        .create_check(repo, &snapshot.head, "jury", "pass-1", &view(None))
        .await
        .unwrap();
    let runs = github.check_runs(repo, &snapshot.head, "jury").await.unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].id, runs[0].conclusion.as_deref()), (check, None));
    assert_eq!(runs[0].external_id, "pass-1");
    github
        .update_check(repo, check, &view(Some(Conclusion::Failure)))
        .await
        .unwrap();
    let runs = github.check_runs(repo, &snapshot.head, "jury").await.unwrap();
    assert_eq!(runs[0].conclusion.as_deref(), Some("failure"));
    assert_eq!(
        github.check_runs(repo, &snapshot.head, "other").await.unwrap(),
        []
    );

    let mut review = ReviewView {
        commit: snapshot.head.clone(),
        event: ReviewEvent::RequestChanges,
        body: "no <!-- jury:pass-1 -->".to_owned(),
        comments: vec![ReviewComment {
            path: "src/lib.rs".to_owned(),
            line: 999,
            side: Side::Right,
            start_line: None,
            body: "here".to_owned(),
        }],
    };
    // A05: one comment outside the diff refuses the whole review.
    let error = github.submit_review(&pull, &review).await.unwrap_err();
    assert!(
        matches!(&error, ForgeError::Refused(words) if words.iter().any(|w| w.contains("must be part of the diff"))),
        "{error:?}"
    );
    assert_eq!(github.own_reviews(&pull).await.unwrap(), []);
    review.comments[0].line = 3;
    let id = github.submit_review(&pull, &review).await.unwrap();
    let own = github.own_reviews(&pull).await.unwrap();
    assert_eq!((own[0].id, own[0].state.as_str()), (id, "CHANGES_REQUESTED"));
    assert_eq!(own[0].body, review.body);
    github.dismiss_review(&pull, id, "it is mended").await.unwrap();
    assert_eq!(github.own_reviews(&pull).await.unwrap()[0].state, "DISMISSED");
}

#[tokio::test]
async fn installations_come_and_go() {
    let stage = Stage::open().await;
    let pull = stage.open_pull();
    let github = stage.over_git();
    let installations = github.installations().await.unwrap();
    assert_eq!(installations.len(), 1);
    assert_eq!(installations[0].account.login, "ada");
    let repos = github.repositories(installations[0].id).await.unwrap();
    assert_eq!((repos[0].id, repos[0].name.as_str()), (pull.repo.id, "sums"));
    let pulls = github.open_pulls(&pull.repo).await.unwrap();
    assert_eq!(pulls, [(pull.clone(), github.pull(&pull).await.unwrap())]);

    stage.forge.people().suspend(stage.installation).unwrap();
    let suspended = github.pull(&pull).await.unwrap_err();
    assert!(matches!(suspended, ForgeError::Closed(_)), "{suspended}");
    stage.forge.people().unsuspend(stage.installation).unwrap();
    github.pull(&pull).await.unwrap();
    stage.forge.people().uninstall(stage.installation).unwrap();
    let gone = github.pull(&pull).await.unwrap_err();
    assert!(matches!(gone, ForgeError::Closed(_)), "{gone}");
}

#[tokio::test]
async fn l28_a_renamed_repository_is_still_ours_by_its_old_name() {
    let stage = Stage::open().await;
    let pull = stage.open_pull();
    stage.forge.people().rename_repo(REPO, "totals", "ada").unwrap();
    let github = stage.over_git();
    let snapshot = github.pull(&pull).await.unwrap();
    let review = ReviewView {
        commit: snapshot.head.clone(),
        event: ReviewEvent::Comment,
        body: "still here".to_owned(),
        comments: vec![],
    };
    github.submit_review(&pull, &review).await.unwrap();
    let change = github.change(&pull, &snapshot).await.unwrap();
    assert!(change.coverage().is_complete());
}
