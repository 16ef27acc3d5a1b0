import { graphTable } from './tables/graph.table.js';
import { instanceIndexes, instanceTable } from './tables/instance.table.js';
import { limitTables } from './tables/limits.table.js';
import { partTables } from './tables/parts-of-sagas.table.js';
import { scheduleAndPauseTables } from './tables/schedules-and-pauses.table.js';
import { shardTables } from './tables/shards.table.js';
import { functionsIn } from '../sql-texts.js';

/**
 * The statements that create the first tables, functions and the view. Idempotent, so that this module and users' own runs may apply
 * them alike.
 * @param name the schema's name, unquoted
 */
export const createSagaTables = (name: string): string[] => {
  const schema = `"${name}"`;
  return [
    `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    ...instanceTable(schema),
    ...partTables(schema),
    ...graphTable(schema),
    ...limitTables(schema),
    ...scheduleAndPauseTables(schema),
    ...shardTables(schema),
    ...instanceIndexes(schema),
    ...functionsIn('schema/functions', name),
    `CREATE OR REPLACE VIEW ${schema}.step_state AS SELECT * FROM ${schema}.all_steps()`,
  ];
};
