-- The functions that keep correlation ids unique by a table of their own, for PostgreSQL keeps them unique within a
-- partition only: `correlation` says which saga has one. They replace those of the first migration.
--
-- A row of it may be of a saga that is gone: a partition is dropped first, and they are deleted after. Such a row
-- counts for nothing. Whether it is one is looked up once it is locked, in a statement of its own, which sees all that
-- was committed by who had it before: a saga that is just being started is never taken for gone.
--
-- Plan: by correlation_pkey and instance_pkey; the rows of a batch come in the order of their correlation ids.

-- fragment: IS_SAME
c.correlation_id = w.correlation_id AND c.name = w.name

-- name: start_in_partitions
CREATE OR REPLACE FUNCTION saga.start(worker text, lease float8, :START_TYPES, fresh boolean)
:START_IN_PARTITIONS(:NEW_SAGAS);

-- name: start_one_in_partitions
CREATE OR REPLACE FUNCTION saga.start_one(worker text, lease float8, :START_TYPES_ONE, fresh boolean)
:START_IN_PARTITIONS(:NEW_SAGA);

-- fragment: START_IN_PARTITIONS(rows)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
  wanted int;
  free uuid[];
  late uuid[];
BEGIN
  SELECT count(*) INTO wanted FROM :rows WHERE w.correlation_id IS NOT NULL;
  IF wanted > 0 THEN
    WITH taken AS (
      INSERT INTO saga.correlation AS c (correlation_id, name, saga_id)
      SELECT w.correlation_id, w.name, w.id FROM :rows WHERE w.correlation_id IS NOT NULL
      ON CONFLICT DO NOTHING RETURNING c.saga_id
    ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO free FROM taken;
    IF cardinality(free) < wanted THEN
      PERFORM FROM :rows CROSS JOIN LATERAL
        (SELECT FROM saga.correlation c WHERE :IS_SAME AND c.saga_id <> w.id FOR UPDATE) l;
      WITH taken AS (
        UPDATE saga.correlation c SET saga_id = w.id FROM :rows
        WHERE :IS_SAME AND c.saga_id <> w.id
          AND NOT EXISTS (SELECT FROM saga.instance o WHERE o.id = c.saga_id)
        RETURNING c.saga_id
      ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO late FROM taken;
      free := free || late;
    END IF;
  END IF;
  :STORE_SAGAS(:rows, WHERE w.correlation_id IS NULL OR w.id = ANY(free))
  -- One whose id another saga has was not stored: then its correlation id is not taken either.
  IF wanted > 0 AND cardinality(free) > 0 THEN
    DELETE FROM saga.correlation c USING :rows
    WHERE :IS_SAME AND c.saga_id = w.id AND w.id = ANY(free) AND NOT EXISTS (
      SELECT FROM saga.instance o WHERE o.id = w.id AND o.correlation_id = w.correlation_id AND o.name = w.name);
  END IF;
  RETURN coalesce(started, '{}');
END $function$

-- fragment: FORGET_CORRELATIONS
DELETE FROM saga.correlation c USING saga.instance g
      WHERE g.id = ANY(family) AND c.correlation_id = g.correlation_id AND c.name = g.name AND c.saga_id = g.id

-- name: cleanup_in_partitions
-- Forgets the correlation ids of a family as well.
:CLEANUP(:FORGET_CORRELATIONS;);
