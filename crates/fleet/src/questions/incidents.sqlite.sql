SELECT i.incident_id AS incident, i.name,
       h.host || iif(h.label = '', '', ':' || h.label) AS host,
       i.onset, i.duration_ms / 1000.0 AS stall_seconds,
       i.cause, i.verdict, i.confidence, i."trigger", i.heaviest AS functions, i.frame_key AS frame, i.frame_sha256
FROM incidents AS i JOIN hosts AS h ON h.host_id = i.host_id
WHERE i.onset >= :since AND i.onset < :now
  AND (:me = '' OR i.incident_id = :me)
  AND (:server = '' OR h.host || iif(h.label = '', '', ':' || h.label) = :server)
ORDER BY i.onset DESC, i.incident_id DESC
LIMIT :rows
