import { IN_PROGRESS } from '../../../../definition/types/saga-status.js';
import { inList } from '../in-list.js';
import { PRIORITY_POINT_MS } from '../../../../engine/ports/saga-store.js';
import { CHECKPOINT_ARGUMENTS, CHECKPOINT_TYPES } from './checkpoint.function.js';
import { PUBLISH_ARGUMENTS, PUBLISH_TYPES } from './publish.function.js';
import { unlessRaised } from './lock-queue.function.js';
import { START_ROWS, START_TYPES } from './start.function.js';
import { parameterList } from '../../checkpoint/call.sql.js';

/** Names and keys of locks, the parent, the steps that start sagas, then messages. */
const OWN_ARGUMENTS = 4 + PUBLISH_ARGUMENTS;
export const FAMILY_ARGUMENTS = OWN_ARGUMENTS + START_ROWS + CHECKPOINT_ARGUMENTS;

/**
 * What a checkpoint does to other sagas, in its own commit: it starts the sagas that its steps wait for, and the last
 * checkpoint of such a saga wakes its parent.
 *
 * No wake-up is lost. A parent is woken under its row's lock. Without a lease it is due now. With a lease it is marked
 * as woken, and its worker is notified. If that worker releases the lease without having received the notification, the
 * mark makes the parent due at once (checkpoint.function.ts). A claim takes the mark away, and the worker that claims
 * reads the sagas that are waited for.
 */
export const familyFunctions = (schema: string, channel: string): string[] => [
  wake(schema, channel),
  checkpointFamily(schema, channel),
];

/** wake: lets a saga look at what it waits for. */
const wake = (schema: string, channel: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.wake(uuid) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  holder text;
BEGIN
  UPDATE ${schema}.instance i SET woken = true,
    due_at = CASE WHEN i.locked_by IS NULL AND i.status IN ${inList(IN_PROGRESS)} THEN now() ELSE i.due_at END,
    rank_at = CASE WHEN i.locked_by IS NULL AND i.status IN ${inList(IN_PROGRESS)} THEN now() - i.priority * interval '${PRIORITY_POINT_MS} milliseconds'
      ELSE i.rank_at END
  WHERE i.id = $1
  RETURNING i.locked_by INTO holder;
  IF FOUND THEN
    PERFORM pg_notify('${channel}', CASE WHEN holder IS NULL THEN 'due' ELSE 'look:' || $1 END);
  END IF;
END $function$`;

/**
 * checkpoint_family: checkpoint for one saga that starts others, or that another waits for.
 * The rows of both are locked in the order of their ids, as everything locks them, so that nothing waits in a circle.
 * Plan: by primary key.
 * $1 names and $2 keys of the semantic lock that it hands on, $3 the saga to wake, $4 the steps that start sagas, then the
 * messages that it publishes, then those of start but its first two and its last, then those of checkpoint.
 */
const checkpointFamily = (schema: string, channel: string): string => {
  const starts = OWN_ARGUMENTS + 1;
  const checkpoint = starts + START_ROWS;
  return `
CREATE OR REPLACE FUNCTION ${schema}.checkpoint_family(text[], text[], uuid, text[], ${PUBLISH_TYPES}, ${START_TYPES}, ${CHECKPOINT_TYPES})
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  ${unlessRaised('$1')}
  PERFORM ${schema}.lock_queues($1, $2);
  IF $3 IS NOT NULL THEN
    PERFORM FROM ${schema}.instance i WHERE i.id = $3 OR i.id = ($${checkpoint})[1] ORDER BY i.id FOR NO KEY UPDATE;
  END IF;
  saved := ${schema}.checkpoint(${parameterList(checkpoint, CHECKPOINT_ARGUMENTS)});
  IF cardinality(saved) = 0 THEN RETURN saved; END IF;
  IF cardinality($1) > 0 THEN PERFORM ${schema}.lock_dequeue(saved); END IF;
  IF cardinality($5) > 0 THEN PERFORM ${schema}.publish(${parameterList(5, PUBLISH_ARGUMENTS)}); END IF;
  IF $3 IS NOT NULL THEN PERFORM ${schema}.wake($3); END IF;
  IF cardinality($4) > 0 THEN
    PERFORM ${schema}.start('', 0, ${parameterList(starts, START_ROWS)}, false);
    UPDATE ${schema}.instance i SET parent_id = saved[1], parent_step = c.step
    FROM unnest($${starts}, $4) AS c(id, step) WHERE i.id = c.id;
    PERFORM pg_notify('${channel}', 'due');
  END IF;
  RETURN saved;
END $function$`;
};
