-- Each build, kernel and setting that some servers have and others have not; first those whose stalls are the furthest
-- above what as many other servers would have.
WITH traits AS (
    SELECT host_id, trait.1 AS what, trait.2 AS value
    FROM hosts FINAL
    ARRAY JOIN arrayConcat(
        [('vendor', toString(vendor)), ('version', toString(version)), ('kernel', toString(kernel)),
         ('allocator', toString(allocator)), ('recorder', toString(recorder_version))],
        arrayMap((k, v) -> (toString(k), v), mapKeys(settings), mapValues(settings))
    ) AS trait
), stalled AS (
    SELECT host_id, toInt64(count()) AS stalls FROM incidents FINAL
    WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY host_id
), per_server AS (
    SELECT h.host_id AS host_id, s.stalls AS stalls
    FROM (SELECT host_id FROM hosts FINAL) AS h LEFT JOIN stalled AS s ON s.host_id = h.host_id
), fleet AS (
    SELECT toInt64(count()) AS all_servers, sum(stalls) AS all_stalls,
           greatest(({now:Int64} - {since:Int64}) / 86400000, 1) AS days
    FROM per_server
), groups AS (
    SELECT t.what AS what, t.value AS value, toInt64(count()) AS servers, sum(p.stalls) AS stalls
    FROM traits AS t JOIN per_server AS p ON p.host_id = t.host_id
    WHERE t.value <> ''
    GROUP BY what, value
), causes AS (
    SELECT what, value, argMin(named, (-n, named)) AS cause
    FROM (
        SELECT t.what AS what, t.value AS value, if(i.verdict = 'named', toString(i.cause), '(none named)') AS named,
               toInt64(count()) AS n
        FROM traits AS t
        JOIN (SELECT host_id, verdict, cause FROM incidents FINAL
              WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')) AS i ON i.host_id = t.host_id
        GROUP BY what, value, named
    )
    GROUP BY what, value
), rated AS (
    SELECT g.what AS what, g.value AS value, g.servers AS servers, g.stalls AS stalls,
           g.stalls / (g.servers * f.days) AS per_server_day,
           (f.all_stalls - g.stalls) / ((f.all_servers - g.servers) * f.days) AS others_per_server_day,
           g.servers * f.all_stalls / f.all_servers AS expected
    FROM groups AS g CROSS JOIN fleet AS f
    WHERE g.servers < f.all_servers
)
SELECT r.what AS what, r.value AS value, r.servers AS servers, r.stalls AS stalls,
       r.per_server_day AS per_server_day, r.others_per_server_day AS others_per_server_day, c.cause AS cause
FROM rated AS r LEFT JOIN causes AS c ON c.what = r.what AND c.value = r.value
WHERE r.stalls > r.expected
ORDER BY (r.stalls - r.expected) * (r.stalls - r.expected) / (r.expected + 1) DESC, what, value
LIMIT {rows:UInt32}
