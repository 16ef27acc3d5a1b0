import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
} from '../../libs/saga/src/index.js';
import { Gate, until } from '../support/gate.js';
import { journal, Journalled } from '../support/journalled.js';
import { TestApps } from '../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const SHORT = { options: { worker: { shutdownTimeout: 10 } } };

describe('after a shutdown that interrupted an at-most-once step', () => {
  test('what had not begun by then is suspected of nothing', async () => {
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
      const [begun, asked] = [new Gate(), new Gate<AbortSignal>()];
      const [refused, answered] = [new Gate(), new Gate()];
      const told: unknown[] = [];
      @Saga({ name: 'order' })
      class Order extends Journalled {
        @Step({ after: [], idempotent: false, probe: 'ask', compensate: 'callOff' })
        async order(): Promise<string> {
          begun.open();
          return new Promise(() => undefined);
        }
        async ask({ signal }: StepContext) {
          asked.open(signal);
          await answered.opened;
          return { done: 'ordered' };
        }
        async callOff({ result }: CompensationContext<unknown, string>) {
          told.push(result);
        }
        @Step({ after: [], retry: { attempts: 1 } }) async bill(ctx: StepContext): Promise<void> {
          if (ctx.attempt === 1) return new Promise(() => undefined);
          await refused.opened;
          throw new Error('no account');
        }
      }
      const first = await apps.start({ sagas: [Order], ...SHORT });
      const { id } = await first.sagas.start(Order, {});
      await begun.opened;
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
      expect(told).toEqual(['ordered']);
    },
  );
});
