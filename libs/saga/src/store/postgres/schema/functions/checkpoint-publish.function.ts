import { CHECKPOINT_ARGUMENTS, CHECKPOINT_TYPES } from './checkpoint.function.js';
import { unlessRaised } from './lock-queue.function.js';
import { PUBLISH_ARGUMENTS, PUBLISH_TYPES } from './publish.function.js';
import { parameterList } from '../../checkpoint/call.sql.js';

/** The sagas that publish, their messages, and the names and keys of locks. */
const OWN_ARGUMENTS = 1 + PUBLISH_ARGUMENTS + 2;
export const CHECKPOINT_PUBLISH_ARGUMENTS = OWN_ARGUMENTS + CHECKPOINT_ARGUMENTS;

/**
 * checkpoint_publish: checkpoint, or checkpoint_locked, for a batch some of which publish messages: those of sagas
 * that were saved go into the outbox with the same commit, and no others.
 * $1 the saga of each message, then those of publish, names and keys of locks that are handed on, then the checkpoints.
 */
export const checkpointPublishFunction = (schema: string): string => {
  const names = PUBLISH_ARGUMENTS + 2;
  const checkpoint = OWN_ARGUMENTS + 1;
  const saved = `$${checkpoint}`;
  return `
CREATE OR REPLACE FUNCTION ${schema}.checkpoint_publish(uuid[], ${PUBLISH_TYPES}, text[], text[], ${CHECKPOINT_TYPES})
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  ${unlessRaised(`$${names}`)}
  IF cardinality($${names}) > 0 THEN
    saved := ${schema}.checkpoint_locked($${names}, $${names + 1}, ${parameterList(checkpoint, CHECKPOINT_ARGUMENTS)});
  ELSE
    saved := ${schema}.checkpoint(${parameterList(checkpoint, CHECKPOINT_ARGUMENTS)});
  END IF;
  IF cardinality(saved) = cardinality(${saved}) THEN
    PERFORM ${schema}.publish(${parameterList(2, PUBLISH_ARGUMENTS)});
  ELSE
    PERFORM ${schema}.publish(${Array.from({ length: PUBLISH_ARGUMENTS }, (_, n) => `array_agg(m.c${n} ORDER BY m.place)`).join(', ')})
    FROM unnest(${parameterList(1, PUBLISH_ARGUMENTS + 1)}) WITH ORDINALITY
      AS m(saga_id, ${Array.from({ length: PUBLISH_ARGUMENTS }, (_, n) => `c${n}`).join(', ')}, place)
    WHERE m.saga_id = ANY(saved)
    HAVING count(*) > 0;
  END IF;
  RETURN saved;
END $function$`;
};
