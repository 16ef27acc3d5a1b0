-- What makes and drops partitions. Who runs sagas need not own the tables for it: SECURITY DEFINER, and each function
-- does one thing to partitions alone.

-- fragment: PART_NAME
-- What a partition is called behind its table's name, in a regular expression.
'^([0-9]{8}|before)$'

-- "part" in ASCII; the second key of the lock is the schema's.
\set PARTITION_LOCK 1885434484

-- fragment: PATIENCE
-- How long a lock of tables that all sagas use is requested, while other transactions wait behind the request: a
-- moment, because one long transaction would block every other. It is tried again later.
SET lock_timeout = '50ms'

-- fragment: MAY_DELETE
-- Every role that may use a function's schema may call the function, so functions that remove data check the role's
-- rights.
  IF NOT has_table_privilege(session_user, 'saga.instance', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = format('permission denied for table instance: role %s may not delete', session_user);
  END IF;

-- fragment: SEES_ALL
-- Who looks again under a lock has to see what was committed while it waited for it.
  IF :IS_RAISED THEN
    RAISE EXCEPTION 'partitions are dropped at READ COMMITTED only' USING ERRCODE = :NOT_READ_COMMITTED;
  END IF;

-- fragment: DEFINER
SECURITY DEFINER SET search_path = :SCHEMA, pg_temp

-- fragment: IS_ALONE
pg_try_advisory_xact_lock(:PARTITION_LOCK, hashtext($q$:SCHEMA$q$))

-- fragment: EACH_PARTITIONED
-- The tables that are partitioned, with the column that has the saga's id.
SELECT * FROM (VALUES :PARTITIONED) AS t(name, key, fillfactor)

-- name: partition_bound
-- The lowest UUIDv7 of a time, in ms.
CREATE OR REPLACE FUNCTION saga.partition_bound(bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN (lpad(to_hex($1), 12, '0') || repeat('0', 20))::uuid;

-- name: partition_ahead
-- Makes the first missing partition of this period and the next $1. False: there is none, or another
-- process runs it. Rows of that period that were stored before its partition existed are moved from the rest.
CREATE OR REPLACE FUNCTION saga.partition_ahead(int) RETURNS boolean LANGUAGE plpgsql
:DEFINER :PATIENCE AS $function$
DECLARE
  settings record;
  it record;
  this bigint;
  start bigint;
  part text;
BEGIN
  IF NOT :IS_ALONE THEN RETURN false; END IF;
  SELECT * INTO settings FROM saga.partitioning;
  this := floor((extract(epoch FROM now()) * 1000 - :FIRST_MONDAY) / settings.period) * settings.period + :FIRST_MONDAY;
  FOR n IN 0..$1 LOOP
    start := this + n * settings.period;
    CONTINUE WHEN start < settings.since;
    part := to_char(to_timestamp(start / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD');
    CONTINUE WHEN to_regclass(format('saga.instance_%s', part)) IS NOT NULL;
    FOR it IN :EACH_PARTITIONED LOOP
      EXECUTE format('LOCK TABLE saga.%s_rest IN ACCESS EXCLUSIVE MODE', it.name);
    END LOOP;
    FOR it IN :EACH_PARTITIONED LOOP
      EXECUTE format('CREATE TABLE saga.%1$s_%2$s (LIKE saga.%1$s INCLUDING DEFAULTS) WITH (fillfactor = %3$s)',
        it.name, part, it.fillfactor);
      EXECUTE format('WITH early AS (DELETE FROM saga.%1$s_rest WHERE %3$s >= $1 AND %3$s < $2 RETURNING *)
        INSERT INTO saga.%1$s_%2$s SELECT * FROM early', it.name, part, it.key)
        USING saga.partition_bound(start), saga.partition_bound(start + settings.period);
      EXECUTE format('ALTER TABLE saga.%1$s ATTACH PARTITION saga.%1$s_%2$s FOR VALUES FROM (%3$L) TO (%4$L)',
        it.name, part, saga.partition_bound(start), saga.partition_bound(start + settings.period));
    END LOOP;
    RETURN true;
  END LOOP;
  RETURN false;
END $function$;

-- name: partition_keepers
-- The sagas of partition $1, from id $2 on and below $3, that must stay: unfinished ones, those
-- that ended more recently than the age of their name ($4 names, $5 ages in ms; others are kept for ever), with the
-- sagas that they started, and their parents. A sub-saga is kept as long as its parent. Returns at most $6.
-- $7: the sagas that are known to stay. Null: the search is for those that depend on other partitions. Later there can
-- only be fewer of them, so they need not be looked for again.
-- Runs with the rights of the caller: the caller names what it reads.
-- Plan: by the partition's instance_due, instance_idle, instance_finished and instance_parent.
CREATE OR REPLACE FUNCTION saga.partition_keepers(text, uuid, uuid, text[], float8[], int, uuid[])
RETURNS uuid[] LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $function$
DECLARE
  ids uuid[];
BEGIN
  IF $7 IS NULL THEN
    EXECUTE format($q$
      SELECT array_agg(f.id) FROM (
        SELECT i.id FROM %1$s i WHERE i.parent_id IS NOT NULL AND (i.parent_id < $1 OR i.parent_id >= $2)
          AND EXISTS (SELECT FROM saga.instance o WHERE o.id = i.parent_id)
        UNION ALL
        SELECT i.id FROM %1$s i WHERE i.id IN (SELECT c.parent_id FROM saga.instance c
          WHERE c.parent_id >= $1 AND c.parent_id < $2 AND c.finished_at IS NULL AND (c.id < $1 OR c.id >= $2))
        LIMIT $3) f$q$, $1) INTO ids USING $2, $3, $6;
    RETURN coalesce(ids, '{}');
  END IF;
  EXECUTE format($q$
    WITH RECURSIVE kept AS (
      (SELECT i.id, i.parent_id FROM %1$s i WHERE i.id = ANY($1)
       UNION ALL
       SELECT i.id, i.parent_id FROM %1$s i WHERE i.rank_at IS NOT NULL
       UNION ALL
       SELECT i.id, i.parent_id FROM %1$s i WHERE i.rank_at IS NULL AND i.finished_at IS NULL
       UNION ALL
       SELECT y.id, NULL FROM (
         SELECT g.name, min(a.age) AS age FROM saga.graph g
         LEFT JOIN unnest($2, $3) AS a(name, age) ON a.name = g.name GROUP BY g.name) n
       CROSS JOIN LATERAL (SELECT i.id FROM %1$s i
         WHERE i.name = n.name AND i.finished_at IS NOT NULL AND i.parent_id IS NULL
           AND i.finished_at >= coalesce(now() - n.age * interval '1 millisecond', '-infinity') LIMIT $4) y
       LIMIT $4)
      UNION
      SELECT x.id, x.parent_id FROM kept k CROSS JOIN LATERAL (
        SELECT c.id, c.parent_id FROM %1$s c WHERE c.parent_id = k.id
        UNION ALL
        SELECT u.id, u.parent_id FROM %1$s u WHERE u.id = k.parent_id) x
    )
    SELECT array_agg(f.id) FROM (SELECT DISTINCT kept.id FROM kept LIMIT $4) f$q$, $1) INTO ids USING $7, $4, $5, $6;
  RETURN coalesce(ids, '{}');
END $function$;

-- name: partition_drop
-- Takes the partition $1 ('20261122') out. The sagas of it that must stay, up to $6, are moved to the
-- rest. What belongs to the others is deleted with it. Their own rows are left in the detached table, for their
-- correlation ids: see partition_forget. Returns how many were moved; -1: more than that must stay, so all do; null:
-- another process runs it. The other parameters are those of partition_keepers.
CREATE OR REPLACE FUNCTION saga.partition_drop(text, uuid, uuid, text[], float8[], int) RETURNS int LANGUAGE plpgsql
:DEFINER :PATIENCE AS $function$
DECLARE
  part text := format('saga.instance_%s', $1);
  it record;
  held uuid[];
  kept uuid[];
BEGIN
:MAY_DELETE
:SEES_ALL
  IF $1 !~ :PART_NAME OR to_regclass(part) IS NULL OR NOT :IS_ALONE THEN RETURN NULL; END IF;
  held := saga.partition_keepers(part, $2, $3, $4, $5, $6 + 1, NULL);
  IF cardinality(held) > $6
    OR cardinality(saga.partition_keepers(part, $2, $3, $4, $5, $6 + 1, held)) > $6
  THEN RETURN -1; END IF;
  FOR it IN :EACH_PARTITIONED LOOP
    EXECUTE format('LOCK TABLE ONLY saga.%s IN ACCESS EXCLUSIVE MODE', it.name);
  END LOOP;
  FOR it IN :EACH_PARTITIONED LOOP
    EXECUTE format('LOCK TABLE saga.%s_%s IN ACCESS EXCLUSIVE MODE', it.name, $1);
  END LOOP;
  -- Some may have been undone, or retried, meanwhile.
  kept := saga.partition_keepers(part, $2, $3, $4, $5, $6 + 1, held);
  IF cardinality(kept) > $6 THEN RETURN -1; END IF;
  FOR it IN :EACH_PARTITIONED LOOP
    EXECUTE format('ALTER TABLE saga.%1$s DETACH PARTITION saga.%1$s_%2$s', it.name, $1);
    IF cardinality(kept) > 0 THEN
      EXECUTE format('WITH moved AS (DELETE FROM saga.%1$s_%2$s WHERE %3$s = ANY($1) RETURNING *)
        INSERT INTO saga.%1$s SELECT * FROM moved', it.name, $1, it.key) USING kept;
    END IF;
  END LOOP;
  FOR it IN :EACH_PARTITIONED LOOP
    CONTINUE WHEN it.name = 'instance';
    EXECUTE format('DROP TABLE saga.%s_%s', it.name, $1);
  END LOOP;
  RETURN cardinality(kept);
END $function$;

-- name: partition_forget
-- Deletes the correlation ids of what was in the partition $1, which was taken out: of the next $3
-- sagas behind id $2. Gives the last one's; null: that was all of them, and the table is gone.
CREATE OR REPLACE FUNCTION saga.partition_forget(text, uuid, int) RETURNS uuid LANGUAGE plpgsql
:DEFINER AS $function$
DECLARE
  part regclass := to_regclass(format('saga.instance_%s', $1));
  ids uuid[];
BEGIN
:MAY_DELETE
  IF $1 !~ :PART_NAME OR part IS NULL OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = part) THEN RETURN NULL; END IF;
  EXECUTE format('SELECT array_agg(f.id) FROM (SELECT id FROM %s WHERE id > $1 ORDER BY id LIMIT $2) f', part)
    INTO ids USING $2, $3;
  EXECUTE format('DELETE FROM saga.correlation c USING %s g WHERE g.id = ANY($1)
    AND c.correlation_id = g.correlation_id AND c.name = g.name AND c.saga_id = g.id', part) USING ids;
  IF coalesce(cardinality(ids), 0) < $3 THEN
    EXECUTE format('DROP TABLE %s', part);
    RETURN NULL;
  END IF;
  RETURN ids[cardinality(ids)];
END $function$;
