import {
  Saga,
  type SagaHandle,
  type SagaService,
  Step,
  type StepContext,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { pause, until } from '../../support/gate.js';
import { ShardApps } from '../../support/shard-apps.js';
import { type LoadedSaga, ShardLoad, StepRuns } from '../../support/shard-load.js';

const runs = new StepRuns();

@Saga({ name: 'payment' })
class PaymentSaga {
  @Step() reserve(ctx: StepContext<object>) {
    runs.ran(ctx);
  }
  @WaitFor({ signal: 'paid', after: 'reserve' }) paid(ctx: StepContext<object>, amount: number) {
    runs.ran(ctx);
    return amount;
  }
}

@Saga({ name: 'order' })
class OrderSaga {
  @SubSaga(() => PaymentSaga) payment() {
    return {};
  }
  @Step({ after: 'payment' }) send(ctx: StepContext<object>) {
    runs.ran(ctx);
  }
}

@Saga({ name: 'account', lockKey: ({ input }: { input: { account: string } }) => input.account })
class AccountSaga {
  @Step() open(ctx: StepContext<{ account: string }>) {
    runs.ran(ctx);
  }
  @WaitFor({ signal: 'closed', after: 'open' }) close(ctx: StepContext<{ account: string }>) {
    runs.ran(ctx);
  }
}

const sagas = [PaymentSaga, OrderSaga, AccountSaga];
const apps = ShardApps.over('eu', 'us', 'asia');
/** A lease that is lost, because the machine is busy, is another run of a step. */
const options = { worker: { pollInterval: '50ms', lease: '60s' } } as const;

/** Lets a saga wait for a while. */
async function runToEnd(
  service: SagaService,
  { n, name, correlationId, target, input }: LoadedSaga,
  started: (handle: SagaHandle) => void,
): Promise<void> {
  const handle = await service.start(name, input, { correlationId });
  started(handle);
  await pause((n * 37) % 900);
  if (name === 'order') {
    const child = async () => {
      const { waitingFor } = await service.get(target);
      return waitingFor?.kind === 'sub-saga' ? waitingFor.id : undefined;
    };
    await until(async () => (await child()) !== undefined);
    await service.signal((await child())!, 'paid', n);
  } else await service.signal(target, name === 'payment' ? 'paid' : 'closed', n);
  expect((await handle.outcome({ timeout: '60s' })).status).toBe('completed');
}

test('a shard is added and another one is drained while sagas start and end: none is lost, and no step runs twice', async () => {
  const before = await apps.start({ sagas, options, shards: ['eu', 'us'] });
  let service = before.sagas;
  const load = new ShardLoad((saga, started) => runToEnd(service, saga, started));
  await pause(1_000);
  const app = await apps.start({ sagas, options });
  service = app.sagas;
  await load.passed();
  await before.close();
  await app.shards.open('asia', { by: 'ann' });
  await pause(1_000);
  await app.shards.drain('eu', { by: 'ann' });
  // A start that had chosen its shard before may be stored after.
  await load.startsReturned();
  const left = await apps.idsOn('eu');
  await pause(1_000);
  await load.end();

  expect(load.started.length).toBeGreaterThan(30);
  expect(new Set(load.started.map(({ id }) => id)).size).toBe(load.started.length);
  const on = Object.fromEntries(
    await Promise.all(['eu', 'us', 'asia'].map(async (name) => [name, await apps.idsOn(name)] as const)),
  ) as Record<string, string[]>;
  const there = Object.values(on).flat();
  expect(load.started.filter(({ id }) => !there.includes(id))).toEqual([]);
  expect(new Set(there).size).toBe(there.length);
  expect(on.asia!.length).toBeGreaterThan(0);
  // Only sub-sagas start on a drained shard.
  expect(load.started.filter(({ id }) => on.eu!.includes(id) && !left.includes(id))).toEqual([]);
  expect(runs.repeated).toEqual([]);
  expect((await app.shards.list())[0]!.counts).toMatchObject({ unfinished: 0 });
});
