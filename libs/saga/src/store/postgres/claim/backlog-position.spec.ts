import pg from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import { newSaga, uniqueName, WORKER } from '../../../../../../test/contract/store-subject.contract.js';
import { migrate } from '../setup/migrate.js';
import { PAGE_BYTES, type Query, SagaReader } from '../read/saga-reader.js';
import { statementsOf } from '../sql-texts.js';
import { sqlOf } from '../typeorm/typeorm-database.js';
import { BacklogPosition } from './backlog-position.js';
import { SagaClaims } from './claim-sagas.js';

const sql = statementsOf('saga');
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
beforeEach(() => client.query('BEGIN'));
afterEach(() => client.query('ROLLBACK'));

const TOOK = 100;
/** In one transaction: nothing that it has taken can leave the index, as with an old transaction beside. */
const query: Query = async <R>(text: string, parameters: unknown[]) =>
  (await client.query(text, parameters)).rows as R[];
/** @param position where the clock of its place stands still */
const claimsWith = (position = new BacklogPosition(() => 0)) => {
  const claims = new SagaClaims(query, sql, new SagaReader(query, sql, PAGE_BYTES), position);
  return async (name: string, limit = TOOK) =>
    (await claims.claim({ lease: WORKER, sagas: [{ name, version: 1 }], limit })).sagas.map(({ id }) => id);
};
const backlogOf = async (count: number) => {
  const name = uniqueName();
  const { rows } = await client.query(
    `INSERT INTO saga.instance (id, name, version, status, step, priority, epoch, due_at, rank_at)
     SELECT gen_random_uuid(), $1, 1, 'running', 's1', 0, 0, at, at FROM generate_series(1, $2) AS n,
       LATERAL (SELECT now() - ($2 + 1 - n) * interval '1 millisecond' AS at) t RETURNING id`,
    [name, count],
  );
  return { name, ids: (rows as { id: string }[]).map(({ id }) => id) };
};
const urgent = async (name: string) => {
  const { id } = newSaga();
  await client.query(
    `INSERT INTO saga.instance (id, name, version, status, step, priority, epoch, due_at, rank_at)
     VALUES ($1, $2, 1, 'running', 's1', 100, 0, now(), now() - interval '1000 seconds')`,
    [id, name],
  );
  return id;
};
/** What was read so far of an index: entries; of a table: rows, by sequential scans. */
const readOf = async (relation: string) => {
  const { rows } = await client.query('SELECT pg_stat_get_xact_tuples_returned($1::regclass)::int AS n', [
    relation,
  ]);
  return (rows as [{ n: number }])[0].n;
};
const entriesRead = () => readOf('saga.instance_due');

test('a claim reads no more of a long backlog in the end than at first, although nothing of it is vacuumed', async () => {
  const { name, ids } = await backlogOf(3_000);
  const claim = claimsWith();
  const read: number[] = [];
  const taken: string[] = [];
  for (let n = 0; n < 30; n += 1) {
    const before = await entriesRead();
    taken.push(...(await claim(name)));
    read.push((await entriesRead()) - before);
  }
  expect(taken).toEqual(ids);
  // Twice what is taken, what is looked ahead, and the leases that were taken before.
  expect(Math.max(...read.slice(1, 25))).toBeLessThan(5 * TOOK);
});

test('a claim that finds the end of a backlog looks at its beginning as well', async () => {
  const { name, ids } = await backlogOf(150);
  const claim = claimsWith();
  expect(await claim(name)).toEqual(ids.slice(0, TOOK));
  const first = await urgent(name);
  expect((await claim(name)).sort()).toEqual([first, ...ids.slice(TOOK)].sort());
  expect(await claim(name)).toEqual([]);
});

test('an urgent saga waits for no more than a quarter of a second of claims that pass it by', async () => {
  let now = 0;
  const { name } = await backlogOf(500);
  const claim = claimsWith(new BacklogPosition(() => now));
  await claim(name);
  const first = await urgent(name);
  now = 249;
  expect(await claim(name)).not.toContain(first);
  now = 250;
  expect((await claim(name))[0]).toBe(first);
});

test('claims of a few sagas take the most urgent ones at any time', async () => {
  const { name, ids } = await backlogOf(200);
  const claim = claimsWith();
  expect(await claim(name, 10)).toEqual(ids.slice(0, 10));
  const first = await urgent(name);
  expect(await claim(name, 1)).toEqual([first]);
});

/** PostgreSQL plans a statement of a function, or a prepared one, anew for so many calls, and then keeps a plan. */
const PLANNED_CALLS = 5;

test('a backlog that comes while the plan of the claim is one for a nearly empty table is claimed by index all the same', async () => {
  const took = 1_000;
  const prepared: Query = async <R>(text: string, values: unknown[]) =>
    (await client.query({ name: text.slice(0, 60), text, values })).rows as R[];
  const claims = new SagaClaims(prepared, sql, new SagaReader(prepared, sql, PAGE_BYTES));
  const claim = async (name: string) =>
    (await claims.claim({ lease: WORKER, sagas: [{ name, version: 1 }], limit: took })).sagas.length;
  // Other tests have left pages in it. Nothing analyses it in between, since all is one transaction.
  await client.query('TRUNCATE saga.instance CASCADE');
  for (let n = 0; n <= PLANNED_CALLS; n += 1) expect(await claim((await backlogOf(1)).name)).toBe(1);
  const { name } = await backlogOf(10_000);
  const before = await readOf('saga.instance');
  expect(await claim(name)).toBe(took);
  expect((await readOf('saga.instance')) - before).toBeLessThan(took);
});
