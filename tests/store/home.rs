//! A database of one's own and the things that live in it.

use jury::{
    domain::{
        event::Account,
        ids::{AccountId, FindingId, InstallationId, PassId, PullNumber, RepoId, Sha, SpaceId, WorkspaceId},
        principal::{Principal, PrincipalKind},
        review::{
            axis::{AxisResult, AxisState},
            finding::{Anchor, Axis, Confidence, Finding, Kind, Priority, Provenance, Side, Status, Vote},
            pass::{Origin, Pass},
            snapshot::{FindingSnapshot, PassSnapshot, Verdict},
        },
        space::{Mode, PullRef, PullSnapshot, PullState, RepoRef, Space},
        time::Timestamp,
    },
    store::{Db, InstallationState, Schema, Task, Tx},
};

/// A database of one's own.
pub(crate) struct Home {
    pub(crate) db: Db,
    pub(crate) place: String,
    _folder: Option<tempfile::TempDir>,
}

impl Home {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("jury.db").to_str().unwrap().to_owned();
        let db = Db::open(&place, Schema::Migrate).await.unwrap();
        Self {
            db,
            place,
            _folder: Some(folder),
        }
    }

    pub(crate) async fn postgres() -> Self {
        let place = crate::postgres::database().await;
        let db = Db::open(&place, Schema::Migrate).await.unwrap();
        Self {
            db,
            place,
            _folder: None,
        }
    }

    /// Another process on the same database.
    pub(crate) async fn another(&self) -> Db {
        Db::open(&self.place, Schema::Migrate).await.unwrap()
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self.db, Db::Lite { .. })
    }

    /// Runs SQL as it is; each statement takes effect by itself.
    pub(crate) async fn sql(&self, sql: &str) {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match &self.db {
            Db::Lite { write, .. } => drop(sqlx::raw_sql(sql).execute(write).await.unwrap()),
            Db::Pg(pool) => drop(sqlx::raw_sql(sql).execute(pool).await.unwrap()),
        }
    }

    /// One number.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match &self.db {
            Db::Lite { write, .. } => sqlx::query_scalar(sql).fetch_one(write).await.unwrap(),
            Db::Pg(pool) => sqlx::query_scalar(sql).fetch_one(pool).await.unwrap(),
        }
    }

    /// A pull request's room in a repository of its own kind, stored.
    pub(crate) async fn room(&self, workspace: i64, repo: i64, number: i64) -> Space {
        let mut tx = self.db.write().await.unwrap();
        let space = room(&mut tx, workspace, repo, number).await;
        tx.commit().await.unwrap();
        space
    }

    /// The pass of the space's present revision, opened.
    pub(crate) async fn pass(&self, space: &Space) -> Pass {
        let pass = pass(space);
        let mut tx = self.db.write().await.unwrap();
        assert!(tx.open_pass(&pass).await.unwrap());
        tx.commit().await.unwrap();
        pass
    }
}

/// A review of the space of that name.
pub(crate) fn task(space: &str) -> Task {
    Task::ReviewSpace(SpaceId::new(space))
}

pub(crate) fn sha(digit: char) -> Sha {
    digit.to_string().repeat(40).parse().unwrap()
}

pub(crate) fn person(id: i64) -> Principal {
    Principal::new(PrincipalKind::Human, id.to_string())
}

pub(crate) fn repo_ref(workspace: i64, repo: i64) -> RepoRef {
    RepoRef {
        workspace: WorkspaceId::new(format!("forge.example/{workspace}")),
        installation: InstallationId(workspace * 10),
        id: RepoId(repo),
        owner: format!("owner{workspace}"),
        name: format!("repo{repo}"),
    }
}

/// Makes the workspace, its installation and the repository known.
pub(crate) async fn repo(tx: &mut Tx, workspace: i64, repo: i64) -> RepoRef {
    let repo = repo_ref(workspace, repo);
    let account = Account {
        id: AccountId(workspace),
        login: repo.owner.clone(),
    };
    tx.upsert_workspace(&repo.workspace, "forge.example", &account)
        .await
        .unwrap();
    assert!(
        tx.put_installation(repo.installation, &repo.workspace, InstallationState::Active)
            .await
            .unwrap()
    );
    tx.upsert_repo(&repo).await.unwrap();
    repo
}

pub(crate) async fn room(tx: &mut Tx, workspace: i64, repo_id: i64, number: i64) -> Space {
    let repo = repo(tx, workspace, repo_id).await;
    let space = Space {
        id: SpaceId::new(format!("space-{workspace}-{repo_id}-{number}")),
        mode: Mode::Review,
        pull: PullRef {
            repo,
            number: PullNumber(number),
        },
        rev: 1,
        snapshot: snapshot('a'),
    };
    assert!(tx.insert_space(&space, Timestamp(5)).await.unwrap());
    space
}

pub(crate) fn snapshot(head: char) -> PullSnapshot {
    PullSnapshot {
        title: format!("Change {head}"),
        state: PullState::Open,
        draft: false,
        head: sha(head),
        base_ref: "main".into(),
        base: sha('0'),
        author: Some(person(7)),
        by_app: false,
        html_url: "https://forge.example/pull/1".into(),
        updated_at: Timestamp(1_000),
    }
}

pub(crate) fn pass(space: &Space) -> Pass {
    Pass {
        id: PassId::new(format!("pass-{}-{}", space.id, space.rev)),
        space: space.id.clone(),
        rev: space.rev,
        origin: Origin::Review,
        head: space.snapshot.head.clone(),
        merge_base: None,
        gate: None,
        started_at: Timestamp(10),
        deadline_at: Timestamp(10_000 + space.rev),
        outcome: None,
        note: None,
        coverage: None,
        snapshot: None,
        finished_at: None,
    }
}

pub(crate) fn finding(id: &str, fingerprint: &str) -> Finding {
    Finding {
        id: FindingId::new(id),
        fingerprint: fingerprint.into(),
        kind: Kind::Bug,
        priority: Priority::P1,
        confidence: Confidence::new(0.85).unwrap(),
        axis: Axis::Security,
        title: format!("Finding {id}"),
        body: "Because.".into(),
        suggestion: None,
        anchor: Some(Anchor {
            path: "src/main.rs".into(),
            side: Side::Right,
            start_line: 3,
            end_line: 4,
        }),
        quote: Some("let key = …;".into()),
        provenance: Provenance::Rule("secrets/generic".into()),
        author: Principal::new(PrincipalKind::Analyzer, "secrets"),
        status: Status::Open,
        votes: Vec::new(),
        advisory: false,
        filed_at: Timestamp(100),
    }
}

pub(crate) fn vote(voter: Principal, confirms: bool) -> Vote {
    Vote {
        voter,
        model: None,
        confirms,
        evidence: "read the blob".into(),
    }
}

pub(crate) fn pass_snapshot(findings: &[Finding]) -> PassSnapshot {
    PassSnapshot {
        head_sha: Some(sha('a')),
        verdict: Verdict::Hold,
        confidence: 0.1 + 0.2,
        gate: jury::domain::policy::Gate::Required,
        axes: vec![AxisResult {
            axis: Axis::Security,
            state: AxisState::Warn,
            gated: true,
            note: None,
        }],
        findings: findings.iter().map(FindingSnapshot::from).collect(),
    }
}
