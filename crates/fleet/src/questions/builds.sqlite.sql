-- Each build, kernel and setting that some servers have and others have not; first those whose stalls are the furthest
-- above what as many other servers would have.
WITH traits AS (
    SELECT host_id, 'vendor' AS what, vendor AS value FROM hosts
    UNION ALL SELECT host_id, 'version', version FROM hosts
    UNION ALL SELECT host_id, 'kernel', kernel FROM hosts
    UNION ALL SELECT host_id, 'allocator', allocator FROM hosts
    UNION ALL SELECT host_id, 'recorder', recorder_version FROM hosts
    UNION ALL SELECT h.host_id, setting.key, setting.value FROM hosts AS h, json_each(h.settings) AS setting
), stalled AS (
    SELECT host_id, count(*) AS stalls FROM incidents WHERE onset >= :since GROUP BY host_id
), per_server AS (
    SELECT h.host_id, coalesce(s.stalls, 0) AS stalls FROM hosts AS h LEFT JOIN stalled AS s ON s.host_id = h.host_id
), fleet AS (
    SELECT count(*) AS servers, sum(stalls) AS stalls, max((:now - :since) / 86400000.0, 1.0) AS days FROM per_server
), groups AS (
    SELECT t.what, t.value, count(*) AS servers, sum(p.stalls) AS stalls
    FROM traits AS t JOIN per_server AS p ON p.host_id = t.host_id
    WHERE t.value <> ''
    GROUP BY t.what, t.value
), rated AS (
    SELECT g.*, g.stalls / (g.servers * fleet.days) AS per_server_day,
           (fleet.stalls - g.stalls) / ((fleet.servers - g.servers) * fleet.days) AS others_per_server_day,
           g.servers * 1.0 * fleet.stalls / fleet.servers AS expected
    FROM groups AS g, fleet
    WHERE g.servers < fleet.servers
)
SELECT r.what, r.value, r.servers, r.stalls, r.per_server_day, r.others_per_server_day,
       (SELECT iif(i.verdict = 'named', i.cause, '(none named)') AS cause
        FROM traits AS t JOIN incidents AS i ON i.host_id = t.host_id
        WHERE t.what = r.what AND t.value = r.value AND i.onset >= :since
        GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1) AS cause
FROM rated AS r
WHERE r.stalls > r.expected
ORDER BY (r.stalls - r.expected) * (r.stalls - r.expected) / (r.expected + 1) DESC, r.what, r.value
LIMIT :rows
