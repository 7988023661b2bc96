-- Schema 3: hosts with their tokens, projects with services, releases, replicas, deployments, the places of networks and
-- volumes, files and credentials. Identifiers are the protocol's texts; documents that are only read whole are JSON.

CREATE TABLE host (
    id            TEXT    PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE,
    machine_id    TEXT    NOT NULL UNIQUE,
    instance_id   TEXT    NOT NULL,
    wg_public_key TEXT    NOT NULL UNIQUE,
    mesh_ip       TEXT    NOT NULL UNIQUE,
    labels        TEXT    NOT NULL,
    facts         TEXT    NOT NULL,
    agent_version TEXT    NOT NULL,
    mode          TEXT    NOT NULL,
    allowed_paths TEXT    NOT NULL,
    adopting      INTEGER NOT NULL,
    generation    INTEGER NOT NULL,
    boot_id       TEXT    NOT NULL,
    ratchet       TEXT    NOT NULL,
    joined_at     INTEGER NOT NULL,
    last_seen     INTEGER,
    version       INTEGER NOT NULL
) WITHOUT ROWID;

-- The SHA-256 of a host's token and nothing else of it (JOIN-6). valid_until: one that was replaced.
CREATE TABLE host_token (
    sha256       BLOB    PRIMARY KEY,
    host_id      TEXT    NOT NULL REFERENCES host (id) ON DELETE CASCADE,
    created_at   INTEGER NOT NULL,
    confirmed_at INTEGER,
    valid_until  INTEGER
) WITHOUT ROWID;

CREATE INDEX host_token_by_host ON host_token (host_id);

CREATE TABLE join_token (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256     BLOB    NOT NULL UNIQUE,
    host_name  TEXT    NOT NULL,
    for_host   TEXT,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    used_at    INTEGER,
    used_by    TEXT
);

-- The last lines of hosts themselves; kept when a host is away.
CREATE TABLE host_log (
    host_id TEXT    NOT NULL REFERENCES host (id) ON DELETE CASCADE,
    id      INTEGER NOT NULL,
    line    TEXT    NOT NULL,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;

CREATE TABLE project (
    id         TEXT    PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    networks   TEXT    NOT NULL,
    volumes    TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    version    INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE service (
    id         TEXT    PRIMARY KEY,
    project_id TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name       TEXT    NOT NULL,
    current    TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
) WITHOUT ROWID;

-- Never changed after it was written.
CREATE TABLE service_release (
    id             TEXT    PRIMARY KEY,
    service_id     TEXT    NOT NULL REFERENCES service (id) ON DELETE CASCADE,
    number         INTEGER NOT NULL,
    spec           TEXT    NOT NULL,
    files          TEXT    NOT NULL,
    container_hash TEXT    NOT NULL,
    author         TEXT    NOT NULL,
    message        TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    UNIQUE (service_id, number)
) WITHOUT ROWID;

CREATE TABLE replica (
    id             TEXT    PRIMARY KEY,
    service_id     TEXT    NOT NULL REFERENCES service (id) ON DELETE CASCADE,
    project_id     TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    release_id     TEXT    NOT NULL,
    host_id        TEXT    NOT NULL REFERENCES host (id),
    number         INTEGER NOT NULL,
    phase          TEXT    NOT NULL,
    phase_since    INTEGER NOT NULL,
    addresses      TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    report         TEXT,
    reported_since INTEGER
) WITHOUT ROWID;

CREATE INDEX replica_by_project ON replica (project_id);
CREATE INDEX replica_by_host ON replica (host_id);

CREATE TABLE network_place (
    id         TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    host_id    TEXT NOT NULL REFERENCES host (id),
    spec       TEXT NOT NULL,
    subnet     TEXT NOT NULL,
    last_ip    TEXT
) WITHOUT ROWID;

CREATE INDEX network_place_by_host ON network_place (host_id);
CREATE INDEX network_place_by_project ON network_place (project_id);

CREATE TABLE volume_place (
    id         TEXT    PRIMARY KEY,
    project_id TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    host_id    TEXT    NOT NULL REFERENCES host (id),
    spec       TEXT    NOT NULL,
    doomed     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX volume_place_by_project ON volume_place (project_id);

CREATE TABLE deployment (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id  TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    state       TEXT    NOT NULL,
    reason      TEXT,
    created_by  TEXT    NOT NULL,
    message     TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER
);

CREATE INDEX deployment_by_project ON deployment (project_id, id);

CREATE TABLE deployment_item (
    deployment_id INTEGER NOT NULL REFERENCES deployment (id) ON DELETE CASCADE,
    place         INTEGER NOT NULL,
    service_id    TEXT    NOT NULL,
    from_release  TEXT,
    to_release    TEXT,
    outcome       TEXT    NOT NULL,
    reason        TEXT,
    PRIMARY KEY (deployment_id, place)
) WITHOUT ROWID;

CREATE INDEX deployment_item_by_service ON deployment_item (service_id);

-- Secrets and configurations of projects, every version; the contents are sealed like other secrets.
CREATE TABLE project_file (
    id         TEXT    PRIMARY KEY,
    project_id TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    sha256     BLOB    NOT NULL,
    size_bytes INTEGER NOT NULL,
    key_id     TEXT    NOT NULL,
    ciphertext BLOB    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    removed_at INTEGER,
    UNIQUE (project_id, kind, name, number)
) WITHOUT ROWID;

CREATE TABLE registry_credential (
    registry   TEXT    PRIMARY KEY,
    username   TEXT    NOT NULL,
    key_id     TEXT    NOT NULL,
    ciphertext BLOB    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;
