import { ENDED_STATUSES } from '../../../../definition/types/saga-status.js';
import { inList } from '../in-list.js';
import { PRIORITY_POINT_MS } from '../../../../engine/ports/saga-store.js';
import { IS_RAISED, NOT_READ_COMMITTED } from './raised-isolation.js';
import { CHECKPOINT_TYPES } from './checkpoint.function.js';
import { dueUnlessStopped } from './due-now.js';
import { PINNED } from './pinned-plan.js';

/**
 * The semantic lock: one saga of a name and key is active at a time, the others wait in a queue.
 *
 * A row's `lock_state`: 'arriving', stored and due like any other, until a claim puts it into the queue. Then 'held',
 * or 'waiting' with nothing due, or 'inside', active under the hold of an ancestor (family-locks.function.ts). Null
 * once it has left. Starts take no lock, so that a caller's transaction that starts a saga blocks no other. Everything
 * that reads a queue and acts on it does so under the queue's advisory lock (lock_queues), which is taken before any
 * row's lock, in one order. Each statement that follows sees all that was done under it before. So no wake-up is lost:
 * a saga that waits saw another before it, in the queue or arriving. Each of those enters or leaves the queue under the
 * lock later, and finds the saga that waits.
 *
 * That requires READ COMMITTED: at a higher level a transaction does not see which sagas entered the queue since it
 * began. So lock_queues refuses other levels. The transaction of a step may have any level, and hands nothing over
 * there: its checkpoint leaves the saga ended, with its lock still held, and due. The process that committed it calls
 * lock_enqueue at once, in a transaction of its own. If that process is lost, the worker that claims the saga does.
 * For an ended saga, lock_enqueue takes it out of its queue.
 *
 * Plan: index scans of instance_lock_queue, instance_lock_held and instance_lock_inside, which hold such sagas only;
 * pinned by the functions' settings, as in checkpoint.function.ts.
 */
export const lockQueueFunctions = (schema: string, channel: string): string[] => [
  lockQueues(schema),
  lockHolder(schema),
  handOver(schema, channel),
  dequeue(schema),
  enqueue(schema),
  checkpointLocked(schema),
];

/** Whether a saga had completed, and is to be undone: it begins again, compensating. */
export const isUndone = (i: string): string =>
  `(${i}.status = 'compensating' AND coalesce(${i}.failure ->> 'kind', '') = 'undone')`;

/** The sagas whose turn it may be. A saga that is to begin later, and was not claimed at that time yet, blocks no other. */
const IN_LINE = `l.lock_state IS NOT NULL
      AND (l.lock_state <> 'arriving' OR coalesce(l.starts_at <= clock_timestamp(), true)
        AND (l.locked_by IS NOT NULL OR l.due_at <= clock_timestamp()))`;

/** lock_queues: the lock queues of these names and keys are the caller's until its transaction ends. */
const lockQueues = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.lock_queues(text[], text[]) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  queue bigint;
BEGIN
  IF cardinality($1) > 0 AND ${IS_RAISED} THEN
    RAISE EXCEPTION 'lock queues can be locked at READ COMMITTED only' USING ERRCODE = '${NOT_READ_COMMITTED}';
  END IF;
  FOR queue IN
    SELECT DISTINCT hashtextextended(format('%L %L', w.name, w.key), hashtext($q$${schema}$q$)) AS h
    FROM unnest($1, $2) AS w(name, key) ORDER BY h
  LOOP
    PERFORM pg_advisory_xact_lock(queue);
  END LOOP;
END $function$`;

/** In a function that checkpoints: nothing is done, and the answer is one null, if locks were to be handed on at another level. */
export const unlessRaised = (names: string): string =>
  `IF cardinality(${names}) > 0 AND ${IS_RAISED} THEN RETURN ARRAY[NULL]::uuid[]; END IF;`;

/** lock_holder: who holds the lock, or is next to. For people. */
const lockHolder = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.lock_holder(text, text) RETURNS uuid LANGUAGE plpgsql STABLE
${PINNED} AS $function$
BEGIN
  RETURN coalesce(
    (SELECT h.id FROM ${schema}.instance h WHERE h.name = $1 AND h.lock_key = $2 AND h.lock_state = 'held'),
    (SELECT l.id FROM ${schema}.instance l WHERE l.name = $1 AND l.lock_key = $2 AND ${IN_LINE}
     ORDER BY l.lock_position LIMIT 1));
END $function$`;

