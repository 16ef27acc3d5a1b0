import {
  type CompensationContext,
  Saga,
  type SagaSnapshot,
  Step,
  type StepContext,
  StepRejectedError,
} from '../../../libs/saga/src/index.js';
import type { LostAttemptSnapshot } from '../../../libs/saga/src/operators.js';
import { sagaHereOn } from '../../cli/support/saga-here.js';
import { Gate, until } from '../../support/gate.js';
import { journal, Journalled } from '../../support/journalled.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const here = sagaHereOn(apps);
const SHORT = { options: { worker: { shutdownTimeout: 10 } } };

describe('after a shutdown that interrupted an at-most-once step', () => {
  test('what had not started by then is suspected of nothing', async () => {
    const [ordering, billing, billed] = [new Gate(), new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({ after: [], idempotent: false, probe: 'ask' }) async order(): Promise<string> {
        ordering.open();
        return new Promise(() => undefined);
      }
      async ask() {
        return { done: 'ordered' };
      }
      @Step({ after: [] }) async bill(ctx: StepContext): Promise<void> {
        billing.open();
        await billed.opened;
        this.note(ctx);
      }
      @Step({ after: 'bill', compensate: 'undo' }) send(ctx: StepContext): void {
        journal.push(`send, attempt ${ctx.attempt}`);
        throw new StepRejectedError('no such address');
      }
    }
    const first = await apps.start({ sagas: [Order], ...SHORT });
    const { id } = await first.sagas.start(Order, {});
    await Promise.all([ordering.opened, billing.opened]);
    // By the time it is billed, nothing begins here any more.
    const closing = first.close();
    billed.open();
    await closing;
    const { sagas } = await apps.start({ sagas: [Order] });
    expect((await sagas.wait(id)).status).toBe('compensated');
    expect(journal.filter((what) => what.includes('send'))).toEqual(['send, attempt 1']);
  });

  test.each(['fails', 'is cancelled'])(
    'its probe may go on when the saga %s: the answer is wanted then, too',
    async (how) => {
      const [started, asked] = [new Gate(), new Gate<AbortSignal>()];
      const [refused, answered] = [new Gate(), new Gate()];
      const received: unknown[] = [];
      @Saga({ name: 'order' })
      class Order extends Journalled {
        @Step({ after: [], idempotent: false, probe: 'ask', compensate: 'callOff' })
        async order(): Promise<string> {
          started.open();
          return new Promise(() => undefined);
        }
        async ask({ signal }: StepContext) {
          asked.open(signal);
          await answered.opened;
          return { done: 'ordered' };
        }
        async callOff({ result }: CompensationContext<unknown, string>) {
          received.push(result);
        }
        @Step({ after: [], retry: { attempts: 1 } }) async bill(ctx: StepContext): Promise<void> {
          if (ctx.attempt === 1) return new Promise(() => undefined);
          await refused.opened;
          throw new Error('no account');
        }
      }
      const first = await apps.start({ sagas: [Order], ...SHORT });
      const { id } = await first.sagas.start(Order, {});
      await started.opened;
      await first.close();
      const { sagas } = await apps.start({ sagas: [Order] });
      const signal = await asked.opened;
      if (how === 'fails') refused.open();
      else await sagas.cancel(id);
      await until(async () => (await sagas.get(id)).status === 'compensating');
      expect(signal.aborted).toBe(false);
      refused.open();
      answered.open();
      expect((await sagas.wait(id)).status).toBe('compensated');
      expect(received).toEqual(['ordered']);
    },
  );
});

/** Its first two attempts hang until they are let go of. */
function heldOrder() {
  const [started, again, answered] = [new Gate(), new Gate(), new Gate()];
  @Saga({ name: 'order' })
  class Order {
    @Step({ compensate: 'release' }) reserve() {}
    release() {}
    @Step() async charge({ attempt }: StepContext) {
      (attempt === 1 ? started : again).open();
      await answered.opened;
    }
    @Step() ship() {}
  }
  return { Order, started, again, answered };
}

