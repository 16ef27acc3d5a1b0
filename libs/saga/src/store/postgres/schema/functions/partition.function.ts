import { IS_RAISED, NOT_READ_COMMITTED } from './raised-isolation.js';
import { BELONGINGS, PARTITIONED } from '../tables/table-facts.js';

/** What a partition is called behind its table's name, in a regular expression. */
const PART_NAME = '^([0-9]{8}|before)$';

/** "part" in ASCII; the second key of the lock is the schema's. */
const PARTITION_LOCK = 0x70617274;

/** Periods begin on Mondays, if they are weeks: 1970 began on a Thursday. Milliseconds. */
export const FIRST_MONDAY = 345_600_000;

/**
 * How long a lock of tables that all sagas use is requested, while other transactions wait behind the request: a
 * moment, because one long transaction would block every other. It is tried again later.
 */
const PATIENCE = `SET lock_timeout = '50ms'`;

/**
 * What makes and drops partitions. Who runs sagas need not own the tables for it: SECURITY DEFINER, and each function
 * does one thing to partitions alone.
 */
export const partitionFunctions = (schema: string): string[] => [
  bound(schema),
  ahead(schema),
  keepers(schema),
  drop(schema),
  forget(schema),
];

/**
 * Every role that may use a function's schema may call the function, so functions that remove data check the role's
 * rights.
 */
const mayDelete = (schema: string): string => `
  IF NOT has_table_privilege(session_user, '${schema}.instance', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = format('permission denied for table instance: role %s may not delete', session_user);
  END IF;`;

/** Who looks again under a lock has to see what was committed while it waited for it. */
const seesAll = `
  IF ${IS_RAISED} THEN
    RAISE EXCEPTION 'partitions are dropped at READ COMMITTED only' USING ERRCODE = '${NOT_READ_COMMITTED}';
  END IF;`;

const definer = (schema: string): string => `SECURITY DEFINER SET search_path = ${schema}, pg_temp`;

const isAlone = (schema: string): string =>
  `pg_try_advisory_xact_lock(${PARTITION_LOCK}, hashtext($q$${schema}$q$))`;

