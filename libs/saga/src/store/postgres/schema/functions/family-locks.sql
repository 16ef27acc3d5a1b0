-- Semantic locks within a family: a saga and all that it has started, directly or not.
--
-- A sub-saga does not wait for a lock that an ancestor holds, because the ancestor waits for the sub-saga. Sub-sagas
-- run under the ancestor's hold, with the `lock_state` 'inside', any number of them at a time. While a saga is inside,
-- the lock has a holder: if the holder leaves first (only an aborted saga does), one of the sagas inside holds the lock
-- on (lock_hand_over).
--
-- A saga that waits for a lock, and that the holder of another lock waits for, can be part of a circle. The saga that
-- closes a circle always enters a queue at that moment: a saga that gets a lock has started nothing yet, or is undone,
-- and then the sagas that it started enter the queue again (look_again). Two sagas that enter queues at once could
-- both overlook a circle, so they do it one after the other (lock_families): only the sagas that must, whose ancestor
-- holds a lock. The saga that would close a circle fails instead of waiting. If it cannot fail, because it is undone,
-- the sagas that wait for what its ancestors hold fail. If these cannot fail either, an operator must decide, and it is
-- stuck.
--
-- Other sagas never run this: these functions read sagas with a parent, and sagas that are undone.
-- Plan: by primary key upwards, by instance_parent downwards.

-- fragment: IS_LINKED(i)
-- Whether a saga is still part of its family. A saga that was compensated or aborted waits for no other, and will not
-- be undone. A completed saga may be undone, with its ancestors.
:i.status NOT IN ('compensated', 'aborted')

-- fragment: STATE_OF(i)
-- For rows that are found by id: a plan that was made while the queue was empty would read instance_lock_queue instead.
coalesce(:i.lock_state, '')

-- name: family_locks
-- The ancestors of a saga that hold a lock. $1 the saga's parent.
CREATE OR REPLACE FUNCTION saga.family_locks(uuid)
RETURNS TABLE (holder uuid, holder_name text, holder_key text) LANGUAGE plpgsql STABLE
:PINNED AS $function$
BEGIN
  RETURN QUERY WITH RECURSIVE up AS (
    SELECT i.id, i.parent_id, i.name, i.lock_key, i.lock_state FROM saga.instance i
    WHERE i.id = $1 AND :IS_LINKED(i)
    UNION ALL
    SELECT i.id, i.parent_id, i.name, i.lock_key, i.lock_state FROM up
    JOIN saga.instance i ON i.id = up.parent_id WHERE :IS_LINKED(i)
  )
  SELECT up.id, up.name, up.lock_key FROM up WHERE up.lock_state IN ('held', 'inside');
END $function$;

-- name: look_again
-- A saga that is undone has got its lock. Those that it started and that wait for one are due: they may have
-- been undone before it, and do not wait for what it has.
CREATE OR REPLACE FUNCTION saga.look_again(uuid) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
BEGIN
  WITH RECURSIVE down AS (
    SELECT c.id FROM saga.instance c WHERE c.parent_id = $1 AND :IS_LINKED(c)
    UNION ALL
    SELECT c.id FROM down JOIN saga.instance c ON c.parent_id = down.id WHERE :IS_LINKED(c)
  )
  UPDATE saga.instance i SET
    due_at = now(), rank_at = :RANK_NOW(i)
  FROM down WHERE i.id = down.id AND :STATE_OF(i) = 'waiting' AND i.locked_by IS NULL AND i.status <> 'paused';
  IF FOUND THEN PERFORM pg_notify(:CHANNEL, 'due'); END IF;
END $function$;

-- name: lock_families
-- Those of these sagas that may close a circle are the only ones that enter their queues. Called once their queues
-- are locked, and before any row is. $1 ids, $2 epochs.
CREATE OR REPLACE FUNCTION saga.lock_families(uuid[], int[]) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
BEGIN
  PERFORM FROM unnest($1, $2) AS w(id, epoch)
  JOIN saga.instance i ON i.id = w.id AND i.epoch = w.epoch
  WHERE :STATE_OF(i) IN ('arriving', 'waiting')
    AND CASE WHEN i.parent_id IS NULL THEN false ELSE EXISTS (SELECT FROM saga.family_locks(i.parent_id)) END
  LIMIT 1;
  IF FOUND THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('families', hashtext($q$:SCHEMA$q$)));
  END IF;
