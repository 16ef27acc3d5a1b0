import pg from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import { uniqueName, WORKER } from '../../contract/store-subject.contract.js';
import { PAGE_BYTES, type Query, SagaReader } from '../read/saga-reader.js';
import { migrate } from '../setup/migrate.js';
import { statementsOf } from '../statements.js';
import { sqlOf } from '../typeorm/typeorm-database.js';
import { SagaClaims } from './claim-sagas.js';

const sql = statementsOf('"saga"');
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  const dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  await migrate(sqlOf(dataSource), 'saga');
  await dataSource.destroy();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** PostgreSQL plans a prepared statement anew for so many calls, and then keeps a plan. */
const PLANNED_CALLS = 5;
const SAGAS = 10_000;
const TOOK = 1_000;

const query: Query = async <R>(text: string, parameters: unknown[]) =>
  (await client.query(text, parameters)).rows as R[];
const prepared: Query = async <R>(text: string, values: unknown[]) =>
  (await client.query({ name: 'claim', text, values })).rows as R[];

/** Rows that were read without an index, since the transaction began. */
const rowsRead = async () => {
  const { rows } = await client.query(
    `SELECT pg_stat_get_xact_tuples_returned('saga.instance'::regclass)::int AS n`,
  );
  return (rows as [{ n: number }])[0].n;
};

test('a backlog that comes while the plan of the claim is one for an empty table is claimed by index all the same', async () => {
  const name = uniqueName();
  const claims = new SagaClaims(query, sql, new SagaReader(query, sql, PAGE_BYTES), prepared);
  const claim = async () =>
    (await claims.claim({ lease: WORKER, sagas: [{ name, version: 1 }], limit: TOOK })).sagas.length;
  // Nothing analyses the table in between.
  await client.query('BEGIN');
  for (let n = 0; n <= PLANNED_CALLS; n += 1) expect(await claim()).toBe(0);
  await client.query(
    `INSERT INTO saga.instance (id, name, version, status, step, priority, epoch, due_at, rank_at)
     SELECT gen_random_uuid(), $1, 1, 'running', 's1', 0, 0, now(), now() FROM generate_series(1, $2)`,
    [name, SAGAS],
  );
  expect(await claim()).toBe(TOOK);
  const before = await rowsRead();
  expect(await claim()).toBe(TOOK);
  expect((await rowsRead()) - before).toBeLessThan(TOOK);
  await client.query('ROLLBACK');
});
