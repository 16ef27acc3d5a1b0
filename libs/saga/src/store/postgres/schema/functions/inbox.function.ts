import { PINNED } from './pinned-plan.js';

/**
 * inbox_forget: forgets messages that were handled so long ago ($1, ms), so many ($2) at most; gives how many there were.
 *
 * Plan: the oldest by inbox_handled, then each by primary key, pinned as in checkpoint.function.ts: as a statement it
 * hashed the whole journal. Several processes leave each other's rows alone.
 */
export const inboxForgetFunction = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.inbox_forget(float8, int) RETURNS int LANGUAGE plpgsql
${PINNED} AS $function$
DECLARE
  forgotten int;
BEGIN
  WITH old AS MATERIALIZED (
    SELECT i.consumer, i.message_id FROM ${schema}.inbox i WHERE i.handled_at < now() - $1 * interval '1 millisecond'
    ORDER BY i.handled_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  DELETE FROM ${schema}.inbox i USING old WHERE i.consumer = old.consumer AND i.message_id = old.message_id;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END $function$`;
