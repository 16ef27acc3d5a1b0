import { storedSagaColumns } from './stored-saga.sql.js';

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

/** Those that will not change any more. */
export const endedSql = (schema: string): string => `
SELECT ${storedSagaColumns(schema, 'i')} FROM ${schema}.instance i
WHERE i.id = ANY((SELECT $1::uuid[])::uuid[]) AND i.status IN ('completed', 'compensated', 'aborted')`;

export const settledSql = (schema: string): string => `
SELECT ${storedSagaColumns(schema, 'i')} FROM ${schema}.instance i
WHERE i.id = ANY((SELECT $1::uuid[])::uuid[]) AND i.status IN ('completed', 'compensated', 'aborted', 'stuck', 'suspended')`;
