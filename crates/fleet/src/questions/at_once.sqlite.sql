-- A group goes on as long as the next stall begins within 30 s of the one before.
WITH ordered AS (
    SELECT host_id, onset, duration_ms, iif(verdict = 'named', cause, '(none named)') AS cause,
           onset - lag(onset, 1, 0) OVER (ORDER BY onset, incident_id) > 30000 AS begins, incident_id
    FROM incidents
    WHERE onset >= :since
), numbered AS (
    SELECT *, sum(begins) OVER (ORDER BY onset, incident_id) AS number FROM ordered
)
SELECT min(n.onset) AS first,
       count(DISTINCT n.host_id) AS servers,
       (max(n.onset) - min(n.onset)) / 1000.0 AS within_seconds,
       max(n.duration_ms) / 1000.0 AS longest_seconds,
       json_group_array(DISTINCT n.cause) AS causes,
       json_group_array(DISTINCT h.host || iif(h.label = '', '', ':' || h.label)) AS hosts
FROM numbered AS n JOIN hosts AS h ON h.host_id = n.host_id
GROUP BY n.number
HAVING count(DISTINCT n.host_id) >= 3
ORDER BY servers DESC, first DESC
LIMIT :rows
