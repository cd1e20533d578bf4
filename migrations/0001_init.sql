-- The first schema. One text for SQLite and Postgres: only TEXT, BIGINT,
-- DOUBLE PRECISION, BOOLEAN and BYTEA; times are milliseconds since the epoch;
-- what must stay byte for byte (JSON of ours) is BYTEA.

CREATE TABLE workspace (
    id TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    account BIGINT NOT NULL,
    login TEXT NOT NULL
);

CREATE TABLE installation (
    id BIGINT PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspace (id),
    state TEXT NOT NULL CHECK (state IN ('active', 'suspended', 'deleted'))
);

-- A repository that an installation lost stays, unreachable: its spaces are history.
CREATE TABLE repo (
    workspace TEXT NOT NULL REFERENCES workspace (id),
    id BIGINT NOT NULL,
    installation BIGINT NOT NULL REFERENCES installation (id),
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    reachable BOOLEAN NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX repo_of_installation ON repo (installation);

-- The columns of a pull request are NULL in a room that has none.
CREATE TABLE space (
    id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspace (id),
    kind TEXT NOT NULL CHECK (kind IN ('pull_request', 'room')),
    mode TEXT NOT NULL CHECK (mode IN ('chat', 'review', 'plan', 'orchestrate')),
    rev BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    repo BIGINT,
    number BIGINT,
    title TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'closed')),
    draft BOOLEAN NOT NULL,
    head TEXT,
    base_ref TEXT,
    base TEXT,
    author TEXT,
    by_app BOOLEAN NOT NULL,
    html_url TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    FOREIGN KEY (workspace, repo) REFERENCES repo (workspace, id),
    CHECK (kind <> 'pull_request' OR (repo IS NOT NULL AND number IS NOT NULL
        AND head IS NOT NULL AND base_ref IS NOT NULL AND base IS NOT NULL))
);
CREATE UNIQUE INDEX space_of_pull ON space (workspace, repo, number);
CREATE INDEX space_open ON space (workspace, repo, number) WHERE state = 'open';
CREATE INDEX space_open_on_head ON space (workspace, repo, head, number) WHERE state = 'open';

CREATE TABLE pass (
    id TEXT PRIMARY KEY,
    space TEXT NOT NULL REFERENCES space (id),
    rev BIGINT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('review', 'carried', 'group')),
    head TEXT NOT NULL,
    merge_base TEXT,
    gate TEXT CHECK (gate IN ('required', 'advisory')),
    started_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    outcome TEXT CHECK (outcome IN ('finalized', 'superseded', 'timed_out', 'broken', 'closed')),
    note TEXT,
    coverage BYTEA,
    snapshot BYTEA,
    finished_at BIGINT
);
CREATE UNIQUE INDEX pass_of_rev ON pass (space, rev);
CREATE INDEX pass_unended ON pass (space) WHERE outcome IS NULL;
CREATE INDEX pass_finalized ON pass (space, rev) WHERE outcome = 'finalized';

CREATE TABLE contribution (
    pass TEXT NOT NULL REFERENCES pass (id),
    reviewer TEXT NOT NULL,
    axis TEXT NOT NULL,
    state TEXT NOT NULL,
    note TEXT,
    PRIMARY KEY (pass, reviewer)
);

-- `priority` and `confidence` are checked where they are read: a row in which
-- either is missing or out of range is dropped and counted there.
CREATE TABLE finding (
    id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspace (id),
    space TEXT NOT NULL REFERENCES space (id),
    first_pass TEXT NOT NULL REFERENCES pass (id),
    last_pass TEXT NOT NULL REFERENCES pass (id),
    fingerprint TEXT NOT NULL,
    kind TEXT NOT NULL,
    priority TEXT,
    confidence DOUBLE PRECISION,
    axis TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    suggestion TEXT,
    anchor_path TEXT,
    anchor_side TEXT,
    anchor_start BIGINT,
    anchor_end BIGINT,
    quote TEXT,
    provenance TEXT NOT NULL,
    author TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'consensus_ready', 'disputed', 'resolved', 'dismissed', 'waived')),
    status_pass TEXT REFERENCES pass (id),
    status_at BIGINT NOT NULL,
    advisory BOOLEAN NOT NULL,
    filed_at BIGINT NOT NULL,
    published_in TEXT REFERENCES pass (id)
);
CREATE INDEX finding_of_space ON finding (space, filed_at, id);
CREATE UNIQUE INDEX finding_live ON finding (space, fingerprint)
    WHERE status IN ('open', 'consensus_ready', 'disputed');
