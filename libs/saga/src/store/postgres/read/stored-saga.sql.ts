import { isPending, pendingColumn, pendingJson } from '../signals/pending-signals.sql.js';

/**
 * A saga's row with its steps as JSON, for statements that read whole sagas. Payloads are returned as text: the driver
 * would parse JSON null and SQL NULL into the same value, and a result may be either.
 * @param i the alias of the instance row
 * @param inParts a condition: its steps and signals are left to statements of their own
 */
export const storedSagaColumns = (schema: string, i: string, inParts: string): string => `
  ${i}.id, ${i}.name, ${i}.version, ${i}.graph_revision, ${i}.correlation_id, ${i}.status, ${i}.held_phase, ${i}.failure, ${i}.progress,
  ${i}.input::text AS input, ${i}.priority, ${i}.tags, ${i}.epoch, ${i}.checkpoints, ${i}.locked_by, ${i}.lost_leases, ${i}.takeovers, ${i}.losses,
  ${i}.reports::text AS reports, ${i}.cancel_requested_at IS NOT NULL AS cancel_requested, ${i}.cancel_reason, ${i}.pause_requested, ${i}.overdue,
  (extract(epoch FROM ${i}.sla_at) * 1000)::float8 AS sla_at,
  ${i}.lock_key, ${i}.lock_state, ${i}.lock_deadlock, ${i}.parent_id, ${i}.parent_step,
  (extract(epoch FROM ${i}.due_at) * 1000)::float8 AS due_at,
  (extract(epoch FROM ${i}.leased_at) * 1000)::float8 AS leased_at,
  (extract(epoch FROM ${i}.deadline_at) * 1000)::float8 AS deadline_at,
  (extract(epoch FROM ${i}.created_at) * 1000)::float8 AS created_at,
  (extract(epoch FROM ${i}.updated_at) * 1000)::float8 AS updated_at,
  (extract(epoch FROM ${i}.finished_at) * 1000)::float8 AS finished_at,
  coalesce(${inParts}, false) AS in_parts,
  CASE WHEN ${inParts} THEN NULL ELSE (SELECT json_agg(${stepJson('s')})
    FROM ${schema}.step s WHERE s.saga_id = ${i}.id) END AS steps,
  CASE WHEN ${inParts} THEN NULL ELSE ${pendingColumn(schema, i)} END AS signals`;

/** A step as JSON. @param s the alias of its row */
const stepJson = (s: string): string => `json_build_object(
      'name', ${s}.name, 'status', ${s}.status, 'attempts', ${s}.attempts, 'failures', ${s}.failures, 'unknown', ${s}."unknown",
      'compensationAttempts', ${s}.compensation_attempts, 'compensationFailures', ${s}.compensation_failures,
      'retryAt', (extract(epoch FROM ${s}.retry_at) * 1000)::float8, 'result', ${s}.result::text, 'errors', ${s}.errors, 'progress', ${s}.progress,
      'startedAt', (extract(epoch FROM ${s}.started_at) * 1000)::float8,
      'updatedAt', (extract(epoch FROM ${s}.updated_at) * 1000)::float8)`;

/** A part of a saga's steps. $1 the saga's id, $2 the name of the last one before it, $3 bytes. */
export const stepPartSql = (schema: string): string => `
SELECT ${stepJson('s')} AS step FROM ${schema}.step s
WHERE s.saga_id = $1::uuid AND s.name > $2::text AND s.name <= (SELECT ${schema}.step_part_1($1::uuid, $2::text, $3::bigint))
ORDER BY s.name`;

/**
 * A part of what a saga was sent and has not taken yet, in order; `more`: there may be others after it.
 * $1 the saga's id, $2 the number of the last one before it, $3 bytes.
 */
export const signalPartSql = (schema: string): string => `
SELECT i.signals > p.last AS more, ${pendingJson('g')} AS signal
FROM (SELECT ${schema}.signal_part_1($1::uuid, $2::int, $3::bigint) AS last OFFSET 0) p
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
paged AS MATERIALIZED (SELECT f.ids AS found, p.ids, p.in_parts FROM found f CROSS JOIN LATERAL ${schema}.page_1(f.ids, ${bytes}) p)
SELECT cardinality(paged.found) > cardinality(paged.ids) AS more, t.*
FROM paged CROSS JOIN LATERAL (
  SELECT w.place, ${storedSagaColumns(schema, 'i', 'paged.in_parts')}${more}
  FROM unnest(paged.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM ${schema}.instance h WHERE h.id = w.id LIMIT 1) i) t
ORDER BY t.place`;
