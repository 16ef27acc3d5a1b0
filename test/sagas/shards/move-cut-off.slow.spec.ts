import type { Pool } from 'pg';
import { Saga, Step, SubSaga, WaitFor, type StepContext } from '../../../libs/saga/src/index.js';
import { moveSagas, type MoveRequest, type MoveResult } from '../../../libs/saga/src/shards/move-sagas.js';
import { EngineSql } from '../../../libs/saga/src/store/postgres/connection/engine-sql.js';
import { PgDatabase } from '../../../libs/saga/src/store/postgres/connection/pg-database.js';
import { PostgresMoves } from '../../../libs/saga/src/store/postgres/shards/postgres-moves.js';
import { Cutter } from '../../support/cutting-pool.js';
import { until } from '../../support/gate.js';
import { type ShardApp, ShardApps } from '../../support/shard-apps.js';

const sends = new Map<string, number>();

@Saga({ name: 'payment' })
class PaymentSaga {
  @Step() reserve(_ctx: StepContext<object>) {
    return 'reserved';
  }
  @WaitFor({ signal: 'paid', after: 'reserve' }) paid(_ctx: StepContext<object>, amount: number) {
    return amount;
  }
  @WaitFor({ signal: 'sent', after: 'paid' }) sent({ sagaId }: StepContext<object>) {
    sends.set(sagaId, (sends.get(sagaId) ?? 0) + 1);
  }
}

@Saga({ name: 'account', lockKey: () => 'one' })
class AccountSaga {
  @WaitFor({ signal: 'closed' }) close() {}
}

@Saga({ name: 'transfer' })
class TransferSaga {
  @SubSaga(() => AccountSaga) book() {
    return {};
  }
}

/** More statements than a move sends. */
const MOST = 120;
const TABLES = { step: 'saga_id', signal: 'saga_id', operation: 'saga_id' };

const apps = ShardApps.over('eu', 'us');
const cutter = new Cutter();
let pools: Pool[];
let app: ShardApp;
beforeAll(() => (pools = ['eu', 'us'].map((name) => cutter.pool(apps.url(name)))));
afterAll(() => Promise.all(pools.map((pool) => pool.end())));
beforeEach(async () => (app = await apps.start({ sagas: [PaymentSaga, AccountSaga, TransferSaga] })));
afterEach(async () => {
  for (const name of ['eu', 'us']) {
    await apps.sql(name, 'UPDATE saga.shard SET accepting = true');
    for (const table of ['instance', 'step', 'signal', 'operation', 'moved', 'arrived'])
      await apps.sql(name, `DELETE FROM saga.${table}`);
  }
});

/** Sagas that have taken a signal, keep another one, and wait for a third. */
async function startWaiting(count: number): Promise<string[]> {
  const start = async (_: unknown, n: number) => {
    const { id } = await app.sagas.start(
      PaymentSaga,
      { amount: 1.5 },
      { shard: 'eu', correlationId: `order-${n}` },
    );
    await app.sagas.signal(id, 'paid', { text: 'a "quoted" \\u0000 text' }, { messageId: 'first' });
    return id;
  };
  const ids = await Promise.all(Array.from({ length: count }, start));
  await apps.idle('eu');
  await app.sagas.pause(ids[0]!, { by: 'ann' });
  await app.sagas.drain('eu', { by: 'ann' });
  return ids;
}

/** All rows of a saga, without what a move changes. */
async function rowsOf(shard: string, id: string): Promise<Record<string, unknown>> {
  const rows: Record<string, unknown> = {};
  const instance = `SELECT (to_jsonb(i) - 'epoch' - 'graph_revision')::text, input::text, progress::text FROM saga.instance i WHERE id = $1`;
  rows.instance = await apps.sql(shard, instance, [id]);
  for (const [table, key] of Object.entries(TABLES))
    rows[table] = await apps.sql(
      shard,
      `SELECT t::text AS row FROM saga.${table} t WHERE ${key} = $1 ORDER BY 1`,
      [id],
    );
  return rows;
}

/** Where a saga is: among the sagas of a shard, or in a note on its way. */
async function placesOf(id: string): Promise<string[]> {
  const places: string[] = [];
  for (const shard of ['eu', 'us']) {
    const [here] = await apps.sql(shard, 'SELECT FROM saga.instance WHERE id = $1', [id]);
    if (here) places.push(shard);
  }
  const [note] = await apps.sql('eu', "SELECT FROM saga.moved WHERE id = $1 AND state = 'sealed'", [id]);
  // It is in the note as well until its arrival is noted.
  return note && places.length === 0 ? ['on its way'] : places;
}

/** Moves one saga as another process. @param at the statement at which its connection is cut */
async function moveOne(at: number): Promise<MoveResult | undefined> {
  cutter.arm(at);
  const [eu, us] = pools.map((pool, n) => ({
    name: ['eu', 'us'][n]!,
    accepting: n === 1,
    moves: new PostgresMoves(new EngineSql(new PgDatabase(pool)), 'saga'),
  })) as MoveRequest['from'][];
  try {
    return await moveSagas({ from: eu!, shards: [eu!, us!], limit: 1, knowsAll: true });
  } catch (error) {
    if (!cutter.hasCut) throw error;
    return undefined;
  }
}

/** The sagas of which something was moved last. */
async function touched(): Promise<string[]> {
  const rows = await apps.sql<{ id: string }>('eu', 'SELECT id FROM saga.moved ORDER BY at DESC LIMIT 3');
  return rows.map(({ id }) => id);
}

