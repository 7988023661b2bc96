-- Schema 1: agents with their reports and attributes, credentials, users, sessions, sealed secrets, settings.
-- Times are milliseconds since 1970. Texts are UTF-8. Numbers that OpAMP counts in 64 bits without a sign are
-- stored in 64 bits with one. Written so that PostgreSQL can have the same tables with its own types.

-- Each schema that this file has had. Its shape never changes: builds older than the file read it.
CREATE TABLE migration (
    version    INTEGER PRIMARY KEY,
    build      TEXT    NOT NULL,
    applied_at INTEGER NOT NULL,
    backup     TEXT    NOT NULL
);

-- Each start of a server. An agent of an older start with no end of its own ended when that start was last alive.
CREATE TABLE server_start (
    epoch      INTEGER PRIMARY KEY,
    started_at INTEGER NOT NULL,
    alive_at   INTEGER NOT NULL
);

CREATE TABLE credential (
    id           INTEGER PRIMARY KEY,
    label        TEXT    NOT NULL,
    sha256       BLOB    NOT NULL UNIQUE,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
);

-- What lists show and sort by. Kept narrow, and what filters and orders read comes first: a list reads all of it,
-- and SQLite decodes a row from its beginning up to the last column that is asked for.
CREATE TABLE agent (
    id                   INTEGER PRIMARY KEY,
    uid                  BLOB    NOT NULL UNIQUE,
    replaced_by          BLOB,
    owner_epoch          INTEGER NOT NULL,
    disconnected_at      INTEGER,
    silent_since         INTEGER,
    healthy              INTEGER,
    last_seen            INTEGER NOT NULL,
    connected_since      INTEGER NOT NULL,
    name                 TEXT    NOT NULL,
    host                 TEXT    NOT NULL,
    instance_id          TEXT    NOT NULL,
    version              TEXT    NOT NULL,
    namespace            TEXT    NOT NULL,
    host_id              TEXT    NOT NULL,
    os                   TEXT    NOT NULL,
    session_epoch        INTEGER NOT NULL,
    transport            INTEGER NOT NULL,
    peer_address         TEXT    NOT NULL,
    sequence_num         INTEGER NOT NULL,
    capabilities         INTEGER NOT NULL,
    health_status        TEXT    NOT NULL,
    remote_config_status INTEGER,
    remote_config_hash   BLOB,
    remote_config_error  TEXT    NOT NULL,
    replaces             BLOB,
    first_seen           INTEGER NOT NULL,
    enrolled_at          INTEGER NOT NULL,
    credential_id        INTEGER NOT NULL REFERENCES credential (id)
);

CREATE INDEX agent_by_name ON agent (name, id);
CREATE INDEX agent_by_credential ON agent (credential_id);

-- What agents reported, encoded as it came. Bulky parts are in blob.
CREATE TABLE agent_report (
    agent_id                   INTEGER PRIMARY KEY,
    description                BLOB,
    health                     BLOB,
    remote_config_status       BLOB,
    custom_capabilities        BLOB,
    connection_settings_status BLOB,
    effective_config           INTEGER,
    package_statuses           INTEGER,
    available_components       INTEGER
);

-- Bulky parts. Equal content is shared where the writer remembers it; what nobody refers to is swept.
CREATE TABLE blob (
    id      INTEGER PRIMARY KEY,
    sha256  BLOB NOT NULL,
    content BLOB NOT NULL
);

CREATE INDEX agent_report_by_effective_config ON agent_report (effective_config)
    WHERE effective_config IS NOT NULL;
CREATE INDEX agent_report_by_package_statuses ON agent_report (package_statuses)
    WHERE package_statuses IS NOT NULL;
CREATE INDEX agent_report_by_available_components ON agent_report (available_components)
    WHERE available_components IS NOT NULL;

-- Bulky parts that an agent had and has no more: others may have them still. The sweep looks.
CREATE TABLE blob_unused (
    id INTEGER PRIMARY KEY
);

CREATE TABLE attribute_key (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- For selectors: which agents have a value of a key. A chunk is 4096 row numbers of agents; ids names its members,
-- up to 255 of them as numbers of two bytes, more as a bitmap of 512. The values' types are in the description.
CREATE TABLE agent_attribute (
    key_id INTEGER NOT NULL,
    value  TEXT    NOT NULL,
    chunk  INTEGER NOT NULL,
    ids    BLOB    NOT NULL,
    PRIMARY KEY (key_id, value, chunk)
) WITHOUT ROWID;

CREATE TABLE account (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE,
    role          TEXT    NOT NULL,
    password_hash TEXT    NOT NULL,
    created_at    INTEGER NOT NULL
);

CREATE TABLE session (
    sha256      BLOB    PRIMARY KEY,
    account_id  INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    csrf_sha256 BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX session_by_account ON session (account_id);

-- Sealed by the control plane; the key lies outside the database.
CREATE TABLE secret (
    name       TEXT    PRIMARY KEY,
    key_id     TEXT    NOT NULL,
    ciphertext BLOB    NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
