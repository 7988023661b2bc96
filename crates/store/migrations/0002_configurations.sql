-- Schema 2: configurations with their revisions, assignments, overrides, labels and views; API tokens, the audit
-- trail and answers kept for repeated requests. Agents gain what the server last decided about their configuration.

-- Numbers of what is removed are never given again: the audit trail and agents that are away speak of them.
CREATE TABLE config (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL UNIQUE,
    description TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    version     INTEGER NOT NULL
);

-- Never changed after it was written. hash is the config_hash that agents report back.
CREATE TABLE config_revision (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    config_id  INTEGER NOT NULL REFERENCES config (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    author     TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    hash       BLOB    NOT NULL,
    UNIQUE (config_id, number)
);

CREATE TABLE config_file (
    id           INTEGER PRIMARY KEY,
    revision_id  INTEGER NOT NULL REFERENCES config_revision (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    content_type TEXT    NOT NULL,
    body         BLOB    NOT NULL,
    UNIQUE (revision_id, name)
);

-- Who matches the selector gets the settled revision; who was granted another one by a rollout gets that.
CREATE TABLE assignment (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    config_id        INTEGER NOT NULL REFERENCES config (id),
    selector         TEXT    NOT NULL,
    priority         INTEGER NOT NULL,
    state            TEXT    NOT NULL,
    settled_revision INTEGER REFERENCES config_revision (id),
    target_revision  INTEGER REFERENCES config_revision (id),
    batch_percent    INTEGER NOT NULL,
    batch_size       INTEGER NOT NULL,
    batches          INTEGER NOT NULL,
    pause_kind       TEXT,
    pause_agent      BLOB,
    pause_text       TEXT,
    created_by       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    version          INTEGER NOT NULL
);

CREATE INDEX assignment_by_config ON assignment (config_id);

-- What rollouts gave to single agents. batch counts within the rollout; forgiven: an operator resumed in spite of
-- this agent's fault.
CREATE TABLE assignment_grant (
    assignment_id INTEGER NOT NULL REFERENCES assignment (id) ON DELETE CASCADE,
    uid           BLOB    NOT NULL,
    revision_id   INTEGER NOT NULL REFERENCES config_revision (id),
    batch         INTEGER NOT NULL,
    was_healthy   INTEGER NOT NULL,
    forgiven      INTEGER NOT NULL,
    granted_at    INTEGER NOT NULL,
    PRIMARY KEY (assignment_id, uid)
) WITHOUT ROWID;

CREATE INDEX assignment_grant_by_uid ON assignment_grant (uid);

CREATE TABLE agent_override (
    uid         BLOB    PRIMARY KEY,
    revision_id INTEGER NOT NULL REFERENCES config_revision (id),
    created_by  TEXT    NOT NULL,
    created_at  INTEGER NOT NULL
) WITHOUT ROWID;

-- What was decided about an agent's configuration when it was heard last: lists filter and count by it.
CREATE TABLE agent_config (
    agent_id      INTEGER PRIMARY KEY REFERENCES agent (id) ON DELETE CASCADE,
    state         INTEGER NOT NULL,
    assignment_id INTEGER,
    revision_id   INTEGER,
    reason        TEXT    NOT NULL
);

CREATE INDEX agent_config_by_state ON agent_config (state);
CREATE INDEX agent_config_by_revision ON agent_config (revision_id);

CREATE TABLE agent_label (
    uid   BLOB NOT NULL,
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (uid, key)
) WITHOUT ROWID;

CREATE TABLE saved_view (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    query      TEXT    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL
);

ALTER TABLE account ADD COLUMN disabled_at INTEGER;
ALTER TABLE account ADD COLUMN version INTEGER NOT NULL DEFAULT 1;

CREATE TABLE api_token (
    id           INTEGER PRIMARY KEY,
    label        TEXT    NOT NULL,
    role         TEXT    NOT NULL,
    sha256       BLOB    NOT NULL UNIQUE,
    created_by   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
);

-- Only ever added to. before and after are JSON with secrets masked.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    actor_kind TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    object     TEXT    NOT NULL,
    before     TEXT,
    after      TEXT
);

CREATE INDEX audit_by_object ON audit (object, id);
CREATE INDEX audit_by_actor ON audit (actor, id);
CREATE INDEX audit_by_time ON audit (at);

-- The answer to a request that carried an Idempotency-Key; status 0: it is being worked on.
CREATE TABLE idempotency (
    actor      TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    request    BLOB    NOT NULL,
    status     INTEGER NOT NULL,
    answer     BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (actor, key)
) WITHOUT ROWID;

CREATE INDEX idempotency_by_time ON idempotency (created_at);
