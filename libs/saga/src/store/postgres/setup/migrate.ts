import { SagaConfigurationError } from '../../../errors.js';
import type { EngineSql } from '../connection/engine-sql.js';
import { checkServer } from './check-server.js';
import { disableTimeouts } from './disable-timeouts.js';
import { type Needs, SAGA_NEEDS } from './needs.js';
import { runMigrations } from './run-migrations.js';

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
      return runMigrations(transaction, schema, needs.migrationsOf(schema), sql.logger);
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

/** The tables and functions that a schema lacks, by name. */
export async function missingParts(sql: EngineSql, schema: string, needs = SAGA_NEEDS): Promise<string[]> {
  const looked = sql.query(
    `SELECT name FROM unnest($2::text[]) AS name WHERE to_regclass($1 || name) IS NULL UNION ALL
     SELECT name || '()' FROM unnest($3::text[]) AS name WHERE to_regproc($1 || name) IS NULL`,
    [`"${schema}".`, [...needs.tables, ...needs.sequences], needs.functions],
  );
  const missing = (await looked.catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    throw new SagaConfigurationError(
      `${needs.module} may not read schema '${schema}': ${(error as Error).message}. ` +
        `Grant the application's role USAGE on it and on its sequences, SELECT, INSERT, UPDATE and DELETE on its tables, and ` +
        `EXECUTE on its functions.`,
      { cause: error },
    );
  })) as { name: string }[];
  return missing.map(({ name }) => name);
}

/** insufficient_privilege */
function isForbidden(error: unknown): boolean {
  return (error as { code?: unknown }).code === '42501';
}
