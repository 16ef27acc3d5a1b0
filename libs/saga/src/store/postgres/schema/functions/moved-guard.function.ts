import { IS_RAISED } from './raised-isolation.js';

/** Raised by a start of a saga that was moved to another shard. Nothing was started. See raised-isolation.ts. */
export const MOVED_AWAY = 'SG002';

/**
 * moved_guard_1: refuses the starts of a statement if one of them has the id or the correlation id of a saga that was
 * moved from this shard. It comes after the insert: a statement that began before the move waits in the unique index until
 * the move has committed, and only a later look sees what was committed. At a higher isolation level no later look does:
 * there, rows of the same keys find out in the unique indexes of the table.
 *
 * Plan: by instance_pkey, moved_pkey and moved_correlation. Only applications with shards call it, for starts that may be
 * there already.
 * $1 ids of the sagas that were started.
 */
export const movedGuardFunction = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.moved_guard_1(uuid[]) RETURNS boolean LANGUAGE plpgsql AS $function$
BEGIN
  IF cardinality($1) = 0 THEN
    RETURN true;
  END IF;
  IF ${IS_RAISED} THEN
    INSERT INTO ${schema}.moved (id, name, correlation_id, move, to_shard, state)
    SELECT i.id, i.name, i.correlation_id, i.id, '', 'sealed' FROM ${schema}.instance i WHERE i.id = ANY($1)
      AND NOT EXISTS (SELECT FROM ${schema}.moved m WHERE m.id = i.id AND m.state = 'returned');
    DELETE FROM ${schema}.moved m WHERE m.id = ANY($1) AND m.to_shard = '';
  ELSIF EXISTS (
    SELECT FROM ${schema}.instance i WHERE i.id = ANY($1) AND (
      EXISTS (SELECT FROM ${schema}.moved m WHERE m.id = i.id AND m.state <> 'returned')
      OR EXISTS (SELECT FROM ${schema}.moved m
        WHERE m.correlation_id = i.correlation_id AND m.name = i.name AND m.state <> 'returned'))
  ) THEN
    RAISE EXCEPTION 'the saga was moved to another shard' USING ERRCODE = '${MOVED_AWAY}';
  END IF;
  RETURN true;
EXCEPTION WHEN unique_violation THEN
  RAISE EXCEPTION 'the saga was moved to another shard' USING ERRCODE = '${MOVED_AWAY}';
END $function$`;
