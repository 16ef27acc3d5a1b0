import { sagaFields, sagaFieldTypes, STORED_FIELDS } from '../schema/saga-row.js';
import { millisecondsOf, stepFieldsJson } from '../schema/step-row.js';
import { isPending, pendingColumn, pendingJson } from '../signals/pending-signals.sql.js';

/**
 * A saga's row with its steps and signals as JSON, for statements that read whole sagas.
 * @param i the alias of the instance row
 * @param inParts a condition: its steps and signals are left to statements of their own
 */
export const storedSagaColumns = (schema: string, i: string, inParts: string): string => `
  ${sagaFields(i, STORED_FIELDS)}, coalesce(${inParts}, false) AS "inParts",
  CASE WHEN ${inParts} THEN NULL ELSE (SELECT json_agg(${stepJson('s')})
    FROM ${schema}.step s WHERE s.saga_id = ${i}.id) END AS steps,
  CASE WHEN ${inParts} THEN NULL ELSE ${pendingColumn(schema, i)} END AS signals`;

/** The columns of storedSagaColumns, as a function declares that it returns them. */
export const STORED_SAGA_TYPES = `${sagaFieldTypes(STORED_FIELDS)}, "inParts" boolean, steps json, signals json`;

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
