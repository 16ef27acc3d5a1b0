-- name: tasks
-- Stores which steps of these sagas wait for an operator's decision: all of them, in place of those that are
-- stored. Called after the checkpoints, in the same statement, and only for those that change it: sagas without approvals
-- never call it.
--
-- A saga whose checkpoint was not saved is left alone. One whose checkpoint was saved by an earlier try gets the same
-- again: its row is locked, so that no decision comes in between. A step that was already decided on, and has not taken
-- the decision yet, is no task.
--
-- Plan: by primary keys. $1 ids, $2 epochs, $3 numbers of checkpoints, $4 sagas and $5 names of steps, $6 since when they
-- wait, in ms since the epoch.
CREATE OR REPLACE FUNCTION saga.tasks(uuid[], int[], int[], uuid[], text[], float8[]) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  saved uuid[];
BEGIN
  SELECT array_agg(l.id) INTO saved FROM (
    SELECT i.id FROM unnest($1, $2, $3) AS w(id, epoch, number)
    JOIN saga.instance i ON i.id = w.id AND i.epoch = w.epoch AND i.checkpoints = w.number
    ORDER BY i.id FOR NO KEY UPDATE OF i) l;
  IF saved IS NULL THEN
    RETURN;
  END IF;
  DELETE FROM saga.task t WHERE t.saga_id = ANY(saved) AND NOT EXISTS (
    SELECT FROM unnest($4, $5, $6) AS w(saga_id, step, since)
    WHERE w.saga_id = t.saga_id AND w.step = t.step AND to_timestamp(w.since / 1000) = t.since);
  INSERT INTO saga.task (saga_id, step, saga, since)
  SELECT i.id, w.step, i.name, to_timestamp(w.since / 1000)
  FROM unnest($4, $5, $6) AS w(saga_id, step, since) JOIN saga.instance i ON i.id = w.saga_id
  WHERE i.id = ANY(saved) AND NOT EXISTS (SELECT FROM saga.signal g
    WHERE g.saga_id = i.id AND g.name = :APPROVAL_PREFIX || w.step AND :IS_PENDING(g))
  ON CONFLICT (saga_id, step) DO NOTHING;
END $function$;
