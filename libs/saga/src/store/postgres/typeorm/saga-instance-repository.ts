import type { DataSource, EntityManager } from 'typeorm';
import type { GivenTransaction } from '../connection/client-transaction.js';
import type { Sql } from '../connection/sql.js';
import type { SagaInstances } from '../instance-statements.js';
import { SagaInstance } from '../schema/saga-row.js';
import { TypeOrmTransaction } from './typeorm-transaction.js';

type Arguments<Name extends keyof SagaInstances> = Parameters<SagaInstances[Name]>;

/**
 * Returns the repository in which TypeORM's layer stores sagas. Its statements are the ones that every layer sends. They run
 * in the transaction of its manager, or, if the manager has none, on connections of the DataSource, which the engine takes from the
 * pool of TypeORM's driver: a query runner would prepare no statement, and would read values by the application's parsers.
 */
export function sagaInstanceRepository(
  application: DataSource,
  sagas: SagaInstances,
  given: GivenTransaction,
) {
  const on = (manager: EntityManager): SagaInstances =>
    manager.queryRunner ? sagas.within(manager, new TypeOrmTransaction(manager, given)) : sagas;
  return application.getRepository(SagaInstance).extend({
    /** Returns this repository in a transaction of the application. */
    within(transaction: unknown, sql: Sql): SagaInstances {
      const { withRepository, queryRunner } = transaction as Partial<EntityManager>;
      return withRepository && queryRunner
        ? (transaction as EntityManager).withRepository(this)
        : sagas.within(transaction, sql);
    },
    /** Inserts sagas. */
    start(...call: Arguments<'start'>) {
      return on(this.manager).start(...call);
    },
    /** Takes due sagas for a worker. */
    claim(...call: Arguments<'claim'>) {
      return sagas.claim(...call);
    },
    /** Extends the leases of a worker. */
    renew(...call: Arguments<'renew'>) {
      return sagas.renew(...call);
    },
    /** Releases leases under which nothing has started. */
    giveBack(...call: Arguments<'giveBack'>) {
      return sagas.giveBack(...call);
    },
    /** Returns a whole saga, with its steps. `findOne()` returns its row. */
    load(...call: Arguments<'load'>) {
      return on(this.manager).load(...call);
    },
    /** Returns the summaries of the sagas that a filter selects. `find()` returns rows. */
    search(...call: Arguments<'search'>) {
      return sagas.search(...call);
    },
    /** Changes a saga in a transaction, under the lock of its row. */
    edit(...call: Arguments<'edit'>) {
      return sagas.edit(...call);
    },
  });
}

/** TypeORM's repository of sagas. */
export type SagaInstanceRepository = ReturnType<typeof sagaInstanceRepository>;
