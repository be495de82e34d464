-- Where threads are: on a processor the three innermost functions; waiting the three innermost of the program itself, as
-- all waits end in the same few of kernel and C library. By the share of all time in stalls, less that of the time before.
-- stack_sums and places are made of stacks, stack_frames and frames as they come in.
-- What is named by a subquery alone, as `top`, is evaluated once; a table would be for each use of it.
WITH (
    SELECT groupArray((kind, place, stall_share, calm_share))
    FROM (
        SELECT kind, place, stall_share, calm_share
        FROM (
            SELECT kind, place,
                   stall / greatest(sum(stall) OVER (PARTITION BY kind), 1) AS stall_share,
                   calm / greatest(sum(calm) OVER (PARTITION BY kind), 1) AS calm_share
            FROM (
                SELECT kind, place, sum(stall_ns) AS stall, sum(calm_ns) AS calm
                FROM stack_sums FINAL
                ARRAY JOIN place, stall_ns, calm_ns
                WHERE ts >= toDateTime(intDiv({since:Int64}, 1000), 'UTC')
                GROUP BY kind, place
            )
        )
        WHERE place <> 0 AND stall_share > calm_share
        ORDER BY stall_share - calm_share DESC
        -- Those that are level with the last one are ordered by their names.
        LIMIT {rows:UInt32} WITH TIES
    )
) AS top, hit AS (
    SELECT kind, place, uniqExact(host_id) AS servers
    FROM stack_sums
    ARRAY JOIN place, is_stall
    WHERE is_stall AND place IN (SELECT arrayJoin(arrayMap(one -> one.2, top)))
      AND ts >= toDateTime(intDiv({since:Int64}, 1000), 'UTC')
    GROUP BY kind, place
)
SELECT t.one.3 AS stall_share, t.one.4 AS calm_share, h.servers AS servers,
       if(t.one.1 = 'oncpu', 'on a processor', 'waiting') AS seen,
       p.functions AS functions
FROM (SELECT arrayJoin(top) AS one) AS t
JOIN (
    SELECT place, functions FROM places FINAL WHERE place IN (SELECT arrayJoin(arrayMap(one -> one.2, top)))
) AS p ON p.place = t.one.2
LEFT JOIN hit AS h ON h.kind = t.one.1 AND h.place = t.one.2
ORDER BY stall_share - calm_share DESC, functions
LIMIT {rows:UInt32}
