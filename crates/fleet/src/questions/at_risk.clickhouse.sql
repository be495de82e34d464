-- A sign of a cause on a server that has the setting for it, and has not stalled by it for 30 days.
WITH risk AS (
    SELECT * FROM values(
        'cause String, setting String, holds String, pattern String, above Float64, of_setting String, why String',
        ('thp-compaction', 'thp.enabled', 'always', 'vmstat.compact\\_stall', 0, '',
         'huge pages are always on, and memory is compacted for them'),
        ('query-cache', 'variables.query_cache_type', 'ON', 'status.Qcache\\_lowmem\\_prunes', 10, '',
         'the query cache is on, and full'),
        ('max-connections', '', '', 'status.Threads\\_connected', 0.8, 'variables.max_connections',
         'connections come near to max_connections'),
        ('purge-lag', '', '', 'innodb.history\\_list\\_length', 1000000, '',
         'the history of changes is long: purge does not keep up'),
        ('numa-swap', '', '', 'vmstat.pswpin', 100, '',
         'pages come back from swap'),
        ('tcp-accept-overflow', '', '', 'net.listen\\_overflows', 0, '',
         'connections are dropped before they are accepted'),
        ('disk-full', '', '', 'filesystem.%.used\\_share', 0.95, '',
         'a file system is almost full')
    )
), largest AS (
    -- The names stand here once more: by them the key is used, and the other signals are not read. So do the limits: what
    -- is below them is most of what there is.
    SELECT host_id, signal AS name, max(mx) AS worst, argMax(ts, mx) AS at
    FROM signals
    WHERE ts >= toDateTime(intDiv({since:Int64}, 1000), 'UTC')
      AND (signal IN ('vmstat.compact_stall', 'status.Threads_connected', 'net.listen_overflows') AND mx > 0
           OR signal = 'status.Qcache_lowmem_prunes' AND mx > 10
           OR signal = 'innodb.history_list_length' AND mx > 1000000
           OR signal = 'vmstat.pswpin' AND mx > 100
           OR signal LIKE 'filesystem.%.used\\_share' AND mx > 0.95)
    GROUP BY name, host_id
), stalled AS (
    SELECT DISTINCT toString(cause) AS cause, host_id FROM incidents FINAL
    WHERE onset >= fromUnixTimestamp64Milli({now:Int64} - 30 * 86400000, 'UTC')
), counts AS (
    SELECT cause, count() AS servers FROM stalled GROUP BY cause
)
SELECT if(h.label = '', h.host, concat(h.host, ':', h.label)) AS host,
       r.cause AS cause, r.why AS why, toString(w.name) AS signal, w.worst AS worst,
       toInt64(toUnixTimestamp(w.at)) * 1000 AS at,
       c.servers AS stalled_servers
FROM largest AS w
CROSS JOIN risk AS r
JOIN (SELECT host_id, host, label, settings FROM hosts FINAL) AS h ON h.host_id = w.host_id
LEFT JOIN counts AS c ON c.cause = r.cause
WHERE toString(w.name) LIKE r.pattern
  AND (r.setting = '' OR h.settings[r.setting] = r.holds)
  AND w.worst > r.above * multiIf(r.of_setting = '', 1, mapContains(h.settings, r.of_setting),
                                  toFloat64OrZero(h.settings[r.of_setting]), 1e300)
  AND (r.cause, w.host_id) NOT IN (SELECT cause, host_id FROM stalled)
ORDER BY stalled_servers DESC, cause, worst DESC, host
LIMIT {rows:UInt32}
-- Rows come sorted by signal and server.
SETTINGS optimize_aggregation_in_order = 1
