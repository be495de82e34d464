WITH ranked AS (
    SELECT *, row_number() OVER (PARTITION BY shape ORDER BY duration_ms DESC, onset DESC, incident_id DESC) AS place
    FROM incidents
    -- What was only requested is no stall.
    WHERE verdict <> 'named' AND "trigger" <> 'asked' AND onset >= :since
)
-- The last columns are those of the longest stall.
SELECT shape, sum(duration_ms) / 1000.0 AS stall_seconds, count(*) AS stalls, count(DISTINCT host_id) AS servers,
       max(iif(place = 1, "trigger", NULL)) AS "trigger",
       max(iif(place = 1, heaviest, NULL)) AS functions,
       max(iif(place = 1, frame_key, NULL)) AS frame
FROM ranked
GROUP BY shape
ORDER BY stall_seconds DESC, shape
LIMIT :rows
