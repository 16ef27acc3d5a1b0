import {
  Saga,
  type SagaHandle,
  Step,
  type StepContext,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { pause, until } from '../../support/gate.js';
import { type ShardApp, ShardApps } from '../../support/shard-apps.js';

/** How often a step has run, by the saga and the step. */
const runs = new Map<string, number>();
const ran = ({ sagaId, step }: StepContext<object>) => {
  const key = `${sagaId} ${step}`;
  runs.set(key, (runs.get(key) ?? 0) + 1);
};

@Saga({ name: 'payment' })
class PaymentSaga {
  @Step() reserve(ctx: StepContext<object>) {
    ran(ctx);
  }
  @WaitFor({ signal: 'paid', after: 'reserve' }) paid(ctx: StepContext<object>, amount: number) {
    ran(ctx);
    return amount;
  }
}

@Saga({ name: 'order' })
class OrderSaga {
  @SubSaga(() => PaymentSaga) payment() {
    return {};
  }
  @Step({ after: 'payment' }) send(ctx: StepContext<object>) {
    ran(ctx);
  }
}

@Saga({ name: 'account', lockKey: (input: { account: string }) => input.account })
class AccountSaga {
  @Step() open(ctx: StepContext<{ account: string }>) {
    ran(ctx);
  }
  @WaitFor({ signal: 'closed', after: 'open' }) close(ctx: StepContext<{ account: string }>) {
    ran(ctx);
  }
}

const sagas = [PaymentSaga, OrderSaga, AccountSaga];
const apps = ShardApps.over('eu', 'us', 'asia');
/** A lease that is lost, because the machine is busy, is another run of a step. */
const options = { worker: { pollInterval: '50ms', lease: '60s' } };

/** Starts sagas one after the other, lets each wait for a while, and waits for its end. */
class Load {
  readonly started: SagaHandle[] = [];
  private count = 0;
  private isOver = false;
  private readonly loops: Promise<void>[] = [];
  private readonly inProgress = new Set<Promise<void>>();

  constructor(private app: ShardApp) {
    for (let n = 0; n < 12; n += 1) this.loops.push(this.loop());
  }

  /** From now on, sagas are started by another process. Resolves when the calls of the one before have ended. */
  async continueOn(app: ShardApp): Promise<void> {
    this.app = app;
    await Promise.all(this.inProgress);
  }

  /** Resolves when all that was started has ended. */
  async end(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.loops);
  }

  private async loop(): Promise<void> {
    while (!this.isOver) {
      const one = this.one((this.count += 1));
      this.inProgress.add(one);
      await one;
      this.inProgress.delete(one);
    }
  }

  private async one(n: number): Promise<void> {
    const { sagas: service } = this.app;
    const name = ['payment', 'order', 'account'][n % 3]!;
    // Two after another have the same account, so that one waits for the other.
    const input = { account: `account-${Math.floor(n / 6) % 8}` };
    const handle = await service.start(name, input, { correlationId: `load-${n}` });
    this.started.push(handle);
    await pause((n * 37) % 900);
    const target = { saga: name, correlationId: `load-${n}` };
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
}

test('a shard is added and another one is drained while sagas start and end: none is lost, and no step runs twice', async () => {
  const before = await apps.start({ sagas, options, shards: ['eu', 'us'] });
  const load = new Load(before);
  await pause(1_000);
  const app = await apps.start({ sagas, options });
  await load.continueOn(app);
  await before.close();
  await app.sagas.admit('asia', { by: 'ann' });
  await pause(1_000);
  await app.sagas.drain('eu', { by: 'ann' });
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
  expect([...runs].filter(([, count]) => count !== 1)).toEqual([]);
  expect((await app.sagas.shards())[0]!.counts).toMatchObject({ unfinished: 0 });
});
