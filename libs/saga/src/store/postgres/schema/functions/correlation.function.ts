import { cleanupFunction } from './cleanup.function.js';
import { startFunction, startOneFunction, type Unique } from './start.function.js';

/**
 * The functions that keep correlation ids unique by a table of their own, for PostgreSQL keeps them unique within a
 * partition only: `correlation` says which saga has one. They replace those of the first migration.
 *
 * A row of it may be of a saga that is gone: a partition is dropped first, and they are deleted after. Such a row
 * counts for nothing. Whether it is one is looked up once it is locked, in a statement of its own, which sees all that
 * was committed by who had it before: a saga that is just being started is never taken for gone.
 *
 * Plan: by correlation_pkey and instance_pkey; the rows of a batch come in the order of their correlation ids.
 */
export const correlationFunctions = (schema: string): string[] => [
  startFunction(schema, BY_TABLE),
  startOneFunction(schema, BY_TABLE),
  cleanupFunction(schema, forgetFamily),
];

const IS_SAME = 'c.correlation_id = w.correlation_id AND c.name = w.name';

const BY_TABLE: Unique = {
  declare: `
  wanted int;
  free uuid[];
  late uuid[];`,
  before: (schema, rows) => `
  SELECT count(*) INTO wanted FROM ${rows} WHERE w.correlation_id IS NOT NULL;
  IF wanted > 0 THEN
    WITH taken AS (
      INSERT INTO ${schema}.correlation AS c (correlation_id, name, saga_id)
      SELECT w.correlation_id, w.name, w.id FROM ${rows} WHERE w.correlation_id IS NOT NULL
      ON CONFLICT DO NOTHING RETURNING c.saga_id
    ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO free FROM taken;
    IF cardinality(free) < wanted THEN
      PERFORM FROM ${rows} CROSS JOIN LATERAL
        (SELECT FROM ${schema}.correlation c WHERE ${IS_SAME} AND c.saga_id <> w.id FOR UPDATE) l;
      WITH taken AS (
        UPDATE ${schema}.correlation c SET saga_id = w.id FROM ${rows}
        WHERE ${IS_SAME} AND c.saga_id <> w.id
          AND NOT EXISTS (SELECT FROM ${schema}.instance o WHERE o.id = c.saga_id)
        RETURNING c.saga_id
      ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO late FROM taken;
      free := free || late;
    END IF;
  END IF;`,
  only: `
  WHERE w.correlation_id IS NULL OR w.id = ANY(free)`,
  // One whose id another saga has was not stored: then its correlation id is not taken either.
  after: (schema, rows) => `
  IF wanted > 0 AND cardinality(free) > 0 THEN
    DELETE FROM ${schema}.correlation c USING ${rows}
    WHERE ${IS_SAME} AND c.saga_id = w.id AND w.id = ANY(free) AND NOT EXISTS (
      SELECT FROM ${schema}.instance o WHERE o.id = w.id AND o.correlation_id = w.correlation_id AND o.name = w.name);
  END IF;`,
};

const forgetFamily = (schema: string): string =>
  `DELETE FROM ${schema}.correlation c USING ${schema}.instance g
      WHERE g.id = ANY(family) AND c.correlation_id = g.correlation_id AND c.name = g.name AND c.saga_id = g.id;
      `;
