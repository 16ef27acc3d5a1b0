import type { Knex } from 'knex';
import { SagaConfigurationError } from '../../errors.js';
import { nameOfLayer } from '../../store/postgres/connection/name-of-layer.js';
import type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
import { Connections } from '../layer/connections.js';
import { LayerDatabase } from '../layer/layer-database.js';
import { type KnexClient, KnexPool } from './knex-pool.js';

/**
 * The database of an application that uses Knex with the client `pg`:
 * `SagaModule.forRoot({ database: knexDatabase(knex) })`. Sagas borrow connections of the pool of Knex.
 *
 * A transaction is a `Knex.Transaction`. `ctx.transaction` of transactional steps is one.
 * @throws SagaConfigurationError if it is no Knex with the client `pg`, or if its connection is a function
 */
export function knexDatabase(knex: Knex): SagaDatabase<Knex.Transaction> {
  const connections = new Connections();
  return new LayerDatabase<Knex.Transaction>({
    ...{ name: 'Knex', pool: new KnexPool(clientOf(knex)), poolSetting: 'pool.max of Knex', source: knex },
    fix: 'Give the transaction of knex.transaction(async (trx) => …).',
    open: (work) => knex.transaction(work),
    isTransaction: (given): given is Knex.Transaction =>
      'isTransaction' in given && given.isTransaction === true && 'savepoint' in given,
    clientOf: (transaction) =>
      connections.of(transaction, () => (transaction.client as KnexClient).acquireConnection()),
  });
}

function clientOf(knex: Knex): KnexClient {
  const client = (knex as Partial<Knex> | undefined)?.client as
    (KnexClient & { dialect: string }) | undefined;
  if (client?.dialect !== 'postgresql' || !client.pool) {
    const what = client?.dialect === undefined ? nameOfLayer(knex).what : `a Knex of ${client.dialect}`;
    throw new SagaConfigurationError(
      `knexDatabase(): knex is ${what}; give a Knex of PostgreSQL: knex({ client: 'pg', connection }).`,
    );
  }
  if (!client.connectionSettings)
    throw new SagaConfigurationError(
      `knexDatabase(): the connection of Knex is a function, which LISTEN cannot use; give an object or a URL as the ` +
        `connection.`,
    );
  return client;
}

export type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
