import { DataPointType, type HistogramMetricData } from '@opentelemetry/sdk-metrics';
import { Approval, Saga, Step, type StepContext, StepRejectedError } from '../../libs/saga/src/index.js';
import { MessageRefusedError, Outbox, SagaMessagingModule } from '../../libs/messaging/src/index.js';
import { SAGA_METRICS } from '../../libs/telemetry/src/saga-metrics.js';
import { SagaTelemetryModule } from '../../libs/telemetry/src/index.js';
import { Gate, until } from '../support/gate.js';
import { StatementLog } from '../support/statement-log.js';
import { TestApps } from '../support/test-app.js';
import { waits } from '../support/waits.js';
import { CollectedMetrics } from './support/collected-metrics.js';

const apps = TestApps.onOwnDatabase();
const metrics = CollectedMetrics.ofThisFile();
const counting = [SagaTelemetryModule.forRoot({ traces: false, gauges: false })];
const imports = [SagaTelemetryModule.forRoot()];
const ONCE = { attempts: 1 };

@Saga({ name: 'order', retry: { attempts: 2, delay: 1 }, compensationRetry: ONCE })
class OrderSaga {
  @Step({ compensate: 'release' }) reserve() {}
  release({ input }: { input: { stuck?: boolean } }) {
    if (input.stuck) throw new Error('503');
  }
  @Step() charge({ input }: StepContext<{ declined?: boolean; stuck?: boolean }>) {
    if (input.declined || input.stuck) throw new TypeError('declined');
  }
}

describe('counted and timed is', () => {
  test('each saga that starts, and each that ends, by its status', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports: counting });
    for (const input of [{}, {}, { declined: true }]) await (await sagas.start(OrderSaga, input)).outcome();
    expect(await metrics.points('saga.started')).toMatchObject([
      { attributes: { 'saga.name': 'order' }, value: 3 },
    ]);
    expect(await metrics.points('saga.finished')).toMatchObject([
      { attributes: { 'saga.name': 'order', 'saga.status': 'completed' }, value: 2 },
      { attributes: { 'saga.name': 'order', 'saga.status': 'compensated' }, value: 1 },
    ]);
    expect(await metrics.points('saga.duration')).toMatchObject([
      { value: { count: 2 } },
      { value: { count: 1 } },
    ]);
  });

  test('each attempt, of steps and of compensations, by its outcome', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports: counting });
    await (await sagas.start(OrderSaga, { stuck: true })).outcome();
    const of = (step: string, kind: string, outcome: string) => ({
      ...{
        'saga.name': 'order',
        'saga.step.name': step,
        'saga.step.kind': kind,
        'saga.step.outcome': outcome,
      },
    });
    expect(await metrics.points('saga.step.attempts')).toMatchObject([
      { attributes: of('reserve', 'run', 'completed'), value: 1 },
      { attributes: { ...of('charge', 'run', 'failed'), 'error.type': 'TypeError' }, value: 2 },
      { attributes: { ...of('reserve', 'compensate', 'failed'), 'error.type': 'Error' }, value: 1 },
    ]);
    const durations = (await metrics.collect()).get('saga.step.duration') as HistogramMetricData;
    expect(durations.descriptor.unit).toBe('s');
    expect(durations.dataPoints.map(({ value }) => value.count)).toEqual([1, 2, 1]);
    expect(durations.dataPoints[0]!.value.buckets.boundaries[0]).toBe(0.005);
  });

  test('how long an attempt took, in seconds', async () => {
    @Saga({ name: 'slow' })
    class Slow {
      @Step() act() {
        return new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    const { sagas } = await apps.start({ sagas: [Slow], imports: counting });
    await (await sagas.start(Slow, undefined)).outcome();
    const point = await metrics.histogram('saga.step.duration');
    expect(point.sum).toBeGreaterThanOrEqual(0.049);
    expect(point.sum).toBeLessThan(30);
  });

  test('each attempt that is lost because no heartbeat came in time, and none that timed out', async () => {
    @Saga({ name: 'import' })
    class Import {
      @Step({ heartbeat: '50ms', retry: { attempts: 2, delay: 1 } })
      load({ attempt }: StepContext) {
        return attempt === 1 ? new Promise(() => {}) : attempt;
      }
      @Step({ timeout: '50ms', retry: { attempts: 2, delay: 1 } })
      check({ attempt }: StepContext) {
        return attempt === 1 ? new Promise(() => {}) : attempt;
      }
    }
    const { sagas } = await apps.start({ sagas: [Import], imports: counting });
    expect((await (await sagas.start(Import, undefined)).outcome()).status).toBe('completed');
    expect(await metrics.points('saga.heartbeat.losses')).toMatchObject([
      { attributes: { 'saga.name': 'import', 'saga.step.name': 'load' }, value: 1 },
    ]);
  });

  test('how many checkpoints share a statement, and how many sagas a claim', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports: counting });
    const orders = await Promise.all(
      Array.from({ length: 20 }, () => sagas.start(OrderSaga, {}, { delay: 1 })),
    );
    await Promise.all(orders.map((order) => order.outcome()));
    const batches = await metrics.histogram('saga.checkpoint.batch_size');
    // Two that store a step and go on, or end the saga.
    expect(batches.sum).toBeGreaterThanOrEqual(40);
    const claims = await metrics.histogram('saga.claim.batch_size');
    expect(claims.sum).toBe(20);
  });

  test('each claim that fails, by its error', async () => {
    const options = { worker: { pollInterval: '50ms' } } as const;
    const { dataSource, sagas } = await apps.start({ sagas: [OrderSaga], imports: counting, options });
    await dataSource.query('ALTER FUNCTION saga.due RENAME TO away');
    const order = await sagas.start(OrderSaga, {}, { delay: 1 });
    const failures = () => metrics.points('saga.claim.failures');
    await until(async () => (await metrics.collect()).has('saga.claim.failures'));
    expect(await failures()).toMatchObject([{ attributes: { 'error.type': 'QueryFailedError' } }]);
    await dataSource.query('ALTER FUNCTION saga.away RENAME TO due');
    await order.outcome();
  });

  test('each saga that is taken away from its worker, and each that is taken over', async () => {
    const [inside, goOn] = [new Gate(), new Gate()];
    let hangs = true;
    @Saga({ name: 'slow' })
    class Slow {
      @Step() async act() {
        inside.open();
        if (hangs) await goOn.opened;
      }
    }
    const options = { worker: { lease: '3s', pollInterval: '50ms' } } as const;
    const first = await apps.start({ sagas: [Slow], imports: counting, options });
    const slow = await first.sagas.start(Slow, undefined);
    await inside.opened;
    hangs = false;
    // As if it had been stopped for longer than its lease.
    await apps.sql(
      `UPDATE saga.instance SET locked_by = 'lost', epoch = epoch + 1, due_at = now(), rank_at = now()`,
    );
    await until(async () => (await first.sagas.get(slow.id)).status === 'completed');
    goOn.open();
    const name = { attributes: { 'saga.name': 'slow' }, value: 1 };
    await until(async () => (await metrics.points('saga.lease.losses')).length > 0);
    expect(await metrics.points('saga.lease.losses')).toMatchObject([name]);
    expect(await metrics.points('saga.takeovers')).toMatchObject([name]);
  });
});

