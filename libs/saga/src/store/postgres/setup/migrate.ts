import { SagaConfigurationError } from '../../../errors.js';
import type { EngineSql } from '../connection/engine-sql.js';
import type { StatementLogger } from '../connection/saga-database.js';
import type { Sql } from '../connection/sql.js';
import { checkServer } from './check-server.js';
import { findParts, requireParts, requireSameBuild } from './find-parts.js';
import { disableTimeouts } from './disable-timeouts.js';
import { type Needs, SAGA_NEEDS, type SagaMigration } from './needs.js';
import { waitForPromotion } from './wait-for-promotion.js';

/** TypeORM's name for the primary key of a table of migrations, which is a hash of the table's name. */
const PRIMARY_KEY = 'PK_3043fc6b8af7c99b8b98830094f';

/** "saga" in ASCII: one key for all processes and schemas; migrations are rare, so they may wait for each other. */
export const MIGRATION_LOCK = 0x73616761;

/**
 * Applies pending migrations, once, however many processes start at this moment: under an advisory lock of the
 * one transaction that they all run in (and so behind a transaction-mode pooler as well).
 * @returns the names of those that it applied
 */
export async function migrate(sql: EngineSql, schema: string, needs: Needs = SAGA_NEEDS): Promise<string[]> {
  await checkServer(sql, schema, needs);
  let exists = false;
  try {
    return await sql.transaction(async (transaction) => {
      await disableTimeouts(transaction);
      await transaction.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      [{ exists }] = await transaction.query<[{ exists: boolean }]>(
        'SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS exists',
        [schema],
      );
      if (!exists) await transaction.query(`CREATE SCHEMA "${schema}"`);
      return runMigrations(transaction, schema, needs, sql.logger);
    });
  } catch (error) {
    if (isForbidden(error)) {
      throw new SagaConfigurationError(
        `${needs.module} may not create its tables in schema '${schema}': ${(error as Error).message}. ` +
          `Grant CREATE on the ${exists ? 'schema' : 'database'}, or run ${needs.migrations}() as another role (npx saga ` +
          `migrate --url …) and give forRoot({ migrate: false }).`,
        { cause: error },
      );
    }
    throw error;
  }
}

/** The table that lists the applied migrations of a schema. */
const migrationTable = (schema: string): string => `"${schema}"."migration"`;

const MIGRATION_COLUMNS =
  `"id" SERIAL NOT NULL, "timestamp" bigint NOT NULL, "name" character varying NOT NULL, ` +
  `CONSTRAINT "${PRIMARY_KEY}" PRIMARY KEY ("id")`;

/**
 * Applies the migrations of a schema that its table `migration` does not list, in one transaction of the caller's. The
 * table and its rows are those of TypeORM's own migrations, so that either can go on where the other stopped.
 * @returns the names of those that it applied
 * @throws SagaConfigurationError if another build made the schema, or if it lacks what its migrations have made
 */
async function runMigrations(
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
  if (!exists) await sql.query(`CREATE TABLE ${table} (${MIGRATION_COLUMNS})`);
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
function timeOf({ name }: SagaMigration): number {
  return Number(name.slice(-13));
}

/** With `migrate: false`: is everything there? */
export async function checkMigrated(sql: EngineSql, schema: string, needs = SAGA_NEEDS): Promise<void> {
  await checkServer(sql, schema, needs);
  const missing = await missingParts(sql, schema, needs);
  if (missing.length > 0) {
    throw new SagaConfigurationError(
      `Schema '${schema}' lacks ${missing.join(', ')}. Run ${needs.migrations}('${schema}'${needs.options ? `, ${needs.options}` : ''}) with your ` +
        `own migrations before the application starts, or remove migrate: false.`,
    );
  }
}

/**
 * Returns the tables and functions that a schema lacks, by name.
 * @throws SagaConfigurationError if another build made the schema, or if the role may not read it
 */
export async function missingParts(
  sql: EngineSql,
  schema: string,
  needs = SAGA_NEEDS,
): Promise<readonly string[]> {
  const found = await findParts(sql, schema, needs).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    throw new SagaConfigurationError(
      `${needs.module} may not read schema '${schema}': ${(error as Error).message}. ` +
        `Grant the application's role USAGE on it and on its sequences, SELECT, INSERT, UPDATE and DELETE on its tables, and ` +
        `EXECUTE on its functions.`,
      { cause: error },
    );
  });
  requireSameBuild(schema, needs, found, () => found.missing.length === 0);
  return found.missing;
}

/** insufficient_privilege */
function isForbidden(error: unknown): boolean {
  return (error as { code?: unknown }).code === '42501';
}

/**
 * Prepares the tables of a schema when an application starts: applies pending migrations, or with `migrate: false` checks
 * that everything is there. Waits for the promotion of a standby.
 * @throws SagaConfigurationError
 */
export async function prepareTables(
  sql: EngineSql,
  options: { readonly schema: string; readonly migrate: boolean },
  needs: Needs,
  log: { warn(message: string): void },
): Promise<void> {
  sql.database.requireSchema?.(options.schema);
  const prepare = options.migrate ? migrate : checkMigrated;
  await waitForPromotion(
    () => prepare(sql, options.schema, needs),
    ({ message }) => log.warn(`${message} Waiting for a promotion, as after a failover.`),
  );
}

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
    `CREATE TABLE IF NOT EXISTS ${table} (${MIGRATION_COLUMNS});`,
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
