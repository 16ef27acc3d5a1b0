import { Saga, Step, StepRejectedError, WaitFor } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

let charged: number;
beforeEach(() => (charged = 0));

@Saga({ name: 'order', timeout: '1d' })
class OrderSaga {
  @WaitFor({ signal: 'go', compensate: 'stop' }) go() {}
  stop() {}
  @Step({ retry: { attempts: 9, delay: '1h' } }) charge() {
    charged += 1;
    if (charged < 3) throw new Error('payments are down');
  }
  @Step() ship() {
    throw new StepRejectedError('no');
  }
}

test('a paused step begins no attempt until it is resumed, and everything else goes on', async () => {
  const run = await SagaTest.of(OrderSaga).start({});
  await run.operations.pauseStep(OrderSaga, 'charge', { by: 'ann', reason: 'payments are down' });
  await run.signal('go');
  await run.advance('5h');
  expect(charged).toBe(0);
  expect(run.snapshot).toMatchObject({
    ...{ status: 'running', step: 'charge', lockedBy: undefined },
    waitingFor: { kind: 'paused-step', step: 'charge', by: 'ann', reason: 'payments are down' },
  });
  await run.operations.resumeStep('order', 'charge');
  await run.advance('1m');
  expect(charged).toBe(1);
  await run.operations.pauseStep(OrderSaga, 'charge');
  await run.advance('5h');
  expect(charged).toBe(1);
  expect(run.waitingFor).toMatchObject({ kind: 'paused-step', since: expect.any(Date) });
  await run.operations.resumeStep(OrderSaga, 'charge');
  await run.finish();
  expect(charged).toBe(3);
  expect(run.outcome).toMatchObject({ status: 'compensated', failure: { step: 'ship' } });
});

test('the deadline and a cancellation compensate a saga whose step is paused', async () => {
  const timedOut = await SagaTest.of(OrderSaga).start({});
  await timedOut.operations.pauseStep(OrderSaga, 'charge');
  await timedOut.signal('go');
  await timedOut.advance('2d');
  expect(timedOut.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
  const cancelled = await SagaTest.of(OrderSaga).start({});
  await cancelled.operations.pauseStep(OrderSaga, 'charge');
  await cancelled.signal('go');
  await cancelled.cancel('no longer wanted');
  expect(cancelled.outcome.status).toBe('compensated');
  expect(charged).toBe(0);
});

test('an operator can skip a paused step of one saga', async () => {
  const run = await SagaTest.of(OrderSaga).start({});
  await run.operations.pauseStep(OrderSaga, 'charge');
  await run.signal('go');
  await run.operations.resolve(run.id, 'charge', { reason: 'paid in cash' });
  await run.finish();
  expect(charged).toBe(0);
  expect(run.outcome).toMatchObject({ status: 'compensated', failure: { step: 'ship' } });
});
