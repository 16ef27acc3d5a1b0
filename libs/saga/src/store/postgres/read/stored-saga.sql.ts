import { millisecondsOf, stepFieldsJson } from '../schema/step-row.js';
import { isPending, pendingColumn, pendingJson } from '../signals/pending-signals.sql.js';

/** The columns of a saga's row with its steps as JSON, and their types. @param i, inParts as in storedSagaColumns */
const columns = (
  schema: string,
  i: string,
  inParts: string,
): [name: string, type: string, value: string][] => {
  const ownOf = (type: string, ...names: string[]) =>
    names.map((name): [string, string, string] => [name, type, `${i}.${name}`]);
  const time = (name: string): [string, string, string] => [name, 'float8', millisecondsOf(`${i}.${name}`)];
  return [
    ...ownOf('uuid', 'id', 'parent_id'),
    ...ownOf('int', 'version', 'epoch', 'checkpoints'),
    ...ownOf('smallint', 'graph_revision', 'priority', 'takeovers', 'losses'),
    ...ownOf('text', 'name', 'correlation_id', 'status', 'held_phase', 'locked_by', 'cancel_reason'),
    ...ownOf('text', 'lock_key', 'lock_state', 'parent_step'),
    ...ownOf('boolean', 'pause_requested', 'overdue'),
    ...ownOf('json', 'failure', 'progress', 'lock_deadlock'),
    ...ownOf('jsonb', 'tags', 'lost_leases'),
    ...[
      'due_at',
      'leased_at',
      'deadline_at',
      'sla_at',
      'starts_at',
      'created_at',
      'updated_at',
      'finished_at',
    ].map(time),
    ['input', 'text', `${i}.input::text`],
    ['reports', 'text', `${i}.reports::text`],
    ['cancel_requested', 'boolean', `${i}.cancel_requested_at IS NOT NULL`],
    ['in_parts', 'boolean', `coalesce(${inParts}, false)`],
    [
      'steps',
      'json',
      `CASE WHEN ${inParts} THEN NULL ELSE (SELECT json_agg(${stepJson('s')})
    FROM ${schema}.step s WHERE s.saga_id = ${i}.id) END`,
    ],
    ['signals', 'json', `CASE WHEN ${inParts} THEN NULL ELSE ${pendingColumn(schema, i)} END`],
  ];
};

/**
 * A saga's row with its steps as JSON, for statements that read whole sagas. Payloads are returned as text: the driver
 * would parse JSON null and SQL NULL into the same value, and a result may be either.
 * @param i the alias of the instance row
 * @param inParts a condition: its steps and signals are left to statements of their own
 */
export const storedSagaColumns = (schema: string, i: string, inParts: string): string =>
  columns(schema, i, inParts)
    .map(([name, , value]) => `${value} AS ${name}`)
    .join(',\n  ');

/** The columns of storedSagaColumns, as a function declares that it returns them. */
export const storedSagaTypes = (): string =>
  columns('', '', '')
    .map(([name, type]) => `${name} ${type}`)
    .join(', ');

/** A step as JSON. @param s the alias of its row */
const stepJson = (s: string): string => `json_build_object(
      'name', ${s}.name, ${stepFieldsJson(s)}, 'progress', ${s}.progress,
      'startedAt', ${millisecondsOf(`${s}.started_at`)}, 'updatedAt', ${millisecondsOf(`${s}.updated_at`)})`;

/** A part of a saga's steps. $1 the saga's id, $2 the name of the last one before it, $3 bytes. */
export const stepPartSql = (schema: string): string => `
SELECT ${stepJson('s')} AS step FROM ${schema}.step s
WHERE s.saga_id = $1::uuid AND s.name > $2::text AND s.name <= (SELECT ${schema}.step_part($1::uuid, $2::text, $3::bigint))
ORDER BY s.name`;

/**
 * A part of what a saga was sent and has not taken yet, in order; `more`: there may be others after it.
 * $1 the saga's id, $2 the number of the last one before it, $3 bytes.
 */
export const signalPartSql = (schema: string): string => `
SELECT i.signals > p.last AS more, ${pendingJson('g')} AS signal
FROM (SELECT ${schema}.signal_part($1::uuid, $2::int, $3::bigint) AS last OFFSET 0) p
CROSS JOIN LATERAL (SELECT * FROM ${schema}.instance WHERE id = $1::uuid) i
CROSS JOIN LATERAL (SELECT * FROM ${schema}.signal s WHERE s.saga_id = i.id AND s.number > $2::int AND s.number <= p.last
  AND ${isPending('i', 's')} ORDER BY s.number) g`;

/** Is it still as it was read before its parts were? $1 the saga's id. */
export const standsSql = (schema: string): string =>
  `SELECT epoch, checkpoints FROM ${schema}.instance WHERE id = $1::uuid`;

/**
 * Sagas of these ids, in this order, up to a number of bytes; `more`: there are others of them left to read.
 * @param ids a query that gives them
 * @param bytes of a page
 * @param more further columns of the instance row i
 */
export const pageOfSagasSql = (schema: string, ids: string, bytes: string, more = ''): string => `
WITH found AS MATERIALIZED (SELECT ARRAY(${ids}) AS ids),
paged AS MATERIALIZED (SELECT f.ids AS found, p.ids, p.in_parts FROM found f CROSS JOIN LATERAL ${schema}.page(f.ids, ${bytes}) p)
SELECT cardinality(paged.found) > cardinality(paged.ids) AS more, t.*
FROM paged CROSS JOIN LATERAL (
  SELECT w.place, ${storedSagaColumns(schema, 'i', 'paged.in_parts')}${more}
  FROM unnest(paged.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM ${schema}.instance h WHERE h.id = w.id LIMIT 1) i) t
ORDER BY t.place`;
