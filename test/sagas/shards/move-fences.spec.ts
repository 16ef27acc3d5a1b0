import { randomUUID } from 'node:crypto';
import { Saga, Step, WaitFor, type StepContext } from '../../../libs/saga/src/index.js';
import type { SealedMove } from '../../../libs/saga/src/engine/ports/shard-moves.js';
import { EngineSql } from '../../../libs/saga/src/store/postgres/connection/engine-sql.js';
import { PostgresSagaStore } from '../../../libs/saga/src/store/postgres/postgres-saga-store.js';
import { PostgresMoves } from '../../../libs/saga/src/store/postgres/shards/postgres-moves.js';
import { Gate, until } from '../../support/gate.js';
import { type ShardApp, ShardApps } from '../../support/shard-apps.js';

let works = new Gate();

@Saga({ name: 'payment' })
class PaymentSaga {
  @WaitFor({ signal: 'paid' }) paid(_ctx: StepContext<object>, amount: number) {
    return amount;
  }
  @Step({ after: 'paid' }) async send() {
    await works.opened;
  }
}

@Saga({ name: 'account', lockKey: () => 'one' })
class AccountSaga {
  @WaitFor({ signal: 'closed' }) close() {}
}

const apps = ShardApps.over('eu', 'us');
let app: ShardApp;
let eu: PostgresMoves;
let us: PostgresMoves;
let sql: EngineSql;

beforeEach(async () => {
  works = new Gate();
  app = await apps.start({ sagas: [PaymentSaga, AccountSaga] });
  sql = new EngineSql(apps.database('eu'));
  eu = new PostgresMoves(sql, 'saga');
  us = new PostgresMoves(new EngineSql(apps.database('us')), 'saga');
});
afterEach(async () => {
  for (const name of ['eu', 'us']) {
    await apps.sql(name, 'UPDATE saga.shard SET accepting = true');
    for (const table of ['instance', 'step', 'signal', 'operation', 'moved', 'arrived'])
      await apps.sql(name, `DELETE FROM saga.${table}`);
  }
});

const start = async (correlationId: string) => {
  const { id } = await app.sagas.start(PaymentSaga, {}, { shard: 'eu', correlationId });
  await until(async () => (await app.sagas.get(id)).waitingFor?.kind === 'signal');
  return id;
};
const drain = (name: string, accepting = false) =>
  apps.sql(name, 'UPDATE saga.shard SET accepting = $1', [accepting]);
const seal = async (saga: string, from = eu, to = 'us') =>
  (await from.seal({ sagas: [saga], move: randomUUID(), to })) as SealedMove;
const home = { revisions: [1], isHome: true };
const epochOn = async (name: string, id: string) => {
  const [row] = await apps.sql<{ epoch: number }>(name, 'SELECT epoch FROM saga.instance WHERE id = $1', [
    id,
  ]);
  return row?.epoch;
};

test('nothing leaves a shard that accepts sagas, and no saga leaves under the hands of a worker', async () => {
  const id = await start('held');
  expect(await seal(id)).toBe('accepting');
  await app.sagas.signal(id, 'paid', 1);
  await until(async () => (await app.sagas.get(id)).lockedBy !== undefined);
  await drain('eu');
  expect(await seal(id)).toBe('running');
  expect(await seal(randomUUID())).toBe('gone');
  works.open();
  await app.sagas.wait(id);
});

test('a move that was refused never arrives, however late it is sent', async () => {
  const id = await start('refused');
  await drain('eu');
  const late = await seal(id);
  expect(await us.refuse(late, 'graph')).toBe('graph');
  await eu.putBack(late);
  expect(await us.arrive(late, home)).toBe('graph');
  expect([await epochOn('eu', id), await epochOn('us', id)]).toEqual([expect.any(Number), undefined]);
  // Nor does what is done for it touch the move that follows.
  const next = await seal(id);
  await eu.handOver(late);
  await eu.putBack(late);
  expect(await eu.sealed(10)).toEqual([next]);
  expect(await us.arrive(next, home)).toBe('arrived');
  await eu.handOver(next);
  expect(await epochOn('us', id)).toEqual(expect.any(Number));
});

test('a move arrives once, also if the saga has ended and was deleted since', async () => {
  const id = await start('once');
  await drain('eu');
  const sealed = await seal(id);
  const [one, other] = await Promise.all([us.arrive(sealed, home), us.arrive(sealed, home)]);
  expect([one, other]).toEqual(['arrived', 'arrived']);
  expect(await us.refuse(sealed, 'graph')).toBe('arrived');
  await apps.sql('us', 'DELETE FROM saga.instance WHERE id = $1', [id]);
  expect(await us.arrive(sealed, home)).toBe('arrived');
  expect(await epochOn('us', id)).toBeUndefined();
});

test('a saga that moves away and back has a higher epoch each time: what an old lease stores is refused', async () => {
  const id = await start('back');
  const epoch = (await epochOn('eu', id))!;
  await drain('eu');
  const away = await seal(id);
  await us.arrive(away, home);
  await eu.handOver(away);
  expect(await epochOn('us', id)).toBe(epoch + 1);
  await drain('eu', true);
  await drain('us');
  const back = await seal(id, us, 'eu');
  await eu.arrive(back, home);
  await us.handOver(back);
  expect(await epochOn('eu', id)).toBe(epoch + 2);
  expect(await eu.noteOf({ id })).toBeUndefined();
  expect(await us.noteOf({ id })).toMatchObject({ to: 'eu', state: 'handed' });
  await app.sagas.signal(id, 'paid', 3);
  works.open();
  expect(await app.sagas.wait(id)).toMatchObject({ results: { paid: 3 } });
});

