SELECT shape,
       sum(duration_ms) / 1000 AS stall_seconds,
       count() AS stalls,
       uniqExact(host_id) AS servers,
       -- Those of the longest stall.
       argMax(i.trigger, longest) AS trigger,
       argMax(heaviest, longest) AS functions,
       argMax(frame_key, longest) AS frame
FROM (SELECT *, (duration_ms, onset, toString(incident_id)) AS longest FROM incidents FINAL) AS i
-- What was only requested is no stall.
WHERE verdict <> 'named' AND i.trigger <> 'asked' AND onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
GROUP BY shape
ORDER BY stall_seconds DESC, shape
LIMIT {rows:UInt32}
