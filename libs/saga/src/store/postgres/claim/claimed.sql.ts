import { PRIORITY_POINT_MS } from '../../../engine/ports/saga-store.js';
import { pageOfSagasSql } from '../read/stored-saga.sql.js';

/** What is this worker's still, as i. Index lookups: the lateral subquery cannot be joined any other way. */
const stillHeld = (schema: string): string => `
unnest((SELECT $1::uuid[]), (SELECT $2::int[])) WITH ORDINALITY AS w(id, epoch, place)
CROSS JOIN LATERAL (SELECT * FROM ${schema}.instance h
  WHERE h.id = w.id AND h.epoch = w.epoch AND h.locked_by = $3::text LIMIT 1) i`;

/** Sagas that were just claimed, in the order of their ids, up to $4 bytes. $1 ids, $2 epochs, $3 worker. */
export const claimedSql = (schema: string): string =>
  pageOfSagasSql(schema, `SELECT i.id FROM ${stillHeld(schema)} ORDER BY w.place`, '$4::bigint');

/**
 * Releases leases under which nothing has started: due after $4 ms. Takeovers that were counted stay counted. Rows are
 * locked in the order of their ids, as checkpoints lock them. $1 ids, $2 epochs, $3 worker.
 */
export const giveBackSql = (schema: string): string => `
UPDATE ${schema}.instance u SET
  locked_by = NULL,
  due_at = now() + $4::float8 * interval '1 millisecond',
  rank_at = now() + ($4::float8 - u.priority * ${PRIORITY_POINT_MS}) * interval '1 millisecond'
WHERE u.id = ANY(ARRAY(
  SELECT l.id FROM ${schema}.instance l
  WHERE l.id = ANY(ARRAY(SELECT i.id FROM ${stillHeld(schema)})) AND l.locked_by = $3::text
  ORDER BY l.id FOR NO KEY UPDATE))`;
