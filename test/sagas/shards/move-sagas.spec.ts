import {
  type MoveSagasOptions,
  Saga,
  SagaStateError,
  Step,
  SubSaga,
  WaitFor,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { randomUUID } from 'node:crypto';
import { EngineSql } from '../../../libs/saga/src/store/postgres/connection/engine-sql.js';
import { PostgresMoves } from '../../../libs/saga/src/store/postgres/shards/postgres-moves.js';
import { until } from '../../support/gate.js';
import { type ShardApp, ShardApps } from '../../support/shard-apps.js';

const runs = new Map<string, string[]>();
const ran = (step: string, { sagaId }: { sagaId: string }) =>
  void runs.set(sagaId, [...(runs.get(sagaId) ?? []), step]);

@Saga({ name: 'payment' })
class PaymentSaga {
  @Step() reserve(ctx: StepContext<object>) {
    ran('reserve', ctx);
    return { note: 'a "quoted" \\u0000 note' };
  }
  @WaitFor({ signal: 'paid', after: 'reserve' }) paid(_ctx: StepContext<object>, amount: number) {
    return amount;
  }
  @Step({ after: 'paid' }) send(ctx: StepContext<object>) {
    ran('send', ctx);
  }
}

@Saga({ name: 'child' })
class ChildSaga {
  @WaitFor({ signal: 'go' }) wait(_ctx: StepContext<object>) {
    return 1;
  }
}

@Saga({ name: 'parent' })
class ParentSaga {
  @SubSaga(() => ChildSaga) child() {
    return {};
  }
}

@Saga({ name: 'account', lockKey: () => 'one' })
class AccountSaga {
  @WaitFor({ signal: 'closed' }) close(_ctx: StepContext<object>) {
    return 1;
  }
}

@Saga({ name: 'ledger' })
class LedgerSaga {
  @WaitFor({ signal: 'go' }) wait(_ctx: StepContext<object>) {
    return 1;
  }
  @Step({ transactional: true, after: 'wait' }) async book() {}
}

const sagas = [PaymentSaga, ParentSaga, ChildSaga, AccountSaga, LedgerSaga];

describe('sagas of a drained shard', () => {
  const apps = ShardApps.over('eu', 'us');
  let app: ShardApp;
  beforeEach(async () => {
    runs.clear();
    app = await apps.start({ sagas });
  });
  afterEach(async () => {
    for (const name of ['eu', 'us']) {
      apps.find(name);
      for (const table of ['instance', 'step', 'signal', 'operation', 'moved', 'arrived'])
        await apps.sql(name, `DELETE FROM saga.${table}`);
      await apps.sql(name, 'UPDATE saga.shard SET accepting = true, changed_at = NULL, received = false');
    }
  });

  const isWaiting = async (id: string) => (await app.sagas.get(id)).waitingFor?.kind === 'signal';
  const startOn = async (shard: string, correlationId?: string) => {
    const handle = await app.sagas.start(PaymentSaga, {}, { shard, ...(correlationId && { correlationId }) });
    await until(() => isWaiting(handle.id));
    return handle;
  };

  test('move with all that is stored of them, and continue on their new shard', async () => {
    const handle = await startOn('eu', 'order-1');
    await app.sagas.signal(handle.id, 'other', 1).catch(() => undefined);
    const outcome = handle.outcome({ timeout: '20s' });
    const seen: string[] = [];
    const watched = (async () => {
      for await (const { data } of app.sagas.watch(handle.id)) seen.push(data.status);
    })();
    await app.sagas.drain('eu', { by: 'ann' });
    const before = await app.sagas.get(handle.id);
    expect(await app.sagas.moveSagas({ from: 'eu' })).toEqual({ moved: { us: 1 }, stayed: {}, more: false });
    expect(await apps.idsOn('eu')).toEqual([]);
    expect(await apps.idsOn('us')).toEqual([handle.id]);
    expect(await app.sagas.get(handle.id)).toEqual(before);
    expect((await app.sagas.get({ saga: PaymentSaga, correlationId: 'order-1' })).id).toBe(handle.id);
    await app.sagas.signal(handle.id, 'paid', 5);
    expect(await outcome).toMatchObject({ status: 'completed', results: { paid: 5 } });
    await watched;
    expect(seen.at(-1)).toBe('completed');
    expect(runs.get(handle.id)).toEqual(['reserve', 'send']);
  });

  test('stay if their data is in the database of their shard', async () => {
    await startOn('eu');
    await app.sagas.start(LedgerSaga, {}, { shard: 'eu' });
    const parked = await apps.idsOn('eu');
    await apps.idle('eu');
    await expect(app.sagas.moveSagas({ from: 'eu' })).rejects.toThrow(SagaStateError);
    await app.sagas.drain('eu');
    expect(await app.sagas.moveSagas({ from: 'eu', to: 'us' })).toEqual({
      moved: { us: 1 },
      stayed: { transactional: 1 },
      more: false,
    });
    expect((await apps.idsOn('eu')).length).toBe(parked.length - 1);
  });

  test('move as a family, and the parent continues when its sub-saga has ended there', async () => {
    const parent = await app.sagas.start(ParentSaga, {}, { shard: 'eu', correlationId: 'family' });
    await until(async () => (await app.sagas.get(parent.id)).waitingFor?.kind === 'sub-saga');
    await apps.idle('eu');
    const family = await apps.idsOn('eu');
    expect(family).toHaveLength(2);
    await app.sagas.drain('eu');
    expect(await app.sagas.moveSagas({ from: 'eu', limit: 1 })).toEqual({
      moved: { us: 2 },
      stayed: {},
      more: false,
    });
    expect(await apps.idsOn('us')).toEqual(family);
    await app.sagas.signal(
      family.find((id) => id !== parent.id)!,
      'go',
    );
    expect(await app.sagas.wait(parent.id)).toMatchObject({
      status: 'completed',
      results: { child: { wait: 1 } },
    });
  });

  test('move with all that hold their lock or wait for it, which is handed on there in the same order', async () => {
    const accounts = [];
    for (let n = 0; n < 3; n += 1) {
      accounts.push((await app.sagas.start(AccountSaga, {}, { shard: 'eu' })).id);
      await apps.idle('eu');
    }
    await app.sagas.drain('eu');
    expect(await app.sagas.moveSagas({ from: 'eu' })).toEqual({ moved: { us: 3 }, stayed: {}, more: false });
    const next = await app.sagas.start(AccountSaga, {});
    for (const id of [...accounts, next.id]) {
      const others = [...accounts, next.id].filter((other) => other > id);
      await until(() => isWaiting(id));
      for (const other of others)
        expect((await app.sagas.get(other)).waitingFor).toMatchObject({ kind: 'lock', holder: id });
      await app.sagas.signal(id, 'closed');
      expect((await app.sagas.wait(id)).status).toBe('completed');
    }
    expect(await apps.idsOn('eu')).toEqual([]);
  });

  test('stay while another saga has their lock on the new shard, and move when it has ended', async () => {
    const { id } = await app.sagas.start(AccountSaga, {}, { shard: 'eu' });
    const other = await app.sagas.start(AccountSaga, {}, { shard: 'us' });
    await until(() => isWaiting(id));
    await until(() => isWaiting(other.id));
    await apps.idle('eu');
    await app.sagas.drain('eu');
    expect(await app.sagas.moveSagas({ from: 'eu' })).toEqual({
      ...{ moved: {}, stayed: { 'lock-held': 1 }, more: false },
    });
    expect(await isWaiting(id)).toBe(true);
    await app.sagas.signal(other.id, 'closed');
    await app.sagas.wait(other.id);
    expect(await app.sagas.moveSagas({ from: 'eu' })).toEqual({ moved: { us: 1 }, stayed: {}, more: false });
    await app.sagas.signal(id, 'closed');
    expect((await app.sagas.wait(id)).status).toBe('completed');
  });

  test('that have ended move without those that share their lock, and are undone on their new shard', async () => {
    const { id } = await app.sagas.start(AccountSaga, {}, { shard: 'eu' });
    await app.sagas.signal(id, 'closed');
    await app.sagas.wait(id);
    await apps.idle('eu');
    await app.sagas.drain('eu');
    expect(await app.sagas.moveSagas({ from: 'eu' })).toEqual({ moved: { us: 1 }, stayed: {}, more: false });
    await app.sagas.undo(id);
    expect((await app.sagas.wait(id)).status).toBe('compensated');
  });

  test('have their correlation ids once, also for a process that has not seen the drain', async () => {
    const ids = new Map<string, string>();
    for (let n = 0; n < 8; n += 1) ids.set(`once-${n}`, (await startOn('eu', `once-${n}`)).id);
    const stale = await apps.start({ sagas, options: { worker: { pollInterval: '1h' } } });
    await app.sagas.drain('eu');
    expect((await app.sagas.moveSagas({ from: 'eu', limit: 5 })).more).toBe(true);
    expect(await app.sagas.moveSagas({ from: 'eu' })).toEqual({ moved: { us: 3 }, stayed: {}, more: false });
    for (const process of [stale, app])
      for (const [correlationId, id] of ids)
        for (const shard of process === stale ? [undefined, 'eu'] : [undefined]) {
          const again = await process.sagas.start(
            PaymentSaga,
            {},
            { correlationId, ...(shard && { shard }) },
          );
          expect(again).toMatchObject({ id, created: false });
        }
    expect(await apps.idsOn('eu')).toEqual([]);
    expect(await apps.idsOn('us')).toEqual([...ids.values()].sort());
  });

  test('are refused with options that no move can have', async () => {
    const move = (options: object) => app.sagas.moveSagas(options as MoveSagasOptions);
    await expect(move({ from: 'mars' })).rejects.toThrow("moveSagas(): from is 'mars', which is not a shard");
    await expect(move({ from: 'eu', to: 'eu' })).rejects.toThrow('from and to are both');
    await expect(move({ from: 'eu', limit: 0 })).rejects.toThrow('limit is 0');
    await expect(move({ from: 'eu', limt: 5 })).rejects.toThrow('limt');
    await app.sagas.drain('eu');
    await app.sagas.drain('us');
    await expect(move({ from: 'eu', to: 'us' })).rejects.toThrow("shard 'us' accepts no sagas");
  });

  test('on their way are waited for, and named if the move was interrupted', async () => {
    const { id } = await startOn('eu', 'interrupted');
    await app.sagas.drain('eu');
    const moves = new PostgresMoves(new EngineSql(apps.database('eu')), 'saga');
    await moves.seal({ sagas: [id], move: randomUUID(), to: 'us' });
    const read = app.sagas.get(id);
    const again = app.sagas.start(PaymentSaga, {}, { correlationId: 'interrupted', shard: 'us' });
    expect(await app.sagas.moveSagas({ from: 'eu' })).toEqual({ moved: { us: 1 }, stayed: {}, more: false });
    expect(await read).toMatchObject({ id });
    expect(await again).toMatchObject({ id, created: false });
  });

  test('are reached while their old shard is down, and after it was removed', async () => {
    const { id } = await startOn('eu', 'gone');
    await app.sagas.drain('eu');
    await app.sagas.moveSagas({ from: 'eu' });
    apps.lose('eu');
    await until(async () => !(await app.sagas.shards())[0]!.reachable);
    const outcome = app.sagas.wait(id, { timeout: '20s' });
    expect((await app.sagas.get(id)).correlationId).toBe('gone');
    await app.sagas.signal(id, 'paid', 7);
    expect(await outcome).toMatchObject({ results: { paid: 7 } });
    const alone = await apps.start({ sagas, shards: ['us'] });
    expect((await alone.sagas.get(id)).status).toBe('completed');
    expect(await alone.sagas.start(PaymentSaga, {}, { correlationId: 'gone' })).toMatchObject({
      id,
      created: false,
    });
  });
});

describe('sagas of a drained shard whose tables are partitioned', () => {
  const apps = ShardApps.over('eu', 'us');

  test('move, and keep their correlation ids once', async () => {
    const app = await apps.start({ sagas, options: { partitions: 'weekly' } });
    const start = async (correlationId: string, shard?: string) => {
      const handle = await app.sagas.start(PaymentSaga, {}, { correlationId, ...(shard && { shard }) });
      await until(async () => (await app.sagas.get(handle.id)).waitingFor?.kind === 'signal');
      return handle;
    };
    const { id } = await start('one', 'eu');
    const taken = await start('two', 'eu');
    const taker = await start('three', 'us');
    await apps.sql('us', "UPDATE saga.correlation SET correlation_id = 'two'");
    await apps.sql('us', "UPDATE saga.instance SET correlation_id = 'two'");
    await app.sagas.drain('eu');
    expect(await app.sagas.moveSagas({ from: 'eu' })).toEqual({
      ...{ moved: { us: 1 }, stayed: { 'correlation-id': 1 }, more: false },
    });
    expect(await apps.idsOn('eu')).toEqual([taken.id]);
    expect(await apps.idsOn('us')).toEqual([id, taker.id].sort());
    const correlations = (shard: string) =>
      apps.sql(shard, 'SELECT correlation_id, saga_id FROM saga.correlation ORDER BY 1');
    expect(await correlations('eu')).toEqual([{ correlation_id: 'two', saga_id: taken.id }]);
    expect(await correlations('us')).toEqual([
      { correlation_id: 'one', saga_id: id },
      { correlation_id: 'two', saga_id: taker.id },
    ]);
    expect(await app.sagas.start(PaymentSaga, {}, { correlationId: 'one' })).toMatchObject({
      id,
      created: false,
    });
    await app.sagas.signal(id, 'paid', 5);
    expect((await app.sagas.wait(id)).status).toBe('completed');
  });
});
