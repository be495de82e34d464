-- First seen in the ten minutes before the onset, on a server whose statements were known for an hour by then: before
-- that everything is new. Of several the one that took the most time until the end of the stall.
-- What is named by a subquery alone, as `met`, is evaluated once; a table would be for each use of it.
WITH (
    SELECT groupArray((incident_id, host_id, onset_ms, end_at, named, classes))
    FROM (
        SELECT i.incident_id AS incident_id, i.host_id AS host_id, i.onset_ms AS onset_ms, i.end_at AS end_at,
               i.named AS named, groupArray((f.digest, f.at)) AS classes
        FROM (
            SELECT host_id, digest, toInt64(toUnixTimestamp(min(ts))) AS at FROM queries GROUP BY host_id, digest
        ) AS f
        JOIN (
            -- Once for each ten minutes of the clock that its own ten lie in: a join of what is equal.
            SELECT s.incident_id AS incident_id, s.host_id AS host_id, s.onset_ms AS onset_ms,
                   intDiv(s.onset_ms + s.duration_ms, 1000) AS end_at, s.named AS named, k.from_then AS from_then,
                   arrayJoin([intDiv(s.onset_ms, 600000) - 1, intDiv(s.onset_ms, 600000)]) AS ten_minutes
            FROM (
                SELECT incident_id, host_id, toUnixTimestamp64Milli(onset) AS onset_ms, duration_ms,
                       if(verdict = 'named', toString(cause), '(none named)') AS named
                FROM incidents FINAL
                WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
                  AND host_id IN (SELECT host_id FROM hosts)
            ) AS s
            JOIN (
                SELECT host_id, toInt64(toUnixTimestamp(min(ts))) AS from_then FROM queries GROUP BY host_id
            ) AS k ON k.host_id = s.host_id
        ) AS i ON i.host_id = f.host_id AND i.ten_minutes = intDiv(f.at, 600)
        WHERE f.at BETWEEN intDiv(i.onset_ms, 1000) - 600 AND intDiv(i.onset_ms, 1000)
          AND f.at >= i.from_then + 3600
        GROUP BY incident_id, host_id, onset_ms, end_at, named
        ORDER BY onset_ms DESC
        LIMIT {rows:UInt32}
    )
) AS met, classes AS (
    SELECT one.1 AS incident_id, one.2 AS host_id, one.4 AS end_at, class.1 AS digest, class.2 AS at
    FROM (SELECT arrayJoin(met) AS one) ARRAY JOIN one.6 AS class
), spent AS (
    SELECT c.incident_id AS incident_id, c.digest AS digest, c.at AS at, sumIf(q.sum_us, q.ran_at <= c.end_at) AS spent_us
    FROM classes AS c
    JOIN (SELECT host_id, digest, toInt64(toUnixTimestamp(ts)) AS ran_at, sum_us FROM queries FINAL
          WHERE (host_id, digest) IN (SELECT host_id, digest FROM classes)) AS q
      ON q.host_id = c.host_id AND q.digest = c.digest
    GROUP BY incident_id, digest, at
), heaviest AS (
    SELECT incident_id, count() AS statements, argMax((digest, at), (spent_us, digest)) AS most
    FROM spent
    GROUP BY incident_id
)
SELECT if(h.label = '', h.host, concat(h.host, ':', h.label)) AS host,
       m.one.3 AS onset,
       m.one.3 / 1000 - v.most.2 AS before_seconds,
       m.one.5 AS cause,
       v.statements AS statements,
       v.most.1 AS digest,
       t.text AS text
FROM (SELECT arrayJoin(met) AS one) AS m
JOIN heaviest AS v ON v.incident_id = m.one.1
JOIN (SELECT host_id, host, label FROM hosts FINAL) AS h ON h.host_id = m.one.2
LEFT JOIN (
    SELECT digest, text FROM query_texts FINAL WHERE digest IN (SELECT digest FROM classes)
) AS t ON t.digest = v.most.1
ORDER BY onset DESC
LIMIT {rows:UInt32}
