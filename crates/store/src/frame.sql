CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE stall_trigger (
    rule TEXT NOT NULL,
    says TEXT NOT NULL
);

CREATE TABLE source (
    id    INTEGER PRIMARY KEY,
    name  TEXT NOT NULL UNIQUE,
    ticks TEXT NOT NULL            -- JSON: [ms, ms, ...]
);

CREATE TABLE series (
    name    TEXT PRIMARY KEY,
    unit    TEXT NOT NULL,
    kind    TEXT NOT NULL,
    source  INTEGER NOT NULL REFERENCES source (id),
    changes TEXT NOT NULL          -- JSON: [[tick index, value], ...]
) WITHOUT ROWID;

CREATE TABLE text (
    at_ms INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    body  TEXT NOT NULL
);

CREATE TABLE fact (
    at_ms INTEGER NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL
);

CREATE TABLE absent (
    first_ms INTEGER NOT NULL,
    last_ms  INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    what     TEXT NOT NULL,
    reason   TEXT NOT NULL,
    detail   TEXT NOT NULL
);

-- One row a value, for people: SELECT time, value FROM point WHERE name = 'probe.query_us';
CREATE VIEW point AS
WITH change AS (
    SELECT series.name, series.unit, series.kind, series.source,
           json_extract(entry.value, '$[0]') AS first,
           json_extract(entry.value, '$[1]') AS value,
           lead(json_extract(entry.value, '$[0]'), 1, 1e12)
               OVER (PARTITION BY series.name ORDER BY entry.key) AS next
    FROM series, json_each(series.changes) AS entry
)
SELECT change.name, change.unit, change.kind, tick.value AS at_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ',
                (tick.value + (SELECT value FROM meta WHERE key = 'clock.wall_at_zero_ms')) / 1000.0,
                'unixepoch') AS time,
       change.value
FROM change
JOIN source ON source.id = change.source
JOIN json_each(source.ticks) AS tick ON tick.key >= change.first AND tick.key < change.next
WHERE change.value IS NOT NULL;

-- What follows: stacks, since version 2.

CREATE TABLE stack_frame (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    image    TEXT NOT NULL,
    side     TEXT NOT NULL,        -- kernel, user
    nameless TEXT                  -- why there is no function's name
);

CREATE TABLE stack (
    id     INTEGER PRIMARY KEY,
    frames TEXT NOT NULL,          -- JSON: [stack_frame.id, ...], innermost first
    end    TEXT NOT NULL           -- complete, or why it is cut
);

CREATE TABLE snapshot (
    at_ms      INTEGER NOT NULL,
    method     TEXT NOT NULL,
    wall_us    INTEGER NOT NULL,
    stopped_us INTEGER NOT NULL,
    threads    INTEGER NOT NULL,
    complete   INTEGER NOT NULL
);

CREATE TABLE thread_run (
    tid       INTEGER NOT NULL,
    name      TEXT NOT NULL,
    from_ms   INTEGER NOT NULL,
    to_ms     INTEGER NOT NULL,
    snapshots INTEGER NOT NULL,
    unmoved   INTEGER NOT NULL,
    state     TEXT NOT NULL,
    syscall   TEXT,                -- JSON
    stack     INTEGER NOT NULL REFERENCES stack (id)
);

CREATE TABLE profile (
    id         INTEGER PRIMARY KEY,
    from_ms    INTEGER NOT NULL,
    to_ms      INTEGER NOT NULL,
    hz         INTEGER NOT NULL,
    processors INTEGER NOT NULL,
    lost       INTEGER NOT NULL
);

CREATE TABLE profile_count (
    profile INTEGER NOT NULL REFERENCES profile (id),
    stack   INTEGER NOT NULL REFERENCES stack (id),
    thread  TEXT NOT NULL,
    server  INTEGER NOT NULL,
    count   INTEGER NOT NULL
);

CREATE TABLE profile_caller (
    profile INTEGER NOT NULL REFERENCES profile (id),
    stack   INTEGER NOT NULL REFERENCES stack (id),
    thread  TEXT NOT NULL,
    server  INTEGER NOT NULL,
    count   INTEGER NOT NULL
);

CREATE TABLE lock_table (
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER NOT NULL,
    body    TEXT NOT NULL          -- JSON
);

CREATE TABLE query_digest (
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER NOT NULL,
    way     TEXT NOT NULL,
    body    TEXT NOT NULL          -- JSON
);

-- Stacks as people write them: SELECT frames FROM stack_text WHERE id = 7;
CREATE VIEW stack_text AS
SELECT stack.id, stack.end,
       (SELECT group_concat(name, ' < ')
        FROM (SELECT stack_frame.name
              FROM json_each(stack.frames) AS entry
              JOIN stack_frame ON stack_frame.id = entry.value
              ORDER BY entry.key)) AS frames
FROM stack;

-- What the server was asked: SELECT fingerprint, count, from_ms FROM query_class ORDER BY count DESC;
CREATE VIEW query_class AS
SELECT query_digest.from_ms, query_digest.to_ms, query_digest.way,
       class.value ->> 'fingerprint' AS fingerprint,
       class.value ->> 'kind' AS kind,
       class.value ->> 'count' AS count
FROM query_digest, json_each(query_digest.body, '$.classes') AS class;
