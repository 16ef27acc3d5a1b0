import { randomUUID } from 'node:crypto';
import {
  Approval,
  type ApprovalDecision,
  Saga,
  SagaNotFoundError,
  type SagaService,
  SagaStateError,
  SagaValidationError,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { journal, Journalled } from '../../support/journalled.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const NO_POLL = { worker: { pollInterval: '1h' } } as const;

@Saga({ name: 'payout' })
class PayoutSaga extends Journalled {
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext<{ amount: number }>) {
    this.note(ctx);
  }
  @Approval({ compensate: 'undo' })
  release(ctx: StepContext<{ amount: number }>, decision: ApprovalDecision) {
    this.note(ctx);
    return { by: decision.by, comment: decision.comment, at: Date.parse(decision.at) > 0 };
  }
  @Step() pay(ctx: StepContext) {
    this.note(ctx);
  }
}

const ANN = { by: 'ann@example.com', comment: 'checked by phone' };

async function waiting() {
  const app = await apps.start({ sagas: [PayoutSaga], options: NO_POLL });
  app.stopPolling();
  const saga = await app.sagas.start(PayoutSaga, { amount: 10_000 });
  await waits(app.sagas, saga.id);
  return { ...app, saga };
}

async function waits(sagas: SagaService, id: string): Promise<void> {
  await until(async () => (await sagas.get(id)).waitingFor?.kind === 'approval');
}

describe('A saga that waits for an approval', () => {
  test('says so, and for which step', async () => {
    const { sagas, saga } = await waiting();
    expect(await sagas.get(saga.id)).toMatchObject({
      status: 'running',
      waitingFor: { kind: 'approval', step: 'release' },
      step: 'release',
    });
  });

  test('goes on when approved, and its method receives who approved', async () => {
    const { sagas, saga } = await waiting();
    await sagas.approve(saga.id, 'release', ANN);
    expect(await saga.outcome()).toMatchObject({
      status: 'completed',
      results: { release: { ...ANN, at: true } },
    });
    expect(journal).toEqual(['reserve', 'release', 'pay']);
  });

  test('rolls back when rejected, and records by whom and why', async () => {
    const { sagas, saga } = await waiting();
    await sagas.reject(saga.id, 'release', ANN);
    expect(await saga.outcome()).toMatchObject({
      status: 'compensated',
      failure: {
        kind: 'rejected',
        step: 'release',
        error: {
          code: 'SAGA_APPROVAL_REJECTED',
          message: 'Rejected by ann@example.com: checked by phone',
        },
      },
    });
    expect(journal).toEqual(['reserve', 'undo reserve']);
  });

  test('can be decided on before it asks', async () => {
    const starter = await apps.start({ sagas: [PayoutSaga], options: { worker: false } });
    const saga = await starter.sagas.start(PayoutSaga, { amount: 1 });
    await starter.sagas.approve(saga.id, 'release', { by: 'bob' });
    await apps.start({ sagas: [PayoutSaga] });
    expect((await saga.outcome()).status).toBe('completed');
  });

  test('rolls back without a decision in time', async () => {
    @Saga({ name: 'urgent' })
    class UrgentSaga {
      @Approval({ timeout: '20ms' }) agree() {}
    }
    const { sagas } = await apps.start({ sagas: [UrgentSaga], options: NO_POLL });
    const saga = await sagas.start(UrgentSaga, undefined);
    expect(await saga.outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'timeout', step: 'agree' },
    });
  });

  test('is not decided on once its time is over, though no worker has looked since', async () => {
    @Saga({ name: 'hurried' })
    class HurriedSaga {
      @Approval({ timeout: '1h', quorum: 2 }) agree() {}
    }
    const { sagas, operations } = await apps.start({ sagas: [HurriedSaga] });
    const saga = await sagas.start(HurriedSaga, undefined);
    await waits(sagas, saga.id);
    await sagas.approve(saga.id, 'agree', { by: 'bob' });
    await operations.pause(saga.id);
    await operations.reschedule(saga.id, 'agree', new Date(Date.now() - 1_000));
    for (const decide of ['approve', 'reject'] as const) {
      const refusal = sagas[decide](saga.id, 'agree', ANN);
      await expect(refusal).rejects.toThrow(SagaStateError);
      await expect(refusal).rejects.toThrow(/cannot be (approved|rejected): it waited until \d{4}-/);
    }
    await operations.resume(saga.id);
    expect(await saga.outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
  });
});

