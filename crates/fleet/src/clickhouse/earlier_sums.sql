-- A thousand incidents, so that each statement is a matter of seconds: the earliest, as they would have come. Rows of one
-- time in one part are rows that `FINAL` need not merge. The heaviest places as `keep_heaviest` in sums.rs says it.
SELECT host_id, incident_id, ts, kind, groupArray(kept) AS place, groupArray(was_stall) AS is_stall,
       groupArray(all_stall) AS stall_ns, groupArray(all_calm) AS calm_ns, toUInt32(sum(all_rows)) AS stacks
FROM (
    SELECT host_id, incident_id, ts, kind, if(rank > 128, 0, one) AS kept, max(in_stall) AS was_stall,
           sum(stall) AS all_stall, sum(calm) AS all_calm, sum(made_of) AS all_rows
    FROM (
        SELECT host_id, incident_id, ts, kind, one, in_stall, stall, calm, made_of,
               if(one = 0, 0, row_number() OVER (
                   PARTITION BY host_id, incident_id, ts, kind, one = 0 ORDER BY share DESC, name)) AS rank
        FROM (
            SELECT host_id, incident_id, ts, kind, one, name, in_stall, stall, calm, made_of,
                   greatest(stall / greatest(sum(stall) OVER incident, 1), calm / greatest(sum(calm) OVER incident, 1)) AS share
            FROM (
                SELECT s.host_id AS host_id, s.incident_id AS incident_id, s.ts AS ts, s.kind AS kind, n.place AS one,
                       n.functions AS name, max(s.phase = 'stall') AS in_stall, sumIf(s.ns, s.phase = 'stall') AS stall,
                       sumIf(s.ns, s.phase <> 'stall') AS calm, count() AS made_of
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
                GROUP BY host_id, incident_id, ts, kind, one, name
            )
            WINDOW incident AS (PARTITION BY host_id, incident_id, ts, kind)
        )
    )
    GROUP BY host_id, incident_id, ts, kind, kept
)
GROUP BY host_id, incident_id, ts, kind
