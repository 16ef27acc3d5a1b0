import { MIGRATION_LOCK } from './migrate.js';
import { type Needs, SAGA_NEEDS } from './needs.js';
import { createMigrationTable, migrationTable, timeOf } from './run-migrations.js';

/**
 * Returns the migrations of a schema as one text of SQL, for a migration tool of the application. The text has the effect of
 * `migrate()`: it also records the migrations, so that a process that starts later finds none pending. It skips what exists
 * already. It contains no transaction statements, because the tool opens the transaction, and no `?`, which Knex replaces.
 */
export async function migrationScript(schema: string, needs: Needs = SAGA_NEEDS): Promise<string> {
  const table = migrationTable(schema);
  const parts = [
    `-- The tables and functions of nestjs-durable-saga in schema "${schema}", and the rows that record these migrations.`,
    '-- Run this text in one transaction.',
    `DO $lock$ BEGIN PERFORM pg_advisory_xact_lock(${MIGRATION_LOCK}); END $lock$;`,
    `CREATE SCHEMA IF NOT EXISTS "${schema}";`,
    `${createMigrationTable(table, { ifNotExists: true })};`,
  ];
  for (const migration of needs.migrationsOf(schema)) {
    const { name } = migration;
    parts.push(`-- ${name}`);
    await migration.up({ query: async (text: string) => void parts.push(`${text.trim()};`) as never });
    parts.push(
      `INSERT INTO ${table} ("timestamp", "name") SELECT ${timeOf(migration)}, '${name}'\n` +
        `WHERE NOT EXISTS (SELECT FROM ${table} WHERE "name" = '${name}');`,
    );
  }
  return parts.join('\n\n');
}
