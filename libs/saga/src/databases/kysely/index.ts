import { CompiledQuery, type Kysely, type Transaction } from 'kysely';
import type { Pool } from 'pg';
import { requireVersions } from '../../store/postgres/connection/layer-versions.js';
import { wrongArgument } from '../../store/postgres/connection/name-of-layer.js';
import { isPool } from '../../store/postgres/connection/pg-database.js';
import type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
import { clientByMarker } from '../layer/client-by-marker.js';
import { LayerDatabase } from '../layer/layer-database.js';

requireVersions('nestjs-durable-saga/kysely', ['kysely', 'pg']);

const ADAPTER = ['kyselyDatabase', 'Kysely'] as const;

/**
 * The database of an application that uses Kysely over pg: `SagaModule.forRoot({ database: kyselyDatabase(db, pool) })`.
 * Sagas borrow connections of the pool.
 *
 * A transaction is what `db.transaction().execute(async (trx) => …)` passes to its function, or what
 * `db.startTransaction().execute()` returns. `ctx.transaction` of transactional steps is one.
 * @param pool the Pool of pg of the dialect: `new PostgresDialect({ pool })`
 * @throws SagaConfigurationError if these are no Kysely and no Pool of pg
 */
export function kyselyDatabase<Schema>(db: Kysely<Schema>, pool: Pool): SagaDatabase<Transaction<Schema>> {
  if (!isKysely(db))
    throw wrongArgument(
      ...ADAPTER,
      'db',
      db,
      'give a Kysely: new Kysely({ dialect: new PostgresDialect({ pool }) })',
    );
  if (!isPool(pool)) throw wrongArgument(...ADAPTER, 'pool', pool, 'give the Pool of pg of the dialect');
  return new LayerDatabase<Transaction<Schema>>({
    ...{ name: 'Kysely', pool, poolSetting: 'max of the pg.Pool', sources: [db] },
    fix: 'Give the transaction of db.transaction().execute(async (trx) => …).',
    open: (work) => db.transaction().execute(work),
    isTransaction: (given): given is Transaction<Schema> =>
      isKysely(given) && (given as Kysely<unknown>).isTransaction,
    clientOf: (transaction) =>
      clientByMarker('Kysely', pool, (text) => transaction.executeQuery(CompiledQuery.raw(text))),
  });
}

function isKysely(given: unknown): boolean {
  return typeof given === 'object' && given !== null && 'selectFrom' in given && 'isTransaction' in given;
}

export type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
