import type { Knex } from 'knex';
import { SagaConfigurationError } from '../../errors.js';
import { requireVersions } from '../../store/postgres/connection/layer-versions.js';
import { nameOfLayer } from '../../store/postgres/connection/name-of-layer.js';
import type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
import { LayerDatabase } from '../layer/layer-database.js';
import { type KnexClient, knexClientOf, KnexPool, requireSettings } from './knex-pool.js';

requireVersions('nestjs-durable-saga/knex', ['knex', 'pg']);

/**
 * The database of an application that uses Knex with the client `pg`:
 * `SagaModule.forRoot({ database: knexDatabase(knex) })`. Sagas borrow connections of the pool of Knex.
 *
 * A transaction is a `Knex.Transaction`. `ctx.transaction` of transactional steps is one.
 * @throws SagaConfigurationError if it is no Knex with the client `pg`, or if its connection is a function
 */
export function knexDatabase(knex: Knex): SagaDatabase<Knex.Transaction> {
  const client = knexClientOf(knex);
  if (!client) throw notKnex(knex);
  requireSettings('knexDatabase', 'connection of Knex', client);
  return new LayerDatabase<Knex.Transaction>({
    ...{ name: 'Knex', pool: new KnexPool(client), poolSetting: 'pool.max of Knex', sources: [knex] },
    fix: 'Give the transaction of knex.transaction(async (trx) => …).',
    open: (work) => knex.transaction(work),
    isTransaction: (given): given is Knex.Transaction =>
      'isTransaction' in given && given.isTransaction === true && 'savepoint' in given,
    hasEnded: (transaction) => transaction.isCompleted(),
    clientOf: (transaction) => (transaction.client as KnexClient).acquireConnection(),
  });
}

function notKnex(given: unknown): SagaConfigurationError {
  const dialect = (given as Partial<Knex> | undefined)?.client as { dialect?: string } | undefined;
  const what = dialect?.dialect === undefined ? nameOfLayer(given).what : `a Knex of ${dialect.dialect}`;
  return new SagaConfigurationError(
    `knexDatabase(): knex is ${what}; give a Knex of PostgreSQL: knex({ client: 'pg', connection }).`,
  );
}

export type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
