-- First seen in the ten minutes before the onset, on a server whose statements were known for an hour by then: before
-- that everything is new. Of several the one that took the most time until the end of the stall.
-- What is named by a subquery alone, as `met`, is evaluated once; a table would be for each use of it.
WITH (
    SELECT groupArray((incident_id, host_id, onset_ms, end_at, named, classes))
    FROM (
        SELECT i.incident_id AS incident_id, i.host_id AS host_id, i.onset_ms AS onset_ms, i.end_at AS end_at,
               i.named AS named,
               arrayFilter(class -> class.2 BETWEEN intDiv(i.onset_ms, 1000) - 600 AND intDiv(i.onset_ms, 1000)
                                    AND class.2 >= f.from_then + 3600, f.seen) AS classes
        FROM (
            SELECT incident_id, host_id, toUnixTimestamp64Milli(onset) AS onset_ms,
                   intDiv(onset_ms + duration_ms, 1000) AS end_at,
                   if(verdict = 'named', toString(cause), '(none named)') AS named
            FROM incidents FINAL
            WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND host_id IN (SELECT host_id FROM hosts)
        ) AS i
        JOIN (
            -- A row a server: a row for each of its statements would be joined with each of its stalls.
            SELECT host_id, min(at) AS from_then, groupArray((digest, at)) AS seen
            FROM (
                SELECT host_id, digest, toInt64(toUnixTimestamp(min(ts))) AS at FROM queries GROUP BY host_id, digest
            )
            GROUP BY host_id
        ) AS f ON f.host_id = i.host_id
        WHERE notEmpty(classes)
        ORDER BY onset_ms DESC
        LIMIT {rows:UInt32}
    )
) AS met, spent AS (
    SELECT c.incident_id AS incident_id, c.host_id AS host_id, c.onset_ms AS onset_ms, c.named AS named,
           c.digest AS digest, c.at AS at, sumIf(q.sum_us, q.ran_at <= c.end_at) AS spent_us
    FROM (
        SELECT one.1 AS incident_id, one.2 AS host_id, one.3 AS onset_ms, one.4 AS end_at, one.5 AS named,
               class.1 AS digest, class.2 AS at
        FROM (SELECT arrayJoin(met) AS one) ARRAY JOIN one.6 AS class
    ) AS c
    JOIN (SELECT host_id, digest, toInt64(toUnixTimestamp(ts)) AS ran_at, sum_us FROM queries FINAL
          WHERE host_id IN (SELECT arrayJoin(arrayMap(one -> one.2, met)))) AS q
      ON q.host_id = c.host_id AND q.digest = c.digest
    GROUP BY incident_id, host_id, onset_ms, named, digest, at
), heaviest AS (
    SELECT incident_id, host_id, onset_ms, named, count() AS statements, argMax((digest, at), (spent_us, digest)) AS most
    FROM spent
    GROUP BY incident_id, host_id, onset_ms, named
)
SELECT if(h.label = '', h.host, concat(h.host, ':', h.label)) AS host,
       m.onset_ms AS onset,
       m.onset_ms / 1000 - m.most.2 AS before_seconds,
       m.named AS cause,
       m.statements AS statements,
       m.most.1 AS digest,
       t.text AS text
FROM heaviest AS m
JOIN (SELECT host_id, host, label FROM hosts FINAL) AS h ON h.host_id = m.host_id
LEFT JOIN (SELECT digest, text FROM query_texts FINAL) AS t ON t.digest = m.most.1
ORDER BY onset DESC
LIMIT {rows:UInt32}
