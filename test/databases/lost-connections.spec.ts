import pg from 'pg';
import { CallbackSession } from '../../libs/saga/src/databases/layer/callback-session.js';
import type { PgClient, PgPool } from '../../libs/saga/src/store/postgres/connection/pg-types.js';
import { TransactionWatch } from '../../libs/saga/src/store/postgres/connection/transaction-watch.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => (database = await createTestDatabase()));
afterAll(() => database.drop());
beforeEach(() => {
  pool = new pg.Pool({ connectionString: database.url, max: 1 });
  pool.on('error', () => undefined);
});

/** A layer that returns a connection only after its ROLLBACK, as Kysely did for controlled transactions. */
async function keeping<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  await client.query('BEGIN');
  try {
    const result = await work(client);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    await client.query('ROLLBACK');
    client.release();
    throw error;
  }
}

const session = () =>
  new CallbackSession<pg.PoolClient>(
    { pool: pool as unknown as PgPool, open: keeping },
    (client) => client as unknown as PgClient,
  );

test('a connection that was lost returns to its pool, although its layer keeps it', async () => {
  const lost = session();
  const client = (await lost.connect()) as unknown as pg.Client;
  client.on('error', () => undefined);
  // As the engine does with a connection of a step.
  TransactionWatch.on(client);
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
