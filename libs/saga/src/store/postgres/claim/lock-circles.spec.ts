import pg from 'pg';
import { DataSource } from 'typeorm';
import { until } from '../../../../../../test/support/gate.js';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import { LockFamilies } from '../../../../../../test/contract/family-lock.contract.js';
import { uniqueName, WORKER } from '../../../../../../test/contract/store-subject.contract.js';
import { migrate } from '../setup/migrate.js';
import { PostgresSagaStore } from '../postgres-saga-store.js';
import { sqlOf } from '../typeorm/typeorm-database.js';

let database: TestDatabase;
let client: pg.Client;
let application: DataSource;
let store: PostgresSagaStore;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  const sql = sqlOf(application);
  await migrate(sql, 'saga');
  store = new PostgresSagaStore(sql, 'saga');
});

afterAll(async () => {
  await application.destroy();
  await client.end();
  await database.drop();
});

const families = new LockFamilies(() => ({ store }) as never);

/** Claims a saga and enqueues it in a transaction of the client's, which stays open. */
const enqueueWithoutLock = async (id: string, name: string): Promise<number> => {
  await client.query('BEGIN');
  const claim = `UPDATE saga.instance SET locked_by = 'client', epoch = epoch + 1, due_at = now() + interval '1 minute' WHERE id = $1`;
  await client.query(claim, [id]);
  const { rows } = await client.query(
    `SELECT ready FROM saga.lock_enqueue(ARRAY[$1]::uuid[], (SELECT ARRAY[epoch] FROM saga.instance WHERE id = $1), ARRAY[$2], ARRAY['k'])`,
    [id, name],
  );
  return rows.length;
};

const claimingUntilItWaits = async (name: string) => {
  let hasEnded = false;
  const claiming = store
    .claim({ lease: WORKER, sagas: [{ name, version: 1 }], limit: 10 })
    .finally(() => (hasEnded = true));
  await until(async () => {
    const waiting = await application.query<unknown[]>(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%lock_enqueue%'`,
    );
    return hasEnded || waiting.length;
  });
  return { claiming, hasEnded: () => hasEnded };
};

test('two sagas that would close a circle at the same time do not both overlook it', async () => {
  const [a, b] = [
    { name: uniqueName(), lockKey: 'k' },
    { name: uniqueName(), lockKey: 'k' },
  ];
  const [first, second] = [await families.running(a), await families.running(b)];
  const [waiting, closing] = [await families.child(first, b), await families.child(second, a)];
  expect(await enqueueWithoutLock(waiting.id, b.name)).toBe(0);
  const { claiming } = await claimingUntilItWaits(a.name);
  await client.query('COMMIT');
  expect((await claiming).sagas).toMatchObject([
    { id: closing.id, deadlock: { holder: { id: first.id }, held: { id: second.id } } },
  ]);
});

test('sagas no ancestor of which holds a lock enter their queues concurrently', async () => {
  const [a, b] = [
    { name: uniqueName(), lockKey: 'k' },
    { name: uniqueName(), lockKey: 'k' },
  ];
  await families.running(b);
  const holder = await families.running(a);
  const waiting = await families.child(holder, b);
  const other = await families.child(await families.running(), { name: uniqueName(), lockKey: 'k' });
  expect(await enqueueWithoutLock(waiting.id, b.name)).toBe(0);
  const { claiming, hasEnded } = await claimingUntilItWaits(other.name);
  expect(hasEnded()).toBe(true);
  await client.query('COMMIT');
  expect((await claiming).sagas).toMatchObject([{ id: other.id, lock: { held: true } }]);
});
