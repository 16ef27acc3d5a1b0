-- fragment: PAUSE_COLUMNS
p.saga, p.step, :MS(p.paused_at) AS paused_at, p.paused_by, p.pause_reason,
  :MS(p.resumed_at) AS resumed_at, p.resumed_by, p.resume_reason, p.woken

-- name: stepPauses
-- Pauses whose sagas still wait, and resumed more of those that are over. Plan: the table has a row for each pause that there
-- ever was, which are few. A row of nulls with the time if there are none.
SELECT :PAUSE_COLUMNS, :MS(now()) AS now
FROM (SELECT) one LEFT JOIN (
  (SELECT * FROM saga.step_pause WHERE NOT woken)
  UNION ALL
  (SELECT * FROM saga.step_pause WHERE woken ORDER BY id DESC LIMIT :resumed)) p ON true
ORDER BY p.woken, CASE WHEN p.woken THEN -p.id ELSE p.id END;

-- name: pauseStep
-- Pauses a step (saga, step), unless it is paused. by by whom, reason why, channel the channel.
WITH paused AS (
  INSERT INTO saga.step_pause (saga, step, paused_by, pause_reason) VALUES (:saga, :step, :by, :reason)
  ON CONFLICT (saga, step) WHERE resumed_at IS NULL DO NOTHING RETURNING id)
SELECT pg_notify(:channel, 'pauses') FROM paused;

-- name: resumeStep
-- Resumes it, if it is paused. It waits for checkpoints that rely on the pause: see rest-while-paused.sql.
WITH resumed AS (
  UPDATE saga.step_pause SET resumed_at = now(), resumed_by = :by, resume_reason = :reason
  WHERE saga = :saga AND step = :step AND resumed_at IS NULL RETURNING id)
SELECT pg_notify(:channel, 'pauses') FROM resumed;

-- name: resumed
-- Pauses of a step (saga, step) that are over for all but the sagas that wait. No saga rests for them any more.
SELECT id::text AS id FROM saga.step_pause
WHERE saga = :saga AND step = :step AND resumed_at IS NOT NULL AND NOT woken;

-- fragment: WAITS
-- Not leased, and among the steps that its row shows is this one.
i.name = :saga AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND i.finished_at IS NULL
  AND string_to_array(i.step, ', ') @> ARRAY[:step::text]

-- fragment: WAKE_STEP(waits, after, order, latest_first)
-- Makes sagas (saga name) due that wait for a step (step) and are not due before, the next limit of them at most from the version version, the rank rank
-- and the id id on, in that order. Returns how many there were, and the last one. Those behind it have not been looked at, whatever the
-- sagas before it have done since, and whatever the clock says. Rows are locked in the order of their ids, as checkpoints lock them.
WITH picked AS MATERIALIZED (
  SELECT i.id, i.version, i.rank_at FROM saga.instance i
  WHERE :WAITS AND :waits AND :after ORDER BY :order LIMIT :limit
), woken AS (
  UPDATE saga.instance u SET due_at = now(), updated_at = now(),
    rank_at = now() - u.priority * interval ':PRIORITY_POINT_MS milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM saga.instance i WHERE :WAITS AND :waits AND i.id = ANY(ARRAY(SELECT p.id FROM picked p))
    ORDER BY i.id FOR NO KEY UPDATE)))
SELECT (SELECT count(*)::int FROM picked) AS count, i.version, coalesce(i.rank_at::text, '-infinity') AS rank, i.id
FROM picked i ORDER BY :latest_first LIMIT 1

-- name: wakeIdle
-- Wakes sagas that wait for nothing but events. Plan: a scan of instance_idle for the name, from where the one before has
-- ended.
:WAKE_STEP(i.rank_at IS NULL, :AFTER_IDLE, :BY_ID, :BY_ID_DESC);

-- fragment: AFTER_IDLE
(i.version, i.id) > (:version::int, :id::uuid) AND :rank::timestamptz IS NOT NULL

-- fragment: BY_ID
i.version, i.id

-- fragment: BY_ID_DESC
i.version DESC, i.id DESC

-- name: wakeLater
-- Wakes sagas that are due at a time that is to come. Plan: the same, of instance_due.
:WAKE_STEP(:IS_LATER, :AFTER_LATER, :BY_RANK, :BY_RANK_DESC);

-- fragment: IS_LATER
i.rank_at IS NOT NULL AND i.due_at > now()

-- fragment: AFTER_LATER
(i.version, i.rank_at, i.id) > (:version::int, :rank::timestamptz, :id::uuid)

-- fragment: BY_RANK
i.version, i.rank_at, i.id

-- fragment: BY_RANK_DESC
i.version DESC, i.rank_at DESC, i.id DESC

-- name: woken
-- All sagas that waited for these pauses (ids) have been made due.
UPDATE saga.step_pause SET woken = true WHERE id = ANY(:ids::bigint[]);
