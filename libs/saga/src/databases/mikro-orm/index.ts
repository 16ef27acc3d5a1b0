import type { Pool } from 'pg';
import { SagaConfigurationError } from '../../errors.js';
import { requireVersions } from '../../store/postgres/connection/layer-versions.js';
import { wrongArgument } from '../../store/postgres/connection/name-of-layer.js';
import { isPool } from '../../store/postgres/connection/pg-database.js';
import type { PgClient, PgPool } from '../../store/postgres/connection/pg-types.js';
import type { SagaDatabase, TransactionOpener } from '../../store/postgres/connection/saga-database.js';
import { type KnexClient, knexClientOf, KnexPool, requireSettings } from '../knex/knex-pool.js';
import { clientByMarker } from '../layer/client-by-marker.js';
import { LayerDatabase } from '../layer/layer-database.js';

requireVersions('nestjs-durable-saga/mikro-orm', ['@mikro-orm/postgresql']);

/** An EntityManager of MikroORM 6 or 7, as `orm.em` is one. */
export interface MikroOrmEntityManager {
  /** Returns an EntityManager with an identity map of its own. */
  fork(options?: { disableContextResolution?: boolean }): MikroOrmEntityManager;
  /** Runs work in a transaction. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the EntityManager has the type of the application's driver
  transactional<T>(work: (em: any) => Promise<T>): Promise<T>;
  /** Returns whether a transaction is open. */
  isInTransaction(): boolean;
  /** Sends the changes of entities. */
  flush(): Promise<void>;
}

const ADAPTER = ['mikroOrmDatabase', 'MikroORM'] as const;

/**
 * The database of an application that uses MikroORM with PostgreSQL:
 * `SagaModule.forRoot({ database: mikroOrmDatabase(orm) })`. Sagas borrow connections of its pool.
 *
 * A transaction is an EntityManager in a transaction, such as `em.transactional(async (em) => …)` passes to its function.
 * `ctx.transaction` of transactional steps is one. It is flushed when the method of the step has ended.
 * @param orm the MikroORM, or its EntityManager
 * @param pool the Pool of pg of MikroORM 7, which does not show it at once:
 * `await orm.em.getConnection().getNativeClient()`. MikroORM 6 needs none
 * @throws SagaConfigurationError if it is no MikroORM with PostgreSQL, if its pool is missing, if its transactions are
 * disabled, or if its password is a function. At start-up, if its schema tools do not ignore the schema of the sagas:
 * `schemaGenerator: { ignoreSchema: ['saga'] }`
 */
export function mikroOrmDatabase<Em extends MikroOrmEntityManager>(
  orm: { readonly em: Em } | Em,
  pool?: Pool,
): SagaDatabase<Em> {
  const em = asEntityManager(orm);
  if (!em)
    throw wrongArgument(...ADAPTER, 'orm', orm, 'give a MikroORM of PostgreSQL: await MikroORM.init({ … })');
  if (em.config.get('disableTransactions') === true)
    throw new SagaConfigurationError(
      'mikroOrmDatabase(): the transactions of MikroORM are disabled; remove disableTransactions from its options.',
    );
  const layer = layerOf(em, pool);
  return new LayerDatabase<Em & EntityManagerParts>({
    ...{ name: 'MikroORM', pool: layer.pool, poolSetting: layer.poolSetting, sources: [orm, em] },
    fix: 'Give the EntityManager of em.transactional(async (em) => …).',
    open: openerOf(em) as TransactionOpener<Em & EntityManagerParts>,
    isTransaction: (given): given is Em & EntityManagerParts =>
      asEntityManager(given) === given && asEntityManager(given)!.isInTransaction(),
    // An EntityManager can have several transactions, one after another.
    handleOf: (transaction) => transaction.getTransactionContext()!,
    clientOf: (transaction) => layer.clientOf(transaction, transaction.getTransactionContext()!),
    flush: (transaction) => transaction.flush(),
    requireSchema: (schema) => requireIgnored(em, schema),
  });
}

