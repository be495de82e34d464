-- Alike is what has the same cause, the same shape, or most of the stacks that this stall had more of than its calm.
WITH mine AS (
    SELECT value AS stack_id FROM json_each(:stacks)
), shared AS (
    SELECT s.incident_id, count(DISTINCT s.stack_id) * 1.0 / (SELECT count(*) FROM mine) AS share
    FROM mine CROSS JOIN stacks AS s
    WHERE s.kind IN ('oncpu', 'wait') AND s.phase = 'stall' AND s.stack_id = mine.stack_id
    GROUP BY s.incident_id
), compared AS (
    SELECT i.*, coalesce(shared.share, 0) AS stack_share,
           :cause <> '' AND i.cause = :cause AS same_cause,
           i.shape = :shape AS same_shape,
           :cause <> '' AND i.cause <> :cause AND EXISTS (
               SELECT 1 FROM findings AS f
               WHERE f.cause = :cause AND f.host_id = i.host_id AND f.onset = i.onset
                 AND f.incident_id = i.incident_id
           ) AS also_cause
    FROM incidents AS i LEFT JOIN shared ON shared.incident_id = i.incident_id
    WHERE i.onset >= :since AND i.incident_id <> :me
), scored AS (
    SELECT *, 4 * same_cause + 2 * same_shape + also_cause + stack_share AS score
    FROM compared
    -- Two stalls that are named, and differently, are no relatives by stacks alone: all busy servers share some.
    WHERE same_cause OR same_shape OR also_cause
       OR stack_share >= 0.5 AND (:cause = '' OR verdict <> 'named')
), servers AS (
    -- The other columns are those of the row with the largest score: SQLite's rule for a lone max().
    SELECT host_id, max(score) AS score, count(*) AS stalls, cause, same_cause, same_shape, also_cause,
           stack_share, frame_key, incident_id, onset, verdict, confidence
    FROM scored
    GROUP BY host_id
)
SELECT h.host || iif(h.label = '', '', ':' || h.label) AS host,
       servers.stalls,
       iif(servers.cause = '', '(none named)', servers.cause) AS cause,
       ltrim(iif(same_cause, ', cause', '') || iif(also_cause, ', second cause', '')
             || iif(same_shape, ', shape', '')
             || iif(stack_share > 0, printf(', %d %% of stacks', round(100 * stack_share)), ''), ', ') AS alike,
       (SELECT max(onset) FROM scored WHERE scored.host_id = servers.host_id) AS last,
       (SELECT sum(duration_ms) / 1000.0 FROM scored WHERE scored.host_id = servers.host_id) AS stall_seconds,
       servers.frame_key AS frame,
       servers.incident_id AS incident, servers.onset AS onset, servers.verdict AS verdict,
       servers.confidence AS confidence
FROM servers JOIN hosts AS h ON h.host_id = servers.host_id
ORDER BY servers.score DESC, servers.stalls DESC, last DESC
LIMIT :rows
