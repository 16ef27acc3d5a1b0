-- How many bytes sagas have, for statements that read whole sagas: rows are counted, and their payloads may have any size.
-- Nothing is stored for it. While all that is to be read is small, as it nearly always is, one look at the stored sizes
-- says so; the exact size, for which compressed values are read, is only asked for where a bound is near.

-- fragment: EXACT_BYTES(column)
-- The bytes of a value as text. PostgreSQL knows the size of a stored value without reading it, unless it is compressed:
-- then this decompresses it.
coalesce(CASE WHEN pg_column_compression(:column) IS NULL THEN pg_column_size(:column) ELSE octet_length(:column::text) END, 0)::bigint

-- fragment: STORED_BYTES(column)
-- What it takes as it is stored.
coalesce(pg_column_size(:column), 0)::bigint

-- fragment: MOST_BYTES(column)
-- The most bytes that a value can have: no compression of PostgreSQL makes a value smaller than 1/256.
coalesce(pg_column_size(:column)::bigint * CASE WHEN pg_column_compression(:column) IS NULL THEN 1 ELSE 256 END, 0)

-- What a step takes beside its values as JSON.
\set STEP_BYTES 500
-- So many steps of a saga are not counted so.
\set UNCOUNTED_STEPS 64

-- fragment: BYTES_OF_SAGA(of)
-- All that is read with a saga, by a measure of one value: payloads, and of more than a few steps, the steps themselves.
-- Steps and signals by their primary keys.
(
    :of(i.input) + :of(i.started_input) + :of(i.failure) + :of(i.progress)
    + CASE WHEN i.checkpoints = 0 THEN 0 ELSE (
      SELECT coalesce(sum(:of(s.result) + :of(s.errors) + :of(s.progress)), 0)
        + greatest(count(*) - :UNCOUNTED_STEPS, 0) * :STEP_BYTES
      FROM saga.step s WHERE s.saga_id = i.id) END
    + CASE WHEN i.signals = 0 THEN 0 ELSE (
      SELECT coalesce(sum(:of(g.payload)), 0) FROM saga.signal g
      WHERE g.saga_id = i.id AND :IS_PENDING(g)) END)::bigint

-- name: bytes_at_most
-- Sagas have no more bytes than this, all together. Plan: by primary key.
CREATE OR REPLACE FUNCTION saga.bytes_at_most(uuid[]) RETURNS bigint LANGUAGE plpgsql STABLE
:PINNED AS $function$
DECLARE
  :LEAST_ID
BEGIN
  :SET_LEAST_ID($1)
  RETURN (SELECT coalesce(sum(:BYTES_OF_SAGA(:MOST_BYTES)), 0)
    FROM saga.instance i WHERE i.id = ANY($1) AND :IS_FROM_LEAST_ID(i.id));
END $function$;

-- name: bytes
-- The bytes of one saga; of one that has at least $2 bytes as it is stored, those. Plan: by primary key.
CREATE OR REPLACE FUNCTION saga.bytes(uuid, bigint) RETURNS bigint LANGUAGE plpgsql STABLE
:PINNED AS $function$
DECLARE
  stored bigint;
BEGIN
  SELECT :BYTES_OF_SAGA(:STORED_BYTES) INTO stored FROM saga.instance i WHERE i.id = $1;
  IF stored >= $2 THEN RETURN stored; END IF;
  RETURN (SELECT :BYTES_OF_SAGA(:EXACT_BYTES) FROM saga.instance i WHERE i.id = $1);
END $function$;

-- name: page
-- The first of these sagas that have no more than $2 bytes together, one at least. in_parts: that one has more by
-- itself, and its steps and signals are read in parts.
CREATE OR REPLACE FUNCTION saga.page(uuid[], bigint, OUT ids uuid[], OUT in_parts boolean) LANGUAGE plpgsql STABLE AS $function$
DECLARE
  total bigint := 0;
BEGIN
  ids := $1;
  in_parts := false;
  IF saga.bytes_at_most($1) <= $2 THEN RETURN; END IF;
  FOR n IN 1..cardinality($1) LOOP
    total := total + saga.bytes($1[n], $2 - total + 1);
    IF total > $2 THEN
      in_parts := n = 1;
      ids := $1[1:greatest(n - 1, 1)];
      RETURN;
    END IF;
  END LOOP;
END $function$;

-- name: step_part
-- Of a saga's steps after a name, the last one up to which they have no more than $3 bytes together, one at
-- least; null: there are none.
CREATE OR REPLACE FUNCTION saga.step_part(uuid, text, bigint) RETURNS text LANGUAGE plpgsql STABLE
:PINNED AS $function$
DECLARE
  part record;
  total bigint := 0;
  last text;
BEGIN
  FOR part IN
    SELECT s.name, :EXACT_BYTES(s.result) + :EXACT_BYTES(s.errors) + :EXACT_BYTES(s.progress) + :STEP_BYTES AS bytes
    FROM saga.step s WHERE s.saga_id = $1 AND s.name > $2 ORDER BY s.name
  LOOP
    total := total + part.bytes;
    EXIT WHEN total > $3 AND last IS NOT NULL;
    last := part.name;
  END LOOP;
  RETURN last;
END $function$;

-- name: signal_part
-- The same of the signals after a number that it has not taken yet.
CREATE OR REPLACE FUNCTION saga.signal_part(uuid, int, bigint) RETURNS int LANGUAGE plpgsql STABLE
:PINNED AS $function$
DECLARE
  part record;
  total bigint := 0;
  last int;
BEGIN
  FOR part IN
    SELECT g.number, :EXACT_BYTES(g.payload) + 200 AS bytes
    FROM saga.instance i CROSS JOIN LATERAL (
      SELECT * FROM saga.signal g WHERE g.saga_id = i.id AND g.number > $2 AND :IS_PENDING(g) ORDER BY g.number) g
    WHERE i.id = $1
  LOOP
    total := total + part.bytes;
    EXIT WHEN total > $3 AND last IS NOT NULL;
    last := part.number;
  END LOOP;
  RETURN last;
END $function$;
