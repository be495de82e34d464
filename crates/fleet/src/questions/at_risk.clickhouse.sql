-- A sign of a cause on a server that has the setting for it, and has not stalled by it for 30 days.
WITH (
    -- 1e300: of a server whose limit nobody knows nothing can be said.
    SELECT min(if(mapContains(settings, 'variables.max_connections'),
                  0.8 * toFloat64OrZero(settings['variables.max_connections']), 1e300))
    FROM hosts FINAL
) AS connections_min, signs AS (
    -- By their names the key is used, and the other signals are not read. What is below the limits is most of what there is.
    SELECT host_id, toString(signal) AS name, max(mx) AS worst, argMax(ts, mx) AS at,
           multiIf(name = 'vmstat.compact_stall', 'thp-compaction',
                   name = 'net.listen_overflows', 'tcp-accept-overflow',
                   name = 'status.Threads_connected', 'max-connections',
                   name = 'status.Qcache_lowmem_prunes', 'query-cache',
                   name = 'innodb.history_list_length', 'purge-lag',
                   name = 'vmstat.pswpin', 'numa-swap',
                   'disk-full') AS cause
    FROM signals
    WHERE ts >= toDateTime(intDiv({since:Int64}, 1000), 'UTC')
      AND (signal IN ('vmstat.compact_stall', 'net.listen_overflows') AND mx > 0
           OR signal = 'status.Threads_connected' AND mx > connections_min
           OR signal = 'status.Qcache_lowmem_prunes' AND mx > 10
           OR signal = 'innodb.history_list_length' AND mx > 1000000
           OR signal = 'vmstat.pswpin' AND mx > 100
           OR signal LIKE 'filesystem.%.used\\_share' AND mx > 0.95)
    GROUP BY signal, host_id
)
SELECT if(h.label = '', h.host, concat(h.host, ':', h.label)) AS host,
       w.cause AS cause,
       multiIf(w.cause = 'thp-compaction', 'huge pages are always on, and memory is compacted for them',
               w.cause = 'tcp-accept-overflow', 'connections are dropped before they are accepted',
               w.cause = 'max-connections', 'connections come near to max_connections',
               w.cause = 'query-cache', 'the query cache is on, and full',
               w.cause = 'purge-lag', 'the history of changes is long: purge does not keep up',
               w.cause = 'numa-swap', 'pages come back from swap',
               'a file system is almost full') AS why,
       w.name AS signal, w.worst AS worst,
       toInt64(toUnixTimestamp(w.at)) * 1000 AS at,
       length(s.stalled) AS stalled_servers
FROM signs AS w
JOIN (
    -- A map is large: only what is asked of it is joined.
    SELECT host_id, host, label, settings['thp.enabled'] AS thp,
           settings['variables.query_cache_type'] AS query_cache,
           if(mapContains(settings, 'variables.max_connections'),
              0.8 * toFloat64OrZero(settings['variables.max_connections']), 1e300) AS connections
    FROM hosts FINAL
) AS h ON h.host_id = w.host_id
LEFT JOIN (
    SELECT toString(cause) AS cause, groupUniqArray(host_id) AS stalled FROM incidents FINAL
    WHERE onset >= fromUnixTimestamp64Milli({now:Int64} - 30 * 86400000, 'UTC')
    GROUP BY cause
) AS s ON s.cause = w.cause
WHERE multiIf(w.cause = 'thp-compaction', h.thp = 'always',
              w.cause = 'query-cache', h.query_cache = 'ON',
              w.cause = 'max-connections', w.worst > h.connections,
              1)
  AND NOT has(s.stalled, w.host_id)
ORDER BY stalled_servers DESC, cause, worst DESC, host
LIMIT {rows:UInt32}
