import { PRIORITY_POINT_MS } from '../../../engine/saga-store.js';
import { PINNED } from './pinned-plan.js';

/**
 * Semantic locks within a family: a saga and all that it has started, directly or not.
 *
 * What an ancestor holds, its sub-sagas do not wait for: it waits for them. They run under its hold, with the
 * `lock_state` 'inside', any number of them at a time. While anyone is inside, somebody holds the lock: if the holder
 * leaves before them (only one that is aborted does), one of them holds it on (hand_over_1).
 *
 * Nobody else asks: these look at sagas with a parent, and at those that are undone.
 * Plan: by primary key upwards, by instance_parent downwards.
 */
export const familyLockFunctions = (schema: string, channel: string): string[] => [
  familyLocks(schema),
  lookAgain(schema, channel),
];

/**
 * Is it still part of its family? What was compensated or aborted waits for nobody, and will not be undone; what was
 * completed may be, with its ancestors.
 */
const isLinked = (i: string): string => `${i}.status NOT IN ('compensated', 'aborted')`;

/** family_locks_1: the ancestors of a saga that hold a lock. $1 the saga's parent. */
const familyLocks = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.family_locks_1(uuid)
RETURNS TABLE (holder uuid, holder_name text, holder_key text) LANGUAGE plpgsql STABLE
${PINNED} AS $function$
BEGIN
  RETURN QUERY WITH RECURSIVE up AS (
    SELECT i.id, i.parent_id, i.name, i.lock_key, i.lock_state FROM ${schema}.instance i
    WHERE i.id = $1 AND ${isLinked('i')}
    UNION ALL
    SELECT i.id, i.parent_id, i.name, i.lock_key, i.lock_state FROM up
    JOIN ${schema}.instance i ON i.id = up.parent_id WHERE ${isLinked('i')}
  )
  SELECT up.id, up.name, up.lock_key FROM up WHERE up.lock_state IN ('held', 'inside');
END $function$`;

/**
 * look_again_1: a saga that is undone has got its lock. Those that it started and that wait for one are due: they may have
 * been undone before it, and do not wait for what it has.
 */
const lookAgain = (schema: string, channel: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.look_again_1(uuid) RETURNS void LANGUAGE plpgsql
${PINNED} AS $function$
BEGIN
  WITH RECURSIVE down AS (
    SELECT c.id FROM ${schema}.instance c WHERE c.parent_id = $1 AND ${isLinked('c')}
    UNION ALL
    SELECT c.id FROM down JOIN ${schema}.instance c ON c.parent_id = down.id WHERE ${isLinked('c')}
  )
  UPDATE ${schema}.instance i SET
    due_at = now(), rank_at = now() - i.priority * interval '${PRIORITY_POINT_MS} milliseconds'
  FROM down WHERE i.id = down.id AND i.lock_state = 'waiting' AND i.locked_by IS NULL AND i.status <> 'paused';
  IF FOUND THEN PERFORM pg_notify('${channel}', 'due'); END IF;
END $function$`;
