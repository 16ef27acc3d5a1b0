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
      stack: expect.stringContaining('failed-attempts.spec'),
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
        // oxlint-disable-next-line typescript/only-throw-error -- that is what is tested
        throw thrown;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).failure?.error).toMatchObject({ message });
  });
});
