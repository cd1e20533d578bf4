-- Rows as schema 1 knows them: at least one in every table.
INSERT INTO workspace (id, host, account, login) VALUES ('forge.example/1', 'forge.example', 1, 'owner');
INSERT INTO installation (id, workspace, state) VALUES (10, 'forge.example/1', 'active');
INSERT INTO repo (workspace, id, installation, owner, name, reachable) VALUES ('forge.example/1', 2, 10, 'owner', 'repo', TRUE);
INSERT INTO space (id, workspace, kind, mode, rev, created_at, repo, number, title, state, draft, head, base_ref, base, author, by_app, html_url, updated_at)
    VALUES ('space-1', 'forge.example/1', 'pull_request', 'review', 1, 1, 2, 3, 'A title', 'open', FALSE, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'main', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'human:7', FALSE, 'https://forge.example/3', 5);
INSERT INTO space (id, workspace, kind, mode, rev, created_at, title, state, draft, by_app, html_url, updated_at)
    VALUES ('room-1', 'forge.example/1', 'room', 'chat', 1, 1, 'A room', 'open', FALSE, FALSE, '', 5);
INSERT INTO pass (id, space, rev, origin, head, started_at, deadline_at) VALUES ('pass-1', 'space-1', 1, 'review', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 1, 900);
INSERT INTO contribution (pass, reviewer, axis, state, note) VALUES ('pass-1', 'secrets', 'security', 'complete', NULL);
INSERT INTO finding (id, workspace, space, first_pass, last_pass, fingerprint, kind, priority, confidence, axis, title, body, provenance, author, status, status_at, advisory, filed_at)
    VALUES ('finding-1', 'forge.example/1', 'space-1', 'pass-1', 'pass-1', 'print', 'bug', 'p0', 0.9, 'security', 'A key', 'Take it out.', 'rule:secrets/generic', 'analyzer:secrets', 'open', 1, FALSE, 1);
INSERT INTO vote (finding, voter, model, confirms, evidence, voted_at) VALUES ('finding-1', 'verifier:jury', NULL, TRUE, 'read', 2);
INSERT INTO check_run (workspace, repo, sha, name, want, want_completed, want_rev) VALUES ('forge.example/1', 2, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'jury', BYTES'7b7d', FALSE, 1);
INSERT INTO review (pass, space, want, event, state) VALUES ('pass-1', 'space-1', BYTES'7b7d', 'COMMENT', 'wanted');
INSERT INTO job (kind, key, state, due_at, attempts) VALUES ('review_space', 'space-1', 'ready', 1, 0);
-- The body is empty JSON, `{}`, as an lz4 block with its length in front.
INSERT INTO delivery (id, seq, event, received_at, state, due_at, attempts, requeued) VALUES ('delivery-1', 1, 'ping', 1, 'queued', 1, 0, 0);
INSERT INTO delivery_body (id, body) VALUES ('delivery-1', BYTES'02000000207b7d');
INSERT INTO server_key (name, value) VALUES ('fingerprint', BYTES'4141414141414141414141414141414141414141414141414141414141414141');
