-- A sign of a cause on a server that has the setting for it, and has not stalled by it for 30 days.
WITH RECURSIVE risk (cause, setting, holds, pattern, above, of_setting, why) AS (VALUES
    ('thp-compaction', 'thp.enabled', 'always', 'vmstat.compact_stall', 0, '',
     'huge pages are always on, and memory is compacted for them'),
    ('query-cache', 'variables.query_cache_type', 'ON', 'status.Qcache_lowmem_prunes', 10, '',
     'the query cache is on, and full'),
    ('max-connections', '', '', 'status.Threads_connected', 0.8, 'variables.max_connections',
     'connections come near to max_connections'),
    ('purge-lag', '', '', 'innodb.history_list_length', 1000000, '',
     'the history of changes is long: purge does not keep up'),
    ('numa-swap', '', '', 'vmstat.pswpin', 100, '',
     'pages come back from swap'),
    ('tcp-accept-overflow', '', '', 'net.listen_overflows', 0, '',
     'connections are dropped before they are accepted'),
    ('disk-full', '', '', 'filesystem.*.used_share', 0.95, '',
     'a file system is almost full')
), names (signal) AS (
    -- The next name behind each, by the key: not all rows are read for them.
    SELECT min(signal) FROM signals
    UNION ALL
    SELECT (SELECT min(s.signal) FROM signals AS s WHERE s.signal > names.signal)
    FROM names WHERE names.signal IS NOT NULL
), looked_at AS (
    SELECT risk.*, names.signal FROM risk JOIN names ON names.signal GLOB risk.pattern
), worst AS (
    -- The moment is that of the largest: SQLite's rule for a lone max().
    SELECT l.cause, l.why, l.signal, l.above, l.of_setting, s.host_id, max(s.mx) AS worst, s.ts
    FROM looked_at AS l CROSS JOIN signals AS s
    WHERE s.signal = l.signal AND s.ts >= :since / 1000
      AND (l.setting = '' OR EXISTS (
          SELECT 1 FROM hosts AS h, json_each(h.settings) AS setting
          WHERE h.host_id = s.host_id AND setting.key = l.setting AND setting.value = l.holds))
    GROUP BY l.cause, l.signal, s.host_id
), stalled AS (
    SELECT DISTINCT cause, host_id FROM incidents WHERE onset >= :now - 30 * 86400000
)
SELECT h.host || iif(h.label = '', '', ':' || h.label) AS host,
       w.cause, w.why, w.signal, w.worst, w.ts * 1000 AS at,
       (SELECT count(*) FROM stalled WHERE stalled.cause = w.cause) AS stalled_servers
FROM worst AS w JOIN hosts AS h ON h.host_id = w.host_id
WHERE w.worst > w.above * iif(w.of_setting = '', 1, coalesce((
          SELECT CAST(setting.value AS REAL) FROM json_each(h.settings) AS setting
          WHERE setting.key = w.of_setting), 1e300))
  AND NOT EXISTS (SELECT 1 FROM stalled WHERE stalled.cause = w.cause AND stalled.host_id = w.host_id)
ORDER BY stalled_servers DESC, w.cause, w.worst DESC, host
LIMIT :rows
