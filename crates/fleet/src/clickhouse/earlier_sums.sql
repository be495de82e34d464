-- A thousand incidents, so that each statement is a matter of seconds: the earliest, as they would have come. Rows of one
-- time in one part are rows that `FINAL` need not merge.
SELECT host_id, incident_id, ts, kind, groupArray(place) AS place, groupArray(is_stall) AS is_stall,
       groupArray(stall_ns) AS stall_ns, groupArray(calm_ns) AS calm_ns, toUInt32(sum(stacks)) AS stacks
FROM (
    SELECT s.host_id AS host_id, s.incident_id AS incident_id, s.ts AS ts, s.kind AS kind, n.place AS place,
           max(s.phase = 'stall') AS is_stall, sumIf(s.ns, s.phase = 'stall') AS stall_ns,
           sumIf(s.ns, s.phase <> 'stall') AS calm_ns, count() AS stacks
    FROM (
        SELECT host_id, incident_id, ts, kind, phase, stack_id, ns FROM stacks FINAL
        WHERE kind IN ('oncpu', 'wait') AND phase IN ('baseline', 'before', 'stall') AND incident_id IN (
            SELECT incident_id FROM stacks
            WHERE kind IN ('oncpu', 'wait') AND phase IN ('baseline', 'before', 'stall')
              AND incident_id NOT IN (SELECT incident_id FROM stack_sums)
            GROUP BY incident_id
            ORDER BY min(ts), incident_id
            LIMIT 1000
        )
    ) AS s
    LEFT JOIN named AS n ON n.stack_id = s.stack_id AND n.kind = toString(s.kind)
    GROUP BY host_id, incident_id, ts, kind, place
)
GROUP BY host_id, incident_id, ts, kind
