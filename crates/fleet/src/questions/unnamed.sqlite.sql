WITH shapes AS (
    -- The last columns are those of the longest stall: SQLite's rule for a lone max().
    SELECT shape, sum(duration_ms) / 1000.0 AS stall_seconds, count(*) AS stalls, count(DISTINCT host_id) AS servers,
           max(duration_ms), "trigger", heaviest, frame_key
    FROM incidents
    WHERE verdict <> 'named' AND onset >= :since
    GROUP BY shape
)
SELECT shape, stall_seconds, stalls, servers, "trigger", heaviest AS functions, frame_key AS frame
FROM shapes
ORDER BY stall_seconds DESC, shape
LIMIT :rows