describe('One decision counts', () => {
  test('the first, and the second receives the first decision', async () => {
    const starter = await apps.start({ sagas: [PayoutSaga], options: { worker: false } });
    const saga = await starter.sagas.start(PayoutSaga, { amount: 1 });
    await starter.sagas.approve(saga.id, 'release', { by: 'bob' });
    const second = starter.sagas.reject(saga.id, 'release', { by: 'ann' });
    await expect(second).rejects.toThrow(SagaStateError);
    await expect(second).rejects.toThrow('cannot be rejected: bob has already approved it.');
  });

  test('of many at once', async () => {
    const { sagas, saga } = await waiting();
    const calls = Array.from({ length: 8 }, (_, n) =>
      sagas[n % 2 ? 'approve' : 'reject'](saga.id, 'release', { by: `person ${n}` }),
    );
    const results = await Promise.allSettled(calls);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await saga.outcome();
  });

  test('after the saga’s end no decision is accepted', async () => {
    const { sagas, saga } = await waiting();
    await sagas.approve(saga.id, 'release', ANN);
    await saga.outcome();
    await expect(sagas.approve(saga.id, 'release', ANN)).rejects.toThrow('the saga is completed');
  });

  test('for each time that it is asked for', async () => {
    let refusals = 1;
    @Saga({ name: 'twice', retry: { attempts: 1 } })
    class TwiceSaga {
      @Step({ savepoint: true }) begin() {}
      @Approval() agree(ctx: StepContext, { by }: ApprovalDecision) {
        return { by, round: ctx.round };
      }
      @Step() end() {
        if (refusals-- > 0) throw new Error('once more');
      }
    }
    const { sagas } = await apps.start({ sagas: [TwiceSaga] });
    const saga = await sagas.start(TwiceSaga, undefined);
    await waits(sagas, saga.id);
    await sagas.approve(saga.id, 'agree', { by: 'ann' });
    await until(async () => {
      const { round, waitingFor } = await sagas.get(saga.id);
      return round === 2 && waitingFor?.kind === 'approval';
    });
    await sagas.approve(saga.id, 'agree', { by: 'bob' });
    expect((await saga.outcome()).results.agree).toEqual({ by: 'bob', round: 2 });
  });
});

describe('approve() and reject() answer clearly', () => {
  test('when there is no such saga', async () => {
    const { sagas } = await apps.start({ sagas: [PayoutSaga] });
    await expect(sagas.approve(randomUUID(), 'release', ANN)).rejects.toThrow(SagaNotFoundError);
  });

  test('when the step is no approval', async () => {
    const { sagas, saga } = await waiting();
    const wrong = sagas.approve(saga.id, 'pay', ANN);
    await expect(wrong).rejects.toThrow(SagaValidationError);
    await expect(wrong).rejects.toThrow("'pay' is not an approval step of payout@1. Its approvals: release.");
  });

  test('when the saga rolls back', async () => {
    const { sagas, saga } = await waiting();
    await sagas.cancel(saga.id);
    await saga.outcome();
    await expect(sagas.approve(saga.id, 'release', ANN)).rejects.toThrow('the saga is compensated');
  });

  test.each<[string, unknown, string]>([
    ['nobody', {}, 'by is undefined; give the name of the operator'],
    ['nothing', undefined, 'by is undefined; give the name of the operator'],
    ['a comment that is none', { by: 'ann', comment: 1 }, 'comment is 1; give a string'],
  ])('when it is given %s', async (_, decision, message) => {
    const { sagas } = await apps.start({ sagas: [PayoutSaga] });
    const call = sagas.approve(randomUUID(), 'release', decision as typeof ANN);
    await expect(call).rejects.toThrow(SagaValidationError);
    await expect(call).rejects.toThrow(message);
  });

  test('in a process that does not have the saga, as long as it waits for an approval', async () => {
    const { saga } = await waiting();
    const other = await apps.start({ options: { worker: false } });
    await other.sagas.approve(saga.id, 'release', ANN);
    expect((await saga.outcome()).status).toBe('completed');
  });
});
