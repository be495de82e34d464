-- Stalls by the remedy's cause in the 14 days before it was applied, and in the 14 days after, or until it was undone.
WITH applied AS (
    SELECT host_id, remedy, cause, min(at) * 1000 AS at, max(proof = 'proven') AS is_proven
    FROM remedies
    WHERE action = 'apply' AND at * 1000 >= :since
    GROUP BY host_id, remedy, cause
), undone AS (
    SELECT a.host_id, a.remedy, a.cause, min(r.at) * 1000 AS at
    FROM applied AS a JOIN remedies AS r ON r.host_id = a.host_id AND r.remedy = a.remedy
    WHERE r.action = 'undo' AND r.at * 1000 >= a.at
    GROUP BY a.host_id, a.remedy, a.cause
), spans AS (
    SELECT a.*, u.at IS NOT NULL AS is_undone,
           min(14 * 86400000, max(coalesce(u.at, :now) - a.at, 1)) AS after_ms
    FROM applied AS a
    LEFT JOIN undone AS u ON u.host_id = a.host_id AND u.remedy = a.remedy AND u.cause = a.cause
), counted AS (
    SELECT *,
           (SELECT count(*) FROM incidents AS i
            WHERE i.host_id = spans.host_id AND i.cause = spans.cause
              AND i.onset < spans.at AND i.onset >= spans.at - 14 * 86400000) / 14.0 AS before_per_day,
           (SELECT count(*) FROM incidents AS i
            WHERE i.host_id = spans.host_id AND i.cause = spans.cause
              AND i.onset >= spans.at AND i.onset < spans.at + after_ms) AS after_stalls,
           after_ms / 86400000.0 AS after_days
    FROM spans
)
SELECT remedy, cause,
       count(*) AS servers,
       sum(after_stalls / after_days < before_per_day) AS helped,
       avg(before_per_day) AS before_per_day,
       sum(after_stalls) / sum(after_days) AS after_per_day,
       sum(is_proven) AS proven,
       sum(is_undone) AS undone
FROM counted
GROUP BY remedy, cause
ORDER BY servers DESC, remedy, cause
LIMIT :rows
