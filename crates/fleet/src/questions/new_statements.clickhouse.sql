-- First seen in the ten minutes before the onset, on a server whose statements were known for an hour by then: before
-- that everything is new. Of several the one that took the most time until the end of the stall.
WITH first AS (
    SELECT host_id, digest, toInt64(toUnixTimestamp(min(ts))) AS at FROM queries GROUP BY host_id, digest
), known AS (
    SELECT host_id, min(at) AS from_then FROM first GROUP BY host_id
), met AS (
    SELECT i.incident_id AS incident_id, i.host_id AS host_id, i.onset_ms AS onset_ms,
           intDiv(i.onset_ms + i.duration_ms, 1000) AS end_at, i.named AS named, f.digest AS digest, f.at AS at
    FROM (SELECT incident_id, host_id, toUnixTimestamp64Milli(onset) AS onset_ms, duration_ms,
                 if(verdict = 'named', toString(cause), '(none named)') AS named
          FROM incidents FINAL
          WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')) AS i
    JOIN known AS k ON k.host_id = i.host_id
    JOIN first AS f ON f.host_id = i.host_id
    WHERE f.at BETWEEN intDiv(i.onset_ms, 1000) - 600 AND intDiv(i.onset_ms, 1000)
      AND f.at >= k.from_then + 3600
), spent AS (
    SELECT m.incident_id AS incident_id, m.host_id AS host_id, m.onset_ms AS onset_ms, m.named AS named,
           m.digest AS digest, m.at AS at, sumIf(q.sum_us, q.at <= m.end_at) AS spent_us
    FROM met AS m
    JOIN (SELECT host_id, digest, toInt64(toUnixTimestamp(ts)) AS at, sum_us FROM queries FINAL
          WHERE (host_id, digest) IN (SELECT host_id, digest FROM met)) AS q
      ON q.host_id = m.host_id AND q.digest = m.digest
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
