import { functionsIn, functionText } from '../sql-texts.js';
import { dropsOf } from './created-objects.js';
import { finishedIndexSql } from './finished-index.sql.js';

/**
 * What partitioned tables need.
 * @param name the schema's name, unquoted
 */
export const partitionParts = (name: string) => {
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
    functions: [...functionsIn('schema/partitions', name), ...functionsIn('schema/partitioned', name)],
  };
};

/** The reverse of `partitionParts`, once the tables are united. @param name the schema's name, unquoted */
export const unpartitionStatements = (name: string): string[] => [
  ...dropsOf(functionsIn('schema/partitions', name), name),
  ...(['start', 'start_one', 'cleanup', 'checkpoint', 'checkpoint_one'] as const).map((replaced) =>
    functionText(replaced, name),
  ),
  ...dropsOf(partitionParts(name).tables, name),
];
