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

/** Who is in a step at this moment, in whatever application, and how many there were at most. */
class Witness {
  readonly inside = new Map<number, Gate>();
  readonly order: number[] = [];
  most = 0;

  /** Stays inside until the test lets it go. */
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

  letGo(n = [...this.inside.keys()][0]!): void {
    this.inside.get(n)!.open();
    this.inside.delete(n);
  }
}

describe('a concurrency', () => {
  const scene = (concurrency: number) => {
    const witness = new Witness();
    @Saga({ name: 'limited', concurrency })
    class Limited {
      @Step() async work(ctx: StepContext<number>) {
        await witness.hold(ctx.input);
      }
      @Step() after() {}
    }
    return { witness, Limited };
  };

  test('is reached and never passed by two applications, and each saga that ends makes way for the next without a poll', async () => {
    const { witness, Limited } = scene(3);
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Limited], options: wakeupsOnly() })));
    const handles = await Promise.all(
      Array.from({ length: 20 }, (_, n) => two[n % 2]!.sagas.start(Limited, n)),
    );
    for (let left = 20; left > 0; left -= 1) {
      await witness.has(Math.min(3, left));
      witness.letGo();
    }
    expect(new Set(await statuses(handles))).toEqual(new Set(['completed']));
    expect(witness.most).toBe(3);
    expect(witness.order.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  test('is reached by one claim after the other, however little room each of them takes', async () => {
    const { witness, Limited } = scene(80);
    const web = await apps.start({ sagas: [Limited], options: { worker: false } });
    const handles = await Promise.all(Array.from({ length: 90 }, (_, n) => web.sagas.start(Limited, n)));
    await apps.start({ sagas: [Limited], options: wakeupsOnly() });
    await witness.has(80);
    for (let n = 0; n < 80; n += 1) witness.letGo();
    await witness.has(10);
    for (let n = 0; n < 10; n += 1) witness.letGo();
    expect(new Set(await statuses(handles))).toEqual(new Set(['completed']));
    expect(witness.most).toBe(80);
  });

  test('is told by a saga that waits for it, which holds no lease', async () => {
    const { witness, Limited } = scene(1);
    const { sagas } = await apps.start({ sagas: [Limited], options: wakeupsOnly() });
    const first = await sagas.start(Limited, 1);
    await witness.entered(1);
    const second = await sagas.start(Limited, 2);
    const snapshot = await sagas.get(second.id);
    expect(snapshot.waitingFor).toEqual({ kind: 'concurrency', limit: 1, since: expect.any(Date) });
    expect(snapshot.lockedBy).toBeUndefined();
    expect((await sagas.get(first.id)).waitingFor).toBeUndefined();
    witness.letGo(1);
    await witness.entered(2);
    witness.letGo(2);
    expect(await statuses([first, second])).toEqual(['completed', 'completed']);
  });

  test('keeps sagas of other names from nothing, nor from being started with their lease', async () => {
    const { witness, Limited } = scene(1);
    @Saga({ name: 'plain' })
    class Plain {
      @Step() work() {}
    }
    const { sagas } = await apps.start({ sagas: [Limited, Plain], options: wakeupsOnly() });
    const handles = [await sagas.start(Limited, 1), await sagas.start(Limited, 2)];
    await witness.has(1);
    const plain = await sagas.start(Plain, {});
    expect(await statuses([plain])).toEqual(['completed']);
    expect(await apps.sql('SELECT epoch FROM saga.instance WHERE id = $1', [plain.id])).toEqual([
      { epoch: 1 },
    ]);
    expect(witness.inside.size).toBe(1);
    for (let n = 0; n < 2; n += 1) {
      await witness.has(1);
      witness.letGo();
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
    expect(sent.filter((text) => /due_1/.test(text))).not.toEqual([]);
    expect(sent.filter((text) => /claim_limited|concurrency/.test(text))).toEqual([]);
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
      'need a person',
      'person',
      { compensate: 'undo', compensationRetry: { attempts: 1 }, compensateOnFailure: true },
      () => {
        throw new StepRejectedError('no');
      },
    ],
  ])('is not used by sagas that %s', async (_, kind, options, act) => {
    @Saga({ name: 'one', concurrency: 1 })
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
    const { witness, Limited } = scene(1);
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Limited], options: wakeupsOnly() })));
    const first = await two[0]!.sagas.start(Limited, 1);
    await witness.entered(1);
    const second = await two[1]!.sagas.start(Limited, 2);
    await two[1]!.sagas.abort(first.id);
    await witness.entered(2);
    witness.letGo(2);
    expect(await statuses([first, second])).toEqual(['aborted', 'completed']);
    witness.letGo(1);
  });

  test('goes on elsewhere when the application that uses it shuts down', async () => {
    const { witness, Limited } = scene(1);
    const first = await apps.start({ sagas: [Limited], options: wakeupsOnly() });
    const handle = await first.sagas.start(Limited, 1);
    await witness.entered(1);
    const other = await apps.start({ sagas: [Limited], options: wakeupsOnly() });
    const next = await other.sagas.start(Limited, 2);
    await until(async () => (await crowded()) === true);
    const closed = first.close();
    witness.letGo(1);
    await witness.entered(2);
    witness.letGo(2);
    expect(await statuses([next])).toEqual(['completed']);
    expect((await other.sagas.wait(handle.id)).status).toBe('completed');
    await closed;
  });

  /** Has somebody been turned away? */
  const crowded = async () =>
    (await apps.sql<{ crowded: boolean }>(`SELECT crowded FROM saga.concurrency`))[0]?.crowded;

  test('is given on by who has no use for it to the one that was turned away', async () => {
    const witness = new Witness();
    const versionOf = (version: number) => {
      @Saga({ name: 'limited', version, concurrency: 1 })
      class Limited {
        @Step() async work(ctx: StepContext<number>) {
          await witness.hold(ctx.input);
        }
      }
      return Limited;
    };
    const [V1, V2] = [versionOf(1), versionOf(2)];
    const old = await apps.start({ sagas: [V1], options: wakeupsOnly() });
    const first = await old.sagas.start(V1, 1);
    await witness.entered(1);
    const current = await apps.start({ sagas: [V2], options: wakeupsOnly() });
    const second = await current.sagas.start(V2, 2);
    await until(async () => (await crowded()) === true);
    expect(witness.inside.size).toBe(1);
    witness.letGo(1);
    await witness.entered(2);
    witness.letGo(2);
    expect(await statuses([first, second])).toEqual(['completed', 'completed']);
  });

  test('is had again once a lease has run out, by who waits as well as by who takes over', async () => {
    const { witness, Limited } = scene(2);
    const options = wakeupsOnly({ pollInterval: '20ms' });
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Limited], options })));
    const handles: SagaHandle[] = [];
    for (const n of [1, 2, 3, 4]) handles.push(await two[0]!.sagas.start(Limited, n));
    await witness.has(2);
    expect(witness.order.toSorted()).toEqual([1, 2]);
    await apps.sql(`UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE locked_by IS NOT NULL`);
    await witness.entered(3);
    await witness.entered(4);
    // What those bring that lost their leases does not count.
    for (const n of [1, 2]) witness.letGo(n);
    for (const n of [3, 4]) witness.letGo(n);
    for (const n of [1, 2]) {
      await witness.entered(n);
      witness.letGo(n);
    }
    expect(new Set(await statuses(handles))).toEqual(new Set(['completed']));
    const attempts = await apps.sql(`SELECT attempts FROM saga.step WHERE name = 'work' ORDER BY attempts`);
    expect(attempts).toEqual([1, 1, 2, 2].map((n) => ({ attempts: n })));
  });

  test('is not used by sagas that wait for their semantic lock', async () => {
    const witness = new Witness();
    @Saga({ name: 'both', concurrency: 2, lockKey: ({ key }: { key: string }) => key })
    class Both {
      @Step() async work(ctx: StepContext<{ key: string; n: number }>) {
        await witness.hold(ctx.input.n);
      }
    }
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Both], options: wakeupsOnly() })));
    const handles: SagaHandle[] = [];
    for (const [n, key] of ['a', 'a', 'a', 'b', 'c'].entries())
      handles.push(await two[n % 2]!.sagas.start(Both, { key, n }));
    await witness.entered(0);
    await witness.entered(3);
    witness.letGo(3);
    await witness.entered(4);
    witness.letGo(0);
    await witness.entered(1);
    witness.letGo(1);
    await witness.entered(2);
    witness.letGo(2);
    witness.letGo(4);
    expect(new Set(await statuses(handles))).toEqual(new Set(['completed']));
    expect(witness.most).toBe(2);
  });
});
