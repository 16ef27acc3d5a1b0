import { pageOfSagasSql } from './stored-saga.sql.js';

/**
 * Marks unsettled sagas as watched, so that the checkpoint that settles one announces it. The row's lock orders
 * the two: either the mark comes first and is seen, or the second statement sees the saga settled.
 * Rows are locked in the order of their ids, as checkpoints lock them, so that the two never deadlock.
 */
export const watchSql = (schema: string): string => `
UPDATE ${schema}.instance SET watched = true
WHERE id = ANY(ARRAY(
  SELECT id FROM ${schema}.instance
  WHERE id = ANY((SELECT $1::uuid[])::uuid[]) AND NOT watched
    AND status NOT IN ('completed', 'compensated', 'aborted', 'stuck', 'suspended')
  ORDER BY id FOR NO KEY UPDATE))`;

/** Those that will not change any more, up to $2 bytes. */
export const endedSql = (schema: string): string =>
  pageOfSagasSql(schema, settledAmong(schema, ['completed', 'compensated', 'aborted']), '$2::bigint');

/** Those that are settled, up to $2 bytes. */
export const settledSql = (schema: string): string =>
  pageOfSagasSql(
    schema,
    settledAmong(schema, ['completed', 'compensated', 'aborted', 'stuck', 'suspended']),
    '$2::bigint',
  );

const settledAmong = (schema: string, statuses: readonly string[]): string =>
  `SELECT i.id FROM ${schema}.instance i
  WHERE i.id = ANY((SELECT $1::uuid[])::uuid[]) AND i.status IN (${statuses.map((status) => `'${status}'`).join(', ')}) ORDER BY i.id`;

/** Runs at polls only, for the sagas that calls wait for: each id is looked up in the primary key. */
export const missingSql = (schema: string): string => `
SELECT id FROM unnest($1::uuid[]) AS wanted (id)
WHERE NOT EXISTS (SELECT FROM ${schema}.instance i WHERE i.id = wanted.id)`;
