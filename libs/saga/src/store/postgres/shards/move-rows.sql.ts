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
 * All rows of a saga as JSON, each value as the text that PostgreSQL has for it: JSON values keep theirs. $1 saga.
 */
export function packSql(schema: string, columns: readonly Column[]): string {
  const values = (table: string) =>
    columns
      .filter((column) => column.table === table)
      .map(({ name }) => `x."${name}"::text AS "${name}"`)
      .join(', ');
  const rows = (table: string, id: string) =>
    `(SELECT coalesce(json_agg(row_to_json(r)), '[]') FROM (SELECT ${values(table)} FROM ${schema}.${table} x WHERE x.${id} = $1::uuid) r)`;
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
  WHEN ${i}.parent_id IS NOT NULL OR EXISTS (SELECT FROM ${schema}.instance c WHERE c.parent_id = ${i}.id) THEN 'sub-sagas'
  WHEN ${i}.lock_key IS NOT NULL THEN 'lock-key'
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
