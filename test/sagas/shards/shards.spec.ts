import { AsyncLocalStorage } from 'node:async_hooks';
import {
  Approval,
  Saga,
  SagaConflictError,
  SagaNotFoundError,
  SagaStateError,
  SagaTransactionError,
  SagaValidationError,
  Step,
  SubSaga,
  WaitFor,
  type StepContext,
  type TransactionalStepContext,
} from '../../../libs/saga/src/index.js';
import type { PoolClient } from 'pg';
import { until } from '../../support/gate.js';
import { type ShardApp, ShardApps } from '../../support/shard-apps.js';

interface Order {
  readonly region?: 'eu' | 'us' | 'mars';
}

@Saga({ name: 'shipment' })
class ShipmentSaga {
  @Step() send() {
    return 'sent';
  }
}

@Saga({ name: 'order' })
class OrderSaga {
  @Step({ transactional: true })
  async reserve({ transaction, sagaId }: TransactionalStepContext<Order, unknown, PoolClient>) {
    await transaction.query('INSERT INTO reserved (saga) VALUES ($1)', [sagaId]);
  }
  @SubSaga(() => ShipmentSaga) ship() {
    return {};
  }
}

@Saga({ name: 'payment' })
class PaymentSaga {
  @WaitFor({ signal: 'paid' }) paid(_ctx: StepContext<Order>, amount: number) {
    return amount;
  }
}

@Saga({ name: 'claim' })
class ClaimSaga {
  @Approval() agree() {}
}

@Saga({ name: 'account', lockKey: ({ input }: { input: { account: string } }) => input.account })
class AccountSaga {
  @WaitFor({ signal: 'closed' }) close(_ctx: StepContext<{ account: string }>) {
    return undefined;
  }
}

@Saga({ name: 'report', schedule: { cron: '0 4 1 1 *' } })
class ReportSaga {
  @Step() write() {
    return 1;
  }
}

const sagas = [OrderSaga, ShipmentSaga, PaymentSaga, AccountSaga, ClaimSaga];

/** Correlation ids that begin with a word. */
const keys = (word: string, count: number) => Array.from({ length: count }, (_, n) => `${word}-${n}`);

