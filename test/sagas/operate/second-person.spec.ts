import { randomBytes } from 'node:crypto';
import { approvalSignal } from '../../../libs/saga/src/definition/graph/saga-graph.js';
import {
  Approval,
  type ApprovalDecision,
  Saga,
  SagaApprovalPendingError,
  type SagaModuleOptions,
  SagaStateError,
  SagaValidationError,
  Step,
  type StepContext,
  StepRejectedError,
} from '../../../libs/saga/src/index.js';
import { AesGcmCodec } from '../../../libs/saga/src/encryption.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

@Saga({ name: 'payout', onFailure: 'suspend' })
class Payout {
  @Step() pay(ctx: StepContext<{ amount: number }>) {
    if (ctx.input.amount > 10) throw new StepRejectedError('too much');
    return { amount: ctx.input.amount };
  }
}

const apps = TestApps.onOwnDatabase();

async function suspended(options: SagaModuleOptions = {}) {
  const { sagas, operations } = await apps.start({
    sagas: [Payout],
    options: { approvals: { resolve: 2 }, ...options },
  });
  const { id, outcome } = await sagas.start(Payout, { amount: 100 });
  expect((await outcome()).status).toBe('suspended');
  return { sagas, operations, id };
}

describe('a call that two people have to make', () => {
  test('is another one with another result: what one proposed, the other cannot carry out with more', async () => {
    const { sagas, operations, id } = await suspended();
    const resolve = (by: string, amount: number) =>
      operations.resolve(id, 'pay', { by, result: { amount, to: 'ann' } });
    await expect(resolve('ann', 10)).rejects.toThrow(SagaApprovalPendingError);
    await expect(resolve('bob', 1_000_000)).rejects.toThrow('1 of 2 operators');
    expect((await sagas.get(id)).status).toBe('suspended');
    await expect(operations.resolve(id, 'pay', { by: 'eve' })).rejects.toThrow(SagaApprovalPendingError);
    await operations.resolve(id, 'pay', { by: 'bob', result: { to: 'ann', amount: 10 } });
    expect((await sagas.wait(id)).results).toEqual({ pay: { to: 'ann', amount: 10 } });
    expect(await operations.history(id)).toMatchObject([
      { by: 'ann', proposed: true, result: { amount: 10 } },
      { by: 'bob', proposed: true, result: { amount: 1_000_000 } },
      { by: 'eve', proposed: true },
      { by: 'bob', proposed: false, result: { amount: 10 } },
    ]);
  });

  test('is bound to what it is given where a codec encodes that, and the history has it', async () => {
    const codec = new AesGcmCodec({ keys: { a: randomBytes(32) }, current: 'a' });
    const { sagas, operations, id } = await suspended({ codec });
    const resolve = (by: string, amount: number) => operations.resolve(id, 'pay', { by, result: { amount } });
    await expect(resolve('ann', 10)).rejects.toThrow(SagaApprovalPendingError);
    await expect(resolve('bob', 11)).rejects.toThrow(SagaApprovalPendingError);
    const stored = await apps.sql<{ given: unknown }>('SELECT given::text FROM saga.operation');
    expect(stored).toHaveLength(2);
    for (const { given } of stored) expect(given).not.toContain('amount');
    expect(await operations.history(id)).toMatchObject([
      { result: { amount: 10 } },
      { result: { amount: 11 } },
    ]);
    await resolve('bob', 10);
    expect((await sagas.wait(id)).results).toEqual({ pay: { amount: 10 } });
  });
});

test('a retry with another input can require two people, and without one it is made at once', async () => {
  const { sagas, operations, id } = await suspended({ approvals: { retryWithInput: 2 } });
  const corrected = (by: string, amount: number) => operations.retry(id, { by, input: { amount } });
  await operations.retry(id);
  expect((await sagas.wait(id)).status).toBe('suspended');
  await expect(operations.retry(id, { input: { amount: 5 } })).rejects.toThrow('Give the operator who calls');
  await expect(corrected('ann', 5)).rejects.toThrow(SagaApprovalPendingError);
  await expect(corrected('bob', 6)).rejects.toThrow('1 of 2 operators');
  expect((await sagas.get(id)).status).toBe('suspended');
  await corrected('bob', 5);
  expect((await sagas.wait(id)).results).toEqual({ pay: { amount: 5 } });
});

