-- name: inbox_forget
-- Forgets messages that were handled so long ago ($1, ms), so many ($2) at most; gives how many there were.
--
-- Plan: the oldest by inbox_handled, then each by primary key, pinned as in checkpoint.sql: as a statement it
-- hashed the whole journal. Several processes leave each other's rows alone.
CREATE OR REPLACE FUNCTION saga.inbox_forget(float8, int) RETURNS int LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  forgotten int;
BEGIN
  WITH old AS MATERIALIZED (
    SELECT i.consumer, i.message_id FROM saga.inbox i WHERE i.handled_at < now() - $1 * interval '1 millisecond'
    ORDER BY i.handled_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  DELETE FROM saga.inbox i USING old WHERE i.consumer = old.consumer AND i.message_id = old.message_id;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END $function$;
