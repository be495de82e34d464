-- Where threads are: on a processor the three innermost functions; waiting the three innermost of the program itself, as
-- all waits end in the same few of kernel and C library. By the share of all time in stalls, less that of the time before.
WITH seen AS (
    SELECT kind, stack_id, sumIf(ns, phase = 'stall') AS stall, sumIf(ns, phase <> 'stall') AS calm
    FROM stacks FINAL
    WHERE kind IN ('oncpu', 'wait') AND phase IN ('baseline', 'before', 'stall')
      AND ts >= toDateTime(intDiv({since:Int64}, 1000), 'UTC')
    GROUP BY kind, stack_id
), totals AS (
    SELECT kind, greatest(sum(stall), 1) AS all_stall, greatest(sum(calm), 1) AS all_calm FROM seen GROUP BY kind
), unfolded AS (
    SELECT s.kind AS kind, s.stack_id AS stack_id, s.stall AS stall, s.calm AS calm, f.place AS place, f.frame_id AS frame_id
    FROM seen AS s
    JOIN (SELECT stack_id, frame_id, place FROM stack_frames FINAL
          ARRAY JOIN frames AS frame_id, arrayEnumerate(frames) AS place
          WHERE stack_id IN (SELECT stack_id FROM seen)) AS f ON f.stack_id = s.stack_id
), placed AS (
    SELECT u.kind AS kind, u.stack_id AS stack_id, any(u.stall) AS stall, any(u.calm) AS calm,
           arrayStringConcat(arrayMap(pair -> pair.2, arraySlice(arraySort(groupArray((u.place, n.function))), 1, 3)),
                             ' < ') AS functions
    FROM unfolded AS u
    JOIN (SELECT frame_id, function, toString(module) AS module FROM frames FINAL) AS n ON n.frame_id = u.frame_id
    WHERE u.kind = 'oncpu'
       OR NOT (startsWith(n.module, '[') OR startsWith(n.module, 'lib') OR startsWith(n.module, 'ld-'))
    GROUP BY kind, stack_id
), top AS (
    SELECT p.kind AS kind, p.functions AS functions,
           sum(p.stall) / any(a.all_stall) AS stall_share, sum(p.calm) / any(a.all_calm) AS calm_share
    FROM placed AS p JOIN totals AS a ON a.kind = p.kind
    GROUP BY kind, functions
    HAVING stall_share > calm_share
    ORDER BY stall_share - calm_share DESC, functions
    LIMIT {rows:UInt32}
), hit AS (
    SELECT p.kind AS kind, p.functions AS functions, uniqExact(s.host_id) AS servers
    FROM placed AS p
    JOIN (SELECT kind, stack_id, host_id FROM stacks
          WHERE kind IN ('oncpu', 'wait') AND phase = 'stall'
            AND ts >= toDateTime(intDiv({since:Int64}, 1000), 'UTC')) AS s
      ON s.kind = p.kind AND s.stack_id = p.stack_id
    WHERE (p.kind, p.functions) IN (SELECT kind, functions FROM top)
    GROUP BY kind, functions
)
SELECT t.stall_share AS stall_share, t.calm_share AS calm_share, h.servers AS servers,
       if(t.kind = 'oncpu', 'on a processor', 'waiting') AS seen,
       t.functions AS functions
FROM top AS t LEFT JOIN hit AS h ON h.kind = t.kind AND h.functions = t.functions
ORDER BY stall_share - calm_share DESC, functions
