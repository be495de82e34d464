WITH counted AS (
    SELECT host_id, onset / 3600000 * 3600000 AS hour, count(*) AS stalls, sum(duration_ms) / 1000.0 AS stall_seconds
    FROM incidents
    -- What was only requested is no stall, unless a cause was found in it.
    WHERE onset >= :since AND onset < :now AND ("trigger" <> 'asked' OR verdict = 'named')
    GROUP BY 1, 2
)
SELECT h.host || iif(h.label = '', '', ':' || h.label) AS host, c.hour, c.stalls, c.stall_seconds
FROM counted AS c JOIN hosts AS h ON h.host_id = c.host_id
ORDER BY c.hour DESC, host
LIMIT :rows
