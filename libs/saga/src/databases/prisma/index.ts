import type { Pool } from 'pg';
import { SagaConfigurationError } from '../../errors.js';
import { requireVersions } from '../../store/postgres/connection/layer-versions.js';
import { wrongArgument } from '../../store/postgres/connection/name-of-layer.js';
import { isPool } from '../../store/postgres/connection/pg-database.js';
import type { SagaDatabase, TransactionOpener } from '../../store/postgres/connection/saga-database.js';
import { clientByMarker } from '../layer/client-by-marker.js';
import { LayerDatabase } from '../layer/layer-database.js';

requireVersions('nestjs-durable-saga/prisma', ['@prisma/adapter-pg']);

/** A PrismaClient, as `prisma generate` makes it. */
export interface PrismaDatabaseClient {
  /** Opens a transaction. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the transaction has the models of the application's schema
  $transaction(work: (transaction: any) => Promise<any>, options?: TransactionTimes): Promise<any>;
  /** Runs a statement. */
  $queryRawUnsafe<T = unknown>(text: string, ...values: unknown[]): PromiseLike<T>;
}

/** How long a transaction of Prisma may take. */
export interface TransactionTimes {
  /** The time that a transaction waits for a connection, in ms. */
  maxWait?: number;
  /** The time after which Prisma rolls a transaction back, in ms. */
  timeout?: number;
}

/** The transaction of a PrismaClient: the type `Prisma.TransactionClient` of a generated client. */
export type PrismaTransaction<Client> = Omit<
  Client,
  '$connect' | '$disconnect' | '$on' | '$use' | '$extends'
>;

const ADAPTER = ['prismaDatabase', 'Prisma'] as const;
/** The longest time that a timer of Node takes, in ms. A step has a timeout of its own. */
const NO_LIMIT = 2 ** 31 - 1;
const OPTIONS = { maxWait: NO_LIMIT, timeout: NO_LIMIT };

/**
 * The database of an application that uses Prisma 7 with `@prisma/adapter-pg` over a Pool of pg:
 * `SagaModule.forRoot({ database: prismaDatabase(prisma) })`, with `adapter: new PrismaPg(pool)`. Sagas borrow
 * connections of the pool.
 *
 * A transaction is what `prisma.$transaction(async (tx) => …)` passes to its function. `ctx.transaction` of transactional
 * steps is one, without Prisma's limits of time.
 * @param pool the Pool of pg of the adapter. Default: the pool that the PrismaPg of `prisma` was given
 * @throws SagaConfigurationError if it is no PrismaClient, or if its adapter was not given a Pool of pg
 */
export function prismaDatabase<Client extends PrismaDatabaseClient>(
  prisma: Client,
  pool?: Pool,
): SagaDatabase<PrismaTransaction<Client>> {
  if (!isPrisma(prisma)) throw wrongArgument(...ADAPTER, 'prisma', prisma, `give a PrismaClient: ${EXAMPLE}`);
  const own: unknown = pool ?? poolOf(prisma);
  if (pool !== undefined && !isPool(own))
    throw wrongArgument(...ADAPTER, 'pool', pool, 'give the Pool of pg of the adapter');
  if (!isPool(own))
    throw new SagaConfigurationError(
      `prismaDatabase(): the adapter of prisma has no Pool of pg that sagas can share. Give it one: ${EXAMPLE}.`,
    );
  return new LayerDatabase<PrismaTransaction<Client> & PrismaDatabaseClient>({
    ...{ name: 'Prisma', pool: own, poolSetting: 'max of the pg.Pool', sources: [prisma] },
    fix: 'Give the transaction of prisma.$transaction(async (tx) => …).',
    open: openerOf(prisma) as TransactionOpener<PrismaTransaction<Client> & PrismaDatabaseClient>,
    isTransaction: (given): given is PrismaTransaction<Client> & PrismaDatabaseClient =>
      '$queryRawUnsafe' in given && !('$connect' in given),
    clientOf: (transaction) => clientByMarker('Prisma', own, (text) => select(transaction, text)),
  });
}

const EXAMPLE = 'new PrismaClient({ adapter: new PrismaPg(new Pool({ connectionString })) })';

async function select(transaction: PrismaDatabaseClient, text: string): Promise<unknown> {
  try {
    return await transaction.$queryRawUnsafe(text);
  } catch (error) {
    throw withSqlState(error);
  }
}

function openerOf(prisma: PrismaDatabaseClient): TransactionOpener<object> {
  return async <T>(work: (transaction: object) => Promise<T>): Promise<T> => {
    let failure: { readonly error: unknown } | undefined;
    const noting = (transaction: object) =>
      work(transaction).catch((error: unknown) => {
        failure = { error };
        throw error;
      });
    try {
      return (await prisma.$transaction(noting, OPTIONS)) as T;
    } catch (error) {
      throw failure ? error : withSqlState(error);
    }
  };
}

function isPrisma(given: unknown): boolean {
  return typeof given === 'object' && given !== null && '$transaction' in given && '$queryRawUnsafe' in given;
}

/** Prisma's client keeps its adapter, and the adapter its pool. Their types do not show them. */
function poolOf(prisma: object): unknown {
  const { _engineConfig } = prisma as {
    readonly _engineConfig?: { readonly adapter?: { readonly externalPool?: unknown } };
  };
  return _engineConfig?.adapter?.externalPool;
}

/** What a driver adapter says of an error of PostgreSQL. */
interface AdapterError {
  readonly cause?: { readonly originalCode?: unknown };
}

/**
 * Returns an error with the SQLSTATE of PostgreSQL as its code. Prisma has codes of its own. The error of a statement has
 * that of the adapter within, and COMMIT fails with that of the adapter.
 */
function withSqlState(error: unknown): unknown {
  const { message, meta, cause } = (error ?? {}) as Error &
    AdapterError & { readonly meta?: { readonly driverAdapterError?: AdapterError } };
  const code = (meta?.driverAdapterError?.cause ?? cause)?.originalCode;
  return code === undefined ? error : Object.assign(new Error(message, { cause: error }), { code });
}

export type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
