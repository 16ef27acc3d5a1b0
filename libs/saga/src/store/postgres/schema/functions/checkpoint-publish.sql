-- name: checkpoint_publish
-- Checkpoint, or checkpoint_locked, for a batch some of which publish messages: those of sagas
-- that were saved go into the outbox with the same commit, and no others.
-- publishers: the saga of each message. lock_names, lock_keys: locks that are handed on.
CREATE OR REPLACE FUNCTION saga.checkpoint_publish(publishers uuid[], :MESSAGE_TYPES, lock_names text[], lock_keys text[],
  :CHECKPOINT_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  :UNLESS_RAISED(lock_names)
  IF cardinality(lock_names) > 0 THEN
    saved := saga.checkpoint_locked(lock_names, lock_keys, :CHECKPOINT_ARGUMENTS, fresh);
  ELSE
    saved := saga.checkpoint(:CHECKPOINT_ARGUMENTS, fresh);
  END IF;
  IF cardinality(saved) = cardinality(w_id) THEN
    PERFORM saga.publish(:MESSAGE_GIVEN);
  ELSE
    PERFORM saga.publish(:MESSAGE_AGGREGATES)
    FROM unnest(publishers, :MESSAGE_GIVEN) WITH ORDINALITY AS w(saga_id, :MESSAGE_COLUMNS, row_of_call)
    WHERE w.saga_id = ANY(saved)
    HAVING count(*) > 0;
  END IF;
  RETURN saved;
END $function$;
