-- First seen in the ten minutes before the onset, on a server whose statements were known for an hour by then: before
-- that everything is new. Of several the one that took the most time until the end of the stall.
WITH first AS (
    SELECT host_id, digest, min(ts) AS at FROM queries GROUP BY host_id, digest
), known AS (
    SELECT host_id, min(at) AS since FROM first GROUP BY host_id
), met AS (
    SELECT i.incident_id, i.host_id, i.onset, i.verdict, i.cause, first.digest, first.at,
           (SELECT sum(q.sum_us) FROM queries AS q
            WHERE q.host_id = i.host_id AND q.digest = first.digest
              AND q.ts <= (i.onset + i.duration_ms) / 1000) AS spent_us
    FROM incidents AS i
    JOIN known ON known.host_id = i.host_id
    JOIN first ON first.host_id = i.host_id
    WHERE i.onset >= :since
      AND first.at BETWEEN i.onset / 1000 - 600 AND i.onset / 1000
      AND first.at >= known.since + 3600
), heaviest AS (
    -- The other columns are those of the largest: SQLite's rule for a lone max().
    SELECT *, count(*) AS statements, max(spent_us) FROM met GROUP BY incident_id
)
SELECT h.host || iif(h.label = '', '', ':' || h.label) AS host,
       m.onset,
       m.onset / 1000.0 - m.at AS before_seconds,
       iif(m.verdict = 'named', m.cause, '(none named)') AS cause,
       m.statements,
       m.digest,
       coalesce(t.text, '') AS text
FROM heaviest AS m
JOIN hosts AS h ON h.host_id = m.host_id
LEFT JOIN query_texts AS t ON t.digest = m.digest
ORDER BY m.onset DESC
LIMIT :rows