test('a shard that is drained meanwhile takes no saga, and the saga comes back', async () => {
  const id = await start('full');
  await drain('eu');
  const sealed = await seal(id);
  await drain('us');
  expect(await us.arrive(sealed, home)).toBe('no-shard');
  await eu.putBack(sealed);
  expect(await epochOn('eu', id)).toEqual(expect.any(Number));
  expect(await apps.idsOn('us')).toEqual([]);
});

test('after a failover, a process puts no saga back that has moved', async () => {
  const id = await start('recent');
  await drain('eu');
  await us.arrive(await seal(id), home);
  const [revision] = await new PostgresSagaStore(sql, 'saga').revisions([id]);
  expect(revision).toEqual({ id, epoch: 2_147_483_647, checkpoints: 2_147_483_647 });
});

test.each(['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'])(
  'a start in a transaction of the application at %s does not start a saga again that moves meanwhile',
  async (level) => {
    const id = await start('again');
    await drain('eu', true);
    const client = await app.pools.eu!.connect();
    try {
      await client.query(`BEGIN ISOLATION LEVEL ${level}`);
      // Its snapshot is from before the move.
      await client.query('SELECT count(*) FROM saga.instance');
      await drain('eu');
      const sealed = await seal(id);
      await us.arrive(sealed, home);
      await eu.handOver(sealed);
      const within = new PostgresSagaStore(new EngineSql(apps.database('eu')), 'saga', { isShard: true });
      const saga = {
        ...{
          id: randomUUID(),
          fresh: true,
          name: 'payment',
          version: 1,
          correlationId: 'again',
          input: '{}',
        },
        ...{ priority: 0, step: '', leased: false },
      };
      await expect(within.startWithin(client, saga, { worker: '', duration: 0 })).rejects.toThrow(
        'was moved to another shard',
      );
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
    expect(await apps.idsOn('eu')).toEqual([]);
    expect(await apps.idsOn('us')).toEqual([id]);
  },
);

describe('sagas in the queue of a lock', () => {
  /** The first one has the lock, the second one waits for it. */
  const startQueue = async () => {
    const ids: [string, string] = ['', ''];
    for (const n of [0, 1] as const) {
      ids[n] = (await app.sagas.start(AccountSaga, {}, { shard: 'eu' })).id;
      await apps.idle('eu');
    }
    return ids;
  };
  const lockStates = async (name: string) =>
    (await apps.sql<{ lock_state: string }>(name, 'SELECT lock_state FROM saga.instance ORDER BY id')).map(
      (row) => row.lock_state,
    );

  test('leave only as they are now: one that came to the queue since it was read keeps all there', async () => {
    const [first] = await startQueue();
    const read = (await eu.group(first)) as { id: string }[];
    const { id } = await app.sagas.start(AccountSaga, {}, { shard: 'eu' });
    await apps.idle('eu');
    await drain('eu');
    const seals = (ids: string[]) => eu.seal({ sagas: ids, move: randomUUID(), to: 'us' });
    expect(await seals(read.map((one) => one.id))).toBe('running');
    expect(await apps.idsOn('eu')).toHaveLength(3);
    expect(await seals([...read.map((one) => one.id), id])).toMatchObject({ to: 'us' });
    expect(await apps.idsOn('eu')).toEqual([]);
  });

  test('are behind those that wait on their new shard, whatever their places were', async () => {
    const ids = await startQueue();
    await apps.sql('eu', 'UPDATE saga.instance SET lock_position = lock_position - 1000000000');
    await drain('eu');
    const sealed = (await eu.seal({ sagas: ids, move: randomUUID(), to: 'us' })) as SealedMove;
    // It comes later, and is not in the queue yet.
    const later = await app.sagas.start(AccountSaga, {}, { shard: 'us', delay: '1h' });
    expect(await us.arrive(sealed, { revisions: [1, 1], isHome: true })).toBe('arrived');
    await eu.handOver(sealed);
    const rows = await apps.sql<{ id: string }>('us', 'SELECT id FROM saga.instance ORDER BY lock_position');
    expect(rows.map(({ id }) => id)).toEqual([later.id, ...ids]);
  });

  test('that come back while another one has taken the lock are active beside it, up to their end', async () => {
    const ids = await startQueue();
    await drain('eu');
    const sealed = (await eu.seal({ sagas: ids, move: randomUUID(), to: 'us' })) as SealedMove;
    await us.refuse(sealed, 'graph');
    await app.sagas.admit('eu');
    const { id: taker } = await app.sagas.start(AccountSaga, {}, { shard: 'eu' });
    await until(async () => (await app.sagas.get(taker)).waitingFor?.kind === 'signal');
    await eu.putBack(sealed);
    expect(await lockStates('eu')).toEqual(['inside', 'waiting', 'held']);
    for (const id of [taker, ids[0]]) {
      expect((await app.sagas.get(ids[1])).waitingFor?.kind).toBe('lock');
      await app.sagas.signal(id, 'closed');
      expect((await app.sagas.wait(id)).status).toBe('completed');
    }
    await app.sagas.signal(ids[1], 'closed');
    expect((await app.sagas.wait(ids[1])).status).toBe('completed');
  });
});

test('the correlation id of a saga that has moved, and was deleted since, may start again', async () => {
  const id = await start('reused');
  await app.sagas.drain('eu');
  await app.sagas.moveSagas({ from: 'eu' });
  await apps.sql('us', 'DELETE FROM saga.instance WHERE id = $1', [id]);
  await app.sagas.admit('eu');
  await app.sagas.drain('us');
  const again = await app.sagas.start(PaymentSaga, {}, { correlationId: 'reused' });
  expect(again).toMatchObject({ created: true });
  expect(await apps.idsOn('eu')).toEqual([again.id]);
});
