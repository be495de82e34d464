WITH stalls AS (
    SELECT iif(verdict = 'named', cause, '(none named)') AS cause, host_id, duration_ms / 1000.0 AS seconds
    FROM incidents
    -- What was only requested is no stall, unless a cause was found in it.
    WHERE onset >= :since AND ("trigger" <> 'asked' OR verdict = 'named')
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY cause ORDER BY seconds) AS place,
           count(*) OVER (PARTITION BY cause) AS stalls
    FROM stalls
)
SELECT cause,
       sum(seconds) AS stall_seconds,
       sum(seconds) / max((SELECT sum(seconds) FROM stalls), 0.001) AS share,
       count(*) AS stalls,
       count(DISTINCT host_id) AS servers,
       min(iif(place >= 0.9 * stalls, seconds, NULL)) AS p90_seconds
FROM ranked
GROUP BY cause
ORDER BY stall_seconds DESC, cause
LIMIT :rows
