import {
  Saga,
  type SagaHandle,
  SagaValidationError,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
} from '../../../libs/saga/src/index.js';
import { Gate, pause, until } from '../../support/gate.js';
import { type TestApp, TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

describe('a semantic lock', () => {
  interface Account {
    account: string;
    n: number;
  }

  /** Notes when each saga begins and ends, by key; `hold` keeps those with these numbers. */
  const scene = () => {
    const log: string[] = [];
    const gates = new Map<number, Gate>();
    @Saga({ name: 'transfer', lockKey: ({ input }: { input: Account }) => input.account })
    class Transfer {
      @Step() async begin(ctx: StepContext<Account>) {
        log.push(`begin ${ctx.input.n}`);
        await gates.get(ctx.input.n)?.opened;
      }
      @Step({ retry: { attempts: 1 } }) end(ctx: StepContext<Account>) {
        log.push(`end ${ctx.input.n}`);
        if (ctx.input.n < 0) throw new StepRejectedError('no');
      }
    }
    return { log, Transfer, hold: (n: number) => gates.set(n, new Gate()).get(n)! };
  };

  test('runs the sagas of one key one after the other, and those of others beside them', async () => {
    const { log, Transfer, hold } = scene();
    const gate = hold(1);
    const { sagas } = await apps.start({ sagas: [Transfer] });
    const first = await sagas.start(Transfer, { account: 'a', n: 1 });
    const second = await sagas.start(Transfer, { account: 'a', n: 2 });
    const third = await sagas.start(Transfer, { account: 'a', n: -3 });
    const fourth = await sagas.start(Transfer, { account: 'a', n: 4 });
    const other = await sagas.start(Transfer, { account: 'b', n: 5 });
    expect((await other.outcome()).status).toBe('completed');
    await until(async () => (await sagas.get(fourth.id)).waitingFor?.kind === 'lock');
    const snapshot = await sagas.get(second.id);
    expect(snapshot).toMatchObject({
      status: 'running',
      waitingFor: { kind: 'lock', key: 'a', holder: first.id },
    });
    expect(snapshot.lockedBy).toBeUndefined();
    gate.open();
    const ended = await Promise.all([first, second, third, fourth].map((saga) => saga.outcome()));
    expect(ended.map(({ status }) => status)).toEqual(['completed', 'completed', 'compensated', 'completed']);
    expect(log.filter((entry) => !entry.endsWith('5'))).toEqual(
      [1, 2, -3, 4].flatMap((n) => [`begin ${n}`, `end ${n}`]),
    );
  });

  test('is no longer waited for by a cancelled or aborted saga, whose step never runs', async () => {
    const { log, Transfer, hold } = scene();
    const gate = hold(1);
    const { sagas, operations } = await apps.start({ sagas: [Transfer] });
    const handles: SagaHandle[] = [];
    for (const n of [1, 2, 3, 4]) handles.push(await sagas.start(Transfer, { account: 'a', n }));
    await until(async () => (await sagas.get(handles[3]!.id)).waitingFor?.kind === 'lock');
    await sagas.cancel(handles[1]!.id);
    await operations.abort(handles[2]!.id);
    expect((await handles[1]!.outcome()).status).toBe('compensated');
    expect((await handles[2]!.outcome()).status).toBe('aborted');
    expect((await sagas.get(handles[0]!.id)).status).toBe('running');
    gate.open();
    expect((await handles[3]!.outcome()).status).toBe('completed');
    expect(log).toEqual(['begin 1', 'end 1', 'begin 4', 'end 4']);
  });

  test('is taken by a saga that the caller’s transaction starts, once that has committed', async () => {
    const { log, Transfer } = scene();
    const { sagas, dataSource } = await apps.start({ sagas: [Transfer] });
    const later = await dataSource.transaction(async (manager) => {
      const handle = await sagas.start(Transfer, { account: 'a', n: 1 }, { manager });
      // No other transaction waits for this one.
      await (await sagas.start(Transfer, { account: 'a', n: 2 })).outcome();
      return handle;
    });
    expect((await later.outcome()).status).toBe('completed');
    expect(log).toEqual(['begin 2', 'end 2', 'begin 1', 'end 1']);
  });

  test('counts the timeout from when it is had', async () => {
    const gate = new Gate();
    @Saga({ name: 'slow', timeout: '1h', lockKey: () => 'k' })
    class Slow {
      @Step() async work(ctx: StepContext<number>) {
        if (ctx.input === 1) await gate.opened;
      }
    }
    const { sagas } = await apps.start({ sagas: [Slow] });
    await sagas.start(Slow, 1);
    const second = await sagas.start(Slow, 2);
    await until(async () => (await sagas.get(second.id)).waitingFor?.kind === 'lock');
    const [before] = await apps.sql('SELECT deadline_at FROM saga.instance WHERE id = $1', [second.id]);
    expect(before).toEqual({ deadline_at: null });
    const [{ now }] = (await apps.sql('SELECT now()')) as [{ now: Date }];
    gate.open();
    await second.outcome();
    const [after] = await apps.sql<{ deadline_at: Date }>(
      'SELECT deadline_at FROM saga.instance WHERE id = $1',
      [second.id],
    );
    expect(after!.deadline_at.getTime()).toBeGreaterThanOrEqual(now.getTime() + 3_600_000);
  });

  test.each<[string, () => unknown]>([
    ['throws', () => (undefined as unknown as { id: string }).id],
    ['gives nothing', () => undefined],
    ['gives a promise', async () => 'k'],
    ['gives an empty string', () => ''],
    ['gives too long a string', () => 'k'.repeat(501)],
    ['gives NUL', () => 'a\0'],
    ['gives half a surrogate pair', () => 'a\ud800'],
  ])('refuses to start a saga whose lockKey %s', async (_, lockKey) => {
    @Saga({ name: 'locked', lockKey: lockKey as () => string })
    class Locked {
      @Step() work() {}
    }
    const { sagas } = await apps.start({ sagas: [Locked] });
    const refused = expect(sagas.start(Locked, {})).rejects;
    await refused.toThrow(SagaValidationError);
    await expect(sagas.start(Locked, {})).rejects.toThrow(/lockKey of saga 'locked'/);
  });

  test('gets its key from the input as it is stored', async () => {
    @Saga({ name: 'dated', lockKey: ({ input }: { input: { at: string } }) => input.at })
    class Dated {
      @Step() work() {}
    }
    const { sagas } = await apps.start({ sagas: [Dated] });
    const { id } = await sagas.start(Dated, { at: new Date(0) });
    expect(await apps.sql('SELECT lock_key FROM saga.instance WHERE id = $1', [id])).toEqual([
      { lock_key: '1970-01-01T00:00:00.000Z' },
    ]);
  });

  test('with lockMode reject, refuses a start while it is held, and not a repeated start, a sub-saga or another key', async () => {
    const gate = new Gate();
    @Saga({
      name: 'export',
      lockKey: ({ input }: { input: Account }) => input.account,
      lockMode: 'reject',
      schedule: { cron: '0 2 1 1 *', overlap: 'allow', input: () => ({ account: 'a', n: 0 }) },
    })
    class Export {
      @Step() async write(ctx: StepContext<Account>) {
        if (ctx.input.n === 1 || ctx.input.n === 8) await gate.opened;
      }
    }
    @Saga({ name: 'parent' })
    class Parent {
      @SubSaga(() => Export) run(ctx: StepContext<Account>): Account {
        return ctx.input;
      }
    }
    const { sagas, schedules, dataSource } = await apps.start({ sagas: [Export, Parent] });
    const first = await sagas.start(Export, { account: 'a', n: 1 }, { correlationId: 'one' });
    const refused = async (start: Promise<unknown>) =>
      expect(await start.catch((error: unknown) => error)).toMatchObject({
        ...{ name: 'SagaConflictError', code: 'SAGA_CONFLICT', sagaId: first.id },
        message: expect.stringMatching(/has the lock 'a', and lockMode is 'reject'/),
      });
    await Promise.all([2, 3].map((n) => refused(sagas.start(Export, { account: 'a', n }))));
    await refused(
      dataSource.transaction((manager) => sagas.start(Export, { account: 'a', n: 4 }, { manager })),
    );
    await refused(schedules.trigger('export'));
    const again = await sagas.start(Export, { account: 'a', n: 1 }, { correlationId: 'one' });
    expect([again.id, again.created]).toEqual([first.id, false]);
    expect((await (await sagas.start(Export, { account: 'b', n: 5 })).outcome()).status).toBe('completed');
    // Of two that start at once, the second waits for the transaction of the first.
    let outside: Promise<unknown> | undefined;
    const inside = await dataSource.transaction(async (manager) => {
      const handle = await sagas.start(Export, { account: 'c', n: 8 }, { manager });
      outside = sagas.start(Export, { account: 'c', n: 9 }).catch((error: unknown) => error);
      await pause(50);
      return handle;
    });
    expect(await outside).toMatchObject({ code: 'SAGA_CONFLICT', sagaId: inside.id });
    const parent = await sagas.start(Parent, { account: 'a', n: 6 });
    await until(async () => (await sagas.get(parent.id)).waitingFor?.kind === 'sub-saga');
    gate.open();
    expect((await parent.outcome()).status).toBe('completed');
    expect((await sagas.find({ saga: 'export' })).items).toHaveLength(4);
    expect((await (await sagas.start(Export, { account: 'a', n: 7 })).outcome()).status).toBe('completed');
  });

  test('is had by one at a time in order, with three applications, and no one is left behind', async () => {
    const keys = 5;
    const active = new Map<string, number>();
    const order = new Map<string, number[]>();
    const overlaps: string[] = [];
    @Saga({ name: 'busy', lockKey: ({ input }: { input: Account }) => input.account })
    class Busy {
      @Step() async begin({ input: { account, n } }: StepContext<Account>) {
        const already = active.get(account);
        if (already !== undefined) overlaps.push(`${account}: ${n} beside ${already}`);
        active.set(account, n);
        order.set(account, [...(order.get(account) ?? []), n]);
        if (n % 7 === 0) await pause(2);
      }
      @Step({ retry: { attempts: 3, delay: 1 } }) end({
        input: { account, n },
        attempt,
      }: StepContext<Account>) {
        if (n % 11 === 0 && attempt === 1) throw new Error('again');
        active.delete(account);
        if (n % 13 === 0) throw new StepRejectedError('no');
      }
    }
    const three = await Promise.all([1, 2, 3].map(() => apps.start({ sagas: [Busy] })));
    // Each key's sagas are started one after the other, from changing applications, while earlier ones end.
    const handles = await Promise.all(
      Array.from({ length: keys }, async (_, key) => {
        const started = [];
        for (let n = 0; n < 60; n += 1) {
          const { sagas } = three[(n + key) % 3] as TestApp;
          started.push(await sagas.start(Busy, { account: `a${key}`, n }));
        }
        return started;
      }),
    );
    const ended = await Promise.all(handles.flat().map((saga) => saga.outcome()));
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['completed', 'compensated']));
    expect(overlaps).toEqual([]);
    for (const numbers of order.values()) expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(await apps.sql('SELECT id FROM saga.instance WHERE lock_state IS NOT NULL')).toEqual([]);
  });
});