CREATE INDEX finding_unpublished ON finding (space) WHERE published_in IS NULL;

CREATE TABLE vote (
    finding TEXT NOT NULL REFERENCES finding (id),
    voter TEXT NOT NULL,
    model TEXT,
    confirms BOOLEAN NOT NULL,
    evidence TEXT NOT NULL,
    voted_at BIGINT NOT NULL,
    PRIMARY KEY (finding, voter)
);

-- What a check run should show (`want`, `want_rev`) against what it shows (`sent_rev`).
CREATE TABLE check_run (
    workspace TEXT NOT NULL,
    repo BIGINT NOT NULL,
    sha TEXT NOT NULL,
    name TEXT NOT NULL,
    want BYTEA NOT NULL,
    want_completed BOOLEAN NOT NULL,
    want_rev BIGINT NOT NULL,
    sent_rev BIGINT NOT NULL DEFAULT 0,
    generation BIGINT NOT NULL DEFAULT 0,
    external_id TEXT,
    forge_id BIGINT,
    completed BOOLEAN NOT NULL DEFAULT FALSE,
    intent_at BIGINT,
    PRIMARY KEY (workspace, repo, sha, name),
    FOREIGN KEY (workspace, repo) REFERENCES repo (workspace, id)
);
CREATE INDEX check_run_unsent ON check_run (workspace, repo) WHERE want_rev > sent_rev;
CREATE INDEX check_run_in_progress ON check_run (workspace, repo) WHERE want_completed = FALSE;

CREATE TABLE review (
    pass TEXT PRIMARY KEY REFERENCES pass (id),
    space TEXT NOT NULL REFERENCES space (id),
    want BYTEA NOT NULL,
    event TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('wanted', 'sending', 'sent', 'dropped')),
    intent_at BIGINT,
    forge_id BIGINT,
    reason TEXT,
    dismissed_at BIGINT
);
CREATE INDEX review_of_space ON review (space);
CREATE INDEX review_unsent ON review (pass) WHERE state IN ('wanted', 'sending');

-- `due_at`: when a ready job may start, when a running one's lease ends; NULL in a dead letter.
CREATE TABLE job (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('ready', 'running', 'dead')),
    due_at BIGINT,
    attempts BIGINT NOT NULL,
    claim TEXT,
    error TEXT,
    PRIMARY KEY (kind, key, state)
);
CREATE INDEX job_due ON job (due_at, kind, key, state) WHERE due_at IS NOT NULL;

-- `due_at` as in `job`; NULL once done or dead.
CREATE TABLE delivery (
    id TEXT PRIMARY KEY,
    seq BIGINT NOT NULL,
    event TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'dead')),
    due_at BIGINT,
    attempts BIGINT NOT NULL,
    requeued BIGINT NOT NULL,
    claim TEXT,
    error TEXT
);
-- Apart from the row that changes with every claim: SQLite would write it anew each time.
CREATE TABLE delivery_body (
    id TEXT PRIMARY KEY REFERENCES delivery (id) ON DELETE CASCADE,
    body BYTEA NOT NULL
);
CREATE INDEX delivery_due ON delivery (seq, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_dead ON delivery (seq) WHERE state = 'dead';
CREATE INDEX delivery_ended ON delivery (received_at) WHERE due_at IS NULL;

-- Secrets that belong to this database, made once.
CREATE TABLE server_key (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);