describe('sagas of an application with shards', () => {
  const apps = ShardApps.over('eu', 'us');
  let app: ShardApp;
  beforeAll(async () => {
    for (const name of ['eu', 'us']) await apps.sql(name, 'CREATE TABLE reserved (saga uuid)');
  });
  beforeEach(async () => {
    app = await apps.start({ sagas });
  });

  const shardOf = async (id: string) => ((await apps.idsOn('eu')).includes(id) ? 'eu' : 'us');

  test('are spread, and run with sub-sagas and transactions on the shard that their ids carry', async () => {
    const handles = await Promise.all(Array.from({ length: 20 }, () => app.sagas.start(OrderSaga, {})));
    for (const handle of handles) expect((await handle.outcome()).status).toBe('completed');
    const digits = new Set<string>();
    for (const name of ['eu', 'us']) {
      const ids = await apps.idsOn(name);
      const orders = ids.filter((id) => handles.some((handle) => handle.id === id));
      expect(orders.length).toBeGreaterThan(0);
      // Each with its sub-saga.
      expect(ids).toHaveLength(2 * orders.length);
      const [number, ...others] = new Set(ids.map((id) => id.slice(-4)));
      expect(others).toEqual([]);
      digits.add(number!);
      const reserved = await apps.sql<{ saga: string }>(name, 'SELECT saga FROM reserved ORDER BY saga');
      expect(reserved.map(({ saga }) => saga)).toEqual(orders);
    }
    expect(digits.size).toBe(2);
    for (const { id } of handles) expect(await app.sagas.get(id)).toMatchObject({ id, status: 'completed' });
  });

  test('start where start() says, or shardOf, in another process as well', async () => {
    const tenant = new AsyncLocalStorage<string>();
    const tenants = new Set<string | undefined>();
    const other = await apps.start({
      sagas,
      options: {
        shardOf: ({ saga, input }) => {
          tenants.add(tenant.getStore());
          return saga === 'payment' ? (input as Order).region : undefined;
        },
      },
    });
    for (const region of ['eu', 'us'] as const) {
      expect(await shardOf((await app.sagas.start(PaymentSaga, {}, { shard: region })).id)).toBe(region);
      const started = await tenant.run('acme', () => other.sagas.start(PaymentSaga, { region }));
      expect(await shardOf(started.id)).toBe(region);
    }
    // Like other functions of the application, it is called outside of the context of the caller.
    expect([...tenants]).toEqual([undefined]);
    await expect(other.sagas.start(PaymentSaga, { region: 'mars' })).rejects.toThrow(
      "start(): the result of shardOf() is 'mars', which is not a shard. The shards: eu, us",
    );
    await expect(app.sagas.start(PaymentSaga, {}, { shard: 'ue' })).rejects.toThrow(SagaValidationError);
  });

  test('have a correlation id once for all shards, wherever they were started', async () => {
    for (const correlationId of keys('once', 8)) {
      const [one, again] = await Promise.all([
        app.sagas.start(PaymentSaga, {}, { correlationId }),
        app.sagas.start(PaymentSaga, {}, { correlationId }),
      ]);
      expect(one.id).toBe(again.id);
      await expect(app.sagas.start(PaymentSaga, { region: 'eu' }, { correlationId })).rejects.toThrow(
        SagaConflictError,
      );
      // Also if another shard is named.
      for (const shard of ['eu', 'us'])
        expect(await app.sagas.start(PaymentSaga, {}, { correlationId, shard })).toMatchObject({
          id: one.id,
          created: false,
        });
    }
    for (const [n, correlationId] of keys('chosen', 6).entries()) {
      const [shard, other] = n % 2 === 0 ? ['eu', 'us'] : ['us', 'eu'];
      const { id } = await app.sagas.start(PaymentSaga, {}, { correlationId, shard });
      expect((await app.sagas.start(PaymentSaga, {}, { correlationId, shard: other })).id).toBe(id);
    }
  });

  test('are reached by correlation id, by id, and by an id that the application chose', async () => {
    for (const shard of ['eu', 'us']) {
      const correlationId = `reached-${shard}`;
      const chosen = `01900000-0000-7000-8000-00000000000${shard === 'eu' ? 1 : 2}`;
      const payment = { saga: PaymentSaga, correlationId };
      const handle = await app.sagas.start(PaymentSaga, {}, { correlationId, shard, id: chosen });
      expect((await app.sagas.get(payment)).id).toBe(chosen);
      expect((await app.sagas.get(chosen)).correlationId).toBe(correlationId);
      expect(await app.sagas.start(PaymentSaga, {}, { id: chosen, correlationId, shard })).toMatchObject({
        id: chosen,
        created: false,
      });
      await app.operations.pause(payment, { by: 'ann' });
      await until(async () => (await app.sagas.get(chosen)).status === 'paused');
      await app.operations.resume(chosen);
      await app.sagas.signal(payment, 'paid', 5);
      expect(await handle.outcome()).toMatchObject({ status: 'completed', results: { paid: 5 } });
      expect(await app.sagas.wait(chosen)).toMatchObject({ status: 'completed' });
      expect(await app.operations.history(chosen)).toMatchObject([{ by: 'ann' }, {}, {}]);
    }
    const none = '01900000-0000-7000-8000-000000000009';
    await expect(app.sagas.get(none)).rejects.toThrow(SagaNotFoundError);
    await expect(app.sagas.signal(none, 'paid', 1)).rejects.toThrow(SagaNotFoundError);
    await expect(app.sagas.cancel({ saga: PaymentSaga, correlationId: 'none' })).rejects.toThrow(
      SagaNotFoundError,
    );
  });

  test('wait for each other by their lock keys, which are routed', async () => {
    const [first, second] = [
      await app.sagas.start(AccountSaga, { account: 'a' }),
      await app.sagas.start(AccountSaga, { account: 'a' }),
    ];
    expect(await shardOf(first.id)).toBe(await shardOf(second.id));
    await until(async () => (await app.sagas.get(second.id)).waitingFor?.kind === 'lock');
    await app.sagas.signal(first.id, 'closed');
    await app.sagas.signal(second.id, 'closed');
    expect((await second.outcome()).status).toBe('completed');
  });

  test('are listed and counted together, newest first, over pages', async () => {
    const started: string[] = [];
    for (const correlationId of keys('listed', 9)) {
      const tags = { test: 'listed' };
      started.push((await app.sagas.start(PaymentSaga, {}, { correlationId, tags })).id);
    }
    const filter = { saga: PaymentSaga, tags: { test: 'listed' }, limit: 4 };
    const pages = [await app.sagas.find(filter)];
    while (pages.at(-1)!.next) pages.push(await app.sagas.find({ ...filter, cursor: pages.at(-1)!.next }));
    expect(pages.map(({ items }) => items.length)).toEqual([4, 4, 1]);
    expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual([...started].reverse());
    expect(pages[0]).not.toHaveProperty('unreachable');
    const counts = async () => (await app.shards.list()).map(({ counts }) => counts!.unfinished);
    const { sagas: stats } = await app.operations.stats();
    expect(stats.find(({ saga }) => saga === 'payment')!.count).toBeGreaterThanOrEqual(9);
    expect(Math.min(...(await counts()))).toBeGreaterThan(0);
    // A saga whose worker stores something between the search and the call is left as it is.
    for (const id of started)
      await until(async () => (await app.sagas.get(id)).waitingFor?.kind === 'signal');
    const bulk = await app.operations.bulk('cancel', { tags: { test: 'listed' } });
    expect(bulk).toMatchObject({ matched: 9, done: 9, failed: [], more: false });
    await until(async () => (await app.sagas.find({ ...filter, status: 'compensated' })).items.length === 4);
    expect(await app.operations.cleanup({ olderThan: 0, saga: 'payment', limit: 4 })).toEqual({
      deleted: 4,
      more: true,
    });
    const left = await app.operations.cleanup({ olderThan: 0, saga: 'payment' });
    expect(left.more).toBe(false);
    expect((await app.sagas.find(filter)).items).toEqual([]);
  });

  test('that wait for approval are listed together, oldest first, over pages', async () => {
    const started: string[] = [];
    for (const correlationId of keys('claimed', 5)) {
      const { id } = await app.sagas.start(ClaimSaga, {}, { correlationId });
      await until(async () => (await app.sagas.tasks()).items.some((task) => task.id === id));
      started.push(id);
    }
    expect(new Set(await Promise.all(started.map(shardOf))).size).toBeGreaterThan(1);
    const filter = { saga: ClaimSaga, limit: 2 };
    const pages = [await app.sagas.tasks(filter)];
    while (pages.at(-1)!.next) pages.push(await app.sagas.tasks({ ...filter, cursor: pages.at(-1)!.next }));
    expect(pages.map(({ items }) => items.map(({ id }) => id))).toEqual([
      started.slice(0, 2),
      started.slice(2, 4),
      started.slice(4),
    ]);
    for (const id of started) await app.sagas.approve(id, 'agree', { by: 'ann' });
    expect((await app.sagas.tasks(filter)).items).toEqual([]);
  });

  test('start by their schedules on the first shard', async () => {
    const scheduling = await apps.start({ sagas: [ReportSaga] });
    const schedules = await until(async () => {
      const found = await scheduling.schedules.list();
      return found.length > 0 && found;
    });
    expect(schedules).toMatchObject([{ saga: 'report', cron: '0 4 1 1 *' }]);
    const handle = await scheduling.schedules.trigger(ReportSaga);
    expect((await handle.outcome()).status).toBe('completed');
    expect(await shardOf(handle.id)).toBe('eu');
    await scheduling.schedules.pause(ReportSaga, { by: 'ann' });
    expect(await scheduling.schedules.list()).toMatchObject([{ paused: { by: 'ann' } }]);
    await scheduling.close();
    expect(await apps.sql('us', 'SELECT FROM saga.schedule')).toEqual([]);
    // On the other one they would be started a second time.
    await expect(apps.start({ sagas: [ReportSaga], shards: ['us', 'eu'] })).rejects.toThrow(
      "the schedules are on the shard 'eu', and it is not the first one of shards. Put it first.",
    );
  });

  test('start in the transaction of the application, in its database', async () => {
    for (const name of ['eu', 'us'] as const) {
      const client = await app.pools[name]!.connect();
      await client.query('BEGIN');
      const start = (shard?: string) =>
        app.sagas.start(PaymentSaga, {}, { transaction: client, correlationId: `in-${name}`, shard });
      const { id } = await start();
      const elsewhere = name === 'eu' ? 'us' : 'eu';
      await expect(start(elsewhere)).rejects.toThrow(
        `shard is '${elsewhere}', but the transaction is open in the database of shard '${name}'`,
      );
      const there = await app.sagas.start(PaymentSaga, {}, { shard: elsewhere });
      await expect(app.sagas.signal(there.id, 'paid', 1, { transaction: client })).rejects.toThrow(
        SagaTransactionError,
      );
      await client.query('COMMIT');
      await client.query('BEGIN');
      await app.sagas.signal(id, 'paid', 3, { transaction: client });
      await client.query('COMMIT');
      client.release();
      expect(await shardOf(id)).toBe(name);
      expect((await app.sagas.wait(id)).results).toEqual({ paid: 3 });
    }
  });

  test('do not start on a drained shard, but are found there', async () => {
    const before = [];
    for (const correlationId of keys('drained', 8))
      before.push((await app.sagas.start(PaymentSaga, {}, { correlationId })).id);
    const other = await apps.start({ sagas });
    await app.shards.drain('eu', { by: 'ann', reason: 'a new server' });
    await until(async () => (await other.shards.list())[0]!.accepting === false);
    expect(await app.shards.list()).toMatchObject([
      { name: 'eu', reachable: true, accepting: false },
      { name: 'us', reachable: true, accepting: true },
    ]);
    const on = await apps.idsOn('eu');
    for (const [n, correlationId] of keys('drained', 16).entries()) {
      const started = await other.sagas.start(PaymentSaga, {}, { correlationId });
      if (n < before.length) expect(started.id).toBe(before[n]);
      else expect(await shardOf(started.id)).toBe('us');
    }
    await Promise.all(keys('any', 8).map(() => other.sagas.start(PaymentSaga, {})));
    await expect(other.sagas.start(PaymentSaga, {}, { shard: 'eu' })).rejects.toThrow(SagaStateError);
    expect(await apps.idsOn('eu')).toEqual(on);
    await app.shards.open('eu');
    await until(async () => (await other.shards.list())[0]!.accepting);
    // Their home is 'eu' again, and some of them are on 'us'.
    const moved = keys('drained', 16).slice(before.length);
    for (const correlationId of moved)
      expect((await app.sagas.start(PaymentSaga, {}, { correlationId })).created).toBe(false);
    await app.shards.drain('us');
    await until(async () => !(await other.shards.list())[1]!.accepting);
    for (const correlationId of moved)
      expect((await other.sagas.start(PaymentSaga, {}, { correlationId })).created).toBe(false);
    await app.shards.drain('eu');
    await expect(app.sagas.start(PaymentSaga, {})).rejects.toThrow('no shard accepts new sagas');
    await Promise.all([app.shards.open('eu'), app.shards.open('us')]);
  });
});