/**
 * lock_hand_over: gives a free lock to the next saga of the queue, if that waits; one that arrives takes it by itself. What others are
 * inside of is not free: the first of them holds it on.
 */
const handOver = (schema: string, channel: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.lock_hand_over(text, text) RETURNS void LANGUAGE plpgsql
${PINNED} AS $function$
DECLARE
  next record;
BEGIN
  PERFORM FROM ${schema}.instance h WHERE h.name = $1 AND h.lock_key = $2 AND h.lock_state = 'held';
  IF FOUND THEN RETURN; END IF;
  UPDATE ${schema}.instance i SET lock_state = 'held'
  WHERE i.id = (SELECT n.id FROM ${schema}.instance n WHERE n.name = $1 AND n.lock_key = $2 AND n.lock_state = 'inside'
    ORDER BY n.lock_position LIMIT 1);
  IF FOUND THEN RETURN; END IF;
  SELECT l.id, l.lock_state, l.status <> 'running' AS undone INTO next FROM ${schema}.instance l
  WHERE l.name = $1 AND l.lock_key = $2 AND ${IN_LINE}
  ORDER BY l.lock_position LIMIT 1;
  IF next.lock_state = 'waiting' THEN
    UPDATE ${schema}.instance i SET
      lock_state = 'held',
      ${dueUnlessStopped('i')},
      deadline_at = now() + i.lock_timeout * interval '1 millisecond'
    WHERE i.id = next.id;
    PERFORM pg_notify('${channel}', 'due');
    IF next.undone THEN PERFORM ${schema}.look_again(next.id); END IF;
  END IF;
END $function$`;

const hasEnded = (i: string): string => `${i}.status IN ${inList(ENDED_STATUSES)}`;

/** When an ended saga hands its lock on, it is not due any more, and its lease ends. */
const nothingDueIfEnded = (i: string): string =>
  Object.entries({ locked_by: 'NULL', due_at: 'NULL', rank_at: 'NULL', takeovers: '0' })
    .map(([column, value]) => `${column} = CASE WHEN ${hasEnded(i)} THEN ${value} ELSE ${i}.${column} END`)
    .join(', ');

/**
 * lock_dequeue: removes sagas that have ended or will never begin from their queues, and hands over what they
 * held. Called with their queues locked. One that has ended is not due afterwards, whichever claim holds it: no later
 * claim would see a lock, and remove it from its queue again.
 */
const dequeue = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.lock_dequeue(uuid[]) RETURNS void LANGUAGE plpgsql
${PINNED} AS $function$
DECLARE
  gone record;
BEGIN
  FOR gone IN
    -- Not IS NOT NULL: a plan made while no saga was in the queue would read instance_lock_queue from end to end.
    UPDATE ${schema}.instance i SET lock_state = NULL, ${nothingDueIfEnded('i')}
    WHERE i.id = ANY($1) AND coalesce(i.lock_state, '') <> ''
      AND (${hasEnded('i')}
        OR (i.lock_state NOT IN ('held', 'inside') AND NOT ${isUndone('i')}
          AND (i.status NOT IN ('running', 'paused') OR i.cancel_requested_at IS NOT NULL)))
    RETURNING i.name, i.lock_key
  LOOP
    PERFORM ${schema}.lock_hand_over(gone.name, gone.lock_key);
  END LOOP;
END $function$`;

/**
 * lock_enqueue: enqueues sagas with a lock that were just claimed. It returns the ids and deadlines of those that may run, and
 * of those that are to fail, since they would wait for ever (family-locks.function.ts). The others wait without lease and
 * due time. None of them has run, so a lost claim counts for nothing. Of one that has ended, and is due only to leave the
 * queue, nothing is returned. One that was claimed before its start time is given back until then, and does not enter the
 * queue.
 * $1 ids, $2 epochs, $3 names, $4 keys.
 */
const enqueue = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.lock_enqueue(uuid[], int[], text[], text[])
RETURNS TABLE (ready uuid, deadline float8, held boolean, deadlock json, cancelled boolean, reason text) LANGUAGE plpgsql
${PINNED} AS $function$
DECLARE
  given record;
  is_inside boolean;
  circle json;
BEGIN
  PERFORM ${schema}.lock_queues($3, $4);
  PERFORM ${schema}.lock_families($1, $2);
  -- One that is to be cancelled does not wait for a turn.
  PERFORM ${schema}.lock_dequeue($1);
  FOR given IN
    SELECT i.id, i.name, i.lock_key, i.lock_position, i.lock_state, i.status, i.parent_id, i.starts_at,
      i.status <> 'running' AS undone
    FROM unnest($1, $2) AS w(id, epoch)
    JOIN ${schema}.instance i ON i.id = w.id AND i.epoch = w.epoch
    ORDER BY i.lock_position
  LOOP
    CONTINUE WHEN ${hasEnded('given')};
    IF given.lock_state IN ('arriving', 'waiting') THEN
      is_inside := given.parent_id IS NOT NULL AND EXISTS (SELECT FROM ${schema}.family_locks(given.parent_id) f
        WHERE f.holder_name = given.name AND f.holder_key = given.lock_key);
      IF given.starts_at IS NOT NULL OR NOT is_inside AND (EXISTS (SELECT FROM ${schema}.instance h
          WHERE h.name = given.name AND h.lock_key = given.lock_key AND h.lock_state = 'held')
        OR EXISTS (SELECT FROM ${schema}.instance l
          WHERE l.name = given.name AND l.lock_key = given.lock_key AND l.lock_position < given.lock_position AND ${IN_LINE}))
      THEN
        circle := CASE WHEN given.starts_at IS NULL AND given.parent_id IS NOT NULL THEN ${schema}.break_circle(given.id) END;
        IF circle IS NULL THEN
          UPDATE ${schema}.instance i SET
            lock_state = CASE WHEN i.starts_at IS NULL THEN 'waiting' ELSE i.lock_state END, locked_by = NULL,
            due_at = i.starts_at, rank_at = i.starts_at - i.priority * interval '${PRIORITY_POINT_MS} milliseconds', takeovers = 0
          WHERE i.id = given.id;
          CONTINUE;
        END IF;
        UPDATE ${schema}.instance i SET lock_state = NULL, lock_deadlock = circle, takeovers = 0 WHERE i.id = given.id;
      ELSE
        UPDATE ${schema}.instance i SET
          lock_state = CASE WHEN is_inside THEN 'inside' ELSE 'held' END, takeovers = 0,
          deadline_at = now() + i.lock_timeout * interval '1 millisecond'
        WHERE i.id = given.id;
        IF given.undone AND NOT is_inside THEN PERFORM ${schema}.look_again(given.id); END IF;
      END IF;
    END IF;
    RETURN QUERY SELECT i.id, (extract(epoch FROM i.deadline_at) * 1000)::float8, i.lock_state IS NOT NULL, i.lock_deadlock,
      i.cancel_requested_at IS NOT NULL, i.cancel_reason
    FROM ${schema}.instance i WHERE i.id = given.id;
  END LOOP;
END $function$`;

/**
 * checkpoint_locked: checkpoint for a batch some of which ends sagas with a lock ($1 names, $2 keys): with the
 * same commit each lock goes to the next saga of its queue.
 */
const checkpointLocked = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.checkpoint_locked(text[], text[], ${CHECKPOINT_TYPES})
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  ${unlessRaised('$1')}
  PERFORM ${schema}.lock_queues($1, $2);
  saved := ${schema}.checkpoint(${CHECKPOINT_TYPES.split(', ')
    .map((_, n) => `$${n + 3}`)
    .join(', ')});
  PERFORM ${schema}.lock_dequeue(saved);
  RETURN saved;
END $function$`;
