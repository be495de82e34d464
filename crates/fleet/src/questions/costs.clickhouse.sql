WITH stalls AS (
    SELECT if(verdict = 'named', toString(cause), '(none named)') AS named, host_id, duration_ms
    FROM incidents FINAL
    -- What was only requested is no stall, unless a cause was found in it.
    WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND (trigger <> 'asked' OR verdict = 'named')
)
SELECT named AS cause,
       sum(duration_ms) / 1000 AS stall_seconds,
       stall_seconds / greatest((SELECT sum(duration_ms) / 1000 FROM stalls), 0.001) AS share,
       count() AS stalls,
       uniqExact(host_id) AS servers,
       arraySort(groupArray(duration_ms))[toUInt64(ceil(0.9 * count()))] / 1000 AS p90_seconds
FROM stalls
GROUP BY named
ORDER BY stall_seconds DESC, cause
LIMIT {rows:UInt32}
