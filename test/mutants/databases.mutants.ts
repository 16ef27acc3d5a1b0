import { type Mutant, specs, testsOf } from './mutant.js';

const killers = [specs('databases/pg', 'databases/drizzle', 'databases/kysely', 'databases/knex')];

/** Mutants of the adapters of database layers, and of calls in transactions of the application. */
export const DATABASE_MUTANTS: readonly Mutant[] = [
  {
    name: 'commit the transaction of a layer that is to be rolled back',
    in: 'CallbackSession.rollback',
    find: 'this.end.reject(new RolledBack());',
    replace: 'this.end.resolve();',
    killers,
  },
  {
    name: 'send a signal beside the transaction that it is to be part of',
    find: 'this.store.signalWithin(transaction, { ...signal, target }, this.definitions.awaitedSignals);',
    replace: 'this.signal(target, signal);',
    killers,
  },
  {
    name: 'count an attempt that failed with a transient error of its transaction, whatever the layer made of it',
    in: 'attemptInTransaction',
    find: 'behind = transaction.errorBehind?.(error);',
    replace: '',
    killers,
  },
  {
    name: 'count an attempt whose connection was lost',
    in: 'TransactionWatch',
    find: 'if (this.isLost) return LOST;',
    replace: '',
    killers,
  },
  {
    name: 'take a connection that is in no transaction',
    in: 'sendOn',
    find: 'if (watch.isIdle)',
    replace: 'if (watch.isIdle && text.length === 0)',
    killers: [specs('databases/wrong-transactions')],
  },
  {
    name: 'leave the changes of an EntityManager to the commit, after the checkpoint',
    in: 'StepTransactions.attempt',
    find: 'if (session.flush) await sendWithin(sql, what, () => session.flush!());',
    replace: '',
    killers: [specs('databases/mikro-orm')],
  },
  {
    name: 'leave a lost connection to a layer that keeps it',
    in: 'CallbackSession.release',
    find: 'if (this.client) releaseLost(this.layer.pool, this.client);',
    replace: '',
    killers: [specs('databases/lost-connections')],
  },
  {
    name: 'count an attempt that failed with a transient error of COMMIT of Prisma',
    in: 'openerOf',
    find: 'throw failure ? error : withSqlState(error);',
    replace: 'throw error;',
    killers: [specs('databases/prisma')],
  },
  {
    name: 'start a saga beside the transaction of its context',
    in: 'SagaService.start',
    find: 'const transaction = given ?? ambient?.transaction?.();',
    replace: 'const transaction = given;',
    killers: [specs('databases/ambient')],
  },
  {
    name: 'call methods in the context of whatever started their saga',
    in: 'OwnContext',
    find: 'return inOwnContext(() => method.apply(this, given));',
    replace: 'return method.apply(this, given) as Promise<unknown>;',
    killers: [specs('sagas/context/asynchronous-context')],
  },
  {
    name: 'call a method in the context that the method before it has entered',
    in: 'isolated',
    find: `return new AsyncResource('Saga').runInAsyncScope(call);`,
    replace: 'return call();',
    killers: [testsOf('sagas/context/asynchronous-context', 'no function of the application')],
  },
  {
    name: 'take a savepoint for good whose failed statement was caught, unlike postgres.js',
    in: 'SqlOnClient.savepoint',
    find: 'if (inner.failure) throw inner.failure.error;',
    replace: '',
    killers: [testsOf('databases/drizzle-postgres-js', 'answers in the transaction of a step')],
  },
  {
    name: 'read the arrays of a step before postgres.js knows their types',
    in: 'PostgresJsDatabase.session',
    find: 'await this.readTypes();',
    replace: '',
    killers: [testsOf('databases/drizzle-postgres-js', 'answers in the transaction of a step')],
  },
  {
    name: 'write in a transaction of postgres.js with the serializers of the application',
    in: 'PostgresJsTransaction.query',
    find: 'this.sql.typed(textOf(value), UNKNOWN)',
    replace: 'textOf(value)',
    killers: [testsOf('databases/drizzle-postgres-js', 'neither parses nor serializes')],
  },
  {
    name: 'throw the error of postgres.js, which has the values of its statement',
    in: 'PostgresJsTransaction.send',
    find: 'throw withoutStatement(error);',
    replace: 'throw error;',
    killers: [testsOf('databases/drizzle-postgres-js', 'shows no values')],
  },
];
