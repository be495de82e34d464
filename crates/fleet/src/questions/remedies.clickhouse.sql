-- Stalls by the remedy's cause in the 14 days before it was applied last, and in the 14 days after, or until it was undone
-- or the server was seen last.
-- At the rate of before, before_stalls * after_days / 14 stalls come in the time after: of a server where fewer than three
-- came and were to come, nothing can be said.
WITH changes AS (
    SELECT host_id, remedy, cause, action, proof, toInt64(toUnixTimestamp(at)) * 1000 AS at_ms FROM remedies FINAL
), applied AS (
    SELECT host_id, remedy, cause, max(at_ms) AS applied_ms, argMax(proof = 'proven', at_ms) AS is_proven
    FROM changes
    WHERE action = 'apply' AND at_ms >= {since:Int64}
    GROUP BY host_id, remedy, cause
), undone AS (
    SELECT a.host_id AS host_id, a.remedy AS remedy, a.cause AS cause, min(c.at_ms) AS undone_ms
    FROM applied AS a
    JOIN (SELECT host_id, remedy, cause, at_ms FROM changes WHERE action = 'undo') AS c
      ON c.host_id = a.host_id AND c.remedy = a.remedy AND c.cause = a.cause
    WHERE c.at_ms >= a.applied_ms
    GROUP BY host_id, remedy, cause
), spans AS (
    SELECT a.host_id AS host_id, a.remedy AS remedy, a.cause AS cause, a.applied_ms AS applied_ms,
           a.is_proven AS is_proven, u.undone_ms > 0 AS is_undone,
           least(if(is_undone, u.undone_ms, {now:Int64}), toInt64(toUnixTimestamp(h.seen)) * 1000) AS end_ms,
           least(14 * 86400000, greatest(end_ms - a.applied_ms, 1)) AS after_ms
    FROM applied AS a
    JOIN (SELECT host_id, seen FROM hosts FINAL) AS h ON h.host_id = a.host_id
    LEFT JOIN undone AS u ON u.host_id = a.host_id AND u.remedy = a.remedy AND u.cause = a.cause
), counted AS (
    SELECT s.remedy AS remedy, s.cause AS cause, s.is_proven AS is_proven, s.is_undone AS is_undone,
           countIf(i.onset_ms < s.applied_ms AND i.onset_ms >= s.applied_ms - 14 * 86400000) AS before_stalls,
           countIf(i.onset_ms >= s.applied_ms AND i.onset_ms < s.applied_ms + s.after_ms) AS after_stalls,
           s.after_ms / 86400000 AS after_days
    FROM spans AS s
    LEFT JOIN (SELECT host_id, cause, toUnixTimestamp64Milli(onset) AS onset_ms FROM incidents FINAL) AS i
      ON i.host_id = s.host_id AND i.cause = s.cause
    GROUP BY s.host_id, remedy, cause, is_proven, is_undone, s.applied_ms, s.after_ms
), judged AS (
    SELECT *, before_stalls * after_days / 14 AS expected,
           greatest(toFloat64(after_stalls), before_stalls * after_days / 14) < 3 AS is_undecided
    FROM counted
)
SELECT remedy, cause,
       count() AS servers,
       countIf(NOT is_undecided AND after_stalls * 2 <= expected) AS helped,
       sum(is_undecided) AS undecided,
       avg(before_stalls) / 14 AS before_per_day,
       sum(after_stalls) / sum(after_days) AS after_per_day,
       sum(is_proven) AS proven,
       sum(is_undone) AS undone
FROM judged
GROUP BY remedy, cause
ORDER BY servers DESC, remedy, cause
LIMIT {rows:UInt32}
