WITH stalled AS (
    SELECT host_id, toInt64(count()) AS stalls, sum(duration_ms) / 1000 AS stall_seconds,
           toUnixTimestamp64Milli(max(onset)) AS last
    FROM incidents FINAL
    WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      AND onset < fromUnixTimestamp64Milli({now:Int64}, 'UTC')
      -- What was only requested is no stall, unless a cause was found in it.
      AND (trigger <> 'asked' OR verdict = 'named')
    GROUP BY host_id
)
SELECT if(h.label = '', h.host, concat(h.host, ':', h.label)) AS host,
       toString(h.vendor) AS vendor, toString(h.version) AS version, toString(h.cluster) AS cluster,
       s.stalls AS stalls,
       s.stall_seconds AS stall_seconds,
       nullIf(s.last, 0) AS last_stall
FROM (SELECT host_id, host, label, vendor, version, cluster FROM hosts FINAL) AS h
LEFT JOIN stalled AS s ON s.host_id = h.host_id
ORDER BY stall_seconds DESC, host
LIMIT {rows:UInt32}