/** partition_bound: the lowest UUIDv7 of a time, in ms. */
const bound = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.partition_bound(bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN (lpad(to_hex($1), 12, '0') || repeat('0', 20))::uuid`;

/**
 * partition_ahead: makes the first missing partition of this period and the next $1. False: there is none, or another
 * process runs it. Rows of that period that were stored before its partition existed are moved from the rest.
 */
const ahead = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.partition_ahead(int) RETURNS boolean LANGUAGE plpgsql
${definer(schema)} ${PATIENCE} AS $function$
DECLARE
  settings record;
  this bigint;
  start bigint;
  part text;
BEGIN
  IF NOT ${isAlone(schema)} THEN RETURN false; END IF;
  SELECT * INTO settings FROM ${schema}.partitioning;
  this := floor((extract(epoch FROM now()) * 1000 - ${FIRST_MONDAY}) / settings.period) * settings.period + ${FIRST_MONDAY};
  FOR n IN 0..$1 LOOP
    start := this + n * settings.period;
    CONTINUE WHEN start < settings.since;
    part := to_char(to_timestamp(start / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD');
    CONTINUE WHEN to_regclass(format('${schema}.instance_%s', part)) IS NOT NULL;
    LOCK TABLE ${PARTITIONED.map(({ table }) => `${schema}.${table}_rest`).join(', ')} IN ACCESS EXCLUSIVE MODE;
    ${PARTITIONED.map(({ table, key, fillfactor }) => makePart(schema, table, key, fillfactor)).join('\n    ')}
    RETURN true;
  END LOOP;
  RETURN false;
END $function$`;

const makePart = (schema: string, table: string, key: string, fillfactor: number): string => `
    EXECUTE format('CREATE TABLE ${schema}.${table}_%s (LIKE ${schema}.${table} INCLUDING DEFAULTS) WITH (fillfactor = ${fillfactor})', part);
    EXECUTE format('WITH early AS (DELETE FROM ${schema}.${table}_rest WHERE ${key} >= $1 AND ${key} < $2 RETURNING *)
      INSERT INTO ${schema}.${table}_%s SELECT * FROM early', part)
      USING ${schema}.partition_bound(start), ${schema}.partition_bound(start + settings.period);
    EXECUTE format('ALTER TABLE ${schema}.${table} ATTACH PARTITION ${schema}.${table}_%s FOR VALUES FROM (%L) TO (%L)',
      part, ${schema}.partition_bound(start), ${schema}.partition_bound(start + settings.period));`;

/**
 * partition_keepers: the sagas of partition $1, from id $2 on and below $3, that must stay: unfinished ones, those
 * that ended more recently than the age of their name ($4 names, $5 ages in ms; others are kept for ever), with the
 * sagas that they started, and their parents. A sub-saga is kept as long as its parent. Returns at most $6.
 * $7: the sagas that are known to stay. Null: the search is for those that depend on other partitions. Later there can
 * only be fewer of them, so they need not be looked for again.
 * Runs with the rights of the caller: the caller names what it reads.
 * Plan: by the partition's instance_due, instance_idle, instance_finished and instance_parent.
 */
const keepers = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.partition_keepers(text, uuid, uuid, text[], float8[], int, uuid[])
RETURNS uuid[] LANGUAGE plpgsql SET enable_seqscan = off AS $function$
DECLARE
  ids uuid[];
BEGIN
  IF $7 IS NULL THEN
    EXECUTE format($q$
      SELECT array_agg(f.id) FROM (
        SELECT i.id FROM %1$s i WHERE i.parent_id IS NOT NULL AND (i.parent_id < $1 OR i.parent_id >= $2)
          AND EXISTS (SELECT FROM ${schema}.instance o WHERE o.id = i.parent_id)
        UNION ALL
        SELECT i.id FROM %1$s i WHERE i.id IN (SELECT c.parent_id FROM ${schema}.instance c
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
         SELECT g.name, min(a.age) AS age FROM ${schema}.graph g
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
END $function$`;

/**
 * partition_drop: takes the partition $1 ('20261122') out. The sagas of it that must stay, up to $6, are moved to the
 * rest. What belongs to the others is deleted with it. Their own rows are left in the detached table, for their
 * correlation ids: see partition_forget. Returns how many were moved; -1: more than that must stay, so all do; null:
 * another process runs it. The other parameters are those of partition_keepers.
 */
const drop = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.partition_drop(text, uuid, uuid, text[], float8[], int) RETURNS int LANGUAGE plpgsql
${definer(schema)} ${PATIENCE} AS $function$
DECLARE
  part text := format('${schema}.instance_%s', $1);
  held uuid[];
  kept uuid[];
BEGIN${mayDelete(schema)}${seesAll}
  IF $1 !~ '${PART_NAME}' OR to_regclass(part) IS NULL OR NOT ${isAlone(schema)} THEN RETURN NULL; END IF;
  held := ${schema}.partition_keepers(part, $2, $3, $4, $5, $6 + 1, NULL);
  IF cardinality(held) > $6
    OR cardinality(${schema}.partition_keepers(part, $2, $3, $4, $5, $6 + 1, held)) > $6
  THEN RETURN -1; END IF;
  LOCK TABLE ONLY ${PARTITIONED.map(({ table }) => `${schema}.${table}`).join(', ONLY ')} IN ACCESS EXCLUSIVE MODE;
  ${PARTITIONED.map(({ table }) => `EXECUTE format('LOCK TABLE ${schema}.${table}_%s IN ACCESS EXCLUSIVE MODE', $1);`).join('\n  ')}
  -- Some may have been undone, or retried, meanwhile.
  kept := ${schema}.partition_keepers(part, $2, $3, $4, $5, $6 + 1, held);
  IF cardinality(kept) > $6 THEN RETURN -1; END IF;
  ${PARTITIONED.map(({ table, key }) => dropPart(schema, table, key)).join('\n  ')}
  ${BELONGINGS.map((table) => `EXECUTE format('DROP TABLE ${schema}.${table}_%s', $1);`).join('\n  ')}
  RETURN cardinality(kept);
END $function$`;

const dropPart = (schema: string, table: string, key: string): string => `
  EXECUTE format('ALTER TABLE ${schema}.${table} DETACH PARTITION ${schema}.${table}_%s', $1);
  IF cardinality(kept) > 0 THEN
    EXECUTE format('WITH moved AS (DELETE FROM ${schema}.${table}_%s WHERE ${key} = ANY($1) RETURNING *)
      INSERT INTO ${schema}.${table} SELECT * FROM moved', $1) USING kept;
  END IF;`;

/**
 * partition_forget: deletes the correlation ids of what was in the partition $1, which was taken out: of the next $3
 * sagas behind id $2. Gives the last one's; null: that was all of them, and the table is gone.
 */
const forget = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.partition_forget(text, uuid, int) RETURNS uuid LANGUAGE plpgsql
${definer(schema)} AS $function$
DECLARE
  part regclass := to_regclass(format('${schema}.instance_%s', $1));
  ids uuid[];
BEGIN${mayDelete(schema)}
  IF $1 !~ '${PART_NAME}' OR part IS NULL OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = part) THEN RETURN NULL; END IF;
  EXECUTE format('SELECT array_agg(f.id) FROM (SELECT id FROM %s WHERE id > $1 ORDER BY id LIMIT $2) f', part)
    INTO ids USING $2, $3;
  EXECUTE format('DELETE FROM ${schema}.correlation c USING %s g WHERE g.id = ANY($1)
    AND c.correlation_id = g.correlation_id AND c.name = g.name AND c.saga_id = g.id', part) USING ids;
  IF coalesce(cardinality(ids), 0) < $3 THEN
    EXECUTE format('DROP TABLE %s', part);
    RETURN NULL;
  END IF;
  RETURN ids[cardinality(ids)];
END $function$`;