/** Cuts a move off at each of its statements, and the move that continues it as well. Returns how many statements it has. */
async function cutOffEverywhere(): Promise<number> {
  for (let at = 1; ; at += 1) {
    expect(at).toBeLessThan(MOST);
    if (await moveOne(at)) return at - 1;
    await moveOne(at);
    for (const id of await touched())
      expect({ at, places: await placesOf(id) }).toEqual({ at, places: [expect.any(String)] });
    // It finishes what is on its way, or moves another one.
    expect(await moveOne(0)).toBeDefined();
    expect(await apps.sql('eu', "SELECT FROM saga.moved WHERE state = 'sealed'")).toEqual([]);
  }
}

test('a move that is cut off at any statement leaves each saga at one place, and the next one continues', async () => {
  const ids = await startWaiting(100);
  const before = new Map<string, unknown>();
  for (const id of ids) before.set(id, await rowsOf('eu', id));
  // A move from its beginning to its end, with a transaction on each shard.
  expect(await cutOffEverywhere()).toBeGreaterThan(25);
  expect(await app.sagas.moveSagas({ from: 'eu' })).toMatchObject({ stayed: {}, more: false });
  expect(await apps.idsOn('eu')).toEqual([]);
  for (const id of ids) expect({ id, rows: await rowsOf('us', id) }).toEqual({ id, rows: before.get(id) });
  await app.sagas.resume(ids[0]!);
  await Promise.all(ids.map((id) => app.sagas.signal(id, 'paid', 0, { messageId: 'first' })));
  await Promise.all(ids.map((id) => app.sagas.signal(id, 'sent')));
  await Promise.all(ids.map((id) => app.sagas.wait(id)));
  expect(ids.filter((id) => sends.get(id) !== 1)).toEqual([]);
});

/** Transfers whose sub-sagas have one lock, in a queue. All of them move together. */
async function startQueue(count: number): Promise<string[]> {
  const roots: string[] = [];
  for (let n = 0; n < count; n += 1) {
    roots.push((await app.sagas.start(TransferSaga, {}, { shard: 'eu', correlationId: `order-${n}` })).id);
    await until(async () => (await app.sagas.find({ saga: 'account' })).items.length === n + 1);
    await apps.idle('eu');
  }
  await app.sagas.drain('eu');
  return roots;
}

test('families in the queue of a lock are on one shard together, wherever their move is cut off', async () => {
  const roots = await startQueue(3);
  const ids = await apps.idsOn('eu');
  expect(ids).toHaveLength(6);
  let cuts = 0;
  for (let at = 1; cuts === 0; at += 1) {
    expect(at).toBeLessThan(MOST);
    if (await moveOne(at)) cuts = at;
    await moveOne(at);
    const places = new Set<string>();
    for (const id of ids) places.add((await placesOf(id)).join(' and '));
    expect({ at, places: [...places] }).toEqual({
      at,
      places: [expect.stringMatching(/^(eu|us|on its way)$/)],
    });
    expect(await moveOne(0)).toMatchObject({ stayed: {}, more: false });
    expect(await apps.idsOn('us')).toEqual(ids);
    // Back, so that the next one has the same to move.
    await app.sagas.drain('us');
    await app.sagas.admit('eu');
    await app.sagas.moveSagas({ from: 'us' });
    await app.sagas.drain('eu');
    await app.sagas.admit('us');
  }
  expect(cuts).toBeGreaterThan(25);
  const accounts = async () => (await app.sagas.find({ saga: 'account' })).items.map(({ id }) => id).sort();
  for (const account of await accounts()) {
    await until(async () => (await app.sagas.get(account)).waitingFor?.kind === 'signal');
    await app.sagas.signal(account, 'closed');
    await app.sagas.wait(account);
  }
  for (const root of roots) expect((await app.sagas.wait(root)).status).toBe('completed');
});

test('families come back as a whole if one of their correlation ids is taken, wherever that is cut off', async () => {
  // The first family can be stored on the other shard, the second one cannot.
  const [, second] = await startQueue(2);
  const ids = await apps.idsOn('eu');
  await apps.sql(
    'us',
    `INSERT INTO saga.instance (id, version, name, correlation_id, epoch, status, step) VALUES ($1, 1, 'transfer', 'order-1', 0, 'completed', '')`,
    [second!.replace(/^......../, '01900000')],
  );
  const rows = async () => {
    const all: unknown[] = [];
    for (const id of ids) all.push(await rowsOf('eu', id));
    return all;
  };
  const before = await rows();
  for (let at = 1; ; at += 1) {
    expect(at).toBeLessThan(MOST);
    const isWhole = await moveOne(at);
    expect(await moveOne(0)).toEqual({ moved: {}, stayed: { 'correlation-id': 4 }, more: false });
    expect(await apps.idsOn('eu')).toEqual(ids);
    expect(await apps.idsOn('us')).toHaveLength(1);
    if (isWhole) break;
  }
  expect(await rows()).toEqual(before);
});

test('a saga whose correlation id is taken on the other shard comes back, wherever that is cut off', async () => {
  const ids = await startWaiting(1);
  const [id] = ids as [string];
  const before = await rowsOf('eu', id);
  const other = id.replace(/^......../, '01900000');
  await apps.sql(
    'us',
    `INSERT INTO saga.instance (id, version, name, correlation_id, epoch, status, step) VALUES ($1, 1, 'payment', 'order-0', 0, 'completed', '')`,
    [other],
  );
  expect(await cutOffEverywhere()).toBeGreaterThan(30);
  expect(await app.sagas.moveSagas({ from: 'eu' })).toEqual({
    ...{ moved: {}, stayed: { 'correlation-id': 1 }, more: false },
  });
  expect(await apps.idsOn('us')).toEqual([other]);
  expect(await rowsOf('eu', id)).toEqual(before);
});
