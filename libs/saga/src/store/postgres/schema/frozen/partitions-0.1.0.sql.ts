import type { PartitionSql } from './migration-sql.js';

/**
 * The SQL of a migration of version 0.1.0. Generated, and never edited: `UPDATE_MIGRATIONS=1` (CONTRIBUTING.md). It is a
 * module, because a module is found by every loader and bundler; an .sql file beside the code is not.
 */
export const PARTITIONS_0_1_0: PartitionSql = {
  tables: [
    `CREATE INDEX  IF NOT EXISTS instance_finished ON "{schema}".instance (name, finished_at) WHERE finished_at IS NOT NULL AND parent_id IS NULL`,
    `
      CREATE TABLE "{schema}".correlation (
        correlation_id text NOT NULL,
        name text NOT NULL,
        saga_id uuid NOT NULL,
        PRIMARY KEY (correlation_id, name)
      )`,
    `
      INSERT INTO "{schema}".correlation (correlation_id, name, saga_id)
      SELECT correlation_id, name, id FROM "{schema}".instance WHERE correlation_id IS NOT NULL`,
    `CREATE TABLE "{schema}".partitioning (period bigint NOT NULL, since bigint NOT NULL)`,
  ],
  functions: [
    `
CREATE OR REPLACE FUNCTION "{schema}".partition_bound_1(bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN (lpad(to_hex($1), 12, '0') || repeat('0', 20))::uuid`,
    `
CREATE OR REPLACE FUNCTION "{schema}".partition_ahead_1(int) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = "{schema}", pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  settings record;
  this bigint;
  start bigint;
  part text;
BEGIN
  IF NOT pg_try_advisory_xact_lock(1885434484, hashtext($q$"{schema}"$q$)) THEN RETURN false; END IF;
  SELECT * INTO settings FROM "{schema}".partitioning;
  this := floor((extract(epoch FROM now()) * 1000 - 345600000) / settings.period) * settings.period + 345600000;
  FOR n IN 0..$1 LOOP
    start := this + n * settings.period;
    CONTINUE WHEN start < settings.since;
    part := to_char(to_timestamp(start / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD');
    CONTINUE WHEN to_regclass(format('"{schema}".instance_%s', part)) IS NOT NULL;
    LOCK TABLE "{schema}".instance_rest, "{schema}".step_rest, "{schema}".signal_rest, "{schema}".operation_rest IN ACCESS EXCLUSIVE MODE;
    
    EXECUTE format('CREATE TABLE "{schema}".instance_%s (LIKE "{schema}".instance INCLUDING DEFAULTS) WITH (fillfactor = 50)', part);
    EXECUTE format('WITH early AS (DELETE FROM "{schema}".instance_rest WHERE id >= $1 AND id < $2 RETURNING *)
      INSERT INTO "{schema}".instance_%s SELECT * FROM early', part)
      USING "{schema}".partition_bound_1(start), "{schema}".partition_bound_1(start + settings.period);
    EXECUTE format('ALTER TABLE "{schema}".instance ATTACH PARTITION "{schema}".instance_%s FOR VALUES FROM (%L) TO (%L)',
      part, "{schema}".partition_bound_1(start), "{schema}".partition_bound_1(start + settings.period));
    
    EXECUTE format('CREATE TABLE "{schema}".step_%s (LIKE "{schema}".step INCLUDING DEFAULTS) WITH (fillfactor = 100)', part);
    EXECUTE format('WITH early AS (DELETE FROM "{schema}".step_rest WHERE saga_id >= $1 AND saga_id < $2 RETURNING *)
      INSERT INTO "{schema}".step_%s SELECT * FROM early', part)
      USING "{schema}".partition_bound_1(start), "{schema}".partition_bound_1(start + settings.period);
    EXECUTE format('ALTER TABLE "{schema}".step ATTACH PARTITION "{schema}".step_%s FOR VALUES FROM (%L) TO (%L)',
      part, "{schema}".partition_bound_1(start), "{schema}".partition_bound_1(start + settings.period));
    
    EXECUTE format('CREATE TABLE "{schema}".signal_%s (LIKE "{schema}".signal INCLUDING DEFAULTS) WITH (fillfactor = 100)', part);
    EXECUTE format('WITH early AS (DELETE FROM "{schema}".signal_rest WHERE saga_id >= $1 AND saga_id < $2 RETURNING *)
      INSERT INTO "{schema}".signal_%s SELECT * FROM early', part)
      USING "{schema}".partition_bound_1(start), "{schema}".partition_bound_1(start + settings.period);
    EXECUTE format('ALTER TABLE "{schema}".signal ATTACH PARTITION "{schema}".signal_%s FOR VALUES FROM (%L) TO (%L)',
      part, "{schema}".partition_bound_1(start), "{schema}".partition_bound_1(start + settings.period));
    
    EXECUTE format('CREATE TABLE "{schema}".operation_%s (LIKE "{schema}".operation INCLUDING DEFAULTS) WITH (fillfactor = 100)', part);
    EXECUTE format('WITH early AS (DELETE FROM "{schema}".operation_rest WHERE saga_id >= $1 AND saga_id < $2 RETURNING *)
      INSERT INTO "{schema}".operation_%s SELECT * FROM early', part)
      USING "{schema}".partition_bound_1(start), "{schema}".partition_bound_1(start + settings.period);
    EXECUTE format('ALTER TABLE "{schema}".operation ATTACH PARTITION "{schema}".operation_%s FOR VALUES FROM (%L) TO (%L)',
      part, "{schema}".partition_bound_1(start), "{schema}".partition_bound_1(start + settings.period));
    RETURN true;
  END LOOP;
  RETURN false;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".partition_keepers_1(text, uuid, uuid, text[], float8[], int, uuid[])
RETURNS uuid[] LANGUAGE plpgsql SET enable_seqscan = off AS $function$
DECLARE
  ids uuid[];
BEGIN
  IF $7 IS NULL THEN
    EXECUTE format($q$
      SELECT array_agg(f.id) FROM (
        SELECT i.id FROM %1$s i WHERE i.parent_id IS NOT NULL AND (i.parent_id < $1 OR i.parent_id >= $2)
          AND EXISTS (SELECT FROM "{schema}".instance o WHERE o.id = i.parent_id)
        UNION ALL
        SELECT i.id FROM %1$s i WHERE i.id IN (SELECT c.parent_id FROM "{schema}".instance c
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
         SELECT g.name, min(a.age) AS age FROM "{schema}".graph g
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
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".partition_drop_1(text, uuid, uuid, text[], float8[], int) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = "{schema}", pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  part text := format('"{schema}".instance_%s', $1);
  held uuid[];
  kept uuid[];
BEGIN
  IF NOT has_table_privilege(session_user, '"{schema}".instance', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = format('permission denied for table instance: role %s may not delete', session_user);
  END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'partitions are dropped at READ COMMITTED only' USING ERRCODE = 'SG001';
  END IF;
  IF $1 !~ '^([0-9]{8}|before)$' OR to_regclass(part) IS NULL OR NOT pg_try_advisory_xact_lock(1885434484, hashtext($q$"{schema}"$q$)) THEN RETURN NULL; END IF;
  held := "{schema}".partition_keepers_1(part, $2, $3, $4, $5, $6 + 1, NULL);
  IF cardinality(held) > $6
    OR cardinality("{schema}".partition_keepers_1(part, $2, $3, $4, $5, $6 + 1, held)) > $6
  THEN RETURN -1; END IF;
  LOCK TABLE ONLY "{schema}".instance, ONLY "{schema}".step, ONLY "{schema}".signal, ONLY "{schema}".operation IN ACCESS EXCLUSIVE MODE;
  EXECUTE format('LOCK TABLE "{schema}".instance_%s IN ACCESS EXCLUSIVE MODE', $1);
  EXECUTE format('LOCK TABLE "{schema}".step_%s IN ACCESS EXCLUSIVE MODE', $1);
  EXECUTE format('LOCK TABLE "{schema}".signal_%s IN ACCESS EXCLUSIVE MODE', $1);
  EXECUTE format('LOCK TABLE "{schema}".operation_%s IN ACCESS EXCLUSIVE MODE', $1);
  -- Some may have been undone, or retried, meanwhile.
  kept := "{schema}".partition_keepers_1(part, $2, $3, $4, $5, $6 + 1, held);
  IF cardinality(kept) > $6 THEN RETURN -1; END IF;
  
  EXECUTE format('ALTER TABLE "{schema}".instance DETACH PARTITION "{schema}".instance_%s', $1);
  IF cardinality(kept) > 0 THEN
    EXECUTE format('WITH moved AS (DELETE FROM "{schema}".instance_%s WHERE id = ANY($1) RETURNING *)
      INSERT INTO "{schema}".instance SELECT * FROM moved', $1) USING kept;
  END IF;
  
  EXECUTE format('ALTER TABLE "{schema}".step DETACH PARTITION "{schema}".step_%s', $1);
  IF cardinality(kept) > 0 THEN
    EXECUTE format('WITH moved AS (DELETE FROM "{schema}".step_%s WHERE saga_id = ANY($1) RETURNING *)
      INSERT INTO "{schema}".step SELECT * FROM moved', $1) USING kept;
  END IF;
  
  EXECUTE format('ALTER TABLE "{schema}".signal DETACH PARTITION "{schema}".signal_%s', $1);
  IF cardinality(kept) > 0 THEN
    EXECUTE format('WITH moved AS (DELETE FROM "{schema}".signal_%s WHERE saga_id = ANY($1) RETURNING *)
      INSERT INTO "{schema}".signal SELECT * FROM moved', $1) USING kept;
  END IF;
  
  EXECUTE format('ALTER TABLE "{schema}".operation DETACH PARTITION "{schema}".operation_%s', $1);
  IF cardinality(kept) > 0 THEN
    EXECUTE format('WITH moved AS (DELETE FROM "{schema}".operation_%s WHERE saga_id = ANY($1) RETURNING *)
      INSERT INTO "{schema}".operation SELECT * FROM moved', $1) USING kept;
  END IF;
  EXECUTE format('DROP TABLE "{schema}".step_%s', $1);
  EXECUTE format('DROP TABLE "{schema}".signal_%s', $1);
  EXECUTE format('DROP TABLE "{schema}".operation_%s', $1);
  RETURN cardinality(kept);
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".partition_forget_1(text, uuid, int) RETURNS uuid LANGUAGE plpgsql
SECURITY DEFINER SET search_path = "{schema}", pg_temp AS $function$
DECLARE
  part regclass := to_regclass(format('"{schema}".instance_%s', $1));
  ids uuid[];
BEGIN
  IF NOT has_table_privilege(session_user, '"{schema}".instance', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = format('permission denied for table instance: role %s may not delete', session_user);
  END IF;
  IF $1 !~ '^([0-9]{8}|before)$' OR part IS NULL OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = part) THEN RETURN NULL; END IF;
  EXECUTE format('SELECT array_agg(f.id) FROM (SELECT id FROM %s WHERE id > $1 ORDER BY id LIMIT $2) f', part)
    INTO ids USING $2, $3;
  EXECUTE format('DELETE FROM "{schema}".correlation c USING %s g WHERE g.id = ANY($1)
    AND c.correlation_id = g.correlation_id AND c.name = g.name AND c.saga_id = g.id', part) USING ids;
  IF coalesce(cardinality(ids), 0) < $3 THEN
    EXECUTE format('DROP TABLE %s', part);
    RETURN NULL;
  END IF;
  RETURN ids[cardinality(ids)];
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".start_1(text, float8, uuid[], text[], int[], text[], text[], json[], jsonb[], smallint[], boolean[], float8[], float8[], float8[], text[], int[], float8[], text[], boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
  wanted int;
  free uuid[];
  late uuid[];
BEGIN
  SELECT count(*) INTO wanted FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key) WHERE w.correlation_id IS NOT NULL;
  IF wanted > 0 THEN
    WITH taken AS (
      INSERT INTO "{schema}".correlation AS c (correlation_id, name, saga_id)
      SELECT w.correlation_id, w.name, w.id FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key) WHERE w.correlation_id IS NOT NULL
      ON CONFLICT DO NOTHING RETURNING c.saga_id
    ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO free FROM taken;
    IF cardinality(free) < wanted THEN
      PERFORM FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key) CROSS JOIN LATERAL
        (SELECT FROM "{schema}".correlation c WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id <> w.id FOR UPDATE) l;
      WITH taken AS (
        UPDATE "{schema}".correlation c SET saga_id = w.id FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key)
        WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id <> w.id
          AND NOT EXISTS (SELECT FROM "{schema}".instance o WHERE o.id = c.saga_id)
        RETURNING c.saga_id
      ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO late FROM taken;
      free := free || late;
    END IF;
  END IF;
  IF $19 THEN
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t
  WHERE w.correlation_id IS NULL OR w.id = ANY(free) RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t
  WHERE w.correlation_id IS NULL OR w.id = ANY(free) ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  IF wanted > 0 AND cardinality(free) > 0 THEN
    DELETE FROM "{schema}".correlation c USING unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key)
    WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id = w.id AND w.id = ANY(free) AND NOT EXISTS (
      SELECT FROM "{schema}".instance o WHERE o.id = w.id AND o.correlation_id = w.correlation_id AND o.name = w.name);
  END IF;
  RETURN coalesce(started, '{}');
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".start_one_1(text, float8, uuid, text, int, text, text, json, jsonb, smallint, boolean, float8, float8, float8, text, int, float8, text, boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
  wanted int;
  free uuid[];
  late uuid[];
BEGIN
  SELECT count(*) INTO wanted FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w WHERE w.correlation_id IS NOT NULL;
  IF wanted > 0 THEN
    WITH taken AS (
      INSERT INTO "{schema}".correlation AS c (correlation_id, name, saga_id)
      SELECT w.correlation_id, w.name, w.id FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w WHERE w.correlation_id IS NOT NULL
      ON CONFLICT DO NOTHING RETURNING c.saga_id
    ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO free FROM taken;
    IF cardinality(free) < wanted THEN
      PERFORM FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w CROSS JOIN LATERAL
        (SELECT FROM "{schema}".correlation c WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id <> w.id FOR UPDATE) l;
      WITH taken AS (
        UPDATE "{schema}".correlation c SET saga_id = w.id FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w
        WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id <> w.id
          AND NOT EXISTS (SELECT FROM "{schema}".instance o WHERE o.id = c.saga_id)
        RETURNING c.saga_id
      ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO late FROM taken;
      free := free || late;
    END IF;
  END IF;
  IF $19 THEN
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t
  WHERE w.correlation_id IS NULL OR w.id = ANY(free) RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t
  WHERE w.correlation_id IS NULL OR w.id = ANY(free) ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  IF wanted > 0 AND cardinality(free) > 0 THEN
    DELETE FROM "{schema}".correlation c USING (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w
    WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id = w.id AND w.id = ANY(free) AND NOT EXISTS (
      SELECT FROM "{schema}".instance o WHERE o.id = w.id AND o.correlation_id = w.correlation_id AND o.name = w.name);
  END IF;
  RETURN coalesce(started, '{}');
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".cleanup_1(text, float8, timestamptz, uuid, int, boolean, boolean)
RETURNS TABLE (looked int, gone int, place text, place_id uuid) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  roots uuid[];
  times timestamptz[];
  family uuid[];
  tops uuid[];
  free uuid[];
  kept uuid[];
BEGIN
  IF $7 AND NOT pg_try_advisory_xact_lock(1735356005, hashtext($q$"{schema}"$q$)) THEN
    RETURN;
  END IF;
  IF $6 THEN
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (
      SELECT i.id, i.finished_at FROM "{schema}".instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5) o;
  ELSE
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (
      SELECT i.id, i.finished_at FROM "{schema}".instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5 FOR UPDATE SKIP LOCKED) o;
  END IF;
  IF NOT $6 THEN
    DELETE FROM "{schema}".deleted d WHERE d.id = ANY (ARRAY(
      SELECT o.id FROM "{schema}".deleted o WHERE o.at < now() - 7200000 * interval '1 millisecond' ORDER BY o.at LIMIT 2 * $5 FOR UPDATE SKIP LOCKED));
  END IF;
  looked := coalesce(cardinality(roots), 0);
  gone := 0;
  IF looked > 0 THEN
    place := times[looked]::text;
    place_id := roots[looked];
    WITH RECURSIVE f AS (
      SELECT r.id, r.id AS top FROM unnest(roots) AS r(id)
      UNION ALL
      SELECT c.id, f.top FROM f JOIN "{schema}".instance c ON c.parent_id = f.id
    )
    SELECT array_agg(f.id), array_agg(f.top) INTO family, tops FROM f;
    IF $6 THEN
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM "{schema}".instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL) e;
    ELSE
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM "{schema}".instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL FOR UPDATE SKIP LOCKED) e;
    END IF;
    IF cardinality(free) < cardinality(family) THEN
      SELECT array_agg(w.top) INTO kept FROM unnest(family, tops) AS w(id, top) WHERE w.id <> ALL(free);
      SELECT array_agg(w.id) INTO family FROM unnest(family, tops) AS w(id, top) WHERE w.top <> ALL(kept);
    END IF;
    gone := coalesce(cardinality(family), 0);
    IF NOT $6 AND gone > 0 THEN
      INSERT INTO "{schema}".deleted (id) SELECT i.id FROM "{schema}".instance i
      WHERE i.id = ANY(family) AND i.finished_at > now() - 7200000 * interval '1 millisecond' ON CONFLICT (id) DO UPDATE SET at = now();
      DELETE FROM "{schema}".step b WHERE b.saga_id = ANY(family);
      DELETE FROM "{schema}".signal b WHERE b.saga_id = ANY(family);
      DELETE FROM "{schema}".operation b WHERE b.saga_id = ANY(family);
      DELETE FROM "{schema}".correlation c USING "{schema}".instance g
      WHERE g.id = ANY(family) AND c.correlation_id = g.correlation_id AND c.name = g.name AND c.saga_id = g.id;
      DELETE FROM "{schema}".instance i WHERE i.id = ANY(family);
    END IF;
  END IF;
  RETURN NEXT;
END $function$`,
    `ALTER FUNCTION "{schema}".checkpoint_1(uuid[], int[], int[], text[], text[], json[], text[], text[], boolean[], boolean[], boolean[], boolean[], float8[], boolean[], boolean[], json[], uuid[], text[], text[], int[], int[], boolean[], int[], int[], float8[], json[], json[], float8[], json[], boolean) SET plan_cache_mode = force_custom_plan`,
    `ALTER FUNCTION "{schema}".checkpoint_one_1(uuid, int, int, text, text, json, text, text, boolean, boolean, boolean, boolean, float8, boolean, boolean, json, uuid, text, text, int, int, boolean, int, int, float8, json, json, float8, json, boolean) SET plan_cache_mode = force_custom_plan`,
  ],
  undoFunctions: [
    `DROP FUNCTION "{schema}".partition_bound_1`,
    `DROP FUNCTION "{schema}".partition_ahead_1`,
    `DROP FUNCTION "{schema}".partition_keepers_1`,
    `DROP FUNCTION "{schema}".partition_drop_1`,
    `DROP FUNCTION "{schema}".partition_forget_1`,
    `
CREATE OR REPLACE FUNCTION "{schema}".start_1(text, float8, uuid[], text[], int[], text[], text[], json[], jsonb[], smallint[], boolean[], float8[], float8[], float8[], text[], int[], float8[], text[], boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
BEGIN
  IF $19 THEN
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  RETURN coalesce(started, '{}');
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".start_one_1(text, float8, uuid, text, int, text, text, json, jsonb, smallint, boolean, float8, float8, float8, text, int, float8, text, boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
BEGIN
  IF $19 THEN
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  RETURN coalesce(started, '{}');
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".cleanup_1(text, float8, timestamptz, uuid, int, boolean, boolean)
RETURNS TABLE (looked int, gone int, place text, place_id uuid) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  roots uuid[];
  times timestamptz[];
  family uuid[];
  tops uuid[];
  free uuid[];
  kept uuid[];
BEGIN
  IF $7 AND NOT pg_try_advisory_xact_lock(1735356005, hashtext($q$"{schema}"$q$)) THEN
    RETURN;
  END IF;
  IF $6 THEN
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (
      SELECT i.id, i.finished_at FROM "{schema}".instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5) o;
  ELSE
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (
      SELECT i.id, i.finished_at FROM "{schema}".instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5 FOR UPDATE SKIP LOCKED) o;
  END IF;
  IF NOT $6 THEN
    DELETE FROM "{schema}".deleted d WHERE d.id = ANY (ARRAY(
      SELECT o.id FROM "{schema}".deleted o WHERE o.at < now() - 7200000 * interval '1 millisecond' ORDER BY o.at LIMIT 2 * $5 FOR UPDATE SKIP LOCKED));
  END IF;
  looked := coalesce(cardinality(roots), 0);
  gone := 0;
  IF looked > 0 THEN
    place := times[looked]::text;
    place_id := roots[looked];
    WITH RECURSIVE f AS (
      SELECT r.id, r.id AS top FROM unnest(roots) AS r(id)
      UNION ALL
      SELECT c.id, f.top FROM f JOIN "{schema}".instance c ON c.parent_id = f.id
    )
    SELECT array_agg(f.id), array_agg(f.top) INTO family, tops FROM f;
    IF $6 THEN
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM "{schema}".instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL) e;
    ELSE
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM "{schema}".instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL FOR UPDATE SKIP LOCKED) e;
    END IF;
    IF cardinality(free) < cardinality(family) THEN
      SELECT array_agg(w.top) INTO kept FROM unnest(family, tops) AS w(id, top) WHERE w.id <> ALL(free);
      SELECT array_agg(w.id) INTO family FROM unnest(family, tops) AS w(id, top) WHERE w.top <> ALL(kept);
    END IF;
    gone := coalesce(cardinality(family), 0);
    IF NOT $6 AND gone > 0 THEN
      INSERT INTO "{schema}".deleted (id) SELECT i.id FROM "{schema}".instance i
      WHERE i.id = ANY(family) AND i.finished_at > now() - 7200000 * interval '1 millisecond' ON CONFLICT (id) DO UPDATE SET at = now();
      DELETE FROM "{schema}".step b WHERE b.saga_id = ANY(family);
      DELETE FROM "{schema}".signal b WHERE b.saga_id = ANY(family);
      DELETE FROM "{schema}".operation b WHERE b.saga_id = ANY(family);
      DELETE FROM "{schema}".instance i WHERE i.id = ANY(family);
    END IF;
  END IF;
  RETURN NEXT;
END $function$`,
    `ALTER FUNCTION "{schema}".checkpoint_1(uuid[], int[], int[], text[], text[], json[], text[], text[], boolean[], boolean[], boolean[], boolean[], float8[], boolean[], boolean[], json[], uuid[], text[], text[], int[], int[], boolean[], int[], int[], float8[], json[], json[], float8[], json[], boolean) SET plan_cache_mode = force_generic_plan`,
    `ALTER FUNCTION "{schema}".checkpoint_one_1(uuid, int, int, text, text, json, text, text, boolean, boolean, boolean, boolean, float8, boolean, boolean, json, uuid, text, text, int, int, boolean, int, int, float8, json, json, float8, json, boolean) SET plan_cache_mode = force_generic_plan`,
  ],
  undoTables: [
    `DROP TABLE "{schema}".correlation, "{schema}".partitioning`,
  ],
};
