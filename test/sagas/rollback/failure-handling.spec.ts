import {
  type CompensationContext,
  Saga,
  SagaStateError,
  Step,
  type StepContext,
  StepRejectedError,
  UnknownOutcomeError,
} from '../../../libs/saga/src/index.js';
import { aborted, Gate, until } from '../../support/gate.js';
import { journal, Journalled } from '../../support/journalled.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const ONCE = { attempts: 1 };

test('a delay is waited for without a worker, and shown', async () => {
  @Saga({ name: 'order' })
  class Order extends Journalled {
    @Step() order(ctx: StepContext) {
      return this.note(ctx);
    }
    @Step({ delay: '1h' }) remind(ctx: StepContext) {
      return this.note(ctx);
    }
  }
  const { sagas } = await apps.start({ sagas: [Order], options: { worker: { pollInterval: '20ms' } } });
  const { id, outcome } = await sagas.start(Order, {});
  await until(async () => (await sagas.get(id)).waitingFor?.kind === 'delay');
  const waiting = await sagas.get(id);
  expect(waiting).toMatchObject({ status: 'running', waitingFor: { kind: 'delay', step: 'remind' } });
  expect(waiting.lockedBy).toBeUndefined();
  expect(journal).toEqual(['order']);
  // The hour is over.
  await apps.sql(`UPDATE saga.step SET retry_at = now() WHERE name = 'remind'`);
  await apps.sql(`UPDATE saga.instance SET due_at = now(), rank_at = now()`);
  expect((await outcome()).status).toBe('completed');
  const [row] = await apps.sql<{ waited: number }>(
    `SELECT extract(epoch FROM b.started_at - a.updated_at)::float8 AS waited FROM saga.step a, saga.step b
     WHERE a.name = 'order' AND b.name = 'remind' AND a.saga_id = $1 AND b.saga_id = $1`,
    [id],
  );
  // The step's row is there from when it began to wait.
  expect(row!.waited).toBeCloseTo(0, 1);
});

