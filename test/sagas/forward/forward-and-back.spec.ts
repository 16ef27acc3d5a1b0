import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  UnknownOutcomeError,
} from '../../../libs/saga/src/index.js';
import { aborted, Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const ONCE = { attempts: 1 };

describe('going forward', () => {
  test('each result is durable before the next step begins', async () => {
    const seen: unknown[] = [];
    const recorded = async (id: string) =>
      (
        await apps.sql(
          `SELECT name, status, result FROM saga.step WHERE saga_id = $1 AND status = 'completed' ORDER BY started_at`,
          [id],
        )
      ).map((row) => Object.values(row));
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve({ sagaId }: StepContext) {
        seen.push(await recorded(sagaId));
        return { id: 7 };
      }
      @Step() async charge({ sagaId, results }: StepContext<unknown, Order>): Promise<number> {
        seen.push(await recorded(sagaId));
        return results.reserve.id + 1;
      }
      @Step() async ship({ sagaId }: StepContext) {
        seen.push(await recorded(sagaId));
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const order = await sagas.start(Order, {});
    expect(await order.outcome()).toEqual({
      id: order.id,
      status: 'completed',
      results: { reserve: { id: 7 }, charge: 8, ship: undefined },
    });
    const [reserve, charge] = [
      ['reserve', 'completed', { id: 7 }],
      ['charge', 'completed', 8],
    ];
    expect(seen).toEqual([[], [reserve], [reserve, charge]]);
  });

  test('inherited steps run in their place, with what is injected', async () => {
    class Prices {
      readonly of = () => 5;
    }
    class Base {
      constructor(readonly prices: Prices) {}
      @Step() price() {
        return this.prices.of();
      }
    }
    @Saga({ name: 'order' })
    class Order extends Base {
      // Nest reads the constructor's parameters of the class itself.
      constructor(prices: Prices) {
        super(prices);
      }
      @Step() double({ results }: StepContext<unknown, Order>): number {
        return results.price * 2;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order], providers: [Prices] });
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).results).toEqual({ price: 5, double: 10 });
  });
});

