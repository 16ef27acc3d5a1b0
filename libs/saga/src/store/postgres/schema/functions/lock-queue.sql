-- The semantic lock: one saga of a name and key is active at a time, the others wait in a queue.
--
-- A row's `lock_state`: 'arriving', stored and due like any other, until a claim puts it into the queue. Then 'held',
-- or 'waiting' with nothing due, or 'inside', active under the hold of an ancestor (family-locks.sql). Null
-- once it has left. Starts take no lock, so that a caller's transaction that starts a saga blocks no other. Everything
-- that reads a queue and acts on it does so under the queue's advisory lock (lock_queues), which is taken before any
-- row's lock, in one order. Each statement that follows sees all that was done under it before. So no wake-up is lost:
-- a saga that waits saw another before it, in the queue or arriving. Each of those enters or leaves the queue under the
-- lock later, and finds the saga that waits.
--
-- That requires READ COMMITTED: at a higher level a transaction does not see which sagas entered the queue since it
-- began. So lock_queues refuses other levels. The transaction of a step may have any level, and hands nothing over
-- there: its checkpoint leaves the saga ended, with its lock still held, and due. The process that committed it calls
-- lock_enqueue at once, in a transaction of its own. If that process is lost, the worker that claims the saga does.
-- For an ended saga, lock_enqueue takes it out of its queue.
--
-- Plan: index scans of instance_lock_queue, instance_lock_held and instance_lock_inside, which hold such sagas only;
-- pinned by the functions' settings, as in checkpoint.sql.

-- fragment: IS_UNDONE(i)
-- Whether a saga had completed, and is to be undone: it begins again, compensating.
(:i.status = 'compensating' AND coalesce(:i.failure ->> 'kind', '') = 'undone')

-- fragment: IN_LINE
-- The sagas whose turn it may be. A saga that is to begin later, and was not claimed at that time yet, blocks no other.
l.lock_state IS NOT NULL
      AND (l.lock_state <> 'arriving' OR coalesce(l.starts_at <= clock_timestamp(), true)
        AND (l.locked_by IS NOT NULL OR l.due_at <= clock_timestamp()))

-- name: lock_queues
-- The lock queues of these names and keys are the caller's until its transaction ends.
CREATE OR REPLACE FUNCTION saga.lock_queues(text[], text[]) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  queue bigint;
BEGIN
  IF cardinality($1) > 0 AND :IS_RAISED THEN
    RAISE EXCEPTION 'lock queues can be locked at READ COMMITTED only' USING ERRCODE = :NOT_READ_COMMITTED;
  END IF;
  FOR queue IN
    SELECT DISTINCT hashtextextended(format('%L %L', w.name, w.key), hashtext($q$:SCHEMA$q$)) AS h
    FROM unnest($1, $2) AS w(name, key) ORDER BY h
  LOOP
    PERFORM pg_advisory_xact_lock(queue);
  END LOOP;
END $function$;

-- fragment: UNLESS_RAISED(names)
-- In a function that checkpoints: nothing is done, and the answer is one null, if locks were to be handed on at another level.
IF cardinality(:names) > 0 AND :IS_RAISED THEN RETURN ARRAY[NULL]::uuid[]; END IF;

-- name: lock_holder
-- Who holds the lock, or is next to. For people.
CREATE OR REPLACE FUNCTION saga.lock_holder(text, text) RETURNS uuid LANGUAGE plpgsql STABLE
:PINNED AS $function$
BEGIN
  RETURN coalesce(
    (SELECT h.id FROM saga.instance h WHERE h.name = $1 AND h.lock_key = $2 AND h.lock_state = 'held'),
    (SELECT l.id FROM saga.instance l WHERE l.name = $1 AND l.lock_key = $2 AND :IN_LINE
     ORDER BY l.lock_position LIMIT 1));
END $function$;

-- name: lock_hand_over
-- Gives a free lock to the next saga of the queue, if that waits; one that arrives takes it by itself. What others are
-- inside of is not free: the first of them holds it on.
CREATE OR REPLACE FUNCTION saga.lock_hand_over(text, text) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  next record;
BEGIN
  PERFORM FROM saga.instance h WHERE h.name = $1 AND h.lock_key = $2 AND h.lock_state = 'held';
  IF FOUND THEN RETURN; END IF;
  UPDATE saga.instance i SET lock_state = 'held'
  WHERE i.id = (SELECT n.id FROM saga.instance n WHERE n.name = $1 AND n.lock_key = $2 AND n.lock_state = 'inside'
    ORDER BY n.lock_position LIMIT 1);
  IF FOUND THEN RETURN; END IF;
  SELECT l.id, l.lock_state, l.status <> 'running' AS undone INTO next FROM saga.instance l
  WHERE l.name = $1 AND l.lock_key = $2 AND :IN_LINE
  ORDER BY l.lock_position LIMIT 1;
  IF next.lock_state = 'waiting' THEN
    UPDATE saga.instance i SET
      lock_state = 'held',
      :DUE_UNLESS_STOPPED(i),
      deadline_at = now() + i.lock_timeout * interval '1 millisecond'
    WHERE i.id = next.id;
    PERFORM pg_notify(:CHANNEL, 'due');
    IF next.undone THEN PERFORM saga.look_again(next.id); END IF;
  END IF;
END $function$;

-- fragment: HAS_ENDED(i)
:i.status IN :ENDED_STATUSES

-- fragment: UNLESS_ENDED(i, column, value)
:column = CASE WHEN :HAS_ENDED(:i) THEN :value ELSE :i.:column END

-- fragment: NOTHING_DUE_IF_ENDED(i)
-- When an ended saga hands its lock on, it is not due any more, and its lease ends.
:UNLESS_ENDED(:i, locked_by, NULL), :UNLESS_ENDED(:i, due_at, NULL), :UNLESS_ENDED(:i, rank_at, NULL), :UNLESS_ENDED(:i, takeovers, 0)

