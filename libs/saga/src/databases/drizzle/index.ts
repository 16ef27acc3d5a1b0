import type { Pool } from 'pg';
import { SagaConfigurationError } from '../../errors.js';
import { requireVersions } from '../../store/postgres/connection/layer-versions.js';
import { wrongArgument } from '../../store/postgres/connection/name-of-layer.js';
import { isClient, isPool } from '../../store/postgres/connection/pg-database.js';
import type { PgClient, PgPool } from '../../store/postgres/connection/pg-types.js';
import type { SagaDatabase, TransactionOpener } from '../../store/postgres/connection/saga-database.js';
import { LayerDatabase } from '../layer/layer-database.js';
import { isPostgresJs, type PostgresJsClient } from './postgres-js-client.js';
import { FIX, PostgresJsDatabase } from './postgres-js-database.js';
import { poolBeside } from './postgres-js-pool.js';

requireVersions('nestjs-durable-saga/drizzle', ['drizzle-orm', 'pg']);

const ADAPTER = ['drizzleDatabase', 'Drizzle'] as const;

/**
 * A database of `drizzle-orm/node-postgres` or of `drizzle-orm/postgres-js`, as `drizzle()` makes it. The types
 * `NodePgDatabase<typeof schema>` and `PostgresJsDatabase<typeof schema>`, with which it is injected, do not show its client.
 */
export interface DrizzleDatabase {
  /** The Pool of pg, or the client of postgres.js. `drizzle()` sets it. */
  readonly $client?: Pool | PostgresJsSql;
  /** Makes a subquery for `WITH`. */
  $with(alias: string, ...rest: never[]): unknown;
  /** Opens a transaction. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the transaction has the type of the application's schema
  transaction(work: (transaction: any) => Promise<unknown>): Promise<unknown>;
}

/** A client of postgres.js, as `postgres(url)` makes it. */
export interface PostgresJsSql {
  /** The settings of the client. */
  readonly options: object;
  /** Sends a statement. */
  unsafe(text: string, ...rest: never[]): unknown;
  /** Lends a connection. */
  reserve(): Promise<unknown>;
}

/** The transaction of a Drizzle database, with the types of its schema. */
export type DrizzleTransaction<Database extends DrizzleDatabase> = Parameters<
  Parameters<Database['transaction']>[0]
>[0];

/**
 * The database of an application that uses Drizzle over pg or over postgres.js:
 * `SagaModule.forRoot({ database: drizzleDatabase(db) })`.
 *
 * Over pg, sagas borrow connections of its pool. postgres.js does not lend connections that sagas can use. Over it, sagas
 * have a pool of pg with the same settings, whose maximum is `max` of postgres.js. `db.$client.end()` ends it as well.
 *
 * A transaction is what `db.transaction(async (tx) => …)` passes to its function. `ctx.transaction` of transactional
 * steps is one.
 * @param pool the Pool of pg for sagas, with postgres.js only. The application ends it. Default: a pool with the settings
 * of postgres.js
 * @throws SagaConfigurationError if it is no database of `drizzle-orm/node-postgres` over a Pool or of
 * `drizzle-orm/postgres-js`, if postgres.js transforms what it reads, or if it has a setting that pg does not have
 */
export function drizzleDatabase<Database extends DrizzleDatabase>(
  db: Database,
  pool?: Pool,
): SagaDatabase<DrizzleTransaction<Database>> {
  const client: unknown = (db as Partial<Database> | undefined)?.$client;
  if (isPostgresJs(client)) return overPostgresJs(db, client, pool);
  if (!isPool(client)) throw wrongArgument(...ADAPTER, 'db', db, EXAMPLE);
  if (pool !== undefined) throw wrongArgument(...ADAPTER, 'pool', pool, 'leave it out: db has a Pool of pg');
  return new LayerDatabase<DrizzleTransaction<Database> & object>({
    ...{ name: 'Drizzle', pool: client, poolSetting: 'max of the pg.Pool', sources: [db], fix: FIX },
    open: ((work) => db.transaction(work)) as TransactionOpener<DrizzleTransaction<Database>>,
    isTransaction: (given): given is DrizzleTransaction<Database> & object =>
      'rollback' in given && sessionOf(given) !== undefined,
    clientOf: (transaction) => sessionOf(transaction)!,
  });
}

function overPostgresJs<Database extends DrizzleDatabase>(
  db: Database,
  client: PostgresJsClient,
  pool: Pool | undefined,
): SagaDatabase<DrizzleTransaction<Database>> {
  if (pool !== undefined && !isPool(pool)) throw wrongArgument(...ADAPTER, 'pool', pool, 'give a Pool of pg');
  const transforms = Object.entries(client.options.transform).filter(([, one]) => Boolean(one?.from));
  if (transforms.length > 0)
    throw new SagaConfigurationError(
      `drizzleDatabase(): postgres.js transforms each ${transforms.map(([what]) => what).join(' and ')} that it reads, ` +
        `those of sagas included. Remove its option transform; Drizzle names columns itself.`,
    );
  const own = (pool ?? poolBeside(client)) as unknown as PgPool;
  const setting = pool ? 'max of the pg.Pool' : 'max of postgres.js';
  return new PostgresJsDatabase<DrizzleTransaction<Database> & object>(own, db, client, setting);
}

/** Drizzle's session has the connection, which its types do not show. */
function sessionOf(transaction: object): PgClient | undefined {
  const client = (transaction as { readonly session?: { readonly client?: unknown } }).session?.client;
  return isClient(client) ? client : undefined;
}

const EXAMPLE =
  'give a database of drizzle-orm/node-postgres over a Pool of pg, or of drizzle-orm/postgres-js: ' +
  'drizzle(new Pool({ connectionString }))';

export type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
