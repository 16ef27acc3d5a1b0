-- What is due, and what will be, of some names and versions ($1, $2), each up to $3: by the order of instance_due, and
-- stopped by LIMIT. rank_at is when a saga is due, less its priority. Functions, so that this is the plan whatever the statistics say: with few sagas of a name in them,
-- the planner expects next to nothing to be due, reads the whole backlog by a bitmap, and sorts it for each claim.

-- fragment: DUE
i.name = d.name AND i.version = d.version AND i.rank_at >= $7 AND i.rank_at <= now() AND i.due_at <= now()

-- How far beyond the sagas that are picked first a claim looks for small ones.
\set LOOK_FURTHER 1000

-- name: due
-- Locks due sagas whose rows are free, most urgent first, and returns their ids. A saga that is newer than the
-- claim is not taken by it: its commit announces it.
-- heavy: sagas that were left because there is no room for their bytes. in_parts: the saga that has more than a page by
-- itself. last: the rank of the last one that was taken; null if some before it were left.
-- $3 limit, $4 the bytes of a page, $5 the bytes that the worker has room for, $6 it holds no large saga, $7 the rank from
-- which on.
--
-- Once the sagas of `picked` may have more than a claim brings, this looks at bytes. Large ones are taken in their order, as
-- long as there is room; the first that finds none lets no later one pass. Small ones pass. A worker that holds no large one
-- takes the first whatever its size, or it would never run. One that is larger than a page is the only large one that a claim
-- brings.
CREATE OR REPLACE FUNCTION saga.due(text[], int[], int, bigint, bigint, boolean, timestamptz,
  OUT ids uuid[], OUT heavy uuid[], OUT in_parts uuid, OUT last timestamptz) LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  picked uuid[];
  candidate uuid;
  size bigint;
  small bigint := 0;
  large bigint := 0;
BEGIN
  heavy := '{}';
  picked := ARRAY(
    SELECT c.id FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
      SELECT i.id, i.rank_at FROM saga.instance i
      WHERE :DUE
      ORDER BY i.rank_at LIMIT $3 FOR UPDATE SKIP LOCKED) c
    ORDER BY c.rank_at LIMIT $3);
  ids := picked;
  IF cardinality(picked) = 0 THEN RETURN; END IF;
  IF saga.bytes_at_most(picked) <= least($4, $5) THEN
    SELECT i.rank_at INTO last FROM saga.instance i WHERE i.id = picked[cardinality(picked)];
    RETURN;
  END IF;
  ids := '{}';
  FOREACH candidate IN ARRAY picked LOOP
    size := saga.bytes(candidate, greatest(:SMALL_SAGA + 1,
      CASE WHEN cardinality(heavy) > 0 THEN 0 WHEN large = 0 THEN greatest($4, $5) + 1 ELSE least($4, $5) - large + 1 END));
    IF size <= :SMALL_SAGA THEN
      small := small + size;
      EXIT WHEN small > $4;
      ids := ids || candidate;
    ELSIF cardinality(heavy) = 0 AND (large + size <= least($4, $5) OR (large = 0 AND (size <= $5 OR $6))) THEN
      large := large + size;
      ids := ids || candidate;
      IF size > $4 THEN in_parts := candidate; END IF;
    ELSE
      heavy := heavy || candidate;
    END IF;
  END LOOP;
  IF cardinality(heavy) > 0 AND cardinality(picked) >= $3 AND small <= $4 THEN
    FOR candidate IN
      SELECT c.id FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
        SELECT i.id, i.rank_at FROM saga.instance i
        WHERE :DUE ORDER BY i.rank_at LIMIT $3 + :LOOK_FURTHER) c
      WHERE c.id <> ALL(picked) ORDER BY c.rank_at
    LOOP
      EXIT WHEN cardinality(ids) >= $3;
      size := saga.bytes(candidate, :SMALL_SAGA + 1);
      CONTINUE WHEN size > :SMALL_SAGA;
      small := small + size;
      EXIT WHEN small > $4;
      PERFORM FROM saga.instance i WHERE i.id = candidate AND i.rank_at <= now() AND i.due_at <= now()
        FOR UPDATE SKIP LOCKED;
      IF FOUND THEN ids := ids || candidate; END IF;
    END LOOP;
  END IF;
END $function$;

-- name: upcoming
-- The first by rank of each name and version, from the rank $4 on, as the statement that asks sees them.
CREATE OR REPLACE FUNCTION saga.upcoming(text[], int[], int, timestamptz)
RETURNS TABLE (id uuid, due_at timestamptz) LANGUAGE plpgsql STABLE
:PINNED AS $function$
BEGIN
  RETURN QUERY SELECT n.id, n.due_at FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
    SELECT i.id, i.due_at FROM saga.instance i
    WHERE i.name = d.name AND i.version = d.version AND i.rank_at >= $4
    ORDER BY i.rank_at LIMIT $3) n;
END $function$;

-- name: catch_up
-- Makes due again what was due when that was stored, and is not any more, since the server's clock was set back.
-- $1 names, $2 versions.
CREATE OR REPLACE FUNCTION saga.catch_up(text[], int[]) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
BEGIN
  UPDATE saga.instance u SET due_at = now(), rank_at = :RANK_NOW(u)
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM unnest($1, $2) AS d(name, version)
    JOIN saga.instance i ON i.name = d.name AND i.version = d.version AND i.rank_at IS NOT NULL
    WHERE i.due_at > now() AND i.locked_by IS NULL AND (i.woken OR i.due_at <= i.updated_at)
    ORDER BY i.id FOR NO KEY UPDATE OF i));
END $function$;
