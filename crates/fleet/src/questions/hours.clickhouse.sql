WITH counted AS (
    SELECT host_id, intDiv(toUnixTimestamp64Milli(onset), 3600000) * 3600000 AS hour,
           toInt64(count()) AS stalls, sum(duration_ms) / 1000 AS stall_seconds
    FROM incidents FINAL
    WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      AND onset < fromUnixTimestamp64Milli({now:Int64}, 'UTC')
      -- What was only requested is no stall, unless a cause was found in it.
      AND (trigger <> 'asked' OR verdict = 'named')
    GROUP BY host_id, hour
)
SELECT if(h.label = '', h.host, concat(h.host, ':', h.label)) AS host,
       c.hour AS hour, c.stalls AS stalls, c.stall_seconds AS stall_seconds
FROM counted AS c JOIN (SELECT host_id, host, label FROM hosts FINAL) AS h ON h.host_id = c.host_id
ORDER BY hour DESC, host
LIMIT {rows:UInt32}
