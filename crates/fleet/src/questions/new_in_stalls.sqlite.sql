-- Where threads are: on a processor the three innermost functions; waiting the three innermost of the program itself, as
-- all waits end in the same few of kernel and C library. By the share of all time in stalls, less that of the time before.
-- stack_sums is made of stacks, stack_frames and frames as they come in.
WITH seen AS MATERIALIZED (
    SELECT kind, place, sum(stall_ns) AS stall, sum(calm_ns) AS calm
    FROM stack_sums
    WHERE ts >= :since / 1000
    GROUP BY kind, place
), totals AS (
    SELECT kind, max(sum(stall), 1) * 1.0 AS stall, max(sum(calm), 1) * 1.0 AS calm FROM seen GROUP BY kind
), top AS (
    SELECT s.kind, s.place, p.functions, s.stall / t.stall AS stall_share, s.calm / t.calm AS calm_share
    FROM seen AS s JOIN totals AS t ON t.kind = s.kind JOIN places AS p ON p.place = s.place
    WHERE p.functions <> '' AND s.stall / t.stall > s.calm / t.calm
    ORDER BY s.stall / t.stall - s.calm / t.calm DESC, p.functions
    LIMIT :rows
)
SELECT stall_share, calm_share,
       (SELECT count(DISTINCT s.host_id)
        FROM stack_sums AS s
        WHERE s.kind = top.kind AND s.place = top.place AND s.is_stall AND s.ts >= :since / 1000) AS servers,
       iif(kind = 'oncpu', 'on a processor', 'waiting') AS seen,
       functions
FROM top
ORDER BY stall_share - calm_share DESC, functions
