WITH stalled AS (
    SELECT host_id, count(*) AS stalls, sum(duration_ms) / 1000.0 AS stall_seconds, max(onset) AS last
    FROM incidents
    -- What was only requested is no stall, unless a cause was found in it.
    WHERE onset >= :since AND onset < :now AND ("trigger" <> 'asked' OR verdict = 'named')
    GROUP BY host_id
)
SELECT h.host || iif(h.label = '', '', ':' || h.label) AS host,
       h.vendor, h.version, h.cluster,
       coalesce(s.stalls, 0) AS stalls,
       coalesce(s.stall_seconds, 0.0) AS stall_seconds,
       s.last AS last_stall
FROM hosts AS h LEFT JOIN stalled AS s ON s.host_id = h.host_id
ORDER BY stall_seconds DESC, host
LIMIT :rows