const QUICK = { options: { worker: { pollInterval: '20ms' as const } } };
const lapse = (id: string) =>
  apps.sql(`UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1`, [id]);
const stepOf = (saga: SagaSnapshot, name: string) => saga.steps.find((step) => step.name === name)!;

describe('a step whose method runs', () => {
  test('is shown as running, with since when, and what follows as pending', async () => {
    const { Order, started, answered } = heldOrder();
    const { sagas } = await apps.start({ sagas: [Order] });
    const before = new Date();
    const { id, outcome } = await sagas.start(Order, {});
    await started.opened;
    const saga = await sagas.get(id);
    expect(saga.steps.map(({ status }) => status)).toEqual(['completed', 'running', 'pending']);
    const { runningSince, startedAt, attempts } = stepOf(saga, 'charge');
    expect([attempts, startedAt]).toEqual([1, runningSince]);
    expect(Math.abs(runningSince!.getTime() - before.getTime())).toBeLessThan(10_000);
    answered.open();
    expect((await outcome()).status).toBe('completed');
    expect((await sagas.get(id)).steps.map((step) => step.runningSince)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('is shown as compensating while its compensation runs', async () => {
    const [started, answered] = [new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Order {
      @Step({ compensate: 'release' }) reserve() {}
      async release() {
        started.open();
        await answered.opened;
      }
      @Step() charge() {
        throw new StepRejectedError('no funds');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    await started.opened;
    const { status, compensationAttempts, runningSince } = stepOf(await sagas.get(id), 'reserve');
    expect([status, compensationAttempts]).toEqual(['compensating', 1]);
    expect(runningSince).toBeInstanceOf(Date);
    answered.open();
    await outcome();
  });
});

describe('an attempt whose worker was lost', () => {
  test('is shown with its start, its loss and the takeover, during the next attempt and after it', async () => {
    const { Order, started, again, answered } = heldOrder();
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id } = await sagas.start(Order, {});
    await started.opened;
    const lostWorker = (await sagas.get(id)).lockedBy!;
    await lapse(id);
    const other = await apps.start({ sagas: [Order], ...QUICK });
    await again.opened;
    const seen = await other.sagas.get(id);
    const { status, attempts, lost, runningSince } = stepOf(seen, 'charge');
    expect([status, attempts]).toEqual(['running', 2]);
    const [{ attempt, during, worker, startedAt, lostAt, takenOverAt }] = lost as [LostAttemptSnapshot];
    expect({ attempt, during, worker }).toEqual({ attempt: 1, during: 'step', worker: lostWorker });
    const times = [stepOf(seen, 'reserve').updatedAt, startedAt, lostAt, takenOverAt];
    expect(times.map((at) => at!.getTime())).toEqual(times.map((at) => at!.getTime()).sort((a, b) => a - b));
    expect(runningSince).toEqual(takenOverAt);
    answered.open();
    expect((await other.sagas.wait(id)).status).toBe('completed');
    expect(stepOf(await other.sagas.get(id), 'charge').lost).toEqual(lost);
    const { out } = await here('show', id);
    const lines = out.slice(out.indexOf('Timeline')).split('\n');
    const received = [
      `charge, attempt 1 began on worker ${lostWorker}`,
      `charge, attempt 1 was lost: the lease of worker ${lostWorker} expired`,
      'charge, attempt 1: another worker took over',
      'charge completed',
    ].map((text) => lines.findIndex((line) => line.includes(text)));
    expect(received).toEqual([...received].sort((a, b) => a - b));
    expect(received).not.toContain(-1);
  });

  test('by a shutdown is shown without a worker', async () => {
    const { Order, started, again, answered } = heldOrder();
    const first = await apps.start({ sagas: [Order], ...SHORT });
    const { id } = await first.sagas.start(Order, {});
    await started.opened;
    await first.close();
    const { sagas } = await apps.start({ sagas: [Order] });
    await again.opened;
    expect(stepOf(await sagas.get(id), 'charge').lost).toEqual([
      { attempt: 1, during: 'step', lostAt: expect.any(Date) },
    ]);
    answered.open();
    await sagas.wait(id);
  });
});
