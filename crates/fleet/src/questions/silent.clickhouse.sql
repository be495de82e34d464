-- What is absent is what the last sign of life says.
-- What is named by a subquery alone, as `shown`, is evaluated once; a table would be for each use of it.
WITH latest AS (
    -- Most were heard of in the last hour, which is in the last days' parts. Only of the others all days are looked through.
    SELECT host_id, max(ts) AS last_ts FROM recorder_health
    WHERE ts >= toDateTime(intDiv({now:Int64}, 1000) - 3600, 'UTC')
    GROUP BY host_id
    UNION ALL
    SELECT host_id, max(ts) AS last_ts FROM recorder_health
    WHERE host_id IN (
        SELECT host_id FROM hosts WHERE host_id NOT IN (
            SELECT host_id FROM recorder_health WHERE ts >= toDateTime(intDiv({now:Int64}, 1000) - 3600, 'UTC')
        )
    )
    GROUP BY host_id
), heard AS (
    SELECT host_id, toInt64(toUnixTimestamp(ts)) AS heard_at, any(absent) AS missing
    FROM recorder_health
    WHERE (host_id, ts) IN (SELECT host_id, last_ts FROM latest)
    GROUP BY host_id, ts
), (
    SELECT groupArray((host_id, name, at, missing))
    FROM (
        SELECT h.host_id AS host_id, if(h.label = '', h.host, concat(h.host, ':', h.label)) AS name,
               if(a.heard_at > 0, a.heard_at, toInt64(toUnixTimestamp(h.seen))) AS at,
               arrayMap(one -> toString(one), a.missing) AS missing
        FROM (SELECT host_id, host, label, seen FROM hosts FINAL) AS h
        LEFT JOIN heard AS a ON a.host_id = h.host_id
        WHERE intDiv({now:Int64}, 1000) - at > 300 OR notEmpty(missing)
        ORDER BY greatest(intDiv({now:Int64}, 1000) - at, 0) DESC, name
        LIMIT {rows:UInt32}
    )
) AS shown, losses AS (
    SELECT host_id, sum(lost) AS rows_lost
    FROM recorder_health FINAL
    WHERE host_id IN (SELECT arrayJoin(arrayMap(one -> one.1, shown)))
      AND ts >= toDateTime(intDiv({now:Int64}, 1000) - 86400, 'UTC')
    GROUP BY host_id
)
SELECT s.one.2 AS host,
       s.one.3 * 1000 AS last,
       greatest(intDiv({now:Int64}, 1000) - s.one.3, 0) AS silent_seconds,
       l.rows_lost AS lost,
       s.one.4 AS absent
FROM (SELECT arrayJoin(shown) AS one) AS s
LEFT JOIN losses AS l ON l.host_id = s.one.1
ORDER BY silent_seconds DESC, host
LIMIT {rows:UInt32}
