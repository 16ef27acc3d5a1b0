-- fragment: SCHEDULE_COLUMNS
s.saga, s.cron, s.timezone, s.overlap, s.catch_up, :MS(s.decided_until) AS decided_until,
  :MS(s.next_at) AS next_at, :MS(s.paused_at) AS paused_at, s.paused_by, s.pause_reason, s.last_saga,
  :MS(s.last_at) AS last_at, s.last_triggered, :MS(s.skipped_at) AS skipped_at

-- fragment: TIME(parameter)
-- From milliseconds since the epoch.
to_timestamp(:parameter::float8 / 1000)

-- fragment: STORED_COLUMNS
cron, timezone, overlap, catch_up, decided_until, next_at, paused_at, paused_by,
  pause_reason, last_saga, last_at, last_triggered, skipped_at

-- fragment: SCHEDULE_VALUES
:cron, :timezone, :overlap, :catch_up, :TIME(:decided_until), :TIME(:next_at), :TIME(:paused_at), :paused_by, :pause_reason,
  :last_saga::uuid, :TIME(:last_at), :last_triggered::boolean, :TIME(:skipped_at)

-- name: schedules
-- A row for each schedule, or one of nulls with the time. Plan: the table has few rows; a subquery, so that the saga of
-- each is looked up in the primary key.
SELECT :SCHEDULE_COLUMNS, :MS(now()) AS now,
  (SELECT i.status FROM saga.instance i WHERE i.id = s.last_saga AND i.finished_at IS NULL) AS last_status
FROM (SELECT) one LEFT JOIN saga.schedule s ON true
ORDER BY s.saga COLLATE "C";

-- name: lockSchedule
-- One schedule, whose row is locked. The time is that of the statement: the transaction may have waited for the lock, and
-- another process may have decided ticks since. The status of its last saga is read by another statement, once the lock is held.
SELECT :SCHEDULE_COLUMNS, NULL AS last_status, :MS(clock_timestamp()) AS now
FROM saga.schedule s WHERE s.saga = :saga FOR NO KEY UPDATE;

-- name: clock
-- The time alone, for a schedule that is not stored yet.
SELECT :MS(clock_timestamp()) AS now;

-- name: unended
-- The status of a saga that has not ended.
SELECT status FROM saga.instance WHERE id = :id::uuid AND finished_at IS NULL;

-- name: insertSchedule
-- Stores a new schedule. No row: another process has stored it since.
INSERT INTO saga.schedule (saga, :STORED_COLUMNS)
VALUES (:saga, :SCHEDULE_VALUES) ON CONFLICT DO NOTHING RETURNING saga;

-- name: updateSchedule
-- Stores a schedule whose row is locked.
UPDATE saga.schedule SET (:STORED_COLUMNS) = ROW(:SCHEDULE_VALUES)
WHERE saga = :saga;
