import { createMessagingTables } from '../../libs/saga/src/store/postgres/schema/create-messaging-tables.js';
import { createSagaTables } from '../../libs/saga/src/store/postgres/schema/create-saga-tables.js';
import { SCHEMA_NAME } from '../../libs/saga/src/store/postgres/schema/frozen/migration-sql.js';
import { partitionTables } from '../../libs/saga/src/store/postgres/schema/partition-tables.sql.js';

export const FROZEN_FOLDER = 'libs/saga/src/store/postgres/schema/frozen';

/** Returns the frozen texts of the migrations of version 0.1.0, by file name, made from what builds the SQL now. */
export function frozenMigrations(): ReadonlyMap<string, string> {
  const messaging = fileOf('MESSAGING_TABLES_0_1_0', 'MigrationSql', createMessagingTables(SCHEMA_NAME));
  const sagas = fileOf('SAGA_TABLES_0_1_0', 'MigrationSql', createSagaTables(SCHEMA_NAME));
  const partitions = fileOf('PARTITIONS_0_1_0', 'PartitionSql', partitionTables(SCHEMA_NAME));
  return new Map([
    ['messaging-tables-0.1.0.sql.ts', messaging],
    ['saga-tables-0.1.0.sql.ts', sagas],
    ['partitions-0.1.0.sql.ts', partitions],
  ]);
}

function fileOf(name: string, type: string, sql: object): string {
  const parts = Object.entries(sql as Record<string, readonly string[]>);
  const fields = parts.map(
    ([part, statements]) => `  ${part}: [\n${statements.map(literalOf).join('')}  ],\n`,
  );
  return (
    `import type { ${type} } from './migration-sql.js';\n\n` +
    '/**\n * The SQL of a migration of version 0.1.0. Generated, and never edited: `UPDATE_MIGRATIONS=1` (CONTRIBUTING.md). It is a\n' +
    ' * module, because a module is found by every loader and bundler; an .sql file beside the code is not.\n */\n' +
    `export const ${name}: ${type} = {\n${fields.join('')}};\n`
  );
}

function literalOf(statement: string): string {
  const escaped = statement.replace(/[\\`]|\$(?=\{)/g, (found) => `\\${found}`);
  return `    \`${escaped}\`,\n`;
}
