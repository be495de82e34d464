-- A group goes on as long as the next stall begins within 30 s of the one before.
WITH ordered AS (
    SELECT incident_id, host_id, toUnixTimestamp64Milli(onset) AS at, duration_ms,
           if(verdict = 'named', toString(cause), '(none named)') AS named,
           lagInFrame(at, 1, 0) OVER (
               ORDER BY at, incident_id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
           ) AS before
    FROM incidents FINAL
    WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
), numbered AS (
    SELECT *, sum(at - before > 30000) OVER (
        ORDER BY at, incident_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS number
    FROM ordered
)
SELECT min(n.at) AS first,
       uniqExact(n.host_id) AS servers,
       (max(n.at) - min(n.at)) / 1000 AS within_seconds,
       max(n.duration_ms) / 1000 AS longest_seconds,
       arraySort(groupUniqArray(n.named)) AS causes,
       arraySort(groupUniqArray(if(h.label = '', h.host, concat(h.host, ':', h.label)))) AS hosts
FROM numbered AS n JOIN (SELECT host_id, host, label FROM hosts FINAL) AS h ON h.host_id = n.host_id
GROUP BY n.number
HAVING servers >= 3
ORDER BY servers DESC, first DESC
LIMIT {rows:UInt32}
