-- Alike is what has the same cause, the same shape, or most of the stacks that this stall had more of than its calm.
WITH shared AS (
    SELECT incident_id, uniqExact(stack_id) / length({stacks:Array(UInt64)}) AS share
    FROM stacks
    WHERE kind IN ('oncpu', 'wait') AND phase = 'stall'
      AND stack_id IN (SELECT arrayJoin({stacks:Array(UInt64)}))
    GROUP BY incident_id
), compared AS (
    SELECT i.host_id AS host_id, i.incident_id AS incident_id, i.onset AS onset, i.duration_ms AS duration_ms,
           toString(i.cause) AS its_cause, i.verdict AS verdict, i.confidence AS confidence, i.frame_key AS frame_key, s.share AS stack_share,
           {cause:String} <> '' AND i.cause = {cause:String} AS same_cause,
           i.shape = {shape:UInt64} AS same_shape,
           -- Findings of an earlier judgement count no more.
           {cause:String} <> '' AND i.cause <> {cause:String} AND (i.incident_id, i.rev) IN (
               SELECT incident_id, rev FROM findings FINAL WHERE cause = {cause:String}
           ) AS also_cause
    FROM (SELECT * FROM incidents FINAL
          WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
            AND toString(incident_id) <> {me:String}) AS i
    LEFT JOIN shared AS s ON s.incident_id = i.incident_id
), scored AS (
    SELECT *, 4 * same_cause + 2 * same_shape + also_cause + stack_share AS score
    FROM compared
    -- Two stalls that are named, and differently, are no relatives by stacks alone: all busy servers share some.
    WHERE same_cause OR same_shape OR also_cause
       OR stack_share >= 0.5 AND ({cause:String} = '' OR verdict <> 'named')
), servers AS (
    -- Of several that are as much alike the first.
    SELECT host_id, max(score) AS top_score, toInt64(count()) AS stalls, toUnixTimestamp64Milli(max(onset)) AS last,
           sum(duration_ms) / 1000 AS stall_seconds,
           argMax((its_cause, same_cause, also_cause, same_shape, stack_share, frame_key, toString(incident_id),
                   toUnixTimestamp64Milli(onset), toString(verdict), confidence),
                  (score, -toUnixTimestamp64Milli(onset))) AS best
    FROM scored
    GROUP BY host_id
)
SELECT if(h.label = '', h.host, concat(h.host, ':', h.label)) AS host,
       s.stalls AS stalls,
       if(s.best.1 = '', '(none named)', s.best.1) AS cause,
       arrayStringConcat(arrayFilter(word -> word <> '', [
           if(s.best.2, 'cause', ''), if(s.best.3, 'second cause', ''), if(s.best.4, 'shape', ''),
           if(s.best.5 > 0, concat(toString(toUInt32(floor(100 * s.best.5 + 0.5))), ' % of stacks'), '')
       ]), ', ') AS alike,
       s.last AS last,
       s.stall_seconds AS stall_seconds,
       s.best.6 AS frame,
       s.best.7 AS incident, s.best.8 AS onset, s.best.9 AS verdict, s.best.10 AS confidence
FROM servers AS s JOIN (SELECT host_id, host, label FROM hosts FINAL) AS h ON h.host_id = s.host_id
ORDER BY s.top_score DESC, stalls DESC, last DESC
LIMIT {rows:UInt32}