describe('a rate limit', () => {
  // Lateness only makes it longer: how exactly the times are given out is tested where time is the database's
  // alone.
  const took = (since: number, startTimes: number[]): number => Math.max(...startTimes) - since;

  test('is kept by the attempts of all sagas in all applications, and all of them get their turn', async () => {
    const startTimes: number[] = [];
    @Saga({ name: 'limited' })
    class Limited {
      @Step({ rateLimit: { count: 10, per: 300 }, retry: { attempts: 3, delay: 1 } })
      call({ attempt, input }: StepContext<number>) {
        startTimes.push(Date.now());
        if (input % 5 === 0 && attempt === 1) throw new Error('again');
      }
      @Step() after() {}
    }
    const three = await Promise.all([1, 2, 3].map(() => apps.start({ sagas: [Limited] })));
    const since = Date.now();
    const handles = await Promise.all(
      Array.from({ length: 60 }, (_, n) => three[n % 3]!.sagas.start(Limited, n)),
    );
    const ended = await Promise.all(handles.map((saga) => saga.outcome()));
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['completed']));
    expect(startTimes).toHaveLength(72);
    expect(took(since, startTimes)).toBeGreaterThanOrEqual(7 * 300);
  });

  test('makes a step wait without a lease, and is not asked again when its time has come', async () => {
    const startTimes: number[] = [];
    @Saga({ name: 'limited' })
    class Limited {
      @Step({ rateLimit: { count: 1, per: '3s' } }) call() {
        startTimes.push(Date.now());
      }
    }
    const { sagas } = await apps.start({ sagas: [Limited] });
    const since = Date.now();
    await (await sagas.start(Limited, 1)).outcome();
    const second = await sagas.start(Limited, 2);
    await until(async () => (await sagas.get(second.id)).waitingFor?.kind === 'rate-limit');
    const snapshot = await sagas.get(second.id);
    expect(snapshot).toMatchObject({
      waitingFor: { kind: 'rate-limit', step: 'call' },
      steps: [{ attempts: 0, status: 'waiting' }],
    });
    expect(snapshot.lockedBy).toBeUndefined();
    const times = `SELECT times FROM saga.rate_limit WHERE saga = 'limited'`;
    const given = await apps.sql(times);
    await second.outcome();
    expect(await apps.sql(times)).toEqual(given);
    expect(took(since, startTimes)).toBeGreaterThanOrEqual(3_000);
    const [row] = await apps.sql(`SELECT progress FROM saga.step WHERE saga_id = $1`, [second.id]);
    expect(row).toEqual({ progress: null });
  });

  test('of each key is kept by itself, and a key that cannot be computed fails the step', async () => {
    const startTimes = new Map<string, number[]>();
    interface Call {
      tenant: string | null;
    }
    @Saga({ name: 'keyed' })
    class Keyed {
      @Step() tenantOf(ctx: StepContext<Call>) {
        if (ctx.input.tenant !== null) ctx.setTags({ tenant: ctx.input.tenant });
      }
      @Step({ rateLimit: { count: 1, per: '1h', key: ({ tags }) => tags.tenant! } })
      call({ input }: StepContext<Call>) {
        startTimes.set(input.tenant!, [...(startTimes.get(input.tenant!) ?? []), Date.now()]);
      }
    }
    const { sagas, operations } = await apps.start({ sagas: [Keyed] });
    const run = async (tenant: string | null) => (await sagas.start(Keyed, { tenant })).outcome();
    expect((await run('a')).status).toBe('completed');
    const second = await sagas.start(Keyed, { tenant: 'a' });
    expect((await run('b')).status).toBe('completed');
    await until(async () => (await sagas.get(second.id)).waitingFor?.kind === 'rate-limit');
    expect((await sagas.get(second.id)).waitingFor).toMatchObject({
      kind: 'rate-limit',
      step: 'call',
      key: 'a',
    });
    expect([...startTimes.entries()].map(([tenant, times]) => [tenant, times.length])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    expect((await run(null)).failure).toMatchObject({
      step: 'call',
      error: { message: expect.stringMatching(/rateLimit\.key\(\) must synchronously return a string/) },
    });
    await operations.abort(second.id);
  });

  test('counts the items of a fan-out, and no skipped step, compensation or other branch', async () => {
    const startTimes: number[] = [];
    let undone = 0;
    @Saga({ name: 'many' })
    class Many {
      @Step({
        rateLimit: { count: 3, per: 400 },
        forEach: () => [1, 2, 3, 4, 5, 6, 7],
        itemsAtOnce: 7,
        compensate: 'undo',
      })
      call() {
        startTimes.push(Date.now());
      }
      undo() {
        undone += 1;
      }
      @Step({ after: [] }) beside() {}
      @Step({ after: 'beside', when: () => false, rateLimit: { count: 1, per: '1h' } }) never() {}
      @Step({ after: ['call', 'never'] }) refused() {
        throw new StepRejectedError('no');
      }
    }
    const { sagas } = await apps.start({ sagas: [Many] });
    const since = Date.now();
    const { outcome } = await sagas.start(Many, {});
    expect((await outcome()).status).toBe('compensated');
    expect(startTimes).toHaveLength(7);
    expect(took(since, startTimes)).toBeGreaterThanOrEqual(2 * 400);
    expect(undone).toBe(7);
    expect(await apps.sql(`SELECT step FROM saga.rate_limit WHERE saga = 'many'`)).toEqual([
      { step: 'call' },
    ]);
  });
});
