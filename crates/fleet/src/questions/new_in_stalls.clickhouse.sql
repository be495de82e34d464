-- Where threads are: on a processor the three innermost functions; waiting the three innermost of the program itself, as
-- all waits end in the same few of kernel and C library. By the share of all time in stalls, less that of the time before.
-- What is named by a subquery alone, as `book` and `top`, is evaluated once; a table would be for each use of it.
WITH (
    SELECT (groupArray(frame_id), groupArray(function),
            groupArray(NOT (startsWith(module, '[') OR startsWith(module, 'lib') OR startsWith(module, 'ld-'))))
    FROM (SELECT frame_id, function, toString(module) AS module FROM frames FINAL)
) AS book, (
    SELECT groupArray((kind, functions, stall_share, calm_share, stacks))
    FROM (
        SELECT p.kind AS kind, p.functions AS functions, groupArray(p.stack_id) AS stacks,
               sum(p.stall) / any(p.all_stall) AS stall_share, sum(p.calm) / any(p.all_calm) AS calm_share
        FROM (
            SELECT s.kind AS kind, s.stack_id AS stack_id, s.stall AS stall, s.calm AS calm,
                   s.all_stall AS all_stall, s.all_calm AS all_calm,
                   arrayStringConcat(arraySlice(arrayFilter(name -> name <> '', arrayMap(
                       frame -> transform(frame, book.1, book.2, ''),
                       if(s.kind = 'oncpu', f.frames,
                          arrayFilter(frame -> transform(frame, book.1, book.3, toUInt8(0)) = 1, f.frames))
                   )), 1, 3), ' < ') AS functions
            FROM (
                SELECT kind, stack_id, stall, calm,
                       greatest(sum(stall) OVER (PARTITION BY kind), 1) AS all_stall,
                       greatest(sum(calm) OVER (PARTITION BY kind), 1) AS all_calm
                FROM (
                    SELECT kind, stack_id, sumIf(ns, phase = 'stall') AS stall, sumIf(ns, phase <> 'stall') AS calm
                    FROM stacks FINAL
                    WHERE kind IN ('oncpu', 'wait') AND phase IN ('baseline', 'before', 'stall')
                      AND ts >= toDateTime(intDiv({since:Int64}, 1000), 'UTC')
                    GROUP BY kind, stack_id
                )
            ) AS s
            JOIN (SELECT stack_id, frames FROM stack_frames FINAL) AS f ON f.stack_id = s.stack_id
        ) AS p
        WHERE p.functions <> ''
        GROUP BY kind, functions
        HAVING stall_share > calm_share
        ORDER BY stall_share - calm_share DESC, functions
        LIMIT {rows:UInt32}
    )
) AS top, hit AS (
    SELECT t.kind AS kind, t.functions AS functions, uniqExact(s.host_id) AS servers
    FROM (SELECT kind, stack_id, host_id FROM stacks
          WHERE kind IN ('oncpu', 'wait') AND phase = 'stall'
            AND stack_id IN (SELECT arrayJoin(arrayFlatten(arrayMap(one -> one.5, top))))
            AND ts >= toDateTime(intDiv({since:Int64}, 1000), 'UTC')) AS s
    JOIN (SELECT one.1 AS kind, one.2 AS functions, arrayJoin(one.5) AS stack_id
          FROM (SELECT arrayJoin(top) AS one)) AS t
      ON t.kind = s.kind AND t.stack_id = s.stack_id
    GROUP BY kind, functions
)
SELECT t.one.3 AS stall_share, t.one.4 AS calm_share, h.servers AS servers,
       if(t.one.1 = 'oncpu', 'on a processor', 'waiting') AS seen,
       t.one.2 AS functions
FROM (SELECT arrayJoin(top) AS one) AS t
LEFT JOIN hit AS h ON h.kind = t.one.1 AND h.functions = t.one.2
ORDER BY stall_share - calm_share DESC, functions
