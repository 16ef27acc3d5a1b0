-- fragment: CLOSED
-- The error of a change in a closed shard: cannot_connect_now, so that whatever sends it waits as for a server that is starting.
'57P03'

-- name: shard_closed
-- Refuses a statement. It is the trigger of the tables of a shard while the shard is closed: open shards
-- have no trigger, which would cost each statement. A process that has missed the closing changes nothing any more, whatever
-- it believes to hold.
CREATE OR REPLACE FUNCTION saga.shard_closed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'the shard is closed' USING ERRCODE = :CLOSED;
END $function$;
