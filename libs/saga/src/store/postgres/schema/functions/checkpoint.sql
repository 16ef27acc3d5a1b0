-- fragment: IDLE_STATUS
-- `running` needs no bytes, and what has ended is in no index that has it.
CASE WHEN w.status <> 'running' AND w.terminal IS NOT TRUE THEN w.status END

-- fragment: DUE_AT
-- A saga that was woken while it was held is looked at again, but for one idle.
CASE WHEN i.woken AND w.status IN :IN_PROGRESS THEN now() ELSE to_timestamp(w.due_at / 1000) END

-- fragment: SAGAS
unnest(:SAGA_GIVEN) AS w(:SAGA_COLUMNS)

-- fragment: STEPS
unnest(:STEP_GIVEN) AS c(:STEP_COLUMNS)

-- fragment: CHECKPOINT_TYPES
:SAGA_TYPES, :STEP_TYPES

-- fragment: CHECKPOINT_ARGUMENTS
:SAGA_GIVEN, :STEP_GIVEN

-- name: checkpoint
-- Stores a batch of checkpoints. Fences by epoch, updates the sagas' rows, writes the steps that
-- changed, and announces those that are settled and waited for: one call, one commit. Gives the ids that were saved.
--
-- Plan: a scan of instance_pkey for the ids, whose rows are joined with the checkpoints by a hash; then an upsert that finds
-- its row by step_pkey. Of one saga: a nested loop into instance_pkey.
-- The trap: joining unnest(...) to a table, the planner prefers to hash the whole table for a large batch, or
-- while statistics say that it is small; throughput then falls as the table grows. A nested loop from the ids opens every
-- partition. So the plan is pinned by the function's own settings, which a statement of ours on the application's connections
-- could not have, and `= ANY` bounds what is hashed. test/sagas/plans holds it there. A bitmap scan would lock the rows in the
-- order in which they are stored, and not in that of their ids, as all other statements do.
-- `force_generic_plan`: one checkpoint looks cheaper with a plan of its own than with the one for ten rows, so it
-- would be planned anew at each call: 0.26 ms in the server instead of 0.11.
-- Why a function, for one checkpoint on an idle server: sent as a statement 1.0 ms, most of it parsing and
-- planning; as a prepared statement 0.43 ms, but with a plan that can go stale and not behind every pooler; as a
-- PL/pgSQL function 0.49 ms; as an SQL function 0.51 to 0.84 ms; a bare update of one row 0.33 to 0.40 ms.
-- Rows of steps that are not stored yet are inserted as they are: as an upsert each costs a look at the index more, and
-- a second record of WAL (144 bytes a saga of three steps).
-- A checkpoint that keeps the lease leaves due_at, rank_at and idle_status alone: no indexed column changes, the update is
-- HOT, a change of the status included.
-- w_: of the sagas. c_: of the steps that changed. fresh: no step of the sagas is stored yet.
CREATE OR REPLACE FUNCTION saga.checkpoint(:CHECKPOINT_TYPES, fresh boolean)
:CHECKPOINT(:SAGAS, :STEPS, SET enable_nestloop = off SET enable_bitmapscan = off, AND i.id = ANY(w_id), cardinality(w_id));

-- name: checkpoint_one
-- Checkpoint for one saga of which one step changed, as on an idle server.
CREATE OR REPLACE FUNCTION saga.checkpoint_one(:SAGA_TYPES_ONE, :STEP_TYPES_ONE, fresh boolean)
:CHECKPOINT(:ONE_SAGA, :ONE_STEP, SET enable_hashjoin = off, , 1);

-- fragment: ONE_SAGA
(SELECT :SAGA_GIVEN_ONE WHERE w_id IS NOT NULL) AS w

-- fragment: ONE_STEP
(SELECT :STEP_GIVEN_ONE WHERE c_saga_id IS NOT NULL) AS c

-- fragment: CHECKPOINT(sagas, steps, settings, among, all)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_mergejoin = off :settings AS $function$
DECLARE
  saved uuid[];
BEGIN
  WITH updated AS (
    UPDATE saga.instance i SET
      :CHECKPOINTED,
      takeovers = 0, losses = CASE WHEN w.stalls THEN i.losses ELSE 0 END, checkpoints = w.number,
      locked_by = CASE WHEN w.released THEN NULL ELSE i.locked_by END,
      due_at = CASE WHEN w.released OR w.settled THEN :DUE_AT ELSE i.due_at END,
      rank_at = CASE WHEN w.released OR w.settled
        THEN :DUE_AT - i.priority * interval ':PRIORITY_POINT_MS milliseconds'
        ELSE i.rank_at END,
      idle_status = CASE WHEN w.released OR w.settled THEN :IDLE_STATUS ELSE i.idle_status END,
      updated_at = now(),
      finished_at = CASE WHEN w.terminal THEN coalesce(i.finished_at, now()) END
    FROM :sagas
    WHERE i.id = w.id AND i.epoch = w.epoch AND i.checkpoints < w.number AND (i.cancel_requested_at IS NULL OR w.cancel_seen)
      AND (NOT i.pause_requested OR w.pause_seen) :among
    RETURNING i.id, CASE WHEN i.watched AND w.settled THEN pg_notify(:CHANNEL, 'settled:' || i.id) END,
      CASE WHEN i.woken AND w.released AND w.settled IS NOT TRUE THEN pg_notify(:CHANNEL, 'due') END
  )
  SELECT coalesce(array_agg(updated.id), '{}') INTO saved FROM updated;

  IF fresh THEN
    :INSERT_STEPS(:steps, :all);
  ELSE
    :INSERT_STEPS(:steps, :all)
    ON CONFLICT (saga_id, name) DO UPDATE SET
      :STATE_UPDATES,
      progress = excluded.progress,
      updated_at = excluded.updated_at;
  END IF;

  RETURN saved;
END $function$

-- fragment: INSERT_STEPS(steps, all)
-- Steps of sagas that were not saved are left out; to look for them costs more than all the rest, and is rare.
    INSERT INTO saga.step AS s (saga_id, name, :STATE_COLUMNS,
      progress, started_at, updated_at)
    SELECT c.saga_id, c.name, :STATE_WRITTEN,
      c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM :steps
    WHERE cardinality(saved) = :all OR c.saga_id = ANY(saved)
