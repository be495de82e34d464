SELECT toString(i.incident_id) AS incident, i.name AS name,
       if(h.label = '', h.host, concat(h.host, ':', h.label)) AS host,
       toUnixTimestamp64Milli(i.onset) AS onset, i.duration_ms / 1000 AS stall_seconds,
       toString(i.cause) AS cause, toString(i.verdict) AS verdict, i.confidence AS confidence,
       toString(i.trigger) AS trigger, i.heaviest AS functions, i.frame_key AS frame, i.frame_sha256 AS frame_sha256
FROM (
    SELECT incident_id, host_id, name, onset, duration_ms, cause, verdict, confidence, trigger, heaviest, frame_key,
           frame_sha256
    FROM incidents FINAL
    WHERE onset >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      AND onset < fromUnixTimestamp64Milli({now:Int64}, 'UTC')
      AND ({me:String} = '' OR toString(incident_id) = {me:String})
) AS i
JOIN (SELECT host_id, host, label FROM hosts FINAL) AS h ON h.host_id = i.host_id
WHERE {server:String} = '' OR if(h.label = '', h.host, concat(h.host, ':', h.label)) = {server:String}
ORDER BY i.onset DESC, incident DESC
LIMIT {rows:UInt32}