describe('reported from the database is', () => {
  test('how many sagas are unfinished, by status, those that need an operator, and 0 once there are none', async () => {
    @Saga({ name: 'large' })
    class Large {
      @Approval() accept() {}
    }
    const { sagas, operations } = await apps.start({ sagas: [OrderSaga, Large], imports });
    const stuck = await sagas.start(OrderSaga, { stuck: true });
    await stuck.outcome();
    const large = await sagas.start(Large, undefined);
    await waits(apps, large.id);
    const active = (saga: string, status: string, value: number) => ({
      ...{ attributes: { 'saga.name': saga, 'saga.status': status }, value },
    });
    const points = await metrics.points('saga.active');
    expect(points).toHaveLength(2);
    expect(points).toEqual(
      expect.arrayContaining([
        expect.objectContaining(active('large', 'running', 1)),
        expect.objectContaining(active('order', 'stuck', 1)),
      ]),
    );
    expect(await metrics.points('saga.stuck')).toMatchObject([
      { attributes: { 'saga.name': 'order' }, value: 1 },
    ]);
    await operations.resolve(stuck.id, 'reserve');
    await sagas.approve(large.id, 'accept', { by: 'ann' });
    await Promise.all([sagas.wait(stuck.id), sagas.wait(large.id)]);
    expect((await metrics.points('saga.active')).map(({ value }) => value)).toEqual([0, 0]);
    expect((await metrics.points('saga.stuck')).map(({ value }) => value)).toEqual([0]);
  });

  test('each step that an operator has paused, until it is resumed', async () => {
    const { operations } = await apps.start({ sagas: [OrderSaga], imports });
    expect(await metrics.points('saga.paused_steps')).toEqual([]);
    for (const step of ['charge', 'reserve'] as const)
      await operations.pauseStep(OrderSaga, step, { by: 'ann' });
    const paused = async () =>
      (await metrics.points('saga.paused_steps')).map(({ attributes, value }) => [attributes, value]);
    const of = (step: string) => ({ 'saga.name': 'order', 'saga.step.name': step });
    expect(await paused()).toEqual(
      expect.arrayContaining([
        [of('charge'), 1],
        [of('reserve'), 1],
      ]),
    );
    await operations.resumeStep(OrderSaga, 'charge', { by: 'ann' });
    expect(await paused()).toEqual(
      expect.arrayContaining([
        [of('charge'), 0],
        [of('reserve'), 1],
      ]),
    );
  });

  test('how many sagas wait for a worker, and how long the first of them has', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports, options: { worker: false } });
    await sagas.start(OrderSaga, {});
    await sagas.start(OrderSaga, {});
    await apps.sql(`UPDATE saga.instance SET due_at = now() - interval '90 s'`);
    expect(await metrics.points('saga.due')).toMatchObject([{ value: 2 }]);
    const oldest = await metrics.number('saga.oldest_due');
    expect(oldest).toBeGreaterThanOrEqual(90);
    expect(oldest).toBeLessThan(120);
    await apps.sql(`DELETE FROM saga.instance`);
    expect(await metrics.points('saga.oldest_due')).toMatchObject([{ value: 0 }]);
  });

  test('how long the oldest message has waited to be sent', async () => {
    @Saga({ name: 'publishing' })
    class Publishing {
      @Step() tell(ctx: StepContext) {
        ctx.publish({ topic: 'orders', payload: {} });
      }
    }
    const messaging = SagaMessagingModule.forRoot({ relay: false });
    const { sagas } = await apps.start({ sagas: [Publishing], imports: [...imports, messaging] });
    await (await sagas.start(Publishing, undefined)).outcome();
    await apps.sql(`UPDATE saga.outbox SET created_at = now() - interval '90 s'`);
    const lag = await metrics.number('saga.outbox.lag');
    expect(lag).toBeGreaterThanOrEqual(90);
    expect(await metrics.points('saga.outbox.waiting')).toMatchObject([{ value: 1 }]);
    expect(await metrics.points('saga.outbox.dead')).toMatchObject([{ value: 0 }]);
  });

  test('how long a message has waited that the broker refuses', async () => {
    const transport = { send: () => Promise.reject(new MessageRefusedError('no queue')) };
    const messaging = SagaMessagingModule.forRoot({
      transport,
      relay: { retry: { attempts: 9, delay: '1h' } },
    });
    const { nest, dataSource } = await apps.start({ sagas: [OrderSaga], imports: [...imports, messaging] });
    const outbox = nest.get(Outbox, { strict: false });
    await dataSource.transaction((manager) => outbox.publish(manager, { topic: 'orders', payload: {} }));
    await until(
      async () => (await apps.sql(`SELECT 1 FROM saga.outbox WHERE retry_at IS NOT NULL`)).length > 0,
    );
    await apps.sql(`UPDATE saga.outbox SET created_at = now() - interval '90 s'`);
    expect(await metrics.number('saga.outbox.lag')).toBeGreaterThanOrEqual(90);
  });

  test('by one look for each collection, and by none after the application has stopped', async () => {
    const log = new StatementLog();
    const dataSource = { logging: ['query'], logger: log };
    const app = await apps.start({ imports, dataSource, options: { worker: false } });
    const looks = () => log.statements.filter(({ text }) => text.includes('oldestDue')).length;
    await metrics.collect();
    expect(looks()).toBe(1);
    await metrics.collect();
    expect(looks()).toBe(2);
    await app.close();
    await metrics.collect();
    expect(looks()).toBe(2);
  });

  test('nothing in a process that is configured to leave it to others', async () => {
    await apps.start({ sagas: [OrderSaga], imports: counting });
    expect(await metrics.points('saga.due')).toEqual([]);
  });
});