describe('turning back', () => {
  test('undoes in reverse what was done, each with its result, and says why', async () => {
    const ran: unknown[] = [];
    const undone = ({ step, result, failure, attempt, idempotencyKey, sagaId }: CompensationContext) =>
      ran.push([step, result, failure.kind, failure.step, attempt, idempotencyKey.replace(sagaId, 'id')]);
    @Saga({ name: 'order' })
    class Order {
      @Step({ compensate: 'undoA' }) a() {
        return 'A';
      }
      undoA(ctx: CompensationContext) {
        undone(ctx);
      }
      @Step() b() {
        return 'nothing undoes this';
      }
      @Step({ compensate: 'undoC' }) c() {
        return { C: true };
      }
      undoC(ctx: CompensationContext) {
        undone(ctx);
      }
      @Step({ compensate: 'undoD', retry: { attempts: 5 } }) d() {
        throw new StepRejectedError('no');
      }
      undoD(ctx: CompensationContext) {
        undone(ctx);
      }
      @Step({ compensate: 'undoD' }) e() {
        ran.push('never');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const order = await sagas.start(Order, {});
    const outcome = await order.outcome();
    expect(outcome).toMatchObject({
      status: 'compensated',
      results: { b: 'nothing undoes this' },
      failure: { kind: 'rejected', step: 'd', error: { name: 'StepRejectedError', message: 'no' } },
    });
    expect(ran).toEqual([
      ['c', { C: true }, 'rejected', 'd', 1, 'id:c:compensate'],
      ['a', 'A', 'rejected', 'd', 1, 'id:a:compensate'],
    ]);
    const { steps } = await sagas.get(order.id);
    expect(steps.map(({ name, status, attempts }) => [name, status, attempts])).toEqual([
      ['a', 'compensated', 1],
      ['b', 'completed', 1],
      ['c', 'compensated', 1],
      ['d', 'failed', 1],
      ['e', 'pending', 0],
    ]);
  });

  test('undoes the step that failed, too, where it says so', async () => {
    const ran: unknown[] = [];
    @Saga({ name: 'order', retry: ONCE })
    class Order {
      @Step({ compensate: 'undo', compensateOnFailure: true }) act() {
        throw new Error('down');
      }
      undo({ result }: CompensationContext) {
        ran.push(result);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    await (await sagas.start(Order, {})).outcome();
    expect(ran).toEqual([undefined]);
  });

  test('tries compensations again, and keeps all that went wrong', async () => {
    const attempts: number[] = [];
    @Saga({ name: 'order', retry: ONCE, compensationRetry: { attempts: 3, delay: 1 } })
    class Order {
      @Step({ compensate: 'undo' }) act() {}
      undo({ attempt }: CompensationContext) {
        attempts.push(attempt);
        if (attempt < 3) throw new Error(`down ${attempt}`);
      }
      @Step() refuse() {
        throw new Error('no');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'error' } });
    expect(attempts).toEqual([1, 2, 3]);
    expect((await sagas.get(id)).steps[0]?.errors.map(({ message, during }) => [message, during])).toEqual([
      ['down 1', 'compensation'],
      ['down 2', 'compensation'],
    ]);
  });
});

describe('a failed attempt', () => {
  test('is made again after a wait that outlives the process', async () => {
    const attempts: number[] = [];
    @Saga({ name: 'order', retry: { attempts: 2, delay: '1h', maxDelay: '1h' } })
    class Order {
      @Step() act({ attempt }: StepContext) {
        attempts.push(attempt);
        if (attempt === 1) throw new Error('not yet');
        return 'done';
      }
    }
    const first = await apps.start({ sagas: [Order] });
    const { id } = await first.sagas.start(Order, {});
    await until(async () => (await first.sagas.get(id)).waitingFor?.kind === 'retry');
    expect((await first.sagas.get(id)).lockedBy).toBeUndefined();
    await first.close();
    // The hour is nearly over.
    const left = `now() + interval '300 ms'`;
    await apps.sql(`UPDATE saga.step SET retry_at = ${left}`);
    const [row] = await apps.sql<{ due_at: Date }>(
      `UPDATE saga.instance SET due_at = ${left}, rank_at = ${left} RETURNING due_at`,
    );
    const second = await apps.start({ sagas: [Order] });
    expect(await second.sagas.wait(id)).toMatchObject({ status: 'completed', results: { act: 'done' } });
    expect(attempts).toEqual([1, 2]);
    const finishedAt = (await second.sagas.get(id)).finishedAt!.getTime();
    expect(finishedAt).toBeGreaterThanOrEqual(row!.due_at.getTime());
  });

  test('is made again soon by the worker that has it, which says so and stores the failure first', async () => {
    @Saga({ name: 'order', retry: { attempts: 2, delay: '1s', jitter: 0 } })
    class Order {
      @Step() act({ attempt }: StepContext) {
        if (attempt === 1) throw new Error('not yet');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const order = await sagas.start(Order, {});
    await until(async () => (await sagas.get(order.id)).waitingFor?.kind === 'retry');
    const waiting = await sagas.get(order.id);
    expect(waiting.lockedBy).toBeDefined();
    expect(waiting.steps[0]).toMatchObject({ name: 'act', attempts: 1, errors: [{ message: 'not yet' }] });
    expect(await order.outcome()).toMatchObject({ status: 'completed' });
    expect(await apps.sql('SELECT epoch FROM saga.instance')).toEqual([{ epoch: 1 }]);
  });

  test('is made again by a claim where others wait for the room', async () => {
    const held = new Gate();
    const ran: string[] = [];
    @Saga({ name: 'order', retry: { attempts: 2, delay: '900ms', jitter: 0 } })
    class Order {
      @Step() async act({ input, attempt }: StepContext<string>) {
        ran.push(`${input} ${attempt}`);
        if (input !== 'failing') return;
        await held.opened;
        if (attempt === 1) throw new Error('not yet');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order], options: { worker: { concurrency: 1 } } });
    const failing = await sagas.start(Order, 'failing');
    const other = await sagas.start(Order, 'other');
    held.open();
    await Promise.all([failing.outcome(), other.outcome()]);
    expect(ran).toEqual(['failing 1', 'other 1', 'failing 2']);
  });

  test('is not made again when retryIf says no, and the default is the module’s', async () => {
    const attempts: string[] = [];
    class Declined extends Error {}
    @Saga({ name: 'order' })
    class Order {
      @Step() act({ attempt, input }: StepContext<boolean>) {
        attempts.push(`${input} ${attempt}`);
        throw input ? new Declined('no') : new Error('down');
      }
    }
    const retry = { attempts: 2, delay: 1, retryIf: (error: unknown) => !(error instanceof Declined) };
    const { sagas } = await apps.start({ sagas: [Order], options: { retry } });
    const declined = await (await sagas.start(Order, true)).outcome();
    const down = await (await sagas.start(Order, false)).outcome();
    expect(attempts).toEqual(['true 1', 'false 1', 'false 2']);
    expect([declined.failure?.kind, down.failure?.kind]).toEqual(['rejected', 'error']);
  });

  test('whose outcome is unknown is undone without a result', async () => {
    const ran: string[] = [];
    @Saga({ name: 'order', retry: { attempts: 2, delay: 1 } })
    class Order {
      @Step({ compensate: 'undo' }) act({ attempt }: StepContext): string {
        ran.push(`act ${attempt}`);
        throw attempt === 1 ? new UnknownOutcomeError('no answer') : new StepRejectedError('no');
      }
      undo({ result }: CompensationContext<unknown, string>) {
        ran.push(`undo ${String(result)}`);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    expect((await (await sagas.start(Order, {})).outcome()).status).toBe('compensated');
    expect(ran).toEqual(['act 1', 'act 2', 'undo undefined']);
  });

  test('that runs too long is aborted, and undone, for it may have happened', async () => {
    const ran: unknown[] = [];
    const reason = new Gate<Error>();
    @Saga({ name: 'order', retry: ONCE })
    class Order {
      @Step({ compensate: 'undo', timeout: '30ms' }) async act({ signal }: StepContext) {
        reason.open(await aborted(signal));
        return 'too late';
      }
      undo({ result, failure }: CompensationContext<unknown, string>) {
        ran.push([result, failure.kind]);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'timeout', step: 'act', error: { code: 'SAGA_STEP_ABORTED' } },
    });
    expect(await reason.opened).toMatchObject({ trigger: 'timeout' });
    expect(ran).toEqual([[undefined, 'timeout']]);
    expect((await sagas.get(id)).steps[0]?.result).toBeUndefined();
  });

  test('is kept with name, message, code, causes and attempt', async () => {
    @Saga({ name: 'order', retry: { attempts: 2, delay: 1 } })
    class Order {
      @Step() act() {
        const root = Object.assign(new RangeError('root\0'), { code: 'E_ROOT' });
        throw new TypeError('outer \ud83d', { cause: new Error('inner', { cause: root }) });
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    const error = {
      name: 'TypeError',
      message: 'outer \ufffd',
      stack: expect.stringContaining('forward-and-back.spec'),
      cause: { message: 'inner', cause: { name: 'RangeError', message: 'root\u2400', code: 'E_ROOT' } },
    };
    expect((await outcome()).failure).toMatchObject({ kind: 'error', step: 'act', error });
    const { failure, steps } = await sagas.get(id);
    expect(failure).toMatchObject({ error });
    const during = 'step';
    expect(steps[0]?.errors).toMatchObject([
      { ...error, attempt: 1, during, at: expect.stringMatching(/^\d{4}-.*Z$/) },
      { ...error, attempt: 2, during },
    ]);
  });

  test.each([
    ['a string', 'out of stock', 'out of stock'],
    ['undefined', undefined, 'undefined'],
    ['an object', { a: 1 }, '{"a":1}'],
  ])('may throw anything: %s', async (_, thrown, message) => {
    @Saga({ name: 'order', retry: ONCE })
    class Order {
      @Step() act() {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- that is what is tested
        throw thrown;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).failure?.error).toMatchObject({ message });
  });
});

describe('what a step returns', () => {
  const VALUES = {
    nothing: undefined,
    null: null,
    date: new Date(0),
    nested: { at: new Date(1), gone: undefined },
  };

  test('is the same live and after a restart: undefined, null, and Dates as their ISO strings', async () => {
    const seen: unknown[] = [];
    const gate = new Gate();
    @Saga({ name: 'order' })
    class Order {
      @Step() nothing() {}
      @Step() null() {
        return VALUES.null;
      }
      @Step() date() {
        return VALUES.date;
      }
      @Step() nested() {
        return VALUES.nested;
      }
      @Step() async look({ results, input, attempt }: StepContext<typeof VALUES, Order>) {
        seen.push(results, input);
        if (attempt === 1) await gate.opened;
      }
    }
    const options = { worker: { shutdownTimeout: 0 } };
    const first = await apps.start({ sagas: [Order], options });
    const { id } = await first.sagas.start(Order, VALUES);
    await until(() => seen.length === 2);
    await first.close();
    const second = await apps.start({ sagas: [Order] });
    const { results } = await second.sagas.wait(id);
    gate.open();
    const stored = {
      null: null,
      date: '1970-01-01T00:00:00.000Z',
      nested: { at: '1970-01-01T00:00:00.001Z' },
    };
    expect(seen).toHaveLength(4);
    for (const n of [0, 2]) {
      expect(seen[n]).toStrictEqual({ nothing: undefined, ...stored });
      expect(seen[n + 1]).toStrictEqual(stored);
    }
    expect(results).toStrictEqual({ nothing: undefined, ...stored, look: undefined });
  });

  test('cannot be changed for others: each gets a copy', async () => {
    @Saga({ name: 'order', retry: { attempts: 2, delay: 1 } })
    class Order {
      @Step() make() {
        return { list: [1] };
      }
      @Step() spoil({ results, input, attempt }: StepContext<{ list: number[] }, Order>): number[] {
        const before = [results.make.list.length, input.list.length];
        results.make.list.push(2);
        input.list.push(2);
        if (attempt === 1) throw new Error('again');
        return before;
      }
      @Step() look({ results, input }: StepContext<{ list: number[] }, Order>): number[] {
        return [results.make.list.length, input.list.length];
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const input = { list: [0] };
    const { outcome } = await sagas.start(Order, input);
    expect((await outcome()).results).toEqual({ make: { list: [1] }, spoil: [1, 1], look: [1, 1] });
    expect(input).toEqual({ list: [0] });
  });
});
