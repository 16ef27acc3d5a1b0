import {
  Saga,
  type SagaHandle,
  type SagaModuleOptions,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
/** Nothing happens by polling, nor because a lease runs out. */
const wakeupsOnly: SagaModuleOptions = { worker: { pollInterval: '1h', lease: '10m' } };

/** The attempts in progress in any application, by what they were given, and their maximum number. */
class HeldCalls {
  readonly inside = new Map<string, Gate>();
  readonly order: string[] = [];
  most = 0;

  async hold(name: string): Promise<void> {
    const gate = new Gate();
    this.inside.set(name, gate);
    this.order.push(name);
    this.most = Math.max(this.most, this.inside.size);
    await gate.opened;
  }

  has(count: number): Promise<unknown> {
    return until(() => this.inside.size === count);
  }

  release(name = [...this.inside.keys()][0]!): void {
    this.inside.get(name)!.open();
    this.inside.delete(name);
  }
}

interface Order {
  readonly name: string;
  readonly account: string;
}

describe('a limit of a step', () => {
  const calls = new HeldCalls();

  test('is kept for a step that waits while its saga is rolled back to a savepoint: it gets its slot afterwards', async () => {
    const calls = new HeldCalls();
    @Saga({ name: 'rolled-back' })
    class RolledBack {
      @Step({ limit: { count: 1 }, after: [] }) work(ctx: StepContext<string>) {
        return calls.hold(`${ctx.input} works`);
      }
      @Step({ after: [], savepoint: true }) begin() {}
      @Step({ after: ['begin'], compensate: 'release' }) reserve() {}
      async release() {
        await calls.hold('release');
      }
      @Step({ after: ['reserve'], retry: { attempts: 1 } }) charge(ctx: StepContext<string>) {
        if (ctx.input === 'second' && ctx.round === 1) throw new Error('not yet');
      }
    }
    const { sagas } = await apps.start({ sagas: [RolledBack], options: wakeupsOnly });
    const first = await sagas.start(RolledBack, 'first');
    await until(() => calls.inside.has('first works'));
    const second = await sagas.start(RolledBack, 'second');
    await until(() => calls.inside.has('release'));
    expect((await sagas.get(second.id)).steps[0]).toMatchObject({ name: 'work', status: 'waiting' });
    calls.release('first works');
    expect((await first.outcome()).status).toBe('completed');
    calls.release('release');
    await until(() => calls.inside.has('second works'));
    calls.release('second works');
    expect((await second.outcome()).status).toBe('completed');
  });

  test('is kept by all applications together; those that wait hold no lease, and follow in their order', async () => {
    @Saga({ name: 'slotted' })
    class Slotted {
      @Step() before() {}
      @Step({ limit: { count: 2 } }) work(ctx: StepContext<string>) {
        return calls.hold(ctx.input);
      }
      @Step() after() {}
    }
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Slotted], options: wakeupsOnly })));
    const [{ sagas }] = two as [(typeof two)[0]];
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const handles: SagaHandle[] = [];
    for (const [n, name] of names.entries()) {
      handles.push(await two[n % 2]!.sagas.start(Slotted, name));
      await until(async () => {
        const { waitingFor } = await sagas.get(handles[n]!.id);
        return calls.order.includes(name) || waitingFor?.kind === 'limit';
      });
    }
    const third = await sagas.get(handles[2]!.id);
    expect(third.lockedBy).toBeUndefined();
    expect(third.waitingFor).toMatchObject({ kind: 'limit', step: 'work', limit: 2 });
    expect(third.steps[1]).toMatchObject({ name: 'work', status: 'waiting', attempts: 0 });
    for (const [n] of names.entries()) {
      await until(() => calls.order.length === Math.min(n + 2, names.length));
      calls.release();
    }
    for (const handle of handles) expect((await handle.outcome()).status).toBe('completed');
    expect(calls.most).toBe(2);
    expect(calls.order).toEqual(names);
    await until(async () => (await apps.sql('SELECT FROM saga.step_slot')).length === 0);
  });

  test('is of each key by itself, and is shown with the key', async () => {
    @Saga({ name: 'keyed-slots' })
    class Keyed {
      @Step({ limit: { count: 1, key: ({ input }: { input: Order }) => input.account } })
      work(ctx: StepContext<Order>) {
        return calls.hold(ctx.input.name);
      }
    }
    const { sagas } = await apps.start({ sagas: [Keyed], options: wakeupsOnly });
    const start = (name: string, account: string) => sagas.start(Keyed, { name, account });
    const first = await start('a1', 'a');
    await calls.has(1);
    const second = await start('a2', 'a');
    await until(async () => (await sagas.get(second.id)).waitingFor?.kind === 'limit');
    expect((await sagas.get(second.id)).waitingFor).toMatchObject({ step: 'work', key: 'a', limit: 1 });
    const other = await start('b1', 'b');
    await calls.has(2);
    calls.release('a1');
    await until(() => calls.inside.has('a2'));
    calls.release('a2');
    calls.release('b1');
    for (const handle of [first, second, other]) expect((await handle.outcome()).status).toBe('completed');
    await until(async () => (await apps.sql(`SELECT FROM saga.step_limit WHERE key <> ''`)).length === 0);
  });

  test('lets the next one in when an attempt fails or times out', async () => {
    @Saga({ name: 'ending-slots', retry: { attempts: 2, delay: '20ms' } })
    class Ending {
      @Step({ limit: { count: 1 }, timeout: '200ms' }) async work(ctx: StepContext<string>) {
        if (ctx.input === 'fails' && ctx.attempt === 1) throw new Error('again');
        if (ctx.input === 'times out' && ctx.attempt === 1) return new Promise<void>(() => undefined);
      }
    }
    const { sagas } = await apps.start({ sagas: [Ending], options: wakeupsOnly });
    for (const input of ['fails', 'times out', 'plain']) {
      const handles = [await sagas.start(Ending, input), await sagas.start(Ending, 'plain')];
      for (const handle of handles) expect((await handle.outcome()).status).toBe('completed');
    }
  });

  test('lets the next one in while a step waits for its next attempt, and its saga keeps a worker', async () => {
    @Saga({ name: 'backing-off-slots' })
    class BackingOff {
      @Step({ after: [] }) async busy(ctx: StepContext<string>) {
        if (ctx.input === 'fails') await calls.hold(ctx.input);
      }
      @Step({ after: [], limit: { count: 1 }, retry: { attempts: 2, delay: '1h' } }) work(
        ctx: StepContext<string>,
      ) {
        if (ctx.input === 'fails') throw new Error('again');
      }
    }
    const { sagas } = await apps.start({ sagas: [BackingOff], options: wakeupsOnly });
    const failing = await sagas.start(BackingOff, 'fails');
    await until(() => calls.inside.has('fails'));
    expect((await (await sagas.start(BackingOff, 'plain')).outcome()).status).toBe('completed');
    await sagas.cancel(failing.id);
    calls.release('fails');
    expect((await failing.outcome()).status).toBe('compensated');
  });

  test('lets the next one in when an attempt is cancelled, and forgets who stops waiting', async () => {
    @Saga({ name: 'cancelled-slots' })
    class Cancelled {
      @Step({ limit: { count: 1 } }) async work(ctx: StepContext<string>) {
        if (ctx.input === 'holds') await calls.hold(ctx.input);
      }
    }
    const { sagas } = await apps.start({ sagas: [Cancelled], options: wakeupsOnly });
    const holder = await sagas.start(Cancelled, 'holds');
    await until(() => calls.inside.has('holds'));
    const [cancelled, last] = [await sagas.start(Cancelled, 'plain'), await sagas.start(Cancelled, 'plain')];
    for (const { id } of [cancelled, last])
      await until(async () => (await sagas.get(id)).waitingFor?.kind === 'limit');
    await sagas.cancel(cancelled.id);
    expect((await cancelled.outcome()).status).toBe('compensated');
    expect((await sagas.get(last.id)).waitingFor?.kind).toBe('limit');
    await sagas.cancel(holder.id);
    calls.release('holds');
    expect((await last.outcome()).status).toBe('completed');
    expect((await holder.outcome()).status).toBe('compensated');
  });

  test('lets the next one in when an operator abandons an attempt, or takes a step that waits as done', async () => {
    const hangs = new Gate();
    @Saga({ name: 'abandoned-slots', retry: { attempts: 1 } })
    class Abandoned {
      @Step({ limit: { count: 1 } }) work(ctx: StepContext<string>) {
        if (ctx.input !== 'hangs') return undefined;
        hangs.open();
        return new Promise<void>(() => undefined);
      }
    }
    const { sagas, operations } = await apps.start({ sagas: [Abandoned], options: wakeupsOnly });
    const hanging = await sagas.start(Abandoned, 'hangs');
    await hangs.opened;
    const [done, last] = [await sagas.start(Abandoned, 'plain'), await sagas.start(Abandoned, 'plain')];
    for (const { id } of [done, last])
      await until(async () => (await sagas.get(id)).waitingFor?.kind === 'limit');
    await expect(operations.reschedule(done.id, 'work', '1h')).rejects.toThrow(
      /waits for a slot of its limit/,
    );
    await operations.resolve(done.id, 'work', { by: 'ann', reason: 'done elsewhere' });
    expect((await done.outcome()).status).toBe('completed');
    await operations.abandon(hanging.id, 'work', { by: 'ann', reason: 'it hangs' });
    expect((await last.outcome()).status).toBe('completed');
    expect((await hanging.outcome()).status).toBe('compensated');
  });

  test('counts the items of all sagas', async () => {
    let [now, most] = [0, 0];
    @Saga({ name: 'slotted-items' })
    class Items {
      @Step({ forEach: () => [1, 2, 3, 4, 5, 6], limit: { count: 3 } }) async work() {
        now += 1;
        most = Math.max(most, now);
        await new Promise((resolve) => setTimeout(resolve, 20));
        now -= 1;
      }
    }
    const { sagas } = await apps.start({ sagas: [Items], options: wakeupsOnly });
    const handles = await Promise.all([1, 2, 3].map((n) => sagas.start(Items, n)));
    for (const handle of handles) expect((await handle.outcome()).status).toBe('completed');
    expect(most).toBe(3);
  });
});
