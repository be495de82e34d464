WITH heard AS (
    -- What is absent is what the last sign of life says. Lists are read of that one alone. It came with the row that says
    -- when its server was seen last, so of thirty days of signs only those days are read, which are partitions.
    SELECT host_id, toInt64(toUnixTimestamp(ts)) AS at, any(absent) AS missing
    FROM recorder_health
    WHERE (host_id, ts) IN (
        SELECT host_id, max(ts) FROM recorder_health
        WHERE toYYYYMMDD(ts) IN (
            SELECT arrayJoin([toYYYYMMDD(seen), toYYYYMMDD(seen - INTERVAL 1 DAY)]) FROM hosts FINAL
        )
        GROUP BY host_id
    )
    GROUP BY host_id, ts
), losses AS (
    SELECT host_id, sum(lost) AS rows_lost FROM recorder_health FINAL
    WHERE ts >= toDateTime(intDiv({now:Int64}, 1000) - 86400, 'UTC')
    GROUP BY host_id
), last_seen AS (
    SELECT if(h.label = '', h.host, concat(h.host, ':', h.label)) AS name,
           if(a.at > 0, a.at, toInt64(toUnixTimestamp(h.seen))) AS at, l.rows_lost AS rows_lost, a.missing AS missing
    FROM (SELECT host_id, host, label, seen FROM hosts FINAL) AS h
    LEFT JOIN heard AS a ON a.host_id = h.host_id
    LEFT JOIN losses AS l ON l.host_id = h.host_id
)
SELECT name AS host,
       at * 1000 AS last,
       greatest(intDiv({now:Int64}, 1000) - at, 0) AS silent_seconds,
       rows_lost AS lost,
       missing AS absent
FROM last_seen
WHERE intDiv({now:Int64}, 1000) - at > 300 OR notEmpty(missing)
ORDER BY silent_seconds DESC, host
LIMIT {rows:UInt32}
