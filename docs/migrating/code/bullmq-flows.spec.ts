import { StepRejectedError } from 'nestjs-durable-saga';
import { SagaTest } from 'nestjs-durable-saga/testing';
import { RecipeApps } from '../../recipes/code/recipe-apps.js';
import { type IdleJob, OrderModule, PlaceOrderSaga, Shop, TakeOver } from './bullmq-flows.js';

const order = { id: 'order-1', sku: 'tea', cents: 100 };

describe('what was a flow', () => {
  const place = SagaTest.of(PlaceOrderSaga).providers(Shop);

  test('ships once stock and payment are there', async () => {
    const { outcome, trace } = await place.run(order);
    expect(outcome.status).toBe('completed');
    expect([...trace].sort()).toEqual(['charge', 'reserve', 'ship']);
    expect(trace.at(-1)).toBe('ship');
  });

  test('compensates one branch when the other is refused, where a flow would only fail', async () => {
    const run = await place.failing('charge', new StepRejectedError('declined')).run(order);
    expect(run.outcome.status).toBe('compensated');
    expect(run.trace).toContain('release');
    expect(run.trace).not.toContain('ship');
  });
});

describe('a job that no worker has started', () => {
  const apps = RecipeApps.onOwnDatabase();

  test('becomes a saga that starts when the job would have, once, though it was cut off', async () => {
    const { nest, sagas } = await apps.start({ module: { imports: [OrderModule] } });
    const begins = new Date(Date.now() + 3_600_000);
    let removals = 0;
    const job: IdleJob = {
      ...{ id: '1', data: order, timestamp: begins.getTime() - 60_000, delay: 60_000 },
      remove: async () => {
        removals += 1;
        if (removals === 1) throw new Error('Redis is away');
      },
    };
    const takeOver = nest.get(TakeOver);
    await expect(takeOver.job(job)).rejects.toThrow('Redis is away');
    await takeOver.job(job);
    const { items } = await sagas.find({ saga: PlaceOrderSaga });
    expect(items).toHaveLength(1);
    expect((await sagas.get(items[0]!.id)).waitingFor).toEqual({ kind: 'delay', until: begins });
  });
});
