-- Rows looked at for the next due time, beside those taken: with priorities, the next by rank may not be the next due.
\set LOOK_AHEAD 50

-- fragment: CLAIM
-- What the first row has; the others are the sagas.
now float8, next_due_at float8, heavy int, last float8

-- fragment: TYPES
text[], int[], int, text, float8, bigint, bigint, boolean, float8

-- name: claim
-- Takes due sagas and returns them with their steps, in the order in which they are due. The first row is no saga:
-- it says what the claim has come to.
--
-- Plan: what is due comes from due (see due.sql), which skips what is locked, so that workers never wait for
-- each other. The rest goes by primary key. A function, so that this is the plan whatever the statistics say: a prepared
-- statement keeps the one that was made for nearly empty tables, and reads the whole table for each claim until PostgreSQL
-- analyses it (1.9 s for 2,000 of 40,000 sagas). What it reads after the update is the state of rows that are locked: no
-- step or signal is older than its saga.
-- next_due_at comes from the first rows that were not taken, so that a backlog costs no more than a few rows. It
-- is in the past when one of them is due but locked: it was skipped, though it may be free a moment later.
-- heavy: how many were left since there is no room for their bytes. They are no reason to look again at once.
-- $1 names, $2 versions, $3 limit, $4 worker, $5 lease in ms, $6 to $8: see due, $9 the rank from which on, in ms: see
-- backlog-position.ts.
CREATE OR REPLACE FUNCTION saga.claim(:TYPES)
RETURNS TABLE (:CLAIM, :STORED_SAGA_TYPES) LANGUAGE plpgsql ROWS 10
:PINNED AS $function$
#variable_conflict use_column
DECLARE
  place timestamptz := coalesce(to_timestamp($9 / 1000), '-infinity');
  due record;
  :LEAST_ID
BEGIN
  SELECT * INTO due FROM saga.due($1, $2, $3, $6, $7, $8, place);
  now := extract(epoch FROM now()) * 1000;
  next_due_at := (SELECT extract(epoch FROM min(n.due_at)) * 1000 FROM saga.upcoming($1, $2, $3 + :LOOK_AHEAD, place) n
    WHERE n.id NOT IN (SELECT unnest(due.ids || due.heavy)));
  heavy := cardinality(due.heavy);
  last := extract(epoch FROM due.last) * 1000;
  RETURN NEXT;
  IF cardinality(due.ids) = 0 THEN
    RETURN;
  END IF;
  :SET_LEAST_ID(due.ids)
  UPDATE saga.instance i SET :TAKE_LEASE($4, $5, now())
  WHERE i.id = ANY(due.ids) AND :IS_FROM_LEAST_ID(i.id);
  RETURN QUERY SELECT NULL::float8, NULL::float8, NULL::int, NULL::float8,
  :STORED_SAGA_COLUMNS(i.id = due.in_parts)
  FROM unnest(due.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM saga.instance h WHERE h.id = w.id AND :IS_FROM_LEAST_ID(h.id) LIMIT 1) i
  ORDER BY w.place;
END $function$;
