import { finishedIndexSql } from './finished-index.sql.js';
import { dropsOf } from './created-objects.js';
import { plannedOnce, plannedPerCall } from './functions/checkpoint.function.js';
import { cleanupFunction } from './functions/cleanup.function.js';
import { correlationFunctions } from './functions/correlation.function.js';
import { partitionFunctions } from './functions/partition.function.js';
import { startFunction, startOneFunction } from './functions/start.function.js';

/**
 * What partitioned tables need.
 * @param name the schema's name, unquoted
 */
export const partitionSql = (name: string) => {
  const schema = `"${name}"`;
  return {
    tables: [
      finishedIndexSql(name, ''),
      `
      CREATE TABLE ${schema}.correlation (
        correlation_id text NOT NULL,
        name text NOT NULL,
        saga_id uuid NOT NULL,
        PRIMARY KEY (correlation_id, name)
      )`,
      `
      INSERT INTO ${schema}.correlation (correlation_id, name, saga_id)
      SELECT correlation_id, name, id FROM ${schema}.instance WHERE correlation_id IS NOT NULL`,
      // In ms; what came before `since` has a partition of its own.
      `CREATE TABLE ${schema}.partitioning (period bigint NOT NULL, since bigint NOT NULL)`,
    ],
    functions: [...partitionFunctions(schema), ...correlationFunctions(schema), ...plannedPerCall(schema)],
  };
};

/** The reverse of `partitionSql`, once the tables are united. @param name the schema's name, unquoted */
export const unpartitionSql = (name: string): string[] => {
  const schema = `"${name}"`;
  return [
    ...dropsOf(partitionFunctions(schema), name),
    startFunction(schema),
    startOneFunction(schema),
    cleanupFunction(schema),
    ...plannedOnce(schema),
    ...dropsOf(partitionSql(name).tables, name),
  ];
};