describe('an approval', () => {
  const NOBODY = /it is an approval, and was not approved/;

  @Saga({ name: 'transfer', onFailure: 'suspend' })
  class Transfer {
    @Approval({ quorum: 2, timeout: '1h' }) allow(_: object, { approvals }: ApprovalDecision) {
      return approvals?.map(({ by, comment = 'none' }) => [by, comment]);
    }
    @Step() pay() {
      return 20_000;
    }
  }

  async function waiting(options?: SagaModuleOptions) {
    const { sagas, operations } = await apps.start({ sagas: [Transfer], options });
    const { id } = await sagas.start(Transfer, {});
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'approval');
    const actions = async () => (await operations.history(id)).map(({ action }) => action);
    return { sagas, operations, id, actions };
  }

  test('is given by its decisions alone: resolve() does not walk around its quorum', async () => {
    const { sagas, operations, id, actions } = await waiting();
    await sagas.approve(id, 'allow', { by: 'ann' });
    await expect(operations.resolve(id, 'allow', { by: 'ann' })).rejects.toThrow(
      'ann has already approved it. It requires the approval of 2 different operators, and has 1',
    );
    await expect(sagas.signal(id, approvalSignal('allow'), { approved: true })).rejects.toThrow(
      SagaValidationError,
    );
    await operations.reschedule(id, 'allow', 0, { by: 'ann' });
    expect((await sagas.wait(id)).status).toBe('suspended');
    await expect(operations.resolve(id, 'allow', { by: 'ann' })).rejects.toThrow(NOBODY);
    const elsewhere = await apps.start({ sagas: [] });
    await expect(elsewhere.operations.resolve(id, 'allow', { by: 'ann' })).rejects.toThrow(SagaStateError);
    expect(await actions()).toEqual(['approve', 'reschedule']);
    await operations.retry(id);
    await sagas.approve(id, 'allow', { by: 'bob' });
    expect((await sagas.wait(id)).results).toEqual({
      allow: [
        ['ann', 'none'],
        ['bob', 'none'],
      ],
      pay: 20_000,
    });
  });

  test('is approved by resolve() as by approve(): by name, as often as its quorum says, and without a result', async () => {
    const { sagas, operations, id, actions } = await waiting({ approvals: { resolve: 3 } });
    await expect(operations.resolve(id, 'allow', {})).rejects.toThrow(SagaValidationError);
    await expect(operations.resolve(id, 'allow', { by: 'ann', result: [] })).rejects.toThrow(
      "resolve(): step 'allow' is an approval. Its method makes the result: remove { result }.",
    );
    await operations.resolve(id, 'allow', { by: 'ann', reason: 'checked' });
    expect((await sagas.get(id)).waitingFor).toMatchObject({ quorum: 2, approvals: [{ by: 'ann' }] });
    await expect(operations.resolve(id, 'allow', { by: 'bob', expects: 'stuck' })).rejects.toThrow(
      SagaStateError,
    );
    await operations.resolve(id, 'allow', { by: 'bob' });
    expect((await sagas.wait(id)).results).toEqual({
      allow: [
        ['ann', 'checked'],
        ['bob', 'none'],
      ],
      pay: 20_000,
    });
    expect(await actions()).toEqual(['approve', 'approve']);
  });
});

test('the history has the input that a saga was retried with, and no more of what is very large', async () => {
  const { sagas, operations, id } = await suspended();
  await operations.retry(id, { by: 'ann', input: { amount: 11, note: 'x'.repeat(70_000) } });
  expect((await sagas.wait(id)).status).toBe('suspended');
  await operations.retry(id, { by: 'ann', input: { amount: 5 } });
  expect((await sagas.wait(id)).status).toBe('completed');
  const [large, small] = await operations.history(id);
  expect([large!.newInput, 'input' in large!, small!.newInput, small!.input]).toEqual([
    ...[true, false],
    ...[true, { amount: 5 }],
  ]);
});
