-- What a checkpoint does to other sagas, in its own commit: it starts the sagas that its steps wait for, and the last
-- checkpoint of such a saga wakes its parent.
--
-- No wake-up is lost. A parent is woken under its row's lock. Without a lease it is due now. With a lease it is marked
-- as woken, and its worker is notified. If that worker releases the lease without having received the notification, the
-- mark makes the parent due at once (checkpoint.sql). A claim takes the mark away, and the worker that claims
-- reads the sagas that are waited for.

-- name: wake
-- Lets a saga look at what it waits for.
CREATE OR REPLACE FUNCTION saga.wake(uuid) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  holder text;
BEGIN
  UPDATE saga.instance i SET woken = true,
    due_at = CASE WHEN i.locked_by IS NULL AND i.status IN :IN_PROGRESS THEN now() ELSE i.due_at END,
    rank_at = CASE WHEN i.locked_by IS NULL AND i.status IN :IN_PROGRESS THEN :RANK_NOW(i)
      ELSE i.rank_at END
  WHERE i.id = $1
  RETURNING i.locked_by INTO holder;
  IF FOUND THEN
    PERFORM pg_notify(:CHANNEL, CASE WHEN holder IS NULL THEN 'due' ELSE 'look:' || $1 END);
  END IF;
END $function$;

-- name: checkpoint_family
-- Checkpoint for one saga that starts others, or that another waits for.
-- The rows of both are locked in the order of their ids, as everything locks them, so that nothing waits in a circle.
-- Plan: by primary key.
-- lock_names, lock_keys: of the semantic lock that it hands on. parent: the saga to wake. starters: the steps that start sagas.
CREATE OR REPLACE FUNCTION saga.checkpoint_family(lock_names text[], lock_keys text[], parent uuid, starters text[],
  :MESSAGE_TYPES, :START_TYPES, :CHECKPOINT_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  :UNLESS_RAISED(lock_names)
  PERFORM saga.lock_queues(lock_names, lock_keys);
  IF parent IS NOT NULL THEN
    PERFORM FROM saga.instance i WHERE i.id = parent OR i.id = w_id[1] ORDER BY i.id FOR NO KEY UPDATE;
  END IF;
  saved := saga.checkpoint(:CHECKPOINT_ARGUMENTS, fresh);
  IF cardinality(saved) = 0 THEN RETURN saved; END IF;
  IF cardinality(lock_names) > 0 THEN PERFORM saga.lock_dequeue(saved); END IF;
  IF cardinality(m_id) > 0 THEN PERFORM saga.publish(:MESSAGE_GIVEN); END IF;
  IF parent IS NOT NULL THEN PERFORM saga.wake(parent); END IF;
  IF cardinality(starters) > 0 THEN
    PERFORM saga.start('', 0, :START_GIVEN, false);
    UPDATE saga.instance i SET parent_id = saved[1], parent_step = c.step
    FROM unnest(n_id, starters) AS c(id, step) WHERE i.id = c.id;
    PERFORM pg_notify(:CHANNEL, 'due');
  END IF;
  RETURN saved;
END $function$;
