import {
  type CompensationContext,
  Saga,
  SagaApprovalPendingError,
  type SagaModuleOptions,
  SagaStateError,
  Step,
  type StepContext,
  StepRejectedError,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

/** Methods hang when the application is closed. */
const IMPATIENT = { worker: { shutdownTimeout: 50 } };

/** Reset for each test: the calls that were made, and what hangs. */
let ran: string[];
let hangs: Set<string>;
let going: Gate<void>;
beforeEach(() => {
  ran = [];
  hangs = new Set();
  going = new Gate();
});

function called(name: string): string | Promise<string> {
  ran.push(name);
  return hangs.has(name) ? new Promise<string>(() => {}) : name;
}

@Saga({ name: 'transfer', retry: { attempts: 2, delay: 1 }, compensationRetry: { attempts: 2, delay: 1 } })
class TransferSaga {
  @Step({ compensate: 'unblock' }) block() {
    return called('block');
  }
  unblock({ attempt }: CompensationContext<unknown, unknown>) {
    return called(attempt === 1 ? 'unblock' : 'unblock again');
  }
  @Step({ compensate: 'takeBack' }) pay({ attempt }: StepContext) {
    return called(attempt === 1 ? 'pay' : 'pay again');
  }
  takeBack({ result }: CompensationContext<unknown, unknown>) {
    return called(`takeBack of ${String(result)}`);
  }
  @Step() tell({ results }: StepContext<unknown, TransferSaga>): string | Promise<string> {
    return called(`tell ${String(results.pay)}`);
  }
}

@Saga({
  name: 'patient',
  retry: { attempts: 5, delay: '1h' },
  compensationRetry: { attempts: 5, delay: '1h' },
})
class PatientSaga {
  @Step({ compensate: 'unblock' }) block() {
    return 'b';
  }
  unblock() {
    ran.push('unblock');
    if (ran.filter((name) => name === 'unblock').length === 1) throw new Error('the bank is down');
  }
  @Step() pay({ attempt }: StepContext<{ rejects?: boolean }>) {
    ran.push(`pay ${attempt}`);
    if (attempt === 1) throw new Error('the bank is down');
    if (hangs.has('reject')) throw new StepRejectedError('no');
    return 'p';
  }
}

@Saga({ name: 'two-at-once' })
class TwoAtOnceSaga {
  @Step({ after: [] }) call() {
    return called('call');
  }
  @Step({ after: [], idempotent: false }) send() {
    return called('send');
  }
}

@Saga({ name: 'asking' })
class AskingSaga {
  @WaitFor({ signal: 'reply' }) ask(_: StepContext, payload: string) {
    return payload;
  }
  @Step() use({ results }: StepContext<unknown, AskingSaga>): string {
    return `used ${results.ask}`;
  }
}

@Saga({ name: 'parcel' })
class ParcelSaga {
  @Step() async pack() {
    ran.push('pack');
    await going.opened;
  }
  @Step({ compensate: 'recall' }) ship() {
    ran.push('ship');
  }
  recall() {
    ran.push('recall');
  }
}

const sagas = [TransferSaga, PatientSaga, TwoAtOnceSaga, AskingSaga, ParcelSaga];

describe('cancel() unless a step has begun', () => {
  test('cancels a saga whose step has not begun, and the step does not begin', async () => {
    const { sagas: service } = await apps.start({ sagas, options: IMPATIENT });
    const { id, outcome } = await service.start(ParcelSaga, {});
    await until(() => ran.includes('pack'));
    await service.cancel(id, { unlessBegun: 'ship', by: 'ann' });
    going.open();
    expect((await outcome()).status).toBe('compensated');
    expect(ran).toEqual(['pack']);
  });

  test('is refused while the step is in progress, and once it is done', async () => {
    const { sagas: service, operations } = await apps.start({ sagas, options: IMPATIENT });
    const { id, outcome } = await service.start(ParcelSaga, {});
    await until(() => ran.includes('pack'));
    const refused = service.cancel(id, { unlessBegun: 'pack' });
    await expect(refused).rejects.toThrow(SagaStateError);
    await expect(refused).rejects.toThrow(/may have begun its step 'pack'/);
    going.open();
    await outcome();
    const asking = await service.start(AskingSaga, {});
    await until(async () => (await service.get(asking.id)).waitingFor?.kind === 'signal');
    await operations.resolve(asking.id, 'ask', { result: 'x' });
    await asking.outcome();
    await expect(service.cancel(asking.id, { unlessBegun: 'ask' })).rejects.toThrow(/is completed/);
  });

  test('is refused once it has begun, while it waits for its next attempt', async () => {
    const { sagas: service } = await apps.start({ sagas, options: IMPATIENT });
    const { id } = await service.start(PatientSaga, {});
    await until(async () => (await service.get(id)).waitingFor?.kind === 'retry');
    await expect(service.cancel(id, { unlessBegun: 'pay' })).rejects.toThrow(
      /its step 'pay' has begun, and is waiting/,
    );
    expect((await service.get(id)).status).toBe('running');
  });

  test('names the steps of the saga when it has none of that name', async () => {
    const { sagas: service } = await apps.start({ sagas, options: IMPATIENT });
    const { id } = await service.start(AskingSaga, {});
    await expect(service.cancel(id, { unlessBegun: 'pay' })).rejects.toThrow(
      expect.objectContaining({
        code: 'SAGA_VALIDATION',
        message: expect.stringContaining("cancel(): asking@1 has no step 'pay'. Its steps: ask, use."),
      }),
    );
  });

  test('cancels one that waits, before its method was called', async () => {
    const { sagas: service } = await apps.start({ sagas, options: IMPATIENT });
    const { id, outcome } = await service.start(AskingSaga, {});
    await until(async () => (await service.get(id)).waitingFor?.kind === 'signal');
    await service.cancel(id, { unlessBegun: 'ask' });
    expect((await outcome()).status).toBe('compensated');
  });
});

/** A transfer whose method `pay` has been called, and does not end. */
async function transferThatHangs(options: SagaModuleOptions = {}) {
  hangs.add('pay');
  const { sagas: service, operations } = await apps.start({ sagas, options: { ...IMPATIENT, ...options } });
  const { id, outcome } = await service.start(TransferSaga, {});
  await until(() => ran.includes('pay'));
  return { service, operations, id, outcome };
}

describe('abandon()', () => {
  test('of a method that hangs: the next attempt follows, and what the first one returns does not count', async () => {
    const { service, operations, id, outcome } = await transferThatHangs();
    await operations.abandon(id, 'pay', { by: 'ann', reason: 'the bank hangs' });
    expect((await outcome()).results).toEqual({ block: 'block', pay: 'pay again', tell: 'tell pay again' });
    const { steps } = await service.get(id);
    expect(steps.find(({ name }) => name === 'pay')?.errors).toMatchObject([
      { code: 'SAGA_ATTEMPT_ABANDONED', message: 'The attempt was abandoned by ann: the bank hangs' },
    ]);
    expect(await operations.history(id)).toMatchObject([
      { action: 'abandon', step: 'pay', by: 'ann', reason: 'the bank hangs', from: 'running' },
    ]);
  });

  test('of the last attempt rolls back, and compensates the step, whose outcome is unknown', async () => {
    hangs.add('pay again');
    const { operations, id, outcome } = await transferThatHangs();
    await operations.abandon(id, 'pay');
    await until(() => ran.includes('pay again'));
    await operations.abandon(id, 'pay');
    expect(await outcome()).toMatchObject({ status: 'compensated', failure: { step: 'pay' } });
    expect(ran.slice(-2)).toEqual(['takeBack of undefined', 'unblock']);
  });

  test('of a compensation that hangs: its next attempt follows', async () => {
    hangs.add('unblock');
    const { sagas: service, operations } = await apps.start({ sagas, options: IMPATIENT });
    const { id, outcome } = await service.start(TransferSaga, {});
    await outcome();
    await operations.undo(id);
    await until(() => ran.includes('unblock'));
    await operations.abandon(id, 'block', { by: 'ann' });
    expect((await service.wait(id)).status).toBe('compensated');
    expect(ran.slice(-2)).toEqual(['unblock', 'unblock again']);
  });

  test('lets a cancellation go on that had waited for the attempt', async () => {
    const { service, operations, id, outcome } = await transferThatHangs();
    await service.cancel(id, { reason: 'changed my mind' });
    await operations.abandon(id, 'pay');
    expect(await outcome()).toMatchObject({
      ...{ status: 'compensated', failure: { kind: 'cancelled', reason: 'changed my mind' } },
    });
    expect(ran).toContain('takeBack of undefined');
  });

  test('lets a pause come that had waited for the attempt', async () => {
    const { service, operations, id, outcome } = await transferThatHangs();
    await operations.pause(id);
    await operations.abandon(id, 'pay');
    expect((await service.get(id)).status).toBe('paused');
    await operations.resume(id);
    expect((await outcome()).status).toBe('completed');
  });

  test('is refused where none is in progress, and names those that are', async () => {
    const { operations, id } = await transferThatHangs();
    await expect(operations.abandon(id, 'block')).rejects.toThrow(
      /'block' .* cannot be abandoned: it is completed, and no attempt of it is in progress. It could be: pay\./,
    );
  });

  test('is refused where another at-most-once step would be lost with it, and not with force', async () => {
    hangs.add('call').add('send');
    const { sagas: service, operations } = await apps.start({ sagas, options: IMPATIENT });
    const { id, outcome } = await service.start(TwoAtOnceSaga, {});
    await until(() => ran.length === 2);
    await expect(operations.abandon(id, 'call')).rejects.toThrow(
      /at-most-once step 'send' is in progress, too/,
    );
    await operations.abandon(id, 'send');
    expect(await outcome()).toMatchObject({ status: 'compensated', failure: { step: 'send' } });
  });

  test('needs a second operator where that is configured', async () => {
    const { service, operations, id, outcome } = await transferThatHangs({
      approvals: { abandon: 2, resolve: 2 },
    });
    const abandon = (by: string) => operations.abandon(id, 'pay', { by, reason: 'hangs' });
    await expect(abandon('ann')).rejects.toThrow(SagaApprovalPendingError);
    expect((await service.get(id)).status).toBe('running');
    await abandon('bob');
    expect((await outcome()).status).toBe('completed');
  });
});

describe('resolve()', () => {
  test('a running step with its result: what its method returns does not count', async () => {
    const { operations, id, outcome } = await transferThatHangs();
    await operations.resolve(id, 'pay', { result: 'paid in cash', by: 'ann', reason: 'seen at the bank' });
    expect((await outcome()).results).toMatchObject({ pay: 'paid in cash', tell: 'tell paid in cash' });
    expect(await operations.history(id)).toMatchObject([
      { action: 'resolve', step: 'pay', by: 'ann', result: 'paid in cash' },
    ]);
  });

  test('a step that waits for a signal, or for its next attempt', async () => {
    const { sagas: service, operations } = await apps.start({ sagas, options: IMPATIENT });
    const asking = await service.start(AskingSaga, {});
    await until(async () => (await service.get(asking.id)).waitingFor?.kind === 'signal');
    await operations.resolve(asking.id, 'ask', { result: 'by phone' });
    expect((await asking.outcome()).results).toEqual({ ask: 'by phone', use: 'used by phone' });
    const patient = await service.start(PatientSaga, {});
    await until(async () => (await service.get(patient.id)).waitingFor?.kind === 'retry');
    await operations.resolve(patient.id, 'pay', { result: 'cash' });
    expect((await patient.outcome()).results).toEqual({ block: 'b', pay: 'cash' });
  });

  test('a compensation that hangs', async () => {
    hangs.add('unblock');
    const { sagas: service, operations } = await apps.start({ sagas, options: IMPATIENT });
    const { id, outcome } = await service.start(TransferSaga, {});
    await outcome();
    await operations.undo(id);
    await until(() => ran.includes('unblock'));
    const withResult = operations.resolve(id, 'block', { by: 'ann', result: 'unblocked' });
    await expect(withResult).rejects.toMatchObject({ code: 'SAGA_VALIDATION' });
    expect(await operations.history(id)).toMatchObject([{ action: 'undo' }]);
    await operations.resolve(id, 'block', { by: 'ann' });
    expect((await service.wait(id)).status).toBe('compensated');
    expect(ran).not.toContain('unblock again');
  });

  test('is refused for a step that is done, or not yet its turn, and for a saga that has ended', async () => {
    const { service, operations, id } = await transferThatHangs();
    for (const step of ['block', 'tell'])
      await expect(operations.resolve(id, step)).rejects.toThrow(
        /neither in progress nor waiting. It could be: pay\./,
      );
    await operations.resolve(id, 'pay');
    await service.wait(id);
    await expect(operations.resolve(id, 'pay')).rejects.toThrow(/cannot be resolved: it is completed/);
  });
});

describe('retryNow()', () => {
  test('makes the next attempt at once', async () => {
    const { sagas: service, operations } = await apps.start({ sagas, options: IMPATIENT });
    const { id, outcome } = await service.start(PatientSaga, {});
    await until(async () => (await service.get(id)).waitingFor?.kind === 'retry');
    await operations.retryNow(id, { by: 'ann', reason: 'the bank is back' });
    expect((await outcome()).results).toEqual({ block: 'b', pay: 'p' });
    expect(await operations.history(id)).toMatchObject([{ action: 'retryNow', by: 'ann', from: 'running' }]);
  });

  test('of a compensation, too', async () => {
    hangs.add('reject');
    const { sagas: service, operations } = await apps.start({ sagas, options: IMPATIENT });
    const { id, outcome } = await service.start(PatientSaga, {});
    await until(async () => (await service.get(id)).waitingFor?.kind === 'retry');
    await operations.retryNow(id, { step: 'pay' });
    await until(async () => (await service.get(id)).waitingFor?.kind === 'retry' && ran.includes('unblock'));
    await operations.retryNow(id);
    expect((await outcome()).status).toBe('compensated');
    expect(ran).toEqual(['pay 1', 'pay 2', 'unblock', 'unblock']);
  });

  test('is refused where nothing waits for its next attempt, and retry() is refused for a saga that is running', async () => {
    const { sagas: service, operations } = await apps.start({ sagas, options: IMPATIENT });
    const { id } = await service.start(AskingSaga, {});
    await until(async () => (await service.get(id)).waitingFor?.kind === 'signal');
    await expect(operations.retryNow(id)).rejects.toThrow(/no failed attempt waits for its next one/);
    await expect(operations.retry(id)).rejects.toThrow(/cannot be retried: it is running/);
  });
});
