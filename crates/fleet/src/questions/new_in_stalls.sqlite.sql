-- Where threads are: on a processor the three innermost functions; waiting the three innermost of the program itself, as
-- all waits end in the same few of kernel and C library. By the share of all time in stalls, less that of the time before.
WITH seen AS (
    SELECT kind, stack_id, sum(iif(phase = 'stall', ns, 0)) AS stall, sum(iif(phase = 'stall', 0, ns)) AS calm
    FROM stacks
    WHERE kind IN ('oncpu', 'wait') AND phase IN ('baseline', 'before', 'stall') AND ts >= :since / 1000
    GROUP BY kind, stack_id
), totals AS (
    SELECT kind, max(sum(stall), 1) * 1.0 AS stall, max(sum(calm), 1) * 1.0 AS calm FROM seen GROUP BY kind
), placed AS MATERIALIZED (
    SELECT seen.*, (
        SELECT group_concat(name, ' < ') FROM (
            SELECT frames.function AS name
            FROM stack_frames AS f, json_each(f.frames) AS frame CROSS JOIN frames
            WHERE f.stack_id = seen.stack_id AND frames.frame_id = frame.value
              AND (seen.kind = 'oncpu' OR frames.module NOT GLOB '[[]*' AND frames.module NOT GLOB 'lib*'
                   AND frames.module NOT GLOB 'ld-*')
            ORDER BY frame.key LIMIT 3)
    ) AS functions
    FROM seen
), top AS (
    SELECT p.kind, p.functions, sum(p.stall) / totals.stall AS stall_share, sum(p.calm) / totals.calm AS calm_share
    FROM placed AS p JOIN totals ON totals.kind = p.kind
    WHERE p.functions IS NOT NULL
    GROUP BY p.kind, p.functions
    HAVING sum(p.stall) / totals.stall > sum(p.calm) / totals.calm
    ORDER BY sum(p.stall) / totals.stall - sum(p.calm) / totals.calm DESC, p.functions
    LIMIT :rows
)
SELECT stall_share, calm_share,
       (SELECT count(DISTINCT s.host_id)
        FROM placed AS p CROSS JOIN stacks AS s
        WHERE p.kind = top.kind AND p.functions = top.functions
          AND s.kind = p.kind AND s.phase = 'stall' AND s.stack_id = p.stack_id AND s.ts >= :since / 1000) AS servers,
       iif(kind = 'oncpu', 'on a processor', 'waiting') AS seen,
       functions
FROM top
ORDER BY stall_share - calm_share DESC, functions
