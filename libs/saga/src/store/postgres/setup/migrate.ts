import { type DataSource, MigrationExecutor } from 'typeorm';
import { SagaConfigurationError } from '../../../errors.js';
import { PARTITION_FUNCTIONS } from '../schema/functions/partition.function.js';
import { MESSAGING_FUNCTIONS } from '../schema/create-messaging-tables.js';
import { SAGA_FUNCTIONS } from '../schema/create-saga-tables.js';
import type { Partitions } from '../schema/partition-saga-tables.js';
import { checkServer } from './check-server.js';

/** "saga" in ASCII: one key for all processes and schemas; migrations are rare, so they may wait for each other. */
export const MIGRATION_LOCK = 0x73616761;

/** What a module finds in its schema once it is migrated. */
export interface Needs {
  readonly module: string;
  /** The function that gives its migrations. */
  readonly migrations: string;
  /** What it is called with beside the schema. */
  readonly options?: string;
  readonly tables: readonly string[];
  readonly sequences: readonly string[];
  readonly functions: readonly string[];
}

export const MESSAGING_NEEDS: Needs = {
  module: 'SagaMessagingModule',
  migrations: 'messagingMigrations',
  tables: ['outbox', 'outbox_lane', 'relay', 'inbox'],
  sequences: [],
  functions: MESSAGING_FUNCTIONS,
};

export const SAGA_NEEDS: Needs = {
  module: 'SagaModule',
  migrations: 'sagaMigrations',
  tables: [
    'instance',
    'step',
    'signal',
    'operation',
    'graph',
    'rate_limit',
    'concurrency',
    ...MESSAGING_NEEDS.tables,
  ],
  sequences: ['lock_place'],
  functions: [...SAGA_FUNCTIONS, ...MESSAGING_NEEDS.functions],
};

/** Of a module whose tables are partitioned. */
export const partitionedNeeds = (partitions: Partitions): Needs => ({
  ...SAGA_NEEDS,
  options: `{ partitions: '${partitions}' }`,
  tables: [...SAGA_NEEDS.tables, 'correlation', 'partitioning'],
  functions: [...SAGA_NEEDS.functions, ...PARTITION_FUNCTIONS],
});

/**
 * Applies pending migrations, once, however many processes start at this moment: under an advisory lock of the
 * one transaction that they all run in (and so behind a transaction-mode pooler as well).
 * @returns the names of those that it applied
 */
export async function migrate(dataSource: DataSource, schema: string, needs = SAGA_NEEDS): Promise<string[]> {
  await checkServer(dataSource, schema, needs);
  const queryRunner = dataSource.createQueryRunner();
  let exists = false;
  try {
    await queryRunner.startTransaction();
    await waitAsLongAsItTakes(queryRunner);
    await queryRunner.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    [{ exists }] = (await queryRunner.query(
      'SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS exists',
      [schema],
    )) as [{ exists: boolean }];
    if (!exists) await queryRunner.query(`CREATE SCHEMA "${schema}"`);
    const executor = new MigrationExecutor(dataSource, queryRunner);
    executor.transaction = 'none';
    const applied = await executor.executePendingMigrations();
    await queryRunner.commitTransaction();
    return applied.map(({ name }) => name);
  } catch (error) {
    if (queryRunner.isTransactionActive) await queryRunner.rollbackTransaction().catch(() => undefined);
    if (isForbidden(error)) {
      throw new SagaConfigurationError(
        `${needs.module} may not create its tables in schema '${schema}': ${(error as Error).message}. ` +
          `Grant CREATE on the ${exists ? 'schema' : 'database'}, or run ${needs.migrations}() as another role (npx saga ` +
          `migrate --url …) and give forRoot({ migrate: false }).`,
        { cause: error },
      );
    }
    throw error;
  } finally {
    await queryRunner.release();
  }
}

/**
 * For the rest of a transaction (or session) in which processes that start together wait for each other: under the timeouts that a
 * server has for ordinary statements all but the first of them would fail to start.
 */
export async function waitAsLongAsItTakes(
  sql: { query(text: string): Promise<unknown> },
  scope: 'LOCAL' | 'SESSION' = 'LOCAL',
): Promise<void> {
  await sql.query(`SET ${scope} lock_timeout = 0`);
  await sql.query(`SET ${scope} statement_timeout = 0`);
}

/** With `migrate: false`: is everything there? */
export async function checkMigrated(
  dataSource: DataSource,
  schema: string,
  needs = SAGA_NEEDS,
): Promise<void> {
  await checkServer(dataSource, schema, needs);
  const missing = await missingParts(dataSource, schema, needs);
  if (missing.length > 0) {
    throw new SagaConfigurationError(
      `Schema '${schema}' lacks ${missing.join(', ')}. Run ${needs.migrations}('${schema}'${needs.options ? `, ${needs.options}` : ''}) with your ` +
        `own migrations before the application starts, or leave out migrate: false.`,
    );
  }
}

/** The tables and functions that a schema lacks, by name. */
export async function missingParts(
  dataSource: DataSource,
  schema: string,
  needs = SAGA_NEEDS,
): Promise<string[]> {
  const looked = dataSource.query(
    `SELECT name FROM unnest($2::text[]) AS name WHERE to_regclass($1 || name) IS NULL UNION ALL
     SELECT name || '()' FROM unnest($3::text[]) AS name WHERE to_regproc($1 || name) IS NULL`,
    [`"${schema}".`, [...needs.tables, ...needs.sequences], needs.functions],
  );
  const missing = (await looked.catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    throw new SagaConfigurationError(
      `${needs.module} may not look into schema '${schema}': ${(error as Error).message}. ` +
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