END $function$;

-- fragment: HOLDERS_OF(i)
-- Selects the sagas that hold the lock of a row, or run under it; two selects, for each has its index.
      SELECT h.id FROM saga.instance h
      WHERE h.name = :i.name AND h.lock_key = :i.lock_key AND h.lock_state = 'held'
      UNION ALL
      SELECT h.id FROM saga.instance h
      WHERE h.name = :i.name AND h.lock_key = :i.lock_key AND h.lock_state = 'inside'

-- name: break_circle
-- Why a saga that is about to wait for its lock would wait for ever, as LockDeadlock. Null: it would
-- not, or does not any more, because the sagas that it would have waited for are to fail.
--
-- The search reaches the sagas that it would wait for: the holder of the lock, the sagas that the holder has started,
-- the holder of what those wait for, and so on, each once, until an ancestor of its own. It costs as much as the
-- families of those holders are large.
CREATE OR REPLACE FUNCTION saga.break_circle(uuid) RETURNS json LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  own record;
  kin uuid[];
  reached uuid[];
  waiters uuid[];
  circle json;
BEGIN
  SELECT i.id, i.name, i.lock_key, i.parent_id, i.status INTO own FROM saga.instance i WHERE i.id = $1;
  kin := ARRAY(SELECT f.holder FROM saga.family_locks(own.parent_id) f);
  IF cardinality(kin) = 0 THEN RETURN NULL; END IF;
  WITH RECURSIVE reach AS (
    SELECT s.id FROM (:HOLDERS_OF(own)) s
    UNION
    SELECT n.id FROM reach r CROSS JOIN LATERAL (
      SELECT c.id FROM saga.instance c WHERE c.parent_id = r.id AND :IS_LINKED(c)
      UNION ALL
      SELECT s.id FROM saga.instance w CROSS JOIN LATERAL (:HOLDERS_OF(w)) s
      WHERE w.id = r.id AND :STATE_OF(w) = 'waiting'
    ) n WHERE r.id <> ALL(kin)
  )
  SELECT array_agg(reach.id) INTO reached FROM reach;
  circle := :TOLD_OF(own);
  IF circle IS NULL OR own.status = 'running' THEN RETURN circle; END IF;
  PERFORM FROM :WAITERS_FOR_KIN AND NOT (i.status = 'running' OR (i.status = 'paused' AND i.held_phase = 'running'));
  IF FOUND THEN RETURN circle; END IF;
  waiters := ARRAY(SELECT i.id FROM :WAITERS_FOR_KIN ORDER BY i.id);
  UPDATE saga.instance i SET
    lock_state = NULL,
    lock_deadlock = :TOLD_OF(i),
    :DUE_UNLESS_STOPPED(i)
  WHERE i.id = ANY(waiters) AND :STATE_OF(i) = 'waiting';
  PERFORM pg_notify(:CHANNEL, 'due');
  RETURN NULL;
END $function$;

-- fragment: WAITERS_FOR_KIN
-- The sagas reached that wait for what an ancestor holds.
saga.instance i
    WHERE i.id = ANY(reached) AND :STATE_OF(i) = 'waiting' AND EXISTS (
      SELECT FROM saga.family_locks(own.parent_id) f WHERE f.holder_name = i.name AND f.holder_key = i.lock_key)

-- fragment: TOLD_OF(i)
-- Who holds the lock of a row, and what of its own family is waited for by one that was reached; null: nothing is.
(
    SELECT json_build_object('key', :i.lock_key, 'holder', json_build_object('id', h.id, 'name', h.name),
      'held', json_build_object('id', f.holder, 'name', f.holder_name, 'key', f.holder_key))
    FROM saga.family_locks(:i.parent_id) f, saga.instance h
    WHERE f.holder = ANY(reached) AND h.name = :i.name AND h.lock_key = :i.lock_key AND h.lock_state = 'held' LIMIT 1)