test('all metrics have the names, kinds and units that are documented', async () => {
  const { sagas } = await apps.start({ sagas: [OrderSaga], imports });
  await (await sagas.start(OrderSaga, { stuck: true })).outcome();
  await (await sagas.start(OrderSaga, {}, { delay: 1 })).outcome();
  const exported = await metrics.collect();
  const types = {
    counter: DataPointType.SUM,
    histogram: DataPointType.HISTOGRAM,
    gauge: DataPointType.GAUGE,
  };
  for (const { name, kind, unit, description } of Object.values(SAGA_METRICS)) {
    const metric = exported.get(name);
    // Those that nothing has happened for yet are not exported.
    if (metric)
      expect(metric).toMatchObject({ descriptor: { unit, description }, dataPointType: types[kind] });
  }
  const names: readonly string[] = Object.values(SAGA_METRICS).map(({ name }) => name);
  expect([...exported.keys()].filter((name) => !names.includes(name))).toEqual([]);
});

test('what is rejected is counted as that, and not as a failure', async () => {
  @Saga({ name: 'order' })
  class Order {
    @Step() charge() {
      throw new StepRejectedError('declined');
    }
  }
  const { sagas } = await apps.start({ sagas: [Order], imports: counting });
  await (await sagas.start(Order, undefined)).outcome();
  expect(await metrics.points('saga.step.attempts')).toMatchObject([
    { attributes: { 'saga.step.outcome': 'rejected', 'error.type': 'StepRejectedError' }, value: 1 },
  ]);
});
