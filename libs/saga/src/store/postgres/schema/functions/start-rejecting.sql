-- name: start_rejecting
-- Start for sagas that are not to wait for their semantic lock (`lockMode: 'reject'`). It leaves out
-- those whose lock another saga holds, or waits for, and of several for one lock all but the first.
--
-- The queues are locked first (lock-queue.sql), so that of two processes that start at once one finds the other's.
-- In a caller's transaction they stay locked until it ends. A saga that begins later counts from that time.
--
-- Plan: as start, after a few index lookups for each saga. The parameters are those of start.
CREATE OR REPLACE FUNCTION saga.start_rejecting(worker text, lease float8, :START_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  free bigint[];
BEGIN
  PERFORM saga.lock_queues(n_name, n_lock_key);
  free := ARRAY(SELECT f.n FROM (
      SELECT w.n, w.name, w.key, row_number() OVER (PARTITION BY w.name, w.key ORDER BY w.lock_order) AS place
      FROM unnest(n_name, n_lock_key, n_lock_order) WITH ORDINALITY AS w(name, key, lock_order, n)) f
    WHERE f.place = 1 AND saga.lock_holder(f.name, f.key) IS NULL);
  IF cardinality(free) = 0 THEN RETURN '{}'; END IF;
  RETURN (SELECT saga.start(worker, lease, :START_AGGREGATES, fresh)
    FROM unnest(:START_GIVEN) WITH ORDINALITY AS w(:START_COLUMNS, row_of_call) WHERE w.row_of_call = ANY(free));
END $function$;
