-- Stalls by the remedy's cause in the 14 days before it was applied last, and in the 14 days after, or until it was undone
-- or the server was seen last.
-- At the rate of before, before_stalls * after_days / 14 stalls come in the time after: of a server where fewer than three
-- came and were to come, nothing can be said.
WITH applied AS (
    SELECT host_id, remedy, cause, max(at) * 1000 AS at, proof = 'proven' AS is_proven
    FROM remedies
    WHERE action = 'apply' AND at * 1000 >= :since
    GROUP BY host_id, remedy, cause
), undone AS (
    SELECT a.host_id, a.remedy, a.cause, min(r.at) * 1000 AS at
    FROM applied AS a
    JOIN remedies AS r ON r.host_id = a.host_id AND r.remedy = a.remedy AND r.cause = a.cause
    WHERE r.action = 'undo' AND r.at * 1000 >= a.at
    GROUP BY a.host_id, a.remedy, a.cause
), spans AS (
    SELECT a.*, u.at IS NOT NULL AS is_undone,
           min(14 * 86400000, max(min(coalesce(u.at, :now), h.seen * 1000) - a.at, 1)) AS after_ms
    FROM applied AS a
    JOIN hosts AS h ON h.host_id = a.host_id
    LEFT JOIN undone AS u ON u.host_id = a.host_id AND u.remedy = a.remedy AND u.cause = a.cause
), counted AS (
    SELECT *,
           (SELECT count(*) FROM incidents AS i
            WHERE i.host_id = spans.host_id AND i.cause = spans.cause
              AND i.onset < spans.at AND i.onset >= spans.at - 14 * 86400000) AS before_stalls,
           (SELECT count(*) FROM incidents AS i
            WHERE i.host_id = spans.host_id AND i.cause = spans.cause
              AND i.onset >= spans.at AND i.onset < spans.at + after_ms) AS after_stalls,
           after_ms / 86400000.0 AS after_days
    FROM spans
), judged AS (
    SELECT *, before_stalls * after_days / 14 AS expected,
           max(after_stalls, before_stalls * after_days / 14) < 3 AS is_undecided
    FROM counted
)
SELECT remedy, cause,
       count(*) AS servers,
       sum(NOT is_undecided AND after_stalls * 2 <= expected) AS helped,
       sum(is_undecided) AS undecided,
       avg(before_stalls) / 14 AS before_per_day,
       sum(after_stalls) / sum(after_days) AS after_per_day,
       sum(is_proven) AS proven,
       sum(is_undone) AS undone
FROM judged
GROUP BY remedy, cause
ORDER BY servers DESC, remedy, cause
LIMIT :rows
