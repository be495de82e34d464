-- Functions by their share of all time in stalls, less that of the time before. Those that always stand together, as
-- callers and what they call, are one row by the innermost of them.
WITH seen AS (
    SELECT kind, stack_id, sum(iif(phase = 'stall', ns, 0)) AS stall, sum(iif(phase = 'stall', 0, ns)) AS calm
    FROM stacks
    WHERE kind IN ('oncpu', 'wait') AND phase IN ('baseline', 'before', 'stall') AND ts >= :since / 1000
    GROUP BY kind, stack_id
), totals AS (
    SELECT kind, max(sum(stall), 1) * 1.0 AS stall, max(sum(calm), 1) * 1.0 AS calm FROM seen GROUP BY kind
), placed AS MATERIALIZED (
    -- A function that calls itself counts once, at its innermost place.
    SELECT seen.kind, seen.stack_id, frame.value AS frame_id, min(frame.key) AS place, seen.stall, seen.calm
    FROM seen JOIN stack_frames AS f ON f.stack_id = seen.stack_id, json_each(f.frames) AS frame
    GROUP BY seen.kind, seen.stack_id, frame.value
), functions AS (
    SELECT kind, frame_id, avg(place) AS place, sum(stall) AS stall, sum(calm) AS calm
    FROM placed GROUP BY kind, frame_id
), together AS (
    -- The frame is that of the smallest place: SQLite's rule for a lone min().
    SELECT kind, frame_id, min(place) AS place, stall, calm FROM functions GROUP BY kind, stall, calm
), top AS (
    SELECT t.kind, t.frame_id, t.stall / totals.stall AS stall_share, t.calm / totals.calm AS calm_share
    FROM together AS t JOIN totals ON totals.kind = t.kind
    WHERE t.stall / totals.stall > t.calm / totals.calm
    ORDER BY t.stall / totals.stall - t.calm / totals.calm DESC
    LIMIT :rows
)
SELECT frames.function, frames.module,
       iif(top.kind = 'oncpu', 'on a processor', 'waiting') AS seen,
       top.stall_share, top.calm_share,
       (SELECT count(DISTINCT s.host_id)
        FROM placed AS p CROSS JOIN stacks AS s
        WHERE p.kind = top.kind AND p.frame_id = top.frame_id
          AND s.kind = p.kind AND s.phase = 'stall' AND s.stack_id = p.stack_id AND s.ts >= :since / 1000) AS servers
FROM top JOIN frames ON frames.frame_id = top.frame_id
ORDER BY top.stall_share - top.calm_share DESC, frames.function
