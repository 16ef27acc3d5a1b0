-- The maximum number of lock positions that one call may take.
\set CALL_PLACES 1000000

-- fragment: NEW_SAGAS
-- Each parameter is an array of a column's values.
unnest(:START_GIVEN) AS w(:START_COLUMNS)

-- fragment: NEW_SAGA
-- Each parameter is a value of the only row. If the id is null, there is no row: such a call only plans the function's
-- statements. For a batch of one, as on an idle server: a fifth less time in the server than with arrays of one.
(SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w

-- name: start
-- Stores a batch of new sagas, takes the lease of those that this worker has room for, and returns the ids of
-- those that were not there yet.
--
-- Plan: one insert from a function scan; conflicts are found in the primary key and in instance_correlation. Rows come
-- in the order of their correlation ids, so that two processes that start the same sagas wait for each other in one
-- order. A function, so that it is parsed and planned once a connection (see checkpoint.sql). For sagas with a
-- semantic lock only the position in the queue is stored (by calls, then by the order within one). The claim gives the
-- lock (see lock-queue.sql), so that a start waits for no other saga. The subquery that draws the call's number
-- is an InitPlan: run once, and never for plain sagas.
-- worker, lease: in ms. fresh: nothing can be there yet. To insert without looking for conflicts costs a third less.
CREATE OR REPLACE FUNCTION saga.start(worker text, lease float8, :START_TYPES, fresh boolean)
:START(:NEW_SAGAS);

-- name: start_one
-- Start for one saga, as on an idle server.
CREATE OR REPLACE FUNCTION saga.start_one(worker text, lease float8, :START_TYPES_ONE, fresh boolean)
:START(:NEW_SAGA);

-- fragment: START(rows)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
BEGIN
  :STORE_SAGAS(:rows,)
  RETURN coalesce(started, '{}');
END $function$

-- fragment: STORE_SAGAS(rows, only)
-- only: a condition on the rows that are stored.
  IF fresh THEN
    WITH i AS (:INSERT_SAGAS(:rows, :only) RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (:INSERT_SAGAS(:rows, :only) ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;

-- fragment: INSERT_SAGAS(rows, only)
    INSERT INTO saga.instance
      (:STARTED_COLUMNS, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT :STARTED_VALUES, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN worker END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('saga.lock_position')) * :CALL_PLACES + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM :rows
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + lease * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t :only