describe('a savepoint', () => {
  function carriers(attempts: number, refusedIn: number[]) {
    const keys: string[] = [];
    @Saga({ name: 'order', retry: ONCE })
    class Order extends Journalled {
      @Step({ compensate: 'undo', savepoint: { attempts } }) pay(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step({ compensate: 'undo' }) book(ctx: StepContext) {
        keys.push(ctx.idempotencyKey.slice(ctx.sagaId.length));
        return this.note(ctx, `carrier ${'ABC'[ctx.round - 1]}`);
      }
      @Step() ship(ctx: StepContext) {
        this.note(ctx);
        if (refusedIn.includes(ctx.round)) throw new StepRejectedError('no room');
        return ctx.results.book as string;
      }
    }
    return { Order, keys };
  }

  test('is where the saga goes forward from again, another way: carrier A fails, carrier B ships, the payment stays', async () => {
    const { Order, keys } = carriers(2, [1]);
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({ status: 'completed', results: { ship: 'carrier B' } });
    expect(journal).toEqual(['pay', 'book', 'ship', 'undo book', 'book', 'ship']);
    expect(keys).toEqual([':book', ':book~2']);
    const { round, failure, steps } = await sagas.get(id);
    expect({ round, failure }).toEqual({ round: 2, failure: undefined });
    expect(steps.find(({ name }) => name === 'ship')!.errors).toMatchObject([{ message: 'no room' }]);
  });

  test('is abandoned after its attempts, and everything is compensated', async () => {
    const { Order } = carriers(3, [1, 2, 3]);
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('compensated');
    const again = ['book', 'ship', 'undo book'];
    expect(journal).toEqual(['pay', ...again, ...again, ...again, 'undo pay']);
  });
});

describe('a pivot', () => {
  test('behind it the saga only goes forward: it is stuck, cannot be cancelled, and completes when it is retried', async () => {
    let down = true;
    @Saga({ name: 'order', retry: ONCE })
    class Order extends Journalled {
      @Step({ compensate: 'undo' }) reserve(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step({ pivot: true }) capture(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step() ship(ctx: StepContext) {
        if (down) throw new Error('no carrier');
        return this.note(ctx);
      }
    }
    const { sagas, operations } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({ status: 'stuck', failure: { step: 'ship' } });
    await expect(sagas.cancel(id)).rejects.toThrow(SagaStateError);
    expect(await operations.previewRollback(id)).toMatchObject({ compensations: [], pivot: 'capture' });
    down = false;
    await operations.retry(id);
    expect((await sagas.wait(id)).status).toBe('completed');
    expect(journal).toEqual(['reserve', 'capture', 'ship']);
  });
});

describe('a probe', () => {
  test.each([
    ['done: the step is completed with what it says', { done: 'receipt' }, 'completed', ['asked']],
    ['not-done: the step failed, and is tried again', 'not-done', 'compensated', ['asked', 'asked']],
    [
      'unknown: it stays so, and is undone without a result',
      'unknown',
      'compensated',
      ['asked', 'asked', 'undo charge'],
    ],
  ])('that finds it %s', async (_, answer, status, expected) => {
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({ probe: 'ask', compensate: 'undo', retry: { attempts: 2, delay: 1 } })
      async charge(_ctx: StepContext): Promise<string> {
        throw new UnknownOutcomeError('the line was cut');
      }
      async ask(_ctx: StepContext): Promise<never> {
        journal.push('asked');
        return answer as never;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    const ended = await outcome();
    expect(ended.status).toBe(status);
    if (status === 'completed') expect(ended.results).toEqual({ charge: 'receipt' });
    expect(journal).toEqual(expected);
  });

  test('is asked by the next worker for the outcome of an at-most-once step', async () => {
    const stop = new Gate();
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({ idempotent: false, probe: 'ask' }) async charge(ctx: StepContext): Promise<string> {
        this.note(ctx);
        stop.open();
        await aborted(ctx.signal);
        await new Promise(() => undefined);
        return 'never';
      }
      async ask(ctx: StepContext) {
        journal.push(`asked ${ctx.attempt}`);
        return { done: 'receipt' };
      }
    }
    const first = await apps.start({ sagas: [Order], options: { worker: { shutdownTimeout: 10 } } });
    const { id } = await first.sagas.start(Order, {});
    await stop.opened;
    await first.close();
    const { sagas } = await apps.start({ sagas: [Order] });
    expect(await sagas.wait(id)).toMatchObject({ status: 'completed', results: { charge: 'receipt' } });
    expect(journal).toEqual(['charge', 'asked 1']);
  });
});

test('a saga that takes longer than its timeout is aborted, and rolls back', async () => {
  @Saga({ name: 'order', timeout: '2s' })
  class Order extends Journalled {
    @Step({ compensate: 'undo' }) reserve(ctx: StepContext) {
      return this.note(ctx);
    }
    @Step({ compensate: 'undo' }) async waitForEver(ctx: StepContext) {
      await aborted(ctx.signal);
      throw ctx.signal.reason;
    }
  }
  const { sagas } = await apps.start({ sagas: [Order] });
  const { outcome } = await sagas.start(Order, {});
  expect(await outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
  // The outcome of the aborted step is unknown.
  expect(journal).toEqual(['reserve', 'undo waitForEver', 'undo reserve']);
});

describe('onFailure: suspend', () => {
  function suspending() {
    const world = { down: true };
    @Saga({ name: 'order', retry: ONCE, onFailure: 'suspend', timeout: '1h' })
    class Order extends Journalled {
      @Step({ compensate: 'undo' }) reserve(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step() ship(ctx: StepContext) {
        if (world.down) throw new Error('down');
        return this.note(ctx);
      }
      @Step() bill(ctx: StepContext) {
        return this.note(ctx);
      }
    }
    return { Order, world };
  }

  test('waits for an operator, whose retry lets it go on', async () => {
    const { Order, world } = suspending();
    const { sagas, operations } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({ status: 'suspended', failure: { step: 'ship' } });
    expect(await sagas.get(id)).toMatchObject({
      step: 'ship',
      waitingFor: { kind: 'person', steps: ['ship'] },
    });
    world.down = false;
    await operations.retry(id);
    expect((await sagas.wait(id)).status).toBe('completed');
  });

  test('waits for an operator, who may skip the step or roll back', async () => {
    const { Order } = suspending();
    const { sagas, operations } = await apps.start({ sagas: [Order] });
    const [done, back] = [await sagas.start(Order, {}), await sagas.start(Order, {})];
    await Promise.all([done.outcome(), back.outcome()]);
    await operations.resolve(done.id, 'ship', { result: 'manual' });
    expect(await sagas.wait(done.id)).toMatchObject({ status: 'completed', results: { ship: 'manual' } });
    journal.length = 0;
    await sagas.cancel(back.id);
    expect((await sagas.wait(back.id)).status).toBe('compensated');
    expect(journal).toEqual(['undo reserve']);
  });

  test.each(['retry', 'resolve'] as const)(
    'is a time that counts towards no deadline: after %s the saga goes on, however late it is',
    async (call) => {
      const { Order, world } = suspending();
      const { sagas, operations } = await apps.start({ sagas: [Order] });
      const { id, outcome } = await sagas.start(Order, {});
      expect(await outcome()).toMatchObject({ status: 'suspended' });
      // The hour is over.
      await apps.sql('UPDATE saga.instance SET deadline_at = now()');
      world.down = false;
      if (call === 'retry') await operations.retry(id);
      else await operations.resolve(id, 'ship', { result: 'manual' });
      expect(await sagas.wait(id)).toMatchObject({ status: 'completed' });
      expect(journal.at(-1)).toBe('bill');
    },
  );
});

test('a preview of a rollback lists the compensations in order, with the results that they receive', async () => {
  const received: unknown[] = [];
  const never = new Gate();
  @Saga({ name: 'order' })
  class Order {
    @Step({ compensate: 'undo' }) reserve() {
      return 'stock';
    }
    @Step({ after: 'reserve', compensate: 'undo', forEach: () => ['x', 'y'] }) pick(ctx: StepContext) {
      return `picked ${ctx.item as string}`;
    }
    @Step({ after: 'pick' }) mail() {}
    @Step({ after: 'mail' }) async hang(ctx: StepContext) {
      never.open();
      await aborted(ctx.signal);
      throw ctx.signal.reason;
    }
    async undo(ctx: CompensationContext) {
      received.push([ctx.step, ctx.index, ctx.result]);
    }
  }
  const { sagas, operations } = await apps.start({ sagas: [Order] });
  const { id } = await sagas.start(Order, {});
  await never.opened;
  await until(async () => (await sagas.get(id)).steps[2]!.status === 'completed');
  const plan = await operations.previewRollback(id);
  expect(plan).toMatchObject({ withoutCompensation: ['mail'], inProgress: ['hang'] });
  expect(received).toEqual([]);
  await sagas.cancel(id);
  await sagas.wait(id);
  expect(plan.compensations.map(({ step, index, result }) => [step, index, result])).toEqual(received);
});
