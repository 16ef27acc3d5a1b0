import type { StatementLogger } from '../connection/saga-database.js';
import type { Sql } from '../connection/sql.js';
import { findParts, requireParts, requireSameBuild } from './find-parts.js';
import type { Needs, SagaMigration } from './needs.js';

/** TypeORM's name for the primary key of such a table, which is a hash of the table's name. */
const PRIMARY_KEY = 'PK_3043fc6b8af7c99b8b98830094f';

/** The table that lists the applied migrations of a schema. */
export const migrationTable = (schema: string): string => `"${schema}"."migration"`;

/** The statement that creates this table. */
export function createMigrationTable(table: string, { ifNotExists = false } = {}): string {
  return (
    `CREATE TABLE ${ifNotExists ? 'IF NOT EXISTS ' : ''}${table} ("id" SERIAL NOT NULL, "timestamp" bigint NOT NULL, ` +
    `"name" character varying NOT NULL, CONSTRAINT "${PRIMARY_KEY}" PRIMARY KEY ("id"))`
  );
}

/**
 * Applies the migrations of a schema that its table `migration` does not list, in one transaction of the caller's. The
 * table and its rows are those of TypeORM's own migrations, so that either can go on where the other stopped.
 * @returns the names of those that it applied
 * @throws SagaConfigurationError if another build made the schema, or if it lacks what its migrations have made
 */
export async function runMigrations(
  sql: Sql,
  schema: string,
  needs: Needs,
  logger?: StatementLogger,
): Promise<string[]> {
  const table = migrationTable(schema);
  // Not IF NOT EXISTS, which requires the right to create it even if it exists.
  const [{ exists }] = await sql.query<[{ exists: boolean }]>(
    'SELECT to_regclass($1) IS NOT NULL AS exists',
    [table],
  );
  if (!exists) await sql.query(createMigrationTable(table));
  const found = await findParts(sql, schema, needs, `ARRAY(SELECT name::text FROM ${table})`);
  requireSameBuild(schema, needs, found, ({ name }) => found.applied.includes(name));
  const pending = needs
    .migrationsOf(schema)
    .filter(({ name }) => !found.applied.includes(name))
    .sort((one, other) => timeOf(one) - timeOf(other));
  for (const migration of pending) {
    await migration.up(sql);
    await sql.query(`INSERT INTO ${table} ("timestamp", "name") VALUES ($1, $2)`, [
      timeOf(migration),
      migration.name,
    ]);
    logger?.logMigration?.(`Migration ${migration.name} has been executed successfully.`);
  }
  requireParts(schema, pending.length === 0 ? found : await findParts(sql, schema, needs));
  return pending.map(({ name }) => name);
}

/** The time by which TypeORM orders the migration, in ms. */
export function timeOf({ name }: SagaMigration): number {
  return Number(name.slice(-13));
}
