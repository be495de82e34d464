CREATE TABLE IF NOT EXISTS session (
    id              INTEGER PRIMARY KEY,
    wall_at_zero_ms INTEGER NOT NULL,
    boot_id         TEXT NOT NULL,
    host            TEXT NOT NULL,
    tool_version    TEXT NOT NULL,
    server          TEXT NOT NULL          -- JSON, as known last
);

-- Sources and signals: what the numbers in chunks stand for.
CREATE TABLE IF NOT EXISTS source (
    session INTEGER NOT NULL,
    id      INTEGER NOT NULL,
    name    TEXT NOT NULL,
    PRIMARY KEY (session, id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS signal (
    session INTEGER NOT NULL,
    id      INTEGER NOT NULL,
    name    TEXT NOT NULL,
    unit    TEXT NOT NULL,
    kind    TEXT NOT NULL,
    PRIMARY KEY (session, id)
) WITHOUT ROWID;

-- Values of about a second of all sources, read in the order of id; codec.rs has their encoding. `minute` is at_ms / 60000 of
-- every tick in it. A minute can be read, or deleted, by itself.
CREATE TABLE IF NOT EXISTS chunk (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    minute  INTEGER NOT NULL,
    fresh   INTEGER NOT NULL,              -- 1: begins with all values, not with differences
    payload BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS chunk_minute ON chunk (session, minute);

-- Outside of a stall one processlist in 10 s, one threads and innodb-status in 60 s; at most 4 MiB of text.
CREATE TABLE IF NOT EXISTS text (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    body    BLOB NOT NULL                  -- deflate
);

CREATE INDEX IF NOT EXISTS text_at ON text (session, at_ms);

CREATE TABLE IF NOT EXISTS fact (
    session INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL
);

-- The same absence at most once a minute.
CREATE TABLE IF NOT EXISTS absent (
    session INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    what    TEXT NOT NULL,
    reason  TEXT NOT NULL,
    detail  TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS absent_at ON absent (session, at_ms);

-- Incidents of which no file is written yet.
CREATE TABLE IF NOT EXISTS open_incident (
    session    INTEGER NOT NULL,
    id         TEXT NOT NULL,
    onset_ms   INTEGER NOT NULL,
    trigger_ms INTEGER NOT NULL,
    end_ms     INTEGER,
    triggers   TEXT NOT NULL,              -- JSON
    PRIMARY KEY (session, id)
) WITHOUT ROWID;
