import {
  Saga,
  type SagaHandle,
  type SagaModuleOptions,
  Step,
  type StepContext,
  StepRejectedError,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { StatementLog } from '../../support/statement-log.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
/** Nothing happens by polling, nor because a lease runs out. */
const wakeupsOnly = (given: Exclude<SagaModuleOptions['worker'], false> = {}): SagaModuleOptions => ({
  worker: { pollInterval: '1h', lease: '10m', ...given },
});
const statuses = async (handles: readonly SagaHandle[]) =>
  (await Promise.all(handles.map((handle) => handle.outcome()))).map(({ status }) => status);

/** The calls of a step that are running in any application, and their maximum number. */
class HeldCalls {
  readonly inside = new Map<number, Gate>();
  readonly order: number[] = [];
  most = 0;

  /** Stays inside until the test releases it. */
  async hold(n: number): Promise<void> {
    const gate = new Gate();
    this.inside.set(n, gate);
    this.order.push(n);
    this.most = Math.max(this.most, this.inside.size);
    await gate.opened;
  }

  has(count: number): Promise<unknown> {
    return until(() => this.inside.size === count);
  }

  entered(n: number): Promise<unknown> {
    return until(() => this.inside.has(n));
  }

  release(n = [...this.inside.keys()][0]!): void {
    this.inside.get(n)!.open();
    this.inside.delete(n);
  }
}

describe('a limit of a saga', () => {
  const scene = (limit: number) => {
    const calls = new HeldCalls();
    @Saga({ name: 'limited', limit })
    class Limited {
      @Step() async work(ctx: StepContext<number>) {
        await calls.hold(ctx.input);
      }
      @Step() after() {}
    }
    return { calls, Limited };
  };

  test('is reached and never passed by two applications, and each saga that ends makes way for the next without a poll', async () => {
    const { calls, Limited } = scene(3);
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Limited], options: wakeupsOnly() })));
    const handles = await Promise.all(
      Array.from({ length: 20 }, (_, n) => two[n % 2]!.sagas.start(Limited, n)),
    );
    for (let left = 20; left > 0; left -= 1) {
      await calls.has(Math.min(3, left));
      calls.release();
    }
    expect(new Set(await statuses(handles))).toEqual(new Set(['completed']));
    expect(calls.most).toBe(3);
    expect(calls.order.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  test('is reached by one claim after the other, however little room each of them takes', async () => {
    const { calls, Limited } = scene(80);
    const web = await apps.start({ sagas: [Limited], options: { worker: false } });
    const handles = await Promise.all(Array.from({ length: 90 }, (_, n) => web.sagas.start(Limited, n)));
    await apps.start({ sagas: [Limited], options: wakeupsOnly() });
    await calls.has(80);
    for (let n = 0; n < 80; n += 1) calls.release();
    await calls.has(10);
    for (let n = 0; n < 10; n += 1) calls.release();
    expect(new Set(await statuses(handles))).toEqual(new Set(['completed']));
    expect(calls.most).toBe(80);
  });

  test('is reported by a saga that waits for it, which holds no lease', async () => {
    const { calls, Limited } = scene(1);
    const { sagas } = await apps.start({ sagas: [Limited], options: wakeupsOnly() });
    const first = await sagas.start(Limited, 1);
    await calls.entered(1);
    const second = await sagas.start(Limited, 2);
    const snapshot = await sagas.get(second.id);
    expect(snapshot.waitingFor).toEqual({ kind: 'limit', limit: 1, since: expect.any(Date) });
    expect(snapshot.lockedBy).toBeUndefined();
    expect((await sagas.get(first.id)).waitingFor).toBeUndefined();
    calls.release(1);
    await calls.entered(2);
    calls.release(2);
    expect(await statuses([first, second])).toEqual(['completed', 'completed']);
  });

  test('of each key is kept by two applications, and the first saga of another key does not wait', async () => {
    const calls = new HeldCalls();
    interface Job {
      tenant: string;
      n: number;
    }
    @Saga({ name: 'keyed', limit: { count: 2, key: ({ input }: { input: Job }) => input.tenant } })
    class Keyed {
      @Step() async work(ctx: StepContext<Job>) {
        await calls.hold(ctx.input.n);
      }
    }
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Keyed], options: wakeupsOnly() })));
    const start = (tenant: string, n: number) => two[n % 2]!.sagas.start(Keyed, { tenant, n });
    const large = await Promise.all(Array.from({ length: 12 }, (_, n) => start('large', n)));
    await calls.has(2);
    const small = await start('small', 100);
    await calls.entered(100);
    const waiting = large[large.length - 1]!;
    expect((await two[0]!.sagas.get(waiting.id)).waitingFor).toEqual({
      ...{ kind: 'limit', limit: 2, key: 'large', since: expect.any(Date) },
    });
    calls.release(100);
    expect(await statuses([small])).toEqual(['completed']);
    for (let left = 12; left > 0; left -= 1) {
      await calls.has(Math.min(2, left));
      calls.release();
    }
    expect(new Set(await statuses(large))).toEqual(new Set(['completed']));
    expect(calls.most).toBe(3);
    await expect(start(undefined as never, 0)).rejects.toThrow(/limit\.key of saga 'keyed' must synchr/);
  });

  test('keeps sagas of other names from nothing, nor from being started with their lease', async () => {
    const { calls, Limited } = scene(1);
    @Saga({ name: 'plain' })
    class Plain {
      @Step() work() {}
    }
    const { sagas } = await apps.start({ sagas: [Limited, Plain], options: wakeupsOnly() });
    const handles = [await sagas.start(Limited, 1), await sagas.start(Limited, 2)];
    await calls.has(1);
    const plain = await sagas.start(Plain, {});
    expect(await statuses([plain])).toEqual(['completed']);
    expect(await apps.sql('SELECT epoch FROM saga.instance WHERE id = $1', [plain.id])).toEqual([
      { epoch: 1 },
    ]);
    expect(calls.inside.size).toBe(1);
    for (let n = 0; n < 2; n += 1) {
      await calls.has(1);
      calls.release();
    }
    await statuses(handles);
  });

  test('costs workers nothing that have no such saga', async () => {
    @Saga({ name: 'plain' })
    class Plain {
      @Step() work() {}
    }
    const log = new StatementLog();
    const { sagas } = await apps.start({
      sagas: [Plain],
      dataSource: { logging: ['query'], logger: log },
    });
    await (await sagas.start(Plain, {}, { delay: 1 })).outcome();
    const sent = log.statements.map(({ text }) => text).filter((text) => !/CREATE/.test(text));
    expect(sent.filter((text) => /claim/.test(text))).not.toEqual([]);
    expect(sent.filter((text) => /claim_limited|saga_limit/.test(text))).toEqual([]);
  });

  test.each<[string, string, object, () => void]>([
    [
      'wait for a retry',
      'retry',
      { retry: { attempts: 2, delay: '1h' } },
      () => {
        throw new Error('later');
      },
    ],
    ['wait for a delay', 'delay', { delay: '1h' }, () => undefined],
    [
      'need an operator',
      'person',
      { compensate: 'undo', compensationRetry: { attempts: 1 }, compensateOnFailure: true },
      () => {
        throw new StepRejectedError('no');
      },
    ],
  ])('is not used by sagas that %s', async (_, kind, options, act) => {
    @Saga({ name: 'one', limit: 1 })
    class One {
      @Step() begin() {}
      @Step(options) work() {
        act();
      }
      undo() {
        throw new Error('cannot');
      }
    }
    const { sagas } = await apps.start({ sagas: [One], options: wakeupsOnly() });
    const handles = await Promise.all([1, 2, 3].map((n) => sagas.start(One, n)));
    for (const { id } of handles) await until(async () => (await sagas.get(id)).waitingFor?.kind === kind);
  });

  test('has room for the next when an operator aborts a saga, whatever its step still does', async () => {
    const { calls, Limited } = scene(1);
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Limited], options: wakeupsOnly() })));
    const first = await two[0]!.sagas.start(Limited, 1);
    await calls.entered(1);
    const second = await two[1]!.sagas.start(Limited, 2);
    await two[1]!.operations.abort(first.id);
    await calls.entered(2);
    calls.release(2);
    expect(await statuses([first, second])).toEqual(['aborted', 'completed']);
    calls.release(1);
  });

  test('goes on elsewhere when the application that uses it shuts down', async () => {
    const { calls, Limited } = scene(1);
    const first = await apps.start({ sagas: [Limited], options: wakeupsOnly() });
    const handle = await first.sagas.start(Limited, 1);
    await calls.entered(1);
    const other = await apps.start({ sagas: [Limited], options: wakeupsOnly() });
    const next = await other.sagas.start(Limited, 2);
    await until(async () => (await crowded()) === true);
    const closed = first.close();
    calls.release(1);
    await calls.entered(2);
    calls.release(2);
    expect(await statuses([next])).toEqual(['completed']);
    expect((await other.sagas.wait(handle.id)).status).toBe('completed');
    await closed;
  });

  /** Whether a saga was rejected for lack of a slot. */
  const crowded = async () =>
    (await apps.sql<{ crowded: boolean }>(`SELECT crowded FROM saga.saga_limit`))[0]?.crowded;

  test('is passed on to the rejected saga by a worker that cannot use it', async () => {
    const calls = new HeldCalls();
    const versionOf = (version: number) => {
      @Saga({ name: 'limited', version, limit: 1 })
      class Limited {
        @Step() async work(ctx: StepContext<number>) {
          await calls.hold(ctx.input);
        }
      }
      return Limited;
    };
    const [V1, V2] = [versionOf(1), versionOf(2)];
    const old = await apps.start({ sagas: [V1], options: wakeupsOnly() });
    const first = await old.sagas.start(V1, 1);
    await calls.entered(1);
    const current = await apps.start({ sagas: [V2], options: wakeupsOnly() });
    const second = await current.sagas.start(V2, 2);
    await until(async () => (await crowded()) === true);
    expect(calls.inside.size).toBe(1);
    calls.release(1);
    await calls.entered(2);
    calls.release(2);
    expect(await statuses([first, second])).toEqual(['completed', 'completed']);
  });

  test('becomes free once a lease expires, for waiting sagas and for the worker that takes over', async () => {
    const { calls, Limited } = scene(2);
    const options = wakeupsOnly({ pollInterval: '20ms' });
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Limited], options })));
    const handles: SagaHandle[] = [];
    for (const n of [1, 2, 3, 4]) handles.push(await two[0]!.sagas.start(Limited, n));
    await calls.has(2);
    expect(calls.order.toSorted()).toEqual([1, 2]);
    await apps.sql(`UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE locked_by IS NOT NULL`);
    await calls.entered(3);
    await calls.entered(4);
    // What those bring that lost their leases does not count.
    for (const n of [1, 2]) calls.release(n);
    for (const n of [3, 4]) calls.release(n);
    for (const n of [1, 2]) {
      await calls.entered(n);
      calls.release(n);
    }
    expect(new Set(await statuses(handles))).toEqual(new Set(['completed']));
    const attempts = await apps.sql(`SELECT attempts FROM saga.step WHERE name = 'work' ORDER BY attempts`);
    expect(attempts).toEqual([1, 1, 2, 2].map((n) => ({ attempts: n })));
  });

  test('is not used by sagas that wait for their semantic lock', async () => {
    const calls = new HeldCalls();
    @Saga({ name: 'both', limit: 2, lockKey: ({ input }: { input: { key: string } }) => input.key })
    class Both {
      @Step() async work(ctx: StepContext<{ key: string; n: number }>) {
        await calls.hold(ctx.input.n);
      }
    }
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Both], options: wakeupsOnly() })));
    const handles: SagaHandle[] = [];
    for (const [n, key] of ['a', 'a', 'a', 'b', 'c'].entries())
      handles.push(await two[n % 2]!.sagas.start(Both, { key, n }));
    await calls.entered(0);
    await calls.entered(3);
    calls.release(3);
    await calls.entered(4);
    calls.release(0);
    await calls.entered(1);
    calls.release(1);
    await calls.entered(2);
    calls.release(2);
    calls.release(4);
    expect(new Set(await statuses(handles))).toEqual(new Set(['completed']));
    expect(calls.most).toBe(2);
  });
});
