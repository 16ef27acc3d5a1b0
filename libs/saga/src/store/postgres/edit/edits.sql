-- fragment: AROUND_SAGA
-- What of the saga i is shown to people alone, beside what a worker needs.
  CASE WHEN i.lock_state IN ('arriving', 'waiting') THEN saga.lock_holder(i.name, i.lock_key) END AS "lockHolder",
  CASE WHEN i.due_at <= now() THEN saga.slots_taken(i.name, i.limit_key) END AS "slotsTaken",
  :LOADED_OPERATIONS AS operations, :AROUND_FIELDS

-- name: loadById
-- One saga by id (id; in parts from page_bytes bytes), with what it may be waiting for: who holds its semantic lock, how many leases of its name count.
SELECT :STORED_SAGA_COLUMNS(p.in_parts), (extract(epoch FROM now()) * 1000)::float8 AS now,
  :AROUND_SAGA
FROM saga.instance i CROSS JOIN LATERAL saga.page(ARRAY[i.id], :page_bytes::bigint) p WHERE i.id = :id::uuid;

-- name: idByCorrelation
-- The id of a saga by name and correlation id; one that was started without has its id for it.
SELECT id FROM saga.instance WHERE name = :name AND correlation_id = :correlation_id
UNION ALL
SELECT id FROM saga.instance WHERE id = :id::uuid AND name = :name AND correlation_id IS NULL
LIMIT 1;

-- name: lock
SELECT id FROM saga.instance WHERE id = :id::uuid FOR UPDATE;

-- name: fenceOff
-- After an operator's change was checkpointed: fences off the holder of the lease. input: the new input, if any. The input that
-- the saga was started with is kept beside it, because repeated starts are compared with that. version: the new version, if
-- any. A completed saga that is undone had left the queue of its semantic lock, and enters it again at its old position.
UPDATE saga.instance SET epoch = epoch + 1, cancel_requested_at = NULL, cancel_reason = NULL, pause_requested = false,
  input = coalesce(:input::json, input), input_replaced = input_replaced OR :input::json IS NOT NULL,
  started_input = CASE WHEN :input::json IS NOT NULL AND NOT input_replaced THEN input ELSE started_input END,
  version = coalesce(:version::int, version), graph_revision = CASE WHEN :version::int IS NULL THEN graph_revision END,
  lock_state = CASE WHEN lock_state IS NULL AND lock_key IS NOT NULL AND :IS_UNDONE(instance) THEN 'arriving'
    ELSE lock_state END,
  lock_deadlock = CASE WHEN :IS_UNDONE(instance) THEN NULL ELSE lock_deadlock END
WHERE id = :id::uuid;

-- name: requestCancel
-- The first reason stands. Who wants it to compensate does not want it to stand still any more.
UPDATE saga.instance SET cancel_requested_at = now(), cancel_reason = :reason, pause_requested = false
WHERE id = :id::uuid AND cancel_requested_at IS NULL;

-- name: endTask
-- A step (step) of a saga (id) has been decided on.
DELETE FROM saga.task WHERE saga_id = :id::uuid AND step = :step;

-- name: requestPause
UPDATE saga.instance SET pause_requested = true WHERE id = :id::uuid;

-- name: putBack
-- Before the checkpoint of a state that the database had lost: the fencing token and the lease that go with it.
-- id saga, epoch epoch, worker the worker that still runs it, or null, lease its lease in ms, started_at when the saga was started, if its
-- start was lost, parent_id and parent_step its parent, last_signal the number of the last signal that it has taken, starts_at its start time, if that has
-- not come. A saga that is stored again, and had begun under its semantic lock, is before all others of the same key.
UPDATE saga.instance i SET epoch = :epoch::int, locked_by = :worker::text,
  leased_at = CASE WHEN i.locked_by = :worker::text THEN i.leased_at WHEN :worker::text IS NOT NULL THEN now() END,
  due_at = CASE WHEN :worker::text IS NULL THEN i.due_at ELSE now() + :lease::float8 * interval '1 millisecond' END,
  rank_at = CASE WHEN :worker::text IS NULL THEN i.rank_at ELSE now() + :lease::float8 * interval '1 millisecond' END,
  created_at = coalesce(to_timestamp(:started_at::float8 / 1000), i.created_at),
  parent_id = coalesce(i.parent_id, :parent_id::uuid), parent_step = coalesce(i.parent_step, :parent_step::text),
  signals = greatest(i.signals, :last_signal::int), starts_at = to_timestamp(:starts_at::float8 / 1000),
  lock_position = CASE WHEN :started_at::float8 IS NULL THEN i.lock_position ELSE (SELECT min(o.lock_position) - 1
    FROM saga.instance o WHERE o.name = i.name AND o.lock_key = i.lock_key AND o.lock_state IS NOT NULL) END
WHERE i.id = :id::uuid;

-- name: putBackTime
-- After it: updated_at is the time of the row's last change, in ms since the epoch.
UPDATE saga.instance SET updated_at = to_timestamp(:updated_at::float8 / 1000) WHERE id = :id::uuid;

-- name: operation
-- Keeps what an operator did, under the lock of the saga's row.
-- saga_id saga, id id, action action, operator operator, reason reason, step step, from_status status before, revision revision, proposed proposed, new_input new input, given what it was given.
INSERT INTO saga.operation
  (saga_id, number, id, action, operator, reason, step, from_status, revision, proposed, new_input, given)
SELECT :saga_id::uuid, coalesce(max(o.number), 0) + 1, :id::uuid, :action, :operator, :reason, :step, :from_status, :revision::int, :proposed::boolean, :new_input::boolean, :given::json
FROM saga.operation o WHERE o.saga_id = :saga_id::uuid;

-- name: history
-- What operators did, and what the saga was sent: the latest, oldest first. saga_id saga, limit how many.
SELECT entry FROM (
  SELECT * FROM (
    (SELECT o.at, :SHOWN_OPERATION AS entry FROM saga.operation o
     WHERE o.saga_id = :saga_id::uuid ORDER BY o.number DESC LIMIT :limit)
    UNION ALL
    (SELECT g.sent_at, json_build_object('action', 'signal', 'signal', g.name,
       'at', (extract(epoch FROM g.sent_at) * 1000)::float8)
     FROM saga.signal g WHERE g.saga_id = :saga_id::uuid AND NOT starts_with(g.name, :APPROVAL_PREFIX)
     ORDER BY g.number DESC LIMIT :limit)
  ) entries ORDER BY at DESC LIMIT :limit
) latest ORDER BY at;
