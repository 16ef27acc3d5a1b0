-- name: stats
-- Counts what is due and what waits. Plan: finished sagas cost nothing. Sagas that are due or leased are read by
-- instance_due, a row each. Sagas that wait are read by instance_idle alone, if it is vacuumed: a million of them
-- take some 0.2 s. The oldest message is the first of each lane (outbox_ready), or one that the broker has refused and that is sent
-- again (outbox_retry, at most one for each key). Those behind a dead message wait for an operator and do not count.
WITH unfinished AS (
  SELECT name, version, status, count(*)::int AS count, (count(*) FILTER (WHERE due_at <= now()))::int AS due,
    min(due_at) FILTER (WHERE due_at <= now()) AS oldest
  FROM saga.instance WHERE rank_at IS NOT NULL GROUP BY name, version, status
  UNION ALL
  SELECT name, version, coalesce(idle_status, 'running'), count(*)::int, 0, NULL
  FROM saga.instance WHERE rank_at IS NULL AND finished_at IS NULL GROUP BY name, version, idle_status
), messages AS (
  SELECT min(f.created_at) AS oldest FROM saga.outbox_lane l CROSS JOIN LATERAL (
    (SELECT o.created_at FROM saga.outbox o WHERE o.lane = l.lane AND NOT o.held ORDER BY o.seq LIMIT 1)
    UNION ALL
    (SELECT o.created_at FROM saga.outbox o WHERE o.lane = l.lane AND o.retry_at IS NOT NULL LIMIT :MOST_MESSAGES)) f
)
SELECT (extract(epoch FROM now()) * 1000)::float8 AS now,
  coalesce((SELECT json_agg(json_build_object('name', g.name, 'version', g.version, 'status', g.status, 'count', g.count)
     ORDER BY g.name, g.version, g.status)
   FROM (SELECT name, version, status, sum(count)::int AS count FROM unfinished GROUP BY name, version, status) g), '[]') AS sagas,
  (SELECT coalesce(sum(due), 0)::int FROM unfinished) AS due,
  (SELECT (extract(epoch FROM min(oldest)) * 1000)::float8 FROM unfinished) AS "oldestDue",
  (SELECT count(*)::int FROM saga.instance WHERE overdue AND finished_at IS NULL) AS overdue,
  coalesce((SELECT json_agg(json_build_object('saga', p.saga, 'step', p.step) ORDER BY p.id)
   FROM saga.step_pause p WHERE p.resumed_at IS NULL), '[]') AS "pausedSteps",
  (SELECT count(*)::int FROM (SELECT 1 FROM saga.outbox LIMIT :MOST_MESSAGES) o) AS messages,
  (SELECT count(*)::int FROM (SELECT 1 FROM saga.outbox WHERE dead_at IS NOT NULL LIMIT :MOST_MESSAGES) d) AS dead,
  (SELECT (extract(epoch FROM oldest) * 1000)::float8 FROM messages) AS "oldestMessage";
