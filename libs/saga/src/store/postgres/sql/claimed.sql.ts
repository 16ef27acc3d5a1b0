import { storedSagaColumns } from './stored-saga.sql.js';

/**
 * Sagas that were just claimed, in the order of their ids, as far as they are this worker's still.
 * Index lookups: the lateral subquery cannot be joined any other way. $1 ids, $2 epochs, $3 worker.
 */
export const claimedSql = (schema: string): string => `
SELECT ${storedSagaColumns(schema, 'i')}
FROM unnest((SELECT $1::uuid[]), (SELECT $2::int[])) WITH ORDINALITY AS w(id, epoch, place)
CROSS JOIN LATERAL (SELECT * FROM ${schema}.instance h
  WHERE h.id = w.id AND h.epoch = w.epoch AND h.locked_by = $3::text LIMIT 1) i
ORDER BY w.place`;
