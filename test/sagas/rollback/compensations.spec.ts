import { type CompensationContext, Saga, Step, StepRejectedError } from '../../../libs/saga/src/index.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const ONCE = { attempts: 1 };

describe('a rollback', () => {
  test('compensates completed steps in reverse order, each with its result, and reports the cause', async () => {
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

  test('compensates the step that failed, too, if it has compensateOnFailure', async () => {
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
