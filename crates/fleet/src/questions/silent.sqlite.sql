WITH heard AS (
    -- What is absent is what the last sign of life says. Each server's signs are found by its key: a month of all of them
    -- is not read.
    SELECT h.host, h.label, coalesce(r.ts, h.seen) AS last, coalesce(r.absent, '[]') AS absent,
           (SELECT coalesce(sum(lost), 0) FROM recorder_health
            WHERE host_id = h.host_id AND ts >= :now / 1000 - 86400) AS lost
    FROM hosts AS h
    LEFT JOIN recorder_health AS r
      ON r.host_id = h.host_id AND r.ts = (SELECT max(ts) FROM recorder_health WHERE host_id = h.host_id)
)
SELECT host || iif(label = '', '', ':' || label) AS host,
       last * 1000 AS last,
       max(:now / 1000 - last, 0) AS silent_seconds,
       lost,
       absent
FROM heard
WHERE :now / 1000 - last > 300 OR absent <> '[]'
ORDER BY silent_seconds DESC, host
LIMIT :rows
