WITH heard AS (
    -- What is absent is what the last sign of life says: SQLite's rule for a lone max().
    SELECT host_id, max(ts) AS last, absent FROM recorder_health GROUP BY host_id
), lost AS (
    SELECT host_id, sum(lost) AS lost FROM recorder_health WHERE ts >= :now / 1000 - 86400 GROUP BY host_id
)
SELECT h.host || iif(h.label = '', '', ':' || h.label) AS host,
       coalesce(heard.last, h.seen) * 1000 AS last,
       max(:now / 1000 - coalesce(heard.last, h.seen), 0) AS silent_seconds,
       coalesce(lost.lost, 0) AS lost,
       coalesce(heard.absent, '[]') AS absent
FROM hosts AS h
LEFT JOIN heard ON heard.host_id = h.host_id
LEFT JOIN lost ON lost.host_id = h.host_id
WHERE :now / 1000 - coalesce(heard.last, h.seen) > 300 OR coalesce(heard.absent, '[]') <> '[]'
ORDER BY silent_seconds DESC, host
LIMIT :rows
