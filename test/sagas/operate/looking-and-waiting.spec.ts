import { Saga, SagaTimeoutError, SagaValidationError, Step } from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { OrderScene } from '../../support/order-scene.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

describe('waiting', () => {
  test('past its timeout leaves the saga going on', async () => {
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga] });
    const order = await sagas.start(scene.saga, {});
    await expect(order.outcome({ timeout: 20 })).rejects.toThrow(SagaTimeoutError);
    await expect(sagas.wait(order.id, { timeout: '20ms' })).rejects.toMatchObject({ code: 'SAGA_TIMEOUT' });
    scene.charge.open('charged');
    expect((await order.outcome()).status).toBe('completed');
  });

  test('of no time at all tells that a saga has ended', async () => {
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga] });
    const order = await sagas.start(scene.saga, {});
    await expect(sagas.wait(order.id, { timeout: 0 })).rejects.toThrow(SagaTimeoutError);
    scene.charge.open('charged');
    await order.outcome();
    expect(await sagas.wait(order.id, { timeout: 0 })).toMatchObject({ status: 'completed' });
  });

  test('in another process ends by a notification, and holds no connection', async () => {
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga] });
    const web = await apps.start({
      sagas: [scene.saga],
      options: { worker: false },
      dataSource: { poolSize: 1 },
    });
    web.stopPolling();
    const order = await sagas.start(scene.saga, {});
    await scene.charging.opened;
    const outcomes = Array.from({ length: 20 }, () => web.sagas.wait(order.id));
    await until(async () => (await apps.sql('SELECT FROM saga.instance WHERE watched')).length);
    // The only connection of its pool is free.
    expect((await web.sagas.get(order.id)).status).toBe('running');
    scene.charge.open('charged');
    const results = await Promise.all(outcomes);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['completed']));
    expect(results[0]?.results).toEqual({ reserve: 'reserved', charge: 'charged', ship: 'shipped' });
  });

  test('for many sagas started elsewhere does not depend on the poll', async () => {
    @Saga({ name: 'quick' })
    class Quick {
      @Step() act() {}
    }
    const worker = await apps.start({ sagas: [Quick] });
    const web = await apps.start({ sagas: [Quick], options: { worker: false } });
    for (const app of [worker, web]) app.stopPolling();
    for (let round = 0; round < 30; round += 1) {
      const { outcome } = await web.sagas.start(Quick, {});
      expect((await outcome()).status).toBe('completed');
    }
  });

  test('is over when the process shuts down; the saga goes on', async () => {
    const scene = new OrderScene();
    const web = await apps.start({ sagas: [scene.saga], options: { worker: false } });
    const { outcome } = await web.sagas.start(scene.saga, {});
    const waiting = expect(outcome()).rejects.toMatchObject({ code: 'SAGA_UNAVAILABLE' });
    await web.close();
    await waiting;
  });
});

describe('a look at a saga', () => {
  test('reports why it does not advance', async () => {
    const scene = new OrderScene();
    scene.failing = ['reserve'];
    class Slow extends scene.saga {}
    Saga({ name: 'order', retry: { attempts: 2, delay: '1h', maxDelay: '1h', jitter: 0 } })(Slow);
    const { sagas } = await apps.start({ sagas: [Slow] });
    const delayed = await sagas.start(Slow, {}, { delay: '30m' });
    const { waitingFor, createdAt } = await sagas.get(delayed.id);
    expect(waitingFor).toMatchObject({ kind: 'delay' });
    const { until: end } = waitingFor as { until: Date };
    expect(Math.abs(end.getTime() - createdAt.getTime() - 1_800_000)).toBeLessThan(5);

    const order = await sagas.start(Slow, {});
    await until(async () => (await sagas.get(order.id)).waitingFor?.kind === 'retry');
    const retrying = await sagas.get(order.id);
    expect(retrying).toMatchObject({
      waitingFor: { step: 'reserve' },
      steps: [{ status: 'waiting' }, {}, {}],
    });
    const { at } = retrying.waitingFor as { at: Date };
    expect(at).toEqual(retrying.steps[0]?.retryAt);
    expect(at.getTime()).toBeGreaterThanOrEqual(retrying.createdAt.getTime() + 3_600_000);
  });

  test('finds sagas by name, status, correlation id, tags and time, a page at a time', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() act() {}
    }
    @Saga({ name: 'refund' })
    class Refund {
      @Step() act() {}
    }
    const { sagas, operations } = await apps.start({ sagas: [Order, Refund], options: { worker: false } });
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const tags = { tenant: n % 2 ? 'odd' : 'even' };
      ids.unshift((await sagas.start(Order, { n }, { correlationId: `order-${n}`, tags })).id);
    }
    const refund = await sagas.start(Refund, {});
    const found = async (filter: Parameters<typeof sagas.find>[0]) =>
      (await sagas.find(filter)).items.map(({ id }) => id);
    expect(await found({})).toEqual([refund.id, ...ids]);
    expect(await found({ saga: Order })).toEqual(ids);
    expect(await found({ saga: 'refund' })).toEqual([refund.id]);
    expect(await found({ saga: 'nobody' })).toEqual([]);
    expect(await found({ correlationId: 'order-3' })).toEqual([ids[1]]);
    expect(await found({ correlationId: refund.id })).toEqual([refund.id]);
    expect(await found({ tags: { tenant: 'odd' } })).toEqual([ids[1], ids[3]]);
    await operations.abort(ids[0]!);
    expect(await found({ status: ['aborted', 'completed'] })).toEqual([ids[0]]);
    // A second apart each, whatever the speed of this machine.
    await apps.sql(`UPDATE saga.instance i SET created_at = now() + n.n * interval '1 second'
      FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM saga.instance) n WHERE n.id = i.id`);
    const { createdAt: exact } = await sagas.get(ids[2]!);
    const createdAt = new Date(Math.ceil(exact.getTime() / 100) * 100 - 100);
    expect(await found({ saga: Order, createdBefore: createdAt })).toEqual(ids.slice(3));
    expect(await found({ saga: Order, createdAfter: createdAt })).toEqual(ids.slice(0, 3));

    const pages: string[][] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await sagas.find({ saga: Order, limit: 2, cursor });
      pages.push(page.items.map(({ id }) => id));
      cursor = page.next;
    }
    expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    expect((await sagas.find({ saga: Order, limit: 5 })).next).toBeUndefined();
    await expect(sagas.find({ limit: 0 })).rejects.toThrow(SagaValidationError);
    await expect(sagas.find({ cursor: 'x' })).rejects.toThrow(SagaValidationError);
  });
});