/** MikroORM's schema generator takes each schema of the database for its own, and drops what is no entity. */
function requireIgnored(em: EntityManagerParts, schema: string): void {
  const { ignoreSchema = [] } = (em.config.get('schemaGenerator') ?? {}) as { ignoreSchema?: unknown[] };
  const isIgnored = (one: unknown) => (one instanceof RegExp ? one.test(schema) : one === schema);
  if (ignoreSchema.some(isIgnored)) return;
  throw new SagaConfigurationError(
    `mikroOrmDatabase(): MikroORM's schema tools (orm.schema.update(), mikro-orm migration:create) would drop the tables of ` +
      `sagas, because they manage each schema of the database. Add schemaGenerator: { ignoreSchema: ['${schema}'] } to the ` +
      `options of MikroORM.`,
  );
}

/** Opens transactions that have an identity map of their own, and are none of the one in whose context they are opened. */
function openerOf(em: EntityManagerParts): TransactionOpener<EntityManagerParts> {
  return (work) => em.fork({ disableContextResolution: true }).transactional(work);
}

/** The connections of MikroORM. */
interface Connected {
  readonly pool: PgPool;
  readonly poolSetting: string;
  /** @param context what MikroORM passes on with the statements of a transaction */
  clientOf(transaction: EntityManagerParts, context: object): Promise<PgClient>;
}

function layerOf(em: EntityManagerParts, given: Pool | undefined): Connected {
  // MikroORM 6 is over Knex.
  const knex = em.getConnection().getKnex?.();
  const client = knexClientOf(knex);
  if (client) {
    requireSettings('mikroOrmDatabase', 'password of MikroORM', client);
    return {
      ...{ pool: new KnexPool(client), poolSetting: 'pool.max of MikroORM' },
      clientOf: (_, context) => (context as { readonly client: KnexClient }).client.acquireConnection(),
    };
  }
  if (knex)
    throw wrongArgument(...ADAPTER, 'orm', em, 'give a MikroORM of PostgreSQL, of @mikro-orm/postgresql');
  // MikroORM 7 is over Kysely.
  const fix = 'give the Pool of pg of MikroORM: await orm.em.getConnection().getNativeClient()';
  if (!isPool(given)) throw wrongArgument(...ADAPTER, 'pool', given, fix);
  const pool: PgPool = given;
  return {
    ...{ pool, poolSetting: 'pool.max of MikroORM' },
    clientOf: (transaction, context) =>
      clientByMarker('MikroORM', pool, (text) =>
        transaction.getConnection().execute(text, [], 'get', context),
      ),
  };
}

/** The part of MikroORM's connection that is used here. */
interface Connection {
  /** MikroORM 6. */
  getKnex?(): unknown;
  execute(text: string, parameters: unknown[], method: 'get', transaction: object): Promise<unknown>;
}

/** The part of MikroORM's EntityManager that is used here. */
interface EntityManagerParts {
  readonly config: { get(option: string): unknown };
  fork(options: { disableContextResolution: boolean }): EntityManagerParts;
  transactional<T>(work: (em: EntityManagerParts) => Promise<T>): Promise<T>;
  isInTransaction(): boolean;
  getTransactionContext(): object | undefined;
  getConnection(): Connection;
  flush(): Promise<void>;
}

/** Returns an EntityManager, or that of a MikroORM. By what it has: there may be several copies of MikroORM. */
function asEntityManager(given: unknown): EntityManagerParts | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const em: unknown = 'getTransactionContext' in given ? given : (given as { readonly em?: unknown }).em;
  const has = (name: string) => typeof (em as Record<string, unknown>)[name] === 'function';
  if (typeof em !== 'object' || em === null) return undefined;
  return ['fork', 'transactional', 'getTransactionContext', 'getConnection'].every(has)
    ? (em as EntityManagerParts)
    : undefined;
}

export type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
