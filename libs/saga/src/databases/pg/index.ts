import type { Pool, PoolClient } from 'pg';
import { requireVersions } from '../../store/postgres/connection/layer-versions.js';
import { wrongArgument } from '../../store/postgres/connection/name-of-layer.js';
import { isPool, PgDatabase } from '../../store/postgres/connection/pg-database.js';
import type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';

requireVersions('nestjs-durable-saga/pg', ['pg']);

/**
 * The database of an application that uses pg itself: `SagaModule.forRoot({ database: pgDatabase(pool) })`. Sagas borrow
 * connections of the pool. LISTEN has a connection of its own, with the options of the pool. The application opens and
 * ends the pool; it ends it after the application is closed.
 *
 * A transaction is a PoolClient on which BEGIN has run. `ctx.transaction` of transactional steps is one.
 * @throws SagaConfigurationError if it is not a Pool of pg
 */
export function pgDatabase(pool: Pool): SagaDatabase<PoolClient> {
  if (isPool(pool)) return new PgDatabase(pool);
  const fix = 'give a Pool of pg: new Pool({ connectionString })';
  throw wrongArgument('pgDatabase', 'pg', 'pool', pool, fix);
}

export type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
