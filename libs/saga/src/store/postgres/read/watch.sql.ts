import { ENDED_STATUSES, SETTLED, type SagaStatus } from '../../../definition/types/saga-status.js';
import { inList } from '../schema/in-list.js';
import { aroundSaga } from '../edit/edit.sql.js';
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
    AND status NOT IN ${inList(SETTLED)}
  ORDER BY id FOR NO KEY UPDATE))`;

/** Returns sagas that will not change any more, up to $2 bytes. */
export const endedSql = (schema: string): string =>
  pageOfSagasSql(schema, settledAmong(schema, ENDED_STATUSES), '$2::bigint');

/** Returns sagas that are settled, up to $2 bytes. */
export const settledSql = (schema: string): string =>
  pageOfSagasSql(schema, settledAmong(schema, SETTLED), '$2::bigint');

const settledAmong = (schema: string, statuses: readonly SagaStatus[]): string =>
  `SELECT i.id FROM ${schema}.instance i
  WHERE i.id = ANY((SELECT $1::uuid[])::uuid[]) AND i.status IN ${inList(statuses)} ORDER BY i.id`;

/**
 * Returns those of these sagas that differ from what was seen of them, with what is to be seen now: see seenOf; null: no such saga.
 * Index lookups: the lateral subquery cannot be joined any other way. $1 ids, $2 what was seen, or null: nothing.
 */
export const changedSql = (schema: string): string => `
SELECT w.id, now.seen FROM unnest((SELECT $1::uuid[]), (SELECT $2::text[])) AS w(id, seen)
LEFT JOIN LATERAL (
  SELECT concat(i.checkpoints, '.', i.epoch, '.', i.cancel_requested_at IS NOT NULL, i.pause_requested, i.overdue, '.', i.locked_by,
    md5(i.reports::text)) AS seen
  FROM ${schema}.instance i WHERE i.id = w.id LIMIT 1) now ON true
WHERE now.seen IS NULL OR now.seen IS DISTINCT FROM w.seen`;

/** These sagas, with what is shown of them alone, up to $2 bytes. $1 ids. */
export const presentSql = (schema: string): string =>
  pageOfSagasSql(
    schema,
    `SELECT i.id FROM ${schema}.instance i WHERE i.id = ANY((SELECT $1::uuid[])::uuid[]) ORDER BY i.id`,
    '$2::bigint',
    `, ${aroundSaga(schema, 'i')}`,
  );

/** Runs at polls only, for the sagas that calls wait for: each id is looked up in the primary key. */
export const missingSql = (schema: string): string => `
SELECT id FROM unnest($1::uuid[]) AS wanted (id)
WHERE NOT EXISTS (SELECT FROM ${schema}.instance i WHERE i.id = wanted.id)`;
