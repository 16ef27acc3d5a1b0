import { Saga, SagaShardUnavailableError, Step } from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { ShardApps } from '../../support/shard-apps.js';

@Saga({ name: 'order' })
class OrderSaga {
  @Step() charge() {
    return 1;
  }
  @Step() send() {
    return 2;
  }
}

const apps = ShardApps.over('eu', 'us');
afterEach(() => apps.find('us'));

const WHY = { by: 'ann', reason: 'payments are down' };

test('a step is paused and resumed on all shards', async () => {
  const { sagas, operations } = await apps.start({ sagas: [OrderSaga] });
  await operations.pauseStep(OrderSaga, 'charge', WHY);
  expect(await operations.pausedSteps()).toEqual({
    items: [{ saga: 'order', step: 'charge', ...WHY, since: expect.any(Date), shards: ['eu', 'us'] }],
  });
  const started = await Promise.all(['eu', 'us'].map((shard) => sagas.start(OrderSaga, {}, { shard })));
  for (const { id } of started)
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'paused-step');
  expect((await operations.stats()).pausedSteps).toEqual([{ saga: 'order', step: 'charge' }]);
  await operations.resumeStep(OrderSaga, 'charge');
  for (const saga of started) expect((await saga.outcome()).status).toBe('completed');
});

test('a shard that cannot be reached is named, and the others are paused', async () => {
  const { sagas, shards, operations } = await apps.start({ sagas: [OrderSaga] });
  apps.lose('us');
  await until(async () => (await shards.list()).some(({ reachable }) => !reachable));
  const paused = operations.pauseStep(OrderSaga, 'charge', WHY);
  await expect(paused).rejects.toThrow(SagaShardUnavailableError);
  await expect(paused).rejects.toThrow("paused on all shards but 'us'");
  expect(await operations.pausedSteps()).toMatchObject({ items: [{ shards: ['eu'] }], unreachable: ['us'] });
  const saga = await sagas.start(OrderSaga, {}, { shard: 'eu' });
  await until(async () => (await sagas.get(saga.id)).waitingFor?.kind === 'paused-step');
  apps.find('us');
  await until(async () => (await shards.list()).every(({ reachable }) => reachable));
  await operations.pauseStep(OrderSaga, 'charge', WHY);
  expect((await operations.pausedSteps()).items).toMatchObject([{ shards: ['eu', 'us'] }]);
  await operations.resumeStep(OrderSaga, 'charge');
  expect((await saga.outcome()).status).toBe('completed');
});

describe('a shard that is added', () => {
  const growing = ShardApps.over('first', 'second');

  test('has the pauses of the others before its first saga starts', async () => {
    const before = await growing.start({ sagas: [OrderSaga], shards: ['first'] });
    await before.operations.pauseStep(OrderSaga, 'charge', WHY);
    const app = await growing.start({ sagas: [OrderSaga] });
    const pauses = async () => (await app.operations.pausedSteps()).items;
    expect(await pauses()).toMatchObject([{ step: 'charge', ...WHY, shards: ['first', 'second'] }]);
    // By a process that does not have the new shard yet.
    await before.operations.pauseStep(OrderSaga, 'send', WHY);
    await app.shards.open('second', { by: 'ann' });
    expect(await pauses()).toMatchObject(
      ['charge', 'send'].map((step) => ({ step, ...WHY, shards: ['first', 'second'] })),
    );
    const order = await app.sagas.start(OrderSaga, {}, { shard: 'second' });
    await until(async () => (await app.sagas.get(order.id)).waitingFor?.kind === 'paused-step');
    for (const step of ['charge', 'send']) await app.operations.resumeStep(OrderSaga, step);
    expect((await order.outcome()).status).toBe('completed');
    // Resumed once, it stays so.
    const later = await growing.start({ sagas: [OrderSaga] });
    expect((await later.operations.pausedSteps()).items).toEqual([]);
  });
});
