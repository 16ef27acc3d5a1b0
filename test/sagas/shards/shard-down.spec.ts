import {
  Saga,
  SagaConfigurationError,
  SagaNotFoundError,
  SagaShardUnavailableError,
  Step,
  type StepContext,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { ShardApps } from '../../support/shard-apps.js';

@Saga({ name: 'payment' })
class PaymentSaga {
  @WaitFor({ signal: 'paid' }) paid(_ctx: StepContext<object>, amount: number) {
    return amount;
  }
}

@Saga({ name: 'quick' })
class QuickSaga {
  @Step() once() {
    return 1;
  }
}

const apps = ShardApps.over('eu', 'us');
afterEach(() => apps.find('us'));

const sagas = [PaymentSaga, QuickSaga];
const keys = (word: string, count: number) => Array.from({ length: count }, (_, n) => `${word}-${n}`);

test('a shard that cannot be reached keeps none of the others, and continues afterwards', async () => {
  const app = await apps.start({ sagas });
  const eu = await app.sagas.start(PaymentSaga, {}, { shard: 'eu', correlationId: 'on-eu' });
  const us = await app.sagas.start(PaymentSaga, {}, { shard: 'us', correlationId: 'on-us' });
  const outcome = us.outcome();
  apps.lose('us');
  await until(async () => (await app.shards.list()).some(({ reachable }) => !reachable));
  expect(await app.shards.list()).toMatchObject([
    { name: 'eu', reachable: true },
    { name: 'us', reachable: false, accepting: true },
  ]);
  // What may start anywhere starts on the other shard.
  const started = await Promise.all(keys('any', 10).map(() => app.sagas.start(QuickSaga, {})));
  for (const handle of started) expect((await handle.outcome()).status).toBe('completed');
  expect(await apps.idsOn('eu')).toEqual(expect.arrayContaining(started.map(({ id }) => id)));
  // Calls for its sagas fail at once, and those for others do not.
  const began = performance.now();
  await expect(app.sagas.get(us.id)).rejects.toThrow(SagaShardUnavailableError);
  await expect(app.sagas.signal(us.id, 'paid', 1)).rejects.toMatchObject({
    code: 'SAGA_SHARD_UNAVAILABLE',
    shard: 'us',
  });
  await expect(app.sagas.start(PaymentSaga, {}, { shard: 'us' })).rejects.toThrow(
    "Shard 'us' cannot be reached",
  );
  await expect(app.sagas.get({ saga: PaymentSaga, correlationId: 'on-us' })).rejects.toThrow(
    SagaShardUnavailableError,
  );
  expect(await app.sagas.get({ saga: PaymentSaga, correlationId: 'on-eu' })).toMatchObject({ id: eu.id });
  await app.sagas.signal(eu.id, 'paid', 1);
  expect((await eu.outcome()).status).toBe('completed');
  expect(performance.now() - began).toBeLessThan(5_000);
  // Lists and counts say what they lack.
  expect(await app.sagas.find({ saga: PaymentSaga })).toMatchObject({
    items: [{ id: eu.id }],
    unreachable: ['us'],
  });
  expect(await app.operations.stats()).toMatchObject({ unreachable: ['us'] });
  expect(await app.operations.bulk('cancel', { saga: PaymentSaga, status: 'running' })).toMatchObject({
    matched: 0,
    unreachable: ['us'],
  });
  apps.find('us');
  await until(async () => (await app.shards.list()).every(({ reachable }) => reachable));
  await app.sagas.signal(us.id, 'paid', 2);
  expect(await outcome).toMatchObject({ status: 'completed', results: { paid: 2 } });
});

test('a shard that is reported as unreachable gets no saga that may start anywhere', async () => {
  const app = await apps.start({ sagas });
  for (let round = 0; round < 5; round += 1) {
    apps.lose('us');
    expect(await app.shards.list()).toMatchObject([{ reachable: true }, { name: 'us', reachable: false }]);
    const started = await Promise.all(keys('any', 10).map(() => app.sagas.start(QuickSaga, {})));
    expect(await apps.idsOn('eu')).toEqual(expect.arrayContaining(started.map(({ id }) => id)));
    apps.find('us');
    await until(async () => (await app.shards.list()).every(({ reachable }) => reachable));
  }
});

test('a process that starts while a shard cannot be reached has it later', async () => {
  apps.lose('us');
  const app = await apps.start({ sagas });
  expect(await app.shards.list()).toMatchObject([{ reachable: true }, { name: 'us', reachable: false }]);
  expect((await app.sagas.start(QuickSaga, {})).created).toBe(true);
  await expect(app.sagas.get('01900000-0000-7000-8000-000000000009')).rejects.toThrow(
    SagaShardUnavailableError,
  );
  apps.find('us');
  await until(async () => (await app.shards.list()).every(({ reachable }) => reachable));
  const us = await app.sagas.start(QuickSaga, {}, { shard: 'us' });
  expect((await us.outcome()).status).toBe('completed');
  await expect(app.sagas.get('01900000-0000-7000-8000-000000000009')).rejects.toThrow(SagaNotFoundError);
});

test('a process starts while the database of a shard refuses all logins', async () => {
  const app = await apps.start({ sagas });
  await app.close();
  const database = new URL(apps.url('us')).pathname.slice(1);
  const allow = (logins: boolean) =>
    apps.sql('eu', `ALTER DATABASE "${database}" WITH ALLOW_CONNECTIONS ${String(logins)}`);
  await allow(false);
  const again = await apps.start({ sagas });
  await allow(true);
  expect((await again.sagas.start(QuickSaga, {}, { shard: 'eu' })).created).toBe(true);
  await until(async () => (await again.shards.list()).every(({ reachable }) => reachable));
});

test('a shard that is added accepts sagas once it is admitted, and correlation ids stay unique', async () => {
  const old = await apps.start({ sagas, shards: ['eu', 'us'] });
  const before = new Map<string, string>();
  for (const correlationId of keys('added', 12))
    before.set(correlationId, (await old.sagas.start(PaymentSaga, {}, { correlationId })).id);
  await apps.add('asia');
  const app = await apps.start({ sagas });
  const asia = async () => (await app.shards.list())[2]!;
  expect(await asia()).toMatchObject({ name: 'asia', accepting: false });
  await app.sagas.start(PaymentSaga, {}, { correlationId: 'by-both' });
  expect(await apps.idsOn('asia')).toEqual([]);
  await app.shards.open('asia', { by: 'ann' });
  for (const [correlationId, id] of before)
    expect((await app.sagas.start(PaymentSaga, {}, { correlationId })).id).toBe(id);
  for (const correlationId of keys('new', 12)) await app.sagas.start(PaymentSaga, {}, { correlationId });
  expect((await apps.idsOn('asia')).length).toBeGreaterThan(0);
  for (const correlationId of keys('new', 12))
    expect((await app.sagas.get({ saga: PaymentSaga, correlationId })).status).toBe('running');
});

test('a database that had sagas before it became a shard is the first of its shards', async () => {
  await apps.add('one');
  const single = await apps.start({
    sagas,
    shards: [],
    options: { shards: undefined, database: apps.database('one') },
  });
  const { id } = await single.sagas.start(PaymentSaga, {}, { correlationId: 'before' });
  expect(await single.shards.list()).toEqual([]);
  await expect(single.sagas.start(PaymentSaga, {}, { shard: 'one' })).rejects.toThrow(
    "start(): the shard is 'one', but the application has no shards",
  );
  await expect(single.shards.drain('one')).rejects.toThrow('the application has no shards');
  await single.close();
  await apps.add('two');
  const app = await apps.start({ sagas, shards: ['two', 'one'] });
  expect((await app.shards.list()).map(({ accepting }) => accepting)).toEqual([false, true]);
  await app.shards.open('two');
  expect((await app.sagas.get(id)).id).toBe(id);
  expect(await app.sagas.start(PaymentSaga, {}, { correlationId: 'before' })).toMatchObject({
    created: false,
    id,
  });
});

test('a database that is another shard than the configuration says is refused', async () => {
  await (await apps.start({ sagas, shards: ['eu', 'us'] })).close();
  const swapped = { eu: apps.database('us'), us: apps.database('eu') };
  const start = apps.start({ sagas, shards: [], options: { shards: swapped } });
  await expect(start).rejects.toThrow(SagaConfigurationError);
  await expect(start).rejects.toThrow("the database of shards.eu is the shard 'us'");
});
