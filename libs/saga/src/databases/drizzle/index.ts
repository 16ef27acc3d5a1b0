import type { Pool } from 'pg';
import { SagaConfigurationError } from '../../errors.js';
import { nameOfLayer } from '../../store/postgres/connection/name-of-layer.js';
import { isClient, isPool } from '../../store/postgres/connection/pg-database.js';
import type { PgClient } from '../../store/postgres/connection/pg-types.js';
import type { SagaDatabase, TransactionOpener } from '../../store/postgres/connection/saga-database.js';
import { LayerDatabase } from '../layer/layer-database.js';

/** A database of `drizzle-orm/node-postgres`, as `drizzle(pool)` makes it. */
export interface DrizzleDatabase {
  /** The Pool of pg. */
  readonly $client: Pool;
  /** Opens a transaction. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the transaction has the type of the application's schema
  transaction(work: (transaction: any) => Promise<unknown>): Promise<unknown>;
}

/** The transaction of a Drizzle database, with the types of its schema. */
export type DrizzleTransaction<Database extends DrizzleDatabase> = Parameters<
  Parameters<Database['transaction']>[0]
>[0];

/**
 * The database of an application that uses Drizzle over pg: `SagaModule.forRoot({ database: drizzleDatabase(db) })`.
 * Sagas borrow connections of its pool.
 *
 * A transaction is what `db.transaction(async (tx) => …)` passes to its function. `ctx.transaction` of transactional
 * steps is one.
 * @throws SagaConfigurationError if it is not a database of `drizzle-orm/node-postgres` over a Pool
 */
export function drizzleDatabase<Database extends DrizzleDatabase>(
  db: Database,
): SagaDatabase<DrizzleTransaction<Database>> {
  const pool: unknown = (db as Partial<Database> | undefined)?.$client;
  if (!isPool(pool)) throw notDrizzle(db);
  return new LayerDatabase<DrizzleTransaction<Database> & object>({
    ...{ name: 'Drizzle', pool, poolSetting: 'max of the pg.Pool', sources: [db] },
    fix: 'Give the transaction of db.transaction(async (tx) => …).',
    open: ((work) => db.transaction(work)) as TransactionOpener<DrizzleTransaction<Database>>,
    isTransaction: (given): given is DrizzleTransaction<Database> & object =>
      'rollback' in given && sessionOf(given) !== undefined,
    clientOf: (transaction) => sessionOf(transaction)!,
  });
}

/** Drizzle's session has the connection, which its types do not show. */
function sessionOf(transaction: object): PgClient | undefined {
  const client = (transaction as { readonly session?: { readonly client?: unknown } }).session?.client;
  return isClient(client) ? client : undefined;
}

function notDrizzle(given: unknown): SagaConfigurationError {
  const { what, adapter } = nameOfLayer(given);
  const fix = adapter && adapter.layer !== 'Drizzle' ? ` ${adapter.fix}` : '';
  return new SagaConfigurationError(
    `drizzleDatabase(): db is ${what}; give a database of drizzle-orm/node-postgres over a Pool of pg: ` +
      `drizzle(new Pool({ connectionString })).${fix}`,
  );
}

export type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
