import { CompiledQuery, type ControlledTransaction, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { CallbackSession } from '../../libs/saga/src/databases/layer/callback-session.js';
import { clientByPid } from '../../libs/saga/src/databases/layer/client-by-pid.js';
import type { PgPool } from '../../libs/saga/src/store/postgres/connection/pg-types.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';

type Transaction = ControlledTransaction<object>;

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => (database = await createTestDatabase()));
afterAll(() => database.drop());
beforeEach(() => {
  pool = new pg.Pool({ connectionString: database.url, max: 1 });
  pool.on('error', () => undefined);
});

/** As MikroORM 7 opens transactions. */
async function controlled<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
  const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
  const transaction = await db.startTransaction().execute();
  try {
    const result = await work(transaction);
    await transaction.commit().execute();
    return result;
  } catch (error) {
    await transaction.rollback().execute();
    throw error;
  }
}

const session = () => {
  const own = pool as unknown as PgPool;
  const pidOf = async (transaction: Transaction) => {
    const { rows } = await transaction.executeQuery(CompiledQuery.raw('SELECT pg_backend_pid() AS pid'));
    return (rows[0] as { pid: number }).pid;
  };
  return new CallbackSession<Transaction>({
    ...{ pool: own, open: controlled },
    clientOf: (transaction) => clientByPid('Kysely', own, () => pidOf(transaction)),
  });
};

test('a connection that was lost returns to its pool, although its layer keeps it', async () => {
  const lost = session();
  const client = (await lost.connect()) as unknown as pg.Client;
  client.on('error', () => undefined);
  const end = new Promise((resolve) => client.once('end', resolve));
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  await other.query('SELECT pg_terminate_backend($1)', [
    (client as unknown as { processID: number }).processID,
  ]);
  await other.end();
  await end;
  await lost.release();
  expect(pool.totalCount).toBe(0);
  const next = session();
  await next.connect();
  await next.release();
  expect(pool.idleCount).toBe(1);
  await pool.end();
});
