SELECT shape,
       sum(duration_ms) / 1000 AS stall_seconds,
       count() AS stalls,
       uniqExact(host_id) AS servers,
       argMax(i.trigger, duration_ms) AS trigger,
       argMax(heaviest, duration_ms) AS functions,
       argMax(frame_key, duration_ms) AS frame
FROM incidents AS i FINAL
WHERE verdict <> 'named' AND onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
GROUP BY shape
ORDER BY stall_seconds DESC, shape
LIMIT {rows:UInt32}
