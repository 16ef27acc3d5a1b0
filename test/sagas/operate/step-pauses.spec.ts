import { Saga, SagaNotFoundError, SagaValidationError, Step } from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

let ran: string[];
let failing: boolean;
beforeEach(() => {
  ran = [];
  failing = false;
});

@Saga({ name: 'order', retry: { attempts: 50, delay: 20, factor: 1 } })
class OrderSaga {
  @Step() reserve() {
    ran.push('reserve');
  }
  @Step() charge() {
    ran.push('charge');
    if (failing) throw new Error('payments are down');
  }
  @Step({ after: ['reserve'] }) pack() {
    ran.push('pack');
  }
}

const count = (step: string) => ran.filter((one) => one === step).length;
const options = { worker: { pollInterval: 50 } };
const WHY = { by: 'ann', reason: 'payments are down' };

test('a paused step begins in no process; the sagas come to rest, and all continue when it is resumed', async () => {
  const worker = await apps.start({ sagas: [OrderSaga], options });
  const { sagas, operations } = await apps.start({ sagas: [OrderSaga], options: { worker: false } });
  await operations.pauseStep(OrderSaga, 'charge', WHY);
  await until(async () => (await worker.operations.pausedSteps()).items.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const started = await Promise.all(Array.from({ length: 20 }, () => sagas.start(OrderSaga, {})));
  await until(async () => count('pack') === 20);
  const { id } = started[0]!;
  await until(async () => (await sagas.get(id)).waitingFor?.kind === 'paused-step');
  expect((await sagas.get(id)).waitingFor).toEqual({
    ...{ kind: 'paused-step', step: 'charge', ...WHY, since: expect.any(Date) },
  });
  const rows = () =>
    apps.sql('SELECT id, epoch, checkpoints, locked_by, due_at, step FROM saga.instance ORDER BY id');
  await until(async () => (await rows()).every(({ locked_by }) => locked_by === null));
  const resting = await rows();
  expect(new Set(resting.map(({ due_at, step }) => `${String(due_at)} ${String(step)}`))).toEqual(
    new Set(['null charge']),
  );
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await rows()).toEqual(resting);
  expect(count('charge')).toBe(0);
  expect((await sagas.find({ step: 'charge' })).items).toHaveLength(20);
  expect((await operations.pausedSteps()).items).toEqual([
    { saga: 'order', step: 'charge', ...WHY, since: expect.any(Date) },
  ]);
  await operations.resumeStep('order', 'charge', { by: 'bob', reason: 'they are up' });
  for (const saga of started) expect((await saga.outcome()).status).toBe('completed');
  expect(count('charge')).toBe(20);
  expect(await operations.pausedSteps({ resumed: 10 })).toEqual({
    items: [
      {
        ...{ saga: 'order', step: 'charge', ...WHY, since: expect.any(Date) },
        resumed: { by: 'bob', reason: 'they are up', at: expect.any(Date) },
      },
    ],
  });
});

test('an attempt in progress ends normally, no further one begins, and a process that starts later knows of it', async () => {
  failing = true;
  const first = await apps.start({ sagas: [OrderSaga], options });
  const saga = await first.sagas.start(OrderSaga, {});
  await until(async () => count('charge') > 2);
  await first.operations.pauseStep(OrderSaga, 'charge');
  const before = count('charge');
  await until(async () => (await first.sagas.get(saga.id)).waitingFor?.kind === 'paused-step');
  await first.close();
  const second = await apps.start({ sagas: [OrderSaga], options });
  failing = false;
  const other = await second.sagas.start(OrderSaga, {});
  await until(async () => (await second.sagas.get(other.id)).waitingFor?.kind === 'paused-step');
  expect(count('charge')).toBe(before);
  await second.operations.resumeStep(OrderSaga, 'charge');
  expect((await second.sagas.wait(saga.id)).status).toBe('completed');
  expect((await other.outcome()).status).toBe('completed');
});

test('a pause and a resume whose notifications are lost take effect with the poll', async () => {
  const { sagas } = await apps.start({ sagas: [OrderSaga], options });
  await apps.sql(`INSERT INTO saga.step_pause (saga, step) VALUES ('order', 'charge')`);
  await new Promise((resolve) => setTimeout(resolve, 600));
  const saga = await sagas.start(OrderSaga, {});
  await until(async () => (await sagas.get(saga.id)).waitingFor?.kind === 'paused-step');
  // The process that resumed it was lost before it made the sagas due.
  await apps.sql(`UPDATE saga.step_pause SET resumed_at = now() - interval '1 minute'`);
  expect((await saga.outcome()).status).toBe('completed');
});

test('an attempt that runs while its step is paused completes', async () => {
  const gate = new Gate<void>();
  const began = new Gate<void>();
  @Saga({ name: 'slow' })
  class SlowSaga {
    @Step() async charge() {
      began.open();
      await gate.opened;
    }
  }
  const { sagas, operations } = await apps.start({ sagas: [SlowSaga], options });
  const saga = await sagas.start(SlowSaga, {});
  await began.opened;
  await operations.pauseStep(SlowSaga, 'charge');
  gate.open();
  expect((await saga.outcome()).status).toBe('completed');
});

test('unknown sagas and steps are refused with a hint, and a step that is not paused is unchanged', async () => {
  const { operations } = await apps.start({ sagas: [OrderSaga], options });
  await expect(operations.pauseStep('ordr', 'charge')).rejects.toThrow(SagaNotFoundError);
  await expect(operations.pauseStep(OrderSaga, 'chrge')).rejects.toThrow("Did you mean 'charge'?");
  await expect(operations.pauseStep(OrderSaga, 'charge', { who: 'ann' } as object)).rejects.toThrow(
    SagaValidationError,
  );
  await expect(operations.pausedSteps({ resumed: -1 })).rejects.toThrow('give a whole number from 0 to 1000');
  await operations.resumeStep(OrderSaga, 'charge');
  expect(await operations.pausedSteps()).toEqual({ items: [] });
});
