import { BELONGINGS } from '../schema/functions/cleanup.function.js';

export interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
}

const TABLES = ['instance', ...BELONGINGS];

/** The columns of what is stored of a saga, in a schema (quoted). */
export const columnsSql = (schema: string): string => `
SELECT t.name AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
FROM unnest(ARRAY[${TABLES.map((table) => `'${table}'`).join(', ')}]) WITH ORDINALITY AS t(name, place)
JOIN pg_attribute a ON a.attrelid = to_regclass('${schema}.' || t.name) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY t.place, a.attname`;

/** Times as text are read by another server. */
export const PLAIN_TEXT = `SELECT set_config('datestyle', 'ISO, YMD', true), set_config('extra_float_digits', '1', true)`;

/**
 * All rows of a saga as JSON, each value as the text that PostgreSQL has for it: JSON values keep theirs.
 * @param saga the expression for its id
 */
export function packSql(schema: string, columns: readonly Column[], saga: string): string {
  const values = (table: string) =>
    columns
      .filter((column) => column.table === table)
      .map(({ name }) => `x."${name}"::text AS "${name}"`)
      .join(', ');
  const rows = (table: string, id: string) =>
    `(SELECT coalesce(json_agg(row_to_json(r)), '[]') FROM (SELECT ${values(table)} FROM ${schema}.${table} x WHERE x.${id} = ${saga}) r)`;
  const parts = TABLES.map((table) => `'${table}', ${rows(table, table === 'instance' ? 'id' : 'saga_id')}`);
  return `json_build_object(${parts.join(', ')})`;
}

/** Stores the rows of a table again. $1 the rows of a saga as JSON. @param given other values for columns, in SQL; x is the row */
export function unpackSql(
  schema: string,
  table: string,
  columns: readonly Column[],
  given: Readonly<Record<string, string>> = {},
): string {
  const own = columns.filter((column) => column.table === table);
  const names = own.map(({ name }) => `"${name}"`);
  const values = own.map(({ name, type }) => given[name] ?? `x."${name}"::${type}`);
  return `INSERT INTO ${schema}.${table} (${names.join(', ')}) SELECT ${values.join(', ')}
FROM json_to_recordset($1::json -> '${table}') AS x(${names.map((name) => `${name} text`).join(', ')})`;
}

/** Why a saga stays: see StayReason; null: it may be moved. @param i the alias of the instance row */
export const staysSql = (schema: string, i: string): string => `
CASE
  WHEN ${i}.locked_by IS NOT NULL THEN 'running'
  WHEN EXISTS (SELECT FROM ${schema}.schedule s WHERE s.last_saga = ${i}.id) THEN 'schedule'
  WHEN ${i}.id::text IN (SELECT o.headers ->> 'saga-id' FROM ${schema}.outbox o WHERE o.headers ->> 'saga-id' IS NOT NULL) THEN 'messages'
  WHEN g.graph IS NULL THEN 'graph'
  WHEN (g.graph -> 'steps')::jsonb @> '[{"transactional": true}]' THEN 'transactional'
END`;

/** The graph that a saga goes by, as g. @param i the alias of the instance row */
export const graphOfSql = (schema: string, i: string): string => `
LEFT JOIN LATERAL (
  SELECT g.revision, g.graph FROM ${schema}.graph g WHERE g.name = ${i}.name AND g.version = ${i}.version
    AND g.revision = coalesce(${i}.graph_revision, g.revision)
  ORDER BY g.revision DESC LIMIT 1) g ON true`;

/** The columns of a saga that decide where its home is. @param i the alias of the instance row */
export const keyColumns = (i: string): string =>
  `${i}.id, ${i}.name, ${i}.correlation_id AS "correlationId", ${i}.lock_key AS "lockKey", ${i}.parent_id AS "parentId"`;

/** Whether others move with a saga. @param i the alias of the instance row */
export const isGroupedSql = (schema: string, i: string): string =>
  `(${i}.parent_id IS NOT NULL OR ${i}.lock_state IS NOT NULL OR EXISTS (SELECT FROM ${schema}.instance c WHERE c.parent_id = ${i}.id))`;

/**
 * The sagas that move together with a saga, as grp (id, …), itself included: families, and the queues of locks. $1 one of
 * them, $2 the most that are read. To be put after WITH.
 *
 * Plan: by primary key upwards, by instance_parent downwards, by instance_lock_queue.
 */
export const groupSql = (schema: string): string => `RECURSIVE linked AS (
  SELECT i.id, i.parent_id, i.name, i.lock_key, i.lock_state FROM ${schema}.instance i WHERE i.id = $1::uuid
  UNION
  SELECT n.id, n.parent_id, n.name, n.lock_key, n.lock_state FROM linked s CROSS JOIN LATERAL (
    SELECT p.id, p.parent_id, p.name, p.lock_key, p.lock_state FROM ${schema}.instance p WHERE p.id = s.parent_id
    UNION ALL
    SELECT c.id, c.parent_id, c.name, c.lock_key, c.lock_state FROM ${schema}.instance c WHERE c.parent_id = s.id
    UNION ALL
    SELECT l.id, l.parent_id, l.name, l.lock_key, l.lock_state FROM ${schema}.instance l
    WHERE s.lock_state IS NOT NULL AND l.name = s.name AND l.lock_key = s.lock_key AND l.lock_state IS NOT NULL
  ) n
), grp AS (SELECT id FROM linked LIMIT $2)`;

/** As `x`: the sagas of a move that are in the queue of a lock. $1 the rows of each as JSON. */
export const QUEUED = `(SELECT q.name, q.lock_key, q.lock_state FROM unnest($1::json[]) AS r(rows)
  CROSS JOIN LATERAL json_to_recordset(r.rows -> 'instance') AS q(name text, lock_key text, lock_state text)
  WHERE q.lock_state IS NOT NULL) x`;
