import type { INestApplicationContext } from '@nestjs/common';
import { firstValueFrom, type Subscription } from 'rxjs';
import {
  Saga,
  SagaNotFoundError,
  type SagaService,
  SagaUnavailableError,
  type SagaUpdate,
  Step,
  type StepContext,
  StepRejectedError,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { SagaTest } from '../../../libs/saga/src/testing/index.js';
import { Gate, pause, until } from '../../support/gate.js';
import { databaseParts } from '../../support/database-parts.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

interface Order {
  sku: string;
}
let shipping: Gate;
beforeEach(() => (shipping = new Gate()));

@Saga({ name: 'watched-order', retry: { attempts: 1 } })
class OrderSaga {
  @Step() reserve(ctx: StepContext<Order>) {
    return { reserved: ctx.input.sku };
  }
  @WaitFor({ signal: 'paid' }) paid() {
    return 'yes';
  }
  @Step() async ship(ctx: StepContext) {
    for (let percent = 0; percent <= 100; percent += 25) ctx.progress({ percent, message: 'packing' });
    await shipping.opened;
  }
  @Step() finish(ctx: StepContext<Order>) {
    if (ctx.input.sku === 'none') throw new StepRejectedError('sold out');
  }
}
const sagas = [OrderSaga];
const web = { sagas, options: { worker: false } as const };

const brief = ({ data }: SagaUpdate<OrderSaga>) => `${data.status}, at ${data.step}`;

function collect(service: SagaService, id: string) {
  const states: string[] = [];
  const revisions: number[] = [];
  const shown: (number | undefined)[] = [];
  let end: unknown;
  const subscription: Subscription = service.watch<OrderSaga>(id).subscribe({
    next: (update) => {
      states.push(brief(update));
      revisions.push(update.data.revision);
      const progress = update.data.steps.find(({ name }) => name === 'ship')?.progress;
      if (progress) shown.push(progress.percent);
    },
    error: (error: unknown) => (end = error),
    complete: () => (end = 'completed'),
  });
  return { states, revisions, shown, subscription, ended: () => until(() => end) };
}

test('from another process: the current state first, then each later one in order, until the end', async () => {
  const { sagas: service } = await apps.start({ sagas });
  const { sagas: other } = await apps.start(web);
  const { id, outcome } = await service.start(OrderSaga, { sku: 'a' });
  await until(async () => (await other.get(id)).waitingFor?.kind === 'signal');
  const watched = [collect(other, id), collect(other, id), collect(service, id)];
  await until(() => watched.every(({ states }) => states.length > 0));
  expect(watched.map(({ states }) => states[0])).toEqual(Array(3).fill('running, at paid'));
  await service.signal(id, 'paid');
  await until(() => watched.every(({ shown }) => shown.includes(100)));
  shipping.open();
  await outcome();
  for (const { states, revisions, ended } of watched) {
    expect(await ended()).toBe('completed');
    expect(states.at(-1)).toBe('completed, at ');
    expect(states).toContain('running, at ship');
    expect(revisions).toEqual([...revisions].sort((a, b) => a - b));
    expect(new Set(states).size).toBeGreaterThanOrEqual(3);
  }
  // What has ended is one state.
  expect(await firstValueFrom(other.watch(id))).toMatchObject({ data: { status: 'completed' } });
  const [done] = (await other.get(id)).steps.filter(({ name }) => name === 'ship');
  expect(done).not.toHaveProperty('progress');
});

test('as a loop, by correlation id; a slow loop skips to the newest state', async () => {
  const { sagas: service } = await apps.start({ sagas });
  shipping.open();
  const key = { saga: OrderSaga, correlationId: 'o-1' } as const;
  await service.start(OrderSaga, { sku: 'none' }, { correlationId: 'o-1' });
  const states: string[] = [];
  for await (const update of service.watch(key)) {
    // The types of the saga's class.
    const sku: string = update.data.input.sku;
    states.push(`${sku}: ${update.data.status}`);
    if (states.length > 1) continue;
    await service.signal(key, 'paid');
    await service.wait(key);
    // All of it happens while the loop is busy.
    await until(async () => (await service.get(key)).status === 'compensated');
    await pause(700);
  }
  expect(states).toEqual(['none: running', 'none: compensated']);
});

test('a saga that needs attention is still watched; leaving the loop ends the watch', async () => {
  @Saga({ name: 'stuck-order', onFailure: 'suspend', retry: { attempts: 1 } })
  class StuckSaga {
    @Step() fail(ctx: StepContext<{ fails: boolean }>) {
      if (ctx.input.fails) throw new Error('no');
    }
    @WaitFor({ signal: 'go' }) go() {}
  }
  const { sagas: service, operations, nest } = await apps.start({ sagas: [StuckSaga] });
  const { id } = await service.start(StuckSaga, { fails: true });
  const seen: string[] = [];
  for await (const { data } of service.watch(id)) {
    seen.push(data.status);
    if (data.status === 'suspended') await operations.retry(id, { input: { fails: false } });
    if (data.waitingFor?.kind === 'signal') break;
  }
  expect(seen).toContain('suspended');
  expect(seen.at(-1)).toBe('running');
  expect(await watchedIn(nest)).toBe(0);
});

test('ends with an error if there is no such saga, if it is deleted, and at shutdown', async () => {
  const app = await apps.start({ sagas });
  const { sagas: service } = app;
  const none = '01900000-0000-7000-8000-000000000000';
  await expect(firstValueFrom(service.watch(none))).rejects.toThrow(SagaNotFoundError);
  await expect(firstValueFrom(service.watch({ saga: OrderSaga, correlationId: 'x' }))).rejects.toThrow(
    SagaNotFoundError,
  );
  const { id } = await service.start(OrderSaga, { sku: 'a' });
  const { id: other } = await service.start(OrderSaga, { sku: 'b' });
  const [deleted, cut] = [collect(service, id), collect(service, other)];
  await until(() => deleted.states.length > 0 && cut.states.length > 0);
  await apps.sql('DELETE FROM saga.instance WHERE id = $1', [id]);
  expect(await deleted.ended()).toBeInstanceOf(SagaNotFoundError);
  await app.close();
  expect(await cut.ended()).toBeInstanceOf(SagaUnavailableError);
});

test('watching writes nothing, and without watchers nothing is asked', async () => {
  const { sagas: service, nest } = await apps.start(web);
  const { id } = await service.start(OrderSaga, { sku: 'a' });
  const row = () => apps.sql('SELECT xmin, * FROM saga.instance WHERE id = $1', [id]);
  const before = await row();
  const { states, subscription } = collect(service, id);
  await until(() => states.length > 0);
  await pause(600);
  expect([states, await row(), await watchedIn(nest)]).toEqual([['running, at reserve'], before, 1]);
  subscription.unsubscribe();
  expect(await watchedIn(nest)).toBe(0);
});

test('in a SagaTest', async () => {
  shipping.open();
  const run = await SagaTest.of(OrderSaga).start({ sku: 'a' });
  const states: string[] = [];
  run.sagas.watch<OrderSaga>(run.id).subscribe((update) => states.push(brief(update)));
  await until(() => states.length > 0);
  await run.signal('paid');
  await run.finish();
  await until(() => states.length > 1 && states.at(-1) !== 'running, at ship');
  expect([states[0], states.at(-1)]).toEqual(['running, at paid', 'completed, at ']);
});

async function watchedIn(nest: INestApplicationContext): Promise<number> {
  return (await databaseParts(nest)).engine.watchers.size;
}