-- name: lock_dequeue
-- Removes sagas that have ended or will never begin from their queues, and hands over what they
-- held. Called with their queues locked. One that has ended is not due afterwards, whichever claim holds it: no later
-- claim would see a lock, and remove it from its queue again.
CREATE OR REPLACE FUNCTION saga.lock_dequeue(uuid[]) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  gone record;
BEGIN
  FOR gone IN
    -- Not IS NOT NULL: a plan made while no saga was in the queue would read instance_lock_queue from end to end.
    UPDATE saga.instance i SET lock_state = NULL, :NOTHING_DUE_IF_ENDED(i)
    WHERE i.id = ANY($1) AND coalesce(i.lock_state, '') <> ''
      AND (:HAS_ENDED(i)
        OR (i.lock_state NOT IN ('held', 'inside') AND NOT :IS_UNDONE(i)
          AND (i.status NOT IN ('running', 'paused') OR i.cancel_requested_at IS NOT NULL)
          -- What an operator has taken as done is undone under the lock. Not by NOT EXISTS, which may read all steps into a hash table.
          AND (SELECT true FROM saga.step s WHERE s.saga_id = i.id AND s.status = 'completed' LIMIT 1) IS NULL))
    RETURNING i.name, i.lock_key
  LOOP
    PERFORM saga.lock_hand_over(gone.name, gone.lock_key);
  END LOOP;
END $function$;

-- name: lock_enqueue
-- Enqueues sagas with a lock that were just claimed. It returns the ids and deadlines of those that may run, and
-- of those that are to fail, since they would wait for ever (family-locks.sql). The others wait without lease and
-- due time. None of them has run, so a lost claim counts for nothing. Of one that has ended, and is due only to leave the
-- queue, nothing is returned. One that was claimed before its start time is given back until then, and does not enter the
-- queue.
-- $1 ids, $2 epochs, $3 names, $4 keys.
CREATE OR REPLACE FUNCTION saga.lock_enqueue(uuid[], int[], text[], text[])
RETURNS TABLE (ready uuid, deadline float8, held boolean, deadlock json, cancelled boolean, reason text) LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  given record;
  is_inside boolean;
  circle json;
BEGIN
  PERFORM saga.lock_queues($3, $4);
  PERFORM saga.lock_families($1, $2);
  -- One that is to be cancelled does not wait for a turn.
  PERFORM saga.lock_dequeue($1);
  FOR given IN
    SELECT i.id, i.name, i.lock_key, i.lock_position, i.lock_state, i.status, i.parent_id, i.starts_at,
      i.status <> 'running' AS undone
    FROM unnest($1, $2) AS w(id, epoch)
    JOIN saga.instance i ON i.id = w.id AND i.epoch = w.epoch
    ORDER BY i.lock_position
  LOOP
    CONTINUE WHEN :HAS_ENDED(given);
    IF given.lock_state IN ('arriving', 'waiting') THEN
      is_inside := given.parent_id IS NOT NULL AND EXISTS (SELECT FROM saga.family_locks(given.parent_id) f
        WHERE f.holder_name = given.name AND f.holder_key = given.lock_key);
      IF given.starts_at IS NOT NULL OR NOT is_inside AND (EXISTS (SELECT FROM saga.instance h
          WHERE h.name = given.name AND h.lock_key = given.lock_key AND h.lock_state = 'held')
        OR EXISTS (SELECT FROM saga.instance l
          WHERE l.name = given.name AND l.lock_key = given.lock_key AND l.lock_position < given.lock_position AND :IN_LINE))
      THEN
        circle := CASE WHEN given.starts_at IS NULL AND given.parent_id IS NOT NULL THEN saga.break_circle(given.id) END;
        IF circle IS NULL THEN
          UPDATE saga.instance i SET
            lock_state = CASE WHEN i.starts_at IS NULL THEN 'waiting' ELSE i.lock_state END, locked_by = NULL,
            due_at = i.starts_at, rank_at = i.starts_at - i.priority * interval ':PRIORITY_POINT_MS milliseconds', takeovers = 0
          WHERE i.id = given.id;
          CONTINUE;
        END IF;
        UPDATE saga.instance i SET lock_state = NULL, lock_deadlock = circle, takeovers = 0 WHERE i.id = given.id;
      ELSE
        UPDATE saga.instance i SET
          lock_state = CASE WHEN is_inside THEN 'inside' ELSE 'held' END, takeovers = 0,
          deadline_at = now() + i.lock_timeout * interval '1 millisecond'
        WHERE i.id = given.id;
        IF given.undone AND NOT is_inside THEN PERFORM saga.look_again(given.id); END IF;
      END IF;
    END IF;
    RETURN QUERY SELECT i.id, (extract(epoch FROM i.deadline_at) * 1000)::float8, i.lock_state IS NOT NULL, i.lock_deadlock,
      i.cancel_requested_at IS NOT NULL, i.cancel_reason
    FROM saga.instance i WHERE i.id = given.id;
  END LOOP;
END $function$;

-- name: checkpoint_locked
-- Checkpoint for a batch some of which ends sagas with a lock ($1 names, $2 keys): with the
-- same commit each lock goes to the next saga of its queue.
CREATE OR REPLACE FUNCTION saga.checkpoint_locked(lock_names text[], lock_keys text[], :CHECKPOINT_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  :UNLESS_RAISED(lock_names)
  PERFORM saga.lock_queues(lock_names, lock_keys);
  saved := saga.checkpoint(:CHECKPOINT_ARGUMENTS, fresh);
  PERFORM saga.lock_dequeue(saved);
  RETURN saved;
END $function$;
